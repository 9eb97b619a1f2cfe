"""``python -m gpumath.bench``: measures transforms, products and calls beside other libraries.

Every library that is installed takes part: NumPy, SciPy and PyTorch on the CPU; CuPy, PyTorch and
nvmath-python on a GPU. They take turns, on the same operands, with equal numbers of threads.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from gpumath._host.progress import with_progress
from gpumath.bench import _report
from gpumath.bench._measure import Timer, cpu_ms, gpu_ms, host_ms, measured
from gpumath.bench._rows import CPU_ROWS, GPU_ROWS, HostTime, Row
from gpumath.bench._subjects import cpu_subjects, forget_plans, gpu_subjects
from gpumath.bindings import core

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print the table.

    Parameters
    ----------
    arguments : list of str, optional
        Command line without the program's name; that of the process by default.

    Returns
    -------
    int
        0, 2 if nothing could be measured, or 1 if the figures could not be written.

    Examples
    --------
    >>> from gpumath.bench.__main__ import main
    >>> main(["--execution", "cpu", "--json", "figures.json"])  # doctest: +SKIP
    0
    """
    options = _parser().parse_args(arguments)
    if options.plot and not find_spec("matplotlib"):
        return _refuse('--plot needs Matplotlib: pip install "gpumath-host[bench]"')
    execution = options.execution or ("cuda" if _has_gpu() else "cpu")
    if execution == "cuda" and not _has_gpu():
        return _refuse("no GPU with cuFFT was found: python -m gpumath.bindings says why")
    all_rows = GPU_ROWS if execution == "cuda" else CPU_ROWS
    # A keyboard has an x for the × in the names.
    asked = options.rows.replace("×", "x")
    rows = [row for row in all_rows if asked in row.name.replace("×", "x")]
    if not rows:
        return _refuse(f"no row has {options.rows!r} in its name, such as {all_rows[0].name!r}")
    if execution == "cpu" and arguments is None:
        _limit_threads(options.threads)
    subjects = gpu_subjects() if execution == "cuda" else cpu_subjects(options.threads)
    found = []
    disabled = logging.root.manager.disable
    logging.disable()  # some libraries log what they refuse, which is a dash here
    try:
        for row in with_progress(rows, "measuring"):
            timer = _timer(row, on_gpu=execution == "cuda")
            found.append((row.name, measured(row, subjects, timer, options.rounds)))
            forget_plans(execution)
    finally:
        logging.disable(disabled)
    result = _report.figures(
        found,
        title="Transforms and products",
        unit="ms",
        gpu=execution == "cuda",
        threads=options.threads,
        command=_report.command_line(
            "python -m gpumath.bench", sys.argv[1:] if arguments is None else arguments
        ),
    )
    # Files first: a table that cannot be printed does not lose what was measured.
    written = [
        _written(options.json, lambda: _report.save(options.json, result)),
        _written(options.plot, lambda: _report.plot(result, options.plot)),
        _written("the table", lambda: _print(_report.table(result))),
    ]
    return 0 if all(written) else 1


def _timer(row: Row, *, on_gpu: bool) -> Timer:
    if isinstance(row, HostTime):
        return partial(host_ms, on_gpu=on_gpu)
    return gpu_ms if on_gpu else cpu_ms


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpumath.bench",
        description="Measure transforms, products and calls beside the libraries installed here.",
    )
    parser.add_argument("--execution", choices=("cuda", "cpu"), help="default: the GPU, if any")
    parser.add_argument("--threads", type=_count, default=core.usable_cores(), help="on the CPU")
    parser.add_argument("--rounds", type=_count, default=5, help="turns of each library")
    parser.add_argument("--rows", default="", metavar="TEXT", help="only rows with this name")
    parser.add_argument("--json", type=_file, metavar="FILE", help="write all figures to this file")
    parser.add_argument("--plot", type=_image, metavar="FILE", help="draw them: .png, .svg or .pdf")
    return parser


def _count(text: str) -> int:
    count = int(text) if text.isdecimal() else 0
    if not 0 < count < 2**31:
        msg = f"{text!r} is no number of at least 1"
        raise argparse.ArgumentTypeError(msg)
    return count


def _file(text: str) -> Path:
    """Return the path of a file that can be written; measuring takes minutes, which come before."""
    path = Path(text)
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        msg = f"{text!r} cannot be written"
        raise argparse.ArgumentTypeError(msg)
    return path


def _image(text: str) -> Path:
    path = _file(text)
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        msg = f"{text!r} ends neither in .png nor in .svg or .pdf"
        raise argparse.ArgumentTypeError(msg)
    return path


def _print(text: str) -> None:
    """Print a text, also where not all of its characters can be shown."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except OSError:
        # The interpreter flushes stdout once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _written(what: object, write: Callable[[], None]) -> bool:
    """Write something that was asked for; say so on the error output if that does not work."""
    try:
        if what is not None:
            write()
    except OSError as error:
        print(f"{what} could not be written: {error.strerror}", file=sys.stderr)
        return False
    return True


def _limit_threads(threads: int) -> None:
    """Start the process again with so many threads for NumPy's products, unless it has them.

    Libraries for linear algebra read these variables when they are loaded, as NumPy's is by now.
    """
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    limits = dict.fromkeys(names, str(threads))
    if threads != core.usable_cores() and not limits.items() <= os.environ.items():
        os.execve(sys.executable, sys.orig_argv, os.environ | limits)


def _has_gpu() -> bool:
    return core.Device.count() > 0 and core.has("cufft.exec_c2c")


def _refuse(message: str) -> int:
    print(f"nothing measured: {message}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
