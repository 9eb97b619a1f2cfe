"""Half precision, which PyTorch has: random kinds, shapes and axes, each plan run twice."""

from __future__ import annotations

from math import log2, prod
from typing import Any

import numpy as np
import pytest

from gpumath import fft
from tests.helpers.cases import Case, noted
from tests.helpers.operands import library
from tests.helpers.references import reference, relative_error

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning"),
]

CASES = 40


def random_case(rng: np.random.Generator) -> Case:
    """The last axes of an array in C order: cuFFT takes no strides between half real numbers."""
    kind = str(rng.choice(["C2C", "R2C", "C2R"]))
    axes = int(rng.integers(1, 4))
    batch = [int(extent) for extent in rng.integers(1, 6, rng.integers(0, 3))]
    extents = [2 ** int(power) for power in rng.integers(1, 12 // axes, axes)]
    last = range(len(batch), len(batch) + axes)
    return Case(kind, (*batch, *extents), tuple(last))


def to_half(values: np.ndarray) -> tuple[Any, np.ndarray]:
    """Operand in half precision, and the values that are left of these."""
    torch = library("torch")
    if values.dtype.kind == "f":
        half = values.astype(np.float16)
        return torch.from_numpy(half).cuda(), half.astype(np.float64)
    pairs = np.stack([values.real, values.imag], -1).astype(np.float16)
    operand = torch.view_as_complex(torch.from_numpy(pairs).cuda())
    return operand, pairs[..., 0] + 1j * pairs[..., 1].astype(np.float64)


def from_half(result: Any) -> np.ndarray:
    torch = library("torch")
    if not result.is_complex():
        assert result.dtype is torch.float16
        return np.asarray(result.cpu().numpy(), np.float64)
    assert result.dtype is torch.complex32
    pairs = torch.view_as_real(result).double().cpu().numpy()
    return np.asarray(pairs[..., 0] + 1j * pairs[..., 1])


@pytest.mark.parametrize("form", ["function", "class", "inplace"])
def test_random_transforms(form: str) -> None:
    rng = np.random.default_rng()
    for _ in range(CASES):
        case = random_case(rng)
        if form == "inplace":
            case = Case("C2C", case.shape, case.axes)
        operands = [to_half(case.values()) for _ in range(2)]
        with noted(case), fft.FFT(operands[0][0], **keywords_of(case, form)) as transform:
            transform.plan()
            for operand, values in operands:
                before = from_half(operand)
                if form == "function":
                    result = case.function(operand, **case.keywords)
                else:
                    transform.reset_operand(operand)
                    result = transform.execute()
                    assert (result is operand) == (form == "inplace")
                check(case, from_half(result), values)
                if form != "inplace":
                    np.testing.assert_array_equal(from_half(operand), before, "it has changed")


def keywords_of(case: Case, form: str) -> dict[str, Any]:
    options = {**case.options, "inplace": form == "inplace"}
    return {"axes": list(case.axes), "options": options}


def check(case: Case, result: np.ndarray, values: np.ndarray) -> None:
    expected = reference(values, case.kind, case.axes)
    assert result.shape == expected.shape
    points = prod(case.shape[axis] for axis in case.axes)
    # Two roundings to 11 bits in each stage.
    allowed = 2 * float(np.finfo(np.float16).eps) * max(1.0, log2(points))
    assert relative_error(result, expected) <= allowed
