"""FFTOptions: as an object and as a dictionary, each field that changes a result."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main, raised


def run(env: Environment) -> Results:
    fft, where = env.fft, env.where
    a = env.complex(4, 10)
    expected = np.fft.fft(a.astype("c16"))
    for name, options in {
        "none": None,
        "object": fft.FFTOptions(),
        "dict": {"result_layout": "natural"},
        "kind": fft.FFTOptions(fft_type="C2C", blocking=True),
    }.items():
        result = fft.fft(env.array(a), axes=[1], options=options, **where)
        yield name, env.numpy(result), expected
    operand = env.array(a)
    result = fft.fft(operand, axes=[1], options={"inplace": True}, **where)
    yield "inplace", env.numpy(result), expected
    yield "inplace operand", env.numpy(operand), expected
    for parity, n in (("even", 10), ("odd", 11)):
        r = env.real(4, n)
        half = np.fft.rfft(r).astype("c8")
        options = {"last_axis_parity": parity}
        result = fft.irfft(env.array(half), axes=[1], options=options, **where)
        yield f"parity {parity}", env.numpy(result), n * r.astype("f8")
    turned = env.complex(6, 4).T
    for layout in ("optimized", "natural"):
        with fft.FFT(env.array(turned), axes=[0], options={"result_layout": layout}, **where) as t:
            t.plan()
            yield f"{layout} input", [list(side) for side in t.get_input_layout()], None
            yield f"{layout} output", [list(side) for side in t.get_output_layout()], None
            wide = np.fft.fft(turned.astype("c16"), axis=0)
            yield layout, env.numpy(t.execute()), wide
    wrong = {
        "type": 3,
        "kind": {"fft_type": "Z2Z"},
        "parity": {"last_axis_parity": "both"},
        "layout": {"result_layout": "best"},
    }
    for name, options in wrong.items():
        use = raised(lambda options=options: fft.fft(env.array(a), options=options, **where))
        yield f"wrong {name}", use if name == "type" else use != "nothing", None


if __name__ == "__main__":
    main(run)
