"""Device, pinned and managed arrays as the driver sees them: who waits for whom, who frees when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ordering_driver


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


LIFES = {
    "device": ["allocate on 0", "free on 0"],
    "pinned": ["pin 3", "synchronize 0", "free pinned"],
    "managed": ["manage 1", "synchronize 0", "free managed"],
}


@pytest.mark.parametrize("kind", LIFES)
def test_the_life_of_an_array(driver: Path, kind: str) -> None:
    code = f"""
array = memory.empty((3, 4), "complex64", kind={kind!r})
before = blocks()
del array
result = seen(), before, blocks()
"""
    assert ordering_driver.run(driver, code) == [LIFES[kind], 1, 0]


@pytest.mark.parametrize("kind", LIFES)
def test_the_stream_lives_as_long_as_the_memory(driver: Path, kind: str) -> None:
    code = f"""
array = memory.empty(3, kind={kind!r}, stream=core.Stream())
capsule = array.__dlpack__(max_version=(1, 0), stream={None if kind == "pinned" else -1})
handle = array.stream
del array
between = seen()
del capsule
result = handle, between, seen()
"""
    handle, between, after = ordering_driver.run(driver, code)
    assert len(between) == 1
    freed = [text.replace(" 0", f" {handle}") for text in LIFES[kind][1:]]
    assert after == [*freed, f"destroy {handle}"]


ORDERS: list[tuple[Any, list[str]]] = [
    (None, ["after 70 1 waits"]),
    (1, ["after 70 1 waits"]),
    (2, ["after 70 2 waits"]),
    (77, ["after 70 77 waits"]),
    (70, []),
    (-1, []),
]


@pytest.mark.parametrize("kind", ["device", "managed"])
@pytest.mark.parametrize(("stream", "expected"), ORDERS)
def test_the_consumer_waits(driver: Path, kind: str, stream: Any, expected: list[str]) -> None:
    code = f"""
array = memory.empty(3, kind={kind!r}, stream=70)
seen()
array.__dlpack__(stream={stream!r})
result = seen()
"""
    assert ordering_driver.run(driver, code) == expected


def test_what_a_consumer_cannot_have(driver: Path) -> None:
    code = """
def refused(kind, **asked):
    try:
        memory.empty(3, kind=kind).__dlpack__(**asked)
    except BufferError as error:
        return str(error)

result = [
    refused("device", stream=0),
    refused("device", stream=-2),
    refused("device", dl_device=(1, 0)),
    refused("device", dl_device=(2, 1)),
    refused("pinned", stream=1),
    refused("managed", dl_device=(13, 1)),
    refused("device", copy=True),
]
"""
    ambiguous, negative, host, other, pinned, elsewhere, copy = ordering_driver.run(driver, code)
    assert ambiguous.startswith("stream is 0; a cudaStream_t, 1 (the legacy")
    assert negative.startswith("stream is -2; ")
    assert host.startswith("the DLPack device (1, 0) was asked for, and the array is on (2, 0)")
    assert other.startswith("the DLPack device (2, 1) was asked for")
    assert pinned.startswith("stream is 1, and the array is in host memory")
    assert elsewhere.startswith("the DLPack device (13, 1) was asked for")
    assert copy.startswith("a copy was asked for")


def test_the_cpu_waits_for_managed_memory(driver: Path) -> None:
    code = """
array = memory.empty(3, kind="managed", stream=70)
seen()
np.from_dlpack(array, device="cpu")[:] = 5
result = seen(), np.asarray(array).tolist(), seen()
"""
    assert ordering_driver.run(driver, code) == [["synchronize 70"], [5, 5, 5], []]


def test_advice_and_prefetch(driver: Path) -> None:
    code = """
array = memory.empty(3, kind="managed", stream=70)
seen()
array.prefetch("cpu")
array.prefetch(1, stream=71)
array.advise("read_mostly")
array.advise("preferred_location", "cpu")
array.advise("accessed_by", 1, on=False)
memory.empty(0, kind="managed").prefetch(0)
result = seen()[:5]
"""
    assert ordering_driver.run(driver, code) == [
        "prefetch 24 to -1 on 70",
        "prefetch 24 to 1 on 71",
        "advise 24 1 0",
        "advise 24 3 -1",
        "advise 24 6 1",
    ]


BORROWED = """
from tests.helpers.dlpack import Producer, exchange_class

class Cuda:
    def __init__(self, array, stream):
        self.array = array
        self.stream = stream

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__ | {"stream": self.stream}

array = memory.empty((3, 4), "complex64", stream=70)
values = np.empty((3, 4), np.complex64)
fields = {"data": array.ptr, "device_type": 2}
seen()
"""


def test_work_waits_for_the_operand(driver: Path) -> None:
    code = f"""
{BORROWED}
operands = [Cuda(array, 60), array, exchange_class(stream=50)(values, **fields)]
result = []
for operand in operands:
    view = core.TensorView(operand)
    quiet = seen()
    view = core.TensorView(operand, stream=77)
    result.append((view.device, view.device_id, quiet, seen()))
"""
    interface, own, exchanged = ordering_driver.run(driver, code)
    assert interface == ["cuda", 1, [], ["after 60 77 waits"]]
    assert own == ["cuda", 0, [], ["after 70 77 waits"]]
    assert exchanged == ["cuda", 0, [], ["after 50 77 waits"]]


def test_which_stream_a_producer_is_told(driver: Path) -> None:
    code = f"""
{BORROWED}
source = Producer(values, **fields)
for keywords in ({{}}, {{"stream": 0}}, {{"stream": 2}}, {{"stream": core.Stream()}}):
    core.TensorView(source, **keywords)
result = [request["stream"] for request in source.requests]
"""
    assert ordering_driver.run(driver, code) == [-1, 1, 2, 5000]


def test_borrowed_arrays_wait_too(driver: Path) -> None:
    code = f"""
{BORROWED}
borrowed = memory.from_dlpack(Cuda(array, 60), stream=77)
waits = seen()
kept = array.ptr == borrowed.ptr
del array
result = waits, kept, borrowed.stream, borrowed.device_id, blocks(), seen()
del borrowed
result += (blocks(),)
"""
    waits, *others = ordering_driver.run(driver, code)
    assert "after 60 77 waits" in waits
    assert others == [True, 77, 1, 1, [], 0]


def test_too_much_memory(driver: Path) -> None:
    code = """
result = []
for kind in ("device", "pinned", "managed"):
    try:
        memory.empty(1 << 50, "uint8", kind=kind)
    except MemoryError as error:
        result.append((str(error), memory.empty(8, kind=kind).nbytes))
"""
    device, pinned, managed = ordering_driver.run(driver, code)
    assert device[0].startswith(f"device 0 has no {2**50} bytes of memory left; free some")
    assert pinned[0].startswith(f"there are no {2**50} bytes of pinned host memory left; free some")
    assert managed[0].startswith(f"there are no {2**50} bytes of managed memory left; free some")
    assert device[1] == pinned[1] == managed[1] == 64


def test_a_forked_child_frees_nothing(driver: Path) -> None:
    code = """
kept = [memory.empty(3, kind=kind) for kind in ("device", "pinned", "managed", "host")]
kept += [array.__dlpack__() for array in kept]
seen()
child = os.fork()
if child == 0:
    kept.clear()
    os._exit(len(seen()))
_, status = os.waitpid(child, 0)
result = os.waitstatus_to_exitcode(status), seen(), blocks()
"""
    assert ordering_driver.run(driver, code) == [0, [], 3]


def test_arrays_that_outlive_the_interpreter(driver: Path) -> None:
    code = """
sys.kept = [memory.empty(3, kind=kind) for kind in ("device", "pinned", "managed", "host")]
sys.capsules = [array.__dlpack__() for array in sys.kept]
result = blocks()
"""
    assert ordering_driver.run(driver, code) == 3
