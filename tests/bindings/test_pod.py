"""Arrays of C structs, against `ctypes` structures and NumPy arrays of the same layout."""

from __future__ import annotations

import copy
import ctypes
import gc
import operator
import pickle
import random
import sys
import threading
from typing import Any

import numpy as np
import pytest

from gpumath.bindings._core.pod import Field, StructArray
from tests.helpers.cuda_wheels import in_fresh_process

KINDS: dict[str, Any] = {
    "i8": ctypes.c_int8, "u8": ctypes.c_uint8, "i16": ctypes.c_int16, "u16": ctypes.c_uint16,
    "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
    "f32": ctypes.c_float, "f64": ctypes.c_double,
}  # fmt: skip


class Point(StructArray, size=12, alignment=4):
    """What tests nest."""

    __slots__ = ()
    x = Field("f32", 0)
    y = Field("i32", 4)
    tag = Field("u8", 8)


class Shape(StructArray, size=56, alignment=8):
    """A bit of everything: padding, nesting, arrays, text, and members of a union."""

    __slots__ = ()
    kind = Field("i32", 0)
    corners = Field(Point, 4, 2)
    weight = Field("f64", 32)
    name = Field("text", 40, 8)
    data = Field("u8", 48, 8)
    data_address = Field("u64", 48)
    data_pair = Field("i32", 48, 2)


class CPoint(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_int32), ("tag", ctypes.c_uint8)]


class CShape(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int32),
        ("corners", CPoint * 2),
        ("weight", ctypes.c_double),
        ("name", ctypes.c_char * 8),
        ("data", ctypes.c_uint8 * 8),
    ]


def number_of(kind: str, random_: random.Random) -> float:
    if kind == "f32":
        return ctypes.c_float(random_.uniform(-1e6, 1e6)).value
    if kind == "f64":
        return random_.uniform(-1e300, 1e300)
    bits = int(kind[1:])
    low = -(2 ** (bits - 1)) if kind[0] == "i" else 0
    return random_.choice([low, low + 2**bits - 1, random_.randrange(low, low + 2**bits)])


def random_struct(random_: random.Random) -> tuple[type[StructArray], Any]:
    """Make a struct class and ctypes' class of the same layout."""
    fields = []
    for index in range(random_.randrange(1, 9)):
        kind, count = random_.choice([*KINDS]), random_.choice([1, 1, 1, 2, 7])
        fields.append((f"f{index}", kind, count))
    c_fields = [(n, KINDS[k] * c if c > 1 else KINDS[k]) for n, k, c in fields]
    reference: Any = type("Reference", (ctypes.Structure,), {"_fields_": c_fields})
    places = {n: Field(k, getattr(reference, n).offset, c) for n, k, c in fields}
    made = type(
        "Made",
        (StructArray,),
        {"__slots__": (), **places},
        size=ctypes.sizeof(reference),
        alignment=ctypes.alignment(reference),
    )
    return made, reference


@pytest.mark.parametrize("size", [1, 5])
def test_random_layouts_agree_with_ctypes(size: int) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    random_ = random.Random(seed)
    for _ in range(50):
        made, reference = random_struct(random_)
        there = (reference * size)()
        view = made.from_ptr(ctypes.addressof(there), size)
        own = made(size)
        assert own.nbytes == ctypes.sizeof(there)
        assert own.ptr % ctypes.alignment(reference) == 0
        for name, field in ((n, f) for n, f in vars(made).items() if isinstance(f, Field)):
            for index in range(size):
                if field.count == 1:
                    value: Any = number_of(str(field.kind), random_)
                else:
                    value = tuple(number_of(str(field.kind), random_) for _ in range(field.count))
                setattr(view[index], name, value if field.kind != "u8" else np.array(value, "u1"))
                setattr(own[index], name, value)
                found = getattr(there[index], name)
                assert (found if field.count == 1 else tuple(found)) == value
                read = getattr(own[index], name)
                if isinstance(read, memoryview):
                    assert read.tobytes() == bytes(found)
                else:
                    assert read == value
            if size > 1:
                column = getattr(view, name)
                expected = np.frombuffer(there, np.dtype(reference))[name]
                assert np.array_equal(np.asarray(column), expected.view(column.format))
        assert own == view
        assert bytes(own) == bytes(there)
        assert made.dtype == np.dtype(reference) == np.asarray(own).dtype


def test_fields_of_one_struct() -> None:
    shape, reference = Shape(), CShape()
    shape.kind, shape.weight, shape.name = -3, 2.5, "triangle"[:7]
    shape.corners[1].x = 1.5
    shape.corners[0].y = 2**31 - 1
    shape.data = bytes(range(8))
    reference.kind, reference.weight, reference.name = -3, 2.5, b"triangl"
    reference.corners[1].x = 1.5
    reference.corners[0].y = 2**31 - 1
    reference.data[:] = range(8)
    assert bytes(shape) == bytes(reference)
    assert shape.name == "triangl"
    assert shape.data == bytes(range(8))
    assert shape.data_address == int.from_bytes(bytes(range(8)), sys.byteorder)
    assert shape.data_pair == struct_pair(bytes(range(8)))
    assert "triangl" in repr(shape)
    assert "data_address" not in repr(shape)


def struct_pair(data: bytes) -> tuple[int, int]:
    first, second = np.frombuffer(data, "i4").tolist()
    return first, second


def test_shorter_bytes_and_text_leave_zeros() -> None:
    shape = Shape()
    shape.data = b"\xff" * 8
    shape.data = b"ab"
    assert shape.data == b"ab" + bytes(6)
    shape.name = "seven77"
    shape.name = "é"
    assert shape.name == "é"
    assert bytes(shape)[40:48] == "é".encode() + bytes(6)


def test_memory_is_shared_with_numpy_both_ways() -> None:
    shapes = Shape(4)
    array = np.asarray(shapes)
    assert array.shape == (4,)
    assert array.dtype == Shape.dtype
    assert array.dtype.names == ("kind", "corners", "weight", "name", "data")
    array["weight"] = [1, 2, 3, 4]
    array["corners"]["y"][2, 1] = 7
    assert shapes.weight.tolist() == [1, 2, 3, 4]
    assert shapes[2].corners[1].y == 7
    shapes[1:3].weight = [8, 9]
    assert array["weight"].tolist() == [1, 8, 9, 4]
    view = Shape.from_data(array[::-2])
    assert view.weight.tolist() == [4, 8]
    view.kind = 5
    assert array["kind"].tolist() == [0, 5, 0, 5]
    assert array.flags.writeable


def test_views_keep_what_they_see() -> None:
    data = bytearray(3 * 56)
    corner = Shape.from_buffer(data)[1].corners[1:]
    gc.collect()
    with pytest.raises(BufferError):
        data.append(0)
    corner.y = 77
    assert CShape.from_buffer(data, 56).corners[1].y == 77
    column = Shape.from_buffer(data).kind
    gc.collect()
    column[2] = 9
    assert CShape.from_buffer(data, 112).kind == 9
    del corner, column
    gc.collect()
    data.append(0)
    # Memory of their own lives as long as any view of it.
    tail = np.asarray(Shape(1000)[990:].weight)
    gc.collect()
    tail[:] = 4
    assert tail.sum() == 40


def test_slices_and_items() -> None:
    points = Point(6)
    points.y = range(6)
    assert [point.y for point in points] == list(range(6))
    assert points[-1].y == 5
    assert points[1:5:2].y.tolist() == [1, 3]
    assert points[::-1].y.tolist() == [5, 4, 3, 2, 1, 0]
    assert points[np.int64(3)].y == 3
    points[:2] = points[4:]
    assert points.y.tolist() == [4, 5, 2, 3, 4, 5]
    # Overlapping ranges are as if the right side had been copied.
    points[1:] = points[:-1]
    assert points.y.tolist() == [4, 4, 5, 2, 3, 4]
    points[0] = Point()
    assert points[0].y == 0
    assert len(points[2:2]) == 0
    for index in (6, -7, 2**70):
        with pytest.raises(IndexError):
            points[index]
    for bad in ("a", None, 1.0, (1, 2)):
        with pytest.raises(TypeError):
            points[bad]
    with pytest.raises(ValueError, match="room for 2"):
        points[:2] = Point(3)
    with pytest.raises(TypeError):
        points[0] = Shape()


def test_the_object_is_an_address() -> None:
    point = Point()
    point.y = 12
    assert int(point) == operator.index(point) == point.ptr
    assert CPoint.from_address(point.ptr).y == 12
    points = Point(4)
    assert points[2].ptr == points.ptr + 24
    with pytest.raises(ValueError, match="copy"):
        int(points[::2])
    assert int(points[::2][1]) == points.ptr + 24
    with pytest.raises(ValueError, match="copy"):
        int(Point(2)[::-1])


def test_copies_are_equal_and_apart() -> None:
    points = Point(5)
    points.y = range(5)
    for other in (
        copy.copy(points[::2]),
        copy.deepcopy(points[::2]),
        pickle.loads(pickle.dumps(points[::2])),
    ):
        assert other == points[::2]
        assert other.y.tolist() == [0, 2, 4]
        assert int(other) == other.ptr
        other[1].y = 99
        assert points[2].y == 2
        assert other != points[::2]
    assert points != points[:4]
    assert Point() != 0
    with pytest.raises(TypeError):
        hash(points)


def test_read_only_memory() -> None:
    shape = Shape.from_buffer(bytes(56))
    assert shape.readonly
    assert shape.kind == 0
    assert not np.asarray(shape).flags.writeable
    for attempt in (
        lambda: setattr(shape, "kind", 1),
        lambda: setattr(shape.corners[0], "y", 1),
        lambda: shape.__setitem__(0, Shape()),
        lambda: shape.__setstate__(bytes(56)),
    ):
        with pytest.raises(ValueError, match="read-only"):
            attempt()
    with pytest.raises(TypeError):
        shape.data[0] = 1
    frozen = np.zeros(2, Shape.dtype)
    frozen.flags.writeable = False
    assert Shape.from_data(frozen).readonly
    point = Point()
    assert Point.from_ptr(point.ptr, readonly=True).readonly


def test_values_are_checked() -> None:
    shape, point = Shape(), Point()
    for name, value, error in (
        ("kind", 2**31, OverflowError),
        ("kind", -(2**31) - 1, OverflowError),
        ("kind", 2**200, OverflowError),
        ("kind", "1", TypeError),
        ("kind", b"1", TypeError),
        ("kind", None, TypeError),
        ("kind", 1.5, TypeError),
        ("weight", "1", TypeError),
        ("weight", 10**400, OverflowError),
        ("name", "12345678", ValueError),
        ("name", "a\0b", ValueError),
        ("name", b"a", TypeError),
        ("name", "\ud800", UnicodeEncodeError),
        ("data", bytes(9), ValueError),
        ("data", [256] * 8, OverflowError),
        ("data", [1, 2], ValueError),
        ("data", 7, TypeError),
        ("data_pair", (1, 2, 3), ValueError),
        ("data_pair", "12", TypeError),
        ("data_address", -1, OverflowError),
        ("corners", Point(3), ValueError),
        ("corners", Shape(), TypeError),
        ("corners", 1, TypeError),
    ):
        with pytest.raises(error):
            setattr(shape, name, value)
    with pytest.raises(OverflowError):
        point.x = 1e39
    assert bytes(shape) == bytes(56)
    assert bytes(point) == bytes(12)
    with pytest.raises(AttributeError):
        shape.knid = 1
    with pytest.raises(AttributeError):
        del shape.kind


@pytest.mark.parametrize("size", [0, -1, -(2**40)])
def test_sizes_below_one(size: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Point(size)
    with pytest.raises(ValueError, match="at least 1"):
        Point.from_ptr(4096, size)


def test_sizes_beyond_memory() -> None:
    for size in (2**62, 2**63, 2**64 - 1):
        with pytest.raises((MemoryError, OverflowError)):
            Shape(size)
    with pytest.raises(OverflowError):
        Shape(2**64)
    for ptr, size in ((0, 1), (-8, 1), (2**63, 1), (4096, 2**60)):
        with pytest.raises((ValueError, OverflowError)):
            Shape.from_ptr(ptr, size)
    for data in (b"", bytes(55), bytes(57)):
        with pytest.raises(ValueError, match="56"):
            Shape.from_buffer(data)
    with pytest.raises(ValueError, match="gaps"):
        Shape.from_buffer(memoryview(bytes(224))[::2])


def test_data_of_another_layout() -> None:
    for data in (np.zeros(1, "V56"), np.zeros(1), np.zeros((2, 2), Shape.dtype), np.array(5)):
        with pytest.raises((TypeError, ValueError)):
            Shape.from_data(data)
    with pytest.raises(ValueError, match="empty"):
        Shape.from_data(np.zeros(0, Shape.dtype))


def test_classes_that_make_no_sense() -> None:
    with pytest.raises(TypeError, match="no fields"):
        StructArray()
    with pytest.raises(TypeError, match="no fields"):
        type("NoSize", (StructArray,), {})()
    for size, alignment in ((0, 1), (12, 8), (12, 3), (8, 0), (2**70, 1)):
        with pytest.raises((ValueError, OverflowError)):
            type("Odd", (StructArray,), {}, size=size, alignment=alignment)
    with pytest.raises(ValueError, match="ends behind"):
        type("Long", (StructArray,), {"x": Field("u64", 1)}, size=8)
    for arguments in (("u128", 0), ("u8", 0, 0), ("u8", 2**63 - 1, 2**63), (int, 0), (5, 0)):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            Field(*arguments)
    with pytest.raises(TypeError, match="another struct"):
        Shape.weight.__get__(Point())
    with pytest.raises(TypeError):
        Shape.weight.__get__(5)
    with pytest.raises(TypeError):
        Shape.weight.__set__(Point(), 1.0)


def test_subclasses_are_the_same_struct() -> None:
    class Corner(Point):
        def __init__(self, *args: Any) -> None:
            self.y = 5

    assert Corner().y == 5
    assert Corner(3)[1].y == 5
    assert isinstance(Corner.from_buffer(bytearray(12)), Corner)
    shape = Shape()
    shape.corners = Corner(2)
    assert shape.corners.y.tolist() == [5, 5]


def test_hostile_values_end_in_exceptions() -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    random_ = random.Random(seed)

    class Angry:
        def __index__(self) -> int:
            raise RuntimeError("no")

        def __len__(self) -> int:
            raise RuntimeError("no")

        def __getitem__(self, index: object) -> object:
            raise RuntimeError("no")

    class Liar(list[int]):
        def __len__(self) -> int:
            return 4

    values: list[Any] = [
        None, True, -1, 0, 3, 2**31, 2**63, 2**64, -(2**63), 2**400, 1.5, float("nan"), 1e400, 1j,
        "", "text", "\0", b"", b"\0" * 56, bytearray(12), [], [1], [1, 2], [None] * 2, {}, {1: 2},
        (), object(), Angry(), Liar(), int, Point, Point(), Shape(2), Point(7)[::2],
        memoryview(b"abc"), np.arange(4), np.zeros((2, 2)), np.float32(3), slice(None),
        slice(5, -9, -3), slice("a"), lambda: 1, Shape.kind, range(2), range(2**62),
    ]  # fmt: skip
    exceptions: dict[str, int] = {}
    for _ in range(10_000):
        value, other = random_.choice(values), random_.choice(values)
        array = random_.choice([Point(), Shape(), Shape(3), Point(4)[::2], Shape(3)[1:1]])
        names = [n for n, f in vars(type(array)).items() if isinstance(f, Field)]
        name = random_.choice(names)
        attempts = [
            lambda n=name, a=array, v=value: setattr(a, n, v),
            lambda a=array, v=value: a[v],
            lambda a=array, v=value, o=other: a.__setitem__(v, o),
            lambda a=array, v=value: a == v,
            lambda a=array, v=value: type(a).from_buffer(v),
            lambda a=array, v=value: type(a).from_data(v),
            lambda a=array, v=value: a.__setstate__(v),
            lambda v=value, o=other: Field(v, o),
            lambda v=value, o=other: Field("u8", v, o),
            lambda v=value, n=name, a=array: getattr(type(a), n).__get__(v),
            lambda n=name, a=array: (repr(a), getattr(a, n), bytes(a)),
        ]
        # Not `from_ptr` and sizes: those that exist are legitimate, and take what they ask for.
        try:
            random_.choice(attempts)()
        except Exception as error:
            kind = type(error).__name__
            exceptions[kind] = exceptions.get(kind, 0) + 1
    assert {"TypeError", "ValueError", "OverflowError"} <= {*exceptions}
    assert "SystemError" not in exceptions


def test_threads_share_an_array() -> None:
    points = Point(64)
    barrier = threading.Barrier(8)
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            barrier.wait()
            for round_ in range(300):
                for index in range(first, 64, 8):
                    points[index].y = round_ * 64 + index
                    assert points[index].y == round_ * 64 + index
                    Shape(3)[1].corners = points[:2]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert points.y.tolist() == [299 * 64 + index for index in range(64)]


def test_works_without_numpy() -> None:
    code = """
sys.modules["numpy"] = None
from gpumath.bindings._core.pod import Field, StructArray
class Pair(StructArray, size=16, alignment=8):
    __slots__ = ()
    number = Field("u64", 0)
    pair = Field("i32", 8, 2)
pairs = Pair(3)
pairs.number = [1, 2, 3]
pairs[1].pair = -1, 5
pairs.pair = [(1, 2), (3, 4), (5, 6)]
try:
    Pair.dtype
except ImportError as error:
    absent = True
view = Pair.from_buffer(bytearray(bytes(pairs)))
result = [view.number.tolist(), view.pair.tolist(), view == pairs, absent]
"""
    assert in_fresh_process(code) == [[1, 2, 3], [[1, 2], [3, 4], [5, 6]], True, True]


def test_memory_is_given_back() -> None:
    def work() -> None:
        for _ in range(200):
            shapes = Shape(1000)
            shapes.kind = 3
            views = [shapes[i].corners for i in range(5)]
            assert np.asarray(views[0])["y"].sum() == 0
            pickle.loads(pickle.dumps(shapes[:3]))

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    work()
    gc.collect()
    before = resident()
    for _ in range(5):
        work()
    gc.collect()
    # 1000 arrays of 56 kB would be 56 MB.
    assert resident() - before < 8e6
