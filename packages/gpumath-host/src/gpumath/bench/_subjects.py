"""The libraries that are measured: each makes, of a row and its operands, a call to be timed.

A subject raises where its library is not installed or refuses the row; it is left out there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from gpumath import fft, linalg, memory
from gpumath.bench._products import (
    gpumath_product,
    numpy_product,
    nvmath_product,
    scipy_product,
)
from gpumath.bench._rows import (
    Convolution,
    Cosine,
    Epilog,
    Fft,
    HostTime,
    Product,
    Row,
    Structured,
)
from gpumath.bindings import core

__all__ = [
    "LIBRARIES",
    "Call",
    "Subjects",
    "cpu_subjects",
    "forget_plans",
    "gpu_subjects",
    "library",
]

Call: TypeAlias = Callable[[], object]
Subjects: TypeAlias = Mapping[str, Callable[[Row], Call]]

_FUNCTIONS = {"C2C": "fftn", "R2C": "rfftn", "C2R": "irfftn"}
# Names in the tables, and the modules behind them.
LIBRARIES = {
    "NumPy": "numpy",
    "SciPy": "scipy",
    "CuPy": "cupy",
    "PyTorch": "torch",
    "nvmath-python": "nvmath",
}


@cache
def library(name: str) -> Any | None:
    """Return the module of a library by its name in the tables; None if it cannot be imported."""
    try:
        return import_module(LIBRARIES[name])
    except Exception:
        # An installation may be broken in many ways, and then does not take part.
        return None


def cpu_subjects(threads: int) -> Subjects:
    """Return the subjects for operands in host memory, all with this number of threads."""
    execution: Any = {"name": "cpu", "num_threads": threads}
    values: dict[Row, list[Any]] = {}

    def operands(row: Row) -> list[Any]:
        if row not in values:
            values.clear()  # of the row before
            values[row] = _host_operands(row)
        return _views(row, values[row])

    def of_gpumath(row: Row) -> Call:
        if isinstance(row, Convolution | Epilog) and threads != core.usable_cores():
            raise NotImplementedError("convolutions and epilogs run on all cores")
        if isinstance(row, Epilog) and core.Device.count():
            raise NotImplementedError("where there is a GPU, epilogs are computed on it")
        if isinstance(row, Cosine):
            return _cosine(row, operands(row), fft, workers=threads)
        if isinstance(row, HostTime):
            return _host_time(row, operands(row), fft, linalg)
        return _gpumath(row, operands(row), execution, "optimized")

    def of_numpy(row: Row) -> Call:
        return _plain(row, operands(row), np.fft, np)

    def of_scipy(row: Row) -> Call:
        if isinstance(row, Product):
            return scipy_product(row, operands(row))
        if isinstance(row, HostTime) and row.function == "matmul":
            raise NotImplementedError("SciPy leaves products to NumPy")
        if isinstance(row, Cosine):
            return _cosine(row, operands(row), import_module("scipy.fft"), workers=threads)
        if isinstance(row, Convolution):
            return _scipy_convolution(operands(row), threads)
        return _plain(row, operands(row), import_module("scipy.fft"), np, workers=threads)

    def of_torch(row: Row) -> Call:
        import torch

        torch.set_num_threads(threads)
        return _torch(row, [torch.from_numpy(value) for value in operands(row)])

    all_ = {"gpumath": of_gpumath, "NumPy": of_numpy, "SciPy": of_scipy, "PyTorch": of_torch}
    return {name: make for name, make in all_.items() if _takes_part(name)}


def gpu_subjects() -> Subjects:
    """Return the subjects for operands on the GPU, which all work on the same memory."""
    values: dict[Row, list[memory.Array]] = {}

    def operands(row: Row, module: Any | None) -> list[Any]:
        if row not in values:
            values.clear()
            values[row] = [
                _on_device(shape, row.dtype, host)
                for shape, host in zip(row.operands, _host_operands(row), strict=True)
            ]
        arrays: list[Any] = list(values[row])
        if module is not None:
            arrays = [module.from_dlpack(array) for array in arrays]
        if module is None and isinstance(row, Fft) and row.view:
            raise NotImplementedError("gpumath's own arrays have no slices")
        return _views(row, arrays)

    # gpumath returns arrays of the operand's library, so that library allocates them.
    cupy, torch = library("CuPy"), library("PyTorch")
    own = torch or cupy

    def of_gpumath(layout: str) -> Callable[[Row], Call]:
        return lambda row: _gpumath(row, operands(row, own), "cuda", layout)

    def natural(row: Row) -> Call:
        if not isinstance(row, Fft):
            raise NotImplementedError("only Fourier transforms have several layouts")
        return of_gpumath("natural")(row)

    def of_cupy(row: Row) -> Call:
        assert cupy is not None
        if isinstance(row, Cosine):
            return _cosine(row, operands(row, cupy), import_module("cupyx.scipy.fft"))
        if isinstance(row, Convolution):
            # It chooses among its ways for lines only.
            name = "convolve" if len(row.first) == 1 else "fftconvolve"
            convolve = getattr(import_module("cupyx.scipy.signal"), name)
            arrays = operands(row, cupy)
            return lambda: convolve(*arrays)
        return _plain(row, operands(row, cupy), cupy.fft, cupy)

    all_ = {
        "gpumath": of_gpumath("optimized"),
        "gpumath, natural": natural,
        "nvmath-python": lambda row: _nvmath(row, operands(row, own)),
        "CuPy": of_cupy,
        "PyTorch": lambda row: _torch(row, operands(row, torch)),
    }
    return {name: make for name, make in all_.items() if _takes_part(name)}


def forget_plans(execution: str) -> None:
    """Free what the libraries keep of a row: cached plans, and memory in their pools."""
    core.plan_cache_clear()
    if execution == "cpu":
        return
    if cupy := library("CuPy"):
        cupy.fft.config.get_plan_cache().clear()
        cupy.get_default_memory_pool().free_all_blocks()
    if torch := library("PyTorch"):
        torch.backends.cuda.cufft_plan_cache.clear()
        torch.cuda.empty_cache()


def _views(row: Row, operands: list[Any]) -> list[Any]:
    """Return what the row takes of these operands."""
    if isinstance(row, Fft) and row.view:
        return [operand[..., ::2] for operand in operands]
    return operands


def _takes_part(subject: str) -> bool:
    return subject not in LIBRARIES or library(subject) is not None


def _gpumath(row: Row, operands: Sequence[Any], execution: Any, layout: str) -> Call:
    if isinstance(row, Product):
        return gpumath_product(row, operands, execution)
    if isinstance(row, HostTime):
        return _host_time(row, operands, fft, linalg.advanced)
    if isinstance(row, Cosine):
        return _cosine(row, operands, fft)
    if isinstance(row, Convolution):
        return lambda: fft.convolve(*operands)
    options: Any = {"fft_type": row.kind, "result_layout": layout}
    transform = fft.FFT(operands[0], axes=list(row.axes), options=options, execution=execution)
    transform.plan()
    direction: Any = "inverse" if row.kind == "C2R" else "forward"
    return lambda: transform.execute(direction=direction)


def _nvmath(row: Row, operands: Sequence[Any]) -> Call:
    import nvmath

    if isinstance(row, Product):
        return nvmath_product(row, operands, nvmath.linalg)
    if isinstance(row, HostTime):
        return _host_time(row, operands, nvmath.fft, nvmath.linalg.advanced)
    if not isinstance(row, Fft):
        raise NotImplementedError("nvmath-python has neither cosine transforms nor convolutions")
    transform = nvmath.fft.FFT(operands[0], axes=row.axes, options={"fft_type": row.kind})
    transform.plan()
    if row.kind != "C2R":
        return lambda: transform.execute(direction="forward")

    def call() -> object:
        transform.reset_operand(operands[0])  # which has to be given again each time
        return transform.execute(direction="inverse")

    return call


def _host_time(row: HostTime, operands: Sequence[Any], transforms: Any, products: Any) -> Call:
    """Return a call of a function that all libraries have, without options."""
    function = transforms.fft if row.function == "fft" else products.matmul
    return lambda: function(*operands)


def _plain(
    row: Row, operands: Sequence[Any], transforms: Any, module: Any, **settings: Any
) -> Call:
    """Return a call of NumPy's interface, which several libraries have."""
    if isinstance(row, Product):
        return numpy_product(row, operands, module)
    if isinstance(row, HostTime):
        return _host_time(row, operands, transforms, module)
    if not isinstance(row, Fft):
        raise NotImplementedError("NumPy's interface has no such function")
    function = getattr(transforms, _FUNCTIONS[row.kind])
    return lambda: function(operands[0], axes=row.axes, norm=_unscaled(row), **settings)


def _cosine(row: Cosine, operands: Sequence[Any], module: Any, **settings: Any) -> Call:
    """Return a call of SciPy's interface, which several libraries have."""
    function = getattr(module, row.function)
    return lambda: function(operands[0], row.kind, axis=row.axis, **settings)


def _scipy_convolution(operands: Sequence[Any], threads: int) -> Call:
    import scipy.fft
    import scipy.signal

    def call() -> object:
        with scipy.fft.set_workers(threads):
            return scipy.signal.convolve(*operands)

    return call


def _torch(row: Row, operands: Sequence[Any]) -> Call:
    import torch

    if isinstance(row, Product):
        return numpy_product(row, operands, torch)
    if isinstance(row, HostTime):
        return _host_time(row, operands, torch.fft, torch)
    if not isinstance(row, Fft):
        raise NotImplementedError("PyTorch has neither cosine transforms nor these convolutions")
    function = getattr(torch.fft, _FUNCTIONS[row.kind])
    return lambda: function(operands[0], dim=row.axes, norm=_unscaled(row))


def _unscaled(row: Fft) -> str:
    """Return the norm by which this direction is not scaled."""
    return "forward" if row.kind == "C2R" else "backward"


def _host_operands(row: Row) -> list[Any]:
    """Return the operands of a row, with the structure that they have."""
    values = [_host_values(shape, row.dtype) for shape in row.operands]
    if isinstance(row, Structured) and row.structure != "diagonal":
        lower = np.tril(values[0])
        if row.structure == "symmetric":
            lower += np.tril(lower, -1).T
        values[0] = lower
    if isinstance(row, Epilog):
        values[0] -= 0.5  # so that the activation sees both signs
    return values


def _host_values(shape: tuple[int, ...], dtype: str) -> Any:
    """Return random numbers, of which long arrays repeat a part: that does not change the time."""
    real = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}.get(dtype)
    count = int(np.prod(shape)) * (2 if real else 1)
    part = np.random.default_rng().random(min(count, 1 << 20))
    values = np.resize(part.astype(real or dtype), count)
    if dtype == "complex32":  # which NumPy has not
        return values.reshape(*shape, 2)
    return values.view(dtype).reshape(shape)


def _on_device(shape: tuple[int, ...], dtype: str, values: Any) -> memory.Array:
    array = memory.empty(shape, dtype)
    core.copy(array.ptr, values.ctypes.data, array.nbytes)
    core.Device(array.device_id or 0).synchronize()
    return array
