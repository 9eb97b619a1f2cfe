"""Compiles the core's own kernels to PTX, with NVRTC of the oldest CUDA that gpumath runs with.

PTX of that release, for the oldest architecture that it knows, is understood by every newer driver
on every newer device.
"""

from __future__ import annotations

import ctypes
import hashlib
import tempfile
import tomllib
import zipfile
from pathlib import Path

from gpumath_codegen import seal, wheels

FOLDER = "crates/gpumath-core/src/kernels"
_TYPES = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8")
_HALVES = ("float16", "bfloat16")
_REAL_TYPES = (*_HALVES, "float32", "float64")
_WIDE_TYPES = ("float32", "float64", "complex64", "complex128")
_EPILOG = ("-DHAS_EPILOG=1",)
_SINGLE = ("scale", "cosine", "cosine_short", "spectra", "copy_flat", "mirror")
# Each file of PTX: its sources, one behind the other, and the definitions that they are compiled
# with.
FILES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **{name: ((name,), ()) for name in _SINGLE},
    **{name: (("copy", name), ()) for name in ("copy_words", "copy_squares")},
    **{
        f"convolution_{kind}": (("convolution", "convolution_lines"), (f"-DELEMENT={element}",))
        for kind, element in (
            *(("float32", "float"), ("float64", "double")),
            *(("complex64", "Complex<float>"), ("complex128", "Complex<double>")),
            # Sums of integers wrap around, signed ones like those without a sign.
            *(("int8", "unsigned char"), ("int16", "unsigned short")),
            *(("int32", "unsigned"), ("int64", "unsigned long long")),
        )
    },
    **{
        f"structured_{kind}": (
            ("structured", "half_stored", "half_stored_tiles", "diagonal"),
            (f"-DELEMENT={element}",),
        )
        for kind, element in (
            *(("float32", "float"), ("float64", "double")),
            *(("complex64", "Complex<float>"), ("complex128", "Complex<double>")),
        )
    },
    **{
        f"epilog_{kind}": (("product", "epilog"), (f"-DTYPE=TYPE_{kind}", *narrow))
        for kinds, narrow in ((_HALVES, ("-DIS_NARROW=1",)), (("float32", "float64"), ()))
        for kind in kinds
    },
    **{
        f"product{suffix}_{kind}": (
            ("product", "product_tiles", "product_vectors"),
            (f"-DTYPE=TYPE_{kind}", *definitions),
        )
        for suffix, definitions, kinds in (("", (), _TYPES), ("_epilog", _EPILOG, _REAL_TYPES))
        for kind in kinds
    },
    **{
        f"product_few{suffix}_{kind}": (
            ("product", "product_few"),
            (f"-DTYPE=TYPE_{kind}", *definitions),
        )
        for suffix, definitions, kinds in (
            ("", (), _WIDE_TYPES),
            ("_epilog", _EPILOG, ("float32", "float64")),
        )
        for kind in kinds
    },
}
_RELEASE = "12.0"
_OPTIONS = ("--gpu-architecture=compute_50",)


def source_of(repository: Path, target: str) -> str:
    """Return what a file of PTX is compiled from."""
    folder = repository / FOLDER
    return "\n".join((folder / f"{name}.cu").read_text() for name in FILES[target][0])


def origin(name: str, source: str) -> str:
    """Return the origin of the PTX for its seal: the source and the compiler."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    return f"{name}.cu of sha256 {digest} by NVRTC {_RELEASE}"


def generate(root: Path, repository: Path, cache: Path, check: bool) -> None:
    """Write the PTX, or only compare it.

    Parameters
    ----------
    root : Path
        Folder of ``headers.lock.toml``, which pins NVRTC.
    repository : Path
        Folder that `FOLDER` is in.
    cache : Path
        Folder that outlives this run and is not in the repository.
    check : bool
        Whether to write nothing, and to fail if the file differs.
    """
    nvrtc = _nvrtc(root, cache)
    for target, ((name, *_), definitions) in FILES.items():
        source = source_of(repository, target)
        text = _compiled(name, source, nvrtc, definitions)
        text = seal.sealed(text, "//", origin(name, source))
        path = repository / FOLDER / "generated" / f"{target}.ptx"
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            raise SystemExit(f"{path}: out of date; run `kernels`")
        print(f"{path.relative_to(repository)} is up to date")


def _nvrtc(root: Path, cache: Path) -> ctypes.CDLL:
    lock = tomllib.loads((root / "headers.lock.toml").read_text())
    requirement = lock["libraries"]["nvrtc"]["wheels"][_RELEASE]
    folder = cache / f"{requirement.replace('==', '-')}-libraries"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as work:
            wheel = wheels.downloaded(Path(work), requirement, lock["sha256"][requirement])
            unpacked = Path(work) / "unpacked"
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(unpacked)
            unpacked.rename(folder)
    (library,) = folder.glob("nvidia/cuda_nvrtc/lib/libnvrtc.so.*")
    return ctypes.CDLL(str(library))


def _compiled(name: str, source: str, nvrtc: ctypes.CDLL, definitions: tuple[str, ...]) -> str:
    program = ctypes.c_void_p()
    texts = source.encode(), f"{name}.cu".encode()
    created = nvrtc.nvrtcCreateProgram(ctypes.byref(program), *texts, 0, None, None)
    if created != 0:
        raise SystemExit(f"{name}.cu: NVRTC status {created}")
    chosen = [option.encode() for option in (*_OPTIONS, *definitions)]
    options = (ctypes.c_char_p * len(chosen))(*chosen)
    if nvrtc.nvrtcCompileProgram(program, len(options), options) != 0:
        raise SystemExit(_text(nvrtc, program, "ProgramLog"))
    # The headers inside NVRTC define constants that nothing here uses.
    lines = _text(nvrtc, program, "PTX").splitlines()
    return "\n".join(line for line in lines if not line.startswith(".global")) + "\n"


def _text(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.value.decode().rstrip()
