"""How arguments and results cross the border, seen from the C side."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import recorder

MANY = "cufft.estimate_many, 2, {n}, {inembed}, 1, 16, 0, 1, 16, {type}, 3"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorder.build(tmp_path_factory.mktemp("recorder"))


def recorded(library: Path, call: str, **settings: str) -> Any:
    """Return what tests/programs/call.py tells of a call, which names what is imported there."""
    return recorder.run(library, "call.recorded", call, **settings)


def test_random_integers_arrive(library: Path) -> None:
    rng = random.Random()
    for _ in range(5):
        small = [rng.randrange(-(2**31), 2**31) for _ in range(5)]
        large = [rng.randrange(-(2**63), 2**63) for _ in range(7)]
        plan, kind_in, kind_out, execution, _ = small
        n, istride, idist, ostride, odist, batch = large[:2], *large[2:]
        call = (
            f"cufft.xt_make_plan_many, {plan}, 2, {n}, 0, {istride}, {idist}, {kind_in}, "
            f"[5, 6], {ostride}, {odist}, {kind_out}, {batch}, {execution}"
        )
        expected = [
            *(plan, *n, 0, istride, idist, kind_in, 1),
            *(ostride, odist, kind_out, batch, execution),
        ]
        text, size = recorded(library, call)
        assert text == " ".join(["make", *map(str, expected)]), call
        assert size == 2**40


@pytest.mark.parametrize(
    "n",
    [
        "[300, 4]",
        "(300, 4)",
        "range(300, -200, -296)",
        "[numpy.int64(300), numpy.uint8(4)]",
        "numpy.array([300, 4])",
        "numpy.array([300, 4], dtype=numpy.uint16)",
        "numpy.array([300, 9, 4], dtype='>i4')[::2]",
        "array.array('q', [300, 4])",
        "memoryview(array.array('i', [300, 4]))",
        "[300.0, True + 3]",
        "ctypes.addressof(c_array)",
        "numpy.int64(ctypes.addressof(c_array))",
        "(ctypes.c_int * 2)(300, 4)",
    ],
)
def test_sequences_and_addresses(library: Path, n: str) -> None:
    call = MANY.format(n=n, inembed="[70, 80]", type="cufft.Type.Z2Z")
    text, size = recorded(library, call)
    assert text == "estimate 2 300 4 70 1 16 -1 1 16 105 3"
    assert size == 2**64 - 1


@pytest.mark.parametrize(
    "type_", ["41", "cufft.Type.C2C", "41.0", "numpy.int8(41)", "numpy.array(41)", "Has()"]
)
def test_integers_of_all_kinds(library: Path, type_: str) -> None:
    text, _ = recorded(library, MANY.format(n="[3, 4]", inembed="0", type=type_))
    assert text == "estimate 2 3 4 -1 1 16 -1 1 16 41 3"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ("driver.mem_free(None)", "TypeError", "mem_free() argument 'dptr': an integer is requ"),
        ("driver.mem_free('1')", "TypeError", "an integer is required, not str"),
        ("driver.mem_free(1.5)", "TypeError", "an integer is required, not 1.5"),
        ("driver.mem_free(float('nan'))", "TypeError", "an integer is required, not nan"),
        ("driver.mem_free(-1)", "OverflowError", "-1 is out of range for an address"),
        ("driver.mem_free(2**64)", "OverflowError", "18446744073709551616 is out of range"),
        ("driver.mem_free(10**400)", "OverflowError", "out of range"),
        ("driver.mem_free(Bad())", "ZeroDivisionError", ""),
        ("driver.memset_d8_async(0, 256, 1, 0)", "OverflowError", "argument 'uc': 256 is out of"),
        ("driver.memset_d8_async(0, -1, 1, 0)", "OverflowError", "unsigned 8-bit integer"),
        ("driver.memset_d8_async(0, 0, -1, 0)", "OverflowError", "unsigned 64-bit integer"),
        ("cufft.set_stream(2**31, 0)", "OverflowError", "argument 'plan': 2147483648"),
        ("cufft.set_stream(-(2**31) - 1, 0)", "OverflowError", "out of range for a 32-bit"),
        ("driver.module_get_function(0, b'x')", "TypeError", "a str is required, not bytes"),
        ("driver.module_get_function(0, 'a\\0b')", "ValueError", "a NUL character is inside"),
        ("driver.module_get_function(0, '\\ud800')", "UnicodeEncodeError", "surrogates"),
        ("driver.module_load_data('ptx')", "TypeError", "an address or an object with a buffer"),
        ("driver.module_load_data(None)", "TypeError", "not NoneType"),
        ("cufft.xt_set_gpus(1, 2, [0])", "ValueError", "has 1 elements, but the call reads 2"),
        ("cufft.xt_set_gpus(1, -1, [0])", "ValueError", "argument 'n_gpus' is -1, but"),
        ("cufft.xt_set_gpus(1, 1, [None])", "TypeError", "argument 'which_gpus'[0]: an integer"),
        ("cufft.xt_set_gpus(1, 1, [2**40])", "OverflowError", "'which_gpus'[0]: 1099511627776"),
        ("cufft.xt_set_gpus(1, 1, [[1]])", "TypeError", "an integer is required, not list"),
        ("cufft.xt_set_gpus(1, 1, '1')", "TypeError", "an address or a sequence of numbers"),
        ("cufft.xt_set_gpus(1, 1, None)", "TypeError", "not NoneType"),
        ("cufft.xt_set_gpus(1, 1, {1: 2})", "TypeError", "sequence of numbers is required"),
    ],
)
def test_bad_arguments(library: Path, call: str, error: str, message: str) -> None:
    found, text, called = recorder.run(library, "call.refused", call)
    assert found == error, text
    assert message in text
    assert called == "", "C was called"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "set_stream() missing 2 required arguments: 'plan', 'stream'"),
        ("1", "set_stream() missing 1 required argument: 'stream'"),
        ("1, 2, 3", "set_stream() takes 2 positional arguments but 3 were given"),
        ("1, 2, plan=3", "set_stream() got multiple values for argument 'plan'"),
        ("1, steam=3", "set_stream() got an unexpected keyword argument 'steam'"),
    ],
)
def test_wrong_argument_lists(library: Path, arguments: str, message: str) -> None:
    error, text, _ = recorder.run(library, "call.refused", f"cufft.set_stream({arguments})")
    assert (error, text) == ("TypeError", message)


def test_keywords_in_any_order(library: Path) -> None:
    assert recorder.run(library, "call.keywords_in_any_order") == ["set 1 2 3 4"] * 3


def test_results(library: Path) -> None:
    assert recorder.run(library, "call.results") == [
        [1, 2**64 - 1],
        0,
        0xF000000000000001,
        1.5,
        "CUDA_ERROR_OUT_OF_MEMORY",
        None,
        -(2**62),
    ]


def test_text_and_data(library: Path) -> None:
    *loads, find = recorder.run(library, "call.text_and_data")
    assert loads == [["load .version 9.0", 77]] * 4
    assert find == ["find 9 kernel_µ", 78]


def test_eleven_arguments_of_three_widths(library: Path) -> None:
    call = "driver.launch_kernel, 2**40, 1, 2, 3, 4, 5, 2**32 - 1, 7, 2**50, 0, 1"
    text = f"launch {2**40} 1 2 3 4 5 {2**32 - 1} 7 {2**50} 0 1"
    assert recorded(library, call) == [text, None]


@pytest.mark.parametrize(("major", "called"), [(11, "12_7"), (12, "plain")])
def test_the_callback_function_of_the_right_cuda_is_called(
    library: Path, major: int, called: str
) -> None:
    call = "cufft.xt_set_jit_callback, 5, 'load', b'\\0\\xff', 2, 0, [2**40, 0]"
    text, _ = recorded(library, call, RECORDER_MAJOR=str(major))
    assert text == f"{called} 5 load 0 255 0 {2**40} 0"


def test_the_name_of_a_callback_is_text_or_where_that_is(library: Path) -> None:
    for name, seen in {"'löad'": "löad", "ctypes.addressof(c_text)": "scale", "0": "NULL"}.items():
        call = f"cufft.xt_set_jit_callback, 5, {name}, b'x', 0, 0, [1, 0]"
        text, _ = recorded(library, call, RECORDER_MAJOR="13")
        assert text == f"plain 5 {seen} 0 1 0"
    for name, error in {"None": "TypeError", "b'x'": "TypeError", "-1": "OverflowError"}.items():
        call = f"cufft.xt_set_jit_callback(5, {name}, b'x', 0, 0, [1, 0])"
        assert recorder.run(library, "call.refused", call)[0] == error


@pytest.mark.parametrize(
    "data",
    [
        "address",
        "numpy.uint64(address)",
        "buffer",
        "numpy.frombuffer(buffer, numpy.uint8)",
        "numpy.array(-256, 'i2')",
    ],
)
def test_data_are_bytes_or_where_they_are(library: Path, data: str) -> None:
    call = f"cufft.xt_set_jit_callback, 5, 'load', {data}, 2, 0, [1, 0]"
    text, _ = recorded(library, call, RECORDER_MAJOR="13")
    assert text.endswith(" 5 load 0 255 0 1 0")


def test_other_threads_run_during_a_call(library: Path) -> None:
    assert recorder.run(library, "call.other_threads_run_during_a_call") == [0]


def test_a_status_that_no_table_knows(library: Path) -> None:
    expected = [1000, "cufftSetStream", "cufftSetStream: unknown status (1000)"]
    assert recorder.run(library, "call.a_status_that_no_table_knows") == expected


def test_an_absent_function_of_a_present_library(library: Path) -> None:
    found = recorder.run(library, "call.an_absent_function_of_a_present_library")
    assert found == ["cufft.destroy", "cufftDestroy", str(library), "12.0"]


def test_nothing_is_leaked(library: Path) -> None:
    blocks, references = recorder.run(library, "call.nothing_is_leaked")
    # One block leaked a round would be 2000.
    assert blocks < 1000
    assert all(abs(count) < 1000 for count in references), references
