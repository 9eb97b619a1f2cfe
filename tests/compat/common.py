"""What the scripts share: they are written for nvmath-python 1.0, and run with either package."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Environment:
    """A package's modules, and the arrays that they get."""

    fft: Any
    package: str
    library: str
    execution: str | None
    rng: np.random.Generator

    @property
    def is_on_gpu(self) -> bool:
        """Whether transforms run on a GPU."""
        return self.execution == "cuda" or (self.library != "numpy" and self.execution is None)

    @property
    def linalg(self) -> Any:
        """The package's generic linear algebra."""
        return importlib.import_module(f"{self.package}.linalg")

    @property
    def advanced(self) -> Any:
        """The package's products with epilogs."""
        return importlib.import_module(f"{self.package}.linalg.advanced")

    @property
    def where(self) -> dict[str, str]:
        """Keyword for every transform."""
        return {} if self.execution is None else {"execution": self.execution}

    def complex(self, *shape: int, dtype: Any = np.complex64) -> np.ndarray:
        """Fresh complex values."""
        real, imaginary = self.rng.standard_normal((2, *shape))
        return (real + 1j * imaginary).astype(dtype)

    def real(self, *shape: int, dtype: Any = np.float32) -> np.ndarray:
        """Fresh real values."""
        return self.rng.standard_normal(shape).astype(dtype)

    def array(self, values: np.ndarray) -> Any:
        """Operand of the library, in the memory order of `values`."""
        if self.library == "numpy":
            return values.copy(order="K")
        if self.library == "cupy":
            import cupy

            return cupy.array(values, order="K")
        import torch

        order = np.argsort([-stride for stride in values.strides], kind="stable")
        packed = torch.from_numpy(np.ascontiguousarray(values.transpose(order))).cuda()
        return packed.permute(*np.argsort(order).tolist())

    def numpy(self, array: Any) -> np.ndarray:
        """Copy of a result."""
        if self.library == "cupy":
            return array.get()
        return array.cpu().numpy() if self.library == "torch" else np.array(array)

    def real_or_complex(self, dtype: str, *shape: int) -> np.ndarray:
        """Fresh values of either kind of type."""
        make = self.complex if np.dtype(dtype).kind == "c" else self.real
        return make(*shape, dtype=dtype)

    def bindings(self, name: str) -> Any:
        """A module of the package's bindings."""
        return importlib.import_module(f"{self.package}.bindings.{name}")


# A name; a result; and what NumPy says in double precision, or None if only the packages are
# compared with each other.
Results = Iterator[tuple[str, Any, Any]]


def main(run: Callable[[Environment], Results]) -> None:
    """Run a script's part and write its results: `--package gpumath --output results.npz`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", choices=["nvmath", "gpumath"], required=True)
    parser.add_argument("--library", choices=["numpy", "cupy", "torch"], default="numpy")
    parser.add_argument("--execution", choices=["cpu", "cuda"])
    parser.add_argument("--seed", type=int, required=True, help="both packages need the same one")
    parser.add_argument("--output", required=True)
    chosen = parser.parse_args()
    environment = Environment(
        importlib.import_module(f"{chosen.package}.fft"),
        chosen.package,
        chosen.library,
        chosen.execution,
        np.random.default_rng(chosen.seed),
    )
    results = {}
    for name, result, expected in run(environment):
        assert name not in results, f"{name} is there twice"
        results[name] = np.asarray(result)
        if expected is not None and not is_refusal(result):
            results[f"{name}.expected"] = np.asarray(expected)
    np.savez(chosen.output, **results)


REFUSED = "refused: "


def attempt(use: Callable[[], Any]) -> Any:
    """Return a result, or why there is none: a package may take what the other one refuses."""
    try:
        return use()
    except Exception as error:
        return f"{REFUSED}{type(error).__name__}: {error}"[:200]


def is_refusal(result: object) -> bool:
    """Say whether `attempt` returned why there is no result."""
    return isinstance(result, str) and result.startswith(REFUSED)


def raised(use: Callable[[], object]) -> str:
    """Which of Python's exceptions a wrong use is, as code that catches it sees it."""
    try:
        use()
    except Exception as error:
        for base in (TypeError, ValueError, RuntimeError):
            if isinstance(error, base):
                return base.__name__
        return type(error).__name__
    return "nothing"
