"""SciPy's own tests of `scipy.fft`, with gpumath as the global backend."""

from __future__ import annotations

import contextlib
import io
import os
from typing import Any

import pytest
import scipy.fft

from gpumath import fft
from tests.programs.support.entry import main


class Counter:
    """Counts what became of the tests, and keeps the names of those that failed."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(f"{report.nodeid}: {str(report.longrepr)[-300:]}")
        elif report.when == "call" and report.passed:
            self.passed += 1


def run(*arguments: str) -> Any:
    """Return how many tests passed, and which failed."""
    scipy.fft.set_global_backend(fft.scipy_backend)
    counter = Counter()
    # The processes that these four start have no backend: docs/scipy.md.
    chosen = ["-m", "not slow", "-k", "not test_multiprocess"]
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, *chosen, *arguments]
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main([*options, "--pyargs", "scipy.fft"], plugins=[counter])
    return counter.passed, counter.failed


if __name__ == "__main__":
    main(globals())
