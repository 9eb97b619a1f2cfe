"""Measures the host time of single calls: gpumath.bindings, C and other bindings, in one process.

The subjects of a call take turns, and the medians over the rounds are printed. A package that is
not installed is left out, with a message.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from gpumath.bench import _report
from gpumath.bindings import core, cublas, cufft, driver, nvrtc

# Calls per round; for GPU work so few that the queue of the GPU does not fill up.
GPU_CALLS, HOST_CALLS = 200, 20_000
SIZE = 64
FFT_BATCH, FFT_LENGTH = 16, 1024
# One letter per argument: pointer, float, int.
KERNELS = {5: "pppfi", 16: "ppppppppffffiiii"}
C_TYPES = {"p": "float *", "f": "float", "i": "int"}
CTYPES = {"p": ctypes.c_void_p, "f": ctypes.c_float, "i": ctypes.c_int}
PEERS = ("cuda-bindings", "cuda-core", "cupy-cuda13x", "nvmath-python")

Timer = Callable[[int], float]
Subjects = dict[str, Timer]


def source() -> str:
    """Return the source of the kernels. They do nothing, so that only the launch takes time."""
    kernels = ""
    for count, letters in KERNELS.items():
        parameters = ", ".join(f"{C_TYPES[letter]} a{i}" for i, letter in enumerate(letters))
        kernels += f'extern "C" __global__ void kernel{count}({parameters}) {{ }}\n'
    return kernels


def statement(text: str, **names: Any) -> Timer:
    """Return a timer of a statement. Its names are local variables, so only the call is timed."""
    setup = "; ".join(f"{name} = given_{name}" for name in names)
    values = {f"given_{name}": value for name, value in names.items()}
    return timeit.Timer(text, setup, globals=values).timeit


class Loops:
    """The compiled loops of call_cost.c; false if there is no compiler."""

    def __init__(self) -> None:
        self.library: ctypes.CDLL | None = None
        compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang", "nvcc"))), None)
        if compiler is None:
            print("C left out: there is no compiler")
            return
        pic = ["-Xcompiler", "-fPIC"] if "nvcc" in compiler else ["-fPIC"]
        code = Path(__file__).with_suffix(".c")
        with tempfile.TemporaryDirectory() as folder:
            built = Path(folder) / "loops.so"
            command = [compiler, "-O2", "-shared", *pic, "-o", str(built), str(code)]
            subprocess.run(command, check=True)
            self.library = ctypes.CDLL(str(built))

    def __bool__(self) -> bool:
        return self.library is not None

    def timer(self, name: str, library: str, symbol: str, *arguments: Any) -> Timer:
        """Return a timer of a loop around a function of a library that gpumath has loaded."""
        path = next(found.path for found in core.libraries() if found.name == library)
        function = ctypes.cast(getattr(ctypes.CDLL(path), symbol), ctypes.c_void_p)
        loop = getattr(self.library, name)
        loop.restype = ctypes.c_double
        return lambda calls: float(loop(function, *arguments, calls))


@dataclass
class Machine:
    """The device, a stream, the kernels, and device memory for the arguments of all calls."""

    architecture: int = 0
    stream: int = 0
    cubin: bytes = b""
    kernels: dict[int, int] = field(default_factory=dict)
    memory: int = 0

    @classmethod
    def first(cls) -> Machine:
        """Use the primary context of the first device, as all peers do."""
        driver.init(0)
        device = driver.device_get(0)
        driver.ctx_push_current(driver.device_primary_ctx_retain(device))
        attribute = driver.DeviceAttribute
        major = driver.device_get_attribute(attribute.COMPUTE_CAPABILITY_MAJOR, device)
        minor = driver.device_get_attribute(attribute.COMPUTE_CAPABILITY_MINOR, device)
        self = cls(10 * major + minor)
        self.stream = driver.stream_create(driver.StreamFlags.NON_BLOCKING)
        program = nvrtc.create_program(source(), "kernels.cu", 0, [], [])
        nvrtc.compile_program(program, 1, [f"-arch=sm_{self.architecture}"])
        code = bytearray(nvrtc.get_cubin_size(program))
        nvrtc.get_cubin(program, code)
        nvrtc.destroy_program(program)
        self.cubin = bytes(code)
        module = driver.module_load_data(self.cubin)
        self.kernels = {n: driver.module_get_function(module, f"kernel{n}") for n in KERNELS}
        self.memory = driver.mem_alloc(1 << 20)
        return self


def arguments_of(count: int, memory: int) -> list[Any]:
    """Return one value per argument of a kernel."""
    values = {"p": lambda i: memory + 256 * i, "f": lambda i: 0.5 + i, "i": lambda i: 100 + i}
    return [values[letter](i) for i, letter in enumerate(KERNELS[count])]


def peer(subjects: Subjects, name: str, build: Callable[[], Timer]) -> None:
    """Add a subject, or print why it is left out."""
    try:
        subjects[name] = build()
    except Exception as error:
        text = (str(error).splitlines() or [""])[0]
        print(f"{name} left out: {type(error).__name__}: {text}")


def version_subjects(loops: Loops) -> Subjects:
    """Return the subjects for `cublas.get_version`, whose time is only the crossing to C."""
    handle = cublas.create()
    subjects: Subjects = {}
    if loops:
        pointer = ctypes.c_void_p(handle)
        subjects["C"] = loops.timer("get_version", "cublas", "cublasGetVersion_v2", pointer)
    subjects["gpumath.bindings"] = statement("f(h)", f=cublas.get_version, h=handle)

    def nvmath() -> Timer:
        from nvmath.bindings import cublas as theirs

        return statement("f(h)", f=theirs.get_version, h=theirs.create())

    peer(subjects, "nvmath.bindings", nvmath)
    return subjects


def sgemm_subjects(loops: Loops, machine: Machine) -> Subjects:
    """Return the subjects for `cublas.sgemm` of small matrices."""
    n, a = SIZE, machine.memory
    b, c = a + 4 * n * n, a + 8 * n * n
    scalars = np.array([1, 0], dtype=np.float32)
    alpha, beta = scalars.ctypes.data, scalars.ctypes.data + 4
    call = "f(h, 0, 0, n, n, n, alpha, a, n, b, n, beta, c, n)"
    names = {"n": n, "alpha": alpha, "beta": beta, "a": a, "b": b, "c": c, "kept": scalars}

    def made(library: Any) -> Timer:
        handle = library.create()
        library.set_stream(handle, machine.stream)
        return statement(call, f=library.sgemm, h=handle, **names)

    subjects: Subjects = {}
    if loops:
        handle = cublas.create()
        cublas.set_stream(handle, machine.stream)
        pointers = [ctypes.c_void_p(address) for address in (alpha, a, b, c)]
        raw = ctypes.c_void_p(handle)
        timer = loops.timer("sgemm", "cublas", "cublasSgemm_v2", raw, n, *pointers)
        subjects["C"] = timer
    subjects["gpumath.bindings"] = made(cublas)

    def nvmath() -> Timer:
        from nvmath.bindings import cublas as theirs

        return made(theirs)

    peer(subjects, "nvmath.bindings", nvmath)
    return subjects


def fft_subjects(loops: Loops, machine: Machine) -> Subjects:
    """Return the subjects for `cufft.exec_c2c` of a small batch."""
    source_, target = machine.memory, machine.memory + 8 * FFT_BATCH * FFT_LENGTH

    def planned(library: Any) -> int:
        plan: int = library.create()
        library.make_plan1d(plan, FFT_LENGTH, 0x29, FFT_BATCH)
        library.set_stream(plan, machine.stream)
        return plan

    def made(library: Any) -> Timer:
        names = {"p": planned(library), "i": source_, "o": target}
        return statement("f(p, i, o, -1)", f=library.exec_c2c, **names)

    subjects: Subjects = {}
    if loops:
        memory = (ctypes.c_void_p(source_), ctypes.c_void_p(target))
        subjects["C"] = loops.timer("exec_c2c", "cufft", "cufftExecC2C", planned(cufft), *memory)
    subjects["gpumath.bindings"] = made(cufft)

    def nvmath() -> Timer:
        from nvmath.bindings import cufft as theirs

        return made(theirs)

    peer(subjects, "nvmath.bindings", nvmath)
    return subjects


def launch_subjects(loops: Loops, machine: Machine, count: int) -> Subjects:
    """Return the subjects for `driver.launch_kernel`, with packed and with converted arguments."""
    values = arguments_of(count, machine.memory)
    types = tuple(CTYPES[letter] for letter in KERNELS[count])
    cells = [type_(value) for type_, value in zip(types, values, strict=True)]
    packed = np.array([ctypes.addressof(cell) for cell in cells], dtype=np.uint64)
    address, pair = packed.ctypes.data, (tuple(values), types)
    call = "f(k, 1, 1, 1, 1, 1, 1, 0, s, a, 0)"
    kept = {"kept": (packed, cells)}
    ours = {"f": driver.launch_kernel, "k": machine.kernels[count], "s": machine.stream}
    subjects: Subjects = {}
    if loops:
        raw = [ctypes.c_void_p(n) for n in (machine.kernels[count], machine.stream, address)]
        subjects["C"] = loops.timer("launch", "driver", "cuLaunchKernel", *raw)
    subjects["gpumath.bindings, address"] = statement(call, a=address, **ours, **kept)
    subjects["gpumath.bindings, NumPy array"] = statement(call, a=packed, **ours, **kept)
    subjects["gpumath.bindings, ctypes values"] = statement(call, a=pair, **ours)

    def bindings(argument: Any) -> Callable[[], Timer]:
        def build() -> Timer:
            from cuda.bindings import driver as theirs

            handles = {
                "k": theirs.CUfunction(machine.kernels[count]),
                "s": theirs.CUstream(machine.stream),
            }
            return statement(call, f=theirs.cuLaunchKernel, a=argument, **handles, **kept)

        return build

    peer(subjects, "cuda.bindings, address", bindings(address))
    peer(subjects, "cuda.bindings, ctypes values", bindings(pair))

    def cuda_core() -> Timer:
        from cuda.core import Device, LaunchConfig, ObjectCode, launch

        device = Device(0)
        device.set_current()
        names = {
            "f": launch,
            "s": device.create_stream(),
            "c": LaunchConfig(grid=1, block=1),
            "k": ObjectCode.from_cubin(machine.cubin).get_kernel(f"kernel{count}"),
            # It passes a Python int as a pointer and a float as a double, so give ctypes values.
            "v": [
                v if type_ is ctypes.c_void_p else type_(v) for v, type_ in zip(*pair, strict=True)
            ],
        }
        return statement("f(s, c, k, *v)", **names)

    peer(subjects, "cuda.core launch", cuda_core)

    def cupy() -> Timer:
        import cupy

        scalars = {"p": np.uint64, "f": np.float32, "i": np.int32}
        kernel = cupy.RawKernel(source(), f"kernel{count}")
        typed = tuple(scalars[k](v) for k, v in zip(KERNELS[count], values, strict=True))
        # On CuPy's current stream, because entering another one is not a part of the launch.
        return statement("f((1,), (1,), v)", f=kernel, v=typed)

    peer(subjects, "CuPy RawKernel", cupy)
    return subjects


def measured(subjects: Subjects, calls: int, rounds: int) -> dict[str, list[float]]:
    """Return the microseconds per call, one figure per round."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for round_ in range(rounds + 2):
        for name, timer in list(subjects.items()):
            driver.ctx_synchronize()
            try:
                seconds = timer(calls)
            except Exception as error:
                # A peer may fail, because its API can change with its version.
                print(f"{name} left out: {type(error).__name__}: {error}")
                del subjects[name], times[name]
                continue
            if round_ >= 2:  # the first two rounds warm up
                times[name].append(1e6 * seconds / calls)
    driver.ctx_synchronize()
    return times


def installed(name: str) -> str:
    """Return the name and version of a package, for the heading."""
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} not installed"


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    try:
        count, reason = core.Device.count(), ""
    except Exception as error:
        count, reason = 0, f": {error}"
    if count == 0:
        print(f"nothing measured, since there is no CUDA device{reason}")
        return
    loops, machine = Loops(), Machine.first()
    calls: dict[str, tuple[int, Subjects]] = {
        "cublas.get_version": (HOST_CALLS, version_subjects(loops)),
        f"cublas.sgemm {SIZE}^3": (GPU_CALLS, sgemm_subjects(loops, machine)),
        f"cufft.exec_c2c {FFT_BATCH}x{FFT_LENGTH}": (GPU_CALLS, fft_subjects(loops, machine)),
    }
    for number in KERNELS:
        name = f"driver.launch_kernel, {number} arguments"
        calls[name] = GPU_CALLS, launch_subjects(loops, machine, number)

    libraries = {library.name: library.version for library in core.libraries()}
    print(f"\n{core.Device(0).name}, {libraries}, Python {sys.version.split()[0]}")
    print(", ".join(map(installed, PEERS)))
    figures: dict[str, dict[str, float]] = {}
    for call, (number, subjects) in calls.items():
        times = measured(subjects, number, arguments.rounds)
        medians = {name: statistics.median(values) for name, values in times.items()}
        figures[call] = medians
        print(f"\n{call:<38}{'median':>10}{'quarters':>18}{'x C':>8}")
        for name, median in medians.items():
            low, _, high = statistics.quantiles(times[name], n=4)
            ratio = f"{median / medians['C']:8.2f}" if "C" in medians else "       -"
            print(f"  {name:<36}{median:8.3f} us{low:9.3f}-{high:.3f}{ratio}")
    if arguments.json:
        title = "Host time of single calls of the bindings"
        rows = figures.items()
        _report.save(arguments.json, _report.figures(rows, title=title, unit="µs", gpu=True))


if __name__ == "__main__":
    main()
