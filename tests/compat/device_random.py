"""Random numbers inside Numba kernels, where there is a GPU."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from common import Environment, Results, main

THREADS, BLOCKS = 64, 8
COUNT = THREADS * BLOCKS


def run(env: Environment) -> Results:
    from numba import cuda

    if not cuda.is_available():
        return
    random = importlib.import_module(f"{env.package}.device.random")
    compiled = random.Compile(cc=None)
    options = {"link": compiled.files, "extensions": compiled.extension}
    seed = int(env.rng.integers(1 << 62))
    for name in ("XORWOW", "MRG32k3a", "Philox4_32_10"):
        states = getattr(random, f"States{name}")
        yield from pseudo(name, random, cuda, options, states, seed)
    yield from philox(random, cuda, options, seed)
    yield from sobol(random, cuda, options)


def pseudo(
    name: str, random: Any, cuda: Any, options: dict[str, Any], kind: Any, seed: int
) -> Results:
    @cuda.jit(**options)
    def setup(states: Any) -> None:
        i = cuda.grid(1)
        random.init(seed, i, 5, states[i])

    @cuda.jit(**options)
    def draw(states: Any, bits: Any, numbers: Any) -> None:
        i = cuda.grid(1)
        bits[0, i] = random.rand(states[i])
        random.skipahead(1000, states[i])
        bits[1, i] = random.rand(states[i])
        random.skipahead_sequence(3, states[i])
        bits[2, i] = random.rand(states[i])
        numbers[0, i] = random.uniform(states[i])
        numbers[1, i] = random.uniform_double(states[i])
        numbers[2, i] = random.normal(states[i])
        numbers[3, i] = random.normal(states[i])
        numbers[4, i] = random.normal_double(states[i])
        numbers[5, i] = random.normal_double(states[i])
        numbers[6, i] = random.log_normal(states[i], 0.5, 0.25)
        numbers[7, i] = random.log_normal_double(states[i], 0.5, 0.25)
        two = random.normal2(states[i])
        numbers[8, i], numbers[9, i] = two.x, two.y
        pair = random.normal2_double(states[i])
        numbers[10, i], numbers[11, i] = pair.x, pair.y
        pair = random.log_normal2_double(states[i], 0.5, 0.25)
        numbers[12, i], numbers[13, i] = pair.x, pair.y

    @cuda.jit(**options)
    def draw_poisson(states: Any, numbers: Any) -> None:
        i = cuda.grid(1)
        for k in range(numbers.shape[0]):
            numbers[k, i] = random.poisson(states[i], 20.0)

    states = kind(COUNT)
    setup[BLOCKS, THREADS](states)
    bits = cuda.device_array((3, COUNT), np.uint32)
    numbers = cuda.device_array((14, COUNT), np.float64)
    draw[BLOCKS, THREADS](states, bits, numbers)
    yield f"{name} bits", bits.copy_to_host(), None
    # Single precision: both compute sines with different functions.
    yield f"{name} numbers", numbers.copy_to_host().astype(np.float32), None
    poisson = cuda.device_array((200, COUNT), np.uint32)
    draw_poisson[BLOCKS, THREADS](states, poisson)
    drawn = poisson.copy_to_host()
    error = 6 * np.sqrt(20 / drawn.size)
    yield f"{name} poisson", abs(drawn.mean() - 20) < error, None


def philox(random: Any, cuda: Any, options: dict[str, Any], seed: int) -> Results:
    @cuda.jit(**options)
    def draw(states: Any, bits: Any, numbers: Any) -> None:
        i = cuda.grid(1)
        random.init(seed, i, i % 7, states[i])
        four = random.rand4(states[i])
        bits[0, i], bits[1, i], bits[2, i], bits[3, i] = four.x, four.y, four.z, four.w
        numbers_ = random.uniform4(states[i])
        numbers[0, i], numbers[1, i] = numbers_.x, numbers_.w
        numbers_ = random.normal4(states[i])
        numbers[2, i], numbers[3, i] = numbers_.y, numbers_.z
        numbers_ = random.log_normal4(states[i], 0.5, 0.25)
        numbers[4, i], numbers[5, i] = numbers_.x, numbers_.w
        two = random.uniform2_double(states[i])
        numbers[6, i], numbers[7, i] = two.x, two.y

    bits = cuda.device_array((4, COUNT), np.uint32)
    numbers = cuda.device_array((8, COUNT), np.float64)
    draw[BLOCKS, THREADS](random.StatesPhilox4_32_10(COUNT), bits, numbers)
    yield "philox four bits", bits.copy_to_host(), None
    yield "philox four numbers", numbers.copy_to_host().astype(np.float32), None


def sobol(random: Any, cuda: Any, options: dict[str, Any]) -> Results:
    try:
        import cffi  # the pointer to the vectors is made with it
    except ModuleNotFoundError:
        return
    ffi = cffi.FFI()
    helpers = random.random_helpers
    chosen = helpers.DirectionVectorSet.SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6
    vectors = helpers.get_direction_vectors64(chosen, COUNT)
    constants = helpers.get_scramble_constants64(COUNT)

    @cuda.jit(**options)
    def draw(vectors: Any, constants: Any, states: Any, numbers: Any) -> None:
        i = cuda.grid(1)
        pointer = ffi.from_buffer(vectors[i:])
        random.init(pointer, constants[i], 1234, states[i])
        numbers[0, i] = random.uniform(states[i])
        numbers[1, i] = random.normal_double(states[i])

    numbers = cuda.device_array((2, COUNT), np.float64)
    draw[BLOCKS, THREADS](
        cuda.to_device(vectors),
        cuda.to_device(constants),
        random.StatesScrambledSobol64(COUNT),
        numbers,
    )
    yield "scrambled sobol", numbers.copy_to_host().astype(np.float32), None


if __name__ == "__main__":
    main(run)
