"""The snapshot tells changes of names, signatures, members and values apart."""

from __future__ import annotations

import enum
from types import ModuleType

from tools import api_surface


def sample_module() -> ModuleType:
    class Colour(enum.IntEnum):
        RED = 1
        CRIMSON = 1

    class Plan:
        limit = 3

        def __init__(self, size: int, *, inplace: bool = False) -> None:
            self._size = size

        @property
        def size(self) -> int:
            return self._size

        @staticmethod
        def count() -> int:
            return 0

        def execute(self, data: object, /) -> None: ...

        def _hidden(self) -> None: ...

    module = ModuleType("sample")
    contents = {"Colour": Colour, "Plan": Plan, "run": lambda a, b=2: a + b, "VERSION": "1"}
    vars(module).update(contents, hidden=1)
    vars(module)["__all__"] = list(contents)
    return module


def test_lines_of_a_module() -> None:
    assert api_surface.module_lines(sample_module()) == [
        "  class Colour(IntEnum)",
        "    RED = 1",
        "    CRIMSON = 1",
        "  class Plan",
        "    Plan(size: 'int', *, inplace: 'bool' = False) -> 'None'",
        "    @staticmethod count() -> 'int'",
        "    execute(self, data: 'object', /) -> 'None'",
        "    limit: int",
        "    size: property",
        "  VERSION: str",
        "  run(a, b=2)",
    ]


def test_a_generated_class_is_one_line() -> None:
    colour = sample_module().Colour
    colour.__module__ = "gpumath.bindings._generated.paint"
    assert api_surface.class_lines("Colour", colour) == ["  class Colour(IntEnum)"]
