"""``python -m gpumath.bindings``: a report of what is found where, and what is missing.

The first line is the verdict: what gpumath can compute on, and the command that helps. Then come
the driver and the CUDA libraries with their versions and files, the devices, the commands that
install what is missing, and every place that was searched. ``--json`` prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib import metadata
from typing import Any, TextIO

from gpumath.bindings import core
from gpumath.bindings.errors import GpumathError

__all__ = ["collect", "main", "render", "verdict"]


def collect() -> dict[str, Any]:
    """Search for the libraries and devices and return what was found as plain data.

    Returns
    -------
    dict
        Keys ``verdict``, ``gpumath_bindings``, ``python``, ``platform`` (text), ``cuda_major``
        (int or None), ``origin``, ``reason`` (text or None), ``libraries``, ``devices``,
        ``missing``, ``considered`` (lists of dicts), ``environment`` (dict) and ``device_error``
        (text or None). All values can be written as JSON.

    Examples
    --------
    >>> from gpumath.bindings.__main__ import collect
    >>> sorted(collect())[:3]
    ['considered', 'cuda_major', 'device_error']
    """
    report = core.search_report()
    devices, device_error = _devices()
    found = {
        "gpumath_bindings": _version(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cuda_major": report["cuda_major"],
        "origin": report["origin"],
        "reason": report["reason"],
        "libraries": [_library(library) for library in report["libraries"]],
        "devices": devices,
        "device_error": device_error,
        "missing": [
            {**missing, "tried": _attempts(missing["tried"])} for missing in report["missing"]
        ],
        "considered": _attempts(report["considered"]),
        "environment": dict(report["environment"]),
    }
    return {"verdict": verdict(found), **found}


def verdict(found: dict[str, Any]) -> str:
    """Say in one line what gpumath can compute on here, and what to do about what is missing.

    Parameters
    ----------
    found : dict
        The result of `collect`, with or without its verdict.

    Returns
    -------
    str
        A line that begins with "ready" or "not ready".

    Examples
    --------
    >>> from gpumath.bindings.__main__ import collect, verdict
    >>> "ready" in verdict(collect())
    True
    """
    missing = [library for library in found["missing"] if library["name"] != "driver"]
    if not found["devices"]:
        drivers = [library for library in found["missing"] if library["name"] == "driver"]
        reason = found["device_error"] or "there is no CUDA device"
        if drivers:
            reason = f"there is no NVIDIA driver; for a GPU, {drivers[0]['fix']}"
        return f"ready for the CPU only: {_one_line(reason)}"
    names = [device["name"] for device in found["devices"]]
    gpus = f"{len(names)} GPU{'s' if len(names) > 1 else ''} ({', '.join(sorted(set(names)))})"
    fixes = "; ".join(line.strip() for line in _missing(missing) if line.startswith("  to fix it"))
    if found["cuda_major"] is None:
        return f"not ready for the GPU: {gpus}, but no CUDA library; {fixes}"
    ready = f"{gpus}, CUDA {found['cuda_major']}"
    if missing:
        return f"ready but for {', '.join(m['name'] for m in missing)}: {ready}; {fixes}"
    return f"ready: {ready}, all libraries found"


def render(found: dict[str, Any]) -> str:
    """Return the result of `collect` as text for people.

    Parameters
    ----------
    found : dict
        The result of `collect`.

    Returns
    -------
    str
        Several lines, without a line break at the end.

    Examples
    --------
    >>> from gpumath.bindings.__main__ import collect, render
    >>> render(collect()).startswith(("ready", "not ready"))
    True
    """
    lines = [
        found["verdict"],
        f"gpumath-bindings {found['gpumath_bindings']}, "
        f"Python {found['python']}, {found['platform']}",
    ]
    lines += _section("Libraries", _table(found["libraries"], "name", "version", "origin", "path"))
    if found["cuda_major"] is not None:
        lines.append(f"  The set is CUDA {found['cuda_major']}: {found['reason']}.")
    devices = [
        f"{device['id']}: {device['name']}, compute capability {device['compute_capability']}, "
        f"{device['total_memory'] / 2**30:.1f} GiB"
        for device in found["devices"]
    ]
    lines += _section("Devices", devices or [found["device_error"] or "none"])
    lines += _section("Missing", _missing(found["missing"]) or ["nothing"])
    lines += _section("Searched", _table(found["considered"], "step", "outcome", "place"))
    lines += _section(
        "Settings", [f"{key} = {value}" for key, value in found["environment"].items()]
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : list of str, optional
        Command line without the program's name; that of the process by default.

    Returns
    -------
    int
        0, or 1 if the report could not be written. A missing library is a finding and not a
        failure: programs read the verdict.

    Examples
    --------
    >>> from gpumath.bindings.__main__ import main
    >>> main(["--json"])  # doctest: +SKIP
    0
    """
    parser = argparse.ArgumentParser(
        prog="python -m gpumath.bindings",
        description="Show which CUDA libraries and devices gpumath finds, and what is missing.",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args(arguments).json
    found = collect()
    return _print(json.dumps(found, indent=2) if as_json else render(found))


def _print(text: str) -> int:
    """Print a text to any stdout, and return the exit status.

    Not every stdout can write all characters, and nobody may read it.
    """
    stdout: TextIO | None = sys.stdout
    if stdout is None:  # it was closed before Python started
        return 0
    encoding = getattr(stdout, "encoding", None) or "ascii"
    try:
        stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stdout.flush()
    except OSError as error:
        # The interpreter flushes stdout once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"the report could not be written: {error.strerror}\n")
            return 1
    return 0


def _library(library: core.Library) -> dict[str, Any]:
    return {
        "name": library.name,
        "version": library.version,
        "cuda_major": library.cuda_major,
        "origin": library.origin,
        "path": library.path,
    }


def _devices() -> tuple[list[dict[str, Any]], str | None]:
    """Return a description of every device, and the text of the first error or None."""
    devices: list[dict[str, Any]] = []
    try:
        for device_id in range(core.Device.count()):
            device = core.Device(device_id)
            devices.append(
                {
                    "id": device.id,
                    "name": device.name,
                    "compute_capability": ".".join(map(str, device.compute_capability)),
                    "total_memory": device.total_memory,
                }
            )
    except GpumathError as error:
        return devices, str(error)
    return devices, None


def _missing(libraries: list[dict[str, Any]]) -> list[str]:
    """Describe what is missing, with one entry for libraries that share a reason and a command."""
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for library in libraries:
        command, _, package = library["fix"].rpartition(" ")
        if not command.startswith("pip install"):
            command, package = library["fix"], ""
        group = groups.setdefault((library["reason"], command), {"names": [], "packages": []})
        group["names"].append(library["name"])
        if package and package not in group["packages"]:
            group["packages"].append(package)
    lines = []
    for (reason, command), group in groups.items():
        fix = " ".join([command, *group["packages"]])
        lines += [f"{', '.join(group['names'])}: {reason}", f"  to fix it: {fix}"]
    return lines


def _attempts(attempts: list[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [dict(zip(("step", "place", "outcome"), attempt, strict=True)) for attempt in attempts]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _version() -> str:
    try:
        return metadata.version("gpumath-bindings")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _section(title: str, body: list[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in body)] if body else []


def _table(rows: list[dict[str, Any]], *columns: str) -> list[str]:
    """Align all columns but the last."""
    widths = {column: max((len(str(row[column])) for row in rows), default=0) for column in columns}
    return [
        "  ".join(str(row[column]).ljust(widths[column]) for column in columns).rstrip()
        for row in rows
    ] or ["none"]


if __name__ == "__main__":
    sys.exit(main())
