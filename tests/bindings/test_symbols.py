"""Every symbol of the tables is in the real library of each CUDA major that should have it."""

from __future__ import annotations

import pytest

from gpumath_codegen import model
from tests.helpers.cuda_wheels import cufft_file, exported
from tests.helpers.repository import ROOT, require_checkout

RELEASES = {12: (12, 9), 13: (13, 5)}


def release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


@pytest.mark.parametrize("cuda_major", [12, 13])
def test_cufft(cuda_major: int) -> None:
    require_checkout()
    functions = model.load(ROOT / "codegen", "cufft").functions
    here = RELEASES[cuda_major]
    symbols = tuple(f.symbol for f in functions if release(f.since) <= here <= release(f.until))
    assert len(symbols) > 50
    found = dict(zip(symbols, exported(cufft_file(cuda_major), symbols), strict=True))
    assert [symbol for symbol, there in found.items() if not there] == []
    gone = tuple(f.symbol for f in functions if release(f.until) < here)
    assert gone
    assert exported(cufft_file(cuda_major), gone) == (False,) * len(gone)
