"""What the epilogs of products compute, in float64 and on the CPU, to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["EPILOGS", "bits", "epilog_reference"]

EPILOGS = [
    "RELU",
    "RELU_AUX",
    "BIAS",
    "RELU_BIAS",
    "RELU_AUX_BIAS",
    "GELU",
    "GELU_AUX",
    "GELU_BIAS",
    "GELU_AUX_BIAS",
    "DRELU",
    "DRELU_BGRAD",
    "DGELU",
    "DGELU_BGRAD",
    "BGRADA",
    "BGRADB",
]

_SLOPE = np.sqrt(2 / np.pi)


def gelu(x: np.ndarray) -> np.ndarray:
    """Return the approximation of GELU with tanh."""
    result: np.ndarray = 0.5 * x * (1 + np.tanh(_SLOPE * (x + 0.044715 * x**3)))
    return result


def gelu_derivative(x: np.ndarray) -> np.ndarray:
    """Return the derivative of `gelu`, by the rule of products."""
    inner = _SLOPE * (x + 0.044715 * x**3)
    slope = _SLOPE * (1 + 3 * 0.044715 * x**2)
    bent = np.tanh(inner)
    result: np.ndarray = 0.5 * (1 + bent) + 0.5 * x * slope * (1 - bent**2)
    return result


def bits(packed: np.ndarray, rows: int) -> np.ndarray:
    """Return a matrix of bits, which is packed along its columns, as booleans of so many rows."""
    unpacked = np.unpackbits(packed, axis=-2, bitorder="little")
    result: np.ndarray = unpacked[..., :rows, :].astype(bool)
    return result


def epilog_reference(
    epilog: str, total: np.ndarray, a: np.ndarray, b: np.ndarray, inputs: dict[str, Any]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the result of an epilog for a sum, and what it makes besides."""
    rows = total.shape[-2]
    bias = inputs.get("bias")
    if bias is not None:
        total = total + (bias[..., None] if bias.ndim == 1 else bias)
    others: dict[str, np.ndarray] = {}
    if epilog.startswith("RELU"):
        if "AUX" in epilog:
            others["relu_aux"] = total > 0
        result = np.maximum(total, 0)
    elif epilog.startswith("GELU"):
        if "AUX" in epilog:
            others["gelu_aux"] = total
        result = gelu(total)
    elif epilog.startswith("DRELU"):
        result = total * bits(inputs["relu_aux"], rows)
    elif epilog.startswith("DGELU"):
        result = total * gelu_derivative(inputs["gelu_aux"][..., :rows, :])
    else:
        result = total
    if epilog in ("DRELU_BGRAD", "DGELU_BGRAD"):
        others[epilog.lower()] = result.sum(-1)
    elif epilog == "BGRADA":
        others["bgrada"] = a.sum(-1)
    elif epilog == "BGRADB":
        others["bgradb"] = b.sum(-2)
    return result, others
