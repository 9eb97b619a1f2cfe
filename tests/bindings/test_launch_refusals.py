"""What `driver.launch_kernel` refuses, and what it does not do: leak, crash, hold others up."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.bindings.launch_cases import packed
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
    ("((addresses,), (c_void_p,))", "TypeError", "an integer is required, not c_void_p_Array_3"),
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
    calls = [call for call, _, _ in WRONG]
    answers = recorder.run(library, "launch_refusals.wrong_arguments", calls)
    for (call, error, message), answer in zip(WRONG, answers, strict=True):
        assert answer is not None, call
        assert answer[0] == error, (call, answer)
        assert message in answer[1], (call, answer)


def test_wrong_extras_and_kernels(library: Path) -> None:
    *extras, kernel, kernel_ex, config, cooperative = recorder.run(
        library, "launch_refusals.wrong_extras_and_kernels"
    )
    assert [error for error, _ in extras] == ["TypeError"] * 4
    assert "launch_kernel() argument 'extra'" in extras[0][1]
    assert "launch_kernel() argument 'f' is 0" in kernel
    assert "launch_kernel_ex() argument 'f' is 0" in kernel_ex
    assert "launch_kernel_ex() argument 'config' is 0" in config
    assert "launch_cooperative_kernel() argument 'f' is 0" in cooperative


def test_conversion_may_run_any_python_code(library: Path) -> None:
    """A list that an `__index__` empties, while it is read, is read to its end all the same."""
    found = recorder.run(library, "launch_refusals.conversion_may_run_any_python_code")
    assert found == [[packed("i", 3), packed("d", 2.5), packed("i4xd", 1, 2.0)], [], []]


def test_others_run_during_a_launch_and_cannot_move_its_bytes(library: Path) -> None:
    found = recorder.run(library, "launch_refusals.others_run_during_a_launch")
    assert found == [True, "locked", [[b"12345678".hex()]]]


def test_nothing_is_leaked(library: Path) -> None:
    blocks, references = recorder.run(library, "launch_refusals.nothing_is_leaked")
    assert blocks < 1000
    assert all(abs(count) < 1000 for count in references), references


def test_random_hostile_arguments(library: Path) -> None:
    """Whatever is in the tuple, the answer is an exception or a launch with all its bytes."""
    rng = random.Random()
    seed = rng.randrange(2**32)
    seen = recorder.run(library, "launch_refusals.random_hostile_arguments", seed)
    assert {"launched", "TypeError", "ValueError", "OverflowError"} <= {*seen}, json.dumps(seen)
