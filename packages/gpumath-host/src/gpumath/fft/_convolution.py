"""Convolutions and correlations, with the arguments and the results of `scipy.signal`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from gpumath._host.arguments import check_choice
from gpumath._host.array_libraries import library_of
from gpumath._host.conversions import (
    as_operand,
    conjugated,
    dtype_of,
    empty,
    placed,
    reversed_along,
    to_dtype,
)
from gpumath.bindings import core
from gpumath.fft._convolution_direct import by_shifts, is_summed_in_core, sums_cost
from gpumath.fft._convolution_fft import (
    OVERHEAD,
    Pieces,
    Product,
    by_pieces,
    by_transforms,
    pieces_cost,
    pieces_of,
    transforms_cost,
    transforms_cost_on_gpu,
)
from gpumath.fft._scipy_arguments import integers, lengths_and_axes

__all__ = ["convolve", "correlate", "fftconvolve", "oaconvolve"]

Mode: TypeAlias = Literal["full", "valid", "same"]
Method: TypeAlias = Literal["auto", "direct", "fft"]


def convolve(
    in1: Any,
    in2: Any,
    mode: Mode = "full",
    method: Method = "auto",
    *,
    axes: Sequence[int] | int | None = None,
) -> Any:
    """Convolve two arrays, by the fastest of the methods.

    Like `scipy.signal.convolve`, but also along some of the axes, and with the arrays of every
    library: it runs where they are.

    Parameters
    ----------
    in1, in2 : array
        NumPy arrays, CuPy arrays or PyTorch tensors, both of one library and on one device, with
        equally many dimensions. Their element types may differ, and may be integers. Lists are
        taken as NumPy arrays.
    mode : {'full', 'valid', 'same'}, default: 'full'
        ``'full'`` returns all ``n1 + n2 - 1`` points along each axis; ``'valid'`` those that need
        no zeros beyond the ends, ``n1 - n2 + 1`` of them if ``in1`` is longer; ``'same'`` as many
        as ``in1`` has, from the middle.
    method : {'auto', 'direct', 'fft'}, default: 'auto'
        ``'direct'`` adds up products; ``'fft'`` multiplies transforms, of pieces of the longer
        array if that takes less time; ``'auto'`` estimates which one takes the least time.
    axes : int or sequence of int, optional
        Axes to convolve along; by default all. Along the others the arrays are broadcast: they have
        equal lengths there, or one of them has the length 1.

    Returns
    -------
    array
        A new array of the library and on the device of the operands. Its element type is the one
        that NumPy's rules give for the two. Results of integers are exact or, with
        ``method='fft'``, rounded; beyond the type they wrap around, as NumPy's sums do. Where
        transforms are taken, a NaN or an infinity in the arrays spoils results far from it, and
        more of them than in SciPy; ``method='direct'`` spoils only those that it is a term of.

    Raises
    ------
    ValueError
        The arrays are of different libraries, on different devices, or have different numbers of
        dimensions; their shapes do not fit; an array has no elements, unless it is ``in1`` and
        ``mode`` is ``'same'``; or an argument is not among the allowed values.
    TypeError
        An element type is not transformed, such as ``longdouble`` or ``bool``.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.convolve(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.5]))
    array([0. , 1. , 2.5, 4. , 1.5])
    >>> fft.convolve([1, 2, 3], [1, 1], mode="valid")
    array([3, 5])
    """
    check_choice("method", method, ("auto", "direct", "fft"))
    return _convolved(in1, in2, mode, method, axes)


def correlate(
    in1: Any,
    in2: Any,
    mode: Mode = "full",
    method: Method = "auto",
    *,
    axes: Sequence[int] | int | None = None,
) -> Any:
    """Correlate two arrays, by the fastest of the methods.

    Like `scipy.signal.correlate`. It is the convolution of ``in1`` with ``in2`` reversed and
    conjugated. The parameters, the result and the errors are those of `convolve`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.correlate(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.5]))
    array([0.5, 2. , 3.5, 3. , 0. ])
    """
    check_choice("method", method, ("auto", "direct", "fft"))
    in2 = as_operand(in2)
    chosen = lengths_and_axes(in2.shape, None, integers("axes", axes))[1]
    turned = reversed_along(in2, chosen)
    if dtype_of(in2).startswith("complex"):
        turned = conjugated(turned)
    return _convolved(in1, turned, mode, method, axes)


def fftconvolve(
    in1: Any, in2: Any, mode: Mode = "full", axes: Sequence[int] | int | None = None
) -> Any:
    """Convolve two arrays by transforms.

    Like `scipy.signal.fftconvolve`. The whole arrays are transformed; on a GPU, pieces of a long
    signal that has a much shorter filter. The parameters and the errors are those of `convolve`,
    but with ``mode='valid'`` the arrays are broadcast along an axis where one has the length 1,
    and where an array has no elements, neither has the result. It is of a floating-point type,
    which is float64 for integers.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.fftconvolve(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0]]), axes=1).round(6)
    array([[1., 3., 2.]])
    """
    return _convolved(in1, in2, mode, "whole", axes)


def oaconvolve(
    in1: Any, in2: Any, mode: Mode = "full", axes: Sequence[int] | int | None = None
) -> Any:
    """Convolve two arrays of different lengths by transforms of pieces of the longer one.

    Like `scipy.signal.oaconvolve`, for a long signal and a short filter. The longer array is cut
    along the axis where the lengths differ most. If it is not several times as long there, the
    whole arrays are transformed. The parameters, the result and the errors are those of
    `fftconvolve`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> signal, smooth = np.ones(10_000), np.full(10, 0.1)
    >>> fft.oaconvolve(signal, smooth, mode="valid").shape
    (9991,)
    """
    return _convolved(in1, in2, mode, "pieces", axes)


class _Types(NamedTuple):
    """The element types of a convolution: of the result, and of the transforms for it."""

    name: str
    kind: str
    floating: str


@cache
def _types_of(first: str, second: str) -> _Types:
    dtype = np.result_type(first, second)
    # Sums of small integers too have more digits than single precision.
    wider = np.float64 if dtype.kind in "iu" else np.float32
    return _Types(dtype.name, dtype.kind, np.result_type(dtype, wider).name)


class _Operands(NamedTuple):
    """Two arrays of one library, the element types of their convolution, and where they are."""

    in1: Any
    in2: Any
    types: _Types
    is_on_gpu: bool
    are_ready: bool
    """Whether they need no conversion to the type of the result."""


def _convolved(in1: Any, in2: Any, mode: Mode, method: str, axes: Any) -> Any:
    check_choice("mode", mode, ("full", "valid", "same"))
    in1, in2 = as_operand(in1), as_operand(in2)
    asked = _asked(in1, in2, mode, method, axes)
    known = _KNOWN.get(asked)
    if known is not None:
        if isinstance(in1, np.ndarray):
            in1, in2 = placed(in1), placed(in2)
        return known.compute(*((in2, in1) if known.is_swapped else (in1, in2)))
    in1, in2, types, is_on_gpu, are_ready = _operands(in1, in2)
    if in1.ndim == 0:
        return in1 * in2
    chosen = lengths_and_axes(in1.shape, None, integers("axes", axes))[1]
    if 0 in in1.shape or 0 in in2.shape:
        return _of_nothing(in1, in2, types, mode, method, chosen)
    starts, shape = _wanted(tuple(in1.shape), tuple(in2.shape), mode, method, chosen)
    # The shorter one is the filter. Where it has one element, it is a factor.
    x, h = in1, in2
    if math.prod(h.shape[a] for a in chosen) > math.prod(x.shape[a] for a in chosen):
        x, h = h, x
    long = tuple(
        a
        for a in sorted(chosen)
        if min(x.shape[a], h.shape[a]) > 1 or max(x.shape[a], h.shape[a]) != shape[a]
    )
    # Half precision is summed up in single precision.
    summed = types.floating if types.name == "float16" else types.name
    sums = Product(x, h, long, starts, shape, summed, is_on_gpu)
    transforms = sums._replace(dtype=types.floating)
    way, pieces = _way(sums, transforms, method)
    product = sums if way == "direct" else transforms
    compute = _computing(product._replace(x=None, h=None), way, pieces)
    if not are_ready or product.dtype != types.name:
        compute = _converting(compute, product.dtype, types, method)
    # Whether integers are transformed depends on their values.
    if way == "direct" or types.kind not in "iu":
        _remember(asked, _Known(x is in2, compute))
    return compute(x, h)


# Computes the convolution of two arrays, of which the second is the filter.
_Compute: TypeAlias = Callable[[Any, Any], Any]


def _computing(product: Product, way: str, pieces: Pieces | None) -> _Compute:
    """Return what computes a product in the way chosen, of the arrays that it lacks."""
    if way == "direct":
        if is_summed_in_core(product):
            arguments = (product.axes, product.starts, product.shape)
            return lambda x, h: core.convolve(x, h, *arguments)
        return lambda x, h: by_shifts(product._replace(x=x, h=h))
    if not product.axes:
        return operator.mul
    if pieces is None:
        return lambda x, h: by_transforms(product._replace(x=x, h=h))
    return lambda x, h: by_pieces(product._replace(x=x, h=h), pieces)


def _converting(compute: _Compute, dtype: str, types: _Types, method: str) -> _Compute:
    """Convert the arrays before a computation, and its result to the type that is wanted."""

    def convert_and_compute(x: Any, h: Any) -> Any:
        result = compute(to_dtype(x, dtype), to_dtype(h, dtype))
        if method in ("whole", "pieces") or dtype == types.name:
            return result
        if types.kind not in "iu":
            return to_dtype(result, types.name)
        # A sum beyond the type wraps around, as it does where products are added up. It does so
        # from int64; what becomes of such a float is left to the processor.
        result = result.round()
        is_wide = types.name in ("int64", "uint64")
        return to_dtype(result if is_wide else to_dtype(result, "int64"), types.name)

    return convert_and_compute


class _Known(NamedTuple):
    """What computes a convolution."""

    is_swapped: bool
    """Whether ``in2`` is the longer array."""
    compute: _Compute


# What computed the convolutions of lately, by what was asked for, so that nothing is worked out
# again for equal arrays.
_KNOWN: dict[object, _Known] = {}
_MAX_KNOWN = 256


def _asked(in1: Any, in2: Any, mode: Mode, method: str, axes: Any) -> object:
    """Return all on which the way to compute depends, but for the values of integers.

    None for arrays of different libraries.
    """
    what: object
    if isinstance(in1, np.ndarray) and isinstance(in2, np.ndarray):
        what = in1.dtype, in1.shape, in2.dtype, in2.shape
    elif isinstance(in1, np.ndarray) or isinstance(in2, np.ndarray):
        return None
    else:
        views = core.TensorView(in1), core.TensorView(in2)
        what = tuple((view.dtype, view.shape, view.device_id) for view in views)
    return what, type(in1), type(in2), mode, method, integers("axes", axes)


def _remember(asked: object, known: _Known) -> None:
    if len(_KNOWN) >= _MAX_KNOWN:
        _KNOWN.clear()
    _KNOWN[asked] = known


def _way(sums: Product, transforms: Product, method: str) -> tuple[str, Pieces | None]:
    """Choose between products and transforms, and between whole arrays and pieces.

    The two are the same convolution, each with the element type in which it would be computed.
    """
    if method == "direct" or (method == "auto" and not sums.axes):
        return "direct", None
    if not sums.axes:
        return "fft", None
    if method == "pieces" or (method == "whole" and sums.is_on_gpu):
        return "fft", pieces_of(transforms)
    if method == "whole":
        return "fft", None
    is_by_kernel = sums.is_on_gpu and is_summed_in_core(sums)
    direct = sums_cost(sums) if method == "auto" else math.inf
    if direct < OVERHEAD:
        return "direct", None
    cost, pieces = transforms_cost(transforms), pieces_of(transforms)
    if is_by_kernel:
        others = transforms_cost_on_gpu(transforms, pieces)
        if sums.dtype != transforms.dtype:
            others += _INTEGERS_ON_GPU
        if direct < others:
            return "direct", None
    if pieces is not None and not sums.is_on_gpu:
        cost_of_pieces = pieces_cost(transforms, pieces)
        pieces, cost = (pieces, cost_of_pieces) if cost_of_pieces < cost else (None, cost)
    is_faster = direct < cost and not is_by_kernel
    if is_faster or (method == "auto" and not _is_exact_in_float64(sums)):
        return "direct", None
    return "fft", pieces


# Nanoseconds that a GPU takes to find the largest of some integers, by which the host learns
# whether transforms are exact, and to convert them.
_INTEGERS_ON_GPU = 400_000


def _is_exact_in_float64(product: Product) -> bool:
    """Whether transforms of integers give sums that are wrong by much less than a half."""
    if np.dtype(product.dtype).kind not in "iu":
        return True
    terms = math.prod(int(product.h.shape[a]) for a in product.axes)
    largest = [float(abs(to_dtype(array, "float64")).max()) for array in (product.x, product.h)]
    return terms * largest[0] * largest[1] < 2**46


def _operands(in1: Any, in2: Any) -> _Operands:
    names = []
    for name, array in (("in1", in1), ("in2", in2)):
        dtype = dtype_of(array)
        if dtype not in _TYPES:
            msg = f"{name} is {dtype}, which is not convolved; convert it to one of {_TYPES}"
            raise TypeError(msg)
        names.append(dtype)
    libraries = library_of(in1), library_of(in2)
    on_cpu = libraries[0].name == libraries[1].name == "numpy"
    devices = [
        core.TensorView(array).device_id if array.ndim and not on_cpu else None
        for array in (in1, in2)
    ]
    if libraries[0] is not libraries[1] or (in1.ndim and in2.ndim and devices[0] != devices[1]):
        msg = (
            f"in1 is of {libraries[0].name} on device {devices[0]}, and in2 of {libraries[1].name} "
            f"on device {devices[1]} (None: host memory); convert or copy one of them"
        )
        raise ValueError(msg)
    if in1.ndim != in2.ndim:
        msg = (
            f"in1 has {in1.ndim} dimensions and in2 {in2.ndim}; they need equally many, of which "
            "those with one element are broadcast where they are not in axes"
        )
        raise ValueError(msg)
    if on_cpu:
        in1, in2 = placed(in1), placed(in2)
    is_on_gpu, are_ready = devices[0] is not None, names[0] == names[1]
    return _Operands(in1, in2, _types_of(*names), is_on_gpu, are_ready)


_TYPES = tuple(
    f"{kind}{bits}"
    for kind, sizes in (
        ("float", (16, 32, 64)),
        ("complex", (64, 128)),
        ("int", (8, 16, 32, 64)),
        ("uint", (8, 16, 32, 64)),
    )
    for bits in sizes
)


def _of_nothing(
    in1: Any, in2: Any, types: _Types, mode: Mode, method: str, axes: tuple[int, ...]
) -> Any:
    """Return what SciPy's functions do where an array has no elements, or raise ValueError."""
    if method in ("whole", "pieces"):
        return empty(in1, (0,), types.floating)
    lacking = [
        name
        for name, array in (("in1", in1), ("in2", in2))
        if any(array.shape[axis] == 0 for axis in axes)
    ]
    if mode == "same" and lacking == ["in1"]:
        return empty(in1, tuple(in1.shape), types.name)
    if lacking:
        msg = (
            f"{' and '.join(lacking)} has no elements: the shapes are {tuple(in1.shape)} and "
            f"{tuple(in2.shape)}; each array needs one or more along every axis"
        )
        raise ValueError(msg)
    return empty(in1, (0,), types.name)


def _wanted(
    shape1: tuple[int, ...],
    shape2: tuple[int, ...],
    mode: Mode,
    method: str,
    axes: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return where the result begins in the full convolution, and its shape."""
    pairs = list(zip(shape1, shape2, strict=True))
    for axis, (n1, n2) in enumerate(pairs):
        if axis not in axes and n1 != n2 and 1 not in (n1, n2):
            msg = (
                f"in1 has {n1} and in2 {n2} elements along axis {axis}, which is not in axes; they "
                "have to be equal, or one of them 1"
            )
            raise ValueError(msg)
    if mode == "valid":
        # As in SciPy, whose functions for transforms broadcast where one array has one element.
        is_broadcast = method in ("whole", "pieces")
        ordered = [pairs[axis] for axis in axes if not (is_broadcast and 1 in pairs[axis])]
        if not (all(a >= b for a, b in ordered) or all(a <= b for a, b in ordered)):
            msg = (
                f"mode='valid' needs one array that is at least as long along every axis, but the "
                f"shapes are {shape1} and {shape2}"
            )
            raise ValueError(msg)
    starts, shape = [], []
    for axis, (n1, n2) in enumerate(pairs):
        full = n1 + n2 - 1 if axis in axes else max(n1, n2)
        points = full
        if axis in axes and mode == "same":
            points = n1
        elif axis in axes and mode == "valid":
            points = abs(n1 - n2) + 1
        starts.append((full - points) // 2)
        shape.append(points)
    return tuple(starts), tuple(shape)
