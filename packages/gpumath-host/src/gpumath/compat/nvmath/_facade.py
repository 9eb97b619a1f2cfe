"""Modules under nvmath-python's names, whose attributes are gpumath's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import FrameType, ModuleType
from typing import Any

__all__ = ["VERSION", "attribute", "install", "set_observer", "uninstall"]

VERSION = "1.0.0"
"""The release of nvmath-python whose names are served."""

_HERE = "gpumath.compat.nvmath"
_ORIGINAL = "nvmath"

# The areas of nvmath-python. Those that gpumath has are modules of gpumath, of the same names.
_AREAS = (
    *("bindings", "device", "distributed", "fft"),
    *("linalg", "memory", "sparse", "tensor"),
)
# Modules that gpumath has under another name.
_MODULES = {
    "_utils": f"{_HERE}._utils",
    "bindings._internal": "gpumath.bindings",
    "bindings._internal.utils": "gpumath.bindings.errors",
    "device.common": "gpumath.device",
    "device.common_cuda": "gpumath.device",
    "device.cublasdx": "gpumath.device",
    "device.cublasdx_backend": "gpumath.device",
    "device.cublasdx_numba": "gpumath.device",
    "device.cufftdx": "gpumath.device",
    "device.cusolverdx": "gpumath.device",
    "device.random.random_helpers": "gpumath.device.random_helpers",
    "device.types": "gpumath.device",
    "linalg.generic": "gpumath.linalg",
}
# Names that gpumath has in another place, or in another shape.
_NAMES = {
    "BaseCUDAMemoryManager": "gpumath.memory:BaseCUDAMemoryManager",
    "BaseCUDAMemoryManagerAsync": f"{_HERE}._memory:BaseCUDAMemoryManagerAsync",
    "ComputeType": f"{_HERE}._enums:ComputeType",
    "CudaDataType": f"{_HERE}._enums:CudaDataType",
    "LibraryPropertyType": f"{_HERE}._enums:LibraryPropertyType",
    "MemoryPointer": "gpumath.memory:MemoryPointer",
    "bindings._internal.utils.NotSupportedError": "gpumath.bindings.errors:LibraryNotFoundError",
    "bindings.cublasLt.MatmulAlgo": f"{_HERE}._structs:MatmulAlgo",
    "bindings.cublasLt.MatmulHeuristicResult": f"{_HERE}._structs:MatmulHeuristicResult",
    "device.common_cuda.get_current_device_cc": "gpumath.device:current_device_sm",
    # Base classes, which programs name in annotations of what takes a solver of any kind.
    "device.cusolverdx._OrthogonalFactorizerProperties": "gpumath.device._orthogonal:_Factorize",
    "device.cusolverdx._SolverProperties": "gpumath.device._solver_properties:Composed",
    "memory.BaseCUDAMemoryManagerAsync": f"{_HERE}._memory:BaseCUDAMemoryManagerAsync",
}

Observer = Callable[[str, Any], Any]
_observer: Observer | None = None


def set_observer(observer: Observer | None) -> None:
    """Let ``observer`` see each name that is looked up from now on, and what is served for it.

    It gets the name, such as ``"nvmath.fft.fft"``, and the object, or None if there is none. What
    it returns is served instead.
    """
    global _observer
    _observer = observer


def attribute(namespace: dict[str, Any], path: str, name: str) -> Any:
    """Look up the attribute ``name`` of the module ``nvmath.<path>``, and keep it for next time.

    AttributeError names the feature if gpumath does not have it.
    """
    if name.startswith("__"):
        msg = f"module {namespace['__name__']!r} has no attribute {name!r}"
        raise AttributeError(msg)
    whole = f"{path}.{name}" if path else name
    try:
        value = _value_of(path, name)
    except AttributeError:
        _observe(whole, None)
        raise AttributeError(_missing(whole)) from None
    if isinstance(value, ModuleType):
        if _target_of(whole) is None:  # gpumath has it in this module, nvmath-python has not
            raise AttributeError(_missing(whole))
        # The import system keeps it as an attribute.
        return import_module(f"{namespace['__name__']}.{name}")
    value = _observe(whole, value)
    namespace[name] = value
    return value


def _value_of(path: str, name: str) -> Any:
    """Return gpumath's object, or the module below ``nvmath.<path>``, of this name."""
    whole = f"{path}.{name}" if path else name
    if place := _NAMES.get(whole):
        module, _, attribute_name = place.partition(":")
        return getattr(import_module(module), attribute_name)
    target = _target_of(path)
    if target is not None and hasattr(target, name) and not name.startswith("_"):
        value = getattr(target, name)
        if not isinstance(value, ModuleType) or value.__name__ == f"{target.__name__}.{name}":
            return value  # and not what gpumath's module has imported itself
    below = _target_of(whole)
    if below is None:
        raise AttributeError(name)
    return below


def _target_of(path: str) -> ModuleType | None:
    """Return the module of gpumath that is behind ``nvmath.<path>``; None if there is none."""
    target = _MODULES.get(path)
    if target is None:
        parts = path.split(".")
        if parts[0] not in _AREAS or any(part.startswith("_") for part in parts):
            return None
        target = f"gpumath.{path}"
        try:
            if find_spec(target) is None:
                return None
        except ModuleNotFoundError:  # a part of the path is no package
            return None
    return import_module(target)


def _public_names(path: str) -> list[str]:
    target = _target_of(path)
    names = list(_AREAS) if target is None else getattr(target, "__all__", None) or dir(target)
    prefix = f"{path}." if path else ""
    moved = [name.removeprefix(prefix) for name in _NAMES if name.startswith(prefix)]
    public = {*names, *(name for name in moved if "." not in name)}
    return sorted(
        name for name in public if not name.startswith("_") and _is_public(path, name, target)
    )


def _is_public(path: str, name: str, target: ModuleType | None) -> bool:
    """Whether a name is no module, or one that can be imported."""
    whole = f"{path}.{name}" if path else name
    is_module = target is None or isinstance(getattr(target, name, None), ModuleType)
    return whole in _NAMES or not is_module or _target_of(whole) is not None


def _missing(whole: str) -> str:
    """Say that gpumath has no ``nvmath.<whole>``, or what to install for it."""
    area, _, rest = whole.partition(".")
    has = area in _AREAS and _target_of(area) is not None
    if area == "device" and not has:
        return (
            f"nvmath.{whole} is answered by gpumath-device, which is not installed. To fix it: "
            "pip install 'gpumath-device[cu13]', or [cu12] for CUDA 12"
        )
    lack = f"gpumath.{area} has no {rest}" if has and rest else f"there is no gpumath.{area}"
    return (
        f"nvmath.{whole} is not in gpumath: {lack}. The documentation's page on migration says "
        "what of nvmath-python gpumath has"
    )


def _no_module(area: str, name: str) -> str:
    """Say that a name of ``nvmath.<area>`` is not a module, which it may be in nvmath-python."""
    place = f"{_ORIGINAL}.{area}" if area else _ORIGINAL
    same = [f"{place}.{one}" for one in _public_names(area) if one.lower() == name.lower()]
    return (
        f"{place}.{name} is not a module in gpumath: import the public names from {place}, "
        f"such as {' and '.join(same)}"
    )


def _observe(whole: str, value: Any) -> Any:
    return value if _observer is None else _observer(f"{_ORIGINAL}.{whole}", value)


class _Facade(ModuleType):
    """A module of nvmath. Its ``_path`` is its name behind ``nvmath.``, empty for nvmath itself."""

    _path: str

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return _public_names(self._path)
        return attribute(vars(self), self._path, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_public_names(self._path)})


def _import_system() -> list[str]:
    """Return the functions of the import system that called a finder, the innermost first.

    A finder is not told whether a module is imported or only looked for.
    """
    names: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__") == "importlib._bootstrap":
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names


class _Finder(MetaPathFinder, Loader):
    """Finds nvmath's modules for the import system, under their own name or under this package."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the modules are in no folder
        target: ModuleType | None = None,  # noqa: ARG002 - nothing is reloaded
    ) -> ModuleSpec | None:
        if fullname == self.prefix:
            return self._spec(fullname) if fullname == _ORIGINAL else None
        if not fullname.startswith(f"{self.prefix}."):
            return None
        whole = fullname.removeprefix(f"{self.prefix}.")
        if self.prefix == _HERE and whole.startswith("_"):
            return None  # a file of this package
        if _target_of(whole) is not None:
            return self._spec(fullname)
        area, _, name = whole.rpartition(".")
        callers = _import_system()
        if whole in _NAMES or (not name.startswith("_") and hasattr(_target_of(area), name)):
            if "_find_and_load" not in callers or "_handle_fromlist" in callers:
                return None  # an attribute, which `from nvmath import name` finds after this
            _observe(f"{whole} (as a module)", None)
            raise ModuleNotFoundError(_no_module(area, name), name=fullname)
        if "_handle_fromlist" in callers:  # `from nvmath import name`, which missed the attribute
            # An error with the name of what is imported would be dropped there for another one.
            raise ModuleNotFoundError(_missing(whole), name=fullname.rpartition(".")[0])
        _observe(whole, None)
        if "_find_and_load" in callers:
            raise ModuleNotFoundError(_missing(whole), name=fullname)
        return None  # importlib.util.find_spec only asks whether there is such a module

    def _spec(self, fullname: str) -> ModuleSpec:
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make a module that looks its names up when they are used."""
        path = spec.name.removeprefix(self.prefix).removeprefix(".")
        module = _Facade(spec.name, f"The module nvmath.{path}, answered by gpumath.")
        module._path = path
        module.__file__ = getattr(_target_of(path) or sys.modules[_HERE], "__file__", None)
        if not path:
            vars(module).update(__version__=VERSION, __doc__="nvmath, answered by gpumath.")
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module has no code."""


_ours, _originals = _Finder(_HERE), _Finder(_ORIGINAL)
sys.meta_path.insert(0, _ours)


def install() -> None:
    """Answer ``import nvmath`` by gpumath in this process, from now on.

    Raises
    ------
    RuntimeError
        nvmath-python itself is imported already.

    Examples
    --------
    >>> import gpumath.compat.nvmath
    >>> gpumath.compat.nvmath.install()
    >>> import nvmath
    >>> nvmath.fft.FFTDirection.INVERSE.value
    1
    >>> gpumath.compat.nvmath.uninstall()
    """
    if _originals in sys.meta_path:
        return
    if _ORIGINAL in sys.modules:
        msg = "nvmath is imported already; call install() before the first import of nvmath"
        raise RuntimeError(msg)
    sys.meta_path.insert(0, _originals)


def uninstall() -> None:
    """Undo `install`: the next ``import nvmath`` finds nvmath-python itself, if it is installed."""
    if _originals not in sys.meta_path:
        return
    sys.meta_path.remove(_originals)
    for name, module in list(sys.modules.items()):
        if isinstance(module, _Facade) and name.partition(".")[0] == _ORIGINAL:
            del sys.modules[name]
