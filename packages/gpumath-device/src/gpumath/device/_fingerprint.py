"""Describes as text all that Numba reads when it compiles a Python function."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["Fingerprint", "compiler_versions"]

# The compiler, and the packages on which its result depends.
_DISTRIBUTIONS = (
    *("numba-cuda", "numba", "llvmlite", "numpy", "cuda-bindings"),
    *("nvidia-nvvm", "nvidia-cuda-nvcc", "nvidia-cuda-nvcc-cu12", "gpumath-device"),
)
# Modules whose functions Numba replaces by its own, so their versions describe them fully.
_KNOWN_MODULES = ("numba", "numpy", "cuda", "math", "cmath", "operator", "builtins")


class Fingerprint:
    """Describes functions by everything on which their compilation depends."""

    class UnknownValueError(Exception):
        """A value cannot be described by text."""

    def __init__(self) -> None:
        # Number of each function by its id, because functions may call themselves or each other.
        self._seen: dict[int, int] = {}

    def of(self, value: Any) -> str:
        """Return a description of a value that compiled code uses."""
        if value is None or value is Ellipsis or isinstance(value, bool | int | float | complex):
            return f"{type(value).__name__}:{value!r}"
        if isinstance(value, str | bytes):
            return repr(value)
        if isinstance(value, tuple | list | frozenset):
            items = map(self.of, value)
            ordered = sorted(items) if isinstance(value, frozenset) else items
            return f"{type(value).__name__}({','.join(ordered)})"
        if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
            array = np.asarray(value)
            digest = hashlib.sha256(array.tobytes()).hexdigest()
            return f"array:{array.dtype.descr}:{array.shape}:{array.strides}:{digest}"
        if isinstance(value, np.dtype):
            return f"dtype:{value.descr}"
        function = getattr(value, "py_func", value)
        if isinstance(function, FunctionType):
            options = getattr(value, "targetoptions", {})
            named = sorted((name, repr(options[name])) for name in options)
            return f"{self._function(function)}{named if function is not value else ''}"
        module, name = _module_and_name(value)
        if isinstance(value, ModuleType | type | BuiltinFunctionType) or _is_known(module):
            text = _text_of(value)
            if not _is_known(module) or " at 0x" in text:
                raise self.UnknownValueError(name)
            return f"{type(value).__name__}:{module}.{name}:{text}"
        raise self.UnknownValueError(name)

    def _function(self, function: FunctionType) -> str:
        if id(function) in self._seen:
            return f"function {self._seen[id(function)]}"
        self._seen[id(function)] = len(self._seen)
        if _is_known(function.__module__ or ""):
            return f"function:{function.__module__}.{function.__qualname__}"
        try:
            cells = [cell.cell_contents for cell in function.__closure__ or ()]
        except ValueError:  # a variable without a value
            raise self.UnknownValueError(function.__qualname__) from None
        defaults = (function.__defaults__, tuple((function.__kwdefaults__ or {}).items()))
        parts = [
            _described_code(function.__code__),
            self.of(tuple(cells)),
            *map(self.of, defaults),
            *self._globals(function, _names_in(function.__code__)),
        ]
        return f"def({';'.join(parts)})"

    def _globals(self, function: FunctionType, names: list[str]) -> list[str]:
        """Return descriptions of what the names in a function's code may stand for.

        A name is a global, a builtin or an attribute. Each name is looked up in every module that
        the function can reach, because Numba takes the values of module attributes as constants.
        """
        found = []
        modules: list[ModuleType] = []
        spaces = [("", function.__globals__)]
        while spaces:
            prefix, space = spaces.pop(0)
            for name in names:
                if name not in space:
                    continue
                value = space[name]
                if isinstance(value, ModuleType) and not _is_known(value.__name__):
                    if value not in modules:
                        modules.append(value)
                        spaces.append((value.__name__, vars(value)))
                    continue
                found.append(f"{prefix}.{name}={self.of(value)}")
        return found


def _is_known(module: str) -> bool:
    return module.partition(".")[0] in _KNOWN_MODULES


def _module_and_name(value: Any) -> tuple[str, str]:
    if isinstance(value, ModuleType):
        return value.__name__, value.__name__
    source = value if hasattr(value, "__qualname__") else type(value)
    return str(getattr(source, "__module__", None) or ""), source.__qualname__


def _text_of(value: Any) -> str:
    # An instance is a type or a stub of Numba, whose text describes it.
    return "" if isinstance(value, ModuleType | type | BuiltinFunctionType) else str(value)


def _described_code(code: CodeType) -> str:
    """Return a description of what the code executes, without file names and line numbers."""
    constants = [
        _described_code(item) if isinstance(item, CodeType) else f"{type(item).__name__}:{item!r}"
        for item in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags)
    handlers = code.co_exceptiontable.hex()
    return f"{code.co_code.hex()}{handlers}{constants}{names}{counts}"


def _names_in(code: CodeType) -> list[str]:
    """Return the names of globals and attributes in the code and in functions inside it."""
    names = set(code.co_names)
    for item in code.co_consts:
        if isinstance(item, CodeType):
            names.update(_names_in(item))
    return sorted(names)


@cache
def compiler_versions() -> str:
    """Return the versions of Python and of the compilers, and the files of a toolkit's NVVM."""
    own = Path(__file__).with_name("_compile.py").read_bytes()
    versions = [f"python {sys.version_info[:3]}", hashlib.sha256(own).hexdigest()]
    for name in _DISTRIBUTIONS:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    for variable in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        versions += _nvvm_files(os.environ.get(variable))
    versions += _nvvm_files("/usr/local/cuda")
    return " ".join(versions)


def _nvvm_files(folder: str | None) -> list[str]:
    if not folder:
        return []
    found = []
    for file in sorted(Path(folder).glob("nvvm/lib64/libnvvm.so*")):
        state = file.stat()
        found.append(f"{file.resolve()} {state.st_size} {state.st_mtime_ns}")
    return found
