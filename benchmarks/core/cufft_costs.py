"""Measures what cuFFT and gpumath's copies cost on each layout, for the planner of transforms.

A cost is the time of a call divided by the time that a plain copy in device memory needs for as
many bytes. Transforms follow each other or are interleaved, as they are where the batch is the last
axis, in the input, in the output, or in both. `--write` writes the planner's table of this GPU, one
of `crates/gpumath-core/src/fft/measured_costs`, whose `mod.rs` lists them; otherwise the table is
printed. `--json` writes the costs of transforms as figures.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import statistics
import struct
from collections.abc import Callable, Iterator
from functools import partial
from math import inf, log2, prod
from pathlib import Path
from typing import Any

import numpy as np

from gpumath.bench import _report
from gpumath.bindings import core, cufft, driver

KERNELS = Path(__file__).parents[2] / "crates/gpumath-core/src/kernels/generated/copy_words.ptx"
BYTES = 1 << 28  # of each array: far more than fits into any cache
# cudaDataTypes of the real and the complex numbers, by the bytes of a real number.
TYPES = {2: (2, 6), 4: (0, 4), 8: (1, 5)}
# Binary logarithms of the number of points, by the number of axes.
POINTS = {
    1: (2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24),
    2: (8, 10, 12, 14, 16, 18, 20, 22, 24),
    3: (9, 12, 15, 18, 21, 24),
}
# Numbers of points that cuFFT has other ways for: with a large prime factor, odd for real numbers.
ROUGH = {
    "C2C": (127, 1009, 4099, 16411, 131101),
    "R2C": (255, 1001, 4095, 16383, 98415),
    "C2R": (255, 1001, 4095, 16383, 98415),
}
# What is interleaved: neither the input nor the output, one of them, or both.
SIDES = {"neither": (0, 0), "input": (1, 0), "output": (0, 1), "both": (1, 1)}
FEWEST_ELEMENTS = 22  # a binary logarithm; fewer are done before they are measured well
SMALL_BATCHES = (1, 4, 8)  # binary logarithms, beside the largest that fits

ROWS = (8192, 4096)  # the array that is copied
# Of the kernel for copies: 15 numbers, and five for each of 48 dimensions.
ARGUMENT_BYTES = 8 * (15 + 5 * 48)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="file to write the table to")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    driver.init(0)
    driver.ctx_set_current(driver.device_primary_ctx_retain(0))
    blocks = [core.allocate(2 * BYTES) for _ in range(2)]
    source, target = (block.device_ptr for block in blocks)
    copied = time_of(lambda: core.copy(target, source, BYTES), arguments.rounds)
    per_byte = copied / (2 * BYTES)
    lines = [
        *header(),
        f"    bytes_per_cycle: {bytes_per_cycle():.2f},",
        "    copies: &[",
        *copies(source, target, per_byte),
        "    ],",
        "    passes: &[",
    ]
    rows = []
    for kind in ROUGH:
        for size in TYPES:
            for extents, batch in problems(kind, size):
                costs = [
                    cost(kind, size, extents, batch, sides, (source, target), per_byte)
                    for sides in SIDES.values()
                ]
                name = f"{kind} {8 * size} bits, {batch} x {' x '.join(map(str, extents))}"
                known = [None if value == inf else value for value in costs]
                rows.append((name, dict(zip(SIDES, known, strict=True))))
                numbers = ", ".join(f"{min(value, 99):.2f}" for value in costs)
                points, log_batch = round(log2(prod(extents))), round(log2(batch))
                is_smooth = str(extents[-1] not in ROUGH[kind]).lower()
                lines.append(
                    f"        PassCosts::new(({kind}, {size}), {len(extents)}, {is_smooth}, "
                    f"({points}, {log_batch}), [{numbers}]),"
                )
    if arguments.json:
        title, unit = "Transforms by what is interleaved, in units of a copy", "copies"
        figures = _report.figures(rows, title=title, unit=unit, gpu=True)
        _report.save(arguments.json, figures)
    text = "\n".join([*lines, "    ],", "};", ""])
    if arguments.write:
        arguments.write.write_text(text)
    else:
        print(text)


def header() -> list[str]:
    today = datetime.date.today().isoformat()
    device = core.Device(0).name
    return [
        f"//! Measured by `benchmarks/core/cufft_costs.py` on {today}: {device}, cuFFT "
        f"{cufft.get_version()}.",
        "",
        "use super::super::costs::{CostTable, PassCosts};",
        "use super::super::problem::TransformKind::{C2C, C2R, R2C};",
        "",
        "#[rustfmt::skip]",
        '#[allow(clippy::approx_constant, reason = "a measured number may be near to a constant")]',
        "pub(super) const TABLE: CostTable = CostTable {",
    ]


def bytes_per_cycle() -> float:
    """Return the bytes that the memory moves, at best, in a cycle of one multiprocessor."""
    memory_clock, bus_width, clock, multiprocessors = (
        driver.device_get_attribute(attribute, driver.device_get(0))
        for attribute in (
            driver.DeviceAttribute.MEMORY_CLOCK_RATE,
            driver.DeviceAttribute.GLOBAL_MEMORY_BUS_WIDTH,
            driver.DeviceAttribute.CLOCK_RATE,
            driver.DeviceAttribute.MULTIPROCESSOR_COUNT,
        )
    )
    return float(memory_clock * bus_width / 4 / (clock * multiprocessors))


def problems(kind: str, size: int) -> Iterator[tuple[list[int], int]]:
    """Yield the extents and the batch of each problem, for real numbers of ``size`` bytes."""
    elements = (BYTES // (2 * size)).bit_length() - 1
    for rank, all_points in POINTS.items():
        for points in all_points:
            largest = elements - points
            small = [b for b in SMALL_BATCHES if b < largest and b + points >= FEWEST_ELEMENTS]
            for batch in (*small, *([largest] if largest > 0 else [])):
                bits = [(points + axis) // rank for axis in range(rank)]
                yield [1 << bit for bit in bits], 1 << batch
    for length in ROUGH[kind] if size > 2 else ():
        yield [length], (1 << elements) // length


def cost(
    kind: str,
    size: int,
    extents: list[int],
    batch: int,
    interleaved: tuple[int, int],
    addresses: tuple[int, int],
    per_byte: float,
) -> float:
    """Return the cost of one plan of cuFFT; ``interleaved`` says which sides are."""
    halved = [*extents[:-1], extents[-1] // 2 + 1]
    shapes = (
        halved if kind == "C2R" else extents,
        halved if kind == "R2C" else extents,
    )
    layouts = [
        (shape, batch, 1) if strided else (shape, 1, prod(shape))
        for shape, strided in zip(shapes, interleaved, strict=True)
    ]
    sizes = (size if kind == "R2C" else 2 * size, size if kind == "C2R" else 2 * size)
    moved = batch * sum(prod(shape) * one for shape, one in zip(shapes, sizes, strict=True))
    real, complex_ = TYPES[size]
    types = (real if kind == "R2C" else complex_, real if kind == "C2R" else complex_)
    is_real_interleaved = interleaved[0 if kind == "R2C" else 1] == 1
    if size == 2 and kind != "C2C" and is_real_interleaved:
        return inf  # cuFFT transforms real numbers in half precision only if they are neighbours
    direction = 1 if kind == "C2R" else -1
    handle = cufft.create()
    try:
        cufft.xt_make_plan_many(
            *(handle, len(extents), extents),
            *(*layouts[0], types[0], *layouts[1], types[1], batch, complex_),
        )
        call = partial(cufft.xt_exec, handle, *addresses, direction)
        return time_of(call, 3) / (per_byte * moved)
    finally:
        cufft.destroy(handle)


def copies(source: int, target: int, per_byte: float) -> list[str]:
    """Measure the kernel for copies: of rows, and of rows to columns."""
    code = ctypes.create_string_buffer(KERNELS.read_bytes())
    module = driver.module_load_data(ctypes.addressof(code))
    rows, columns = ROWS
    words = np.random.default_rng().integers(1 << 62, size=2 * rows * columns)
    core.copy(source, words.ctypes.data, words.nbytes)
    found = []
    for size in (2, 4, 8, 16):
        kernel = driver.module_get_function(module, f"copy_{size}")
        costs = []
        for is_turned in (0, 1):
            # Dimensions, the fastest of the source first: extent, elements there, steps in the
            # source and in the target, tiles.
            bits = (5, 6, 0) if is_turned else (8, 3, 0)
            to_steps = (rows, 1, 0) if is_turned else (1, columns, 0)
            dims = [
                (extent, extent, from_step, to_step, -(-extent >> bit))
                for extent, from_step, to_step, bit in zip(
                    (columns, rows, 1), (1, columns, 0), to_steps, bits, strict=True
                )
            ]
            tiles = prod(tiles for *_, tiles in dims)
            threads = (bits[0], 8 - bits[0], 8 - bits[1], bits[1])
            written = (0, 8 - bits[1]) if is_turned else (1, 8 - bits[0])
            given = (
                *(tiles, 3, is_turned, 8, *bits, *threads, 1, 8 - bits[0], *written),
                *(number for dim in dims for number in dim),
            )
            packed = struct.pack(f"<{len(given)}q", *given).ljust(ARGUMENT_BYTES, b"\0")
            call = launcher(kernel, min(tiles, 1 << 16), (target, source, packed))
            costs.append(time_of(call, 5) / (per_byte * 2 * size * rows * columns))
            check_copy(words, target, size, is_turned)
        found.append(f"        ({size}, [{costs[0]:.2f}, {costs[1]:.2f}]),")
    return found


def check_copy(words: Any, target: int, size: int, is_turned: int) -> None:
    """Raise unless the kernel copied the rows: it takes the arguments that are packed here."""
    rows, columns = ROWS
    expected = words.view(f"V{size}")[: rows * columns].reshape(rows, columns)
    copied = np.empty_like(expected.T if is_turned else expected, order="C")
    core.copy(copied.ctypes.data, target, copied.nbytes)
    if (copied.T if is_turned else copied).tobytes() != expected.tobytes():
        raise RuntimeError("the kernel for copies takes other arguments: see kernels/copy.cu")


def launcher(kernel: int, blocks: int, arguments: tuple[int, int, bytes]) -> Callable[[], object]:
    to, source, packed = arguments
    values = [ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.create_string_buffer(packed)]
    pointers = (ctypes.c_void_p * 3)(*[ctypes.addressof(value) for value in values])

    def call(_keep: object = values) -> None:
        driver.launch_kernel(kernel, blocks, 1, 1, 256, 1, 1, 0, 0, ctypes.addressof(pointers), 0)

    return call


def time_of(call: Callable[[], object], rounds: int) -> float:
    """Return the milliseconds of GPU time of one call, as a median over the rounds."""
    call()
    times = []
    for _ in range(rounds):
        start, end = core.Event(timing=True), core.Event(timing=True)
        call()  # The GPU is busy with this call while the next one is submitted.
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_ms(end))
    return statistics.median(times)


if __name__ == "__main__":
    main()
