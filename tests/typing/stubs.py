"""Run mypy.stubtest on the extension module and each module nested in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gpumath.bindings
from gpumath.bindings import _core

NESTED = sorted(
    name for name in sys.modules if name.startswith(f"{_core.__name__}.") and sys.modules[name]
)

# Every nested module has a stub, and every stub a nested module.
stubs = Path(gpumath.bindings.__path__[0]) / "_core"
stub_names = {path.stem for path in stubs.glob("*.pyi")} - {"__init__"}
module_names = {name.rpartition(".")[2] for name in NESTED}
if stub_names != module_names:
    raise SystemExit(f"stubs {sorted(stub_names)} are not the modules {sorted(module_names)}")

allowed = str(Path(__file__).with_name("stubtest-allowlist.txt"))
command = [sys.executable, "-P", "-m", "mypy.stubtest", "--allowlist", allowed, *NESTED]
raise SystemExit(subprocess.run(command, check=False).returncode)
