"""Every function and enum of every module: signatures, documentation, hostile arguments."""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from gpumath_codegen import model
from tests.helpers.cuda_wheels import in_fresh_process
from tests.helpers.every_function import NO_LIBRARIES, specification
from tests.helpers.processes import needs_refused_memory
from tests.helpers.repository import ROOT, require_checkout

CODEGEN = ROOT / "codegen"
MODULES = model.libraries(CODEGEN) if CODEGEN.is_dir() else []


@pytest.fixture(autouse=True)
def _checkout() -> None:
    require_checkout()


@functools.cache
def library(module: str) -> model.Library:
    return model.load(CODEGEN, module)


def rows(module: str) -> Any:
    return importlib.import_module(f"gpumath.bindings._core.{module}")


def facade(module: str) -> Any:
    return importlib.import_module(f"gpumath.bindings.{module}")


def specified(module: str, folder: Path) -> str:
    """Write the specification of a module's functions into a file, and return its path."""
    path = folder / f"{module}.json"
    path.write_text(json.dumps(specification(library(module).functions)))
    return str(path)


@pytest.mark.parametrize("module", MODULES)
def test_signatures_and_documentation(module: str) -> None:
    native = rows(module)
    public = facade(module)
    for f in library(module).functions:
        for place in (native, public):
            if place is public and f.name.startswith("_"):
                continue
            function = getattr(place, f.name)
            assert callable(function)
            parameters = inspect.signature(function).parameters
            assert [*parameters] == [p.name for p in f.inputs], f.name
            assert inspect.isroutine(function)
            text = inspect.getdoc(function) or ""
            summary, _, rest = text.partition("\n")
            own = re.sub(r"(?<=\.) 64-bit sizes\.$", "", summary)
            assert re.fullmatch(r"\S.{5,110}\.", own), f"{f.name}: {summary}"
            assert f"``{f.c_name}``" in rest, f.name
            sections = ["Parameters"] * bool(f.inputs) + ["Notes"]
            if f.outputs or f.returns not in ("status", "void"):
                sections.append("Returns")
            if f.returns == "status":
                sections.append("Raises")
            for section in sections:
                assert re.search(rf"\n{section}\n-{{{len(section)}}}\n", text), (f.name, section)
            for p in f.inputs:
                assert re.search(rf"\b{p.name}\b.* : ", rest), (f.name, p.name)


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_those_of_the_table(module: str) -> None:
    lib = library(module)
    public = facade(module)
    names = {name for name in dir(public) if not name.startswith("_")}
    wanted = {f.name for f in lib.functions if not f.name.startswith("_")}
    wanted |= {e.name for e in lib.enums} | {"check_status"}
    assert wanted <= names
    for name in wanted:
        assert getattr(public, name) is not None


@pytest.mark.parametrize("module", MODULES)
def test_enums(module: str) -> None:
    public = facade(module)
    for e in library(module).enums:
        class_ = getattr(public, e.name)
        assert issubclass(class_, enum.IntFlag if e.flags else enum.IntEnum)
        assert {n: int(v) for n, v in class_.__members__.items()} == {
            m.name: m.value for m in e.members
        } | e.older
        assert e.c_name in (class_.__doc__ or "")
        for member in class_:
            assert class_(int(member)) is member
            assert member == int(member)
            assert importlib.import_module(class_.__module__).__dict__[e.name] is class_


@pytest.mark.parametrize("module", MODULES)
def test_every_wrong_argument_is_refused(module: str, tmp_path: Path) -> None:
    arguments = (module, specified(module, tmp_path))
    target = "every_function.wrong_arguments"
    assert in_fresh_process(target, *arguments, settings=NO_LIBRARIES) == []


@pytest.mark.parametrize("module", MODULES)
def test_random_hostile_arguments_end_in_exceptions(module: str, tmp_path: Path) -> None:
    needs_refused_memory()  # for the numbers of a range(2**62)
    seed = random.randrange(2**32)
    print("seed", seed)
    arguments = (module, specified(module, tmp_path), seed)
    target = "every_function.hostile_arguments"
    result = in_fresh_process(target, *arguments, settings=NO_LIBRARIES)
    assert result["failures"] == []
    assert sum(result["counts"].values()) == 10_000
    assert result["counts"]["TypeError"] > 100
    assert result["counts"]["LibraryNotFoundError"] > 100
