"""The functions of cuSOLVERDx: their arguments, the operators that they take, their matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from gpumath.bindings.mathdx import (
    CusolverdxDiag,
    CusolverdxFillMode,
    CusolverdxJob,
    CusolverdxSide,
    CusolverdxTransposeMode,
)
from gpumath.device._arguments import as_count, one_of

__all__ = [
    "FUNCTIONS",
    "LEADING_DIMENSIONS",
    "OPTIONS",
    "SolverFunction",
    "as_counts",
    "as_pair",
    "checked_options",
    "default_leading_dimensions",
]

_T = TypeVar("_T")

# The leading dimensions that follow a matrix where they are passed at run time.
LEADING_DIMENSIONS = {"a": "lda", "b": "ldb", "c": "ldc", "v": "ldv"}
_TRANSPOSED = ("transpose_mode",)
_FILL = ("fill_mode",)


class SolverFunction(NamedTuple):
    """What a function takes.

    ``optional`` operators may be given and ``required`` ones must be; no other may.
    """

    arguments: tuple[str, ...]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()


FUNCTIONS = {
    "potrf": SolverFunction(("a", "info"), _FILL),
    "potrs": SolverFunction(("a", "b"), _FILL),
    "posv": SolverFunction(("a", "b", "info"), _FILL),
    "getrf_no_pivot": SolverFunction(("a", "info"), (), _TRANSPOSED),
    "getrs_no_pivot": SolverFunction(("a", "b"), (), _TRANSPOSED),
    "gesv_no_pivot": SolverFunction(("a", "b", "info"), (), _TRANSPOSED),
    "getrf_partial_pivot": SolverFunction(("a", "ipiv", "info"), (), _TRANSPOSED),
    "getrs_partial_pivot": SolverFunction(("a", "ipiv", "b"), (), _TRANSPOSED),
    "gesv_partial_pivot": SolverFunction(("a", "ipiv", "b", "info"), (), _TRANSPOSED),
    "geqrf": SolverFunction(("a", "tau"), (), _TRANSPOSED),
    "gelqf": SolverFunction(("a", "tau"), (), _TRANSPOSED),
    "unmqr": SolverFunction(("a", "tau", "c"), ("side",), _TRANSPOSED),
    "unmlq": SolverFunction(("a", "tau", "c"), ("side",), _TRANSPOSED),
    "ungqr": SolverFunction(("a", "tau")),
    "unglq": SolverFunction(("a", "tau")),
    "gels": SolverFunction(("a", "tau", "b"), (), _TRANSPOSED),
    "trsm": SolverFunction(("a", "b"), ("side", "diag", "fill_mode"), _TRANSPOSED),
    "gtsv_no_pivot": SolverFunction(("dl", "d", "du", "b", "info")),
    "htev": SolverFunction(
        ("d", "e", "v", "info"), ("job",), (), ("no_vectors", "all_vectors", "multiply_vectors")
    ),
    "heev": SolverFunction(
        ("a", "lambda", "workspace", "info"),
        ("fill_mode", "job"),
        (),
        ("no_vectors", "overwrite_vectors"),
    ),
}
# Operators that some functions have, and others not.
OPTIONS: dict[str, Any] = {
    "transpose_mode": CusolverdxTransposeMode,
    "side": CusolverdxSide,
    "diag": CusolverdxDiag,
    "fill_mode": CusolverdxFillMode,
    "job": CusolverdxJob,
}
# These factorize A as it is, and accept only the transpose_mode that says so.
_ONLY_NON_TRANSPOSED = ("geqrf", "gelqf", "getrf_no_pivot", "getrf_partial_pivot")


def default_leading_dimensions(
    function: str, size: tuple[int, int, int], arrangement: tuple[str, str], side: str | None
) -> tuple[int, int]:
    """Return those of matrices without gaps: of A or V, and of B or C; 0 where there is none."""
    m, n, k = size
    inner = m if side == "left" else n
    shapes: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
        "trsm": ((inner, inner), (m, n)),
        "unmqr": ((inner, k), (m, n)),
        "unmlq": ((k, inner), (m, n)),
        "gels": ((m, n), (max(m, n), k)),
        "gtsv_no_pivot": ((0, 0), (n, k)),
        **dict.fromkeys(("geqrf", "gelqf", "ungqr", "unglq", "htev", "heev"), ((m, n), (0, 0))),
    }
    pair = shapes.get(function, ((m, n), (n, k)))
    first, second = (
        rows if order == "col_major" else columns
        for (rows, columns), order in zip(pair, arrangement, strict=True)
    )
    return first, second


def checked_options(name_of_function: str, **given: str | None) -> dict[str, str]:
    """Return the operators that are given, or say which is missing, too much or unknown."""
    function = FUNCTIONS[name_of_function]
    options = {}
    for name, value in given.items():
        if value is None:
            if name in function.required:
                allowed = ", ".join(map(repr, _allowed(name_of_function, name)))
                msg = f"{name} is needed for {name_of_function!r}: one of {allowed}"
                raise ValueError(msg)
            continue
        if name not in function.required + function.optional:
            users = [f for f, other in FUNCTIONS.items() if name in other[1] + other[2]]
            msg = f"{name} is given, but {name_of_function!r} has none; it is for {users}"
            raise ValueError(msg)
        options[name] = one_of(name, value, _allowed(name_of_function, name))
    return options


def _allowed(function: str, option: str) -> tuple[str, ...]:
    if option == "job":
        return FUNCTIONS[function].jobs
    if option == "transpose_mode" and function in _ONLY_NON_TRANSPOSED:
        return ("non_transposed",)
    return tuple(value.name.lower() for value in OPTIONS[option])


def as_counts(name: str, values: Any, most: int) -> tuple[int, ...]:
    """Return one to so many positive integers."""
    if not isinstance(values, Sequence) or isinstance(values, str) or not 1 <= len(values) <= most:
        msg = f"{name} is {values!r}; a sequence of 1 to {most} positive integers is needed"
        raise ValueError(msg)
    return tuple(as_count(f"{name}[{number}]", value) for number, value in enumerate(values))


def as_pair(name: str, values: Sequence[_T] | None, default: tuple[_T, _T]) -> tuple[_T, _T]:
    """Return one or two values, with the default for the rest."""
    if values is None:
        return default
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) not in (1, 2):
        msg = f"{name} is {values!r}; a sequence of 1 or 2 is needed, for A and for B"
        raise ValueError(msg)
    return (*values, *default)[0], (*values, *default[len(values) :])[1]
