"""Work that shows its progress, if it can."""

from __future__ import annotations

import io
import sys
import time

from gpumath._host.progress import with_progress
from tests.programs.support.entry import main


def iterate(steps: int) -> int:
    """Take a second in so many steps, and count them."""
    count = 0
    for _ in with_progress(range(steps), "autotune"):
        time.sleep(1 / steps)
        count += 1
    return count


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def iterate_without_tqdm(steps: int) -> int:
    """Do the same where standard error is a terminal, but there is no tqdm."""
    sys.modules["tqdm"] = None  # type: ignore[assignment]  # so an import fails
    error, sys.stderr = sys.stderr, Terminal()
    try:
        return iterate(steps)
    finally:
        sys.stderr = error


if __name__ == "__main__":
    main(globals())
