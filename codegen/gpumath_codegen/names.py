"""Turns C names into Python names, unless rules/<library>.toml has others."""

from __future__ import annotations

import re

# Runs of capitals that are to be one word.
_ONE_WORD = (
    ("GPUs", "Gpus"),
    ("LTOIRs", "Ltoirs"),
    ("GEMMreuse", "GemmReuse"),
    # Element types of the matrix, the scalars and the result: half, single, bfloat16 (T).
    ("HSHgemv", "Hshgemv"),
    ("HSSgemv", "Hssgemv"),
    ("TSSgemv", "Tssgemv"),
    ("TSTgemv", "Tstgemv"),
)
# Pairs of element types and of memory spaces are one word, and so are dimensions: C2C, HtoD, 2D.
_PAIR = re.compile(r"([CRDZ]2[CRDZ]|[DH]to[DH]|[123]D)(?![a-z])")


def snake_case(name: str) -> str:
    """Return ``exec_c2c`` for ``ExecC2C``, and ``n_gpus`` for ``nGPUs``."""
    # The two letters of a mixed-precision solver are the types of matrix and factorisation.
    name = re.sub(r"^([A-Z]{2})(gels|gesv)", r"\1_\2", name)
    for capitals, word in _ONE_WORD:
        name = name.replace(capitals, word)
    name = _PAIR.sub(lambda pair: pair[0].capitalize(), name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"_+", "_", name).lower()


def camel_case(name: str) -> str:
    """Return ``MemPoolAttribute`` for ``memPool_attribute``."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def without_prefix(name: str, prefix: str) -> str:
    """Return the name without `prefix`, in any case, and without underscores before it."""
    return re.sub(rf"^_*{re.escape(prefix)}", "", name, flags=re.IGNORECASE)
