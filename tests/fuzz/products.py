"""Random products on the CPU between guard pages, against NumPy in a higher precision.

Operands are only read, so they are write-protected. Strides may be negative, zero or leave gaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumath import linalg
from gpumath.bindings import core
from gpumath.linalg import advanced
from tests.helpers.cases import noted
from tests.helpers.epilogs import EPILOGS, bits, epilog_reference
from tests.helpers.guard_pages import guarded
from tests.helpers.structured import KINDS, check, numbers, qualifiers

DTYPES = ["float32", "float64", "complex64", "complex128"]
GENERAL = KINDS[0]


def attempt(seed: int) -> None:
    """Make a product in one of the ways to ask for it."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.02:
        core.plan_cache_clear()
    way = str(rng.choice(["structured", "listed", "epilog"], p=[0.5, 0.1, 0.4]))
    with noted(way), np.errstate(invalid="ignore"):
        globals()[way](rng)


def extent(rng: np.random.Generator) -> int:
    """Return one extent: mostly small, sometimes zero or large."""
    kind = rng.random()
    if kind < 0.04:
        return 0
    if kind < 0.15:
        return 1
    return int(rng.integers(2, 12 if kind < 0.5 else 70 if kind < 0.93 else 400))


def placed(rng: np.random.Generator, values: np.ndarray, readonly: bool = True) -> np.ndarray:
    """Copy an array into guarded memory, in a random layout of the same shape."""
    order = rng.permutation(values.ndim)
    if rng.random() < 0.5:
        order = np.arange(values.ndim)
    strides = [0] * values.ndim
    step = values.itemsize
    for axis in reversed(order):
        gap = int(rng.integers(1, 4)) if rng.random() < 0.25 else 1
        sign = -1 if rng.random() < 0.15 else 1
        if rng.random() < 0.2:
            step += values.itemsize * int(rng.integers(0, 4))
        strides[axis] = sign * gap * step
        step *= max(values.shape[axis], 1) * gap
    like = np.lib.stride_tricks.as_strided(
        np.empty(1, values.dtype), values.shape, strides, writeable=False
    )
    side = str(rng.choice(["start", "end"]))
    return guarded(values, like=like, side=side, readonly=readonly)


def repeated(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """Sometimes make all rows, or all columns, of general matrices the same memory."""
    if rng.random() < 0.08 and values.ndim and values.size:
        axis = int(rng.integers(values.ndim))
        return np.broadcast_to(values.take([0], axis), values.shape)
    return values


def batches(rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return the batch dimensions of two operands, which fit each other."""
    whole = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 5, rng.integers(3)))
    if rng.random() < 0.6:
        whole = ()
    own = []
    for _ in range(2):
        kept = whole[int(rng.integers(len(whole) + 1)) :] if rng.random() < 0.4 else whole
        own.append(tuple(1 if rng.random() < 0.2 else n for n in kept))
    return own


def execution_of(rng: np.random.Generator) -> Any:
    """Return where to compute."""
    return linalg.ExecutionCPU(num_threads=int(rng.integers(1, 4))) if rng.random() < 0.8 else None


def scalar(rng: np.random.Generator, dtype: str) -> Any:
    """Return a number of a type, sometimes 0 or 1."""
    value = rng.choice([0, 1, 2]) if rng.random() < 0.3 else numbers(rng, (1,), dtype)[0]
    return complex(value) if dtype.startswith("complex") else float(value)


def pair(rng: np.random.Generator, dtype: str) -> tuple[Any, ...]:
    """Return two factors with structures, and all their elements in double precision."""
    kinds = [GENERAL if rng.random() < 0.6 else KINDS[rng.integers(len(KINDS))] for _ in "ab"]
    left, right = batches(rng)
    rows, depth, columns = (extent(rng) for _ in range(3))
    if kinds[0].name != "ge":
        rows = depth
    if kinds[1].name != "ge":
        columns = depth
    a = kinds[0].stored(rng, (*left, rows, depth), dtype, "C")
    b = kinds[1].stored(rng, (*right, depth, columns), dtype, "C")
    if kinds[0].name == "ge":
        a = repeated(rng, a[(0,) * (a.ndim - 1)] if rng.random() < 0.1 and rows and a.size else a)
    if kinds[1].name == "ge":
        vector = rng.random() < 0.1 and b.size
        b = repeated(rng, b[(0,) * (b.ndim - 2)][:, 0] if vector else b)
    if rng.random() < 0.05 and a.size and {kind.name for kind in kinds} == {"ge"}:
        a = a.copy()
        a.flat[int(rng.integers(a.size))] = rng.choice([np.nan, np.inf])
    return kinds, a, b


def sums(kinds: Any, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the product and the sums of its terms' absolute values."""
    x, y = (
        kind.whole(each) if kind.name != "ge" or each.ndim > 1 else wide(kind, each)
        for kind, each in zip(kinds, (a, b), strict=True)
    )
    with np.errstate(invalid="ignore"):
        return np.matmul(x, y), np.matmul(np.abs(x), np.abs(y))


def wide(kind: Any, vector: np.ndarray) -> np.ndarray:
    values = vector.astype(np.complex128)
    return values.conj() if kind.conjugate else values


def structured(rng: np.random.Generator) -> None:
    """Multiply by `gpumath.linalg`."""
    dtype = str(rng.choice(DTYPES))
    kinds, a, b = pair(rng, dtype)
    product, size = sums(kinds, a, b)
    alpha = None if rng.random() < 0.5 else scalar(rng, dtype)
    given: dict[str, Any] = {"alpha": alpha}
    expected = (1 if alpha is None else alpha) * product
    size = (1 if alpha is None else abs(alpha)) * size
    target = str(rng.choice(["new", "out", "inplace"]))
    c = None
    if rng.random() < 0.4 or target == "inplace":
        beta = scalar(rng, dtype)
        values = np.asarray(numbers(rng, product.shape, dtype))
        expected, size = expected + beta * values, size + np.abs(beta * values)
        if beta == 0 and values.size:
            values = np.full_like(values, np.nan)
        c = placed(rng, values, readonly=target != "inplace")
        given.update(c=c, beta=beta)
    if target == "out":
        blank = np.full(product.shape, np.nan, dtype)
        given["out"] = placed(rng, blank, readonly=False)
    if target == "inplace":
        given["options"] = {"inplace": True}
    if any(kind != GENERAL for kind in kinds):
        given["qualifiers"] = qualifiers(*kinds)
    a, b = (each if has_zero(each) else placed(rng, each) for each in (a, b))
    depth = a.shape[-1]
    execution = execution_of(rng)
    with noted(kinds, dtype, given.keys(), target, execution, *map(described, (a, b, c))):
        if rng.random() < 0.3:
            out = given.pop("out", None)
            with linalg.Matmul(a, b, execution=execution, **given) as planned:
                planned.plan()
                result = planned.execute(out=out)
                if target != "inplace":
                    first = np.copy(result)
                    assert np.array_equal(first, planned.execute(out=out), equal_nan=True)
        else:
            result = linalg.matmul(a, b, execution=execution, **given)
        compare(result, expected, size, depth)


def has_zero(array: np.ndarray) -> bool:
    """Whether elements share memory, which a copy would end."""
    pairs = zip(array.shape, array.strides, strict=True)
    return any(extent > 1 and stride == 0 for extent, stride in pairs)


def described(array: np.ndarray | None) -> object:
    """Return what a layout is, for messages."""
    return None if array is None else (array.shape, array.strides)


def compare(result: Any, expected: np.ndarray, size: np.ndarray, depth: int) -> None:
    """Compare, also where there is no number."""
    result, expected = np.asarray(result), np.asarray(expected)
    if not np.iscomplexobj(result):
        expected = expected.real
    assert result.shape == expected.shape, (result.shape, expected.shape)
    is_number = np.isfinite(expected) & np.isfinite(size)
    assert not np.isfinite(result[~is_number]).any()
    check(result[is_number], expected[is_number], np.asarray(size)[is_number], depth)


def listed(rng: np.random.Generator) -> None:
    """Multiply lists of operands."""
    dtype = str(rng.choice(DTYPES))
    count = int(rng.integers(1, 6))
    cases = [pair(rng, dtype) for _ in range(count)]
    operands = [[placed(rng, case[number].copy()) for case in cases] for number in (1, 2)]
    given: dict[str, Any] = {"qualifiers": [qualifiers(*case[0]) for case in cases]}
    products = [sums(*case) for case in cases]
    if rng.random() < 0.5:
        given["alpha"] = [scalar(rng, dtype) for _ in cases]
    if rng.random() < 0.3:
        shapes = [product.shape for product, _ in products]
        given["out"] = [placed(rng, np.zeros(shape, dtype), False) for shape in shapes]
    results = linalg.matmul(*operands, execution=execution_of(rng), **given)
    alphas = given.get("alpha", [1] * count)
    for (product, size), (_, a, _), alpha, result in zip(
        products, cases, alphas, results, strict=True
    ):
        compare(result, alpha * product, np.abs(alpha) * size, a.shape[-1])


def epilog(rng: np.random.Generator) -> None:
    """Multiply by `gpumath.linalg.advanced`."""
    types = ["float16", "float32", "float64", "complex64", "complex128"]
    dtype = str(rng.choice(types))
    is_complex = dtype.startswith("complex")
    name = "DEFAULT" if is_complex or rng.random() < 0.3 else str(rng.choice(EPILOGS))
    left, right = batches(rng)
    rows, depth, columns = (extent(rng) for _ in range(3))
    a, b = (
        numbers(rng, shape, dtype) for shape in ((*left, rows, depth), (*right, depth, columns))
    )
    batch = np.broadcast_shapes(left, right)
    shape = (*batch, rows, columns)
    wide_a, wide_b = (each.astype(np.complex128 if is_complex else np.float64) for each in (a, b))
    given: dict[str, Any] = {}
    if is_complex and rng.random() < 0.5:
        flags = rng.integers(0, 2, 2).astype(bool)
        given["qualifiers"] = np.zeros(2, advanced.matrix_qualifiers_dtype)
        given["qualifiers"]["is_conjugate"] = flags
        wide_a = wide_a.conj() if flags[0] else wide_a
        wide_b = wide_b.conj() if flags[1] else wide_b
    total, size = np.matmul(wide_a, wide_b), np.matmul(np.abs(wide_a), np.abs(wide_b))
    if rng.random() < 0.4:
        alpha, beta = scalar(rng, dtype), scalar(rng, dtype)
        stretched = tuple(1 if rng.random() < 0.15 else n for n in shape)
        is_inplace = stretched == shape and rng.random() < 0.3
        values = np.asarray(numbers(rng, stretched, dtype))
        total = alpha * total + beta * values
        size = abs(alpha) * size + np.abs(beta * values)
        given.update(c=placed(rng, values, readonly=not is_inplace), alpha=alpha, beta=beta)
        if is_inplace:
            given["options"] = {"inplace": True}
    inputs: dict[str, Any] = {}
    if "BIAS" in name:
        inputs["bias"] = numbers(rng, (*batch, rows, 1) if batch else (rows,), dtype)
    if name.startswith("DRELU"):
        lines = (*batch, columns, -(-rows // 128) * 16)
        inputs["relu_aux"] = rng.integers(0, 256, lines, dtype=np.uint8).swapaxes(-1, -2)
    if name.startswith("DGELU"):
        lines = (*batch, columns, -(-rows // 8) * 8)
        inputs["gelu_aux"] = numbers(rng, lines, dtype).swapaxes(-1, -2)
    wide_inputs = {
        key: value if key == "relu_aux" else value.astype(np.float64)
        for key, value in inputs.items()
    }
    factors = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (wide_a, wide_b)]
    expected, others = epilog_reference(name, total, *factors, wide_inputs)
    if inputs:
        given["epilog_inputs"] = inputs
    if name != "DEFAULT":
        given["epilog"] = advanced.MatmulEpilog[name]
    a, b = placed(rng, a), placed(rng, b)
    with noted(name, dtype, given.keys(), *map(described, (a, b, given.get("c")))):
        found = advanced.matmul(a, b, **given)
        more: dict[str, Any] = {}
        if isinstance(found, tuple):
            found, more = found
        scale = 1 + np.abs(expected) + (size + 1) * (1 + np.abs(total))
        compare(found, expected, scale, depth)
        assert set(more) == set(others)
        for key, value in others.items():
            one = np.asarray(more[key])
            if key == "relu_aux":
                bias = wide_inputs.get("bias", np.zeros(1))
                before = total + (bias[..., None] if bias.ndim == 1 else bias)
                is_close = np.abs(before) < (depth + 8) * np.finfo(dtype).eps * (size + 2)
                assert ((bits(one, rows) == value) | is_close).all()
            elif key == "gelu_aux":
                compare(one[..., :rows, :], value, scale, depth)
            else:
                terms = np.broadcast_to(np.max(scale, initial=1), value.shape)
                compare(one.reshape(value.shape), value, terms * (depth + 1), columns + rows)
