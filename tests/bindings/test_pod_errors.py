"""Arrays of C structs: wrong values, wrong memory, wrong classes, many threads."""

from __future__ import annotations

import gc
import pickle
import random
import threading
from typing import Any

import numpy as np
import pytest

from gpumath.bindings._core.pod import Field, StructArray
from tests.helpers.structs import Point, Shape


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
