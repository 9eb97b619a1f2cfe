"""Products on a GPU: what cuBLASLt and the kernels are asked, on a stand-in that multiplies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ordering_driver
from tests.helpers.products import DTYPES, ORDERS, SIZES


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = ordering_driver.SOURCE.with_name("multiplying_driver.c")
    return ordering_driver.build(tmp_path_factory.mktemp("driver"), source)


def run(driver: Path, name: str, program: str = "multiplying") -> Any:
    return ordering_driver.run(driver, f"{program}.{name}")


def test_every_size_and_order(driver: Path) -> None:
    computed = [size for size in SIZES if size[0] and size[2]]
    products = 2 * len(DTYPES) * len(computed) * len(ORDERS) ** 2
    by_library, by_kernel = run(driver, "every_size_and_order")
    assert by_library + by_kernel == products
    assert min(by_library, by_kernel) > 100


def test_everything_is_freed(driver: Path) -> None:
    """But for the handle of the thread that goes on."""
    assert run(driver, "everything_is_freed") == [1, 1, 0, 0, 0]


def test_every_layout(driver: Path) -> None:
    plain, copied = run(driver, "every_layout")
    assert plain > 20
    assert copied > 20


def test_every_epilog_in_two_steps(driver: Path) -> None:
    in_steps, refused = run(driver, "every_epilog_in_two_steps")
    assert in_steps > 100
    assert refused > 10


def test_every_layout_with_padded_lines(driver: Path) -> None:
    padded, _ = run(driver, "every_layout_with_padded_lines")
    assert padded > 100


def test_every_layout_by_cublas(driver: Path) -> None:
    plain, copied = run(driver, "every_layout_by_cublas")
    assert plain > 10
    assert copied > 10


def test_algorithms_for_memory_of_the_users(tmp_path: Path) -> None:
    source = ordering_driver.SOURCE.with_name("tuning_driver.c")
    driver = ordering_driver.build(tmp_path, source)
    first, *others = run(driver, "algorithms_for_out")
    assert first == [1, 0, 0]
    assert sorted(others) == [[0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 0]]


def test_refusals(driver: Path) -> None:
    (text,) = run(driver, "refusals")
    assert "NOT_SUPPORTED" in text


def test_workspaces(driver: Path) -> None:
    assert run(driver, "workspaces") == [1000, [[1000], 0], [[1000], 0], "refused"]


def test_emulation(driver: Path) -> None:
    *counts, refusal = run(driver, "emulation")
    assert counts == [["mantissa_bit_count", bits] for bits in (-1, -1, 55, -1)]
    assert "mantissa_bit_count is for products on a GPU" in refusal


def test_operands_on_the_device(driver: Path) -> None:
    assert run(driver, "operands_on_the_device") == [16, 16, 16, 8, True, True]


def test_block_scales(driver: Path) -> None:
    """MXFP8 and NVFP4, which need a GPU that the tests do not have."""
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    assert run(driver, "products", "block_scaling") == [8, 4]


def test_refused_block_scales(driver: Path) -> None:
    pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    words = [
        "MXFP8 products need a GPU of compute capability 10.0 or newer, but CUDA device 0 has 9.",
        "a has rows: 127, but an MXFP8 product needs a positive multiple of 128",
        "the scale of a is of type uint8, shape [511]",
        "the scale of b is of type float32",
        "quantization_scales.a is 1.0, but block_scaling=True takes a vector",
        "the scale of the result is given",
        "batches of the same shape for a and b",
        "result_amax and aux_amax",
        "but a is of float32",
        "two neighbours along axis -2 have to share a byte",
        "give block_scaling=True and the scales",
    ]
    texts = run(driver, "refusals", "block_scaling")
    assert len(texts) == len(words)
    for text, word in zip(texts, words, strict=True):
        assert word in text
