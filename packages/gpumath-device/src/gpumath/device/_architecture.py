"""Which GPUs device functions are compiled for, and what a compiled function consists of."""

from __future__ import annotations

from typing import NamedTuple

from gpumath.bindings import core, driver

__all__ = [
    "MAX_SUPPORTED_CC",
    "Code",
    "CodeType",
    "ComputeCapability",
    "Dim3",
    "ISAVersion",
    "as_compute_capability",
    "current_device_lto",
    "current_device_sm",
]


class ComputeCapability(NamedTuple):
    """Compute capability of a GPU.

    Attributes
    ----------
    major, minor : int
        The two parts of its number, such as 9 and 0.
    arch : {'', 'a', 'f'}
        ``'a'`` allows instructions that only GPUs of exactly this compute capability have, ``'f'``
        those of its family.

    Examples
    --------
    >>> from gpumath import device
    >>> hopper = device.ComputeCapability(9, 0)
    >>> hopper.integer, str(hopper)
    (900, '9.0')
    """

    major: int
    minor: int
    arch: str = ""

    @property
    def integer(self) -> int:
        """The number as libmathdx writes it: 900 for 9.0."""
        return self.major * 100 + self.minor * 10

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}{self.arch}"


# Those that libmathdx knows. 10.1 is the name of 11.0 before CUDA 13.
_SUPPORTED_CCS = (
    *((7, 0), (7, 2), (7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0)),
    *((10, 0), (10, 1), (10, 3), (10, 7), (11, 0), (12, 0), (12, 1)),
)
# The first one whose GPUs have instructions that no others have, and that only a family has.
_FIRST_WITH = {"": (0, 0), "a": (9, 0), "f": (10, 0)}
MAX_SUPPORTED_CC = ComputeCapability(*_SUPPORTED_CCS[-1])


class CodeType(NamedTuple):
    """Kind of code, and the GPUs that it is for.

    Attributes
    ----------
    kind : {'lto'}
        LTO-IR, which the linker inlines.
    cc : ComputeCapability
        Compute capability that the code is compiled for.

    Examples
    --------
    >>> from gpumath import device
    >>> device.CodeType("lto", device.ComputeCapability(9, 0)).kind
    'lto'
    """

    kind: str
    cc: ComputeCapability


class ISAVersion(NamedTuple):
    """Version of the instruction set that code is written in.

    Attributes
    ----------
    major, minor : int
        The two parts of the version, which is that of the compiler's CUDA.

    Examples
    --------
    >>> from gpumath import device
    >>> device.ISAVersion.from_integer(12030)
    ISAVersion(major=12, minor=3)
    """

    major: int
    minor: int

    @classmethod
    def from_integer(cls, isa: int) -> ISAVersion:
        """Return the version that libmathdx writes as one number, such as 12030 for 12.3."""
        return cls(isa // 1000, isa % 1000 // 10)


class Code(NamedTuple):
    """A compiled device function.

    Attributes
    ----------
    code_type : CodeType
        Kind of code, and the GPUs that it is for.
    isa_version : ISAVersion
        Version of its instruction set.
    data : bytes
        The code.

    Examples
    --------
    >>> from gpumath import device
    >>> lto = device.CodeType("lto", device.ComputeCapability(9, 0))
    >>> device.Code(lto, device.ISAVersion(13, 0), b"...").data
    b'...'
    """

    code_type: CodeType
    isa_version: ISAVersion
    data: bytes


class Dim3(NamedTuple):
    """Number of threads of a block, or of blocks of a grid, in three directions.

    Attributes
    ----------
    x, y, z : int, default: 1
        Numbers in the three directions.

    Examples
    --------
    >>> from gpumath import device
    >>> device.Dim3(128)
    Dim3(x=128, y=1, z=1)
    """

    x: int = 1
    y: int = 1
    z: int = 1


def current_device_sm() -> ComputeCapability:
    """Return the compute capability of the current GPU, with what only such GPUs have from 9.0 on.

    The current GPU is that of the CUDA context of this thread, or the first one if there is none.

    Returns
    -------
    ComputeCapability
        At most `MAX_SUPPORTED_CC`.

    Raises
    ------
    gpumath.bindings.errors.NoDeviceError
        There is no GPU, or no driver.

    Examples
    --------
    >>> from gpumath import device
    >>> from gpumath.bindings import core
    >>> if core.Device.count():
    ...     capability = device.current_device_sm()
    """
    count = core.Device.count()
    current = driver.ctx_get_device() if count and driver.ctx_get_current() else 0
    capability = ComputeCapability(*core.Device(current).compute_capability)
    capability = min(capability, MAX_SUPPORTED_CC)
    return capability._replace(arch="a") if capability >= (9, 0) else capability


def current_device_lto() -> CodeType:
    """Return the kind of code that runs on the current GPU: LTO-IR for its compute capability.

    Returns
    -------
    CodeType
        ``'lto'`` and what `current_device_sm` returns.

    Raises
    ------
    gpumath.bindings.errors.NoDeviceError
        There is no GPU, or no driver.

    Examples
    --------
    >>> from gpumath import device
    >>> from gpumath.bindings import core
    >>> if core.Device.count():
    ...     code_type = device.current_device_lto()
    """
    return CodeType("lto", current_device_sm())


def _has_integers(capability: ComputeCapability) -> bool:
    return all(isinstance(part, int) for part in capability[:2])


def as_compute_capability(value: object, name: str = "sm") -> ComputeCapability:
    """Return a compute capability that a user has written, or that of the current GPU for None.

    Raises
    ------
    ValueError
        The value is no compute capability, or none that libmathdx supports.
    """
    if value is None:
        if not core.Device.count():
            msg = f"there is no GPU here, so {name} is needed, such as ComputeCapability(9, 0)"
            raise ValueError(msg)
        return current_device_sm()
    if isinstance(value, int):
        value = ComputeCapability(value // 10, value % 10)
    if isinstance(value, tuple) and len(value) in (2, 3) and not isinstance(value, Dim3):
        value = ComputeCapability(*value)
    if not isinstance(value, ComputeCapability) or not _has_integers(value):
        msg = f"{name} is {value!r}; a ComputeCapability is needed, such as ComputeCapability(9, 0)"
        raise ValueError(msg)
    number = value[:2]
    if number not in _SUPPORTED_CCS:
        known = ", ".join(f"{major}.{minor}" for major, minor in _SUPPORTED_CCS)
        msg = f"{name} is {value}; libmathdx supports the compute capabilities {known}"
        raise ValueError(msg)
    if value.arch not in _FIRST_WITH or number < _FIRST_WITH[value.arch]:
        msg = f"{name} is {value!r}; its arch must be '', from 9.0 on also 'a', from 10.0 on 'f'"
        raise ValueError(msg)
    return value
