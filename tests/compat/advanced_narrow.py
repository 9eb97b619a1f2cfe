"""Products of FP8 tensors: scales, types of results, largest magnitudes; half types of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Environment, Results, attempt, is_refusal, main, raised

FLOAT32, BFLOAT16, E4M3 = 0, 14, 28  # of cudaDataType


def run(env: Environment) -> Results:
    advanced = env.advanced
    if env.library != "torch":
        yield "needs PyTorch", True, None
        return
    import torch

    def tensor(values: np.ndarray, dtype: Any) -> Any:
        return torch.from_numpy(values).cuda().to(dtype)

    def wide(x: Any) -> np.ndarray:
        return x.float().cpu().numpy().astype("f8")

    def scaled(x: Any, y: Any, scales: Any, options: dict[str, Any]) -> Any:
        return attempt(lambda: advanced.matmul(x, y, quantization_scales=scales, options=options))

    a, b = tensor(env.real(64, 96), torch.bfloat16), tensor(env.real(96, 32), torch.bfloat16)
    yield "half bf16", wide(advanced.matmul(a, b)).astype("f2"), wide(a) @ wide(b)
    lazy = tensor(env.complex(16, 24), torch.complex64)
    other = tensor(env.complex(16, 8), torch.complex64)
    result = attempt(lambda: env.numpy(advanced.matmul(lazy.T.conj(), other)))
    expected = lazy.cpu().numpy().astype("c16").conj().T @ other.cpu().numpy()
    yield "lazy conjugate", result, expected
    for first, second in (("e4m3fn", "e4m3fn"), ("e4m3fn", "e5m2"), ("e5m2", "e4m3fn")):
        x = tensor(env.real(64, 96), getattr(torch, f"float8_{first}"))
        y = tensor(env.real(32, 96), getattr(torch, f"float8_{second}")).T
        product = 0.5 * 4 * wide(x) @ wide(y)
        for name, kind in (("f32", FLOAT32), ("bf16", BFLOAT16)):
            found = scaled(x, y, {"a": 0.5, "b": 4}, {"result_type": kind})
            result = found if is_refusal(found) else wide(found).astype("f4")
            yield f"half {first} {second} {name}", result, product
        scales = advanced.MatmulQuantizationScales(a=0.5, b=4, d=0.25)
        found = scaled(x, y, scales, {"result_type": E4M3, "result_amax": True})
        if is_refusal(found):
            yield f"{first} {second} narrow", found, None
            continue
        result, auxiliary = found
        yield f"{first} {second} outputs", sorted(auxiliary), None
        # Three bits of a fraction: compared with each other exactly, with NumPy by the mean.
        narrow = wide(result)
        yield f"{first} {second} half narrow", narrow.astype("f2"), None
        yield f"{first} {second} close", bool(np.abs(narrow - product / 4).mean() < 0.1), None
        amax = float(auxiliary["result_amax"])
        yield f"{first} {second} half amax", np.float16(amax), None
    x = tensor(env.real(64, 96), torch.float8_e4m3fn)
    y = tensor(env.real(32, 96), torch.float8_e4m3fn).T
    scales = {"a": 1, "b": 1}
    wrong = {
        "no scales": lambda: advanced.matmul(x, y, options={"result_type": FLOAT32}),
        "no scale of b": lambda: advanced.matmul(
            x, y, quantization_scales={"a": 1}, options={"result_type": FLOAT32}
        ),
        "no scale of d": lambda: advanced.matmul(
            x, y, quantization_scales=scales, options={"result_type": E4M3}
        ),
        "rows of b": lambda: advanced.matmul(
            x, y.T.contiguous().T.contiguous(), quantization_scales=scales
        ),
        "e5m2 twice": lambda: advanced.matmul(
            x.to(torch.float8_e5m2), y.to(torch.float8_e5m2), quantization_scales=scales
        ),
        "not a multiple of 16": lambda: advanced.matmul(
            x[:, :72], y[:72], quantization_scales=scales, options={"result_type": FLOAT32}
        ),
        "bfloat16 scales": lambda: advanced.matmul(a, b, quantization_scales=scales),
    }
    for name, use in wrong.items():
        yield name, raised(use), None


if __name__ == "__main__":
    main(run)
