"""Write the public names and signatures of the installed packages as text.

`python -m tools.api_surface` rewrites api-surface/*.txt; a test compares them, so a change of the
public API is always visible in a diff. A generated class is one line: its members are in the diff
of the generated file.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
SNAPSHOTS = ROOT / "api-surface"
GENERATED = "gpumath.bindings._generated."
TOP_MODULES = {
    "bindings": ("gpumath.bindings",),
    "host": (
        *("gpumath.compat.nvmath", "gpumath.fft", "gpumath.linalg"),
        *("gpumath.linalg.advanced", "gpumath.memory"),
    ),
    "device": ("gpumath.device",),
}


def surface(package: str) -> str:
    """Return the surface of one distribution ("bindings", "host" or "device")."""
    lines: list[str] = []
    for top in TOP_MODULES[package]:
        for module in public_modules(top):
            lines += ["", f"module {module.__name__}", *module_lines(module)]
    return "\n".join(lines[1:]) + "\n"


def public_modules(top: str) -> list[ModuleType]:
    """Import a module and everything below it whose name has no underscore."""
    try:
        module = importlib.import_module(top)
    except ModuleNotFoundError as error:
        if error.name != top:
            raise
        return []
    if type(module) is not ModuleType:
        return []  # another name of a module that is described under its own
    modules = [module]
    for info in pkgutil.iter_modules(getattr(module, "__path__", [])):
        if not info.name.startswith("_"):
            modules += public_modules(f"{top}.{info.name}")
    return modules


def module_lines(module: ModuleType) -> list[str]:
    """Describe the public names of a module."""
    lines: list[str] = []
    for name in sorted(public_names(module)):
        value = getattr(module, name)
        if inspect.isclass(value):
            lines += class_lines(name, value)
        elif callable(value):
            lines.append(f"  {name}{signature(value)}")
        elif isinstance(value, ModuleType):
            lines.append(f"  {name}: module")
        else:
            lines.append(f"  {name}: {type(value).__name__}")
    return lines


def public_names(module: ModuleType) -> list[str]:
    """Return the names in `__all__`; without it, the functions and classes that gpumath defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name in dir(module)
        if not name.startswith("_")
        and str(getattr(getattr(module, name), "__module__", "")).startswith("gpumath")
    ]


def class_lines(name: str, value: type) -> list[str]:
    """Describe a class: its bases, its constructor and its public members."""
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    head = f"  class {name}({bases})" if bases else f"  class {name}"
    if value.__module__.startswith(GENERATED):
        return [head]
    if issubclass(value, enum.Enum):
        members = value.__members__.items()
        return [head, *(f"    {key} = {member.value!r}" for key, member in members)]
    lines = [head]
    if not issubclass(value, BaseException) and not getattr(value, "_is_protocol", False):
        lines.append(f"    {name}{signature(value)}")
    for key in sorted(vars(value)):
        if not key.startswith("_"):
            lines.append(f"    {member_line(key, vars(value)[key])}")
    return lines


def member_line(name: str, member: object) -> str:
    """Describe a method, property or class attribute."""
    if isinstance(member, staticmethod | classmethod):
        return f"@{type(member).__name__} {name}{signature(member.__func__)}"
    if callable(member):
        return f"{name}{signature(member)}"
    if isinstance(member, property) or inspect.isdatadescriptor(member):
        return f"{name}: property"
    return f"{name}: {type(member).__name__}"


def signature(value: object) -> str:
    """Return the signature as text; "(...)" where the object does not tell it."""
    assert callable(value)
    try:
        return str(inspect.signature(value))
    except ValueError:
        return "(...)"


def main() -> int:
    """Rewrite the snapshots."""
    SNAPSHOTS.mkdir(exist_ok=True)
    for package in TOP_MODULES:
        path = SNAPSHOTS / f"{package}.txt"
        path.write_text(surface(package))
        print(f"{path.relative_to(ROOT)}: {len(path.read_text().splitlines())} lines")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
