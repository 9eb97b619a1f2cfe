"""Facts and decisions joined: what the emitters write down."""

from __future__ import annotations

import keyword
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpumath_codegen import api, names

# Names of the sizes that functions return; with the rules of `_role` this was right for 633 of 639
# outputs of nine libraries, and wrong for 4 parameters that are none.
_SIZE_OUTPUT = re.compile(
    r"p?bufferSize(InBytes)?\d?|lwork(_bytes)?|work(space)?Size\w*|workspaceInBytes(OnDevice|OnHost)?"
    r"|internalDataInBytes|lto_size|size"
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
_ROLES = {"in", "out", "ptr", "seq", "bytes", "str", "kernel_params"}
# As in call.rs of the bindings.
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
}


@dataclass
class Parameter:
    """A parameter as Python sees it.

    ``role`` is ``in``, ``out``, ``str`` (a C string), ``seq`` (an address, or numbers that are
    copied) or ``bytes`` (an address, or bytes); ``kind`` is the ABI kind of the value itself: of
    the element for ``seq``, of the pointee for ``out``.
    """

    name: str
    role: str
    kind: str
    enum: str
    c_type: str
    # For `seq` and `bytes`: the parameter that says how many elements C reads.
    length: str = ""

    @property
    def abi(self) -> str:
        """Kind of what is passed to C."""
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

    @property
    def static(self) -> str:
        """Name of its row in Rust."""
        return self.name.lstrip("_").upper()

    @property
    def inputs(self) -> list[Parameter]:
        """What Python passes."""
        return [p for p in self.parameters if p.role != "out"]

    @property
    def outputs(self) -> list[Parameter]:
        """What Python gets back."""
        return [p for p in self.parameters if p.role == "out"]

    @property
    def shape(self) -> str:
        """Name of the trampoline: a letter for what is returned, one a parameter."""
        letters = "".join(LETTER.get(p.abi, "l") for p in self.parameters)
        return f"{LETTER.get(self.return_kind, 'l')}_{letters}"

    @property
    def return_kind(self) -> str:
        """ABI kind of what C returns."""
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


@dataclass
class Library:
    """Everything that is emitted about one library."""

    name: str
    title: str
    docs: str
    error: str
    functions: list[Function]
    enums: list[Enum]
    status: Enum
    newest: str


def load(root: Path, name: str) -> Library:
    """Join ``api/<name>.toml`` and ``rules/<name>.toml``, and refuse what does not fit."""
    facts = api.read(root / "api" / f"{name}.toml")
    rules = tomllib.loads((root / "rules" / f"{name}.toml").read_text())
    wanted: list[str] | None = rules.get("functions")
    enums = [_enum(enum, rules) for enum in _selected_enums(facts.enums, rules, wanted)]
    enum_names = {enum.c_name: enum.name for enum in enums}
    functions = [_function(f, rules, enum_names) for f in _selected(facts.functions, rules, wanted)]
    status = next((enum for enum in enums if enum.c_name == rules["status"]), None)
    if status is None:
        raise SystemExit(f"the rules' status {rules['status']} is no enum that they list")
    return Library(
        name,
        rules["title"],
        rules["docs"],
        rules["error"],
        sorted(functions, key=lambda f: f.name.lstrip("_")),
        sorted(enums, key=lambda e: e.name),
        status,
        max((f.until for f in facts.functions), key=_version),
    )


def libraries(root: Path) -> list[str]:
    """Return the libraries that have rules."""
    return sorted(path.stem for path in (root / "rules").glob("*.toml"))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _selected(
    functions: list[api.Function], rules: dict[str, Any], wanted: list[str] | None
) -> list[api.Function]:
    decisions: dict[str, Any] = rules.get("function", {})
    known = {f.name for f in functions}
    named = {*decisions, *rules["summary"], *rules.get("keep_gil", []), *(wanted or [])}
    if unknown := sorted(named - known):
        raise SystemExit(f"rules name functions that no header declares: {', '.join(unknown)}")
    kept = [
        f
        for f in functions
        if (wanted is None or f.name in wanted) and "skip" not in decisions.get(f.name, {})
    ]
    names_ = [f.name for f in kept]
    if twice := sorted({n for n in names_ if names_.count(n) > 1}):
        raise SystemExit(f"more than one signature, so `skip` or list another: {', '.join(twice)}")
    return kept


def _selected_enums(
    enums: list[api.Enum], rules: dict[str, Any], wanted: list[str] | None
) -> list[api.Enum]:
    decisions: dict[str, Any] = rules.get("enum", {})
    known = {e.name for e in enums}
    # The prefix of the members is frozen: the longest common one may change with a new member.
    undecided = sorted(known - {*decisions}) if wanted is None else []
    if undecided or not {*decisions} <= known:
        raise SystemExit(
            f"enums without a rule, or rules without an enum: {undecided or decisions}"
        )
    return [e for e in enums if e.name in decisions]


def _enum(enum: api.Enum, rules: dict[str, Any]) -> Enum:
    decision = rules["enum"][enum.name]
    bare = names.without_prefix(enum.name, rules["prefix"]).removesuffix("_t")
    overrides: dict[str, str] = decision.get("members", {})
    members: dict[str, Member] = {}
    for m in enum.members:
        prefix = decision["prefix"]
        name = overrides.get(m.name) or m.name.removeprefix(prefix)
        if not name.isidentifier() or (m.name not in overrides and not m.name.startswith(prefix)):
            raise SystemExit(f"{enum.name}: no name for {m.name} without its prefix {prefix}")
        name = f"{name}_" if keyword.iskeyword(name) else name
        # The newest value counts where a release gave a name another number (`*_MAX` and the like).
        meaning = rules.get("status_meaning", {}).get(m.name, "")
        members[name] = Member(name, m.value, m.name, meaning)
    return Enum(
        decision.get("name") or names.camel_case(bare),
        enum.name,
        decision.get("flags", False),
        decision["doc"],
        # A second name of a value stays behind the first: Python makes it an alias.
        sorted(members.values(), key=lambda m: m.value),
    )


def _function(f: api.Function, rules: dict[str, Any], enum_names: dict[str, str]) -> Function:
    decision = rules.get("function", {}).get(f.name, {})
    roles: dict[str, str] = decision.get("roles", {})
    if unknown := {*roles} - {p.name for p in f.parameters}:
        raise SystemExit(f"{f.name}: rules name parameters that it lacks: {', '.join(unknown)}")
    if not (summary := rules["summary"].get(f.name)):
        raise SystemExit(f"{f.name}: no summary in the rules")
    for role, _, length in (text.partition(" ") for text in roles.values()):
        if role not in _ROLES:
            raise SystemExit(f"{f.name}: there is no role {role}")
        if length and length not in {p.name for p in f.parameters}:
            raise SystemExit(f"{f.name}: there is no parameter {length}")
    if {*decision} & {"roles", "name", "symbol"} and "reason" not in decision:
        raise SystemExit(f"{f.name}: a rule without a reason")
    if len(f.parameters) > MAX_PARAMETERS:
        raise SystemExit(f"{f.name}: {len(f.parameters)} parameters; raise the limit in call.rs")
    returns = "status" if f.return_kind == f"enum {rules['status']}" else f.return_kind
    returns = "str" if returns == "const i8*" else returns
    short = names.without_prefix(f.name, rules["prefix"])
    return Function(
        decision.get("name") or names.snake_case(short),
        f.name,
        decision.get("symbol", f.symbol),
        f.since,
        f.until,
        [_parameter(p, f.name, roles.get(p.name), rules, enum_names) for p in f.parameters],
        returns,
        f.name in rules.get("keep_gil", []),
        summary,
    )


def _parameter(
    p: api.Parameter,
    function: str,
    role: str | None,
    rules: dict[str, Any],
    enum_names: dict[str, str],
) -> Parameter:
    kind = p.kind
    if p.type.removesuffix(" *") in rules.get("address_types", []):
        kind = kind.replace("u64", "ptr")
    if kind.removeprefix("const ").startswith("struct ") and not kind.endswith(("*", "]")):
        raise SystemExit(
            f"{function}: {p.name} is a struct by value, which no shape holds: skip it"
        )
    role, _, length = (role or _role(p.name, kind, function)).partition(" ")
    value = re.sub(r"(\*|\[\])$", "", kind) if role in ("out", "seq") else kind
    text = role == "out" and value == "const i8*"
    value = value.removeprefix("const ")
    enum = value.removeprefix("enum ") if value.startswith("enum ") else ""
    value = "i32" if enum else "str" if text else value if _SCALAR.fullmatch(value) else "ptr"
    role = "in" if role == "ptr" else role
    name = names.snake_case(p.name)
    name = f"{name}_" if keyword.iskeyword(name) or not name else name
    return Parameter(name, role, value, enum_names.get(enum, ""), p.type, names.snake_case(length))


def _role(name: str, kind: str, function: str) -> str:
    """Decide by the C type and the name alone."""
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
