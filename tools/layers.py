"""Check the layer rule: which part of the repository may use which other part.

`python -m tools.layers` prints every breach and fails if there is one.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class PythonLayer:
    """What the modules below a folder may import, beside the standard library.

    A name stands for the module and everything below it; the longest match of `allowed` and
    `forbidden` decides.
    """

    folder: str
    allowed: tuple[str, ...]
    forbidden: tuple[str, ...] = ()
    only_in: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Pairs (module, folders): the module may be imported below these folders and nowhere else."""
    lazily: tuple[str, ...] = ()
    """What functions and type checkers may import, but importing the module does not."""


@dataclass(frozen=True)
class CrateLayer:
    """The only dependencies that a crate's manifest may name."""

    manifest: str
    allowed: tuple[str, ...]


BINDINGS = "packages/gpumath-bindings/src/gpumath/bindings"
HOST = "packages/gpumath-host/src/gpumath"
DEVICE = "packages/gpumath-device/src/gpumath/device"

PYTHON_LAYERS = (
    PythonLayer(BINDINGS, ("gpumath.bindings",), lazily=("numpy",)),
    PythonLayer(
        HOST,
        (
            *("numpy", "cupy", "torch", "gpumath.bindings", "gpumath.fft", "gpumath.linalg"),
            *("gpumath.sparse", "gpumath.tensor", "gpumath.random", "gpumath.memory"),
            *("gpumath._host", "gpumath.bench", "gpumath.compat", "gpumath.torch", "cuda"),
            # Measurements beside them, and their plots.
            *("cupyx", "matplotlib", "nvmath"),
        ),
        forbidden=("gpumath.bindings._core", "gpumath.bindings._generated"),
        only_in=(
            ("cuda", (f"{HOST}/compat",)),
            ("cupy", (f"{HOST}/_host", f"{HOST}/bench")),
            # gpumath.torch is for PyTorch programs, and nothing imports it.
            ("torch", (f"{HOST}/_host", f"{HOST}/bench", f"{HOST}/torch")),
            *((name, (f"{HOST}/bench",)) for name in ("cupyx", "matplotlib", "nvmath")),
        ),
        # To compile callbacks written in Python, for narrow element types of NumPy arrays, for
        # programs that use SciPy, and to show the progress of long measurements.
        lazily=("gpumath.device", "ml_dtypes", "scipy", "tqdm"),
    ),
    PythonLayer(
        DEVICE,
        (
            *("cuda", "numba", "numba_cuda", "llvmlite", "numpy", "gpumath.bindings"),
            *("gpumath.device", "numba_cuda_mlir", "cffi"),
        ),
        forbidden=("gpumath.bindings._core", "gpumath.bindings._generated"),
    ),
    PythonLayer(
        "examples",
        (
            *("numpy", "cupy", "matplotlib", "numba", "torch", "gpumath"),
            *("_kernels", "_report"),
        ),
        forbidden=("gpumath._host", "gpumath.bindings._core", "gpumath.bindings._generated"),
    ),
)

CRATE_LAYERS = (
    CrateLayer("crates/gpumath-sys/Cargo.toml", ("libloading",)),
    CrateLayer(
        "crates/gpumath-core/Cargo.toml",
        ("cudarc", "gemm", "gpumath-sys", "half", "pulp", "rustfft", "realfft", "smallvec"),
    ),
    CrateLayer("examples/rust/Cargo.toml", ("cudarc", "gpumath-core")),
    CrateLayer(
        "packages/gpumath-bindings/rust/Cargo.toml",
        ("gpumath-core", "gpumath-sys", "pyo3", "smallvec"),
    ),
)


def imports_of(source: str, lazily: tuple[str, ...] = ()) -> list[tuple[int, str]]:
    """List the absolute module names that a file imports, with their lines.

    `from a import b` counts as `a.b`, because b may be a module; relative imports as ".". Left out
    is what `lazily` names, where a function or a type checker alone imports it.
    """
    found: list[tuple[int, str]] = []
    tree = ast.parse(source)
    typing_only = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test).endswith("TYPE_CHECKING")
        for node in block.body
    }
    late = typing_only | {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        # Type checkers bring typing_extensions themselves; it is never imported at run time.
        if (
            id(node) in typing_only
            and isinstance(node, ast.ImportFrom)
            and node.module == "typing_extensions"
        ):
            continue
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            prefix = "." if node.level else f"{node.module}."
            names = [prefix + alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and is_import_call(node):
            argument = node.args[0]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                names = [argument.value]
        line = getattr(node, "lineno", 0)  # all that import something have one
        found += [
            (line, name)
            for name in names
            if id(node) not in late or not any(covers(name, entry) for entry in lazily)
        ]
    return found


def is_import_call(node: ast.Call) -> bool:
    """Recognise `import_module("x")` and `__import__("x")`."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("import_module", "__import__") and bool(node.args)


def covers(module: str, entry: str) -> bool:
    """Say whether `module` is `entry` or lies below it."""
    return module == entry or module.startswith(f"{entry}.")


def python_breaches(root: Path, layers: tuple[PythonLayer, ...] = PYTHON_LAYERS) -> list[str]:
    """Describe every import that its layer forbids."""
    breaches: list[str] = []
    for layer in layers:
        for path in sorted((root / layer.folder).rglob("*.py")):
            place = path.relative_to(root).as_posix()
            for line, module in imports_of(path.read_text(), layer.lazily):
                reason = refusal(layer, place, module)
                if reason:
                    breaches.append(f"{place}:{line}: {module}: {reason}")
    return breaches


def refusal(layer: PythonLayer, place: str, module: str) -> str:
    """Return why `place` may not import `module`, or an empty string."""
    if module.startswith("."):
        return "imports are absolute in this repository"
    if module.split(".")[0] in sys.stdlib_module_names:
        return ""
    for restricted, folders in layer.only_in:
        if covers(module, restricted) and not any(place.startswith(f"{one}/") for one in folders):
            return f"only modules below {' and '.join(folders)} may import it"
    allowed = [entry for entry in layer.allowed if covers(module, entry)]
    forbidden = [entry for entry in layer.forbidden if covers(module, entry)]
    if max(map(len, allowed), default=0) > max(map(len, forbidden), default=0):
        return ""
    return f"not among what {layer.folder} may use"


def crate_breaches(root: Path, layers: tuple[CrateLayer, ...] = CRATE_LAYERS) -> list[str]:
    """Describe every dependency of a crate that its layer forbids; dev-dependencies are free."""
    breaches: list[str] = []
    for layer in layers:
        manifest = tomllib.loads((root / layer.manifest).read_text())
        tables = [manifest, *manifest.get("target", {}).values()]
        for table in tables:
            for section in ("dependencies", "build-dependencies"):
                for name in sorted(set(table.get(section, {})) - set(layer.allowed)):
                    breaches.append(f"{layer.manifest}: {name}: allowed are {layer.allowed}")
    return breaches


def main() -> int:
    """Print the breaches; return how many there are."""
    breaches = [*python_breaches(ROOT), *crate_breaches(ROOT)]
    for breach in breaches:
        print(breach)
    print(f"layers: {len(breaches)} breaches")
    return min(len(breaches), 1)


if __name__ == "__main__":
    raise SystemExit(main())
