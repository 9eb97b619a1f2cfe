"""Every public name of the bindings has a docstring, and the examples in them run as they stand."""

from __future__ import annotations

import doctest
import inspect

import pytest

from gpumath.bindings import core, cufft, driver, errors

NAMES = [
    (f"{module.__name__}.{name}", getattr(module, name))
    for module in (core, cufft, driver, errors)
    for name in module.__all__
]


def docstrings(value: object) -> list[str]:
    """Return the docstring of an object and of its public members."""
    members = vars(value).items() if inspect.isclass(value) else ()
    objects = [value, *(member for name, member in members if not name.startswith("_"))]
    return [inspect.getdoc(item) or "" for item in objects]


@pytest.mark.parametrize(("name", "value"), NAMES, ids=[name for name, _ in NAMES])
def test_docstring(name: str, value: object) -> None:
    assert inspect.getdoc(value), name
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for text in docstrings(value):
        runner.run(doctest.DocTestParser().get_doctest(text, {}, name, None, None))
    assert runner.summarize(verbose=False).failed == 0


def test_there_are_examples() -> None:
    texts = [text for _, value in NAMES for text in docstrings(value)]
    assert sum(">>>" in text for text in texts) >= 5
