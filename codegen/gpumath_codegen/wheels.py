"""Downloads and verifies header wheels; keeps headers and the names of exported symbols."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def unpacked(cache: Path, requirement: str, sha256: str) -> Path:
    """Return the folder in `cache` with what is kept of a wheel; download the wheel if needed.

    Parameters
    ----------
    cache : Path
        Folder that outlives this run and is not in the repository.
    requirement : str
        Such as ``"nvidia-cufft==12.5.0.14"``.
    sha256 : str
        The SHA-256 that the file of the wheel must have.
    """
    folder = cache / requirement.replace("==", "-")
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory(dir=cache) as work:
        wheel = downloaded(Path(work), requirement, sha256)
        kept = Path(work) / "kept"
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            archive.extractall(kept, [name for name in names if "/include/" in name])
            for name in names:
                if ".so" in Path(name).suffixes:
                    library = Path(archive.extract(name, work))
                    (kept / f"{library.name}.symbols").write_text(_exports(library))
                    library.unlink()
        shutil.move(kept, folder)
    return folder


def downloaded(folder: Path, requirement: str, sha256: str) -> Path:
    """Download a wheel into an empty folder, and return its file."""
    print(f"downloading {requirement}", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command = [*pip, "--only-binary", ":all:", "--dest", str(folder), requirement]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    if (found := hashlib.sha256(wheel.read_bytes()).hexdigest()) != sha256:
        raise SystemExit(f"{requirement}: sha256 is {found}, headers.lock.toml says {sha256}")
    return wheel


def include_folders(folder: Path) -> list[Path]:
    """Return the wheel's include folders."""
    return sorted(path for path in folder.glob("nvidia/*/include") if path.is_dir())


def exported(folder: Path, library: str) -> set[str]:
    """Return the symbols that a library of the wheel exports, without their version suffix.

    Parameters
    ----------
    folder : Path
        From `unpacked`.
    library : str
        File name without its version, such as ``"libcufft.so"``.
    """
    (listing,) = folder.glob(f"{library}.*symbols")
    return {line.partition("@")[0] for line in listing.read_text().split()}


def _exports(library: Path) -> str:
    command = ["nm", "--dynamic", "--defined-only", "--format=just-symbols", str(library)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
