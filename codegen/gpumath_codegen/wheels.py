"""Header wheels: download, verify, keep the headers and the names of exported symbols."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

EXPORTS = "exports.txt"


def unpacked(cache: Path, requirement: str, sha256: str, library: str | None) -> Path:
    """Return the folder in `cache` with the headers of one wheel, downloading it if need be.

    Parameters
    ----------
    cache : Path
        Folder that outlives this run and is not in the repository.
    requirement : str
        Such as ``"nvidia-cufft==12.5.0.14"``.
    sha256 : str
        What the wheel's file must hash to.
    library : str or None
        Start of the file name of the shared library whose exported symbols are to be listed.
    """
    folder = cache / requirement.replace("==", "-")
    if folder.is_dir():
        return folder
    print(f"downloading {requirement}", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--only-binary", ":all:", "--dest", work, requirement], check=True)
        (wheel,) = Path(work).glob("*.whl")
        if (found := hashlib.sha256(wheel.read_bytes()).hexdigest()) != sha256:
            raise SystemExit(f"{requirement}: sha256 is {found}, headers.lock.toml says {sha256}")
        kept = Path(work) / "kept"
        with zipfile.ZipFile(wheel) as archive:
            headers = [name for name in archive.namelist() if "/include/" in name]
            archive.extractall(kept, headers)
            if library:
                (kept / EXPORTS).write_text(_exports(archive, library, Path(work)))
        shutil.move(kept, folder)
    return folder


def include_folders(folder: Path) -> list[Path]:
    """Return the wheel's include folders."""
    return sorted(path for path in folder.glob("nvidia/*/include") if path.is_dir())


def exported(folder: Path) -> set[str]:
    """Return the symbols that the wheel's library exports, without their version suffix."""
    lines = (folder / EXPORTS).read_text().split()
    return {line.partition("@")[0] for line in lines}


def _exports(archive: zipfile.ZipFile, library: str, work: Path) -> str:
    names = [name for name in archive.namelist() if Path(name).name.startswith(library)]
    path = archive.extract(names[0], work)
    command = ["nm", "--dynamic", "--defined-only", "--format=just-symbols", path]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
