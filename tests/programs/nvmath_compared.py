"""What `import nvmath` offers and computes: by nvmath-python itself, or answered by gpumath."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.programs.support.entry import main

LIBRARIES = (
    *("cublas", "cublasLt", "cufft", "curand", "cusolver"),
    *("cusolverDn", "cusolverSp", "cusparse", "mathdx"),
)


def import_nvmath(package: str) -> Any:
    if package == "gpumath":
        importlib.import_module("gpumath.compat.nvmath").install()
    return importlib.import_module("nvmath")


def names(package: str, modules: list[str]) -> dict[str, Any]:
    """Describe the public names of some modules of nvmath: by module, by name."""
    import_nvmath(package)
    found = {}
    for module in modules:
        try:
            found[module] = dict(described(importlib.import_module(module)))
        except ModuleNotFoundError:
            found[module] = {}
    return found


def described(module: Any) -> Iterator[tuple[str, Any]]:
    for name in getattr(module, "__all__", dir(module)):
        value = getattr(module, name)
        if name.startswith("_") or inspect.ismodule(value):
            continue
        if isinstance(value, type) and issubclass(value, enum.Enum):
            members = value.__members__.items()
            yield name, {"members": {key: member.value for key, member in members}}
        elif isinstance(value, type) and not issubclass(value, BaseException):
            is_protocol = getattr(value, "_is_protocol", False)
            yield name, {"parameters": [] if is_protocol else parameters(value)}
            for method in dir(value):
                if not method.startswith("_") and callable(getattr(value, method)):
                    yield f"{name}.{method}", {"parameters": parameters(getattr(value, method))}
        elif callable(value) and not isinstance(value, type):
            yield name, {"parameters": parameters(value)}
        else:
            yield name, {}


def parameters(value: Callable[..., Any]) -> list[list[str]]:
    """List name, kind and default of a callable's parameters; "?" is what cannot be known."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # compiled: the signature is the docstring's first line
        found = re.match(r"\w+\((.*?)\)", (value.__doc__ or "").partition("\n")[0])
        texts = found[1].split(", ") if found and found[1] else []
        return [[text.partition("=")[0].split()[-1], "?", "?"] for text in texts]
    listed = signature.parameters.values()
    return [
        [one.name, one.kind.name, "" if one.default is one.empty else default(one.default)]
        for one in listed
        if one.name != "self"
    ]


def default(value: object) -> str:
    return repr(value.value if isinstance(value, enum.Enum) else value)


def attribute_dtypes(package: str) -> dict[str, str]:
    """Ask for the type of every attribute of the libraries; "none" is where there is an error."""
    import_nvmath(package)
    found = {}
    for library in ("cublasLt", "cusparse"):
        module = importlib.import_module(f"nvmath.bindings.{library}")
        for name in dir(module):
            if match := re.fullmatch("get_(.*)_attribute_dtype", name):
                words = [word.capitalize() for word in match[1].split("_")]
                members = getattr(module, "".join([*words, "Attribute"]))
                for member in members.__members__.values():
                    try:
                        dtype = np.dtype(getattr(module, name)(member)).str
                    except (KeyError, ValueError):
                        dtype = "none"
                    found[f"{library}.{members.__name__}.{member.name}"] = dtype
    return found


def transforms(package: str, seed: int, count: int, file: str) -> list[str]:
    """Make random calls, save their results, and return what each of them was or raised."""
    nvmath = import_nvmath(package)
    results, outcomes = {}, []
    for number, (name, operand, keywords, is_class) in enumerate(random_calls(seed, count)):
        # What works in place must not change what the other package and NumPy get.
        operand = operand.copy(order="K") if keywords["options"].get("inplace") else operand
        try:
            if is_class:
                kind = {"rfft": "R2C", "irfft": "C2R"}.get(name, "C2C")
                options = {"fft_type": kind, **keywords.pop("options")}
                direction = "inverse" if name in ("ifft", "irfft") else "forward"
                with nvmath.fft.FFT(operand, options=options, **keywords) as transform:
                    transform.plan(direction=direction)
                    result = transform.execute(direction=direction)
            else:
                result = getattr(nvmath.fft, name)(operand, **keywords)
        except Exception as error:
            bases = [ValueError, TypeError, RuntimeError]
            raised = [base.__name__ for base in bases if isinstance(error, base)]
            outcomes.append(f"raises {(raised or [type(error).__name__])[0]}")
            continue
        results[str(number)] = np.array(result, copy=True)
        strides = [
            stride // result.itemsize
            for stride, extent in zip(result.strides, result.shape, strict=True)
            if extent > 1  # another stride has no meaning
        ]
        outcomes.append(f"{result.dtype} {result.shape} {strides}")
    np.savez(f"{file}.{package}.npz", **results)
    return outcomes


def random_calls(seed: int, count: int) -> Iterator[tuple[str, np.ndarray, dict[str, Any], bool]]:
    """Draw calls: function, operand, keywords, and whether the class does it."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield *random_call(rng), bool(rng.random() < 0.3)


def random_call(rng: np.random.Generator) -> tuple[str, np.ndarray, dict[str, Any]]:
    """Draw a function, an operand of some layout, and keywords; some do not go together."""
    name = str(rng.choice(["fft", "ifft", "rfft", "irfft"]))
    ndim = int(rng.integers(1, 5))
    shape = rng.integers(1, 9, ndim)
    values = rng.standard_normal(shape * 2)
    if (name != "rfft") != (rng.random() < 0.05):
        values = values + 1j * rng.standard_normal(values.shape)
    dtype = rng.choice(["single", "double"])
    values = values.astype(f"{values.dtype.kind}{values.itemsize // (1 + (dtype == 'single'))}")
    layout = rng.choice(["C", "F", "turned", "every second", "part", "reversed"])
    index = tuple(slice(None, n) for n in shape)
    operand = np.asarray(values[index], order="C").copy()
    if layout == "F":
        operand = np.asfortranarray(operand)
    elif layout == "turned":
        order = rng.permutation(ndim)
        operand = operand.transpose(order).copy().transpose(np.argsort(order))
    elif layout == "every second":
        operand = values[tuple(slice(None, None, 2) for _ in shape)]
    elif layout == "part":
        operand = values[index]
    elif layout == "reversed":
        operand = operand[::-1]
    axes: Any = None
    if rng.random() < 0.8:
        chosen = int(rng.integers(1, min(ndim, 3) + 1))
        axes = [int(axis) for axis in rng.permutation(ndim)[:chosen]]
        if rng.random() < 0.7:
            axes = list(range(ndim - chosen, ndim))
    options: dict[str, Any] = {"result_layout": str(rng.choice(["optimized", "natural"]))}
    if name != "irfft" and rng.random() < 0.1:
        options["inplace"] = True
    if name == "irfft":
        options["last_axis_parity"] = str(rng.choice(["even", "odd"]))
        if operand.dtype.kind == "c":
            # Other values than the spectrum of real numbers have no defined result.
            axes_ = list(range(ndim)) if axes is None else axes
            lengths = list(operand.shape)
            lengths[axes_[-1]] = real_length(lengths[axes_[-1]], options)
            operand[...] = np.fft.rfftn(rng.standard_normal(lengths), axes=axes_)
    return name, operand, {"axes": axes, "options": options, "execution": "cpu"}


def real_length(length: int, options: dict[str, Any]) -> int:
    """Return how many real numbers have a spectrum of so many; one where there are none."""
    return max(1, 2 * (length - 1) + (options["last_axis_parity"] == "odd"))


if __name__ == "__main__":
    main(globals())
