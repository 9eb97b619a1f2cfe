"""Every build and test step. `nox` alone runs what CI runs; `nox -l` lists the sessions."""

from __future__ import annotations

import ctypes
import json
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import nox

ROOT = Path(__file__).parent.resolve()
DIST = ROOT / "dist"
CACHE = ROOT / ".nox" / "cache"  # downloads that several sessions share
PACKAGES = ("gpumath-bindings", "gpumath-host", "gpumath-device")
SOURCES = [str(ROOT / "packages" / name / "src") for name in PACKAGES]
TEST_REQUIREMENTS = ("cython", "matplotlib", "numpy", "pytest", "pytest-timeout", "scipy", "tqdm")
DOCUMENTATION_REQUIREMENTS = (
    "matplotlib",
    "myst-parser",
    "numpydoc",
    "pydata-sphinx-theme",
    "sphinx>=9",
    "sphinx-copybutton",
    "sphinx-external-toc",
    "sphinx-gallery",
)

GENERATOR_REQUIREMENTS = ROOT / "codegen" / "requirements.txt"
# One pin for the linter and the generator, whose output it formats.
(RUFF,) = [s for s in GENERATOR_REQUIREMENTS.read_text().splitlines() if s.startswith("ruff")]


def newest_read(*packages: str) -> tuple[str, ...]:
    """Return requirements for the newest releases whose headers the generator has read.

    A later release may compile, compute or refuse other things than the tests expect, so the tests
    move on to it when its headers are read.
    """
    lock = tomllib.loads((ROOT / "codegen" / "headers.lock.toml").read_text())
    newest: dict[str, tuple[int, ...]] = {}
    for requirement in lock["sha256"]:
        package, version = requirement.split("==")
        release = tuple(map(int, version.split(".")))
        newest[package] = max(release, newest.get(package, release))
    return tuple(f"{name}=={'.'.join(map(str, newest[name]))}" for name in packages)


# NVIDIA's libraries that tests load: all that are small enough for every run, and the others.
CUDA13_LIBRARIES = newest_read(
    *("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cufft", "nvidia-curand"),
    *("nvidia-libmathdx-cu13", "nvidia-nvjitlink"),
)
# What Numba compiles with, of the same toolkit as NVRTC and nvJitLink.
NVVM = "nvidia-nvvm==13.5.37"
CUDA12_LIBRARIES = newest_read(
    *("nvidia-cuda-runtime-cu12", "nvidia-cufft-cu12", "nvidia-curand-cu12"),
    "nvidia-nvjitlink-cu12",
)
# What gpumath.compat.nvmath is compared with, and the library that it computes with on the CPU.
NVMATH = (
    "nvmath-python==1.0.0",
    "cuda-bindings",
    "cuda-core",
    "cuda-pathfinder",
    "mkl; platform_machine == 'x86_64'",
)
LARGE_CUDA13_LIBRARIES = newest_read("nvidia-cublas", "nvidia-cusolver", "nvidia-cusparse")
LARGE_CUDA12_LIBRARIES = (
    *newest_read("nvidia-cublas-cu12", "nvidia-cuda-nvrtc-cu12"),
    *newest_read("nvidia-cusolver-cu12", "nvidia-cusparse-cu12"),
    "nvidia-libmathdx-cu12>=0.3",  # or else uv may take an empty release
)

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["local"]
nox.options.error_on_missing_interpreters = True

LOCAL_SESSIONS = (
    "lint",
    "codegen",
    "kernels",
    "rust",
    "wheels",
    "tests",
    "tests-isolated",
    "typecheck",
    "docs",
    "demo",
)


def has_own_environment(session: nox.Session) -> bool:
    """Say whether the session may install packages: not with --no-venv."""
    return session.venv_backend != "none"


def wheel_of(package: str) -> str:
    """Return the one wheel of a package in dist/."""
    found = sorted(DIST.glob(f"{package.replace('-', '_')}-*.whl"))
    if len(found) != 1:
        names = [path.name for path in found]
        raise SystemExit(
            f"dist/ must hold one wheel of {package}, found {names}: run nox -s wheels"
        )
    return str(found[0])


def run_pytest(
    session: nox.Session,
    *arguments: str,
    folders: tuple[str, ...] = (".",),
    env: dict[str, str] | None = None,
) -> None:
    """Run pytest on the installed packages, from a folder that is not the checkout."""
    paths = [item for item in session.posargs if (ROOT / item.split("::")[0]).exists()]
    options = [item for item in session.posargs if item not in paths]
    chosen = [str(ROOT / item) for item in paths or [f"tests/{folder}" for folder in folders]]
    session.chdir(session.create_tmp())
    session.run(
        "python",
        "-P",
        "-m",
        "pytest",
        "--import-mode=importlib",
        f"--rootdir={ROOT}",
        f"--config-file={ROOT / 'pyproject.toml'}",
        "--durations=10",
        *arguments,
        *options,
        *chosen,
        env={"GPUMATH_TEST_DIST": str(DIST), **(env or {})},
    )


def download_once(session: nox.Session, folder: str, *arguments: str) -> Path:
    """Install requirements into a folder under .nox/cache, unless an earlier run did."""
    target = CACHE / folder
    if not (target / ".complete").exists():
        shutil.rmtree(target, ignore_errors=True)
        session.log(f"downloading {' '.join(arguments)} into {target.relative_to(ROOT)}")
        session.install("--target", str(target), *arguments)
        (target / ".complete").touch()
    return target


@nox.session
def local(session: nox.Session) -> None:
    """Run every session that CI runs."""
    for name in LOCAL_SESSIONS:
        session.notify(name, posargs=["--check"] if name in ("codegen", "kernels") else [])


@nox.session
def wheels(session: nox.Session) -> None:
    """Build the three wheels into dist/; `-- --release`: for other machines, into dist/release."""
    session.install("maturin>=1.14,<2", "hatchling>=1.27")
    if "--release" in session.posargs:
        session.install("auditwheel", "pip", "ziglang")
        session.run("python", "-m", "tools.release")
        return
    DIST.mkdir(exist_ok=True)
    for stale in DIST.glob("gpumath_*.whl"):
        stale.unlink()
    for package in PACKAGES:
        session.chdir(ROOT / "packages" / package)
        if package == "gpumath-bindings":
            session.run("maturin", "build", "--release", "--locked", "--out", str(DIST))
        else:
            session.run("hatchling", "build", "-t", "wheel", "-d", str(DIST))
        wheel = Path(wheel_of(package))
        tag = "-cp311-abi3-" if package == "gpumath-bindings" else "-py3-none-any."
        if tag not in wheel.name:
            session.error(f"{wheel.name} should carry the tag {tag.strip('-.')}")
        session.log(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")


@nox.session(requires=["wheels"])
def demo(session: nox.Session) -> None:
    """Run the host examples in a fresh environment: on the GPU if there is one, else on the CPU."""
    # Both wheels are named, so that the package index is asked for the other packages only.
    session.install(wheel_of("gpumath-bindings"), f"{wheel_of('gpumath-host')}[examples]")
    if extra := missing_cuda_extra(session):
        session.install(f"{wheel_of('gpumath-bindings')}[{extra}]")
    output = ROOT / "demo-output"
    output.mkdir(exist_ok=True)
    session.chdir(session.create_tmp())
    for example in sorted((ROOT / "examples" / "host").rglob("[0-9]*.py")):
        session.run("python", str(example), str(output))


def missing_cuda_extra(session: nox.Session) -> str | None:
    """Return the extra that brings cuFFT, if there is a GPU and no cuFFT on the machine."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    version = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return None
    question = "from gpumath.bindings import core; print(core.has('cufft.exec_c2c'))"
    answer = session.run("python", "-P", "-c", question, silent=True)
    if str(answer).strip() == "True":
        return None
    return "cu13" if version.value >= 13000 else "cu12"


@nox.session(requires=["wheels"])
def tests(session: nox.Session) -> None:
    """Run the tests that need no GPU, against the built wheels and NVIDIA's real libraries."""
    libraries = (*CUDA13_LIBRARIES, NVVM)
    session.install(*map(wheel_of, PACKAGES), *TEST_REQUIREMENTS, "jax", *libraries)
    session.install("-r", str(GENERATOR_REQUIREMENTS))
    cuda12 = download_once(session, "cuda12-libraries", *CUDA12_LIBRARIES)
    # Without its own copy of NumPy, and without the threads of MKL.
    version = "{}.{}".format(*sys.version_info)
    nvmath = download_once(session, f"nvmath-for-python{version}", "--no-deps", *NVMATH)
    folders = {"GPUMATH_TEST_CU12": str(cuda12), "GPUMATH_TEST_NVMATH": str(nvmath)}
    run_pytest(session, "-m", "not gpu", env=folders)


@nox.session(name="tests-release", python=["3.11", "3.14t"])
def tests_release(session: nox.Session) -> None:
    """Run the tests of the wheels in dist/release on the oldest and on the free-threaded Python."""
    release = DIST / "release"
    names = ("gpumath-bindings", "gpumath-host")
    # The newest versions are there, and the installer chooses the wheel for its interpreter.
    session.install("--find-links", str(release), *names, *TEST_REQUIREMENTS, *CUDA13_LIBRARIES)
    settings = {"GPUMATH_TEST_DIST": str(release)}
    run_pytest(session, "-m", "not gpu", folders=("bindings", "host"), env=settings)


@nox.session
def deny(session: nox.Session) -> None:
    """Check licences, duplicates, sources and advisories of the crates with cargo-deny."""
    session.run("cargo", "deny", "check", *(session.posargs or ["all"]), external=True)


@nox.session(name="tests-cuda-libs", requires=["wheels"])
def tests_cuda_libs(session: nox.Session) -> None:
    """Check the bindings against NVIDIA's libraries of CUDA 12 and 13; `-- all`: every library."""
    whole = "all" in session.posargs
    session.posargs[:] = [item for item in session.posargs if item != "all"]
    large13 = LARGE_CUDA13_LIBRARIES if whole else ()
    large12 = LARGE_CUDA12_LIBRARIES if whole else ()
    session.install(*map(wheel_of, PACKAGES[:2]), *TEST_REQUIREMENTS, *CUDA13_LIBRARIES, *large13)
    session.install("-r", str(GENERATOR_REQUIREMENTS))
    folder = "cuda12-all-libraries" if whole else "cuda12-libraries"
    cuda12 = download_once(session, folder, *CUDA12_LIBRARIES, *large12)
    settings = {"GPUMATH_TEST_CU12": str(cuda12)}
    run_pytest(session, "-m", "not gpu", folders=("bindings", "cuda_libs"), env=settings)


@nox.session(requires=["wheels"])
def fuzz(session: nox.Session) -> None:
    """Try random things with the built wheels: `-- 10m` for each module, default one minute."""
    libraries = (*CUDA13_LIBRARIES, NVVM)
    session.install(*map(wheel_of, PACKAGES), *TEST_REQUIREMENTS, "tqdm", *libraries)
    # The packages are those of the wheels: the checkout only has what is run.
    session.run("python", "-P", "-m", "tests.fuzz", *session.posargs, env={"PYTHONPATH": str(ROOT)})


@nox.session(name="tests-gpu")
def tests_gpu(session: nox.Session) -> None:
    """Run the tests that need a GPU; with --no-venv against what is installed, with no network."""
    if has_own_environment(session):
        libraries = ("cupy-cuda13x", "torch", "numba-cuda[cu13]")
        session.install(*map(wheel_of, PACKAGES), *TEST_REQUIREMENTS, *libraries)
    session.run("python", "-P", "-m", "gpumath.bindings")
    # Where every test would be skipped, success would say nothing.
    count = "from gpumath.bindings import core; print(core.Device.count())"
    if str(session.run("python", "-P", "-c", count, silent=True)).strip() == "0":
        session.error("there is no CUDA device")
    run_pytest(session, "-m", "gpu", folders=("bindings", "host", "integration"))


@nox.session(name="tests-isolated", requires=["wheels"])
def tests_isolated(session: nox.Session) -> None:
    """Install from a local folder into fresh environments, and build the wheel from its sdist."""
    session.install("hatchling>=1.27", "maturin>=1.14,<2", "pip")
    temporary = Path(session.create_tmp()).resolve()
    wheelhouse = temporary / "wheelhouse"
    shutil.rmtree(wheelhouse, ignore_errors=True)
    wheelhouse.mkdir()
    for package in PACKAGES:
        shutil.copy(wheel_of(package), wheelhouse)
    session.run(
        "python",
        "-m",
        "pip",
        "download",
        "-q",
        "--only-binary=:all:",
        "-d",
        str(wheelhouse),
        "numpy",
    )
    session.chdir(ROOT / "tests" / "downstream" / "sample")
    session.run("hatchling", "build", "-t", "wheel", "-d", str(wheelhouse))
    session.chdir(ROOT / "packages" / "gpumath-bindings")
    session.run("maturin", "sdist", "--out", str(temporary / "sdist"), silent=True)
    session.chdir(temporary)
    checks = ROOT / "tests" / "isolated"

    host = fresh_environment(session, "host", wheelhouse, "gpumath-host")
    expect_installed(session, host, {"gpumath-bindings", "gpumath-host", "numpy"})
    session.run(host, "-P", str(checks / "host_computes.py"), external=True)

    downstream = fresh_environment(session, "downstream", wheelhouse, "gpumath-downstream-sample")
    expect_installed(session, downstream, {"gpumath-bindings", "gpumath-downstream-sample"})
    session.run(downstream, "-P", "-m", "gpumath_downstream_sample", external=True)

    from_sdist = temporary / "from-sdist"
    shutil.rmtree(from_sdist, ignore_errors=True)
    (sdist,) = (temporary / "sdist").glob("*.tar.gz")
    session.run(
        *("python", "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"),
        *("-w", str(from_sdist), str(sdist)),
        env={"CARGO_TARGET_DIR": str(ROOT / "target")},
    )
    (rebuilt,) = from_sdist.glob("*.whl")
    if code_of(rebuilt) != code_of(Path(wheel_of("gpumath-bindings"))):
        session.error(f"the wheel from the sdist has other files: {sorted(code_of(rebuilt))}")
    session.log(f"sdist -> {rebuilt.name}, the same files as in dist/")


def code_of(wheel: Path) -> set[str]:
    """List the files of a wheel outside its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def fresh_environment(session: nox.Session, name: str, wheelhouse: Path, package: str) -> str:
    """Install one package from a folder of wheels, with pip as a user has it; return its python."""
    folder = wheelhouse.parent / f"env-{name}"
    session.run("python", "-m", "venv", "--clear", str(folder))
    python = str(folder / "bin" / "python")
    session.run(
        *(python, "-m", "pip", "install", "-q", "--no-index", "--find-links", str(wheelhouse)),
        package,
        external=True,
        env={"PIP_FIND_LINKS": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
    )
    return python


def expect_installed(session: nox.Session, python: str, expected: set[str]) -> None:
    """Fail unless exactly these distributions (and the installer) are in the environment."""
    listing = session.run(python, "-m", "pip", "list", "--format=json", external=True, silent=True)
    found = {item["name"] for item in json.loads(str(listing))} - {"pip", "setuptools"}
    if found != expected:
        session.error(f"expected exactly {sorted(expected)}, found {sorted(found)}")
    session.log(f"installed: {', '.join(sorted(found))}")


@nox.session(venv_backend="none")
def rust(session: nox.Session) -> None:
    """Check the format, lints, tests and documentation of the Rust crates."""
    session.chdir(ROOT)
    session.run("cargo", "fmt", "--all", "--check", external=True)
    session.run(
        *("cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"),
        external=True,
    )
    session.run("cargo", "test", "--workspace", "--release", "--locked", external=True)
    session.run(
        *("cargo", "doc", "--workspace", "--no-deps", "--locked"),
        external=True,
        env={"RUSTDOCFLAGS": "-D warnings"},
    )


@nox.session
def lint(session: nox.Session) -> None:
    """Check the Python files by ruff, and layers, file sizes, comment widths, pins, changelogs."""
    session.install(RUFF, "packaging")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    for checker in (
        "layers",
        "module_order",
        "gil_release",
        "process_locks",
        "file_sizes",
        "comment_widths",
        "pins",
    ):
        session.run("python", "-m", f"tools.{checker}")


@nox.session(requires=["wheels"])
def typecheck(session: nox.Session) -> None:
    """Check the types of the packages, of user code, and the stubs against the built module."""
    session.install(*map(wheel_of, PACKAGES[:2]), "mypy", "numpy", "pyright")
    session.install("matplotlib", "nox", "packaging")
    # Without Numba, which has no types.
    session.install("--no-deps", wheel_of(PACKAGES[2]))
    session.run(
        *("mypy", "--strict", *SOURCES, "noxfile.py", "tools", "codegen/gpumath_codegen"),
        env={"MYPYPATH": ":".join([*SOURCES, str(ROOT / "codegen")])},
    )
    session.chdir(session.create_tmp())
    session.run("python", "-P", str(ROOT / "tests" / "typing" / "stubs.py"))
    user_code = [str(path) for path in sorted((ROOT / "tests" / "typing" / "user").glob("*.py"))]
    user_code += [str(path) for path in sorted((ROOT / "examples").rglob("[0-9]*.py"))]
    # The settings say which array libraries, such as PyTorch, are not there to be looked into.
    session.run("mypy", "--strict", f"--config-file={ROOT / 'pyproject.toml'}", *user_code)
    python = str(Path(session.bin) / "python")
    settings = str(ROOT / "tests" / "typing" / "pyrightconfig.json")
    session.run("pyright", "--pythonpath", python, "--project", settings)


@nox.session(requires=["wheels"])
def docs(session: nox.Session) -> None:
    """Build the documentation site into .nox/site, warnings are errors, and look at it."""
    session.install(*map(wheel_of, PACKAGES[:2]), *DOCUMENTATION_REQUIREMENTS)
    session.install("--no-deps", wheel_of("gpumath-device"))
    session.install("playwright", "pytest", "pytest-timeout")
    site = ROOT / ".nox" / "site"
    session.chdir(ROOT)
    session.run(
        *("python", "-P", "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"),
        "--fresh-env",  # Sphinx does not see changes of the docstrings and extensions
        *("--jobs", "auto", "--conf-dir", "docs", ".", str(site)),
    )
    session.log(f"built {(site / 'index.html').relative_to(ROOT)}")
    run_pytest(session, folders=("docs",), env={"GPUMATH_TEST_SITE": str(site)})


@nox.session
def codegen(session: nox.Session) -> None:
    """Regenerate the committed tables, enums and stubs; `-- --check` only compares."""
    session.install(RUFF)
    session.run(
        *("python", "-m", "gpumath_codegen", "emit", *session.posargs),
        env={"PYTHONPATH": str(ROOT / "codegen")},
    )


@nox.session
def kernels(session: nox.Session) -> None:
    """Compile the core's own GPU kernels to PTX (downloads NVRTC); `-- --check` only compares."""
    session.install("pip")
    session.run(
        *("python", "-m", "gpumath_codegen", "kernels", *session.posargs),
        env={"PYTHONPATH": str(ROOT / "codegen")},
    )


@nox.session
def headers(session: nox.Session) -> None:
    """Read NVIDIA's pinned header wheels again into codegen/api/ (downloads them)."""
    session.install("-r", str(GENERATOR_REQUIREMENTS), "pip")
    session.run(
        *("python", "-m", "gpumath_codegen", "extract", *session.posargs),
        env={"PYTHONPATH": str(ROOT / "codegen")},
    )


@nox.session(requires=["wheels"])
def surface(session: nox.Session) -> None:
    """Rewrite api-surface/*.txt from the built wheels, after a change of the public API."""
    session.install(*map(wheel_of, PACKAGES[:2]))
    session.install("--no-deps", wheel_of("gpumath-device"))
    session.run("python", "-m", "tools.api_surface")


@nox.session(requires=["wheels"])
def bench(session: nox.Session) -> None:
    """Run the benchmarks that need no GPU, or `-- SCRIPT ARGUMENTS`, against the built wheels."""
    session.install(*map(wheel_of, PACKAGES[:2]), "numpy", "scipy")
    if session.posargs:
        session.run("python", "-P", *session.posargs)
        return
    for script in ("core/cpu_fft.py", "bindings/import_time.py", "host/import_time.py"):
        session.run("python", "-P", str(ROOT / "benchmarks" / script))
