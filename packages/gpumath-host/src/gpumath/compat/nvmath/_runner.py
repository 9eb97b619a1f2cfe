"""Runs a program that imports nvmath, unmodified, as the interpreter itself would run it."""

from __future__ import annotations

import atexit
import io
import os
import runpy
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType

from gpumath.compat.nvmath import _facade
from gpumath.compat.nvmath._facade import install

__all__ = ["PROGRAM", "code_of", "install", "main"]

PROGRAM = "GPUMATH_COMPAT_PROGRAM"
"""The environment variable that tells spawned processes which program they belong to."""
_SPAWNED = "gpumath.compat.nvmath._spawned"

_USAGE = """\
usage: python -m gpumath.compat.nvmath [--report] (program.py | -m module) [arguments]

Run an unmodified program, with `import nvmath` answered by gpumath.

  program.py, -m module  what to run, as for the interpreter
  --report               when it ends, say on the error output which calls were served by what,
                         how often, and how long they took
"""


def main(arguments: list[str]) -> int:
    """Run what the command line names, and return the exit status."""
    has_report = arguments[:1] == ["--report"]
    rest = arguments[1:] if has_report else arguments
    if not rest or rest[0] in ("-h", "--help"):
        (sys.stdout if rest else sys.stderr).write(_USAGE)
        return 0 if rest else 2
    is_module = rest[0] == "-m" and len(rest) > 1
    if rest[0].startswith("-") and not is_module:
        sys.stderr.write(f"{_USAGE}\n{rest[0]!r} is no option; options come before the program\n")
        return 2
    if has_report:
        from gpumath.compat.nvmath._report import Report

        report = Report()
        _facade.set_observer(report.observe)
        # The program's other threads, and what it registers itself, come before.
        atexit.register(_show, report)
    install()
    try:
        if is_module:
            _run_module(rest[1], rest[2:])
        else:
            _run_file(rest[0], rest[1:])
    except SystemExit:
        raise
    except BaseException as error:
        # As the interpreter shows it, but without the lines that belong to this runner.
        traceback = _of_program(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        if isinstance(error, KeyboardInterrupt):
            # The interpreter ends itself by the signal, which shells ask for; it has been shown.
            sys.excepthook = lambda *_: None
            raise
        return 1
    return 0


def _show(report: object) -> None:
    """Write the report below all that the program wrote, which may have closed its outputs."""
    with suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(f"{report}\n")


def _run_module(name: str, arguments: list[str]) -> None:
    sys.argv = [sys.argv[0], *arguments]  # run_module puts the module's file in front
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run_file(file: str, arguments: list[str]) -> None:
    """Run a file in the real ``__main__``, where pickles and threads look for its names."""
    path = os.path.abspath(file)
    try:
        code = code_of(path)
    except OSError as error:
        sys.stderr.write(f"python: can't open file {file!r}: {error.strerror}\n")
        raise SystemExit(2) from None
    sys.argv = [file, *arguments]
    os.environ[PROGRAM] = path
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    module = ModuleType("__main__")
    module.__file__ = path
    module.__loader__ = SourceFileLoader("__main__", path)
    # Nobody but multiprocessing asks: it imports this in the processes that it spawns.
    module.__spec__ = ModuleSpec(_SPAWNED, None)
    vars(module)["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    exec(code, vars(module))


def code_of(path: str) -> CodeType:
    """Compile the program in a file, whose absolute path tracebacks name."""
    with io.open_code(path) as opened:
        return compile(opened.read(), path, "exec", dont_inherit=True)


def _of_program(traceback: TracebackType | None) -> TracebackType | None:
    own = {__file__, runpy.__file__, "<frozen runpy>"}
    while traceback is not None and traceback.tb_frame.f_code.co_filename in own:
        traceback = traceback.tb_next
    return traceback
