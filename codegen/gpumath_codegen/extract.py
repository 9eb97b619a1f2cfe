"""Extracts facts from headers: parses every pinned release of a library's headers."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
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
_RECORDS = (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL)
_ARRAYS = (TypeKind.INCOMPLETEARRAY, TypeKind.CONSTANTARRAY)
# The structs of vector_types.h that cuComplex and cuDoubleComplex are.
_COMPLEX = {"float2": "c64", "double2": "c128"}
# cuda_fp16.h includes this file for its device code only.
_STUBS = {"/stubs/nv/target": "#define NV_IF_TARGET(...)\n#define NV_IF_ELSE_TARGET(...)\n"}


@dataclass
class Release:
    """The declarations in the headers of one CUDA release."""

    functions: dict[str, api.Function] = field(default_factory=dict)
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    structs: dict[str, api.Struct] = field(default_factory=dict)


def extract(root: Path, cache: Path, library: str) -> None:
    """Write ``root/api/<library>.txt``."""
    lock = tomllib.loads((root / "headers.lock.toml").read_text())
    entry = lock["libraries"][library]
    cache.mkdir(parents=True, exist_ok=True)
    releases: dict[str, Release] = {}
    for cuda, own in entry["wheels"].items():
        # The library's own wheel comes first, because the first header of a name counts.
        folders = [
            wheels.unpacked(cache, wheel, lock["sha256"][wheel])
            for wheel in dict.fromkeys([own, *lock["releases"].get(cuda, [])])
        ]
        includes = [path for folder in folders for path in wheels.include_folders(folder)]
        absent = entry.get("later", {}).get(cuda, [])
        headers = [name for name in entry["headers"] if name not in absent]
        flags = [f"-D{name}" for name in entry.get("defines", [])]
        language = entry.get("language", "c")
        releases[cuda] = parse(headers, includes, flags, language, entry.get("inline", False))
        if pattern := entry.get("ignore"):
            functions = releases[cuda].functions
            for name in [name for name in functions if re.match(pattern, name)]:
                del functions[name]
        if "library" in entry:
            symbols = wheels.exported(folders[0], entry["library"])
            for function in releases[cuda].functions.values():
                function.exported = [cuda] if function.symbol in symbols else []
    api.write(root / "api" / f"{library}.txt", library, merge(releases))


def libraries(root: Path) -> list[str]:
    """Return the libraries whose headers are pinned."""
    return list(tomllib.loads((root / "headers.lock.toml").read_text())["libraries"])


def parse(
    headers: list[str],
    includes: list[Path],
    flags: Sequence[str] = (),
    language: str = "c",
    inline: bool = False,
) -> Release:
    """Return the declarations of `headers`; with `inline`, inline functions too."""
    source = "".join(f"#include <{name}>\n" for name in headers)
    folders = [*includes, "/stubs", *_compiler_headers(language)]
    standard = {"c": "-std=c11", "c++": "-std=c++17"}[language]
    unit = Index.create().parse(
        "all.h",
        args=["-x", language, standard, *flags, *(f"-I{path}" for path in folders)],
        unsaved_files=[("all.h", source), *_STUBS.items()],
        options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD,
    )
    if errors := [str(d) for d in unit.diagnostics if d.severity >= d.Error]:
        raise SystemExit("\n".join(errors))
    own = [
        cursor
        for cursor in _declarations(unit.cursor)
        if cursor.location.file and Path(cursor.location.file.name).name in headers
    ]
    public = _renamed(own)
    release = Release()
    tags = set()
    types: dict[str, Cursor] = {}
    for cursor in own:
        if cursor.kind == CursorKind.FUNCTION_DECL and (inline or not cursor.is_definition()):
            function = _function(cursor, public.get(cursor.spelling, cursor.spelling))
            release.functions.setdefault(function.name, function)
        elif cursor.kind == CursorKind.TYPEDEF_DECL:
            named = cursor.underlying_typedef_type.get_canonical().get_declaration()
            tags.add(named.spelling)
            types.setdefault(cursor.type.spelling.rpartition(" ")[2], named)
    for cursor in own:
        # A type with a `typedef` has its name from there.
        if cursor.is_definition() and cursor.spelling not in tags:
            types.setdefault(cursor.spelling, cursor)
    records = {name for name, definition in types.items() if definition.kind in _RECORDS}
    for name, definition in types.items():
        if definition.kind == CursorKind.ENUM_DECL:
            members = {c.spelling: c.enum_value for c in definition.get_children()}
            release.enums[name] = members
        elif name in records and (fields := _fields(definition.type, records)):
            size, alignment = definition.type.get_size(), definition.type.get_align()
            if definition.kind == CursorKind.UNION_DECL:
                fields.insert(0, api.Field("", "union", "u8", 0, size))
            release.structs[name] = api.Struct(name, size, alignment, fields)
    return release


def _declarations(cursor: Cursor) -> Iterator[Cursor]:
    for child in cursor.get_children():
        # C++ headers have their declarations inside `extern "C"`.
        if child.kind in (CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL):
            yield from _declarations(child)
        else:
            yield child


def _fields(type_: Type, records: set[str], path: str = "", start: int = 0) -> list[api.Field]:
    """Return the fields of a struct. A union is a field of bytes, followed by its members.

    Members of a union or a struct that is not in `records` are named by their path, with dots.
    """
    fields = []
    for cursor in type_.get_fields():
        kind, count = cursor.type, 1
        while kind.get_canonical().kind == TypeKind.CONSTANTARRAY:
            kind, count = _element(kind), count * kind.get_canonical().element_count
        offset = start + cursor.get_field_offsetof()
        if cursor.is_bitfield():
            # Only unions have bit fields, beside a member with all their bits.
            continue
        name = path if "(" in cursor.spelling or not cursor.spelling else path + cursor.spelling
        canonical = kind.get_canonical()
        named = kind.spelling.removeprefix("struct ")
        if canonical.kind == TypeKind.RECORD and named not in records:
            below = f"{name.removesuffix('.')}." if name else ""
            members = _fields(canonical, records, below, offset) if count == 1 else []
            if canonical.get_declaration().kind == CursorKind.UNION_DECL or not members:
                size = kind.get_size() * count
                union = api.Field(name, "union", "u8", offset // 8, size)
                fields.append(union)
            fields += members
            continue
        text = f"struct {named}" if canonical.kind == TypeKind.RECORD else _kind(kind)
        fields.append(api.Field(name, _spelling(cursor.type), text, offset // 8, count))
    return fields


def merge(releases: dict[str, Release]) -> api.Api:
    """Join the releases: add to functions and members the first and the last that has them."""
    structs: dict[tuple[str, str], api.Struct] = {}
    functions: dict[tuple[str, ...], api.Function] = {}
    enums: dict[str, dict[tuple[str, int], api.Member]] = {}
    for cuda, release in releases.items():
        for found in release.functions.values():
            # A changed signature or symbol under an unchanged name is another function. The symbol
            # does not count for the driver, whose exports are not known and which keeps old
            # symbols.
            symbol = "" if found.exported is None else found.symbol
            key = (found.name, symbol, found.returns, *(p.kind for p in found.parameters))
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
        for struct in release.structs.values():
            # A changed layout under an unchanged name is another struct.
            layout = structs.setdefault((struct.name, str(struct.fields)), struct)
            # The alignment of CUtensorMap grew. Use the largest, which suits all releases.
            layout.alignment = max(layout.alignment, struct.alignment)
            layout.since = layout.since or cuda
            layout.until = cuda
    return api.Api(
        sorted(functions.values(), key=lambda f: (f.name, f.since)),
        [api.Enum(name, list(enums[name].values())) for name in sorted(enums)],
        sorted(structs.values(), key=lambda s: s.name),
    )


def _joined(first: list[str] | None, second: list[str] | None) -> list[str] | None:
    return None if first is None or second is None else first + second


def _compiler_headers(language: str) -> list[str]:
    # The wheel of libclang has no stddef.h and no C++ library.
    command = ["cc", "-E", "-v", "-x", language, "/dev/null"]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    _, _, folders = report.partition("#include <...> search starts here:")
    return folders.partition("End of search list.")[0].split()


def _renamed(own: list[Cursor]) -> dict[str, str]:
    """Return public names by exported symbol, from ``#define cuMemAlloc cuMemAlloc_v2``."""
    public: dict[str, str] = {}
    for cursor in own:
        if cursor.kind == CursorKind.MACRO_DEFINITION:
            tokens = [token.spelling for token in cursor.get_tokens()]
            # `__CUDA_API_PTSZ(name)` is the name, unless per-thread default streams are on.
            if (
                len(tokens) == 5
                and tokens[2] == "("
                and tokens[1].startswith(("__CUDA_API_PT", "__CUDART_API_PT"))
            ):
                tokens = [tokens[0], tokens[3]]
            # The version may be inside the symbol: cublasDgemm_64 is cublasDgemm_v2_64.
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
    """Return the kind of a type, as `api.Parameter` defines it."""
    const = "const " if type_.is_const_qualified() else ""
    canonical = type_.get_canonical()
    if canonical.kind in _SCALARS:
        return const + _SCALARS[canonical.kind]
    if canonical.kind == TypeKind.ENUM:
        return f"{const}enum {_enum_name(type_).removeprefix('const ')}"
    if canonical.kind == TypeKind.RECORD:
        size, alignment = type_.get_size(), type_.get_align()
        return const + (_complex(canonical) or f"struct {size}.{alignment}")
    if canonical.kind in _ARRAYS:
        return _kind(_element(type_)) + "[]"
    if canonical.kind == TypeKind.POINTER:
        pointee = canonical.get_pointee()
        if pointee.kind in (TypeKind.FUNCTIONPROTO, TypeKind.FUNCTIONNOPROTO):
            return "callback"
        if pointee.kind == TypeKind.RECORD and type_.kind != TypeKind.POINTER:
            return const + "handle"
        if pointee.kind == TypeKind.RECORD and _complex(pointee) is None:
            # Without the size, because another size in another release is no other signature.
            return ("const " if pointee.is_const_qualified() else "") + "struct*"
        return _kind(type_.get_pointee() if type_.kind == TypeKind.POINTER else pointee) + "*"
    raise SystemExit(f"no kind for the C type {type_.spelling}")


def _complex(record: Type) -> str | None:
    name = record.spelling.removeprefix("const ").removeprefix("struct ")
    return _COMPLEX.get(name)


def _element(type_: Type) -> Type:
    return type_.element_type if type_.kind in _ARRAYS else type_.get_canonical().element_type
