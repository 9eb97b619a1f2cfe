"""Rules that do not fit the facts are refused, each with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpumath_codegen import api, emit_python, model, names

FACTS = (
    [
        api.Function("toyGo", "toyGo", "toyStatus", "enum toyStatus", [], "1.0", "1.0"),
        api.Function(
            "toyPick",
            "toyPick",
            "toyStatus",
            "enum toyStatus",
            [api.Parameter("where", "void *", "void*")],
            "1.0",
            "1.0",
        ),
    ],
    [api.Enum("toyStatus", [api.Member("TOY_SUCCESS", 0, "1.0", "1.0")])],
)
RULES = """
title = "Toy"
docs = "https://example.org/"
prefix = "toy"
status = "toyStatus"
error = "ToyError"
[summary]
toyGo = "Go."
toyPick = "Pick."
[enum.toyStatus]
prefix = "TOY_"
doc = "Statuses."
"""


def load(root: Path, rules: str, functions: list[api.Function] | None = None) -> model.Library:
    for folder in ("api", "rules"):
        (root / folder).mkdir()
    api.write(root / "api" / "toy.txt", "toy", api.Api(functions or FACTS[0], FACTS[1], []))
    (root / "rules" / "toy.toml").write_text(rules)
    return model.load(root, "toy")


def test_plain_rules_fit(tmp_path: Path) -> None:
    library = load(tmp_path, RULES)
    assert [f.name for f in library.functions] == ["go", "pick"]


def test_members_of_older_headers_follow_the_others(tmp_path: Path) -> None:
    library = load(tmp_path, f"{RULES}older = {{ OLD = 0, GONE = 7 }}")
    text = emit_python.enums(library)
    assert "    SUCCESS = 0\n    # Only headers before CUDA 12 have these.\n    OLD = 0\n" in text
    assert "    GONE = 7\n" in text
    (tmp_path / "again").mkdir()
    with pytest.raises(SystemExit, match="headers that were read have SUCCESS"):
        load(tmp_path / "again", f"{RULES}older = {{ SUCCESS = 0 }}")


def test_an_enum_that_another_module_has_is_left_out(tmp_path: Path) -> None:
    elsewhere = RULES.replace('prefix = "TOY_"\ndoc = "Statuses."', 'skip = "Module base has it."')
    library = load(tmp_path, 'status_from = "base"\n' + elsewhere)
    assert library.enums == []
    assert [f.returns for f in library.functions] == ["status", "status"]


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        (RULES.replace('toyGo = "Go."', ""), "toyGo: no summary"),
        (RULES + '[function.toyGone]\nskip = "x"', "no header declares: toyGone"),
        (RULES + '[function.toyPick]\nroles = { where = "out" }', "without a reason"),
        (RULES + '[function.toyPick]\nroles = { who = "out" }\nreason = "x"', "lacks: who"),
        (RULES + '[function.toyPick]\nroles = { where = "seq n" }\nreason = "x"', "no parameter n"),
        (RULES + '[function.toyPick]\nroles = { where = "both" }\nreason = "x"', "no role both"),
        (RULES.replace("[enum.toyStatus]", "[enum.toyOther]"), "enums without a rule"),
        (RULES.replace('status = "toyStatus"', 'status = "toyOops"'), "status toyOops is no enum"),
        (RULES.replace('prefix = "TOY_"', 'prefix = "TOY_S_"'), "no name for TOY_SUCCESS"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, rules: str, complaint: str) -> None:
    with pytest.raises(SystemExit, match=complaint):
        load(tmp_path, rules)


def test_two_signatures_of_a_name_are_refused(tmp_path: Path) -> None:
    twice = api.Function(
        "toyGo",
        "toyGo_v2",
        "toyStatus",
        "enum toyStatus",
        [api.Parameter("n", "int", "i32")],
        "2.0",
        "2.0",
    )
    rules = RULES.replace('toyGo = "Go."', '"toyGo.*" = "Go."')
    with pytest.raises(SystemExit, match=r"more than one signature.*go"):
        load(tmp_path, rules, [*FACTS[0], twice])


def test_more_parameters_than_the_call_layer_holds_are_refused(tmp_path: Path) -> None:
    parameters = [api.Parameter(f"p{i}", "int", "i32") for i in range(33)]
    long = api.Function("toyGo", "toyGo", "toyStatus", "enum toyStatus", parameters, "1.0", "1.0")
    with pytest.raises(SystemExit, match="33 parameters"):
        load(tmp_path, RULES, [long, FACTS[0][1]])


def test_by_value_structs_and_complex_numbers_have_shapes(tmp_path: Path) -> None:
    by_value = [
        api.Parameter("extent", "toyExtent", "struct 24.8"),
        api.Parameter("tol", "cuComplex", "c64"),
        api.Parameter("mu", "cuDoubleComplex", "c128"),
    ]
    function = api.Function("toyGo", "toyGo", "toyStatus", "enum toyStatus", by_value, "1.0", "1.0")
    library = load(tmp_path, RULES, [function, FACTS[0][1]])
    assert [f.shape for f in library.functions] == ["i_s24a8xz", "i_l"]


def family(*names_: str) -> list[api.Function]:
    return [api.Function(n, n, "toyStatus", "enum toyStatus", [], "1.0", "1.0") for n in names_]


def test_expressions_serve_a_family(tmp_path: Path) -> None:
    summaries = """keep_gil = ["toy[DS]dot"]
[summary]
"toy(?P<T>[SD])dot(_64)?" = "Dot product, {T}."
toySdot = "By its own name."
"""
    head, _, rest = RULES.partition("[summary]")
    rules = head + summaries + rest[rest.index("[enum") :]
    library = load(tmp_path, rules, family("toySdot", "toyDdot", "toyDdot_64"))
    assert {f.name: (f.doc, f.keep_gil) for f in library.functions} == {
        "sdot": ("By its own name.", True),
        "ddot": ("Dot product, double precision.", True),
        "ddot_64": ("Dot product, double precision. 64-bit sizes.", False),
    }


def test_two_expressions_for_one_function_are_refused(tmp_path: Path) -> None:
    rules = RULES.replace('toyGo = "Go."', '"toyG." = "Go."\n"toy.o" = "Go."')
    with pytest.raises(SystemExit, match="toyGo: both"):
        load(tmp_path, rules)


def test_variants_of_a_signature_are_told_apart(tmp_path: Path) -> None:
    def variant(symbol: str, since: str, count: int) -> api.Function:
        parameters = [api.Parameter(f"p{i}", "int", "i32") for i in range(count)]
        return api.Function(
            "toyGo", symbol, "toyStatus", "enum toyStatus", parameters, since, since
        )

    rules = RULES.replace('toyGo = "Go."', '"toyGo.*" = "Go."') + (
        '[function.toyGo_v2]\nname = "go_v2"\nreason = "x"\n'
        '[function."toyGo@1.0"]\nname = "_go_1"\nversions = ["", "2.1"]\nreason = "x"\n'
    )
    functions = [
        variant("toyGo", "1.0", 0),
        variant("toyGo", "2.0", 1),
        variant("toyGo_v2", "1.0", 2),
    ]
    library = load(tmp_path, rules, [*functions, FACTS[0][1]])
    assert {f.name: (len(f.parameters), f.versions) for f in library.functions} == {
        "_go_1": (0, ("", "2.1")),
        "go": (1, ("", "")),
        "go_v2": (2, ("", "")),
        "pick": (1, ("", "")),
    }


@pytest.mark.parametrize(
    ("c_name", "python_name"),
    [
        ("ExecC2C", "exec_c2c"),
        ("XtExecDescriptorD2Z", "xt_exec_descriptor_d2z"),
        ("XtSetGPUs", "xt_set_gpus"),
        ("nGPUs", "n_gpus"),
        ("MemcpyHtoDAsync", "memcpy_htod_async"),
        ("DeviceGetPCIBusId", "device_get_pci_bus_id"),
        ("MemsetD8Async", "memset_d8_async"),
        ("CtxGetCurrent", "ctx_get_current"),
        ("GetSizeMany64", "get_size_many64"),
        ("lto_callback_fatbin", "lto_callback_fatbin"),
    ],
)
def test_function_names(c_name: str, python_name: str) -> None:
    assert names.snake_case(c_name) == python_name
