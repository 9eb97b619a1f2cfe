"""The arguments of a kernel, seen from the C side: what `driver.launch_kernel` hands over."""

from __future__ import annotations

import inspect
import json
import math
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from gpumath.bindings import driver
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
BEFORE = """
import array, enum, struct
import numpy
from ctypes import *
from gpumath.bindings._core.pod import Field, StructArray

def sent(kernel_params, *sizes, extra=0, stream=0):
    '''Launch, and return what C read: the bytes of each argument in hexadecimal digits.'''
    recorder.recorder_kernel(len(sizes), (c_int * len(sizes))(*sizes))
    driver.launch_kernel(1, 1, 1, 1, 1, 1, 1, 0, stream, kernel_params, extra)
    return recorder.recorder_text().decode().split()[12:]

def refused(kernel_params, **more):
    recorder.recorder_text.restype = c_char_p
    driver.init(0)
    before = recorder.recorder_text()
    try:
        sent(kernel_params, **more)
    except Exception as error:
        assert recorder.recorder_text() == before, "C was called"
        return [type(error).__name__, str(error)]

class Pair(Structure):
    _fields_ = [("a", c_int), ("b", c_double)]
class Nested(Structure):
    _fields_ = [("tag", c_byte), ("pairs", Pair * 2), ("words", c_short * 5)]
class Tight(Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("tag", c_byte), ("x", c_double)]
class Either(Union):
    _fields_ = [("i", c_int64), ("d", c_double)]
class Color(enum.Enum):
    RED, HUGE, NAME = -7, 2**31, "x"
class Level(enum.IntEnum):
    HIGH = 9
class Mode(enum.IntFlag):
    A, B = 1, 2
class Vector(StructArray, size=16, alignment=8):
    __slots__ = ()
    a, b = Field("i32", 0), Field("f64", 8)
def vector(*items):
    made = Vector(len(items))
    for item, (made_a, made_b) in zip(made, items):
        item.a, item.b = made_a, made_b
    return made
class Own:
    '''Knows the address of its bytes.'''
    def __init__(self, value): self.kept = value
    ptr = property(lambda self: addressof(self.kept))
class Old(Own):
    ptr = None
    def getPtr(self): return addressof(self.kept)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorder.build(tmp_path_factory.mktemp("recorder"))


def run(library: Path, code: str) -> Any:
    return recorder.run(library, BEFORE + code)


def packed(format_: str, *values: object) -> str:
    return struct.pack(f"@{format_}", *values).hex()


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
    types = ", ".join(name for _, name in cases)
    expected = [packed(INTEGERS[name], number) for number, name in cases]
    values = [number for number, _ in cases]
    assert run(library, f"result = sent(({values}, [{types}]), *{sizes})") == expected


def test_integers_beyond_a_type_are_refused(library: Path) -> None:
    cases = []
    for name, format_ in INTEGERS.items():
        bits = 8 * struct.calcsize(format_)
        signed = format_ in "bhilqn"
        cases += [(2 ** (bits - signed), name), (-(2 ** (bits - 1)) - 1 if signed else -1, name)]
    calls = ", ".join(f"refused(((5, {number}), (c_int, {name})))" for number, name in cases)
    for (number, name), answer in zip(cases, run(library, f"result = [{calls}]"), strict=True):
        error, text = answer
        assert error == "OverflowError", (number, name)
        assert f"launch_kernel() argument 'kernel_params'[1]: {number} is out of range" in text


def test_floating_point_numbers(library: Path) -> None:
    rng = random.Random()
    doubles = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(20)]
    doubles = [x for x in doubles if not math.isnan(x)] + [0.0, -0.0, math.inf, 5e-324, 1.0]
    singles = [struct.unpack("f", rng.randbytes(4))[0] for _ in range(20)]
    singles = [x for x in singles if not math.isnan(x)] + [-0.0, -math.inf, 1e-45, 3.4e38, 7.0]
    code = f"""
inf, nan = float("inf"), float("nan")
doubles, singles = {doubles}, {singles}
result = [
    sent((doubles, [c_double] * len(doubles)), *[8] * len(doubles)),
    sent((singles, [c_float] * len(singles)), *[4] * len(singles)),
    sent(((nan, nan, 3, True, 0.1), (c_double, c_float) * 2 + (c_float,)), 8, 4, 8, 4, 4),
]
"""
    found_doubles, found_singles, others = run(library, code)
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
    found = run(library, f"result = sent((({value}, 11), ({type_}, c_ubyte)), {size}, 1)")
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
    size = len(expected) // 2 if expected else "len(bytes(value))"
    code = f"""
kept = c_int(5)
value = {value}
result = [sent(((1, value, 2), (c_byte, {type_}, c_byte)), 1, {size}, 1)]
if {expected is None}:
    result.append(bytes(value).hex())
"""
    found, *own = run(library, code)
    assert found == ["01", own[0] if own else expected, "02"]


@pytest.mark.parametrize(
    "array",
    [
        "addressof(addresses)",
        "numpy.uint64(addressof(addresses))",
        "numpy.array(addressof(addresses))",
        "numpy.array(list(addresses), dtype=numpy.uint64)",
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
    code = f"""
a, b, c = c_int(5), c_double(2.5), Pair(6, 7.5)
addresses = (c_void_p * 3)(addressof(a), addressof(b), addressof(c))
result = sent({array}, 4, 8, 16)
"""
    assert run(library, code) == [packed("i", 5), packed("d", 2.5), packed("i4xd", 6, 7.5)]


def test_no_arguments(library: Path) -> None:
    forms = "[0, None, ((), ()), ([], []), numpy.int64(0)]"
    code = f"""
def text(kernel_params):
    sent(kernel_params)
    return recorder.recorder_text().decode()
result = [text(kernel_params) for kernel_params in {forms}]
"""
    assert run(library, code) == ["launch 1 1 1 1 1 1 1 0 0 0 0"] * 5


@pytest.mark.parametrize("count", [1, 2, 5, 16, 33, 200])
def test_many_arguments_in_their_order(library: Path, count: int) -> None:
    rng = random.Random()
    kinds = {"c_int": "i", "c_void_p": "P", "c_double": "d", "c_ubyte": "B", "c_short": "h"}
    names = [rng.choice([*kinds]) for _ in range(count)]
    values = [rng.randrange(128) for _ in names]
    sizes = [struct.calcsize(kinds[name]) for name in names]
    code = f"result = sent((tuple({values}), ({', '.join(names)},)), *{sizes})"
    assert run(library, code) == [packed(kinds[n], v) for n, v in zip(names, values, strict=True)]


def test_keywords_and_extra(library: Path) -> None:
    code = """
recorder.recorder_kernel(1, (c_int * 1)(4))
names = ("f grid_dim_x grid_dim_y grid_dim_z block_dim_x block_dim_y block_dim_z "
         "shared_mem_bytes h_stream").split()
given = dict(zip(names, range(1, 10)))
pair = ((5,), (c_int,))
pairs = numpy.array([78, 0], dtype=numpy.uint64)
config = (c_uint * 20)(31)
result = [record(driver.launch_kernel, *call, **more)[0] for call, more in [
    ((), {**given, "kernel_params": pair}),
    (tuple(given.values()), {"kernel_params": pair, "extra": None}),
    ((*given.values(), pair), {}),
    ((*given.values(), None, pairs), {}),
    ((*given.values(), 0), {"extra": pairs.ctypes.data}),
]]
result.append(record(driver.launch_cooperative_kernel, **given, kernel_params=pair)[0])
result.append(record(driver.launch_kernel_ex, addressof(config), 32, pair)[0])
result.append(record(driver.launch_kernel_ex, addressof(config), 32, pair, pairs)[0])
"""
    numbers = "1 2 3 4 5 6 7 8 9"
    assert run(library, code) == [
        *[f"launch {numbers} 1 0 05000000"] * 3,
        *[f"launch {numbers} 0 78"] * 2,
        f"cooperative {numbers} 1 0 05000000",
        "ex 31 32 1 0 05000000",
        "ex 31 32 1 78 05000000",
    ]


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


# What is refused: the argument, the exception, and a part of its text.
WRONG = [
    ("'values'", "TypeError", "an address or an array of addresses or a tuple (values, ctypes ty"),
    ("[1, 2]", "TypeError", "is required, not list"),
    ("1.5", "TypeError", "an integer is required, not 1.5"),
    ("object()", "TypeError", "is required, not object"),
    ("{}", "TypeError", "is required, not dict"),
    ("-1", "OverflowError", "-1 is out of range for an address"),
    ("2**64", "OverflowError", "out of range for an address"),
    ("()", "TypeError", "a tuple is (values, ctypes types), not of length 0"),
    ("((1,), (c_int,), 0)", "TypeError", "not of length 3"),
    ("(1, 2)", "TypeError", "each a tuple or a list, not int"),
    ("((1,), c_int)", "TypeError", "each a tuple or a list, not "),
    ("('a', 'b')", "TypeError", "each a tuple or a list, not str"),
    ("(numpy.ones(1), (c_int,))", "TypeError", "each a tuple or a list, not ndarray"),
    ("((1, 2), (c_int,))", "ValueError", "there are 2 values, but 1 ctypes types"),
    ("((), (c_int,))", "ValueError", "there are 0 values, but 1 ctypes types"),
    ("((1,), (int,))", "TypeError", "the type is a ctypes type, or None for an object with its"),
    ("((1,), ('c_int',))", "TypeError", "not 'c_int'"),
    ("((1,), (numpy.int32,))", "TypeError", "the type is a ctypes type"),
    ("((1,), (4,))", "TypeError", "the type is a ctypes type, or None for an object with its"),
    ("((1,), (Pair,))", "TypeError", "'kernel_params'[0]: an instance of Pair is required, not i"),
    ("((Tight(),), (Pair,))", "TypeError", "an instance of Pair is required, not Tight"),
    ("((Pair(),), (c_int,))", "TypeError", "an integer is required, not Pair"),
    ("((1.0,), (c_longdouble,))", "TypeError", "an instance of c_longdouble is required"),
    ("((b'x',), (c_char_p,))", "TypeError", "an instance of c_char_p is required, not bytes"),
    ("((1, '2'), (c_int, c_int))", "TypeError", "'kernel_params'[1]: an integer is required, not"),
    ("((None,), (c_int,))", "TypeError", "not NoneType"),
    ("((None,), (c_void_p,))", "TypeError", "not NoneType"),
    ("((1.5,), (c_int,))", "TypeError", "not 1.5"),
    ("((1j,), (c_double,))", "TypeError", "a number is required, not complex"),
    ("(('1',), (c_float,))", "TypeError", "a number is required, not str"),
    ("((1e39,), (c_float,))", "OverflowError", "out of range for float"),
    ("((10**400,), (c_double,))", "OverflowError", ""),
    ("(('',), (c_bool,))", "TypeError", "an integer is required, not str"),
    ("(([],), (c_bool,))", "TypeError", "an integer is required, not list"),
    ("((b'',), (c_char,))", "ValueError", "c_char is one byte, not 0"),
    ("((b'ab',), (c_char,))", "ValueError", "c_char is one byte, not 2"),
    ("((-1,), (c_char,))", "OverflowError", "out of range for an unsigned 8-bit integer"),
    ("(('ab',), (c_wchar,))", "ValueError", "c_wchar is one character, not 2"),
    ("((97,), (c_wchar,))", "TypeError", "a str is required, not int"),
    ("(('\\ud800',), (c_wchar,))", "UnicodeEncodeError", "surrogates"),
    ("((addresses,), (c_void_p,))", "TypeError", "an integer is required, not c_void_p_Array_2"),
    ("((5,), (None,))", "TypeError", "with the type None, an object with its own bytes"),
    ("((0.5,), (None,))", "TypeError", "is required, not float"),
    ("((None,), (None,))", "TypeError", "is required, not NoneType"),
    ("(('abc',), (None,))", "TypeError", "is required, not str"),
    ("((b'',), (None,))", "ValueError", "'kernel_params'[0]: it has no bytes"),
    ("((numpy.ones((4, 4))[:, 1],), (None,))", "ValueError", "a C-contiguous buffer is required"),
    ("((Color.HUGE,), (None,))", "OverflowError", "2147483648 is out of range for a 32-bit"),
    ("((Color.NAME,), (None,))", "TypeError", "an integer is required, not str"),
    ("((type('D', (), {'ptr': 0})(),), (None,))", "ValueError", "its address is 0"),
    ("((type('D', (), {'ptr': 'x'})(),), (None,))", "TypeError", "not str"),
    ("((device,), (None,))", "TypeError", "the type of device memory is c_void_p"),
    ("((tensor,), (None,))", "TypeError", "the type of device memory is c_void_p"),
    ("((tensor,), (c_void_p,))", "TypeError", "pass a.data.ptr (CuPy) or a.data_ptr() (PyTorch)"),
    ("((Bad(),), (c_int,))", "ZeroDivisionError", ""),
    ("((Bad(),), (c_void_p,))", "ZeroDivisionError", ""),
    ("((Bad(),), (None,))", "ZeroDivisionError", ""),
    ("numpy.ones(2)", "TypeError", "has 64-bit integers, not elements of the format 'd'"),
    ("numpy.ones(2, dtype='u4')", "TypeError", "not elements of the format 'I'"),
    ("numpy.ones(2, dtype='>u8')", "TypeError", "not elements of the format '>"),
    ("numpy.ones(4, dtype='u8')[::2]", "ValueError", "a C-contiguous buffer is required"),
    ("numpy.ones(2, dtype='M8[s]')", "ValueError", ""),
    ("bytes(16)", "TypeError", "not elements of the format 'B'"),
    ("bytearray(16)", "TypeError", "not elements of the format 'B'"),
    ("Pair()", "TypeError", "a tuple (values, ctypes types) is required, not Pair"),
    ("numpy.float64(3.5)", "TypeError", "an integer is required"),
]


def test_wrong_arguments(library: Path) -> None:
    code = """
class Bad:
    def __index__(self): return 1 // 0
    @property
    def ptr(self): return 1 // 0
addresses = (c_void_p * 2)()
device = type("MemoryPointer", (), {"ptr": 1, "device_id": 0})()
tensor = type("Tensor", (), {"__cuda_array_interface__": {}, "__int__": lambda self: 3})()
"""
    code += f"result = [{', '.join(f'refused({call})' for call, _, _ in WRONG)}]"
    for (call, error, message), answer in zip(WRONG, run(library, code), strict=True):
        assert answer is not None, call
        assert answer[0] == error, (call, answer)
        assert message in answer[1], (call, answer)


def test_wrong_extras_and_kernels(library: Path) -> None:
    code = """
result = [refused(0, extra=extra) for extra in ("x", ((1,), (c_int,)), 1.5, numpy.ones(2))]
for launch, *first in ((driver.launch_kernel, *[1] * 6, 0, 0), (driver.launch_kernel_ex,)):
    call = (0, *first) if first else (1, 0)
    try:
        launch(*call, 0)
    except ValueError as error:
        result.append(str(error))
"""
    *extras, kernel, kernel_ex = run(library, code)
    assert [error for error, _ in extras] == ["TypeError"] * 4
    assert "launch_kernel() argument 'extra'" in extras[0][1]
    assert "launch_kernel() argument 'f' is 0" in kernel
    assert "launch_kernel_ex() argument 'f' is 0" in kernel_ex


def test_conversion_may_run_any_python_code(library: Path) -> None:
    """A list that an `__index__` empties, while it is read, is read to its end all the same."""
    code = """
class Emptying:
    def __index__(self):
        values.clear()
        types.clear()
        return 3
values, types = [Emptying(), numpy.float64(2.5), Pair(1, 2)], [c_int, None, None]
result = [sent((values, types), 4, 8, 16), values, types]
"""
    found = [packed("i", 3), packed("d", 2.5), packed("i4xd", 1, 2.0)]
    assert run(library, code) == [found, [], []]


def test_others_run_during_a_launch_and_cannot_move_its_bytes(library: Path) -> None:
    code = """
import threading, time
data, array_ = bytearray(b"12345678"), bytearray(8)
answers = []
def launch(kernel_params):
    answers.append(sent(kernel_params, 8, stream=0xB10C))
driver.init(0)
addresses = memoryview(array_).cast("Q")
addresses[0] = addressof(c_char.from_buffer(data))
thread = threading.Thread(target=launch, args=(((data,), (None,)),))
thread.start()
time.sleep(0.2)
result = [thread.is_alive()]
for _ in range(2000):
    garbage = bytearray(64)
try:
    data.extend(bytes(1 << 20))
except BufferError:
    result.append("locked")
recorder.recorder_release()
thread.join()
result.append(answers)
"""
    assert run(library, code) == [True, "locked", [[b"12345678".hex()]]]


def test_nothing_is_leaked(library: Path) -> None:
    code = """
import gc, sys
data, pair, number, text = bytearray(1000), Pair(1, 2), 2**70, "kernel"
addresses = numpy.array([0, 1, 2], dtype=numpy.uint64)
kept = [data, pair, number, text, addresses, None, c_int, Pair, Color.RED]
def work():
    sent(([data, pair, c_int(5), 2.5, Color.RED], [None, Pair, c_int, c_float, None]))
    sent(addresses)
    sent(((number // 2**30, pair), (c_void_p, None)))
    for bad in (((number,), (c_int,)), ((data, text), (None, None)), ((pair,), (c_int,)),
                ((data, pair), (None,)), addresses[::2], ([data, 1], [None, text]), text):
        try:
            sent(bad)
        except Exception:
            pass
for _ in range(100):
    work()
gc.collect()
before = sys.getallocatedblocks(), [sys.getrefcount(x) for x in kept]
for _ in range(2000):
    work()
gc.collect()
after = sys.getallocatedblocks(), [sys.getrefcount(x) for x in kept]
data.extend(b"released")
result = [after[0] - before[0], [a - b for a, b in zip(after[1], before[1])]]
"""
    blocks, references = run(library, code)
    assert blocks < 1000
    assert all(abs(count) < 1000 for count in references), references


def test_random_hostile_arguments(library: Path) -> None:
    """Whatever is in the tuple, the answer is an exception or a launch with all its bytes."""
    rng = random.Random()
    seed = rng.randrange(2**32)
    code = f"""
import random
rng = random.Random({seed})
atoms = [0, 1, -1, 2**31, 2**63, 2**64, 10**30, 0.5, float("nan"), 1e300, None, "", "a",
         "\\U0001f600", b"", b"x", b"xyz", bytearray(9), True, (), [], {{}}, object(), int,
         Pair, Pair(), Tight(),
         Color.RED, Color.NAME, Level.HIGH, c_int, c_int(3), c_void_p, c_void_p(), (c_int * 2)(),
         numpy.float32(1), numpy.ones(3), numpy.ones((3, 3))[:, 0], 1j, lambda: 0, type, c_char_p,
         memoryview(b"abc")[::2], range(3), Own(Pair()), Old(Pair())]
types = [None, c_int, c_float, c_double, c_void_p, c_bool, c_char, c_wchar, c_byte, c_short,
         c_ulonglong, Pair, Tight, c_int * 2, *atoms]
seen = {{}}
recorder.recorder_kernel(0, (c_int * 1)())
for _ in range(20000):
    count = rng.randrange(4)
    values = [rng.choice(atoms) for _ in range(count)]
    classes = [rng.choice(types[:14] if rng.random() < 0.8 else types) for _ in range(count)]
    shape = rng.randrange(12)
    if shape == 0:
        kernel_params = rng.choice(atoms)
    elif shape == 1:
        kernel_params = (values, classes, None)
    elif shape == 2:
        kernel_params = (tuple(values), classes[:-1])
    else:
        kernel_params = (values, tuple(classes))
    try:
        driver.launch_kernel(1, 1, 1, 1, 1, 1, 1, 0, 0, kernel_params)
        outcome = "launched"
    except (TypeError, ValueError, OverflowError) as error:
        outcome = type(error).__name__
    seen[outcome] = seen.get(outcome, 0) + 1
result = seen
"""
    seen = run(library, code)
    assert {"launched", "TypeError", "ValueError", "OverflowError"} <= {*seen}, json.dumps(seen)
