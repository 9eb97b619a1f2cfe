"""Convolutions by transforms: of the whole arrays, or of pieces of the longer one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from gpumath._host.conversions import dtype_of, empty, is_c_contiguous, windows
from gpumath.bindings import core
from gpumath.fft._fast_lengths import Place, fast_length, fast_length_on_gpu
from gpumath.fft._options import FFTDirection, Kind, Norm
from gpumath.fft._transform import transform

__all__ = [
    "OVERHEAD",
    "Pieces",
    "Product",
    "by_pieces",
    "by_transforms",
    "pieces_cost",
    "pieces_of",
    "transforms_cost",
    "transforms_cost_on_gpu",
]


class Product(NamedTuple):
    """A convolution of two arrays with equally many dimensions."""

    x: Any
    h: Any
    axes: tuple[int, ...]
    """Ascending. Along all others the arrays are multiplied, and broadcast."""
    starts: tuple[int, ...]
    """Along each dimension, the first element of the full convolution that is wanted."""
    shape: tuple[int, ...]
    """Of the result."""
    dtype: str
    """Of the arrays and the result."""
    is_on_gpu: bool

    @property
    def is_real(self) -> bool:
        return not self.dtype.startswith("complex")

    def least_length(self, axis: int) -> int:
        """Return how many points a transform needs so that none that is wanted is wrapped around.

        The ends of the full convolution may be where nothing is wanted.
        """
        points, taps = int(self.x.shape[axis]), int(self.h.shape[axis])
        start, wanted = self.starts[axis], self.shape[axis]
        return max(points, taps, start + wanted, points + taps - 1 - start)

    def lengths(self) -> tuple[int, ...]:
        """Return fast lengths of transforms that hold the wanted part of the convolution."""
        return tuple(self.fast(self.least_length(a), a) for a in self.axes)

    def fast(self, least: int, axis: int) -> int:
        """Return a fast length; real transforms are faster with an even one along the last axis."""
        if self.is_on_gpu:
            place: Place = "row" if axis == len(self.shape) - 1 else "column"
            if len(self.axes) == 1 and place == "row":
                return fast_length_on_gpu(least, self.dtype, "line", _batch(self))
            return fast_length_on_gpu(least, self.dtype, place)
        return fast_length(least, 2 if self.is_real and axis == self.axes[-1] else 1)


def by_transforms(product: Product) -> Any:
    """Convolve by transforms of the whole arrays."""
    pair = _Pair(product.axes, product.lengths(), product.is_real, product.is_on_gpu)
    whole = pair.convolved(product.x, pair.filter_spectrum(product.h))
    if tuple(whole.shape) == product.shape:
        return whole
    wanted = whole[_range(product.starts, product.shape)]
    # A view, such as a part of a line, saves a copy and keeps the memory of all.
    if is_c_contiguous(wanted) and 8 * math.prod(product.shape) >= 7 * math.prod(whole.shape):
        return wanted
    return core.resized(whole, product.shape, starts=product.starts, order="C")


class Pieces(NamedTuple):
    """How ``x`` is cut along one axis: into pieces of ``length``, one every ``step`` elements.

    Pieces overlap by one element less than ``h`` has.
    """

    axis: int
    length: int
    step: int


# Numbers that are transformed at a time: as many as the caches of each core hold, and on a GPU as
# many as keep it busy.
_NUMBERS_ON_CPU, _NUMBERS_ON_GPU = 1 << 15, 1 << 26

# Bytes of a piece, as complex numbers, that a core's cache holds beside its transform.
_CACHED_BYTES = 3 << 20

# Bytes of the result from which a GPU convolves along several axes by pieces: for transforms of the
# whole arrays memory might be short.
_LEAST_OF_AXES_ON_GPU = 1 << 32


def by_pieces(product: Product, pieces: Pieces) -> Any:
    """Convolve by transforms of pieces of ``x`` (overlap-save).

    The last ``step`` numbers that a piece gives belong to the convolution; those before them have
    wrapped around. So the first numbers of all come from a piece with zeros beside its elements.
    """
    x, h, (axis, length, step) = product.x, product.h, pieces
    overlap, count = length - step, x.shape[axis]
    others = [(a, n) for a, n in zip(product.axes, product.lengths(), strict=True) if a != axis]
    # The elements of a piece are along a new last axis.
    axes, lengths = (*(a for a, _ in others), x.ndim), (*(n for _, n in others), length)
    pair = _Pair(axes, lengths, product.is_real, product.is_on_gpu)
    spectrum = pair.spectrum(_as_one_piece(h, axis))
    if product.is_on_gpu:
        return _by_padded_pieces(pair, spectrum, product, pieces)
    target = _Target(product, axis, empty(x, product.shape, product.dtype))
    if product.starts[axis] < overlap:
        head = pair.convolved(_as_one_piece(_part(x, axis, 0, overlap), axis), spectrum)
        target.put(head, 0, 0, overlap)
    complete = (count - length) // step + 1
    whole = windows(x, axis, length, step)
    numbers = _NUMBERS_ON_CPU * core.usable_cores()
    at_once = max(numbers * complete // math.prod(whole.shape), 1)
    for first in range(0, complete, at_once):
        block = pair.convolved(_part(whole, axis, first, first + at_once), spectrum)
        target.put(block, overlap + first * step, overlap, step)
    for first in range(complete * step, count, step):
        tail = pair.convolved(_as_one_piece(_part(x, axis, first, first + length), axis), spectrum)
        target.put(tail, overlap + first, overlap, step)
    return target.result


def _by_padded_pieces(pair: _Pair, spectrum: Any, product: Product, pieces: Pieces) -> Any:
    """Convolve all pieces in the same way, of a copy of ``x`` with zeros at its ends.

    On a GPU the copy takes less time than the calls for pieces at the ends would.
    """
    x, (axis, length, step) = product.x, pieces
    overlap, wanted = length - step, product.shape[axis]
    number = -(-wanted // step)
    shape, starts = list(x.shape), [0] * x.ndim
    shape[axis] = overlap + number * step
    # The first piece gives the element `start` of the full convolution first.
    starts[axis] = product.starts[axis] - overlap
    padded = core.resized(x, shape, starts=starts, order="C")
    whole, result = windows(padded, axis, length, step), empty(x, product.shape, product.dtype)
    at_once = max(_NUMBERS_ON_GPU * number // math.prod(whole.shape), 1)
    for first in range(0, number, at_once):
        end = first + at_once
        block, part = whole, result
        if at_once < number:
            block = _part(whole, axis, first, end)
            part = _part(result, axis, first * step, end * step)
        block = pair.convolved(block, spectrum)
        if len(product.axes) > 1:
            block = _wanted_beside(block, product, axis)
        core.join_pieces(part, block, axis, overlap)
    return result


def pieces_of(product: Product) -> Pieces | None:
    """Return the cheapest pieces; None if ``h`` has more than an eighth of the elements everywhere.

    On a GPU, also None where transforms of the whole arrays take less time.
    """
    ratios = [(product.x.shape[a] / product.h.shape[a], a) for a in product.axes]
    ratio, axis = max(ratios)
    points = product.h.shape[axis]
    start, wanted = product.starts[axis], product.shape[axis]
    if ratio < 8 or start > points - 1 or start + wanted < product.x.shape[axis]:
        return None
    if product.is_on_gpu:
        return _pieces_on_gpu(product, axis)
    lengths = []
    last = product.axes[-1]
    length = product.fast(4 * points, last)
    while length <= product.x.shape[axis] // 2:
        lengths.append(length)
        length = product.fast(2 * length, last)
    if not lengths:
        return None
    size = _BYTES[product.dtype] * (2 if product.is_real else 1)
    for other, n in zip(product.axes, product.lengths(), strict=True):
        size *= n if other != axis else 1
    lengths = [n for n in lengths if n * size <= _CACHED_BYTES] or lengths[:1]
    each = _TRANSFORM_COSTS[product.dtype]
    best = min(lengths, key=lambda n: (_LINE_COST + each * _steps((n,))) / (n - points + 1))
    return Pieces(axis, best, best - points + 1)


def _pieces_on_gpu(product: Product, axis: int) -> Pieces | None:
    if len(product.axes) > 1:
        if _BYTES[product.dtype] * math.prod(product.shape) < _LEAST_OF_AXES_ON_GPU:
            return None
        whole = math.inf
    else:
        whole = transforms_cost_on_gpu(product, None)
    # Pieces take at least this long, so most arrays need no closer look.
    if whole <= _HOST_TIME_OF_PIECES:
        return None
    points, taps = int(product.x.shape[axis]), int(product.h.shape[axis])
    length = _length_of_pieces(points, taps, product.shape[axis], product.dtype)
    if length is None:
        return None
    pieces = Pieces(axis, length, _step_on_gpu(length, taps))
    return pieces if transforms_cost_on_gpu(product, pieces) < whole else None


@lru_cache(maxsize=1024)
def _length_of_pieces(points: int, taps: int, wanted: int, dtype: str) -> int | None:
    """Return the power of two that a GPU takes the least time with; None if it is too long."""
    first = (4 * taps).bit_length()
    lengths = [1 << power for power in range(first, (points // 2).bit_length())]
    if not lengths:
        return None

    def cost(length: int) -> float:
        return -(-wanted // _step_on_gpu(length, taps)) * length * _cost_on_gpu(length, dtype)

    return min(lengths, key=cost)


def _step_on_gpu(length: int, taps: int) -> int:
    """Return how far from each other pieces begin: real ones where complex numbers could begin."""
    return (length - taps + 1) // 2 * 2


def transforms_cost(product: Product) -> float:
    """Return about how many nanoseconds `by_transforms` takes on a CPU."""
    lengths, batch = product.lengths(), _batch(product)
    size = math.prod(lengths)
    lines = sum(size / length for length in lengths)
    each = _TRANSFORM_COSTS[product.dtype] * _steps(lengths) + lines * _SHORT_LINE_COST
    return OVERHEAD + 3 * batch * each / _speed_of_cores(batch * size, _SCALING_OF_WHOLE)


def transforms_cost_on_gpu(product: Product, pieces: Pieces | None) -> float:
    """Return about how many nanoseconds transforms take on a GPU, with the host's work for them."""
    lengths, batch = product.lengths(), _batch(product)
    numbers = float(batch * math.prod(lengths))
    host = _HOST_TIME + len(lengths) * _HOST_TIME_OF_AXIS
    if pieces is not None:
        numbers /= lengths[product.axes.index(pieces.axis)]
        numbers *= -(-product.shape[pieces.axis] // pieces.step) * pieces.length
        each, host = _cost_on_gpu(pieces.length, product.dtype), _HOST_TIME_OF_PIECES
    elif len(lengths) == 1:
        # The filter is transformed too, one way.
        numbers *= 1 + 0.1 / batch
        each = _cost_on_gpu(lengths[0], product.dtype)
    else:
        each = _COSTS_OF_IMAGES[product.dtype]
    # The GPU works while the host goes on, but for the first part of the host's time.
    return max(host, 0.3 * host + each * numbers)


def _cost_on_gpu(length: int, dtype: str) -> float:
    """Return about how many nanoseconds a number of a line takes, of so many numbers."""
    return next(cost for most, cost in _COSTS_OF_LINES[dtype] if length <= most)


def pieces_cost(product: Product, pieces: Pieces) -> float:
    """Return about how many nanoseconds `by_pieces` takes on a CPU."""
    count = int(product.x.shape[pieces.axis]) / pieces.step + 1
    lengths = product.lengths()
    at = product.axes.index(pieces.axis)
    lines = math.prod(lengths) / lengths[at]
    lengths = (*lengths[:at], pieces.length, *lengths[at + 1 :])
    each = lines * _LINE_COST + _TRANSFORM_COSTS[product.dtype] * _steps(lengths)
    batch = _batch(product)
    speed = _speed_of_cores(batch * count * math.prod(lengths), _SCALING_OF_PIECES)
    return 2 * OVERHEAD + 2.7 * batch * count * each / speed


# Nanoseconds that the Python code of a convolution takes on a CPU.
OVERHEAD = 20_000

# Nanoseconds that the host takes for the work on a GPU: for transforms of the whole arrays, for
# each axis of these, and for transforms of pieces.
_HOST_TIME, _HOST_TIME_OF_AXIS, _HOST_TIME_OF_PIECES = 90_000, 25_000, 250_000

# Points of transforms that all cores share; and the power of their number by which these are then
# faster, as measured on 16 cores of an Intel Xeon. Pieces need more copies.
_LEAST_SHARED, _SCALING_OF_WHOLE, _SCALING_OF_PIECES = 50_000, 0.6, 0.35

# Nanoseconds that a line takes beside its points: a piece, and one of whole arrays.
_LINE_COST, _SHORT_LINE_COST = 30, 10

# Nanoseconds of a step of a transform, measured on one core of an AMD EPYC.
_TRANSFORM_COSTS = {"float32": 0.1, "float64": 0.14, "complex64": 0.125, "complex128": 0.2}

_BYTES = {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}

# Nanoseconds for a number of an image that is transformed as a whole: between what an H200 takes
# and what an H100 does, whose memory is slower.
_COSTS_OF_IMAGES = {"float32": 0.054, "float64": 0.095, "complex64": 0.072, "complex128": 0.137}

# Nanoseconds for a number of a line, whole or a piece, measured on an H100: for lines of at most so
# many numbers. Longer ones are read and written more often.
_COSTS_OF_LINES = {
    "float32": ((1 << 14, 0.026), (1 << 16, 0.032), (1 << 22, 0.04), (math.inf, 0.046)),
    "float64": (
        (1 << 12, 0.043),
        (1 << 14, 0.056),
        (1 << 19, 0.068),
        (1 << 22, 0.075),
        (math.inf, 0.087),
    ),
    "complex64": (
        (1 << 14, 0.04),
        (1 << 15, 0.045),
        (1 << 20, 0.049),
        (1 << 22, 0.052),
        (math.inf, 0.06),
    ),
    "complex128": (
        (1 << 12, 0.074),
        (1 << 13, 0.079),
        (1 << 18, 0.095),
        (1 << 20, 0.101),
        (1 << 22, 0.109),
        (math.inf, 0.127),
    ),
}


def _speed_of_cores(points: float, scaling: float) -> float:
    """Return how much faster all cores are than one, which takes the copies and products alone."""
    return core.usable_cores() ** scaling if points >= _LEAST_SHARED else 1


def _steps(lengths: Sequence[int]) -> float:
    """Return the steps of a transform, each of which takes one of `_TRANSFORM_COSTS`."""
    points = math.prod(lengths)
    # Beyond what a cache holds, each number comes from memory several times.
    return points * (math.log2(points) + 4 + (points > _NUMBERS_ON_CPU) * 8)


def _batch(product: Product) -> int:
    return math.prod(n for a, n in enumerate(product.shape) if a not in product.axes)


class _Pair(NamedTuple):
    """The transforms forth and back of a convolution."""

    axes: tuple[int, ...]
    lengths: tuple[int, ...]
    is_real: bool
    is_on_gpu: bool

    def spectrum(self, array: Any) -> Any:
        """Transform, padded with zeros."""
        shape = list(array.shape)
        for axis, length in zip(self.axes, self.lengths, strict=True):
            shape[axis] = length
        padded = array if shape == list(array.shape) else core.resized(array, shape)
        kind: Kind = "R2C" if self.is_real else "C2C"
        return transform(padded, kind, FFTDirection.FORWARD, self.axes, *(None,) * 9)

    def filter_spectrum(self, array: Any) -> Any:
        """Like `spectrum`, of few elements along some axes: those are padded last on a GPU."""
        slow, last = self.axes[:-1], self.axes[-1]
        if not self.is_on_gpu or not slow:
            return self.spectrum(array)
        lines = self._replace(axes=(last,), lengths=self.lengths[-1:]).spectrum(array)
        columns = self._replace(axes=slow, lengths=self.lengths[:-1], is_real=False)
        return columns.spectrum(lines)

    def _scaled_product(self, spectrum: Any, filter_spectrum: Any, is_large: bool) -> Any:
        """Multiply on a GPU, and scale as the transform back would, in one kernel."""
        target = spectrum
        if not is_large:
            shape = tuple(map(max, spectrum.shape, filter_spectrum.shape))
            target = empty(spectrum, shape, dtype_of(spectrum))
        core.multiply_spectra(target, spectrum, filter_spectrum, 1 / math.prod(self.lengths))
        return target

    def convolved(self, array: Any, filter_spectrum: Any) -> Any:
        """Return the circular convolution of an array and what the other spectrum is of."""
        spectrum = self.spectrum(array)
        is_large = all(map(int.__ge__, spectrum.shape, filter_spectrum.shape))
        norm: Norm = "backward"
        if self.is_on_gpu:
            spectrum = self._scaled_product(spectrum, filter_spectrum, is_large)
            norm = "forward"
        elif is_large:
            spectrum *= filter_spectrum
        else:
            spectrum = spectrum * filter_spectrum
        kind: Kind = "C2R" if self.is_real else "C2C"
        out = None if self.is_real else spectrum
        return transform(
            spectrum,
            kind,
            FFTDirection.INVERSE,
            self.axes,
            None,
            None,
            norm,
            None,
            None,
            out,
            None,
            None,
            None,
            may_overwrite=True,
        )


class _Target(NamedTuple):
    """The result, which is written piece by piece along an axis."""

    product: Product
    axis: int
    result: Any

    def put(self, block: Any, position: int, skipped: int, step: int) -> None:
        """Write ``step`` numbers of each piece, after ``skipped`` ones of them.

        They belong to ``position`` of the full convolution and the following ones.
        """
        axis, starts, shape = self.axis, list(self.product.starts), list(self.product.shape)
        first = max(position, starts[axis])
        count = block.shape[axis]
        points = min(position + count * step, starts[axis] + shape[axis]) - first
        if points <= 0:
            return
        # Along the axis there may be several pieces, or a part of one.
        numbers = block[..., skipped + first - position : skipped + step]
        if count == 1:
            numbers = numbers[..., :points]
        numbers = _wanted_beside(numbers, self.product, axis)
        place = (*(slice(None),) * axis, slice(first - starts[axis], first - starts[axis] + points))
        target = self.result[place]
        for at in range(numbers.ndim - 1, axis + 1, -1):
            numbers = numbers.swapaxes(at, at - 1)
        target.reshape(numbers.shape)[...] = numbers


def _range(starts: Sequence[int], shape: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(start, start + n) for start, n in zip(starts, shape, strict=True))


def _wanted_beside(pieces: Any, product: Product, axis: int) -> Any:
    """Return what is wanted of pieces along the other axes."""
    index = _range(product.starts, product.shape)
    return pieces[(*index[:axis], slice(None), *index[axis + 1 :])]


def _part(array: Any, axis: int, first: int, end: int) -> Any:
    return array[(*(slice(None),) * axis, slice(first, end))]


def _as_one_piece(array: Any, axis: int) -> Any:
    """Move an axis to the end, and leave one of a single element in its place."""
    return array[..., None].swapaxes(axis, -1)
