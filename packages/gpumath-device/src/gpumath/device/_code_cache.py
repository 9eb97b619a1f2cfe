"""Keeps what libmathdx has compiled, because a compilation takes seconds."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["cached"]

_CACHE: dict[tuple[object, ...], bytes] = {}


def cached(kind: str, key: tuple[object, ...], produce: Callable[[], bytes]) -> bytes:
    """Return the result of an earlier call with this kind and key, or produce it now.

    Parameters
    ----------
    kind : str
        What the bytes are, such as ``'ltoir'``. The format of the bytes is the caller's.
    key : tuple
        All that the result depends on: numbers, texts, None, and tuples of them. The versions of
        libmathdx and NVRTC are added here.
    produce : callable
        Makes the result, and takes long. It may be called by several threads at once, without the
        GIL while it waits for libmathdx.
    """
    full_key = (kind, *key)
    found = _CACHE.get(full_key)
    if found is None:
        found = _CACHE.setdefault(full_key, produce())
    return found
