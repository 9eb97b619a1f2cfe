"""Arrays of C structs, against `ctypes` structures and NumPy arrays of the same layout."""

from __future__ import annotations

import copy
import ctypes
import gc
import operator
import pickle
import random
import sys
from typing import Any

import numpy as np
import pytest

from gpumath.bindings._core.pod import Field, StructArray
from tests.helpers.cuda_wheels import in_fresh_process
from tests.helpers.structs import CPoint, CShape, Point, Shape

KINDS: dict[str, Any] = {
    "i8": ctypes.c_int8, "u8": ctypes.c_uint8, "i16": ctypes.c_int16, "u16": ctypes.c_uint16,
    "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64, "u64": ctypes.c_uint64,
    "f32": ctypes.c_float, "f64": ctypes.c_double,
}  # fmt: skip


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


def test_works_without_numpy() -> None:
    assert in_fresh_process("pod.works_without_numpy") == [
        [1, 2, 3],
        [[1, 2], [3, 4], [5, 6]],
        True,
    ]
