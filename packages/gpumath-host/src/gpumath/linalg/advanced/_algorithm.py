"""Algorithms of cuBLASLt: what they can do, and how they are set."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, Self
from weakref import WeakSet

import numpy as np

from gpumath._host.arguments import checked_flag, checked_integer
from gpumath.bindings import cublasLt

__all__ = ["Algorithm", "AlgorithmCapabilities", "algorithm_from"]

_Capability = cublasLt.MatmulAlgoCapAttribute
_Setting = cublasLt.MatmulAlgoConfigAttribute
_OWN_KERNEL = b"gpumath"
_CUBLAS = b"cublas\0"
_OTHER_WAY = b"way\0"
"""Stands for cuBLASLt's first algorithm in another way. This is the beginning of an integer of 8
bytes. Of the three behind it, the first one is 1 if entries of the batch stay apart, in a call of
cuBLAS too; the other two say how a and b are copied."""
_SEPARATE_EPILOG = b"epilog\0"
_COPIES = {1: "along sums", 2: "across sums"}
_PADDED_LINES = {1: True, 2: False}
_TUPLE = re.compile(r"(?:[A-Z]+_)?(?P<shape>\d+x(?:\d+|AUTO)(?:x\d+)?|AUTO|UNDEFINED)")


@dataclass(frozen=True, kw_only=True)
class AlgorithmCapabilities:
    """What an algorithm of cuBLASLt can do; None where this version of it does not say.

    Each field is the ``cublasLtMatmulAlgoCapAttributes_t`` of the same name.
    """

    splitk_support: int | None = None
    reduction_scheme_mask: int | None = None
    cta_swizzling_support: int | None = None
    strided_batch_support: int | None = None
    out_of_place_result_support: int | None = None
    uplo_support: int | None = None
    tile_ids: tuple[Any, ...] | None = None
    custom_option_max: int | None = None
    mathmode_impl: int | None = None
    gaussian_impl: int | None = None
    custom_memory_order: int | None = None
    pointer_mode_mask: int | None = None
    epilogue_mask: int | None = None
    stages_ids: tuple[Any, ...] | None = None
    ld_negative: int | None = None
    numerical_impl_flags: int | None = None
    min_alignment_a_bytes: int | None = None
    min_alignment_b_bytes: int | None = None
    min_alignment_c_bytes: int | None = None
    min_alignment_d_bytes: int | None = None
    atomic_sync: int | None = None
    pointer_array_batch_support: int | None = None
    floating_point_emulation_support: int | None = None
    pointer_array_grouped_support: int | None = None


_FIXED_CAPABILITIES = AlgorithmCapabilities(
    splitk_support=0,
    reduction_scheme_mask=0,
    cta_swizzling_support=0,
    strided_batch_support=1,
    out_of_place_result_support=1,
    tile_ids=("UNDEFINED",),
    stages_ids=("UNDEFINED",),
    custom_option_max=0,
    epilogue_mask=1,
    floating_point_emulation_support=0,
)
"""Of what is no algorithm of cuBLASLt: without an epilog, and without anything to be set."""


class _Product(Protocol):
    """What an algorithm knows of a product that uses it."""

    def _note_new_settings(self) -> None: ...


class Algorithm:
    """An algorithm of cuBLASLt for one product, which `Matmul.plan` finds.

    Its settings can be changed within its `capabilities`. It is saved and loaded by way of a NumPy
    array, or by ``pickle``, and can then be passed to `Matmul.plan` for an equal product, with an
    equal cuBLASLt on an equal GPU.

    Parameters
    ----------
    result : numpy.ndarray
        One element of the type ``cublasLt.matmul_heuristic_result_dtype``, from `as_numpy`.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath.bindings import cublasLt
    >>> from gpumath.linalg.advanced import Algorithm
    >>> saved = np.zeros(1, cublasLt.matmul_heuristic_result_dtype)
    >>> Algorithm.from_numpy(saved).workspace_size
    0
    """

    def __init__(self, result: np.ndarray) -> None:
        dtype = np.dtype(cublasLt.matmul_heuristic_result_dtype)
        found = np.asarray(result)
        if found.dtype != dtype or found.size != 1:
            msg = (
                f"an algorithm is one element of the type {dtype}, but there are {found.size} of "
                f"the type {found.dtype}; give what as_numpy() returned"
            )
            raise ValueError(msg)
        self._result = found.reshape(1).copy()
        # With other settings, these products need other plans.
        self._products: WeakSet[_Product] = WeakSet()

    @classmethod
    def from_numpy(cls, array: np.ndarray) -> Self:
        """Make an algorithm of what `as_numpy` returned."""
        return cls(array)

    def as_numpy(self) -> np.ndarray:
        """Return a copy as an array of one element, to be saved."""
        return self._result.copy()

    @property
    def workspace_size(self) -> int:
        """Bytes of workspace that cuBLASLt said it needs, with the settings that it chose."""
        return int(self._result["workspace_size"][0])

    @property
    def waves_count(self) -> float:
        """How many times it fills the GPU, with the settings that cuBLASLt chose."""
        return float(self._result["waves_count"][0])

    @property
    def capabilities(self) -> AlgorithmCapabilities:
        """What the algorithm can do."""
        found: dict[str, Any] = {}
        if self._is_fixed:
            return _FIXED_CAPABILITIES
        for name in AlgorithmCapabilities.__dataclass_fields__:
            attribute = _Capability.__members__.get(name.upper())
            if attribute is not None:
                try:
                    found[name] = self._capability(attribute)
                except cublasLt.cuBLASLtError:
                    continue
        return AlgorithmCapabilities(**found)

    @property
    def is_own_kernel(self) -> bool:
        """Whether it is no algorithm of cuBLASLt, but a kernel of gpumath's own.

        There are such kernels for small matrices, for matrices of small depth, and for a matrix and
        a vector. They have no settings that can be changed, and their number is -1.
        """
        return self._bytes().startswith(_OWN_KERNEL)

    @property
    def is_by_cublas(self) -> bool:
        """Whether it is no algorithm of cuBLASLt, but a call of cuBLAS.

        ``cublasGemmEx``, or ``cublasGemmStridedBatchedEx`` for a batch, chooses among kernels when
        it is called, in another way than cuBLASLt does. It has no settings that can be changed, and
        its number is -1.
        """
        return self._bytes().startswith(_CUBLAS)

    @property
    def is_for_entries_apart(self) -> bool:
        """Whether it is for a batch whose entries the other algorithms join.

        They make one matrix of entries that continue each other, or whose copies do, where the
        other factor is the same for all of them. This is faster on the whole, but not always. An
        algorithm for entries apart is cuBLASLt's first one, or a call of cuBLAS. It has no settings
        that can be changed, and its number is -1. `Matmul.autotune` adds it.
        """
        return (self._is_first_of_other_way or self.is_by_cublas) and self._word(1) == 1

    @property
    def copied_factor(self) -> Literal["a", "b"] | None:
        """The factor that is copied for this algorithm, and is not, or otherwise, for the others.

        Such an algorithm is cuBLASLt's first one for the copy. It has no settings that can be
        changed, and its number is -1. `Matmul.autotune` adds it.
        """
        if not self._is_first_of_other_way:
            return None
        return "a" if self._word(2) else "b" if self._word(3) else None

    @property
    def pads_lines(self) -> bool | None:
        """Whether results and sums become longer lines for this algorithm.

        Tensor cores take a fraction of the time for a large product of half precision, bfloat16 or
        TensorFloat-32 if the lines of its result, and its sums, are multiples of 16 bytes. So where
        that is expected to be faster, cuBLASLt multiplies copies of the factors with zeros behind
        their lines, and the result is copied from among longer lines. An algorithm that does so
        where the others do not, or the other way round, is cuBLASLt's first one. It has no settings
        that can be changed, and its number is -1. `Matmul.autotune` adds it. None for algorithms
        that pad as the others do.
        """
        if not self._is_first_of_other_way:
            return None
        return _PADDED_LINES.get(self._word(4))

    @property
    def has_separate_epilog(self) -> bool:
        """Whether the epilog is a step of its own, by kernels of gpumath's own.

        They follow the first algorithm of the product without an epilog, which can take a fraction
        of the time of cuBLASLt's algorithms with one. Sums of half precision or bfloat16 are in
        single precision in between, so that results are rounded once, but for derivatives of GELU
        in bfloat16. If the result is by columns, there are two such algorithms: the other one
        computes the product by rows. It has no settings that can be changed, and its number is -1.
        """
        return self._bytes().startswith(_SEPARATE_EPILOG)

    @property
    def _is_first_of_other_way(self) -> bool:
        return self._bytes().startswith(_OTHER_WAY)

    @property
    def _is_fixed(self) -> bool:
        codes = (_OWN_KERNEL, _CUBLAS, _OTHER_WAY, _SEPARATE_EPILOG)
        return self._bytes().startswith(codes)

    @property
    def is_emulated(self) -> bool:
        """Whether it computes in a wide type by products of narrower ones.

        For the compute types ``COMPUTE_32F_EMULATED_16BFX9`` and
        ``COMPUTE_64F_EMULATED_FIXEDPOINT``, cuBLASLt also finds algorithms that do not.
        """
        if self._is_fixed:
            return False
        try:
            return bool(self._capability(_Capability.FLOATING_POINT_EMULATION_SUPPORT))
        except cublasLt.cuBLASLtError:  # an older version, which does not emulate
            return False

    @property
    def algorithm_id(self) -> int:
        """Number of the algorithm, one of `Matmul.applicable_algorithm_ids`."""
        return self._get(_Setting.ID)

    @property
    def tile(self) -> Any:
        """Rows and columns of a tile: one of ``capabilities.tile_ids``."""
        return _tuple_of("MatmulTile", self._get(_Setting.TILE_ID))

    @tile.setter
    def tile(self, tile: tuple[int, ...] | str) -> None:
        self._set(_Setting.TILE_ID, "tile", _number_of("tile", "MatmulTile", tile))

    @property
    def stages(self) -> Any:
        """Depth and number of the stages of a tile: one of ``capabilities.stages_ids``."""
        return _tuple_of("MatmulStages", self._get(_Setting.STAGES_ID))

    @stages.setter
    def stages(self, stages: tuple[Any, ...] | str) -> None:
        self._set(_Setting.STAGES_ID, "stages", _number_of("stages", "MatmulStages", stages))

    @property
    def split_k(self) -> int:
        """Number of parts of a sum, if ``capabilities.splitk_support`` is 1."""
        return self._get(_Setting.SPLITK_NUM)

    @split_k.setter
    def split_k(self, number: int) -> None:
        self._set(_Setting.SPLITK_NUM, "split_k", number)

    @property
    def reduction_scheme(self) -> int:
        """How parts of a sum are added up: one of ``capabilities.reduction_scheme_mask``."""
        return self._get(_Setting.REDUCTION_SCHEME)

    @reduction_scheme.setter
    def reduction_scheme(self, scheme: int) -> None:
        self._set(_Setting.REDUCTION_SCHEME, "reduction_scheme", scheme)

    @property
    def cta_swizzling(self) -> bool:
        """Whether tiles are taken in another order, if ``capabilities.cta_swizzling_support``."""
        return bool(self._get(_Setting.CTA_SWIZZLING))

    @cta_swizzling.setter
    def cta_swizzling(self, flag: bool) -> None:
        number = int(checked_flag("cta_swizzling", flag))
        self._set(_Setting.CTA_SWIZZLING, "cta_swizzling", number)

    @property
    def custom_option(self) -> int:
        """A variant of the algorithm, at most ``capabilities.custom_option_max``."""
        return self._get(_Setting.CUSTOM_OPTION)

    @custom_option.setter
    def custom_option(self, value: int) -> None:
        self._set(_Setting.CUSTOM_OPTION, "custom_option", value)

    @property
    def inner_shape(self) -> int:
        """Shape of the innermost product, a `MatmulInnerShape`."""
        return cublasLt.MatmulInnerShape(self._get(_Setting.INNER_SHAPE_ID))

    @inner_shape.setter
    def inner_shape(self, shape: int) -> None:
        self._set(_Setting.INNER_SHAPE_ID, "inner_shape", shape)

    @property
    def cluster_shape(self) -> Any:
        """Shape of the clusters of thread blocks."""
        return _tuple_of("ClusterShape", self._get(_Setting.CLUSTER_SHAPE_ID))

    @cluster_shape.setter
    def cluster_shape(self, shape: tuple[int, ...] | str) -> None:
        number = _number_of("cluster_shape", "ClusterShape", shape)
        self._set(_Setting.CLUSTER_SHAPE_ID, "cluster_shape", number)

    def __reduce__(self) -> tuple[Any, ...]:
        """Save the algorithm alone, not the products that use it."""
        return type(self), (self._result,)

    def __repr__(self) -> str:
        """Return what tells algorithms apart."""
        if not any(self._bytes()):
            return "Algorithm(<empty>)"
        if self.is_own_kernel:
            return "Algorithm(<a kernel of gpumath's own>)"
        if self.has_separate_epilog:
            order = " by rows" if self._word(1) else ""
            return f"Algorithm(<the product{order}, then the epilog>)"
        way = ", entries of the batch apart" if self.is_for_entries_apart else ""
        if (factor := self.copied_factor) is not None:
            copy = self._word(2) or self._word(3)
            way += f", {factor} copied {_COPIES.get(copy, copy)}"
        if (pads := self.pads_lines) is not None:
            way += ", lines padded" if pads else ", lines as they are"
        if self.is_by_cublas:
            return f"Algorithm(<a call of cuBLAS{way}>)"
        if self._is_first_of_other_way:
            return f"Algorithm(<cuBLASLt's first{way}>)"
        return (
            f"Algorithm(id={self.algorithm_id}, tile={self.tile}, stages={self.stages}, "
            f"split_k={self.split_k}, workspace_size={self.workspace_size})"
        )

    def _bytes(self) -> bytes:
        """Return the ``cublasLtMatmulAlgo_t``."""
        return self._result["algo"].tobytes()

    def _word(self, number: int) -> int:
        """Return an integer of 8 bytes of it."""
        return int(np.frombuffer(self._bytes(), np.uint64)[number])

    @property
    def _address(self) -> int:
        # The algorithm is the first field of the result.
        return int(self._result.ctypes.data)

    def _get(self, setting: int) -> int:
        if self._is_fixed:
            return -1 if setting == _Setting.ID else 0
        value = np.zeros(1, cublasLt.get_matmul_algo_config_attribute_dtype(setting))
        written = np.zeros(1, np.uint64)
        cublasLt.matmul_algo_config_get_attribute(
            self._address, setting, value.ctypes.data, value.nbytes, written.ctypes.data
        )
        return int(value[0])

    def _set(self, setting: int, name: str, value: int) -> None:
        dtype = np.dtype(cublasLt.get_matmul_algo_config_attribute_dtype(setting))
        number = checked_integer(name, value, bits=np.iinfo(dtype).max.bit_length())
        if self._is_fixed:
            if number == self._get(setting):
                return
            msg = f"{self!r} has no settings; change those of another algorithm"
            raise ValueError(msg)
        stored = np.array([number], dtype)
        cublasLt.matmul_algo_config_set_attribute(
            self._address, setting, stored.ctypes.data, stored.nbytes
        )
        for product in self._products:
            product._note_new_settings()

    def _capability(self, capability: int) -> Any:
        dtype = np.dtype(cublasLt.get_matmul_algo_cap_attribute_dtype(capability))
        written = np.zeros(1, np.uint64)
        many = {_Capability.TILE_IDS: "MatmulTile", _Capability.STAGES_IDS: "MatmulStages"}
        count = 1
        if capability in many:
            cublasLt.matmul_algo_cap_get_attribute(
                self._address, capability, 0, 0, written.ctypes.data
            )
            count = int(written[0]) // dtype.itemsize
        values = np.zeros(count, dtype)
        if count:
            cublasLt.matmul_algo_cap_get_attribute(
                self._address, capability, values.ctypes.data, values.nbytes, written.ctypes.data
            )
        if capability in many:
            return tuple(_tuple_of(many[_Capability(capability)], int(value)) for value in values)
        return int(values[0])


def algorithm_from(found: tuple[bytes, int, float]) -> Algorithm:
    """Make an algorithm of what the core's plans say of it."""
    result = np.zeros(1, cublasLt.matmul_heuristic_result_dtype)
    code, result["workspace_size"], result["waves_count"] = found
    result["algo"] = np.frombuffer(code, result["algo"].dtype).reshape(result["algo"].shape)
    return Algorithm(result)


@cache
def _shapes(enum: str) -> dict[int, Any]:
    """Return the members of an enum of shapes as tuples, by their numbers."""
    shapes = {}
    for name, member in getattr(cublasLt, enum).__members__.items():
        match = _TUPLE.fullmatch(name)
        if match is not None:
            parts = match["shape"].split("x")
            entries = tuple(int(part) if part.isdigit() else part for part in parts)
            shapes[int(member)] = entries if len(entries) > 1 else entries[0]
    return shapes


def _tuple_of(enum: str, number: int) -> Any:
    # A newer cuBLASLt may have shapes without a name here.
    return _shapes(enum).get(number, f"{enum}({number})")


def _number_of(name: str, enum: str, shape: object) -> int:
    wanted = tuple(shape) if isinstance(shape, list) else shape
    for number, known in _shapes(enum).items():
        if known == wanted:
            return number
    msg = f"{name} is {shape!r}, which cuBLASLt does not have; see the capabilities"
    raise ValueError(msg)
