"""Every function with every argument zero, in the real libraries: an exception or success.

Where a library would crash on a null handle, gpumath has to refuse it. The calls run in processes
of their own; the one that a process dies in is named, and the rest go on in the next process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpumath_codegen import model
from tests.helpers.cuda_wheels import SETTINGS
from tests.helpers.every_function import specification
from tests.helpers.processes import arguments_of, with_tests
from tests.helpers.repository import ROOT, require_checkout
from tests.helpers.whole_libraries import file_of, folder

CODEGEN = ROOT / "codegen"
MODULES = [m for m in model.libraries(CODEGEN) if m != "driver"] if CODEGEN.is_dir() else []


def sweep(module: str, cuda_major: int, tmp_path: Path) -> tuple[dict[str, int], list[str]]:
    """Call all functions; return how often what came out, and the names of those that crash."""
    todo = [(f["name"], f["inputs"]) for f in specification(model.load(CODEGEN, module).functions)]
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    home = str(Path(__import__("gpumath.bindings").bindings.__file__).parents[2])
    # A GPU would turn some of the calls into work; and what is asked is how the libraries refuse.
    environment |= {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": home}
    counts: dict[str, int] = {}
    crashed = []
    progress = tmp_path / "progress"
    while todo:
        progress.write_text("")
        (tmp_path / "work.json").write_text(json.dumps(todo))
        work = (module, str(tmp_path / "work.json"), str(progress), str(folder(cuda_major)))
        done = subprocess.run(
            [sys.executable, "-P", *arguments_of("zeros.sweep", *work)],
            env=with_tests(environment),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        names = []
        for line in progress.read_text().splitlines():
            if line.startswith(" "):
                counts[line.strip()] = counts.get(line.strip(), 0) + 1
            else:
                names.append(line)
        if done.returncode == 0:
            break
        assert names, done.stderr
        crashed.append(f"{names[-1]}: {done.returncode}: {done.stderr[-200:]}")
        todo = todo[[name for name, _ in todo].index(names[-1]) + 1 :]
    return counts, crashed


@pytest.mark.parametrize("cuda_major", [12, 13])
@pytest.mark.parametrize("module", MODULES)
def test_zeros_never_crash(module: str, cuda_major: int, tmp_path: Path) -> None:
    require_checkout()
    file_of(module, cuda_major)
    counts, crashed = sweep(module, cuda_major, tmp_path)
    print(counts)
    assert crashed == []
    assert {*counts} <= {
        "success",
        "ValueError",
        "FunctionNotFoundError",
        "LibraryNotFoundError",
        next(error for error in (model.load(CODEGEN, module).error,)),
    }
    assert "LibraryNotFoundError" not in counts
    assert sum(counts.values()) >= len(model.load(CODEGEN, module).functions)
