"""An array library that returns another array than it was asked for: nothing is written to it."""

from __future__ import annotations

import pytest

from tests.helpers.processes import result_of, start


@pytest.mark.parametrize("how", ["smaller", "other type", "read-only", "other strides"])
def test_numpy_empty(how: str) -> None:
    messages = result_of(start("replaced_functions.numpy_empty", how))
    assert len(messages) == (3 if how == "other strides" else 6)
    assert all("NumPy was asked for a new array of" in message for message in messages)
