"""The arguments of a kernel, seen from the C side: what `driver.launch_kernel` hands over."""

from __future__ import annotations

import inspect
import math
import random
import struct
from pathlib import Path

import pytest

from gpumath.bindings import driver
from tests.bindings.launch_cases import packed
from tests.helpers import recorder

# Name in ctypes, format in struct: the types that a value is converted to.
INTEGERS = {
    "c_byte": "b",
    "c_ubyte": "B",
    "c_short": "h",
    "c_ushort": "H",
    "c_int": "i",
    "c_uint": "I",
    "c_long": "l",
    "c_ulong": "L",
    "c_longlong": "q",
    "c_ulonglong": "Q",
    "c_size_t": "N",
    "c_ssize_t": "n",
    "c_int8": "b",
    "c_uint16": "H",
    "c_int32": "i",
    "c_uint64": "Q",
    "c_void_p": "P",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorder.build(tmp_path_factory.mktemp("recorder"))


def test_integers_of_every_type(library: Path) -> None:
    rng = random.Random()
    cases: list[tuple[int, str]] = []
    for name, format_ in INTEGERS.items():
        bits = 8 * struct.calcsize(format_)
        low, high = (0, 2**bits - 1) if format_ in "BHILQNP" else (-(2 ** (bits - 1)),) * 2
        high = high if low == 0 else -low - 1
        numbers = [low, high, 0, 1, *(rng.randint(low, high) for _ in range(4))]
        cases += [(number, name) for number in numbers]
    rng.shuffle(cases)
    sizes = [struct.calcsize(INTEGERS[name]) for _, name in cases]
    types = [name for _, name in cases]
    expected = [packed(INTEGERS[name], number) for number, name in cases]
    values = [number for number, _ in cases]
    assert recorder.run(library, "launch.values_of_types", values, types, sizes) == expected


def test_integers_beyond_a_type_are_refused(library: Path) -> None:
    cases = []
    for name, format_ in INTEGERS.items():
        bits = 8 * struct.calcsize(format_)
        signed = format_ in "bhilqn"
        cases += [(2 ** (bits - signed), name), (-(2 ** (bits - 1)) - 1 if signed else -1, name)]
    answers = recorder.run(library, "launch.refused_values", cases)
    for (number, name), answer in zip(cases, answers, strict=True):
        error, text = answer
        assert error == "OverflowError", (number, name)
        assert f"launch_kernel() argument 'kernel_params'[1]: {number} is out of range" in text


def test_floating_point_numbers(library: Path) -> None:
    rng = random.Random()
    doubles = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(20)]
    doubles = [x for x in doubles if not math.isnan(x)] + [0.0, -0.0, math.inf, 5e-324, 1.0]
    singles = [struct.unpack("f", rng.randbytes(4))[0] for _ in range(20)]
    singles = [x for x in singles if not math.isnan(x)] + [-0.0, -math.inf, 1e-45, 3.4e38, 7.0]
    found_doubles, found_singles, others = recorder.run(
        library, "launch.floating_point_numbers", doubles, singles
    )
    assert found_doubles == [packed("d", x) for x in doubles]
    assert found_singles == [packed("f", x) for x in singles]
    assert math.isnan(struct.unpack("d", bytes.fromhex(others[0]))[0])
    assert math.isnan(struct.unpack("f", bytes.fromhex(others[1]))[0])
    assert others[2:] == [packed("d", 3.0), packed("f", 1.0), packed("f", 0.1)]


@pytest.mark.parametrize(
    ("value", "type_", "format_", "expected"),
    [
        ("True", "c_bool", "?", True),
        ("0", "c_bool", "?", False),
        ("numpy.True_", "c_bool", "?", True),
        ("c_bool(True)", "c_bool", "?", True),
        ("256", "c_bool", "?", True),
        ("b'x'", "c_char", "c", b"x"),
        ("255", "c_char", "c", b"\xff"),
        ("c_char(b'y')", "c_char", "c", b"y"),
        ("'\U0001f600'", "c_wchar", "I", 0x1F600),
        ("c_wchar('z')", "c_wchar", "I", ord("z")),
        ("c_int(-5)", "c_int", "i", -5),
        ("c_short(-5)", "c_longlong", "q", -5),
        ("c_float(0.5)", "c_double", "d", 0.5),
        ("c_double(0.5)", "c_float", "f", 0.5),
        ("c_void_p(2**63)", "c_void_p", "P", 2**63),
        ("c_void_p()", "c_void_p", "P", 0),
        ("Level.HIGH", "c_short", "h", 9),
        ("numpy.int16(-3)", "c_int", "i", -3),
        ("numpy.uint64(2**64 - 1)", "c_void_p", "P", 2**64 - 1),
        ("numpy.float32(0.1)", "c_float", "f", struct.unpack("f", struct.pack("f", 0.1))[0]),
        ("numpy.float64(0.1)", "c_double", "d", 0.1),
        ("numpy.array(6)", "c_int", "i", 6),
        ("numpy.int32(4)", "c_double", "d", 4.0),
        ("4.0", "c_int", "i", 4),
        ("type('D', (), {'ptr': 77})()", "c_void_p", "P", 77),
        ("type('D', (), {'getPtr': lambda self: 78})()", "c_void_p", "P", 78),
        ("type('D', (), {'__int__': lambda self: 79})()", "c_void_p", "P", 79),
        ("type('Mine', (c_int,), {})(8)", "c_int", "i", 8),
    ],
)
def test_values_that_are_converted(
    library: Path, value: str, type_: str, format_: str, expected: object
) -> None:
    size = struct.calcsize(format_)
    found = recorder.run(library, "launch.value_that_is_converted", value, type_, size)
    assert found == [packed(format_, expected), "0b"]


# What is itself the bytes of the argument: expression, type, and its bytes by the layout of C.
OWN_BYTES = [
    ("Pair(3, 0.25)", "None", packed("i4xd", 3, 0.25)),
    ("Pair(3, 0.25)", "Pair", packed("i4xd", 3, 0.25)),
    (
        "Nested(1, (Pair * 2)(Pair(2, 3.5), Pair(4, 5.5)), (c_short * 5)(1, 2, 3, 4, 5))",
        "None",
        packed("b7xi4xdi4xd5h", 1, 2, 3.5, 4, 5.5, 1, 2, 3, 4, 5),
    ),
    ("Nested().pairs", "None", "00" * 32),
    ("Tight(9, 2.5)", "Tight", struct.pack("=bd", 9, 2.5).hex()),
    ("Either(d=1.5)", "Either", packed("d", 1.5)),
    ("(c_float * 3)(1, 2, 3)", "None", packed("3f", 1, 2, 3)),
    ("(c_float * 3)(1, 2, 3)", "c_float * 3", packed("3f", 1, 2, 3)),
    ("pointer(kept)", "POINTER(c_int)", None),
    ("c_int(-2)", "None", packed("i", -2)),
    ("type('Mine', (c_short,), {})(8)", "None", packed("h", 8)),
    ("numpy.float32(1.5)", "None", packed("f", 1.5)),
    ("numpy.complex128(1 + 2j)", "None", packed("2d", 1, 2)),
    ("numpy.array([(3, 0.25)], dtype='i4, f8')", "None", struct.pack("=id", 3, 0.25).hex()),
    ("numpy.array([(3, 0.25)], dtype='i4, f8')[0]", "None", struct.pack("=id", 3, 0.25).hex()),
    ("struct.pack('<id', 3, 0.25)", "None", struct.pack("<id", 3, 0.25).hex()),
    ("bytearray(b'abcdefghijk')", "None", b"abcdefghijk".hex()),
    ("memoryview(bytes(range(40)))[10:30]", "None", bytes(range(10, 30)).hex()),
    ("Own(Pair(3, 0.25))", "None", packed("i4xd", 3, 0.25)),
    ("Old(Pair(3, 0.25))", "None", packed("i4xd", 3, 0.25)),
    ("vector((1, 2.5), (3, 4.5))", "None", packed("i4xdi4xd", 1, 2.5, 3, 4.5)),
    ("Color.RED", "None", packed("i", -7)),
    ("Level.HIGH", "None", packed("i", 9)),
    ("Mode.A | Mode.B", "None", packed("i", 3)),
]


@pytest.mark.parametrize(("value", "type_", "expected"), OWN_BYTES, ids=lambda x: str(x)[:30])
def test_values_that_are_their_own_bytes(
    library: Path, value: str, type_: str, expected: str | None
) -> None:
    size = len(expected) // 2 if expected else None
    found, *own = recorder.run(library, "launch.value_that_is_its_own_bytes", value, type_, size)
    assert found == ["01", own[0] if own else expected, "02"]


@pytest.mark.parametrize(
    "array",
    [
        "addressof(addresses)",
        "numpy.uint64(addressof(addresses))",
        "numpy.array(addressof(addresses))",
        "numpy.array(list(addresses), dtype=numpy.uint64)",
        "list(addresses)",
        "[numpy.uint64(address) for address in addresses]",
        "numpy.array(list(addresses), dtype=numpy.int64)",
        "numpy.array([list(addresses)], dtype='<u8')",
        "array.array('Q', list(addresses))",
        "array.array('L', list(addresses))",
        "addresses",
        "(c_uint64 * 3)(*addresses)",
        "memoryview(addresses)",
        "memoryview(struct.pack('@3Q', *addresses)).cast('Q')",
        "(ctypes.c_ulong * 3).from_buffer_copy(addresses)",
    ],
)
def test_arrays_of_addresses(library: Path, array: str) -> None:
    assert recorder.run(library, "launch.arrays_of_addresses", array) == [
        packed("i", 5),
        packed("d", 2.5),
        packed("i4xd", 6, 7.5),
    ]


def test_no_arguments(library: Path) -> None:
    assert recorder.run(library, "launch.no_arguments") == ["launch 1 1 1 1 1 1 1 0 0 0 0"] * 6


@pytest.mark.parametrize("count", [1, 2, 5, 16, 33, 200])
def test_many_arguments_in_their_order(library: Path, count: int) -> None:
    rng = random.Random()
    kinds = {"c_int": "i", "c_void_p": "P", "c_double": "d", "c_ubyte": "B", "c_short": "h"}
    names = [rng.choice([*kinds]) for _ in range(count)]
    values = [rng.randrange(128) for _ in names]
    sizes = [struct.calcsize(kinds[name]) for name in names]
    found = recorder.run(library, "launch.many_arguments", values, names, sizes)
    assert found == [packed(kinds[n], v) for n, v in zip(names, values, strict=True)]


def test_keywords_and_extra(library: Path) -> None:
    numbers = "1 2 3 4 5 6 7 8 9"
    assert recorder.run(library, "launch.keywords_and_extra") == [
        *[f"launch {numbers} 1 0 05000000"] * 3,
        *[f"launch {numbers} 0 78"] * 3,
        f"cooperative {numbers} 1 0 05000000",
        "ex 31 32 1 0 05000000",
        "ex 31 32 1 78 05000000",
    ]


def test_the_runtime_takes_the_same_forms(library: Path) -> None:
    found = recorder.run(
        library, "launch.the_runtime_takes_the_same_forms", GPUMATH_RUNTIME_PATH=str(library)
    )
    expected = f"runtime 1 2 3 4 5 6 7 8 9 1 0 05000000 {packed('i4xd', 6, 7.5)}"
    assert found == [expected] * 3


def test_signature_and_documentation() -> None:
    names = [*inspect.signature(driver.launch_kernel).parameters]
    assert names == [
        *("f", "grid_dim_x", "grid_dim_y", "grid_dim_z"),
        *("block_dim_x", "block_dim_y", "block_dim_z"),
        *("shared_mem_bytes", "h_stream", "kernel_params", "extra"),
    ]
    assert inspect.signature(driver.launch_kernel).parameters["extra"].default == 0
    assert [*inspect.signature(driver.launch_cooperative_kernel).parameters] == names[:-1]
    assert [*inspect.signature(driver.launch_kernel_ex).parameters] == [
        *("config", "f", "kernel_params", "extra")
    ]
    assert "ctypes" in (inspect.getdoc(driver.launch_kernel) or "")
