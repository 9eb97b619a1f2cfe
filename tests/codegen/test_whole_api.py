"""Every function and enum of the math libraries, against the facts that were measured once.

The tables in frozen/ were read from the headers and the exported symbols of six CUDA releases by
another program. They hold the names that users rely on: a name that changes is a bug.
"""

from __future__ import annotations

import csv
import functools
import re
from pathlib import Path

import pytest

from gpumath_codegen import api, model
from tests.helpers.repository import ROOT, require_checkout

CODEGEN = ROOT / "codegen"
FROZEN = Path(__file__).parent / "frozen"
RELEASES = ["12.0", "12.4", "12.9", "13.0", "13.2", "13.5"]
LIBMATHDX_RELEASES = ["0.3.1", "0.3.2", "0.4.1", "0.4.2"]
MODULES = (
    "cublas", "cublasLt", "cublasXt", "cufft", "curand", "cusolver", "cusolverDn", "cusolverMg",
    "cusolverRf", "cusolverSp", "cusparse", "mathdx",
)  # fmt: skip

# Whatever takes an address in the table may take more here, and still takes the address.
WIDER = {
    "ptr": {"ptr", "seq", "nested", "texts", "bytes", "buffer", "logger"},
    "str": {"str", "str_or_ptr"},
    "seq": {"seq", "texts", "bytes", "buffer"},
}

# Functions that have no Python name of their own, as ``module.name``, and why.
ABSENT = {
    "cufft.xt_set_callback": "device callbacks work only with the static library",
}

# Functions of the table that a wrapper in the module's facade makes from another function.
WRAPPED = {
    "cublasLt.matmul_algo_get_ids": "_matmul_algo_get_ids: returns a tuple",
    "curand.get_direction_vectors32": "_get_direction_vectors32: returns an array",
    "curand.get_direction_vectors64": "_get_direction_vectors64: returns an array",
    "curand.get_scramble_constants32": "_get_scramble_constants32: returns an array",
    "curand.get_scramble_constants64": "_get_scramble_constants64: returns an array",
    "cusparse.sp_gemm_estimate_memory_buffersize2": "_sp_gemm_estimate_memory: first call",
    "cusparse.sp_gemm_estimate_memory_buffersize3": "_sp_gemm_estimate_memory: second call",
    "cusparse.sp_mv_op_buffer_size": "_sp_mv_op_buffer_size: signature of cuSPARSE 12.8",
    "cusparse.sp_mv_op_create_descr": "_sp_mv_op_create_descr: signature of cuSPARSE 12.8",
}

# Parameters that are decided otherwise: what they are here, by a pattern of module.name.parameter.
# The table's own decision came from the C type and the name alone.
DIFFERENT = {
    r"cublas\.get_logger_callback\.user_callback": ("out.ptr", "C writes it"),
    r"cublasXt\.max_boards\.nb_gpu_boards": ("out.i32", "C writes it"),
    r"cusolverDn\.[sdcz]potr[fs]_batched\.(aarray|a|b)": (
        "ptr",
        "an array in device memory, which no sequence can stand for",
    ),
    r"cusolverDn\.getr[fs]\.(ipiv|info)": ("ptr", "in device memory"),
    r"cusolverMg\..*\.(h_)?info": ("out.i32", "C writes it to host memory"),
    r"cusolverRf\.(access_bundled|extract_bundled|extract_split)\w*\.(h_)?nnz_\w": (
        "out.i32",
        "C writes it to host memory",
    ),
    r"cusolverRf\.(access_bundled|extract_bundled|extract_split)\w*\.(h_)?(m\w|csr_\w+)": (
        "out.ptr",
        "C allocates the array and writes its address",
    ),
    r"cusolverRf\.batch_zero_pivot\.position": ("ptr", "one for every matrix of the batch"),
    r"mathdx\.mathdx_get_commit\.commit": ("out.str", "a string"),
}

# Where the table's first release is wrong.
SINCE = {
    r"mathdx\.nvcompdx_(?!finalize_codes)\w+": ("0.4.1", "its header came with libmathdx 0.4.1"),
}


@pytest.fixture(autouse=True)
def _checkout() -> None:
    require_checkout()


@functools.cache
def rows(name: str) -> list[dict[str, str]]:
    with (FROZEN / name).open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@functools.cache
def library(module: str) -> model.Library:
    return model.load(CODEGEN, module)


def table(name: str, module: str) -> list[dict[str, str]]:
    return [row for row in rows(name) if row["module"] == module]


def found_role(parameter: model.Parameter) -> str:
    if parameter.role == "in":
        return parameter.kind
    return f"out.{parameter.kind}" if parameter.role == "out" else parameter.role


def first(table_: dict[str, tuple[str, str]], text: str, otherwise: str) -> str:
    matches = [value for pattern, (value, _) in table_.items() if re.fullmatch(pattern, text)]
    assert len(matches) < 2, text
    return matches[0] if matches else otherwise


@pytest.mark.parametrize("module", MODULES)
def test_functions_have_their_names_and_symbols(module: str) -> None:
    functions = {f.name: f for f in library(module).functions}
    assert table("functions.tsv", module)
    wrong = []
    for row in table("functions.tsv", module):
        place = f"{module}.{row['name']}"
        name = row["name"]
        if place in ABSENT:
            assert name not in functions
            continue
        if place in WRAPPED:
            assert name not in functions
            name = WRAPPED[place].partition(":")[0]
        f = functions[name]
        found = (f.c_name, f.symbol, f.since, f.until)
        since = first(SINCE, place, row["since"])
        if place.startswith("cusparse.sp_mv_op_") and place in WRAPPED:
            # The signature changed: this one came with CUDA 13.5, the older has a row of its own.
            assert functions[f"{name}_12_7"].since == since
            since = "13.5"
        expected = (row["c_name"], row["symbol"], since, row["until"])
        if found != expected:
            wrong.append((place, found, expected))
    assert wrong == []


@pytest.mark.parametrize("module", MODULES)
def test_parameters_have_their_names_and_roles(module: str) -> None:
    functions = {f.name: f for f in library(module).functions}
    wrong = []
    used = set()
    for row in table("functions.tsv", module):
        place = f"{module}.{row['name']}"
        if place in ABSENT or place in WRAPPED:
            continue
        expected = [text.split(":", 1) for text in row["parameters"].split()]
        found = functions[row["name"]].parameters
        if [p.name for p in found] != [name for name, _ in expected]:
            wrong.append((place, [p.name for p in found], row["parameters"]))
            continue
        for parameter, (name, text) in zip(found, expected, strict=True):
            kind = re.fullmatch(r"((?:out\.)?\w+)(?:\.\w+)?", text)
            assert kind, text
            role, here = kind[1], f"{place}.{name}"
            if (other := first(DIFFERENT, here, "")) and other != role:
                used.add(here)
                allowed = {other}
            else:
                allowed = WIDER.get(role, {role})
            if found_role(parameter) not in allowed:
                wrong.append((here, found_role(parameter), text))
    assert wrong == []
    # A difference that is none any more has to go.
    for pattern in DIFFERENT:
        if pattern.startswith(module + r"\."):
            assert any(re.fullmatch(pattern, here) for here in used), pattern


@pytest.mark.parametrize("module", MODULES)
def test_enum_parameters_name_their_enums(module: str) -> None:
    lib = library(module)
    c_names = {enum.name: enum.c_name for enum in lib.enums}
    functions = {f.name: f for f in lib.functions}
    wrong = []
    for row in table("functions.tsv", module):
        if (function := functions.get(row["name"])) is None:
            continue
        for parameter, text in zip(function.parameters, row["parameters"].split(), strict=True):
            kind = text.split(":", 1)[1].removeprefix("out.")
            enum = kind.partition(".")[2]
            # Enums of other modules are plain integers here.
            if enum in c_names.values() and c_names.get(parameter.enum) != enum:
                wrong.append((module, row["name"], parameter.name, parameter.enum, enum))
    assert wrong == []


@pytest.mark.parametrize("module", MODULES)
def test_what_functions_return(module: str) -> None:
    functions = {f.name: f for f in library(module).functions}
    for row in table("functions.tsv", module):
        if (function := functions.get(row["name"])) is None:
            continue
        expected = {
            "const char *": "str",
            "size_t": "u64",
            "unsigned int": "u32",
            "void": "void",
        }.get(row["returns"], "status")
        if row["returns"].startswith("cusparse") and row["returns"] != "cusparseStatus_t":
            expected = "i32"
        assert function.returns == expected, row["name"]


@pytest.mark.parametrize("module", MODULES)
def test_enums_have_their_names_and_values(module: str) -> None:
    found = {
        (enum.name, enum.c_name, member.name, member.c_name, member.value)
        for enum in library(module).enums
        for member in enum.members
    }
    expected = {
        (row["enum"], row["c_enum"], row["name"], row["c_name"], int(row["value"]))
        for row in table("enums.tsv", module)
        # Sentinels, whose values change with each release, are left out.
        if row["name"]
    }
    assert expected - found == set()
    enums = {row["c_enum"] for row in table("enums.tsv", module)}
    assert {entry for entry in found if entry[1] in enums} - expected == set()
    dropped = {row["c_name"] for row in table("enums.tsv", module) if not row["name"]}
    assert dropped & {entry[3] for entry in found} == set()


@pytest.mark.parametrize("module", MODULES)
def test_facts_say_which_libraries_export_what(module: str) -> None:
    releases = LIBMATHDX_RELEASES if module == "mathdx" else RELEASES
    facts = {f.symbol: f for f in api.read(CODEGEN / "api" / f"{module}.txt").functions}
    for row in table("functions.tsv", module):
        fact = facts[row["symbol"]]
        if fact.exported is None or row["name"].startswith("sp_mv_op_"):
            continue
        declared = range(releases.index(fact.since), releases.index(fact.until) + 1)
        expected = [releases[i] for i in declared if row["exported"][i] == "1"]
        assert fact.exported == expected, row["name"]


@pytest.mark.parametrize("module", model.libraries(CODEGEN) if CODEGEN.is_dir() else [])
def test_every_fact_is_bound_or_skipped_with_a_reason(module: str) -> None:
    lib = library(module)
    bound = [(f.c_name, f.symbol, f.since) for f in lib.functions]
    assert len(set(bound)) == len(bound)
    assert all(len(reason) > 10 for reason in lib.skipped.values())
    facts = api.read(CODEGEN / "api" / f"{module}.txt").functions
    assert len(facts) == len(bound) + len(lib.skipped)


def test_the_table_of_exceptions_names_what_exists() -> None:
    places = {f"{row['module']}.{row['name']}" for row in rows("functions.tsv")}
    assert {*ABSENT, *WRAPPED} <= places
    parameters = {
        f"{row['module']}.{row['name']}.{text.partition(':')[0]}"
        for row in rows("functions.tsv")
        for text in row["parameters"].split()
    }
    for pattern in DIFFERENT:
        assert any(re.fullmatch(pattern, place) for place in parameters), pattern
