"""Matrix products inside kernels, by cuBLASDx: what to compute, its traits, and its code."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Literal

from gpumath.device._architecture import Code, CodeType, ComputeCapability, Dim3
from gpumath.device._arguments import as_code_type, as_count, as_tuple, instance_of, one_of
from gpumath.device._descriptor import CompiledCode, compiled_execute
from gpumath.device._kernel_functions import only_in_kernels
from gpumath.device._matmul_operators import APIS, MatmulOperators
from gpumath.device._matmul_types import (
    Alignment,
    LeadingDimension,
    SharedStorageCalc,
    element_size,
)
from gpumath.device._pipelines import DevicePipeline
from gpumath.device._tensors import EXECUTE_TENSORS, Layout, tensor_function

__all__ = ["Matmul", "compile_blas_execute"]


class Matmul(MatmulOperators):
    """A product of small matrices, ``c = alpha * a @ b + beta * c``, inside a kernel.

    The threads of a block compute it together, on matrices in shared memory. The object is used in
    a kernel as it is: its traits are constants there, and its method ``execute`` computes. Nothing
    has to be linked.

    Parameters
    ----------
    size : tuple of int
        m, n and k: a is m × k, b is k × n and c is m × n.
    precision : type, SmallFloat or Precision
        Type of the numbers, or one type for each matrix: a type of NumPy, ``device.bfloat16``,
        ``device.tfloat32``, ``device.float8_e4m3fn`` or ``device.float8_e5m2``.
    data_type : {'real', 'complex'}
        Whether the elements are numbers, or pairs of them.
    sm : ComputeCapability or int, optional
        GPUs to compile for, such as ``ComputeCapability(9, 0)`` or 90. Default: the current GPU.
    block_size, block_dim : int, Dim3 or 'suggested', optional
        Threads of a block, as one number or three. Default: what cuBLASDx suggests.
    leading_dimension : LeadingDimension or 'suggested', optional
        Distances of columns, or of rows. Default: the matrices are contiguous.
    transpose_mode : TransposeMode, optional
        Whether a and b are transposed. Either this or ``arrangement`` is needed.
    arrangement : Arrangement, optional
        Whether columns or rows are contiguous, for each matrix.
    alignment : Alignment, optional
        What the addresses of the matrices are multiples of. Default: the size of an element. More,
        up to 16, is faster.
    function : {'MM'}
        Matrix product.
    static_block_dim : bool, default: False
        Whether the kernel runs with exactly ``block_dim`` threads, which is faster.
    execution : {'Block', 'Thread'}
        Whether a block or a thread computes the product. The second needs libmathdx 0.3.
    with_pipeline, enable_input_streaming : bool, default: False
        Whether pipelines feed the product, and whether they do so without a conversion.

    Attributes
    ----------
    a_value_type, b_value_type, c_value_type : type, SmallFloat or Complex
        Types of the elements.
    a_dim, b_dim, c_dim : tuple of int
        Shapes of the matrices as they are stored.
    a_size, b_size, c_size : int
        Elements that the matrices span, with their leading dimensions.

    Raises
    ------
    ValueError
        An argument is not allowed, or cuBLASDx does not support this product on these GPUs.
    gpumath.bindings.errors.LibraryNotFoundError
        libmathdx or NVRTC is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumath import device
    >>> product = device.Matmul(
    ...     size=(32, 16, 64),
    ...     precision=np.float32,
    ...     data_type="real",
    ...     arrangement=("row_major", "row_major", "row_major"),
    ...     block_dim=(128, 1, 1),
    ...     sm=90,
    ... )
    >>> product.a_dim, product.leading_dimension, product.get_shared_storage_size()
    ((32, 64), LeadingDimension(a=64, b=16, c=16), 14336)
    """

    @property
    def block_dim(self) -> Dim3:
        """Threads of a block."""
        return self._block_dim or Dim3(*self._suggestion(0))

    @property
    def block_size(self) -> int:
        """Number of threads of a block."""
        x, y, z = self.block_dim
        return x * y * z

    @property
    def max_threads_per_block(self) -> int:
        """Number of threads of a block, for bounds of the launch."""
        return self.block_size

    @property
    def leading_dimension(self) -> LeadingDimension:
        """Distances of the columns, or of the rows, in elements."""
        return self._leading_dimension or self._least_ld

    @property
    def alignment(self) -> Alignment:
        """What the addresses of the matrices are multiples of, in bytes."""
        return self._alignment or self._default_alignment

    @property
    def a_value_type(self) -> Any:
        """Type of the elements of a."""
        return self._value_types[0]

    @property
    def b_value_type(self) -> Any:
        """Type of the elements of b."""
        return self._value_types[1]

    @property
    def c_value_type(self) -> Any:
        """Type of the elements of c."""
        return self._value_types[2]

    @property
    def a_size(self) -> int:
        """Elements that a spans."""
        return self._spans(self.leading_dimension)[0]

    @property
    def b_size(self) -> int:
        """Elements that b spans."""
        return self._spans(self.leading_dimension)[1]

    @property
    def c_size(self) -> int:
        """Elements that c spans."""
        return self._spans(self.leading_dimension)[2]

    def valid(self, *knobs: str) -> list[tuple[Dim3, ...]]:
        """Return the values that cuBLASDx suggests for knobs.

        Parameters
        ----------
        *knobs : {'block_dim'}
            Knobs.

        Returns
        -------
        list of tuple of Dim3
            Combinations of their values.

        Raises
        ------
        ValueError
            A knob has another name.
        """
        for knob in knobs:
            one_of("knob", knob, ("block_dim",))
        return list(product(*([Dim3(*self._suggestion(1))] for _ in knobs)))

    def get_shared_storage_size(self, *sizes: Any) -> int:
        """Return the bytes of shared memory that a, b and c need, one after the other.

        Parameters
        ----------
        *sizes : int or Layout, optional
            Three leading dimensions, or three layouts. Default: those of this product.

        Returns
        -------
        int
            Size in bytes, with each matrix aligned.

        Raises
        ------
        ValueError
            There are neither none nor three.
        """
        return self._shared_storage(sizes, 3)

    def get_shared_storage_size_ab(self, *sizes: Any) -> int:
        """Return the bytes of shared memory that a and b need, one after the other.

        Parameters
        ----------
        *sizes : int or Layout, optional
            Two leading dimensions, or two layouts. Default: those of this product.

        Returns
        -------
        int
            Size in bytes, with each matrix aligned.

        Raises
        ------
        ValueError
            There are neither none nor two.
        """
        return self._shared_storage(sizes, 2)

    def _shared_storage(self, sizes: tuple[Any, ...], count: int) -> int:
        if len(sizes) not in (0, count):
            msg = f"{len(sizes)} sizes are given; none or {count} are needed"
            raise ValueError(msg)
        layouts = bool(sizes) and all(hasattr(size, "cosize") for size in sizes)
        if layouts:
            spans = [size.cosize for size in sizes]
        else:
            given = [as_count("leading dimension", size) for size in sizes]
            spans = self._spans(given or self.leading_dimension)
        calculator = SharedStorageCalc()
        for alignment, value_type, span in zip(
            self.alignment[:count], self._value_types[:count], spans[:count], strict=True
        ):
            calculator.add(alignment, element_size(value_type), span)
        return calculator.get()

    def get_layout_gmem_a(self, leading_dimension: int | None = None) -> Layout:
        """Return the layout of a in global memory, where columns or rows may be further apart."""
        return Layout(self, "gmem_a", leading_dimension)

    def get_layout_gmem_b(self, leading_dimension: int | None = None) -> Layout:
        """Return the layout of b in global memory, where columns or rows may be further apart."""
        return Layout(self, "gmem_b", leading_dimension)

    def get_layout_gmem_c(self, leading_dimension: int | None = None) -> Layout:
        """Return the layout of c in global memory, where columns or rows may be further apart."""
        return Layout(self, "gmem_c", leading_dimension)

    def get_layout_smem_a(self) -> Layout:
        """Return the plain layout of a in shared memory."""
        return Layout(self, "smem_a")

    def get_layout_smem_b(self) -> Layout:
        """Return the plain layout of b in shared memory."""
        return Layout(self, "smem_b")

    def get_layout_smem_c(self) -> Layout:
        """Return the plain layout of c in shared memory."""
        return Layout(self, "smem_c")

    def get_layout_rmem_c(self) -> Layout:
        """Return the layout of c in registers, for plain layouts of a and b."""
        return Layout(self, "rmem_c")

    def suggest_layout_smem_a(self) -> Layout:
        """Return the fastest layout of a in shared memory."""
        return Layout(self, "suggested_smem_a")

    def suggest_layout_smem_b(self) -> Layout:
        """Return the fastest layout of b in shared memory."""
        return Layout(self, "suggested_smem_b")

    def suggest_layout_smem_c(self) -> Layout:
        """Return the fastest layout of c in shared memory."""
        return Layout(self, "suggested_smem_c")

    def suggest_layout_rmem_c(self) -> Layout:
        """Return the layout of c in registers, for the fastest layouts of a and b."""
        return Layout(self, "suggested_rmem_c")

    def get_accumulator(self) -> Any:
        """Return an `Accumulator` for plain layouts of a and b, inside a kernel."""
        only_in_kernels("Matmul.get_accumulator")

    def suggest_accumulator(self) -> Any:
        """Return an `Accumulator` for the fastest layouts of a and b, inside a kernel."""
        only_in_kernels("Matmul.suggest_accumulator")

    def suggest_device_pipeline(
        self,
        pipeline_depth: int,
        a: Any,
        b: Any,
        *,
        block_size_strategy: Literal["fixed", "heuristic"] = "fixed",
    ) -> DevicePipeline:
        """Return a pipeline that brings tiles of large matrices to this product.

        Parameters
        ----------
        pipeline_depth : int
            Number of tiles of a and b that are on the way at once; 0 for as many as fit.
        a, b : array
            The matrices on the GPU, whose sizes are multiples of those of the product.
        block_size_strategy : {'fixed', 'heuristic'}
            Whether the kernel's block has the threads of the product, or more threads, which only
            copy, where that is faster. ``pipeline.block_dim`` says how many.

        Returns
        -------
        DevicePipeline
            An argument for kernels.

        Raises
        ------
        ValueError
            An argument is not allowed, or cuBLASDx does not support this pipeline.
        RuntimeError
            The CUDA toolkit is too old: 13.0 is needed, and 13.1 from compute capability 10.0 on.
        """
        return DevicePipeline(self, pipeline_depth, a, b, block_size_strategy=block_size_strategy)

    def execute(self, *operands: Any) -> None:
        """Compute the product, inside a kernel.

        It is called as ``execute(alpha, a, b, beta, c)`` with arrays or tensors in shared memory;
        as ``execute(alpha, a, lda, b, ldb, beta, c, ldc)`` with arrays, and leading dimensions that
        are known when the kernel runs; or as ``execute(a, b, accumulator)`` with tensors in shared
        memory, which adds the product to an accumulator or a fragment.

        Parameters
        ----------
        *operands : array, tensor or number
            The matrices, and the numbers alpha and beta.

        Raises
        ------
        RuntimeError
            It is called outside of a kernel.
        """
        del operands
        only_in_kernels("Matmul.execute")

    def _code(self, api: str, target: ComputeCapability | None = None) -> CompiledCode:
        """Return the code of `execute`, with leading dimensions that are fixed or arguments."""
        return compiled_execute("cublasdx", self._operators(api), target or self._sm, self)

    @property
    def _key(self) -> tuple[object, ...]:
        return (*sorted(self._operators("tensors").items()), str(self._sm))

    @property
    def _numba_type_(self) -> Any:
        from gpumath.device import _numba

        return _numba.type_of(self)

    _constants = frozenset(
        {
            *("size", "precision", "data_type", "sm", "function", "execution", "arrangement"),
            *("transpose_mode", "static_block_dim", "with_pipeline", "enable_input_streaming"),
            *("block_dim", "block_size", "max_threads_per_block", "leading_dimension", "alignment"),
            *("a_value_type", "b_value_type", "c_value_type", "a_dim", "b_dim", "c_dim"),
            *("a_size", "b_size", "c_size"),
        }
    )


def compile_blas_execute(
    blas: Matmul,
    code_type: CodeType | Sequence[Any],
    execute_api: Literal[
        "static_leading_dimensions", "dynamic_leading_dimensions", "tensors"
    ] = "static_leading_dimensions",
    tensor_types: Sequence[str] | None = None,
) -> tuple[Code, str]:
    """Compile a matrix product to LTO-IR, for kernels that another compiler makes.

    The function has C's calling convention. Its arguments are the addresses of alpha, a, b, beta
    and c, and with ``'dynamic_leading_dimensions'`` after each matrix that of its leading
    dimension, an ``unsigned``.

    With ``'tensors'``, each matrix is a ``struct libmathdx_tensor_0s_0s { void *ptr; }``, passed by
    value. The arguments are the address of alpha, a, b, the address of beta and c if c is in shared
    memory. If c is in registers, they are a, b and c, and the product is added to c.

    Parameters
    ----------
    blas : Matmul
        The product.
    code_type : CodeType
        ``CodeType("lto", ComputeCapability(9, 0))`` or a tuple like it.
    execute_api : {'static_leading_dimensions', 'dynamic_leading_dimensions', 'tensors'}, optional
        Whether the leading dimensions are those of the product, or arguments, or whether the
        matrices are tensors.
    tensor_types : sequence of str, optional
        For ``'tensors'``, the layouts of a, b and c: ``'smem_a'``, ``'smem_b'``, and ``'smem_c'``,
        ``'rmem_c'`` or ``'accumulator_c'``; or all of them with ``suggested_`` before the name.

    Returns
    -------
    code : Code
        The LTO-IR.
    symbol : str
        Name of the function in it.

    Raises
    ------
    TypeError
        ``blas`` is no Matmul.
    ValueError
        An argument is not allowed, or cuBLASDx does not support this product on these GPUs.
    """
    instance_of("blas", blas, Matmul)
    wanted = as_code_type(code_type)
    api = one_of("execute_api", execute_api, tuple(APIS))
    if api == "tensors":
        names = as_tuple("tensor_types", tensor_types, 3)
        layouts = [Layout(blas, one_of("tensor_types", name, EXECUTE_TENSORS)) for name in names]
        code = tensor_function(blas, "EXECUTE", *layouts, target=wanted.cc)
    elif tensor_types is not None:
        msg = f"tensor_types is {tensor_types!r}, but it is for execute_api='tensors' only"
        raise ValueError(msg)
    else:
        code = blas._code(api, wanted.cc)
    return Code(wanted, code.isa_version, code.ltoir), code.symbols[0]
