"""nvJitLink, one to one: LTO-IR, PTX, cubins and libraries linked while the program runs.

Handles and addresses are ints, and 0 is NULL. Options are a sequence of str or bytes; inputs are
bytes-like, and results are copied into a writable buffer that the caller passes. A status
other than success raises `nvJitLinkError`, with the linker's messages where it has some. nvJitLink
is loaded by the first call, and needs neither a driver nor a GPU.

Examples
--------
>>> from gpumath.bindings import nvjitlink
>>> nvjitlink.InputType.LTOIR
<InputType.LTOIR: 3>

Two pieces of LTO-IR to machine code, where nvJitLink is installed::

    linker = nvjitlink.create(2, ["-arch=sm_90", "-lto"])
    for name, ltoir in pieces.items():
        nvjitlink.add_data(linker, nvjitlink.InputType.LTOIR, ltoir, len(ltoir), name)
    nvjitlink.complete(linker)
    cubin = bytearray(nvjitlink.get_linked_cubin_size(linker))
    nvjitlink.get_linked_cubin(linker, cubin)
    nvjitlink.destroy(linker)
"""

import functools as _functools
import os as _os
import re as _re
from collections.abc import Callable as _Callable
from collections.abc import Iterable as _Iterable
from collections.abc import Sequence as _Sequence
from typing import ParamSpec as _ParamSpec
from typing import SupportsIndex as _SupportsIndex
from typing import SupportsInt as _SupportsInt

from gpumath.bindings._buffers import sized as _sized
from gpumath.bindings._buffers import text_from as _text_from
from gpumath.bindings._core import nvjitlink as _rows
from gpumath.bindings._core.nvjitlink import *
from gpumath.bindings._core.nvjitlink import (
    _add_data,
    _add_file,
    _complete,
    _create,
    _destroy,
    _get_error_log,
    _get_info_log,
    _get_linked_cubin,
    _get_linked_ltoir,
    _get_linked_ptx,
)
from gpumath.bindings._elf import MAGIC as _ELF
from gpumath.bindings._elf import damage as _damage
from gpumath.bindings._generated.nvjitlink import *
from gpumath.bindings.errors import nvJitLinkError as nvJitLinkError

_P = _ParamSpec("_P")
_ARCHITECTURE = _re.compile(r"(?:sm|compute|lto)_([1-9]\d{1,2})[a-z]?", _re.ASCII)
# The library of CUDA 13 itself refuses architectures that it does not support. That of CUDA 12
# accepts many that do not exist, and crashes for others.
_OF_CUDA_12 = frozenset(
    (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121)
)

check_status = nvJitLinkError.check

get_error_log = _sized(_get_error_log, _rows.get_error_log_size)
get_info_log = _sized(_get_info_log, _rows.get_info_log_size)
get_linked_cubin = _sized(_get_linked_cubin, _rows.get_linked_cubin_size)
get_linked_ltoir = _sized(_get_linked_ltoir, _rows.get_linked_ltoir_size)
get_linked_ptx = _sized(_get_linked_ptx, _rows.get_linked_ptx_size)


def _logged(row: _Callable[_P, None]) -> _Callable[_P, None]:
    """Wrap ``row`` so that its exception has the linker's log, under its public name."""

    @_functools.wraps(row)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> None:
        try:
            row(*args, **kwargs)
        except nvJitLinkError as error:
            handle = args[0] if args else kwargs["handle"]
            log = _text_from(_get_error_log, _rows.get_error_log_size, handle)
            raise nvJitLinkError(error.status, error.function, log) from None

    call.__name__ = call.__qualname__ = row.__name__.removeprefix("_")
    return call


def _checked(row: _Callable[_P, None], place: int, name: str) -> _Callable[_P, None]:
    """Wrap ``row`` so that it refuses a damaged ELF file, on which the library would crash."""

    @_functools.wraps(row)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> None:
        given = args[place] if place < len(args) else kwargs.get(name)
        if damage := _damage_of(given):
            raise ValueError(f"{row.__name__.strip('_')}() argument {name!r} is damaged: {damage}")
        row(*args, **kwargs)

    return call


def _damage_of(given: object) -> str | None:
    """Return what is damaged in a file of this name or in bytes; None for an address."""
    if isinstance(given, str):
        try:
            with open(given, "rb", opener=_open_without_waiting) as file:
                start = file.read(len(_ELF))
                return _damage(start + file.read()) if start == _ELF else None
        except OSError:  # the library says it
            return None
    try:
        view = memoryview(given)  # type: ignore[arg-type]  # refused below
    except TypeError:  # an address, or an object that the row refuses
        return None
    is_elf = view.contiguous and view.nbytes > len(_ELF) and view.cast("B")[: len(_ELF)] == _ELF
    return _damage(view.tobytes()) if is_elf else None


def _open_without_waiting(name: str, flags: int) -> int:
    # To open a FIFO would wait for someone who writes to it.
    return _os.open(name, flags | getattr(_os, "O_NONBLOCK", 0))


add_data = _logged(_checked(_add_data, 2, "data"))
add_file = _logged(_checked(_add_file, 2, "file_name"))
complete = _logged(_complete)


def create(
    num_options: _SupportsIndex | _SupportsInt,
    options: _SupportsIndex | _SupportsInt | _Sequence[str | bytes],
) -> int:
    """Create a linker with a list of options; ``-arch=`` is required.

    Parameters
    ----------
    num_options : int
        Number of options.
    options : int or sequence of str or bytes
        At least ``num_options`` options, such as ``["-arch=sm_90", "-lto"]``, or the address of an
        array of addresses, whose options are not checked.

    Returns
    -------
    int
        The linker; `destroy` frees it.

    Raises
    ------
    ValueError
        The architecture is not of the form ``sm_90``, ``sm_90a``, ``sm_100f``, ``compute_90`` or
        ``lto_90``, or CUDA 12 does not have it. nvJitLink would end the process for some of these.
    nvJitLinkError
        An option is not known, or this nvJitLink does not support the architecture.

    Notes
    -----
    C function ``nvJitLinkCreate``. See
    https://docs.nvidia.com/cuda/nvjitlink/
    """
    if isinstance(options, _Iterable) and not isinstance(options, str | bytes):
        for option in options:
            _check_architecture(option)
    return _create(num_options, options)


def _check_architecture(option: str | bytes) -> None:
    text = option.decode(errors="replace") if isinstance(option, bytes) else option
    if not isinstance(text, str) or not text.startswith("-arch="):
        return
    match = _ARCHITECTURE.fullmatch(text.removeprefix("-arch="))
    if not match:
        raise ValueError(
            f"create() option {text!r} names no architecture: "
            "sm_90, sm_90a, sm_100f, compute_90 and lto_90 are of a form that nvJitLink knows"
        )
    major, minor = _rows.version()
    if major == 12 and int(match[1]) not in _OF_CUDA_12:
        raise ValueError(
            f"create() option {text!r}: nvJitLink {major}.{minor} has no such architecture; those "
            f"of CUDA 12 are {', '.join(map(str, sorted(_OF_CUDA_12)))}"
        )


def destroy(handle: _SupportsIndex | _SupportsInt) -> None:
    """Destroy a linker.

    Parameters
    ----------
    handle : int
        From `create`; it must not be used afterwards.

    Raises
    ------
    nvJitLinkError
        The call returned another status than SUCCESS.

    Notes
    -----
    C function ``nvJitLinkDestroy``, which takes the address of the handle. See
    https://docs.nvidia.com/cuda/nvjitlink/
    """
    _destroy([handle])
