"""The figures of a run: as data, as a table and as a plot."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from gpumath.bench._subjects import library
from gpumath.bindings import core

__all__ = ["figures", "plot", "ratio", "table"]

Times = Mapping[str, float | None]


def figures(
    rows: Sequence[tuple[str, Times]], execution: str, threads: int, command: str
) -> dict[str, Any]:
    """Return all that has to be known about a run as plain data."""
    versions = {"gpumath": _version("gpumath-host")}
    for name in rows[0][1]:
        if not name.startswith("gpumath"):
            versions[name] = getattr(library(name), "__version__", "")
    if execution == "cuda":
        device = core.Device(0).name
        versions |= {lib.name: lib.version for lib in core.libraries() if lib.version}
    else:
        device = f"{_processor()}, {threads} threads"
    return {
        "title": "Transforms and products",
        "machine": device,
        "versions": {"Python": platform.python_version(), **versions},
        "date": date.today().isoformat(),
        "command": command,
        "unit": "ms",
        "rows": [{"name": name, "times": dict(times)} for name, times in rows],
    }


def ratio(times: Times) -> float | None:
    """Return gpumath's time divided by that of the fastest other library, if there is any."""
    ours = times.get("gpumath")
    others = [time for name, time in times.items() if time and not name.startswith("gpumath")]
    return ours / min(others) if ours and others else None


def table(found: Mapping[str, Any]) -> str:
    """Return the figures as a Markdown table, a dash where a library refuses a row."""
    names = list(found["rows"][0]["times"])
    lines = [
        f"{found['machine']}, {found['date']}; times in {found['unit']}, ratio to the fastest",
        ", ".join(f"{name} {number}" for name, number in found["versions"].items()),
        "",
        f"| row | {' | '.join(names)} | ratio |",
        "|---" * (len(names) + 2) + "|",
    ]
    for row in found["rows"]:
        cells = ["–" if time is None else f"{time:.4f}" for time in row["times"].values()]
        compared = ratio(row["times"])
        cells.append("–" if compared is None else f"{compared:.2f}")
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def plot(found: Mapping[str, Any], path: Path) -> None:
    """Draw how long each library takes beside gpumath, one line a row; needs Matplotlib."""
    from matplotlib.figure import Figure

    rows = [row for row in found["rows"] if row["times"].get("gpumath")]
    figure = Figure(figsize=(9, 1.6 + 0.24 * len(rows)), layout="constrained")
    axes = figure.subplots()
    names = [name for name in rows[0]["times"] if name != "gpumath"]
    for name, marker in zip(names, "osD^vPX*", strict=False):
        points = [
            (row["times"][name] / row["times"]["gpumath"], number)
            for number, row in enumerate(rows)
            if row["times"].get(name)
        ]
        times, lines = [time for time, _ in points], [line for _, line in points]
        axes.scatter(times, lines, marker=marker, s=30, label=name, alpha=0.8)
    axes.axvline(1, color="tab:gray", label="gpumath")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.set_yticks(range(len(rows)), [row["name"] for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", alpha=0.3)
    axes.set_xlabel("time, divided by gpumath's: to the right of the line is slower than gpumath")
    axes.set_title(f"{found['title']}\n{found['machine']}, {found['date']}", fontsize="medium")
    figure.legend(loc="outside lower center", ncols=len(names) + 1, frameon=False)
    figure.savefig(path)


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
