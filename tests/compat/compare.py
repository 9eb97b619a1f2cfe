"""Run every script with the packages that are named, and compare what they wrote.

    python tests/compat/compare.py --packages nvmath gpumath --library cupy

Results are compared with NumPy's in double precision and, given two packages, with each other:
numbers to rounding, everything else exactly. The exit status is the number of scripts that failed.
"""

from __future__ import annotations

import argparse
import secrets
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

HERE = Path(__file__).resolve().parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", nargs="+", default=["nvmath", "gpumath"])
    parser.add_argument("--library", choices=["numpy", "cupy", "torch"], default="cupy")
    parser.add_argument("--execution", choices=["cpu", "cuda"])
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    parser.add_argument("scripts", nargs="*", help="names such as fft_keys; the host's by default")
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}, {chosen.library}, execution {chosen.execution or 'default'}")
    named = [HERE / f"{name}.py" for name in chosen.scripts]
    areas = ("fft", "linalg", "advanced")
    paths = named or sorted(path for area in areas for path in HERE.glob(f"{area}_*.py"))
    failures = 0
    with TemporaryDirectory() as folder:
        for path in paths:
            problems, count = check(path, Path(folder), chosen)
            failures += bool(problems)
            verdict = "differences" if problems else "agree" if count else "nothing to compare"
            print(f"{path.stem}: {count} results, {verdict}")
            for problem in problems:
                print(f"    {problem}")
    return failures


def check(path: Path, folder: Path, chosen: argparse.Namespace) -> tuple[list[str], int]:
    """Run one script with each package; what is wrong, and how many results there are."""
    results, problems = {}, []
    for package in chosen.packages:
        output = folder / f"{path.stem}-{package}.npz"
        command = [sys.executable, str(path), "--package", package, "--library", chosen.library]
        command += ["--seed", str(chosen.seed), "--output", str(output)]
        if chosen.execution:
            command += ["--execution", chosen.execution]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            problems.append(f"{package} failed: {lines[-1]}")
            continue
        with np.load(output) as file:
            results[package] = dict(file)
    problems += without_refusals(results)
    for package, found in results.items():
        for name, value in found.items():
            if expected := [found[f"{name}.expected"]] if f"{name}.expected" in found else []:
                problems += differences(f"{package} and NumPy: {name}", value, expected[0])
    if len(results) == 2:
        (one, first), (other, second) = results.items()
        for name in first.keys() & second.keys():
            if not name.endswith(".expected"):
                problems += differences(f"{one} and {other}: {name}", first[name], second[name])
                if first[name].dtype != second[name].dtype:
                    problems.append(f"{name}: {first[name].dtype} and {second[name].dtype}")
    names = {name for found in results.values() for name in found}
    return problems, sum(not name.endswith(".expected") for name in names)


def without_refusals(results: dict[str, dict[str, np.ndarray]]) -> list[str]:
    """Take out what a package refuses, and return what gpumath alone refuses."""
    refused = {
        package: {name: str(found.pop(name)) for name in list(found) if is_refused(found[name])}
        for package, found in results.items()
    }
    others = {name for one, names in refused.items() if one != "gpumath" for name in names}
    own = refused.get("gpumath", {})
    problems = [f"gpumath, {why}: {name}" for name, why in own.items() if name not in others]
    # What belongs to a refused result is not there either: its outputs, and what was expected.
    known = tuple(f"{one}{end}" for one in {*own, *others} for end in (" ", "."))
    names = [{n for n in found if not f"{n} ".startswith(known)} for found in results.values()]
    for name in sorted(set().union(*names) - set.intersection(*names)) if names else []:
        problems.append(f"only one has {name}")
    return problems


def is_refused(value: np.ndarray) -> bool:
    return value.dtype.kind == "U" and value.ndim == 0 and str(value).startswith("refused: ")


def differences(title: str, first: np.ndarray, second: np.ndarray) -> list[str]:
    """Say what differs, if anything."""
    if first.shape != second.shape:
        return [f"{title}: shapes {first.shape} and {second.shape}"]
    if first.dtype.kind not in "fc":
        same = np.array_equal(first, second)
        return [] if same else [f"{title}: {first.tolist()} and {second.tolist()}"]
    coarser = max(np.finfo(first.dtype).eps, np.finfo(second.dtype).eps)
    if "half" in title:
        coarser = np.finfo(np.float16).eps
    scale = np.linalg.norm(second.ravel())
    error = np.linalg.norm((first.astype("c16") - second).ravel()) / (scale or 1)
    allowed = 50 * coarser
    return [] if error <= allowed else [f"{title}: relative error {error:.1e} > {allowed:.1e}"]


if __name__ == "__main__":
    sys.exit(main())
