"""What is known of the matrices of a product, beyond their elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from gpumath._host.arguments import checked_flag, checked_integer

if TYPE_CHECKING:
    from gpumath.bindings.cublas import DiagType, FillMode

__all__ = [
    "DiagonalMatrixQualifier",
    "GeneralMatrixQualifier",
    "HermitianMatrixQualifier",
    "MatrixQualifier",
    "QualifierTuple",
    "Qualifiers",
    "SymmetricMatrixQualifier",
    "TriangularMatrixQualifier",
    "matrix_qualifiers_dtype",
    "pair_for_all",
    "resolve_qualifiers",
]

matrix_qualifiers_dtype: np.dtype[np.void] = np.dtype(
    [
        ("abbreviation", "<U2"),
        ("conjugate", "?"),
        ("uplo", "<i4"),
        ("diag", "<i4"),
        ("incx", "<i4"),
    ]
)
"""Element type of arrays of qualifiers.

Its fields are a matrix's kind (``ge``, ``sy``, ``he``, ``tr`` or ``dg``), whether its complex
conjugate is meant, which triangle is stored (a `FillMode`), whether its diagonal is all ones (a
`DiagType`), and the direction of the vector of a diagonal matrix (1 or -1).
"""

# Numbers of cuBLAS's enums, which are not imported for a default.
_LOWER, _UPPER, _FULL = 0, 1, 2
_NON_UNIT, _UNIT = 0, 1

_TRIANGLES = (_LOWER, _UPPER)
_DIAGONALS = (_NON_UNIT, _UNIT)


class MatrixQualifier:
    """Base of the classes that make qualifiers; they have no objects.

    Raises
    ------
    RuntimeError
        An object is to be made.
    """

    _abbreviation: ClassVar[str] = ""
    _kind: ClassVar[str] = "any"

    def __init__(self) -> None:
        """Raise RuntimeError."""
        msg = f"{type(self).__name__} has no objects; use {type(self).__name__}.create()"
        raise RuntimeError(msg)

    @classmethod
    def is_valid(cls, other: Any) -> bool:
        """Return whether all elements of an array are valid qualifiers of this kind.

        Parameters
        ----------
        other : array_like
            Qualifiers: an array of type `matrix_qualifiers_dtype`.

        Returns
        -------
        bool
            False for arrays of other types too.
        """
        try:
            array = np.asarray(other)
        except ValueError:
            # Nested sequences of different lengths.
            return False
        if array.dtype != matrix_qualifiers_dtype:
            return False
        return all(_is_valid(each, cls._abbreviation) for each in array.reshape(-1))

    @classmethod
    def to_string(cls, other: Any) -> str:
        """Describe a qualifier of this kind.

        Parameters
        ----------
        other : array_like
            One qualifier, of type `matrix_qualifiers_dtype`.

        Returns
        -------
        str
            Words such as ``lower triangular, conjugated``.

        Raises
        ------
        ValueError
            It is no valid qualifier of this kind.
        """
        if not cls.is_valid(other) or np.size(other) != 1:
            msg = f"{other!r} is no qualifier of a {cls._kind} matrix; make it with create()"
            raise ValueError(msg)
        one = np.asarray(other).reshape(-1)[0]
        abbreviation = str(one["abbreviation"])
        words = _KINDS[abbreviation]
        if abbreviation in _WITH_TRIANGLE:
            words = f"{'lower' if one['uplo'] == _LOWER else 'upper'} {words}"
        if abbreviation == "tr" and one["diag"] == _UNIT:
            words = f"unit {words}"
        if abbreviation == "dg" and one["incx"] == -1:
            words = f"reversed {words}"
        return f"{words}, conjugated" if one["conjugate"] else words


class GeneralMatrixQualifier(MatrixQualifier):
    """Qualifiers of matrices all of whose elements are stored.

    Examples
    --------
    >>> from gpumath import linalg
    >>> linalg.GeneralMatrixQualifier.to_string(linalg.GeneralMatrixQualifier.create())
    'general'
    """

    _abbreviation = "ge"
    _kind = "general"

    @classmethod
    def create(cls, conjugate: bool = False) -> np.ndarray[Any, np.dtype[np.void]]:
        """Return the qualifier of a general matrix.

        Parameters
        ----------
        conjugate : bool, default: False
            Whether the complex conjugate is meant.

        Returns
        -------
        numpy.ndarray
            One element of type `matrix_qualifiers_dtype`.

        Raises
        ------
        TypeError
            ``conjugate`` is no bool.
        """
        return _qualifier("ge", conjugate, _FULL, _NON_UNIT, 0)


class SymmetricMatrixQualifier(MatrixQualifier):
    """Qualifiers of symmetric matrices, of which one triangle is read.

    Examples
    --------
    >>> from gpumath import linalg
    >>> linalg.SymmetricMatrixQualifier.to_string(linalg.SymmetricMatrixQualifier.create())
    'lower symmetric'
    """

    _abbreviation = "sy"
    _kind = "symmetric"

    @classmethod
    def create(
        cls, conjugate: bool = False, uplo: FillMode | int = _LOWER
    ) -> np.ndarray[Any, np.dtype[np.void]]:
        """Return the qualifier of a symmetric matrix.

        Parameters
        ----------
        conjugate : bool, default: False
            Whether the complex conjugate is meant.
        uplo : FillMode, default: FillMode.LOWER
            The triangle that is stored. The other one is not read.

        Returns
        -------
        numpy.ndarray
            One element of type `matrix_qualifiers_dtype`.

        Raises
        ------
        ValueError
            ``uplo`` is neither LOWER nor UPPER.
        TypeError
            ``conjugate`` is no bool, or ``uplo`` is no integer.
        """
        return _qualifier("sy", conjugate, _triangle(uplo), _NON_UNIT, 0)


class HermitianMatrixQualifier(MatrixQualifier):
    """Qualifiers of Hermitian matrices, of which one triangle is read.

    Imaginary parts on the diagonal do not count.

    Examples
    --------
    >>> from gpumath import linalg
    >>> one = linalg.HermitianMatrixQualifier.create(uplo=linalg.FillMode.UPPER)
    >>> linalg.HermitianMatrixQualifier.to_string(one)
    'upper Hermitian'
    """

    _abbreviation = "he"
    _kind = "Hermitian"

    @classmethod
    def create(
        cls, conjugate: bool = False, uplo: FillMode | int = _LOWER
    ) -> np.ndarray[Any, np.dtype[np.void]]:
        """Return the qualifier of a Hermitian matrix.

        Parameters
        ----------
        conjugate : bool, default: False
            Whether the complex conjugate is meant.
        uplo : FillMode, default: FillMode.LOWER
            The triangle that is stored. The other one is not read.

        Returns
        -------
        numpy.ndarray
            One element of type `matrix_qualifiers_dtype`.

        Raises
        ------
        ValueError
            ``uplo`` is neither LOWER nor UPPER.
        TypeError
            ``conjugate`` is no bool, or ``uplo`` is no integer.
        """
        return _qualifier("he", conjugate, _triangle(uplo), _NON_UNIT, 0)


class TriangularMatrixQualifier(MatrixQualifier):
    """Qualifiers of triangular matrices, of which one triangle is read.

    Examples
    --------
    >>> from gpumath import linalg
    >>> one = linalg.TriangularMatrixQualifier.create(diag=linalg.DiagType.UNIT)
    >>> linalg.TriangularMatrixQualifier.to_string(one)
    'unit lower triangular'
    """

    _abbreviation = "tr"
    _kind = "triangular"

    @classmethod
    def create(
        cls,
        conjugate: bool = False,
        uplo: FillMode | int = _LOWER,
        diag: DiagType | int = _NON_UNIT,
    ) -> np.ndarray[Any, np.dtype[np.void]]:
        """Return the qualifier of a triangular matrix.

        Parameters
        ----------
        conjugate : bool, default: False
            Whether the complex conjugate is meant.
        uplo : FillMode, default: FillMode.LOWER
            The triangle that is stored. The other one is zero, and is not read.
        diag : DiagType, default: DiagType.NON_UNIT
            Whether the diagonal is all ones. It is not read then.

        Returns
        -------
        numpy.ndarray
            One element of type `matrix_qualifiers_dtype`.

        Raises
        ------
        ValueError
            ``uplo`` is neither LOWER nor UPPER, or ``diag`` is no DiagType.
        TypeError
            ``conjugate`` is no bool, or ``uplo`` or ``diag`` is no integer.
        """
        code = checked_integer("diag", diag)
        if code not in _DIAGONALS:
            msg = f"diag is {diag!r}; DiagType.NON_UNIT and DiagType.UNIT are allowed"
            raise ValueError(msg)
        return _qualifier("tr", conjugate, _triangle(uplo), code, 0)


class DiagonalMatrixQualifier(MatrixQualifier):
    """Qualifiers of diagonal matrices, which are given by the vectors of their diagonals.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import linalg
    >>> qualifiers = np.full(2, linalg.GeneralMatrixQualifier.create())
    >>> qualifiers[0] = linalg.DiagonalMatrixQualifier.create()
    >>> linalg.matmul(np.array([2.0, 3.0]), np.ones((2, 2)), qualifiers=qualifiers)
    array([[2., 2.],
           [3., 3.]])
    """

    _abbreviation = "dg"
    _kind = "diagonal"

    @classmethod
    def create(
        cls, conjugate: bool = False, incx: Literal[-1, 1] = 1
    ) -> np.ndarray[Any, np.dtype[np.void]]:
        """Return the qualifier of a diagonal matrix.

        Parameters
        ----------
        conjugate : bool, default: False
            Whether the complex conjugate is meant.
        incx : {1, -1}, default: 1
            -1 for a vector that begins with the last element of the diagonal.

        Returns
        -------
        numpy.ndarray
            One element of type `matrix_qualifiers_dtype`.

        Raises
        ------
        ValueError
            ``incx`` is neither 1 nor -1.
        TypeError
            ``conjugate`` is no bool, or ``incx`` is no integer.
        """
        step = checked_integer("incx", incx, lowest=-1)
        if step not in (1, -1):
            msg = f"incx is {incx!r}; 1 and -1 are allowed"
            raise ValueError(msg)
        return _qualifier("dg", conjugate, _FULL, _NON_UNIT, step)


_KINDS = {
    "ge": "general",
    "sy": "symmetric",
    "he": "Hermitian",
    "tr": "triangular",
    "dg": "diagonal",
}
_WITH_TRIANGLE = ("sy", "he", "tr")

Qualifiers: TypeAlias = "np.ndarray[Any, np.dtype[np.void]] | Sequence[Any] | None"
"""What users give: an array of up to three qualifiers, or a sequence of them for a list."""

QualifierTuple: TypeAlias = tuple[str, bool, int, int, int]
"""A qualifier as the core takes it."""

GENERAL: QualifierTuple = ("ge", False, _FULL, _NON_UNIT, 0)


def resolve_qualifiers(
    qualifiers: Qualifiers, count: int | None
) -> list[tuple[QualifierTuple, QualifierTuple]]:
    """Turn the argument into pairs for a and b: one for all products, or one for each of a list.

    ``count`` is the length of the list; None for a single product. ValueError if it is anything
    else than qualifiers of two or three operands.
    """
    if qualifiers is None:
        return []
    if (pair := pair_for_all(qualifiers)) is not None:
        return [pair]
    if isinstance(qualifiers, np.ndarray) and qualifiers.dtype == matrix_qualifiers_dtype:
        if qualifiers.ndim == 2 and count is not None:
            return _for_each([_pair(each) for each in qualifiers], count)
    elif isinstance(qualifiers, list | tuple) and qualifiers:
        if all(np.asarray(each).ndim == 0 for each in qualifiers):
            return [_pair(_as_array(qualifiers))]
        if count is not None:
            return _for_each([_pair(_as_array(each)) for each in qualifiers], count)
    msg = (
        f"qualifiers is {qualifiers!r}; an array of type matrix_qualifiers_dtype with an element "
        "for a and one for b is needed, or for lists of operands a sequence of such arrays"
    )
    raise ValueError(msg)


def pair_for_all(qualifiers: Qualifiers) -> tuple[QualifierTuple, QualifierTuple] | None:
    """Return the pair of an array of qualifiers, as for `resolve_qualifiers`; None for others."""
    if (
        isinstance(qualifiers, np.ndarray)
        and qualifiers.ndim == 1
        and qualifiers.dtype == matrix_qualifiers_dtype
    ):
        return _pair_of_bytes(qualifiers.tobytes())
    return None


# To check them takes longer than a small product.
@lru_cache(maxsize=256)
def _pair_of_bytes(data: bytes) -> tuple[QualifierTuple, QualifierTuple]:
    count = len(data) // matrix_qualifiers_dtype.itemsize
    return _pair(np.ndarray((count,), matrix_qualifiers_dtype, data))


def _as_array(qualifiers: Any) -> np.ndarray[Any, np.dtype[np.void]]:
    try:
        return np.array(qualifiers, dtype=matrix_qualifiers_dtype)
    except (TypeError, ValueError) as error:
        msg = (
            f"{qualifiers!r} are no qualifiers; make them with GeneralMatrixQualifier.create() and "
            "its siblings"
        )
        raise ValueError(msg) from error


def _for_each(
    pairs: list[tuple[QualifierTuple, QualifierTuple]], count: int
) -> list[tuple[QualifierTuple, QualifierTuple]]:
    if len(pairs) not in (1, count):
        msg = f"qualifiers has {len(pairs)} elements for {count} products; give 1 or {count}"
        raise ValueError(msg)
    return pairs


def _pair(
    array: np.ndarray[Any, np.dtype[np.void]],
) -> tuple[QualifierTuple, QualifierTuple]:
    """Check the qualifiers of one product, of a, b and perhaps c, and return those of a and b."""
    if array.shape not in ((2,), (3,)):
        msg = (
            f"the qualifiers of a product have the shape {array.shape}; one for a, one for b and "
            "perhaps one for c are needed"
        )
        raise ValueError(msg)
    for name, each in zip("abc", array, strict=False):
        if not _is_valid(each, ""):
            msg = (
                f"the qualifier of {name} is {each}, which no create() returns; make it with "
                "GeneralMatrixQualifier.create() or one of its siblings"
            )
            raise ValueError(msg)
    a, b, *c = array.tolist()
    if c and c[0][:2] != ("ge", False):
        msg = "c has a qualifier, but it must be a general matrix that is not conjugated"
        raise ValueError(msg)
    return tuple(a), tuple(b)


def _is_valid(one: Any, abbreviation: str) -> bool:
    """Whether one element is a qualifier of the kind; of any kind for an empty abbreviation."""
    kind = str(one["abbreviation"])
    if kind not in _KINDS or (abbreviation and kind != abbreviation):
        return False
    if kind in _WITH_TRIANGLE and one["uplo"] not in _TRIANGLES:
        return False
    if kind == "tr" and one["diag"] not in _DIAGONALS:
        return False
    return kind != "dg" or one["incx"] in (1, -1)


def _triangle(uplo: FillMode | int) -> int:
    code = checked_integer("uplo", uplo)
    if code not in _TRIANGLES:
        msg = f"uplo is {uplo!r}; FillMode.LOWER and FillMode.UPPER are allowed"
        raise ValueError(msg)
    return code


def _qualifier(
    abbreviation: str, conjugate: bool, uplo: int, diag: int, incx: int
) -> np.ndarray[Any, np.dtype[np.void]]:
    fields = (abbreviation, checked_flag("conjugate", conjugate), uplo, diag, incx)
    return np.array(fields, dtype=matrix_qualifiers_dtype)
