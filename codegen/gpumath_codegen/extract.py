"""Headers to facts: parse every pinned release of a library's headers."""

from __future__ import annotations

import re
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, TranslationUnit, Type, TypeKind

from gpumath_codegen import api, wheels

_SCALARS = {
    TypeKind.BOOL: "u8",
    TypeKind.CHAR_S: "i8",
    TypeKind.SCHAR: "i8",
    TypeKind.UCHAR: "u8",
    TypeKind.SHORT: "i16",
    TypeKind.USHORT: "u16",
    TypeKind.INT: "i32",
    TypeKind.UINT: "u32",
    TypeKind.LONG: "i64",
    TypeKind.ULONG: "u64",
    TypeKind.LONGLONG: "i64",
    TypeKind.ULONGLONG: "u64",
    TypeKind.FLOAT: "f32",
    TypeKind.DOUBLE: "f64",
    TypeKind.VOID: "void",
}
_ARRAYS = (TypeKind.INCOMPLETEARRAY, TypeKind.CONSTANTARRAY)


@dataclass
class Release:
    """What the headers of one CUDA release declare."""

    functions: dict[str, api.Function] = field(default_factory=dict)
    enums: dict[str, dict[str, int]] = field(default_factory=dict)


def extract(root: Path, cache: Path, library: str) -> None:
    """Write ``root/api/<library>.toml``."""
    lock = tomllib.loads((root / "headers.lock.toml").read_text())
    entry = lock["libraries"][library]
    cache.mkdir(parents=True, exist_ok=True)
    releases: dict[str, Release] = {}
    for cuda, own in entry["wheels"].items():
        # Its own wheel first, so that its headers win.
        folders = [
            wheels.unpacked(cache, wheel, lock["sha256"][wheel])
            for wheel in dict.fromkeys([own, *lock["releases"][cuda]])
        ]
        includes = [path for folder in folders for path in wheels.include_folders(folder)]
        releases[cuda] = parse(entry["headers"], includes)
        if "library" in entry:
            symbols = wheels.exported(folders[0], entry["library"])
            for function in releases[cuda].functions.values():
                function.exported = [cuda] if function.symbol in symbols else []
    api.write(root / "api" / f"{library}.toml", library, *merge(releases))


def libraries(root: Path) -> list[str]:
    """Return the libraries whose headers are pinned."""
    return list(tomllib.loads((root / "headers.lock.toml").read_text())["libraries"])


def parse(headers: list[str], includes: list[Path]) -> Release:
    """Read the declarations of `headers`, in C mode."""
    source = "".join(f"#include <{name}>\n" for name in headers)
    flags = ["-x", "c", "-std=c11", *(f"-I{path}" for path in [*includes, _compiler_headers()])]
    unit = Index.create().parse(
        "all.h",
        args=flags,
        unsaved_files=[("all.h", source)],
        options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD,
    )
    if errors := [str(d) for d in unit.diagnostics if d.severity >= d.Error]:
        raise SystemExit("\n".join(errors))
    own = [
        cursor
        for cursor in unit.cursor.get_children()
        if cursor.location.file and Path(cursor.location.file.name).name in headers
    ]
    public = _renamed(own)
    release = Release()
    for cursor in own:
        if cursor.kind == CursorKind.FUNCTION_DECL and not cursor.is_definition():
            function = _function(cursor, public.get(cursor.spelling, cursor.spelling))
            release.functions.setdefault(function.name, function)
        elif cursor.kind == CursorKind.TYPEDEF_DECL:
            enum = cursor.underlying_typedef_type.get_canonical().get_declaration()
            if enum.kind == CursorKind.ENUM_DECL:
                members = {c.spelling: c.enum_value for c in enum.get_children()}
                release.enums.setdefault(_enum_name(cursor.type), members)
    return release


def merge(releases: dict[str, Release]) -> tuple[list[api.Function], list[api.Enum]]:
    """Join the releases: each function and each member with the first and the last that has it."""
    functions: dict[tuple[str, tuple[str, ...]], api.Function] = {}
    enums: dict[str, dict[tuple[str, int], api.Member]] = {}
    for cuda, release in releases.items():
        for found in release.functions.values():
            # A changed signature under an unchanged name is another function.
            key = (found.name, (found.returns, *(p.kind for p in found.parameters)))
            known = functions.setdefault(key, found)
            known.since = known.since or cuda
            known.until = cuda
            if known is not found:
                known.exported = _joined(known.exported, found.exported)
        for name, members in release.enums.items():
            for member, value in members.items():
                row = enums.setdefault(name, {}).setdefault(
                    (member, value), api.Member(member, value, cuda, cuda)
                )
                row.until = cuda
    return (
        sorted(functions.values(), key=lambda f: (f.name, f.since)),
        [api.Enum(name, list(enums[name].values())) for name in sorted(enums)],
    )


def _joined(first: list[str] | None, second: list[str] | None) -> list[str] | None:
    return None if first is None or second is None else first + second


def _compiler_headers() -> Path:
    # libclang's wheel holds no stddef.h.
    command = ["cc", "-print-file-name=include"]
    return Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def _renamed(own: list[Cursor]) -> dict[str, str]:
    """Map exported symbols to public names, from ``#define cuMemAlloc cuMemAlloc_v2``."""
    public: dict[str, str] = {}
    for cursor in own:
        if cursor.kind == CursorKind.MACRO_DEFINITION:
            tokens = [token.spelling for token in cursor.get_tokens()]
            # `__CUDA_API_PTSZ(name)` leaves the name as it is, unless per-thread streams are on.
            if len(tokens) == 5 and tokens[2] == "(" and tokens[1].startswith("__CUDA_API_PT"):
                tokens = [tokens[0], tokens[3]]
            # The version may stand inside: cublasDgemm_64 is cublasDgemm_v2_64.
            if len(tokens) == 2 and tokens[0] == re.sub(r"_v\d+", "", tokens[1], count=1):
                public[tokens[1]] = tokens[0]
    return public


def _function(cursor: Cursor, name: str) -> api.Function:
    parameters = [
        api.Parameter(c.spelling, _spelling(c.type), _kind(c.type)) for c in cursor.get_arguments()
    ]
    return api.Function(
        name, cursor.spelling, _spelling(cursor.result_type), _kind(cursor.result_type), parameters
    )


def _enum_name(type_: Type) -> str:
    spelling: str = type_.spelling
    return spelling.removeprefix("enum ")


def _spelling(type_: Type) -> str:
    return " ".join(type_.spelling.replace("*", " * ").split()).replace("* *", "**")


def _kind(type_: Type) -> str:
    """Return what the ABI and the rules need to know; see `api.Parameter`."""
    const = "const " if type_.is_const_qualified() else ""
    canonical = type_.get_canonical()
    if canonical.kind in _SCALARS:
        return const + _SCALARS[canonical.kind]
    if canonical.kind == TypeKind.ENUM:
        return f"{const}enum {_enum_name(type_).removeprefix('const ')}"
    if canonical.kind == TypeKind.RECORD:
        return const + "struct"
    if canonical.kind in _ARRAYS:
        return _kind(_element(type_)) + "[]"
    if canonical.kind == TypeKind.POINTER:
        pointee = canonical.get_pointee()
        if pointee.kind in (TypeKind.FUNCTIONPROTO, TypeKind.FUNCTIONNOPROTO):
            return "callback"
        if pointee.kind == TypeKind.RECORD and type_.kind != TypeKind.POINTER:
            return const + "handle"
        return _kind(type_.get_pointee() if type_.kind == TypeKind.POINTER else pointee) + "*"
    raise SystemExit(f"no kind for the C type {type_.spelling}")


def _element(type_: Type) -> Type:
    return type_.element_type if type_.kind in _ARRAYS else type_.get_canonical().element_type
