"""Arrays in all memories when the interpreter exits, and in a forked child."""

from __future__ import annotations

import os
import sys

from gpumath import memory
from tests.programs.support.entry import main

kept = [memory.empty(1000, kind=kind) for kind in ("device", "pinned", "managed", "host")]
capsules = [a.__dlpack__(max_version=(1, 0)) for a in kept]


def interpreter_exit() -> None:
    sys.kept = kept  # type: ignore[attr-defined]  # so that they are there late


def fork() -> None:
    child = os.fork()
    if child == 0:
        kept.clear()
        capsules.clear()
        try:
            memory.empty(1000)
        except RuntimeError as error:
            os._exit(0 if "forked" in str(error) else 2)
        os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
    kept.clear()
    capsules.clear()
    memory.empty(1000)


if __name__ == "__main__":
    main(globals())
