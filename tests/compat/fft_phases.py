"""The class: plan, execute, directions, reset_operand, release_operand, free."""

from __future__ import annotations

import numpy as np
from common import Environment, Results, main, raised


def run(env: Environment) -> Results:
    a, b = env.complex(6, 30), env.complex(6, 30)
    expected_a, expected_b = np.fft.fft(a.astype("c16")), np.fft.fft(b.astype("c16"))
    back_a = 30 * np.fft.ifft(a.astype("c16"))
    with env.fft.FFT(env.array(a), axes=[1], **env.where) as transform:
        yield "before plan", raised(transform.execute), None
        transform.plan()
        yield "default", env.numpy(transform.execute()), expected_a
        for direction in ("forward", env.fft.FFTDirection.FORWARD, -1):
            result = transform.execute(direction=direction)
            yield f"forward {direction!r}"[:18], env.numpy(result), expected_a
        for direction in ("inverse", env.fft.FFTDirection.INVERSE, 1):
            result = transform.execute(direction=direction)
            yield f"inverse {direction!r}"[:18], env.numpy(result), back_a
        wrong = raised(lambda: transform.execute(direction="up"))
        yield "no direction", wrong != "nothing", None
        transform.reset_operand(env.array(b))
        yield "reset", env.numpy(transform.execute()), expected_b
        transform.reset_operand_unchecked(env.array(a))
        yield "unchecked", env.numpy(transform.execute(release_workspace=True)), expected_a
        yield "again", env.numpy(transform.execute()), expected_a
        transform.release_operand()
        yield "released", raised(transform.execute), None
        transform.reset_operand(env.array(b))
        yield "after release", env.numpy(transform.execute()), expected_b
        yield "misfit", raised(lambda: transform.reset_operand(env.array(a[:, :5].copy()))), None
        yield "no operand", raised(lambda: transform.reset_operand(None)), None
        transform.plan(direction="inverse")
        transform.reset_operand(env.array(a))
        result = transform.execute(direction="inverse")
        yield "planned inverse", env.numpy(result), back_a
    transform.free()
    yield "freed", raised(transform.execute) != "nothing", None
    yield "freed plan", raised(transform.plan) != "nothing", None


if __name__ == "__main__":
    main(run)
