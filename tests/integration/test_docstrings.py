"""Every public name of the bindings has a docstring, and the examples in them run as they stand."""

from __future__ import annotations

import doctest
import inspect

import pytest

from tools.api_surface import public_modules, public_names

MODULES = {module.__name__: module for module in public_modules("gpumath.bindings")}


def docstrings(value: object) -> list[str]:
    """Return the docstring of an object and of its public members."""
    members = vars(value).items() if inspect.isclass(value) else ()
    objects = [value, *(member for name, member in members if not name.startswith("_"))]
    return [inspect.getdoc(item) or "" for item in objects]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    module = MODULES[name]
    values = [getattr(module, public) for public in public_names(module)]
    assert values or name == "gpumath.bindings"
    bare = [value for value in values if not inspect.getdoc(value)]
    assert not bare
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for text in [module.__doc__ or "", *(text for value in values for text in docstrings(value))]:
        if ">>>" in text:
            runner.run(doctest.DocTestParser().get_doctest(text, {}, name, None, None))
    outcome = runner.summarize(verbose=False)
    assert outcome.failed == 0
    assert outcome.attempted > 0 or name == "gpumath.bindings"
