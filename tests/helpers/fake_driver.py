"""A libcuda made of the facts: every function writes down its arguments and fills its outputs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gpumath_codegen import api

_PRELUDE = """
#include <stdio.h>
#include <string.h>
typedef struct { int type, id; } S8;
typedef struct { char bytes[64]; } S64;
static char record_[4096];
const char *recorder_text(void) { return record_; }
static void start(const char *name) { strcpy(record_, name); }
static void number(long long value) { sprintf(record_ + strlen(record_), " %lld", value); }
static void real(double value) { sprintf(record_ + strlen(record_), " %g", value); }
static void text(const char *value) { sprintf(record_ + strlen(record_), " %s", value); }
/* Addresses below are what tests pass; anything above is memory that may be read or written. */
#define GIVEN(pointer) ((unsigned long)(pointer) < 65536)
"""
_C_TYPE = {
    "i8": "signed char",
    "u8": "unsigned char",
    "u16": "unsigned short",
    "i32": "int",
    "u32": "unsigned",
    "i64": "long long",
    "u64": "unsigned long long",
    "f32": "float",
}


def build(folder: Path, functions: list[api.Function]) -> Path:
    """Compile a library with these C functions, each symbol once, or skip."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler named cc")
    bodies = {f.symbol: _body(f) for f in functions}
    source = folder / "fake_driver.c"
    source.write_text(_PRELUDE + "".join(bodies.values()))
    library = folder / "libcuda.so.1"
    command = [compiler, "-shared", "-fPIC", "-w", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    return library


def written(index: int, kind: str) -> float | str:
    """Return what the function writes to the output that is its parameter number `index`."""
    if kind in ("const i8**", "i8**"):
        return f"text {index}"
    return index + 0.5 if kind.startswith("f32") else 1000 + index


def _body(function: api.Function) -> str:
    parameters = ", ".join(f"{_type(p.kind)} p{i}" for i, p in enumerate(function.parameters))
    lines = "".join(_line(i, p.kind) for i, p in enumerate(function.parameters))
    return (
        f"\nint {function.symbol}({parameters or 'void'}) {{\n"
        f'    start("{function.symbol}");\n{lines}    return 0;\n}}\n'
    )


def _type(kind: str) -> str:
    if kind in ("struct 8.4", "struct 64.1"):
        return {"struct 8.4": "S8", "struct 64.1": "S64"}[kind]
    if kind.startswith("enum ") and not kind.endswith("*"):
        return "int"
    return _C_TYPE.get(kind, "void *")


def _line(index: int, kind: str) -> str:
    name = f"p{index}"
    if kind == "struct 8.4":
        return f"    number({name}.type); number({name}.id);\n"
    if kind == "struct 64.1":
        return f"    number({name}.bytes[0]); number({name}.bytes[63]);\n"
    if kind == "f32":
        return f"    real({name});\n"
    if kind == "const i8*":
        return f"    text({name});\n"
    if _type(kind) != "void *":
        return f"    number({name});\n"
    pointee = kind.removeprefix("const ").removesuffix("*")
    target = "int" if pointee.startswith("enum ") else _C_TYPE.get(pointee, "long long")
    if kind.startswith("const ") and not pointee.endswith("*"):
        # An array that C reads: its first two elements, or its address if it is none.
        items = f"number((({target} *){name})[0]); number((({target} *){name})[1]);"
        return f"    if (GIVEN({name})) number((long long){name}); else {{ {items} }}\n"
    value = written(index, kind)
    literal = f'(long long)"{value}"' if isinstance(value, str) else str(value)
    return (
        f"    if (GIVEN({name})) number((long long){name});"
        f" else *({target} *){name} = ({target}){literal};\n"
    )
