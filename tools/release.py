"""Build what is released into dist/release: wheels, sdists, and the crates that the sdist needs.

`nox -s wheels -- --release` runs it, with maturin, hatchling, auditwheel and ziglang, whose linker
gives the extension the symbols of an old C library on any machine. Nothing is uploaded.

The interpreters need not be there, because maturin knows what they expect of an extension. A
machine whose Rust standard library is not installed is left out, which is said.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RELEASE = ROOT / "dist" / "release"
BINDINGS = ROOT / "packages" / "gpumath-bindings"
PURE = ("gpumath-host", "gpumath-device")
# CentOS 7 and everything younger. Rust itself needs no older one.
GLIBC_MINOR = 17
MACHINES = ("x86_64", "aarch64")
# The stable ABI serves all others.
FREE_THREADED = ("--interpreter", "python3.14t")


def main() -> None:
    """Build everything, and check it."""
    shutil.rmtree(RELEASE, ignore_errors=True)
    RELEASE.mkdir(parents=True)
    for machine in MACHINES:
        target = f"{machine}-unknown-linux-gnu"
        if not has_standard_library(target):
            print(f"no wheel for {machine}: run rustup target add {target}")
            continue
        build_binary(target)
        build_binary(target, *FREE_THREADED)
    run("maturin", "sdist", "--out", RELEASE, folder=BINDINGS)
    for package in PURE:
        run("hatchling", "build", "-d", RELEASE, folder=ROOT / "packages" / package)
    for wheel in sorted(RELEASE.glob("*linux*.whl")):
        check_platform(wheel)
    (sdist,) = RELEASE.glob("gpumath_bindings-*.tar.gz")
    crates = vendor(sdist)
    check_offline_build(sdist, crates)
    for path in sorted(RELEASE.iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB")


def run(*command: object, folder: Path, env: dict[str, str] | None = None) -> str:
    """Run a command, let its messages through, and return what it wrote to its output."""
    print("+", *command, flush=True)
    words = [str(word) for word in command]
    environment = {**os.environ, **(env or {})}
    done = subprocess.run(
        words, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def has_standard_library(target: str) -> bool:
    """Say whether Rust can build for a target here."""
    folder = run("rustc", "--print", "target-libdir", "--target", target, folder=ROOT).strip()
    return Path(folder).is_dir()


def build_binary(target: str, *options: str) -> None:
    """Build a wheel of the bindings for a target."""
    run(
        *("maturin", "build", "--release", "--locked", "--zig", "--target", target),
        *("--compatibility", f"manylinux_2_{GLIBC_MINOR}", "--out", RELEASE, *options),
        folder=BINDINGS,
    )


def check_platform(wheel: Path) -> None:
    """Exit unless auditwheel finds that a wheel needs no younger C library than its name says."""
    report = " ".join(run("auditwheel", "show", wheel, folder=RELEASE).split())
    found = re.search(r'consistent with the following platform tag: "manylinux_2_(\d+)_', report)
    if not found or int(found[1]) > GLIBC_MINOR:
        raise SystemExit(f"{wheel.name}: {report}")
    print(f"{wheel.name}: {found[0]}")


def vendor(sdist: Path) -> Path:
    """Pack the sources of all crates in Cargo.lock beside the sdist, and return the archive."""
    crates = RELEASE / sdist.name.replace(".tar.gz", "-crates.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        run("cargo", "vendor", "--locked", "--quiet", f"{folder}/vendor", folder=ROOT)
        with tarfile.open(crates, "w:gz") as archive:
            archive.add(f"{folder}/vendor", "vendor")
    return crates


def check_offline_build(sdist: Path, crates: Path) -> None:
    """Build the sdist as a machine without a network does, with the packed crates alone."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        for path in (sdist, crates):
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
        source = folder / sdist.name.removesuffix(".tar.gz")
        settings = source / ".cargo" / "config.toml"
        settings.parent.mkdir()
        settings.write_text(
            '[source.crates-io]\nreplace-with = "vendor"\n'
            f'[source.vendor]\ndirectory = "{folder}/vendor"\n'
        )
        empty = {"CARGO_HOME": str(folder / "home"), "CARGO_NET_OFFLINE": "true"}
        run(
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"),
            *("--no-build-isolation", "-w", folder / "built", source),
            folder=folder,
            env=empty,
        )
        (built,) = (folder / "built").glob("*.whl")
        print(f"{sdist.name} and {crates.name} -> {built.name}, without a network")


if __name__ == "__main__":
    main()
