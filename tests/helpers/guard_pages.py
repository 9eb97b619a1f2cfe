"""Arrays between pages that nobody may touch: what reads or writes past their ends, crashes."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

_PROT_NONE, _PROT_READ = 0, 1
_libc = ctypes.CDLL(None, use_errno=True)


class GuardedMemory:
    """So many bytes, that end where a forbidden page begins, or begin where one ends."""

    def __init__(self, size: int, *, side: str = "end") -> None:
        page = mmap.PAGESIZE
        room = -(-max(size, 1) // page) * page
        self._map = mmap.mmap(-1, room + 2 * page)
        whole = np.frombuffer(self._map, np.uint8)
        self._inside = (whole.ctypes.data + page, room)
        self._protect(whole.ctypes.data, page, _PROT_NONE)
        self._protect(whole.ctypes.data + page + room, page, _PROT_NONE)
        start = page + (room - size if side == "end" else 0)
        self.bytes = whole[start : start + size]

    def forbid_writing(self) -> None:
        """Let every write crash; nothing makes the memory writable again."""
        self._protect(*self._inside, _PROT_READ)

    @staticmethod
    def _protect(address: int, size: int, protection: int) -> None:
        if _libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), protection) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")


def guarded(
    values: np.ndarray,
    *,
    like: np.ndarray | None = None,
    side: str = "end",
    readonly: bool = False,
) -> np.ndarray:
    """Copy an array into memory whose first or last byte is next to a guard page.

    Parameters
    ----------
    values : numpy.ndarray
        The elements.
    like : numpy.ndarray, optional
        Has the strides of the copy; by default the array itself. Gaps between elements are zeros.
    side : str
        ``"start"`` or ``"end"``: where the guard page is next to the elements.
    readonly : bool
        Whether writing crashes too, whatever the array's own flag says.
    """
    like = values if like is None else like
    low, high = _reach(like)
    memory = GuardedMemory(high - low, side=side)
    array: np.ndarray = np.ndarray(like.shape, like.dtype, memory.bytes, -low, like.strides)
    array[...] = values
    if readonly:
        memory.forbid_writing()
    return array


def _reach(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return where the elements begin and end, in bytes from the element at index (0, …, 0)."""
    if array.size == 0:
        return 0, 0
    steps = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    return sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps) + array.itemsize
