"""What the tuning database does for one planned product: it knows its algorithm, or learns it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from gpumath._host.tuning_database import TuningDatabase, TuningKey
from gpumath.bindings import core, cublasLt, driver
from gpumath.linalg.advanced._algorithm import Algorithm, algorithm_from
from gpumath.linalg.advanced.tuning import MissingTuningError, Mode, settings

if TYPE_CHECKING:
    from gpumath.linalg.advanced._matmul_class import Matmul

__all__ = ["ProductTuning"]

# What a plan is made of, but not what decides which of its algorithms is the fastest.
_NO_PART_OF_THE_PROBLEM = ("execution", "device_id", "handle", "limit")


class ProductTuning:
    """The database's entry for a product that was just planned, if there is one.

    The constructor makes that algorithm the first one of the product. It raises MissingTuningError
    if there is none and the settings say so. On the CPU, and where the user has chosen algorithms,
    it does nothing.
    """

    def __init__(self, product: Matmul, is_free_to_choose: bool, stream: Any) -> None:
        device_id = product._plan.device_id
        chosen = settings()
        self._mode: Mode = "off"
        self._is_known = False
        if device_id is None or not is_free_to_choose or chosen.folder is None:
            return
        self._mode, self._missing = chosen.mode, chosen.missing
        self._database = TuningDatabase(chosen.folder)
        self._logger = product._logger
        library = f"cublasLt {cublasLt.get_version()}"
        self._key = TuningKey(_problem_text(product), library, _device(device_id))
        known = self._known_algorithm()
        self._is_known = known is not None and _put_first(product, known, stream)

    @property
    def is_measured(self) -> bool:
        """Whether ``autotune`` measures this product."""
        return self._mode in ("off", "renew") or (self._mode != "frozen" and not self._is_known)

    def keep(self, algorithm: Algorithm, median_ms: float) -> None:
        """Remember the fastest algorithm that was measured; what cannot be written is logged."""
        if self._mode in ("off", "frozen"):
            return
        try:
            self._database.keep(self._key, algorithm._bytes(), median_ms)
        except OSError as error:
            self._logger.warning("the autotuned algorithm is not kept on disk: %s", error)

    def _known_algorithm(self) -> bytes | None:
        if self._mode == "off":
            return None
        found = self._database.find(self._key, self._logger)
        if found is not None:
            self._logger.info(
                "the tuning database has an algorithm that took %.4f ms on %s",
                *(found.median_ms, found.tuned_at),
            )
            return found.algorithm
        if self._mode == "frozen":
            msg = (
                f"the frozen tuning database in {self._database.folder} has nothing for this "
                f"product on {self._key.device}: {self._key.problem}"
            )
            if self._missing == "error":
                raise MissingTuningError(f"{msg}; autotune it in the mode 'read-write' first")
            self._logger.warning("%s; the heuristic's order is kept", msg)
        return None


def _problem_text(product: Matmul) -> str:
    """Return a text with all that the choice of an algorithm depends on."""
    arrays = product._arrays
    names = ["a", "b", *(["c"] if arrays.c is not None else []), *arrays.further]
    parts = [
        f"{name} {dtype} {shape} {strides} aligned to {_alignment(array)}"
        for name, array, (dtype, shape, strides, _) in zip(
            names, product._operands, product._layouts, strict=True
        )
    ]
    choices = (
        f"{name}={value}"
        for name, value in sorted(product._choices.items())
        if name not in _NO_PART_OF_THE_PROBLEM and value not in (None, False)
    )
    limit = f"memory_limit={product._options.memory_limit}"
    return "; ".join([*parts, f"conjugate={arrays.conjugate}", *choices, limit])


def _alignment(array: Any) -> int:
    """Return the power of two, up to 256, that the address on the GPU is a multiple of."""
    view = core.TensorView(array)
    # The copy of an operand in host memory is aligned.
    address = 0 if view.device_id is None else view.ptr
    return min(256, address & -address) if address else 256


def _put_first(product: Matmul, code: bytes, stream: Any) -> bool:
    """Make an algorithm the first one of a product; say whether cuBLASLt accepts it."""
    try:
        plan = product._make_plan(algorithm=algorithm_from((code, 0, 0.0)), stream=stream)
    except (ValueError, cublasLt.cuBLASLtError) as error:
        product._logger.warning("an algorithm of the tuning database does not fit: %s", error)
        return False
    others = [one for one in product._algorithms if one._bytes() != code]
    count = max(len(product._algorithms), 1)
    product._plan = plan
    product._take_algorithms([algorithm_from(plan.algorithms[0]), *others][:count])
    product._ready()
    return True


@cache
def _device(device_id: int) -> str:
    """Describe the kind of a device: equal ones share what was measured."""
    device = core.Device(device_id)
    major, minor = device.compute_capability
    count = driver.device_get_attribute(
        driver.DeviceAttribute.MULTIPROCESSOR_COUNT, driver.device_get(device_id)
    )
    return f"{device.name}, compute capability {major}.{minor}, {count} multiprocessors"
