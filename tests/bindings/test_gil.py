"""Functions that C code without the GIL calls, where PyO3 takes the thread for one that has it."""

from __future__ import annotations

from tests.helpers.cuda_wheels import in_fresh_process


def test_a_consumer_deletes_a_tensor() -> None:
    assert in_fresh_process("gil.a_consumer_deletes_a_tensor") == [True, True]


def test_c_code_searches_for_a_library() -> None:
    found, expected = in_fresh_process("gil.c_code_searches_for_a_library")
    assert found == expected
