"""The type of every attribute, against the sizes that the real libraries accept."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path

import numpy as np
import pytest

FROZEN = Path(__file__).parents[1] / "codegen" / "frozen" / "attributes.tsv"


def rows() -> list[dict[str, str]]:
    with FROZEN.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("helper", sorted({(row["module"], row["helper"]) for row in rows()}))
def test_attribute_dtypes(helper: tuple[str, str]) -> None:
    module = importlib.import_module(f"gpumath.bindings.{helper[0]}")
    dtype_of = getattr(module, helper[1])
    known = set()
    for row in rows():
        if (row["module"], row["helper"]) != helper:
            continue
        attributes = getattr(module, row["enum"])
        if row["name"] not in attributes.__members__:
            # No header of CUDA 12 or 13 has it.
            assert not row["dtype"] or row["name"] in ("MATHMODE_IMPL", "GAUSSIAN_IMPL")
            continue
        attribute = attributes[row["name"]]
        assert attribute == int(row["value"])
        known.add(attribute)
        for given in (attribute, int(attribute)):
            found = np.dtype(dtype_of(given))
            assert found.itemsize == int(row["size"]), row["name"]
            if row["dtype"]:
                assert found == np.dtype(row["dtype"]), row["name"]
    assert len(known) > 1
    # And of those that came after the sizes were read.
    for attribute in attributes:
        assert np.dtype(dtype_of(attribute)).itemsize in (1, 2, 4, 8, 16, 32)
    for wrong in (max(attributes) + 100, -1):
        with pytest.raises(ValueError, match=str(wrong)):
            dtype_of(wrong)
