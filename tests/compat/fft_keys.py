"""Keys: which operands have equal ones, and dictionaries of plans."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main


def run(env: Environment) -> Results:
    create, where = env.fft.FFT.create_key, env.where
    space = "cpu" if env.library == "numpy" else "cuda"
    a, b = env.complex(4, 6), env.complex(4, 6)
    key = create(env.array(a), axes=[1], **where)
    others = {
        "values": create(env.array(b), axes=[1], **where),
        "shape": create(env.array(env.complex(4, 8)), axes=[1], **where),
        "dtype": create(env.array(a.astype("c16")), axes=[1], **where),
        "axes": create(env.array(a), axes=[0], **where),
        "negative axis": create(env.array(a), axes=[-1], **where),
    }
    for name, other in others.items():
        yield name, [other == key, hash(other) == hash(key) or other != key], None
    described = env.fft.FFT.create_key_from_metadata((4, 6), "complex64", space, axes=[1], **where)
    yield "metadata", described == key, None
    strided = env.fft.FFT.create_key_from_metadata(
        (6, 4), "complex64", space, strides=(1, 6), axes=[0], **where
    )
    yield "strides", strided == create(env.array(a.T), axes=[0], **where), None
    plans = {}
    for values in (a, b):
        operand = env.array(values)
        found = plans.get(create(operand, axes=[1], **where))
        if found is None:
            found = env.fft.FFT(operand, axes=[1], **where)
            found.plan()
            plans[found.get_key()] = found
        else:
            found.reset_operand(operand)
        name = f"plan {len(plans)} of {'a' if values is a else 'b'}"
        yield name, env.numpy(found.execute()), np.fft.fft(values.astype("c16"))
    for found in plans.values():
        found.free()


if __name__ == "__main__":
    main(run)
