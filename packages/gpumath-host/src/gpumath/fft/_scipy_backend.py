"""A backend for `scipy.fft`: programs that call SciPy's functions run gpumath's transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpumath._host.arguments import integer
from gpumath._host.conversions import as_array, as_complex, as_floating, conjugated, dtype_of
from gpumath._host.execution import Execution, ExecutionCPU, resolve_execution
from gpumath.bindings import core
from gpumath.fft._dct import dct, dctn, dst, dstn, idct, idctn, idst, idstn
from gpumath.fft._options import FFTDirection, Kind, Norm, check_norm
from gpumath.fft._scipy_arguments import (
    integers,
    length_of,
    lengths_and_axes,
    threads_of,
)
from gpumath.fft._transform import transform

__all__ = ["ScipyBackend", "scipy_backend"]


class ScipyBackend:
    """A backend for `scipy.fft.set_backend` and `scipy.fft.set_global_backend`.

    With it, the functions of `scipy.fft`, from ``fft`` to ``idstn``, are computed by gpumath, with
    SciPy's arguments and results. `scipy_backend` is one that transforms where an operand is. SciPy
    computes ``fht`` and extended precision itself.

    Parameters
    ----------
    execution : ExecutionCUDA, ExecutionCPU, {'cuda', 'cpu'} or dict, optional
        Where to compute, as for `fft`. With ``'cuda'``, Fourier transforms of NumPy arrays run on
        the GPU. Cosine and sine transforms run where the operand is.

    Raises
    ------
    ValueError
        ``execution`` is not an allowed value.

    Notes
    -----
    NumPy arrays give C-contiguous NumPy arrays, CuPy arrays CuPy arrays, and PyTorch tensors
    tensors on the same device. All else is converted by `numpy.asarray`, as SciPy does.

    ``workers`` limits the threads on the CPU. By default it is SciPy's own `scipy.fft.get_workers`
    if that is not 1, else one thread for each core that the process may use. ``overwrite_x=True``
    saves a result array where the transform can work in place, and a copy where `irfft` and its
    like run on a GPU. ``plan`` has to be None, because plans are taken from gpumath's cache.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.fft
    >>> from gpumath import fft
    >>> with scipy.fft.set_backend(fft.scipy_backend):
    ...     scipy.fft.rfft([1, 2, 3, 4])
    array([10.+0.j, -2.+2.j, -2.+0.j])
    """

    __ua_domain__ = "numpy.scipy.fft"

    def __init__(self, execution: Execution = None) -> None:
        """Check the execution."""
        resolve_execution(execution, lambda: None)
        self._execution = execution

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what SciPy keeps in a backend that was set, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "__ua_cache__"}

    def __ua_function__(
        self, method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Compute a function of `scipy.fft`."""
        name = method.__name__
        if name in _COSINE:
            return _cosine(_COSINE[name], method, args, kwargs)
        kind_and_sign = _KINDS.get(name.rstrip("2n"))
        if kind_and_sign is None:
            return _by_scipy(method, args, kwargs)
        asked = _ARGUMENTS[name[len(name.rstrip("2n")) :]](*args, **kwargs)
        array = as_array(asked.x)
        if _is_extended(array):
            return _by_scipy(method, args, kwargs)
        return _transformed(array, asked, *kind_and_sign, self._execution)


_COSINE: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (dct, dctn, dst, dstn, idct, idctn, idst, idstn)
}


def _cosine(
    function: Callable[..., Any],
    method: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Compute a cosine or sine transform; the arguments have SciPy's names and order."""
    second, third = ("s", "axes") if method.__name__.endswith("n") else ("n", "axis")
    names = ("x", "type", second, third, "norm", "overwrite_x", "workers", "orthogonalize")
    keywords = dict(zip(names, args, strict=False)) | kwargs
    array = as_array(keywords.pop("x"))
    if _is_extended(array):
        return _by_scipy(method, args, kwargs)
    keywords["workers"] = _threads(keywords.get("workers"))
    return function(array, **keywords)


def _is_extended(array: Any) -> bool:
    """Whether the elements are of extended precision, in either byte order."""
    return isinstance(array, np.ndarray) and array.dtype.char in "gG"


def _by_scipy(method: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call SciPy's own function, which a global backend replaces."""
    import scipy.fft

    with scipy.fft.set_backend("scipy"):
        return method(*args, **kwargs)


_KINDS: dict[str, tuple[Kind, bool]] = {
    "fft": ("C2C", True),
    "ifft": ("C2C", False),
    "rfft": ("R2C", True),
    "irfft": ("C2R", False),
    "hfft": ("C2R", True),
    "ihfft": ("R2C", False),
}
"""The kind of each function, and whether it is forward."""


class _Asked(NamedTuple):
    """The arguments of a call; the lengths may be None, and so may the axes: all of them."""

    x: Any
    lengths: Sequence[int] | None
    axes: Sequence[int] | None
    norm: Norm
    overwrite_x: bool
    workers: int | None
    least_points: int
    """Points of a C2R transform of one element: as in SciPy, none along one axis, which fails."""


def _along_one(
    x: Any,
    n: int | None = None,
    axis: int = -1,
    norm: Norm | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    plan: object = None,
) -> _Asked:
    _check_plan(plan)
    axes = (integer("axis", axis),)
    return _Asked(x, length_of(n), axes, _norm(norm), overwrite_x, workers, 0)


def _along_several(
    x: Any,
    s: Sequence[int] | int | None = None,
    axes: Sequence[int] | int | None = None,
    norm: Norm | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    plan: object = None,
) -> _Asked:
    _check_plan(plan)
    lengths, chosen = integers("s", s), integers("axes", axes)
    return _Asked(x, lengths, chosen, _norm(norm), overwrite_x, workers, 1)


def _along_two(
    x: Any,
    s: Sequence[int] | int | None = None,
    axes: Sequence[int] | int | None = (-2, -1),
    norm: Norm | None = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    plan: object = None,
) -> _Asked:
    return _along_several(x, s, axes, norm, overwrite_x, workers, plan=plan)


_ARGUMENTS: dict[str, Callable[..., _Asked]] = {
    "": _along_one,
    "2": _along_two,
    "n": _along_several,
}


def _check_plan(plan: object) -> None:
    if plan is not None:
        msg = (
            "a precomputed plan is given, but gpumath takes plans from its own cache; leave it out"
        )
        raise NotImplementedError(msg)


def _norm(norm: Norm | None) -> Norm:
    check_norm(norm)
    return norm or "backward"


def _transformed(
    operand: Any, asked: _Asked, kind: Kind, is_forward: bool, execution: Execution
) -> Any:
    array = as_floating(operand)
    is_real = not dtype_of(array).startswith("complex")
    if kind == "R2C" and not is_real:
        msg = f"x is {dtype_of(array)}, but this function takes real arrays; use fft or ifft"
        raise TypeError(msg)
    shape = tuple(array.shape)
    lengths, axes = lengths_and_axes(shape, asked.lengths, asked.axes)
    if not axes:
        if kind == "C2C":
            return operand
        msg = "axes is empty; at least one axis has to be transformed"
        raise ValueError(msg)
    if asked.lengths is None:
        lengths = _natural_lengths(kind, shape, axes)
        if kind == "C2R":
            lengths = (*lengths[:-1], max(lengths[-1], asked.least_points))
    if min(lengths) < 1:
        msg = f"the lengths along the axes {axes} are {lengths}; at least one point is needed"
        raise ValueError(msg)
    is_numpy = isinstance(array, np.ndarray)
    inverse = kind == "C2R" or (kind == "C2C" and not is_forward)
    call = _Call(
        axes,
        None if lengths == _natural_lengths(kind, shape, axes) else lengths,
        asked.norm if inverse != is_forward else _OPPOSITE[asked.norm],
        _where(execution, asked.workers) if _is_on_host(array) else None,
    )
    if kind == "C2C" and is_real and is_numpy and len(axes) == 1:
        return _full_spectrum(array, call, lengths[0], is_forward)
    if kind != "R2C":
        array = as_complex(array)
    if kind == "C2R" and is_forward:
        array = conjugated(array)
    out, is_free = None, asked.overwrite_x or array is not operand
    if is_numpy:
        out = _numpy_result(array, kind, lengths, axes, is_free)
    result = call.run(array, kind, out, inverse=inverse, may_overwrite=is_free)
    if kind == "R2C" and not is_forward:
        result = np.conj(result, out=result) if is_numpy else conjugated(result)
    return result


class _Call(NamedTuple):
    """The arguments of a transform that do not depend on its operand."""

    axes: tuple[int, ...]
    lengths: tuple[int, ...] | None
    norm: Norm
    execution: Execution

    def run(
        self, operand: Any, kind: Kind, out: Any, *, inverse: bool, may_overwrite: bool = False
    ) -> Any:
        direction = FFTDirection.INVERSE if inverse else FFTDirection.FORWARD
        return transform(
            operand,
            kind,
            direction,
            self.axes,
            None,
            self.lengths,
            self.norm,
            None,
            self.execution,
            out,
            None,
            None,
            None,
            may_overwrite=may_overwrite,
        )


_OPPOSITE: dict[Norm, Norm] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm of a transform with the other sign that is scaled equally."""


def _natural_lengths(kind: Kind, shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    lengths = [shape[axis] for axis in axes]
    if kind == "C2R":
        lengths[-1] = 2 * (lengths[-1] - 1)
    return tuple(lengths)


def _is_on_host(array: Any) -> bool:
    return isinstance(array, np.ndarray) or core.TensorView(array).device_id is None


def _threads(workers: int | None) -> int | None:
    """Return what limits the threads on the CPU; None means one for each core."""
    import scipy.fft

    if workers is None and scipy.fft.get_workers() != 1:
        workers = scipy.fft.get_workers()
    return threads_of(workers)


def _where(execution: Execution, workers: int | None) -> Execution:
    """Return where operands in host memory are transformed, and by how many threads."""
    threads = _threads(workers)
    if threads is None:
        return execution
    if execution is None or isinstance(resolve_execution(execution, lambda: None), ExecutionCPU):
        return ExecutionCPU(num_threads=threads)
    return execution


def _numpy_result(
    array: np.ndarray[Any, Any],
    kind: Kind,
    lengths: tuple[int, ...],
    axes: tuple[int, ...],
    is_free: bool,
) -> np.ndarray[Any, Any]:
    """Return a C-contiguous array for the result: the operand itself if it may be overwritten."""
    shape = list(array.shape)
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    if kind == "C2C":
        flags = array.flags
        if is_free and array.shape == tuple(shape) and flags.c_contiguous and flags.writeable:
            return array
        return np.empty(shape, array.dtype)
    if kind == "C2R":
        return np.empty(shape, array.real.dtype)
    shape[axes[-1]] = lengths[-1] // 2 + 1
    return np.empty(shape, np.result_type(array.dtype, np.complex64))


def _full_spectrum(
    array: np.ndarray[Any, Any], call: _Call, length: int, is_forward: bool
) -> np.ndarray[Any, Any]:
    """Transform real numbers along one axis to all points, of which half are conjugates."""
    (axis,) = call.axes
    shape = list(array.shape)
    shape[axis] = length
    result = np.empty(shape, np.result_type(array.dtype, np.complex64))
    points = result.swapaxes(axis, -1)
    half = points[..., : length // 2 + 1]
    if not is_forward:
        call = call._replace(norm=_OPPOSITE[call.norm])
    call.run(array, "R2C", half.swapaxes(axis, -1), inverse=False)
    if not is_forward:
        np.conj(half, out=half)
    mirrored = half[..., (length - 1) // 2 : 0 : -1]
    np.conj(mirrored, out=points[..., length // 2 + 1 :])
    return result


scipy_backend = ScipyBackend()
"""The `ScipyBackend` that transforms where an operand is."""
