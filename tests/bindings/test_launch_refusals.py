"""What `driver.launch_kernel` refuses, and what it does not do: leak, crash, hold others up."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.bindings.launch_cases import packed, run
from tests.helpers import recorder


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorder.build(tmp_path_factory.mktemp("recorder"))


# What is refused: the argument, the exception, and a part of its text.
WRONG = [
    ("'values'", "TypeError", "an address or an array of addresses or a tuple (values, ctypes ty"),
    ("[1, None]", "TypeError", "'kernel_params'[1]: an integer is required, not NoneType"),
    ("[(1,), (c_int,)]", "TypeError", "'kernel_params'[0]: an integer is required, not tuple"),
    ("[-1]", "OverflowError", "-1 is out of range for an address"),
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
calls = [
    lambda: driver.launch_kernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0),
    lambda: driver.launch_kernel_ex(1, 0, 0),
    lambda: driver.launch_kernel_ex(0, 1, 0),
    lambda: driver.launch_cooperative_kernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0),
]
for call in calls:
    try:
        call()
    except ValueError as error:
        result.append(str(error))
"""
    *extras, kernel, kernel_ex, config, cooperative = run(library, code)
    assert [error for error, _ in extras] == ["TypeError"] * 4
    assert "launch_kernel() argument 'extra'" in extras[0][1]
    assert "launch_kernel() argument 'f' is 0" in kernel
    assert "launch_kernel_ex() argument 'f' is 0" in kernel_ex
    assert "launch_kernel_ex() argument 'config' is 0" in config
    assert "launch_cooperative_kernel() argument 'f' is 0" in cooperative


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
