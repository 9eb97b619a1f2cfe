"""All epilogs: results, auxiliary outputs, and backward passes that take those of forward ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Environment, Results, attempt, is_refusal, main

M, N, K = 64, 48, 32


def gelu(z: np.ndarray) -> np.ndarray:
    return 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def gelu_slope(z: np.ndarray) -> np.ndarray:
    step = 1e-6
    return (gelu(z + step) - gelu(z - step)) / (2 * step)


FORWARD = {
    "": lambda z: z,
    "RELU": lambda z: np.maximum(z, 0),
    "GELU": gelu,
}


def outputs(
    env: Environment, a: np.ndarray, b: np.ndarray, epilog: str, inputs: Any
) -> tuple[Any, dict[str, Any]]:
    """Multiply with an epilog; return the result and the auxiliary outputs."""
    found = attempt(
        lambda: env.advanced.matmul(
            env.array(a),
            env.array(b),
            epilog=env.advanced.MatmulEpilog[epilog],
            epilog_inputs=inputs,
        )
    )
    if is_refusal(found):
        return found, {}
    result, auxiliary = found if isinstance(found, tuple) else (found, {})
    return env.numpy(result), auxiliary


def run(env: Environment) -> Results:
    for dtype in ("f2", "f4"):
        a, b = env.real(M, K, dtype=dtype), env.real(K, N, dtype=dtype)
        g, w = env.real(M, 16, dtype=dtype), env.real(16, N, dtype=dtype)
        bias = env.real(M, dtype=dtype)
        product = a.astype("f8") @ b.astype("f8")
        gradient = g.astype("f8") @ w.astype("f8")
        for activation, function in FORWARD.items():
            for with_bias in (False, True):
                z = product + bias.astype("f8")[:, None] * with_bias
                kept: dict[str, Any] = {}
                for aux in ("", "AUX") if activation else ("",):
                    parts = [part for part in (activation, aux, "BIAS" * with_bias) if part]
                    if not parts:
                        continue
                    name = "_".join(parts)
                    inputs = {"bias": env.array(bias)} if with_bias else None
                    result, kept = outputs(env, a, b, name, inputs)
                    yield f"{dtype} {name}", result, function(z)
                    if is_refusal(result):
                        continue
                    yield f"{dtype} {name} outputs", sorted(kept), None
                    if aux and activation == "GELU":
                        # cuBLASLt rounds it to the type of the result.
                        yield f"{dtype} {name} half aux", env.numpy(kept["gelu_aux"]), z
                    elif aux:
                        yield f"{dtype} {name} shape", list(kept["relu_aux"].shape), None
                if not kept:
                    continue
                slope = np.where(z > 0, 1, 0) if activation == "RELU" else gelu_slope(z)
                expected = gradient * slope
                for name in (f"D{activation}", f"D{activation}_BGRAD"):
                    result, found = outputs(env, g, w, name, kept)
                    title = f"{dtype} half {name} after bias {with_bias}"
                    yield title, result, expected
                    if is_refusal(result):
                        continue
                    yield f"{title} outputs", sorted(found), None
                    for key, value in found.items():
                        gradients = env.numpy(value)
                        yield f"{title} {key} shape", list(gradients.shape), None
                        yield f"{title} {key}", gradients.ravel(), expected.sum(1)
        for name, expected in (
            ("BGRADA", a.astype("f8").sum(1)),
            ("BGRADB", b.astype("f8").sum(0)),
        ):
            result, found = outputs(env, a, b, name, None)
            yield f"{dtype} {name}", result, product
            for key, value in found.items():
                yield f"{dtype} {name} half {key}", env.numpy(value).ravel(), expected
    x, y = env.real(4, M, K), env.real(4, K, N)
    vectors, bias = env.real(4, M, 1), env.real(M)
    wide = x.astype("f8") @ y
    for name, vector in {"one bias": bias, "batched bias": vectors}.items():
        inputs = {"bias": env.array(vector)}
        result, _ = outputs(env, x, y, "RELU_BIAS", inputs)
        yield name, result, np.maximum(wide + vector.reshape(-1, M, 1), 0)


if __name__ == "__main__":
    main(run)
