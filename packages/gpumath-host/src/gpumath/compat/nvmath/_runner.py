"""Runs a program that imports nvmath, unmodified, as the interpreter itself would run it."""

from __future__ import annotations

import atexit
import io
import os
import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pkgutil import get_importer
from types import CodeType, ModuleType, TracebackType
from typing import Any, NamedTuple

from gpumath.compat.nvmath import _facade
from gpumath.compat.nvmath._facade import install

__all__ = ["PROGRAM", "Program", "install", "load", "main"]

PROGRAM = "GPUMATH_COMPAT_PROGRAM"
"""The environment variable that tells spawned processes which program they belong to."""
_MODULE = "module:"  # an absolute path begins otherwise

_USAGE = """\
usage: python -m gpumath.compat.nvmath [--report] (program | -m module) [arguments]

Run an unmodified program, with `import nvmath` answered by gpumath.

  program, -m module  what to run, as for the interpreter: a file, a folder or zip file with a
                      __main__.py, or a module
  --report            when it ends, say on the error output which calls of its process were served
                      by what, how often, and how long they took
"""


class _Spec(ModuleSpec):
    """The ``__spec__`` of a program in ``__main__``.

    multiprocessing imports what it names in the processes that it spawns. Relative imports ask for
    the parent, which is the program's own.
    """

    def __init__(self, loader: Any, origin: str | None, parent: str) -> None:
        super().__init__("gpumath.compat.nvmath._spawned", loader, origin=origin)
        self._parent = parent

    @property
    def parent(self) -> str:
        return self._parent


class Program(NamedTuple):
    """A program, and what its module knows about itself."""

    code: CodeType
    names: dict[str, Any]
    is_package: bool
    """Whether it is the main module of a package, a folder or a zip file.

    Spawned processes do not import such a module again.
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
    program = load(f"{_MODULE}{name}")
    _run(program, f"{_MODULE}{name}", [program.names["__file__"], *arguments])


def _run_file(file: str, arguments: list[str]) -> None:
    path = os.path.abspath(file)
    try:
        program = load(path)
    except OSError as error:
        sys.stderr.write(f"python: can't open file {file!r}: {error.strerror}\n")
        raise SystemExit(2) from None
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder
    if program.is_package:
        sys.path.insert(0, path)  # with the option -P, too
    elif not sys.flags.safe_path:
        sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    _run(program, path, [file, *arguments])


def _run(program: Program, described: str, arguments: list[str]) -> None:
    """Run a program in the real ``__main__``, where pickles and threads look for its names."""
    sys.argv = arguments
    os.environ[PROGRAM] = described
    module = ModuleType("__main__")
    vars(module).update(program.names, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    exec(program.code, vars(module))


def load(described: str) -> Program:
    """Return the program that is described: a path, or ``module:`` and a name."""
    if described.startswith(_MODULE):
        return _load_module(described.removeprefix(_MODULE))
    if importer := get_importer(described):
        return _load_main_of(importer, described)
    with io.open_code(described) as opened:
        # Tracebacks name the absolute path.
        code = compile(opened.read(), described, "exec", dont_inherit=True)
    return _program(code, described, SourceFileLoader("__main__", described), None)


def _load_main_of(importer: Any, path: str) -> Program:
    """Find ``__main__`` in a folder or a zip file, as the interpreter does."""
    spec = importer.find_spec("__main__")
    if spec is None:
        sys.stderr.write(f"python: can't find '__main__' module in {path!r}\n")
        raise SystemExit(1)
    return _program(spec.loader.get_code("__main__"), spec.origin, spec.loader, "", True)


def _load_module(name: str) -> Program:
    """Find a module, or ``__main__`` in a package, as the interpreter's option -m does."""
    spec = _spec_of(name)
    is_package = spec is not None and spec.submodule_search_locations is not None
    if is_package:
        spec = _spec_of(f"{name}.__main__")
    code = None if spec is None else getattr(spec.loader, "get_code", lambda _: None)(spec.name)
    if spec is None or code is None:
        lacks = f"{name} has no module __main__" if is_package else f"no Python module {name}"
        sys.stderr.write(f"python: {lacks}\n")
        raise SystemExit(1)
    return _program(code, spec.origin, spec.loader, spec.parent, is_package)


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return None
        raise  # a package on the way to the module has not found what it imports itself


def _program(
    code: CodeType, path: str | None, loader: Any, package: str | None, is_package: bool = False
) -> Program:
    names = {
        "__file__": path,
        "__loader__": loader,
        "__package__": package,
        "__spec__": _Spec(loader, path, package or ""),
    }
    return Program(code, names, is_package)


def _of_program(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback
