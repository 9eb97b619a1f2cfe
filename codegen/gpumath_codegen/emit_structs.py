"""Writes ``_generated/<library>_structs.py``: one class for each struct of a library."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from typing import Any

from gpumath_codegen import api, names
from gpumath_codegen.model import Library

# Attributes of every struct class. A field of such a name gets an underscore.
_TAKEN = {
    "dtype", "from_buffer", "from_data", "from_ptr", "itemsize", "nbytes", "ptr", "readonly",
}  # fmt: skip
_KEYS = {"name", "doc", "text", "rename"}
_NUMBER = re.compile(r"[iu](8|16|32|64)|f32|f64")


@dataclass
class Class:
    """A struct as Python sees it."""

    name: str
    struct: api.Struct
    rule: dict[str, Any]
    # Python name, C name and kind of each field.
    fields: list[tuple[str, str, api.Field]]

    @property
    def needs(self) -> list[str]:
        """C names of the structs inside this one."""
        return [_nested(f) for _, _, f in self.fields if f.kind.startswith("struct ")]


def classes(lib: Library) -> list[Class]:
    """Return the classes of a library, each behind those of its fields."""
    found = {key: _class(lib, key, rule) for key, rule in sorted(lib.structs.items())}
    twice = [c.name for c in found.values()]
    if wrong := sorted({name for name in twice if twice.count(name) > 1}):
        raise SystemExit(f"{lib.name}: two structs are called {', '.join(wrong)}")
    ordered: dict[str, Class] = {}

    def add(key: str) -> None:
        for need in found[key].needs:
            if need not in found:
                raise SystemExit(f"{lib.name}: {key} holds a {need}, so the rules must list it")
            if need not in ordered:
                add(need)
        ordered.setdefault(key, found[key])

    for key in found:
        add(key)
    return list(ordered.values())


def module(lib: Library) -> str:
    """Return the module with the classes."""
    all_ = classes(lib)
    python_names = {c.struct.name: c.name for c in all_ if "@" not in _key(lib, c)}
    names_ = ", ".join(f'"{name}"' for name in sorted(c.name for c in all_))
    bodies = "".join(_text(lib, c, python_names) for c in all_)
    return f'''"""Structs of {lib.title}."""

from gpumath.bindings._core.pod import Field, StructArray

__all__ = [{names_}]

{bodies}'''


def _key(lib: Library, c: Class) -> str:
    return next(key for key, rule in lib.structs.items() if rule is c.rule)


def _class(lib: Library, key: str, rule: dict[str, Any]) -> Class:
    c_name, _, since = key.partition("@")
    # Sorted by release: the newest is the last.
    layouts = [s for s in lib.facts.structs if s.name == c_name]
    layouts = [s for s in layouts if s.since == since] if since else layouts
    if not layouts:
        raise SystemExit(f"{lib.name}: the rules name a struct that no header has: {key}")
    if "doc" not in rule or {*rule} - _KEYS:
        raise SystemExit(f"{lib.name}: the struct {key} needs a `doc`, and no more than {_KEYS}")
    struct = max(layouts, key=lambda s: api.release(s.since))
    fields: list[tuple[str, str, api.Field]] = []
    for field in struct.fields:
        name = rule.get("rename", {}).get(field.name) or _python_name(field.name)
        fields.append((name, field.name, field))
    all_ = [name for name, _, _ in fields]
    if wrong := sorted({name for name in all_ if all_.count(name) > 1}):
        raise SystemExit(f"{lib.name}: {key} has two fields {', '.join(wrong)}: `rename` one")
    for kind in ("text", "rename"):
        if unknown := {*rule.get(kind, [])} - {field.name for field in struct.fields}:
            raise SystemExit(f"{lib.name}: {key} lacks what `{kind}` names: {', '.join(unknown)}")
    return Class(rule.get("name") or _class_name(c_name, lib), struct, rule, fields)


def _class_name(c_name: str, lib: Library) -> str:
    """Return ``Memcpy2dV2`` for ``CUDA_MEMCPY2D_v2``, ``MemLocation`` for ``cudaMemLocation``."""
    bare = re.sub(r"^(CUDA_|cudaLib|cuda|CU|cu)", "", c_name.removesuffix("_t").removesuffix("_st"))
    library = lib.name.lower()
    if c_name.lower().startswith(library):
        bare = c_name.removesuffix("_t")[len(library) :]
    parts = [p.capitalize() if p.upper() == p or p.islower() else p for p in bare.split("_")]
    return names.camel_case("_".join(parts))


def _python_name(c_name: str) -> str:
    # The members of a union without a name are fields of the struct. The union itself is a field
    # too: that in `waitValue` is named `waitValue.`.
    name = "_".join(names.snake_case(part) or "union" for part in c_name.split("."))
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN else name


def _nested(field: api.Field) -> str:
    return field.kind.removeprefix("struct ")


def _text(lib: Library, c: Class, python_names: dict[str, str]) -> str:
    since, until = c.struct.since, c.struct.until
    versions = f"{since} to {until}" if since != until else since
    rows, attributes = "", ""
    for name, c_name, field in c.fields:
        kind = _kind(c, field, python_names)
        count = f", {field.count}" if field.count != 1 else ""
        rows += f"    {name} = Field({kind}, {field.offset}{count})\n"
        attributes += f"    {name} : {_read(kind, field.count)}\n"
        attributes += f"        ``{c_name or '(union)'}``: ``{field.type}``.\n"
    return f'''
class {c.name}(StructArray, size={c.struct.size}, alignment={c.struct.alignment}):
    """{c.rule["doc"]}

    C name: ``{c.struct.name}``, as in {lib.release_of} {versions}.

    Attributes
    ----------
{attributes}    """

    __slots__ = ()

{rows}
'''


def _kind(c: Class, field: api.Field, python_names: dict[str, str]) -> str:
    if field.name in c.rule.get("text", []):
        return '"text"'
    if field.kind.startswith("struct "):
        return python_names[_nested(field)]
    if field.kind.startswith("enum "):
        return '"i32"'
    return f'"{field.kind}"' if _NUMBER.fullmatch(field.kind) else '"u64"'


def _read(kind: str, count: int) -> str:
    if not kind.startswith('"'):
        return kind
    if kind == '"text"':
        return "str"
    if kind in ('"u8"', '"i8"') and count > 1:
        return "memoryview"
    number = "float" if kind.startswith('"f') else "int"
    return f"tuple of {count} {number}" if count > 1 else number
