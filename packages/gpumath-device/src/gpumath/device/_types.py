"""Types of numbers: what a user names, what libmathdx calls it, and what arrays hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumath.bindings.mathdx import CommondxPrecision, CommondxValueType

__all__ = [
    "INT_NP_TYPES",
    "REAL_NP_TYPES",
    "SMALL_FLOATS",
    "Complex",
    "SmallFloat",
    "Vector",
    "as_precision",
    "bfloat16",
    "complex32",
    "complex64",
    "complex128",
    "complex_of",
    "float8_e4m3fn",
    "float8_e5m2",
    "half2",
    "half4",
    "mathdx_precision",
    "np_float16x2",
    "np_float16x4",
    "precision_name",
    "tfloat32",
    "value_type_like",
    "value_type_number",
    "value_type_of",
]

np_float16x2 = np.dtype([("x", np.float16), ("y", np.float16)], align=True)
np_float16x4 = np.dtype([(name, np.float16) for name in "xyzw"], align=True)

REAL_NP_TYPES: list[type[np.floating[Any]]] = [np.float16, np.float32, np.float64]
INT_NP_TYPES: list[type[np.integer[Any]]] = [
    *(np.int8, np.int16, np.int32, np.int64),
    *(np.uint8, np.uint16, np.uint32, np.uint64),
]


class SmallFloat:
    """A type of numbers for matrix products that NumPy does not have.

    The types are ``device.bfloat16``, ``device.float8_e4m3fn``, ``device.float8_e5m2`` and
    ``device.tfloat32``.

    Attributes
    ----------
    name : str
        Its name, which is that of the type in ml_dtypes.
    dtype : numpy.dtype
        Integers that hold the bits of its numbers. For TF32, float32.

    Examples
    --------
    >>> from gpumath import device
    >>> device.bfloat16.dtype
    dtype('uint16')
    """

    def __init__(self, name: str, dtype: Any) -> None:
        self.name = name
        self.dtype = np.dtype(dtype)

    def __repr__(self) -> str:
        return self.name

    @property
    def _numba_type_(self) -> Any:
        return _numba_class(self)


bfloat16 = SmallFloat("bfloat16", np.uint16)
float8_e4m3fn = SmallFloat("float8_e4m3fn", np.uint8)
float8_e5m2 = SmallFloat("float8_e5m2", np.uint8)
tfloat32 = SmallFloat("tfloat32", np.float32)
SMALL_FLOATS = [bfloat16, tfloat32, float8_e4m3fn, float8_e5m2]


class Complex:
    """A type of complex numbers, on the host and in kernels.

    In kernels its numbers are aligned to their size, as the device functions need them.

    Parameters
    ----------
    real_dtype : type
        Type of the real and of the imaginary part: a type of NumPy, or a `SmallFloat`.

    Examples
    --------
    >>> from gpumath import device
    >>> device.complex64.dtype
    dtype('complex64')
    """

    def __init__(self, real_dtype: Any) -> None:
        self._real_dtype = real_dtype

    @property
    def real_dtype(self) -> Any:
        """Type of the real and of the imaginary part."""
        return self._real_dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of arrays on the host; for half precision and integers, a pair."""
        if self._real_dtype in (np.float32, np.float64):
            return np.result_type(self._real_dtype, np.complex64)
        if self._real_dtype is np.float16:
            return np_float16x2
        part = getattr(self._real_dtype, "dtype", self._real_dtype)
        part = part if isinstance(part, np.dtype) else np.dtype(self._real_dtype)
        return np.dtype([("x", part), ("y", part)], align=True)

    def __repr__(self) -> str:
        return f"Complex({precision_name(self._real_dtype)})"

    @property
    def _numba_type_(self) -> Any:
        return _numba_class(self)


class Vector:
    """A type of 2 or 4 half-precision numbers, on the host and in kernels.

    Parameters
    ----------
    real_dtype : type
        ``numpy.float16``.
    size : {2, 4}
        How many numbers.

    Examples
    --------
    >>> from gpumath import device
    >>> device.half2.dtype.names
    ('x', 'y')
    """

    def __init__(self, real_dtype: Any, size: int) -> None:
        if real_dtype is not np.float16 or size not in (2, 4):
            msg = f"there is no vector of {size} of {real_dtype!r}; 2 or 4 of numpy.float16 is"
            raise ValueError(msg)
        self._real_dtype = real_dtype
        self._size = size

    @property
    def real_dtype(self) -> Any:
        """Type of the numbers."""
        return self._real_dtype

    @property
    def size(self) -> int:
        """How many numbers."""
        return self._size

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of arrays on the host."""
        return np_float16x2 if self._size == 2 else np_float16x4

    def __repr__(self) -> str:
        return f"half{self._size}"

    @property
    def _numba_type_(self) -> Any:
        return _numba_class(self)


complex32 = Complex(np.float16)
complex64 = Complex(np.float32)
complex128 = Complex(np.float64)
half2 = Vector(np.float16, 2)
half4 = Vector(np.float16, 4)

_PRECISIONS: dict[Any, CommondxPrecision] = {
    np.float16: CommondxPrecision.F16,
    np.float32: CommondxPrecision.F32,
    np.float64: CommondxPrecision.F64,
    bfloat16: CommondxPrecision.BF16,
    tfloat32: CommondxPrecision.TF32,
    float8_e4m3fn: CommondxPrecision.F8_E4M3,
    float8_e5m2: CommondxPrecision.F8_E5M2,
    np.int8: CommondxPrecision.I8,
    np.int16: CommondxPrecision.I16,
    np.int32: CommondxPrecision.I32,
    np.int64: CommondxPrecision.I64,
    np.uint8: CommondxPrecision.UI8,
    np.uint16: CommondxPrecision.UI16,
    np.uint32: CommondxPrecision.UI32,
    np.uint64: CommondxPrecision.UI64,
}
# libmathdx's name of the type of numbers, without R_ or C_.
_VALUES: dict[str, Any] = {
    "16F": np.float16,
    "32F": np.float32,
    "64F": np.float64,
    "16BF": bfloat16,
    "32TF": tfloat32,
    "8F_E4M3": float8_e4m3fn,
    "8F_E5M2": float8_e5m2,
    **{f"{8 << i}I": number for i, number in enumerate(INT_NP_TYPES[:4])},
    **{f"{8 << i}UI": number for i, number in enumerate(INT_NP_TYPES[4:])},
}
_COMPLEX: dict[Any, Complex] = {t.real_dtype: t for t in (complex32, complex64, complex128)}


def precision_name(precision: Any) -> str:
    """Return the name of a type of numbers, such as ``'float32'``."""
    return precision.name if isinstance(precision, SmallFloat) else np.dtype(precision).name


_BY_NAME = {precision_name(precision): precision for precision in _PRECISIONS}


def as_precision(value: Any, name: str, allowed: list[Any]) -> Any:
    """Return the type of numbers that a user means by a type, a dtype or a name.

    Raises
    ------
    ValueError
        It is none of those that are allowed.
    """
    text = value if isinstance(value, str) else getattr(value, "name", None)
    if not isinstance(text, str) and value is not None:  # None is float64 for NumPy
        try:
            text = np.dtype(value).name
        except TypeError:
            text = None
    found = _BY_NAME.get(text) if isinstance(text, str) else None
    if found is None or found not in allowed:
        names = ", ".join(map(precision_name, allowed))
        msg = f"{name} is {value!r}; one of {names} is needed"
        raise ValueError(msg)
    return found


def mathdx_precision(precision: Any) -> CommondxPrecision:
    """Return libmathdx's number for a type of numbers."""
    return _PRECISIONS[precision]


def value_type_of(value: int) -> Any:
    """Return the type of numbers that libmathdx names as the type of an operand.

    It is a type of NumPy, a `SmallFloat`, a `Complex` or a `Vector`.
    """
    name = CommondxValueType(value).name
    if name in ("R_16F2", "C_16F2"):
        return half2 if name == "R_16F2" else half4
    kind, _, real = name.partition("_")
    number = _VALUES[real]
    return number if kind == "R" else complex_of(number)


def value_type_number(value_type: Any) -> int:
    """Return libmathdx's number for the type of the elements of an operand."""
    is_complex = isinstance(value_type, Complex)
    number = value_type.real_dtype if is_complex else value_type
    real = next(name for name, known in _VALUES.items() if known is number)
    return int(CommondxValueType[f"{'C' if is_complex else 'R'}_{real}"])


def value_type_like(value_type: Any, name: str) -> Any:
    """Return a type of elements with another type of numbers: complex if ``value_type`` is.

    Parameters
    ----------
    value_type : type, SmallFloat or Complex
        A type of elements.
    name : str
        Name of the type of numbers, such as ``'float32'``; or of vectors of them, with ``'x2'``.
    """
    number = _BY_NAME[name.partition("x")[0]]
    return complex_of(number) if isinstance(value_type, Complex) else number


def complex_of(number: Any) -> Complex:
    """Return the type of complex numbers whose parts are of a type."""
    return _COMPLEX.setdefault(number, Complex(number))


def _numba_class(value: Any) -> Any:
    from gpumath.device import _numba

    return _numba.number_class(value)
