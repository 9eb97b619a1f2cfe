"""A line on the terminal that shows how far a long measurement is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

__all__ = ["with_progress"]

T = TypeVar("T")

# Shorter work shows nothing, in seconds.
_DELAY = 0.5


def with_progress(steps: Sequence[T], label: str) -> Iterable[T]:
    """Return the steps, which draw a progress line while they are iterated over.

    Nothing is drawn if standard error is not a terminal, or if tqdm is not installed.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        return steps
    try:
        from tqdm import tqdm
    except ImportError:
        return steps
    line: Iterable[T] = tqdm(steps, desc=label, leave=False, delay=_DELAY)
    return line
