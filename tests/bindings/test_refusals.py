"""What is refused before the C call, and whether the errors say what is wrong."""

from __future__ import annotations

import copy
import ctypes
import pickle
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core, cufft, curand, errors, nvjitlink, nvrtc
from gpumath.bindings._core.pod import Field, StructArray
from tests.helpers.callbacks import require_compilers
from tests.helpers.dlpack import Producer
from tests.helpers.structs import Point, Shape


class Changing:
    """A number that is another one each time that it is asked for."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)
        self.asked = 0

    def __index__(self) -> int:
        self.asked += 1
        return self.numbers[min(self.asked, len(self.numbers)) - 1]


class IntOnly:
    """A number that has no `__index__`."""

    def __init__(self) -> None:
        self.asked = 0

    def __int__(self) -> int:
        self.asked += 1
        return 1 if self.asked == 1 else 2**40


def test_a_length_is_asked_for_once() -> None:
    require_compilers()
    handle = nvjitlink.create(1, ["-arch=sm_90"])
    try:
        size = Changing(3, 2**30)
        # The library gets the 3 bytes that the buffer was checked for.
        with pytest.raises(nvjitlink.nvJitLinkError):
            nvjitlink.add_data(handle, nvjitlink.InputType.PTX, b"abc", size, "code")
        assert size.asked == 1
        with pytest.raises(ValueError, match="has 3 bytes, but the call reads 4"):
            nvjitlink.add_data(handle, nvjitlink.InputType.PTX, b"abc", Changing(4, 3), "code")
    finally:
        nvjitlink.destroy(handle)


@pytest.mark.parametrize("number", [Changing(2**64, 5), IntOnly(), Changing(-1, 5)])
def test_other_integers_are_asked_for_once(number: Any) -> None:
    with pytest.raises((OverflowError, ValueError, errors.GpumathError)):
        nvrtc.create_program("", "name", number, [], [])
    assert number.asked == 1


@pytest.mark.parametrize("array", [np.zeros(4, np.complex64), np.ones(1), np.zeros(1, np.int64)])
def test_an_array_is_no_address(array: Any) -> None:
    found = type(array).__name__
    text = rf"exec_c2c\(\) argument 'idata': an address is required, not {found}; .*ctypes\.data"
    with pytest.raises(TypeError, match=text):
        cufft.exec_c2c(1, array, 0, -1)


def test_a_list_is_no_address() -> None:
    with pytest.raises(TypeError, match=r"'idata': an integer is required, not list"):
        cufft.exec_c2c(1, [7], 0, -1)


def test_an_array_is_no_number() -> None:
    with pytest.raises(TypeError, match=r"exec_c2c\(\) argument 'plan': an integer is required"):
        cufft.exec_c2c(np.array([2.5]), 0, 0, -1)
    with pytest.raises(TypeError, match="an integer is required"):
        cufft.exec_c2c(np.array(2.5), 0, 0, -1)


def test_errors_name_public_functions() -> None:
    for call in (
        lambda: nvrtc.compile_program(0, "x", []),
        lambda: nvrtc.compile_program("x", 0, []),
        lambda: nvjitlink.add_data(0, 1, b"", "x", "name"),
        lambda: nvjitlink.create("x", []),
        lambda: nvjitlink.destroy("x"),
    ):
        with pytest.raises(TypeError, match=r"^[a-z]\w*\(\) argument '"):
            call()


ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.LibraryError)
]


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_have_a_text_for_every_status(kind: type[errors.LibraryError]) -> None:
    if kind is errors.LibraryError:
        with pytest.raises(TypeError, match="LibraryError is the base of the libraries' classes"):
            kind(1)
        return
    for status in (0, 1, -1, 99_999, 10**30, np.int32(7), True):
        error = kind(status, "function")
        assert str(int(status)) in str(error)
        assert "function" in repr(pickle.loads(pickle.dumps(error)))
    for status in ("x", None, [], 2.5):
        with pytest.raises(TypeError, match=r"status is .*; the number of a status is needed"):
            kind(status)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [np.int64(2), np.uint8(2), 2, None])
def test_numbers_of_threads(count: Any) -> None:
    plan = core.FftPlan(np.zeros(8, complex), num_threads=count)
    assert plan.num_threads == (core.usable_cores() if count is None else 2)


@pytest.mark.parametrize("count", [0, -1, 2**31, 2**70, 2.0, "2"])
def test_other_numbers_of_threads_are_refused(count: Any) -> None:
    error = TypeError if isinstance(count, float | str) else ValueError
    with pytest.raises(error, match=r"^num_threads is "):
        core.FftPlan(np.zeros(8, complex), num_threads=count)


GENERATE: dict[str, Any] = {
    "generate": (np.uint32, "PSEUDO_DEFAULT", ()),
    "generate_long_long": (np.uint64, "QUASI_SOBOL64", ()),
    "generate_uniform": (np.float32, "PSEUDO_DEFAULT", ()),
    "generate_uniform_double": (np.float64, "PSEUDO_DEFAULT", ()),
    "generate_normal": (np.float32, "PSEUDO_DEFAULT", (0, 1)),
    "generate_normal_double": (np.float64, "PSEUDO_DEFAULT", (0, 1)),
    "generate_log_normal": (np.float32, "PSEUDO_DEFAULT", (0, 1)),
    "generate_log_normal_double": (np.float64, "PSEUDO_DEFAULT", (0, 1)),
    "generate_poisson": (np.uint32, "PSEUDO_DEFAULT", (5,)),
}


@pytest.mark.parametrize("name", GENERATE)
def test_random_numbers_are_not_written_to_null(name: str) -> None:
    dtype, kind, rest = GENERATE[name]
    generate = getattr(curand, name)
    try:
        generator = curand.create_generator_host(curand.RngType[kind])
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")
    try:
        with pytest.raises(ValueError, match="'output_ptr' is 0"):
            generate(generator, 0, 4, *rest)
        generate(generator, 0, 0, *rest)
        by_address, by_buffer = np.zeros(64, dtype), np.zeros(64, dtype)
        generate(generator, by_address.ctypes.data, 64, *rest)
        generate(generator, by_buffer, 64, *rest)
        assert len(np.unique(by_address)) > 4
        assert len(np.unique(by_buffer)) > 4
        with pytest.raises(ValueError, match="but the call writes"):
            generate(generator, by_buffer, 65, *rest)
    finally:
        curand.destroy_generator(generator)


def test_a_struct_class_is_defined_once() -> None:
    class Small(StructArray, size=4, alignment=4):
        __slots__ = ()
        number = Field("i32", 0)

    with pytest.raises(TypeError, match="Small has its fields already"):
        Small.__init_subclass__(size=1 << 20)
    assert Small(3).nbytes == 12


def test_views_keep_the_layout_of_their_memory() -> None:
    """Also if the class is exchanged for one with larger structs."""
    points = Point(3)
    points.__class__ = Shape
    assert [points[:2].nbytes, points[1].nbytes, points.nbytes] == [24, 12, 36]

    class Inner(StructArray, size=4, alignment=4):
        __slots__ = ()
        number = Field("i32", 0)

    class Outer(StructArray, size=8, alignment=4):
        __slots__ = ()
        inner = Field(Inner, 0, 2)

    outer = Outer()
    Inner._layout = Shape._layout  # type: ignore[attr-defined]
    assert outer.inner.nbytes == 8
    with pytest.raises(TypeError):
        outer.inner = Inner(2)


def test_a_count_of_fields_is_named() -> None:
    with pytest.raises(ValueError, match="count is 0 and offset is 5, but"):
        Field("i32", 5, 0)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_an_empty_slice_can_be_copied(copied: Any) -> None:
    empty = copied(Point(3)[:0])
    assert (type(empty), len(empty), bytes(empty)) == (Point, 0, b"")
    whole = copied(Point(3)[1:])
    assert len(whole) == 2


def test_structs_of_any_length_do_not_end_the_process() -> None:
    one = np.zeros(1, Point.dtype)
    endless = Point.from_data(np.lib.stride_tricks.as_strided(one, (1 << 55,), (0,)))
    for copied in (bytes, lambda structs: structs == structs[:], copy.copy):
        with pytest.raises(MemoryError, match="no memory for a copy"):
            copied(endless)


def test_an_element_type_in_the_other_byte_order_is_refused() -> None:
    for dtype in (np.dtype(">f8"), np.dtype(">c8"), np.dtype(">i2")):
        with pytest.raises(ValueError, match=r"dtype is dtype\('>.*newbyteorder"):
            core.Array(3, dtype, kind="host")
    assert core.Array(3, np.dtype("<f8"), kind="host").dtype == "float64"
    assert core.Array(3, np.dtype(">i1"), kind="host").dtype == "int8"


class Nameless(Producer):
    """Its capsule has no name."""

    def __dlpack__(self, **_: Any) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(1, None, None)


def test_capsules_of_other_names_are_described() -> None:
    values = np.zeros(3)
    with pytest.raises(ValueError, match='returned a capsule named "other"; '):
        core.TensorView(Producer(values, name=b"other"))
    with pytest.raises(ValueError, match="returned a capsule without a name; "):
        core.TensorView(Nameless(values))
