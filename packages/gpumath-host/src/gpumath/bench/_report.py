"""The figures of a run: as data, as a table and as a plot; benchmarks/ uses it too."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpumath.bench._subjects import LIBRARIES
from gpumath.bindings import core

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["command_line", "figures", "plot", "ratio", "save", "table"]

Times = Mapping[str, float | None]


def figures(
    rows: Iterable[tuple[str, Times]],
    *,
    title: str,
    unit: str,
    gpu: bool,
    threads: int | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Return all that has to be known about a run as plain data.

    A row has a time for each subject; None stands for a subject that refuses the row.
    """
    versions = {"gpumath": _version("gpumath-host")}
    for name, module in LIBRARIES.items():
        if module in sys.modules:  # the run has loaded what took part
            versions[name] = str(getattr(sys.modules[module], "__version__", ""))
    if gpu:
        machine = core.Device(0).name
        versions |= {lib.name: lib.version for lib in core.libraries() if lib.version}
    else:
        machine = _processor()
        if threads is not None:
            machine += f", {threads} thread" + "s" * (threads != 1)
    return {
        "title": title,
        "machine": machine,
        "versions": {"Python": platform.python_version(), **versions},
        "date": date.today().isoformat(),
        "command": command or command_line(f"python -P {_script()}", sys.argv[1:]),
        "unit": unit,
        "rows": [{"name": name, "times": dict(times)} for name, times in rows],
    }


def save(path: Path, found: Mapping[str, Any]) -> None:
    """Write figures to a file, of which docs/_extensions/plots.py makes a plot and a table."""
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


def command_line(program: str, arguments: Sequence[str]) -> str:
    """Return the command that makes the same figures: without the files that it writes."""
    kept, is_file = [program], False
    for argument in arguments:
        if not (is_file or argument.startswith(("--json", "--plot"))):
            kept.append(argument)
        is_file = argument in ("--json", "--plot")
    return " ".join(kept)


def ratio(times: Times) -> float | None:
    """Return gpumath's time divided by that of the fastest other library, if there is any."""
    ours = times.get("gpumath")
    others = [time for name, time in times.items() if time and not name.startswith("gpumath")]
    return ours / min(others) if ours and others else None


def table(found: Mapping[str, Any]) -> str:
    """Return the figures as a Markdown table, a dash where a library refuses a row."""
    names = _subjects(found["rows"])
    ratios = [ratio(row["times"]) for row in found["rows"]]
    heads = [*names, "ratio"] if any(ratios) else names
    lines = [
        f"{found['machine']}, {found['date']}; times in {found['unit']}"
        + (", ratio to the fastest" if any(ratios) else ""),
        ", ".join(f"{name} {number}" for name, number in found["versions"].items()),
        "",
        f"| row | {' | '.join(heads)} |",
        "|---" * (len(heads) + 1) + "|",
    ]
    for row, compared in zip(found["rows"], ratios, strict=True):
        times = [row["times"].get(name) for name in names]
        cells = ["–" if time is None else f"{time:.{_decimals(time)}f}" for time in times]
        if any(ratios):
            cells.append("–" if compared is None else f"{compared:.2f}")
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(found: Mapping[str, Any], path: Path) -> None:
    """Draw how long each subject takes beside gpumath, one line a row; needs Matplotlib.

    Rows that have one subject only are drawn as bars.
    """
    from matplotlib.figure import Figure

    names = _subjects(found["rows"])
    figure = Figure(figsize=(9, 1.6 + 0.24 * len(found["rows"])), layout="constrained")
    axes = figure.subplots()
    if len(names) == 1:
        _draw_bars(axes, found["rows"], names[0], found["unit"])
    else:
        _draw_ratios(axes, found["rows"], names)
        figure.legend(loc="outside lower center", ncols=min(5, len(names)), frameon=False)
    axes.set_yticks(range(len(found["rows"])), [row["name"] for row in found["rows"]])
    axes.set_ylim(len(found["rows"]) - 0.5, -0.5)
    axes.set_title(f"{found['title']}\n{found['machine']}, {found['date']}", fontsize="medium")
    figure.savefig(path)


def _draw_bars(axes: Axes, rows: Sequence[Mapping[str, Any]], name: str, unit: str) -> None:
    times = [row["times"][name] for row in rows]
    axes.barh(range(len(rows)), times, height=0.6)
    if max(times) > 30 * min(times):
        _set_log_scale(axes)
    axes.set_xlabel(unit)


def _draw_ratios(axes: Axes, rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> None:
    base = "gpumath" if "gpumath" in names else names[0]
    others = [name for name in names if name != base]
    for index, name in enumerate(others):
        points = [
            (row["times"][name] / row["times"][base], line)
            for line, row in enumerate(rows)
            if row["times"].get(name) and row["times"].get(base)
        ]
        times, lines = [time for time, _ in points], [line for _, line in points]
        marker = "osD^vPX*"[index % 8]
        axes.scatter(times, lines, marker=marker, s=30, label=name, alpha=0.8)
    axes.axvline(1, color="tab:gray", label=base)
    _set_log_scale(axes)
    axes.grid(axis="y", alpha=0.3)
    axes.set_xlabel(f"time, divided by that of {base}: to the right of the line is slower")


def _set_log_scale(axes: Axes) -> None:
    from matplotlib.ticker import LogLocator

    axes.set_xscale("log")
    axes.xaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")


def _subjects(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of all subjects, in the order in which the rows name them."""
    return list(dict.fromkeys(name for row in rows for name in row["times"]))


def _decimals(time: float) -> int:
    """Return how many decimals show four digits."""
    return next((n for n, least in enumerate((1000, 100, 10, 1, 0.1, 0.01)) if time >= least), 6)


def _script() -> str:
    """Return the path of the program that runs, from the checkout's root."""
    path = Path(sys.argv[0])
    parts = path.resolve().parts
    return "/".join(parts[parts.index("benchmarks") :]) if "benchmarks" in parts else path.name


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def _processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
