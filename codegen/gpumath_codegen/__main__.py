"""``python -m gpumath_codegen``; see codegen/README.md."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from gpumath_codegen import emit, kernels

_ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="python -m gpumath_codegen", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    extract = commands.add_parser("extract", help="headers of the pinned wheels -> api/*.txt")
    extract.add_argument("library", nargs="*", help="such as cufft; all by default")
    emission = commands.add_parser("emit", help="api/ and rules/ -> Rust, Python, stubs")
    compilation = commands.add_parser("kernels", help="the core's CUDA C++ -> PTX")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    for command in (extract, compilation):
        command.add_argument("--cache", type=Path, default=Path(cache) / "gpumath-codegen")
    for command in (emission, compilation):
        command.add_argument(
            "--check", action="store_true", help="compare only, and fail if it differs"
        )
    options = parser.parse_args()
    if options.command == "extract":
        _extract(options.library, options.cache)
    elif options.command == "kernels":
        kernels.generate(_ROOT, _ROOT.parent, options.cache, options.check)
    else:
        _emit(options.check)


def _extract(libraries: list[str], cache: Path) -> None:
    # Needs libclang, which `emit` does not.
    from gpumath_codegen import extract

    for library in libraries or extract.libraries(_ROOT):
        extract.extract(_ROOT, cache, library)


def _emit(check: bool) -> None:
    repository = _ROOT.parent
    files = emit.outputs(_ROOT, repository)
    if not check:
        emit.write(repository, files)
    elif lines := emit.differences(repository, files):
        raise SystemExit("\n".join(lines))
    print(f"{len(files)} files are up to date")


if __name__ == "__main__":
    main()
