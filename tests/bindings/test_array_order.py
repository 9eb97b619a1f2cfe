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
    found = ordering_driver.run(driver, "array_order.the_life_of_an_array", kind)
    assert found == [LIFES[kind], 1, 0]


@pytest.mark.parametrize("kind", LIFES)
def test_the_stream_lives_as_long_as_the_memory(driver: Path, kind: str) -> None:
    handle, between, after = ordering_driver.run(
        driver,
        "array_order.the_stream_lives_as_long_as_the_memory",
        kind,
        None if kind == "pinned" else -1,
    )
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
    assert ordering_driver.run(driver, "array_order.the_consumer_waits", kind, stream) == expected


def test_what_a_consumer_cannot_have(driver: Path) -> None:
    ambiguous, negative, host, other, pinned, elsewhere, copy = ordering_driver.run(
        driver, "array_order.what_a_consumer_cannot_have"
    )
    assert ambiguous.startswith("stream is 0; a cudaStream_t, 1 (the legacy")
    assert negative.startswith("stream is -2; ")
    assert host.startswith("the DLPack device (1, 0) was asked for, but the array is on (2, 0)")
    assert other.startswith("the DLPack device (2, 1) was asked for")
    assert pinned.startswith("stream is 1, but the array is in host memory")
    assert elsewhere.startswith("the DLPack device (13, 1) was asked for")
    assert copy.startswith("a copy was asked for")


def test_the_cpu_waits_for_managed_memory(driver: Path) -> None:
    found = ordering_driver.run(driver, "array_order.the_cpu_waits_for_managed_memory")
    assert found == [["synchronize 70"], [5, 5, 5], []]


def test_advice_and_prefetch(driver: Path) -> None:
    assert ordering_driver.run(driver, "array_order.advice_and_prefetch") == [
        "prefetch 24 to -1 on 70",
        "prefetch 24 to 1 on 71",
        "advise 24 1 0",
        "advise 24 3 -1",
        "advise 24 6 1",
    ]


def test_work_waits_for_the_operand(driver: Path) -> None:
    interface, own, exchanged = ordering_driver.run(
        driver, "array_order.work_waits_for_the_operand"
    )
    assert interface == ["cuda", 1, [], ["after 60 77 waits"]]
    assert own == ["cuda", 0, [], ["after 70 77 waits"]]
    assert exchanged == ["cuda", 0, [], ["after 50 77 waits"]]


def test_which_stream_a_producer_is_told(driver: Path) -> None:
    found = ordering_driver.run(driver, "array_order.which_stream_a_producer_is_told")
    assert found == [-1, 1, 2, 5000]


def test_borrowed_arrays_wait_too(driver: Path) -> None:
    waits, *others = ordering_driver.run(driver, "array_order.borrowed_arrays_wait_too")
    assert "after 60 77 waits" in waits
    assert others == [True, 77, 1, 1, [], 0]


def test_too_much_memory(driver: Path) -> None:
    device, pinned, managed = ordering_driver.run(driver, "array_order.too_much_memory")
    assert device[0].startswith(f"device 0 has no {2**50} bytes of memory left; free some")
    assert pinned[0].startswith(f"there are no {2**50} bytes of pinned host memory left; free some")
    assert managed[0].startswith(f"there are no {2**50} bytes of managed memory left; free some")
    assert device[1] == pinned[1] == managed[1] == 64


def test_a_forked_child_frees_nothing(driver: Path) -> None:
    assert ordering_driver.run(driver, "array_order.a_forked_child_frees_nothing") == [0, [], 3]


def test_arrays_that_outlive_the_interpreter(driver: Path) -> None:
    assert ordering_driver.run(driver, "array_order.arrays_that_outlive_the_interpreter") == 3
