"""Writes the pages of the reference: one for each public module, with every public name in it.

Names are found as `tools.api_surface` finds them, texts are the docstrings. The thousands of names
that stand for names of C have short descriptions of one form, which are written here, because
autodoc takes minutes for them. The search finds them under their C names too.
"""

from __future__ import annotations

import enum
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.domains import Domain, ObjType
from sphinx.ext.autodoc.mock import mock

from tools.api_surface import TOP_MODULES, public_modules, public_names

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "generated" / "reference"
C_NAMES = re.compile(r"C (?:function|name)s?:? ((?:``\w+``(?:, | and )?)+)")
# Their own members are described by Python.
FOREIGN_BASES = ("object", "int", "tuple", "Exception", "Protocol", "ValueError", "RuntimeError")
SHORT_FORM = {"Parameters", "Attributes", "Returns", "Raises", "Notes"}
SECTION = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)
ENTRY = re.compile(r"^(\S.*)\n((?: .*\n?)*)", re.MULTILINE)


class CNames(Domain):
    """The C names of the bindings, which the search finds at their Python names."""

    name = "cname"
    label = "C names"
    object_types = {"name": ObjType("C name")}  # noqa: RUF012 # as the base class has it
    initial_data = {"names": {}}  # noqa: RUF012 # C name → (Python name, page)

    def get_objects(self) -> Iterable[tuple[str, str, str, str, str, int]]:
        """List the names for the search: 0 is its highest priority."""
        for c_name, (python_name, page) in self.data["names"].items():
            shown = f"{c_name} is {python_name.removeprefix('gpumath.bindings.')}"
            yield c_name, shown, "name", page, python_name, 0

    def get_type_name(self, *_arguments: object) -> str:
        """Return what the search shows in brackets behind a name."""
        return "C name"

    def resolve_any_xref(self, *_arguments: object) -> list[Any]:
        """Resolve nothing: references are to the Python names."""
        return []

    def merge_domaindata(self, docnames: list[str], otherdata: dict[str, Any]) -> None:
        """Take over nothing: all names are known before the pages are read."""


def write_pages(app: Sphinx) -> None:
    """Write a page for each public module of the packages that are installed."""
    PAGES.mkdir(parents=True, exist_ok=True)
    c_names = app.env.get_domain("cname").data["names"]
    tops = (top for names in TOP_MODULES.values() for top in names)
    modules = [module for top in tops for module in public_modules(top)]
    # These import PyTorch, which their descriptions do not need.
    with mock(["torch"]):
        modules += public_modules("gpumath.torch")
    homes = homes_of_classes(modules)
    for stale in {*PAGES.iterdir()} - {PAGES / f"{module.__name__}.rst" for module in modules}:
        stale.unlink()
    for module in modules:
        path = PAGES / f"{module.__name__}.rst"
        text = "\n".join(page(module, homes)) + "\n"
        if not path.exists() or path.read_text() != text:  # Sphinx reads again what has changed
            path.write_text(text)
        docname = path.relative_to(ROOT).with_suffix("").as_posix()
        for name in public_names(module):
            for found in C_NAMES.findall(inspect.getdoc(getattr(module, name)) or ""):
                for c_name in re.findall(r"\w+(?=``)", found):
                    c_names[c_name] = f"{module.__name__}.{name}", docname


def homes_of_classes(modules: list[ModuleType]) -> dict[type, str]:
    """Return where each class is described: where it is defined, or where it is found first.

    Modules for programs of other libraries come last, because they only repeat names.
    """
    homes: dict[type, str] = {}
    for module in sorted(modules, key=lambda module: ".compat." in module.__name__):
        for name in public_names(module):
            value = getattr(module, name)
            if inspect.isclass(value) and value.__module__ == module.__name__:
                homes[value] = f"{module.__name__}.{name}"
            elif inspect.isclass(value):
                homes.setdefault(value, f"{module.__name__}.{name}")
    return homes


def page(module: ModuleType, homes: dict[type, str]) -> Iterator[str]:
    """Yield the lines of a module's page: its docstring, then functions, classes and enums."""
    title = module.__name__
    yield from (title, "=" * len(title), "", f".. automodule:: {title}", "   :no-members:", "")
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Enums": [], "Values": []}
    for name in sorted(public_names(module), key=str.lower):
        value = getattr(module, name)
        if inspect.isclass(value):
            kinds["Enums" if issubclass(value, enum.Enum) else "Classes"].append(name)
        elif not isinstance(value, ModuleType):
            kinds["Functions" if callable(value) else "Values"].append(name)
    for kind, names in kinds.items():
        if names:
            yield from (kind, "-" * len(kind), "")
        for name in names:
            yield from described(f"{title}.{name}", getattr(module, name), homes)
            yield ""


def described(name: str, value: Any, homes: dict[type, str]) -> Iterator[str]:
    """Yield the directive that describes one public name, and what belongs into it."""
    if inspect.isclass(value) and homes[value] != name:
        yield from opening("class", name)
        yield f"   Is :py:class:`{homes[value]}`."
    elif stands_for_c(name, value):
        yield from of_c(name, value)
    elif inspect.isclass(value) and issubclass(value, enum.Enum):
        yield from (f".. autoclass:: {name}", "   :no-members:", "", *members(value))
    elif inspect.isclass(value):
        yield from (f".. autoclass:: {name}", "   :members:")
        yield f"   :inherited-members: {', '.join(FOREIGN_BASES)}"
    elif callable(value):
        yield f".. autofunction:: {name}"
    else:
        yield from opening("data", name)
        yield f"   A value of type ``{type(value).__name__}``."


def stands_for_c(name: str, value: object) -> bool:
    """Say whether a name of the bindings has a description of the short form."""
    text = inspect.getdoc(value) or ""
    short = set(SECTION.findall(text)) <= SHORT_FORM
    return name.startswith("gpumath.bindings.") and short and bool(C_NAMES.search(text))


def opening(kind: str, name: str, signature: str = "") -> Iterator[str]:
    """Yield the first lines of a description that autodoc does not write."""
    module, _, short = name.rpartition(".")
    yield f".. py:{kind}:: {short}{signature}"
    yield from (f"   :module: {module}", "   :no-contents-entry:", "")


def of_c(name: str, value: Any) -> Iterator[str]:
    """Describe what stands for a function, a struct or an enum of C."""
    summary, *sections = SECTION.split((inspect.getdoc(value) or "") + "\n")
    texts = dict(zip(sections[::2], sections[1::2], strict=True))
    if inspect.isclass(value):
        yield from opening("class", name)
    else:
        yield from opening("function", name, str(inspect.signature(value)))
    # Docutils would read |x| as a substitution.
    yield from textwrap.indent(summary.strip().replace("|", r"\|"), "   ").splitlines()
    rows: list[str] = []
    for section in ("Parameters", "Attributes", "Returns"):
        for head, body in ENTRY.findall(texts.get(section, "")):
            label = f"→ {head}" if section == "Returns" else head
            text = textwrap.dedent(body).strip().replace("``", "").splitlines()
            rows += entry(label, text)
    yield from ("", *(f"   {line}".rstrip() for line in literal(rows)))
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        yield from textwrap.indent("\n".join(members(value)), "   ").splitlines()
    for error, when in ENTRY.findall(texts.get("Raises", "")):
        yield from ("", f"   Raises :py:exc:`{error}`: {' '.join(when.split())}")
    notes = re.sub(r" See\s+(https\S+)", r" `NVIDIA's pages <\1>`__", texts.get("Notes", ""))
    yield from ("", *textwrap.indent(notes.strip(), "   ").splitlines())


def entry(label: str, text: list[str]) -> list[str]:
    """Return the lines of one parameter: on one line if there is space, else below its name."""
    if len(text) == 1 and len(label) < 32:
        return [f"{label:<32}{text[0]}"]
    return [label, *(f"    {line}" for line in text)]


def members(value: type[enum.Enum]) -> list[str]:
    """Return the members of an enum, one a line."""
    return literal([f"{key} = {item.value!r}" for key, item in value.__members__.items()])


def literal(rows: list[str]) -> list[str]:
    """Return a block of lines that stay as they are."""
    if not rows:
        return []
    return [".. code-block:: text", "   :class: c-table", "", *(f"   {row}" for row in rows), ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.add_domain(CNames)
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
