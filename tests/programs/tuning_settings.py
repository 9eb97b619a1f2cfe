"""The settings of tuning with which a process starts."""

from __future__ import annotations

from gpumath.linalg.advanced import tuning
from tests.programs.support.entry import main


def of_the_process() -> list[str]:
    """Return the mode and the folder."""
    chosen = tuning.settings()
    return [chosen.mode, str(chosen.folder)]


if __name__ == "__main__":
    main(globals())
