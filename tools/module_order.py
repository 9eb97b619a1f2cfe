"""Check the order of modules inside the Rust core and inside the host package.

A module may use itself, and the modules of the layers before its own. `python -m
tools.module_order` prints every breach and fails if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.layers import imports_of
from tools.rust_source import code_only, line_of, without_tests

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class ModuleOrder:
    """The modules directly below a folder, in the order in which they may use each other.

    Modules of one layer do not use each other. A name that no file has yet does no harm.
    """

    folder: str
    layers: tuple[tuple[str, ...], ...]
    also: tuple[tuple[str, str], ...] = ()
    """Pairs (user, used) that are allowed against the order."""


CORE = ModuleOrder(
    "crates/gpumath-core/src",
    (
        ("error", "version", "process"),
        ("loader",),
        ("status",),
        ("device",),
        ("tensor", "parallel"),
        ("kernels",),
        ("memory",),
        ("convolution",),
        ("handle",),
        ("operation",),
        ("cudarc",),
        # Kernels that several operations use.
        ("cpu_blas", "lane_fft"),
        # One module for each operation.
        ("fft", "matmul", "structured_matmul", "linalg", "random", "sparse", "contraction"),
        # Steps around Fourier transforms, and lines that the CPU transforms one by one.
        ("cosine",),
    ),
    # A product of general matrices is a case of both, and cuBLASLt computes it best.
    also=(("structured_matmul", "matmul"),),
)
HOST = ModuleOrder(
    "packages/gpumath-host/src/gpumath",
    (
        ("_host",),
        ("memory",),
        ("fft", "linalg", "sparse", "tensor", "random"),
        ("bench", "compat", "torch"),
    ),
)

# A use of another module: (line, name of the module).
Use = tuple[int, str]


def core_breaches(root: Path, order: ModuleOrder = CORE) -> list[str]:
    """Describe every path in the Rust core that names a module of a later layer."""
    source = root / order.folder
    found: list[str] = []
    for path in sorted(source.rglob("*.rs")):
        parts = module_parts(path.relative_to(source))
        # The crate's root names all modules; tests may use anything.
        if parts and not parts[-1].endswith("tests"):
            found += breaches(order, root, path, parts[0], rust_uses(path.read_text(), len(parts)))
    return found


def host_breaches(root: Path, order: ModuleOrder = HOST) -> list[str]:
    """Describe every import in the host package that names a module of a later layer."""
    source = root / order.folder
    found: list[str] = []
    for path in sorted(source.rglob("*.py")):
        parts = module_parts(path.relative_to(source))
        uses = [
            (line, name.split(".")[1])
            for line, name in imports_of(path.read_text())
            if name.startswith("gpumath.")
        ]
        found += breaches(order, root, path, parts[0], uses)
    return found


def breaches(
    order: ModuleOrder, root: Path, path: Path, user: str, uses: list[Use]
) -> Iterator[str]:
    """Describe what one file of the module `user` does against the order."""
    place = path.relative_to(root).as_posix()
    ranks = {name: rank for rank, layer in enumerate(order.layers) for name in layer}
    if user not in ranks:
        yield f"{place}: the module {user} is in no layer of tools/module_order.py"
        return
    for line, used in uses:
        # Other names are those of items, or of modules of other packages.
        if used in ranks and used != user and (user, used) not in order.also:
            if ranks[used] == ranks[user]:
                yield f"{place}:{line}: {user} uses {used}, which is in the same layer"
            elif ranks[used] > ranks[user]:
                yield f"{place}:{line}: {user} uses {used}, which is in a later layer"


def module_parts(path: Path) -> list[str]:
    """Return the names of a file's module below the crate's or the package's root."""
    parts = list(path.with_suffix("").parts)
    return parts[:-1] if parts[-1] in ("mod", "lib", "__init__") else parts


def rust_uses(source: str, depth: int) -> list[Use]:
    """List what a Rust file names below the crate's root, outside of its test modules.

    `depth` is how many modules deep the file is: that many `super` lead to the crate's root.
    """
    code = without_tests(code_only(source))
    root = rf"(?:\bcrate|(?<!::)\b(?:super\s*::\s*){{{depth - 1}}}super)\s*::\s*"
    found: list[Use] = []
    for path in re.finditer(root + r"(?:(\w+)|\{)", code):
        names = [path[1]] if path[1] else group_heads(code[path.end() :])
        found += [(line_of(code, path.start()), name) for name in names]
    return found


def group_heads(code: str) -> list[str]:
    """List the first name of each path in the rest of a group `{a::b, c::{d, e}, f}`."""
    heads: list[str] = []
    depth, first = 0, True
    for token in re.findall(r"\w+|[{},]", code):
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth < 0:
                break
        elif token == ",":
            first = first or depth == 0
        elif first:
            heads.append(token)
            first = False
    return heads


def main() -> int:
    """Print the breaches; return 1 if there are any."""
    found = [*core_breaches(ROOT), *host_breaches(ROOT)]
    for breach in found:
        print(breach)
    print(f"module order: {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
