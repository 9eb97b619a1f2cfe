"""Joins facts and decisions to the model that the emitters write."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpumath_codegen import api, names
from gpumath_codegen.rules import Rules

# Names of sizes that functions return. With the rules of `_role`, this finds 633 of the 639 outputs
# of nine libraries, and takes 4 other parameters for outputs.
_SIZE_OUTPUT = re.compile(
    r"(p?b|pB)ufferSize(InBytes)?\d?|lwork(_bytes)?|work(space)?Size\w*"
    r"|workspaceInBytes(OnDevice|OnHost)?|internalDataInBytes|lto_size|size"
)
_ALWAYS_OUTPUT = {
    "iter",
    "niters",
    "outer_niters",
    "position",
    "num_prods",
    "h_err_sigma",
    "meig64",
}
_NEVER_OUTPUT = {
    "sizeWritten", "n", "inembed", "onembed", "array", "out", "knobs_ptr", "constants",
    "residual_history", "discrete_distribution",
}  # fmt: skip
_SCALAR = re.compile(r"[iuf]\d+")
_BY_VALUE = re.compile(r"c64|c128|struct \d+\.\d+")
_ROLES = {
    "in", "out", "ptr", "seq", "nested", "texts", "bytes", "buffer", "str", "str_or_ptr", "logger",
    "kernel_params", "kernel_extra",
}  # fmt: skip
# As in the bindings' module `call`.
MAX_PARAMETERS = 32
# The letter of an ABI kind in the name of a shape; `l` for all 64-bit integers and addresses.
LETTER = {
    "void": "v",
    "i8": "c",
    "u8": "b",
    "i16": "h",
    "u16": "h",
    "i32": "i",
    "u32": "i",
    "f32": "f",
    "f64": "d",
    "c64": "x",
    "c128": "z",
}


@dataclass
class Parameter:
    """A parameter as Python sees it.

    ``role`` is one of those in codegen/README.md. ``kind`` is the ABI kind of a single value: of an
    element for ``seq`` and ``nested``, of the pointee for ``out``.
    """

    name: str
    role: str
    kind: str
    enum: str
    c_type: str
    # Of an array: the parameter that says how many elements C reads or writes; "" if none does.
    length: str = ""
    # Whether 0 is refused.
    not_null: bool = False

    @property
    def default(self) -> str:
        """The text of the default; empty if the argument must be given."""
        return "0" if self.role == "kernel_extra" else ""

    @property
    def abi(self) -> str:
        """ABI kind of the argument that C gets."""
        return self.kind if self.role == "in" else "ptr"


@dataclass
class Function:
    """A function as Python sees it."""

    name: str
    c_name: str
    symbol: str
    since: str
    until: str
    parameters: list[Parameter]
    returns: str
    keep_gil: bool
    doc: str
    # The C declaration, such as ``cufftResult cufftDestroy(cufftHandle plan)``.
    declaration: str
    # Whether the Rust core calls it, so that its exact C type is needed.
    core_calls: bool
    # The library's own versions that have this signature: the first, and the first that no longer
    # has it; "" is no bound.
    versions: tuple[str, str] = ("", "")

    @property
    def static(self) -> str:
        """Name of the function's row in Rust."""
        return self.name.lstrip("_").upper()

    @property
    def inputs(self) -> list[Parameter]:
        """The parameters that Python passes."""
        return [p for p in self.parameters if p.role != "out"]

    @property
    def outputs(self) -> list[Parameter]:
        """The parameters that C writes and Python returns."""
        return [p for p in self.parameters if p.role == "out"]

    @property
    def shape(self) -> str:
        """Name of the trampoline: a letter for the result, and one for each parameter."""
        letters = "".join(letter(p.abi) for p in self.parameters)
        return f"{letter(self.return_kind)}_{letters}"

    @property
    def return_kind(self) -> str:
        """ABI kind of the result of the C function."""
        return "i32" if self.returns == "status" else self.returns


@dataclass
class Member:
    """A member of an enum."""

    name: str
    value: int
    c_name: str
    meaning: str


@dataclass
class Enum:
    """An enum as Python sees it."""

    name: str
    c_name: str
    flags: bool
    doc: str
    members: list[Member]
    # Whether the enum is in a module of its own, which is imported when the enum is first used.
    lazy: bool = False
    # Members, by name, that only headers before the oldest that was read have.
    older: dict[str, int] = field(default_factory=dict)


@dataclass
class Library:
    """All that is emitted for one module."""

    name: str
    title: str
    docs: str
    error: str
    functions: list[Function]
    enums: list[Enum]
    # None if the module `status_from` has the enum.
    status: Enum | None
    status_from: str
    # Whose releases `since` and `until` name: "CUDA", or the library.
    release_of: str
    facts: api.Api
    # Reason for each function that is left out, by its key.
    skipped: dict[str, str]
    # Rules of the structs, by C name or `name@since`.
    structs: dict[str, Any]

    @property
    def rust(self) -> str:
        """Name of the library's modules in Rust."""
        return self.name.lower()


def load(root: Path, name: str) -> Library:
    """Join ``api/<name>.txt`` and ``rules/<name>.toml``; exit if they do not agree."""
    facts = api.read(root / "api" / f"{name}.txt")
    rules = Rules(root / "rules" / f"{name}.toml", facts.functions)
    data = rules.data
    enums = [_enum(enum, data) for enum in _decided(facts.enums, data.get("enum", {}))]
    enum_names = {enum.c_name: enum.name for enum in enums}
    skipped = {key: rules.decision(key).get("skip", "") for key in rules.keys}
    functions = [
        _function(f, key, rules, enum_names)
        for f, key in zip(facts.functions, rules.keys, strict=True)
        if not skipped[key]
    ]
    names_ = [f.name for f in functions]
    if twice := sorted({n for n in names_ if names_.count(n) > 1}):
        raise SystemExit(f"more than one signature, so `skip` or `name` one: {', '.join(twice)}")
    status = next((enum for enum in enums if enum.c_name == data["status"]), None)
    if status is None and "status_from" not in data:
        raise SystemExit(f"the rules' status {data['status']} is no enum that they list")
    return Library(
        name,
        data["title"],
        data["docs"],
        data["error"],
        sorted(functions, key=lambda f: f.name.lstrip("_")),
        sorted(enums, key=lambda e: e.name),
        status,
        data.get("status_from", name),
        data.get("release_of", "CUDA"),
        facts,
        {key: reason for key, reason in skipped.items() if reason},
        data.get("struct", {}),
    )


def libraries(root: Path) -> list[str]:
    """Return the modules that have rules."""
    return sorted(path.stem for path in (root / "rules").glob("*.toml"))


def letter(kind: str) -> str:
    """Return the code of an ABI kind in the name of a shape, such as ``s24a8`` for a struct."""
    if kind.startswith("struct "):
        return "s" + kind.removeprefix("struct ").replace(".", "a")
    return LETTER.get(kind, "l")


def _decided(enums: list[api.Enum], decisions: dict[str, Any]) -> list[api.Enum]:
    # Every enum needs a rule with its prefix, because the longest common prefix of its members may
    # change with a new member.
    known = {e.name for e in enums}
    if wrong := sorted(known ^ {*decisions}):
        raise SystemExit(f"enums without a rule, or rules without an enum: {', '.join(wrong)}")
    return [e for e in enums if "skip" not in decisions[e.name]]


def _enum(enum: api.Enum, rules: dict[str, Any]) -> Enum:
    decision = rules["enum"][enum.name]
    bare = names.without_prefix(enum.name, rules["prefix"]).removesuffix("_t")
    overrides: dict[str, str] = decision.get("members", {})
    members: dict[str, Member] = {}
    dropped = decision.get("drop", [])
    if unknown := {*dropped, *overrides} - {m.name for m in enum.members}:
        raise SystemExit(f"{enum.name}: rules name members that it lacks: {', '.join(unknown)}")
    for m in enum.members:
        if m.name in dropped:
            continue
        prefix = decision["prefix"]
        name = overrides.get(m.name) or m.name.removeprefix(prefix)
        if rules.get("camel_members") and m.name not in overrides and not name.isupper():
            name = names.snake_case(name).upper()
        if not name.isidentifier() or (m.name not in overrides and not m.name.startswith(prefix)):
            raise SystemExit(f"{enum.name}: no name for {m.name} without its prefix {prefix}")
        name = f"{name}_" if keyword.iskeyword(name) else name
        # If a release gave a name another number, as happens to `*_MAX`, the newest number counts.
        meaning = rules.get("status_meaning", {}).get(m.name, "")
        members[name] = Member(name, m.value, m.name, meaning)
    return Enum(
        decision.get("name") or names.camel_case(bare),
        enum.name,
        decision.get("flags", False),
        decision["doc"],
        # The sort is stable, so a second name of a value stays second, and Python makes it an
        # alias.
        sorted(members.values(), key=lambda m: m.value),
        decision.get("lazy", False),
        _older(enum.name, decision.get("older", {}), members),
    )


def _older(enum: str, older: dict[str, int], members: dict[str, Member]) -> dict[str, int]:
    if known := older.keys() & members.keys():
        raise SystemExit(f"{enum}: headers that were read have {', '.join(known)}")
    return older


def _function(f: api.Function, key: str, rules: Rules, enum_names: dict[str, str]) -> Function:
    decision = rules.decision(key)
    roles: dict[str, str] = decision.get("roles", {})
    known = {p.name for p in f.parameters}
    mentioned = {*roles, *decision.get("rename", {}), *decision.get("not_null", [])}
    if unknown := mentioned - known:
        raise SystemExit(f"{key}: rules name parameters that it lacks: {', '.join(unknown)}")
    for role, _, length in (text.partition(" ") for text in roles.values()):
        if role not in _ROLES:
            raise SystemExit(f"{key}: there is no role {role}")
        if length and length not in known:
            raise SystemExit(f"{key}: there is no parameter {length}")
    if decision and "skip" not in decision and "reason" not in decision:
        raise SystemExit(f"{key}: a rule without a reason")
    if len(f.parameters) > MAX_PARAMETERS:
        raise SystemExit(f"{key}: {len(f.parameters)} parameters; raise the limit in call/mod.rs")
    short = names.without_prefix(f.name, rules.data["prefix"])
    first, last = decision.get("versions", ["", ""])
    return Function(
        decision.get("name") or names.snake_case(short),
        f.name,
        decision.get("symbol", f.symbol),
        f.since,
        f.until,
        [_parameter(p, f.name, decision, rules.data, enum_names) for p in f.parameters],
        _returns(f.return_kind, rules.data["status"]),
        rules.keeps_gil(key),
        rules.summary(key),
        api.prototype(f),
        rules.core_calls(key),
        (first, last),
    )


def _returns(kind: str, status: str) -> str:
    if kind == f"enum {status}":
        return "status"
    if kind == "const i8*":
        return "str"
    # Enums that are no status are plain integers.
    return (
        "i32"
        if kind.startswith("enum ")
        else kind
        if _SCALAR.fullmatch(kind)
        else ("void" if kind == "void" else "ptr")
    )


def _parameter(
    p: api.Parameter,
    function: str,
    decision: dict[str, Any],
    rules: dict[str, Any],
    enum_names: dict[str, str],
) -> Parameter:
    kind = p.kind
    if p.type.removesuffix(" *") in rules.get("address_types", []):
        kind = kind.replace("u64", "ptr")
    chosen = decision.get("roles", {}).get(p.name)
    role, _, length = (chosen or _role(p.name, kind, function)).partition(" ")
    value = kind
    if role in ("out", "seq", "nested", "buffer"):
        value = re.sub(r"(\*|\[\])$", "", value)
    if role == "buffer" and value in ("void", "struct"):
        value = "u8"
    if role == "nested":
        value = re.sub(r"( ?const)?\*$", "", value)
    text = role == "out" and value == "const i8*"
    value = value.removeprefix("const ")
    enum = value.removeprefix("enum ") if value.startswith("enum ") else ""
    by_value = _SCALAR.fullmatch(value) or _BY_VALUE.fullmatch(value)
    value = "i32" if enum else "str" if text else value if by_value else "ptr"
    name = decision.get("rename", {}).get(p.name) or names.snake_case(p.name)
    name = f"{name}_" if keyword.iskeyword(name) or not name else name
    return Parameter(
        name,
        "in" if role == "ptr" else role,
        value,
        enum_names.get(enum, ""),
        p.type,
        names.snake_case(length),
        p.name in decision.get("not_null", []),
    )


def _role(name: str, kind: str, function: str) -> str:
    """Return the role that C type and name suggest."""
    getter = "Get" in function
    if kind == "const i8*":
        return "str"
    if kind.endswith("[]"):
        return "seq" if _SCALAR.fullmatch(kind.removeprefix("const ")[:-2]) else "ptr"
    if kind.endswith("**") and getter:
        return "out"
    if not kind.endswith("*") or kind.startswith("const ") or name in _NEVER_OUTPUT:
        return "in"
    pointee = kind[:-1]
    if pointee == "handle" or pointee.startswith("enum ") or name in _ALWAYS_OUTPUT:
        return "out"
    by_name = getter or _SIZE_OUTPUT.fullmatch(name)
    return "out" if _SCALAR.fullmatch(pointee) and by_name else "in"
