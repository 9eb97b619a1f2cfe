"""Compiles the functions of `gpumath.device.random`, for each generator once for all GPUs."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from gpumath.bindings import nvrtc
from gpumath.device._code_cache import cached

__all__ = ["FUNCTIONS", "Function", "compiled", "source", "symbol"]

_FOLDER = Path(__file__).with_name("_random")

_PSEUDO = ("XORWOW", "MRG32k3a", "Philox4_32_10")
_PLAIN_SOBOL = ("Sobol32", "Sobol64")
_SCRAMBLED_SOBOL = ("ScrambledSobol32", "ScrambledSobol64")
_SOBOL = _PLAIN_SOBOL + _SCRAMBLED_SOBOL
_PHILOX = ("Philox4_32_10",)
_ALL = _PSEUDO + _SOBOL


class Function(NamedTuple):
    """A function in the source files, which takes a state last or, in C, first.

    The types are C's; ``width`` is how many numbers it returns. ``word`` stands for u64 in
    generators of 64 bits, and for u32 in the others.
    """

    generators: tuple[str, ...]
    result: str = "void"
    width: int = 1
    parameters: tuple[str, ...] = ()


_MEAN_STDDEV = ("float", "float")
_MEAN_STDDEV_DOUBLE = ("double", "double")

FUNCTIONS = {
    "init": Function((*_PSEUDO, "Test"), parameters=("u64", "u64", "u64")),
    "init_points": Function(_PLAIN_SOBOL, parameters=("const word *", "u64")),
    "init_scrambled": Function(_SCRAMBLED_SOBOL, parameters=("const word *", "word", "u64")),
    "skipahead": Function((*_ALL, "Test"), parameters=("u64",)),
    "skipahead_sequence": Function(_PSEUDO, parameters=("u64",)),
    "skipahead_subsequence": Function(_PSEUDO, parameters=("u64",)),
    "rand": Function((*_ALL, "Test"), "word"),
    "rand4": Function(_PHILOX, "u32", 4),
    "uniform": Function((*_ALL, "Test"), "float"),
    "uniform_double": Function((*_ALL, "Test"), "double"),
    "uniform4": Function(_PHILOX, "float", 4),
    "uniform2_double": Function(_PHILOX, "double", 2),
    "normal": Function(_ALL, "float"),
    "normal_double": Function(_ALL, "double"),
    "normal2": Function(_PSEUDO, "float", 2),
    "normal2_double": Function(_PSEUDO, "double", 2),
    "normal4": Function(_PHILOX, "float", 4),
    "log_normal": Function(_ALL, "float", 1, _MEAN_STDDEV),
    "log_normal_double": Function(_ALL, "double", 1, _MEAN_STDDEV_DOUBLE),
    "log_normal2": Function(_PSEUDO, "float", 2, _MEAN_STDDEV),
    "log_normal2_double": Function(_PSEUDO, "double", 2, _MEAN_STDDEV_DOUBLE),
    "log_normal4": Function(_PHILOX, "float", 4, _MEAN_STDDEV),
    "poisson": Function(_ALL, "u32", 1, ("double",)),
    "poisson4": Function(_PHILOX, "u32", 4, ("double",)),
}
# Names in the source where they differ: C++ tells the functions apart by their parameters.
_CPP_NAMES = {"init_points": "init", "init_scrambled": "init", "rand": "next"}
_STATE_LAST = ("init", "skipahead")


def symbol(name: str, generator: str) -> str:
    """Return the name of the C function."""
    return f"gpumath_random_{name}_{generator}"


def c_type(name: str, generator: str) -> str:
    """Return a type with the ``word`` of a generator in it."""
    return name.replace("word", "u64" if generator.endswith("64") else "u32")


@cache
def compiled(generator: str) -> bytes:
    """Return the LTO-IR of a generator's functions, for the oldest GPUs that NVRTC knows and newer.

    Raises
    ------
    gpumath.bindings.errors.LibraryNotFoundError
        There is no NVRTC.
    """
    oldest = nvrtc.get_supported_archs()[0]
    text = source(generator)
    return cached("random", (oldest, text), lambda: _compile(text, oldest), libmathdx=False)


def _compile(text: str, architecture: int) -> bytes:
    options = [
        *(f"-arch=compute_{architecture}", "-std=c++17", "-rdc=true", "-dlto", "-gen-opt-lto"),
        "-no-source-include",
    ]
    program = nvrtc.create_program(text, "random.cu", 0, [], [])
    try:
        nvrtc.compile_program(program, len(options), options)
        code = bytearray(nvrtc.get_ltoir_size(program))
        nvrtc.get_ltoir(program, code)
        return bytes(code)
    finally:
        nvrtc.destroy_program(program)


def source(*generators: str) -> str:
    """Return the CUDA C++ source of the functions of some generators."""
    files = [(_FOLDER / name).read_text() for name in ("generators.cu", "distributions.cu")]
    head = "typedef unsigned int u32;\ntypedef unsigned long long u64;\n"
    return "\n".join([head, *_tables(), *files, *_exports(generators)])


def _exports(generators: tuple[str, ...]) -> list[str]:
    lines = []
    for name, function in FUNCTIONS.items():
        for generator in generators:
            if generator not in function.generators:
                continue
            types = [c_type(parameter, generator) for parameter in function.parameters]
            given = [f"a{number}" for number in range(len(types))]
            declared = [f"{kind} {a}" for kind, a in zip(types, given, strict=True)]
            result = c_type(function.result, generator)
            out = [f"{result} *out"] if function.width > 1 else []
            parameters = ", ".join([*declared, *out, f"{generator} *s"])
            state = "local" if generator in _PSEUDO else "*s"
            passed = [*given, state] if name.startswith(_STATE_LAST) else [state, *given]
            call = f"{_CPP_NAMES.get(name, name)}({', '.join(passed + ['out'] * len(out))});"
            has_result = result != "void" and not out
            body = f"return {call}" if has_result else call
            if generator in _PSEUDO:
                # A state that is loaded and stored as a whole, on all paths, stays in registers
                # during a loop in the kernel.
                kept, returned = ("auto r = ", " return r;") if has_result else ("", "")
                body = f"{generator} local = *s; {kept}{call} *s = local;{returned}"
            lines.append(
                f'extern "C" __device__ {result if has_result else "void"} '
                f"{symbol(name, generator)}({parameters}) {{ {body} }}"
            )
    return lines


# ---- The tables: the powers 1, 2, 4 … 2^63 of a step, and of the steps to the next subsequence.

# Characteristic polynomial of the linear part of XORWOW, over the field of two elements.
_XORWOW_POLYNOMIAL = 0x1_00000F0E_0F3C0035_00062121_08610030_00060001
_XORWOW_DEGREE = 160
_SUBSEQUENCE_OF_XORWOW = 67  # 2^67 numbers
_SUBSEQUENCE_OF_MRG32K3A, _SEQUENCE_OF_MRG32K3A = 76, 127
_M1, _M2 = 4294967087, 4294944443

Matrix = tuple[tuple[int, ...], ...]
_MRG32K3A: tuple[tuple[Matrix, int], ...] = (
    (((0, 1, 0), (0, 0, 1), (_M1 - 810728, 1403580, 0)), _M1),
    (((0, 1, 0), (0, 0, 1), (_M2 - 1370589, 0, 527612)), _M2),
)


def _tables() -> list[str]:
    steps, subsequences = _xorwow_powers(0), _xorwow_powers(_SUBSEQUENCE_OF_XORWOW)
    tables = [
        _table("XORWOW_STEPS[64][5]", steps),
        _table("XORWOW_SUBSEQUENCES[64][5]", subsequences),
    ]
    for name, first in (
        ("STEPS", 0),
        ("SUBSEQUENCES", _SUBSEQUENCE_OF_MRG32K3A),
        ("SEQUENCES", _SEQUENCE_OF_MRG32K3A),
    ):
        powers = [_matrix_powers(matrix, modulus, first) for matrix, modulus in _MRG32K3A]
        tables.append(_table(f"MRG32K3A_{name}[2][64][3][3]", powers))
    return tables


def _table(declaration: str, values: object) -> str:
    text = repr(values).translate(str.maketrans("[]()", "{}{}"))
    return f"__device__ const u32 {declaration} = {text};"


def _words(polynomial: int) -> list[int]:
    """Return the coefficients below the leading one, 32 in a word."""
    return [polynomial >> 32 * word & 0xFFFFFFFF for word in range(_XORWOW_DEGREE // 32)]


def _xorwow_powers(first: int) -> list[list[int]]:
    power, powers = 0b10, []
    for exponent in range(first + 64):
        if exponent >= first:
            powers.append(_words(power))
        power = _square(power)
    return powers


def _square(polynomial: int) -> int:
    # Over the field of two elements, the square has the same coefficients, twice as far apart.
    square = int(f"{polynomial:b}", 4)
    while (excess := square.bit_length() - 1 - _XORWOW_DEGREE) >= 0:
        square ^= _XORWOW_POLYNOMIAL << excess
    return square


def _matrix_powers(matrix: Matrix, modulus: int, first: int) -> list[Matrix]:
    powers = []
    for exponent in range(first + 64):
        if exponent >= first:
            powers.append(matrix)
        columns = tuple(zip(*matrix, strict=True))
        matrix = tuple(
            tuple(
                sum(a * b for a, b in zip(row, column, strict=True)) % modulus for column in columns
            )
            for row in matrix
        )
    return powers
