"""Cosine and sine transforms (DCT, DST) with SciPy's arguments and results.

Each is a Fourier transform of about as many points, and what comes before and after it. The core
computes all of it at once, line by line, but for lines on a GPU that are not short: there it
computes what comes before and after.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from gpumath._host.arguments import integer
from gpumath._host.conversions import as_floating, as_operand, dtype_of
from gpumath.bindings import core
from gpumath.fft._crop_or_pad import resized
from gpumath.fft._options import FFTDirection, Kind, Norm, check_norm
from gpumath.fft._scipy_arguments import (
    integers,
    length_of,
    lengths_and_axes,
    threads_of,
)
from gpumath.fft._transform import transform

__all__ = ["dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn"]

Type: TypeAlias = Literal[1, 2, 3, 4]


def dct(
    x: Any,
    type: Type = 2,
    n: int | None = None,
    axis: int = -1,
    norm: Norm | None = None,
    overwrite_x: bool = False,  # noqa: ARG001 - without effect, as the documentation says
    workers: int | None = None,
    orthogonalize: bool | None = None,
) -> Any:
    """Compute the cosine transform along one axis.

    Like `scipy.fft.dct`, for the arrays of every library: it runs where they are.

    Parameters
    ----------
    x : array
        NumPy array, CuPy array or PyTorch tensor. Integers are computed in double precision, half
        precision in single precision, and the two parts of complex numbers each for itself. Lists
        are taken as NumPy arrays.
    type : {1, 2, 3, 4}, default: 2
        Which of the four transforms. For the inverse functions, the one that is inverted.
    n : int, optional
        Number of points. A longer operand is cropped, a shorter one is padded with zeros. By
        default the operand's own length.
    axis : int, default: -1
        Axis to transform along.
    norm : {'backward', 'ortho', 'forward'}, optional
        ``'backward'``, which is the default, divides inverse transforms by ``2 * n`` (type 1:
        ``2 * (n - 1)`` for cosine and ``2 * (n + 1)`` for sine transforms), ``'forward'`` divides
        forward transforms by it, and ``'ortho'`` divides both by its square root.
    overwrite_x : bool, default: False
        Allows that the operand is overwritten; without effect.
    workers : int, optional
        Most threads on the CPU; -1 means one for each core. By default one for each core that the
        process may use.
    orthogonalize : bool, optional
        Whether the elements at the ends are scaled such that the transform is orthogonal but for a
        factor. By default only with ``norm='ortho'``.

    Returns
    -------
    array
        A new C-contiguous array of the operand's library, on its device.

    Raises
    ------
    ValueError
        There is no such type, axis or norm; a length is less than 1, or less than 2 for a cosine
        transform of type 1.
    TypeError
        An element type is not transformed, such as ``longdouble``; or ``type``, ``n``, ``axis`` or
        ``workers`` is no integer.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.dct(np.array([1.0, 2.0, 3.0])).round(3)
    array([12.   , -3.464,  0.   ])
    """
    return _along_axes(
        x,
        type,
        length_of(n),
        (integer("axis", axis),),
        norm,
        workers,
        orthogonalize,
        is_sine=False,
        is_inverse=False,
    )


def idct(
    x: Any,
    type: Type = 2,
    n: int | None = None,
    axis: int = -1,
    norm: Norm | None = None,
    overwrite_x: bool = False,  # noqa: ARG001 - without effect, as the documentation says
    workers: int | None = None,
    orthogonalize: bool | None = None,
) -> Any:
    """Compute the inverse cosine transform along one axis: the inverse of `dct`.

    Like `scipy.fft.idct`. The parameters, the result and the errors are those of `dct`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.idct(fft.dct([1.0, 2.0, 3.0])).round(3)
    array([1., 2., 3.])
    """
    return _along_axes(
        x,
        type,
        length_of(n),
        (integer("axis", axis),),
        norm,
        workers,
        orthogonalize,
        is_sine=False,
        is_inverse=True,
    )


def dst(
    x: Any,
    type: Type = 2,
    n: int | None = None,
    axis: int = -1,
    norm: Norm | None = None,
    overwrite_x: bool = False,  # noqa: ARG001 - without effect, as the documentation says
    workers: int | None = None,
    orthogonalize: bool | None = None,
) -> Any:
    """Compute the sine transform along one axis.

    Like `scipy.fft.dst`. The parameters, the result and the errors are those of `dct`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.dst(np.array([1.0, 2.0, 3.0]), type=1).round(3)
    array([ 9.657, -4.   ,  1.657])
    """
    return _along_axes(
        x,
        type,
        length_of(n),
        (integer("axis", axis),),
        norm,
        workers,
        orthogonalize,
        is_sine=True,
        is_inverse=False,
    )


def idst(
    x: Any,
    type: Type = 2,
    n: int | None = None,
    axis: int = -1,
    norm: Norm | None = None,
    overwrite_x: bool = False,  # noqa: ARG001 - without effect, as the documentation says
    workers: int | None = None,
    orthogonalize: bool | None = None,
) -> Any:
    """Compute the inverse sine transform along one axis: the inverse of `dst`.

    Like `scipy.fft.idst`. The parameters, the result and the errors are those of `dct`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.idst(fft.dst([1.0, 2.0, 3.0], type=4), type=4).round(3)
    array([1., 2., 3.])
    """
    return _along_axes(
        x,
        type,
        length_of(n),
        (integer("axis", axis),),
        norm,
        workers,
        orthogonalize,
        is_sine=True,
        is_inverse=True,
    )


def dctn(
    x: Any,
    type: Type = 2,
    s: Sequence[int] | int | None = None,
    axes: Sequence[int] | int | None = None,
    norm: Norm | None = None,
    overwrite_x: bool = False,  # noqa: ARG001 - without effect, as the documentation says
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """Compute the cosine transform along several axes.

    Like `scipy.fft.dctn`. ``s`` has one length for each of ``axes``, -1 for the operand's own; by
    default the axes are all, or the last ``len(s)``. The other parameters, the result and the
    errors are those of `dct`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.dctn(np.ones((2, 2)), norm="ortho").round(3)
    array([[2., 0.],
           [0., 0.]])
    """
    lengths, chosen = integers("s", s), integers("axes", axes)
    arguments = (x, type, lengths, chosen, norm, workers, orthogonalize)
    return _along_axes(*arguments, is_sine=False, is_inverse=False)


def idctn(
    x: Any,
    type: Type = 2,
    s: Sequence[int] | int | None = None,
    axes: Sequence[int] | int | None = None,
    norm: Norm | None = None,
    overwrite_x: bool = False,  # noqa: ARG001 - without effect, as the documentation says
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """Compute the inverse cosine transform along several axes: the inverse of `dctn`.

    Like `scipy.fft.idctn`. The parameters, the result and the errors are those of `dctn`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.idctn(fft.dctn(np.ones((2, 2)))).round(3)
    array([[1., 1.],
           [1., 1.]])
    """
    lengths, chosen = integers("s", s), integers("axes", axes)
    arguments = (x, type, lengths, chosen, norm, workers, orthogonalize)
    return _along_axes(*arguments, is_sine=False, is_inverse=True)


def dstn(
    x: Any,
    type: Type = 2,
    s: Sequence[int] | int | None = None,
    axes: Sequence[int] | int | None = None,
    norm: Norm | None = None,
    overwrite_x: bool = False,  # noqa: ARG001 - without effect, as the documentation says
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """Compute the sine transform along several axes.

    Like `scipy.fft.dstn`. The parameters, the result and the errors are those of `dctn`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.dstn(np.ones((2, 2)), norm="ortho").round(3)
    array([[2., 0.],
           [0., 0.]])
    """
    lengths, chosen = integers("s", s), integers("axes", axes)
    arguments = (x, type, lengths, chosen, norm, workers, orthogonalize)
    return _along_axes(*arguments, is_sine=True, is_inverse=False)


def idstn(
    x: Any,
    type: Type = 2,
    s: Sequence[int] | int | None = None,
    axes: Sequence[int] | int | None = None,
    norm: Norm | None = None,
    overwrite_x: bool = False,  # noqa: ARG001 - without effect, as the documentation says
    workers: int | None = None,
    *,
    orthogonalize: bool | None = None,
) -> Any:
    """Compute the inverse sine transform along several axes: the inverse of `dstn`.

    Like `scipy.fft.idstn`. The parameters, the result and the errors are those of `dctn`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import fft
    >>> fft.idstn(fft.dstn(np.ones((2, 2)))).round(3)
    array([[1., 1.],
           [1., 1.]])
    """
    lengths, chosen = integers("s", s), integers("axes", axes)
    arguments = (x, type, lengths, chosen, norm, workers, orthogonalize)
    return _along_axes(*arguments, is_sine=True, is_inverse=True)


def _along_axes(
    x: Any,
    type_: int,
    lengths: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: Norm | None,
    workers: int | None,
    orthogonalize: bool | None,
    *,
    is_sine: bool,
    is_inverse: bool,
) -> Any:
    check_norm(norm)
    threads = threads_of(workers)
    type_ = integer("type", type_)
    if type_ not in (1, 2, 3, 4):
        msg = f"type is {type_!r}; 1, 2, 3 and 4 are the types of cosine and sine transforms"
        raise ValueError(msg)
    operand = as_operand(x)
    points, chosen = lengths_and_axes(operand.shape, lengths, axes)
    array = as_floating(operand)
    if not chosen:
        return operand
    least = 2 if type_ == 1 and not is_sine else 1
    if min(points) < least:
        msg = f"the lengths are {points}; this transform needs at least {least} points"
        raise ValueError(msg)
    if is_inverse:
        type_ = {2: 3, 3: 2}.get(type_, type_)
    is_orthogonal = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    for axis, n in zip(chosen, points, strict=True):
        if array.shape[axis] != n:
            array = resized(array, core.TensorView(array), {axis: n}, False, None)
        period = 2 * n + (0 if type_ != 1 else 2 if is_sine else -2)
        scale = _scale(period, norm, is_inverse)
        array = _along_axis(array, type_, n, axis, scale, is_orthogonal, is_sine, threads)
    return array


def _scale(period: int, norm: Norm | None, is_inverse: bool) -> float:
    if norm == "ortho":
        return 1 / math.sqrt(period)
    return 1 / period if is_inverse == (norm != "forward") else 1.0


def _along_axis(
    array: Any,
    type_: int,
    n: int,
    axis: int,
    scale: float,
    is_orthogonal: bool,
    is_sine: bool,
    threads: int | None,
) -> Any:
    """Transform along one axis: at once, or longer lines on a GPU in steps."""
    before, after = _END_FACTORS.get((type_, is_sine), _NONE) if is_orthogonal else _NONE
    result = core.cosine_transform(
        array,
        type_,
        axis,
        is_sine=is_sine,
        scale=scale,
        before=before,
        after=after,
        num_threads=threads,
    )
    if result is not None:
        return result
    has_parts = dtype_of(array).startswith("complex")
    line = core.cosine_step(
        array,
        type_,
        n,
        axis,
        True,
        is_sine=is_sine,
        first=before[0],
        last=before[1],
        has_parts=has_parts,
    )
    spectrum = _fourier(line, type_, n, axis)
    return core.cosine_step(
        spectrum,
        type_,
        n,
        axis,
        False,
        is_sine=is_sine,
        scale=scale,
        first=after[0],
        last=after[1],
        has_parts=has_parts,
    )


def _fourier(line: Any, type_: int, n: int, axis: int) -> Any:
    """Compute the Fourier transform between the steps; it may overwrite its operand."""
    kind: Kind = "R2C"
    if type_ == 3 and n % 2 == 0:
        kind = "C2R"
    elif dtype_of(line).startswith("complex"):
        kind = "C2C"
    out = line if kind == "C2C" else None
    direction = FFTDirection.INVERSE if type_ == 3 else FFTDirection.FORWARD
    norm: Norm | None = "forward" if type_ == 3 else None
    arguments = ((axis,), None, None, norm, None, None, out, None, None, None)
    return transform(line, kind, direction, *arguments, may_overwrite=True)


_ROOT = math.sqrt(2)
_NONE = ((1.0, 1.0), (1.0, 1.0))
# By type and whether it is a sine transform: factors of the first and the last element, of the
# operand and of the result, that make the transform orthogonal.
_END_FACTORS = {
    (1, False): ((_ROOT, _ROOT), (1 / _ROOT, 1 / _ROOT)),
    (2, False): ((1.0, 1.0), (1 / _ROOT, 1.0)),
    (3, False): ((_ROOT, 1.0), (1.0, 1.0)),
    (2, True): ((1.0, 1.0), (1.0, 1 / _ROOT)),
    (3, True): ((1.0, _ROOT), (1.0, 1.0)),
}
