"""The runner: `python -P -m tests.fuzz 10m [MODULE ...] [--seed N]`, from the checkout.

Each module gets the whole time, in a process of its own. With --seed, it makes that one attempt.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from gpumath._host.progress import with_progress

FOLDER = Path(__file__).resolve().parent
UNITS = {"s": 1, "m": 60, "h": 3600}
# An attempt that takes this many seconds hangs.
LONGEST_ATTEMPT = 120


def modules() -> list[str]:
    """Return the names of all modules that make attempts."""
    names = sorted(path.stem for path in FOLDER.glob("*.py"))
    return [name for name in names if not name.startswith(("_", "test_"))]


def seconds_of(text: str) -> float:
    """Read a duration such as ``"30s"``, ``"10m"`` or ``"2h"``."""
    unit = UNITS.get(text[-1], 1)
    return float(text.rstrip("smh")) * unit


def make_attempts(name: str, seconds: float, seed: int | None, log: str) -> None:
    """Call the module's function until the time is over; write each seed to the log before."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(seconds + LONGEST_ATTEMPT - 10)
    attempt = importlib.import_module(f"tests.fuzz.{name}").attempt
    start = time.monotonic()
    count = 0
    with open(log, "r+b", buffering=0) as file:
        for second in with_progress(range(1 if seed is not None else math.ceil(seconds)), name):
            end = start + min(second + 1, seconds)
            while count == 0 or (seed is None and time.monotonic() < end):
                tried = random.SystemRandom().getrandbits(32) if seed is None else seed
                os.pwrite(file.fileno(), f"{tried:<12}{count:<12}".encode(), 0)
                try:
                    attempt(tried)
                except BaseException:
                    traceback.print_exc()
                    sys.exit(1)
                count += 1
    os.truncate(log, 0)
    print(f"{name}: {count} attempts without a fault")


def run(name: str, seconds: float, seed: int | None = None) -> str | None:
    """Run a module in a process of its own. Return what went wrong, with the seed, or None."""
    with tempfile.NamedTemporaryFile("r") as log:
        arguments = [name, "--child", log.name, "--time", str(seconds)]
        if seed is not None:
            arguments += ["--seed", str(seed)]
        try:
            process = subprocess.run(
                [sys.executable, "-P", "-m", "tests.fuzz", *arguments],
                env={**os.environ, "PYTHONPATH": python_path(), "OPENBLAS_NUM_THREADS": "1"},
                timeout=seconds + LONGEST_ATTEMPT,
                check=False,
            )
            outcome = f"ended with {process.returncode}"
        except subprocess.TimeoutExpired:
            outcome = "hung"
        tried = log.read().split()
    if outcome == "ended with 0":
        return None
    seed_text, count = (*tried, "?", "?")[:2]
    return f"{name} {outcome} in attempt {count}: to try it again, --seed {seed_text}"


def python_path() -> str:
    """Return PYTHONPATH with the checkout in it."""
    given = os.environ.get("PYTHONPATH")
    return os.pathsep.join([*([given] if given else []), str(FOLDER.parents[1])])


def main() -> None:
    """Run all modules, or those that are named, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", help="a time such as 10m, and modules; default: all")
    parser.add_argument("--time", type=seconds_of, default=60.0, help="for each module")
    parser.add_argument("--seed", type=int, help="make this one attempt")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.names and options.names[0][0].isdigit():
        options.time = seconds_of(options.names.pop(0))
    if options.child:
        make_attempts(options.names[0], options.time, options.seed, options.child)
        return
    faults = [run(name, options.time, options.seed) for name in options.names or modules()]
    sys.exit("\n".join(fault for fault in faults if fault) or None)


if __name__ == "__main__":
    main()
