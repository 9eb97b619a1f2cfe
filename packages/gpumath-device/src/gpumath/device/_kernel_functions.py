"""What kernels call, as Python sees it: signatures and documentation."""
# ruff: noqa: ARG001, ARG002 - the parameters are for kernels; outside, these functions only refuse.

from __future__ import annotations

from typing import Any, NoReturn

from gpumath.device._tensors import Layout

__all__ = [
    *("Accumulator", "OpaqueTensor"),
    *("axpby", "clear", "copy", "copy_fragment", "copy_wait"),
    *("make_fragment_like", "make_tensor", "only_in_kernels", "shared_array"),
]


def only_in_kernels(name: str) -> NoReturn:
    """Say that a function was called outside of a kernel."""
    msg = f"{name} is called inside kernels that numba.cuda.jit compiles"
    raise RuntimeError(msg)


class OpaqueTensor:
    """A tensor in a kernel; `make_tensor` makes it.

    A tensor in registers, a fragment, has an index: ``fragment[i]`` is element i of the thread.
    """

    def __init__(self, *arguments: Any) -> None:
        del arguments
        only_in_kernels("make_tensor")


class Accumulator:
    """The part of c that a thread computes; `Matmul.suggest_accumulator` makes it in a kernel.

    Its methods can be called in kernels only.
    """

    def __init__(self, *arguments: Any) -> None:
        del arguments
        only_in_kernels("suggest_accumulator")

    def get_results(self, out: Any = None) -> Any:
        """Return the results as a fragment, or copy them to one."""
        only_in_kernels("get_results")

    def clear(self) -> None:
        """Set the results to zero."""
        only_in_kernels("clear")

    def size(self) -> int:
        """Return the number of elements that the thread holds."""
        only_in_kernels("size")

    def make_empty_fragment(self) -> Any:
        """Return a fragment for the elements that the thread holds."""
        only_in_kernels("make_empty_fragment")

    def make_partition_and_copy(self, src: Any) -> Any:
        """Return a fragment with the thread's elements of a tensor in global memory."""
        only_in_kernels("make_partition_and_copy")

    def partition_and_copy(self, src: Any, dst: Any) -> None:
        """Copy the thread's elements between a fragment and a tensor in global memory."""
        only_in_kernels("partition_and_copy")

    def partition_and_store(self, tensor: Any) -> None:
        """Copy the results to a tensor in global memory."""
        only_in_kernels("partition_and_store")

    def axpby(self, alpha: Any, beta: Any, tensor: Any) -> None:
        """Set a tensor in global memory to ``alpha * results + beta * tensor``."""
        only_in_kernels("axpby")

    def map_fragment_index(self, fragment_index: int) -> tuple[int, int]:
        """Return row and column in c of an element of the thread."""
        only_in_kernels("map_fragment_index")

    def is_thread_active(self) -> bool:
        """Return whether the thread takes part in the product."""
        only_in_kernels("is_thread_active")

    def is_predicated(self) -> bool:
        """Return whether some elements of threads are outside of c."""
        only_in_kernels("is_predicated")

    def is_index_in_bounds(self, index: int) -> bool:
        """Return whether an element of the thread is inside c."""
        only_in_kernels("is_index_in_bounds")


def make_tensor(array: Any, layout: Layout) -> Any:
    """Return a tensor of an array and a layout, inside a kernel.

    Parameters
    ----------
    array : array
        The memory, which is as large as the layout needs.
    layout : Layout
        Where the elements are in it.
    """
    only_in_kernels("make_tensor")


def make_fragment_like(tensor: Any, dtype: Any) -> Any:
    """Return a fragment with the layout of another one and another type, inside a kernel.

    Parameters
    ----------
    tensor : OpaqueTensor
        A fragment.
    dtype : type
        Type of the elements of the new one.
    """
    only_in_kernels("make_fragment_like")


def copy(src: Any, dst: Any, alignment: int | None = None) -> None:
    """Copy a tensor between global and shared memory by the threads of a block, inside a kernel.

    The copy is complete after `copy_wait`.

    Parameters
    ----------
    src, dst : OpaqueTensor
        Tensors of the same matrix.
    alignment : {1, 2, 4, 8, 16}, optional
        What the addresses are multiples of, in bytes.
    """
    only_in_kernels("copy")


def copy_fragment(src: Any, dst: Any, alignment: int | None = None) -> None:
    """Copy the thread's elements between a fragment and global memory, inside a kernel.

    Parameters
    ----------
    src, dst : OpaqueTensor
        A fragment and a tensor in global memory, in either order.
    alignment : {1, 2, 4, 8, 16}, optional
        What the addresses are multiples of, in bytes.
    """
    only_in_kernels("copy_fragment")


def copy_wait() -> None:
    """Wait until the copies of the block's threads are complete, inside a kernel."""
    only_in_kernels("copy_wait")


def clear(arr: Any) -> None:
    """Set the elements of a fragment to zero, inside a kernel.

    Parameters
    ----------
    arr : OpaqueTensor or Accumulator
        The fragment. libmathdx has no such function for tensors in shared or global memory; their
        arrays are set by loops.
    """
    only_in_kernels("clear")


def axpby(alpha: Any, x_tensor: Any, beta: Any, y_tensor: Any) -> None:
    """Set ``y = alpha * x + beta * y``, for fragments inside a kernel.

    Parameters
    ----------
    alpha, beta : number
        The factors.
    x_tensor, y_tensor : OpaqueTensor
        Two fragments of the same layout.
    """
    only_in_kernels("axpby")


def shared_array(shape: int | tuple[int, ...], dtype: Any, offset: int = 0) -> Any:
    """Return an array at an offset of the block's dynamic shared memory, inside a kernel.

    How much memory there is, the launch says: ``kernel[blocks, threads, stream, bytes]``. Shape and
    offset are constants of the kernel. So the compiler knows that arrays are apart, and can order
    reads and writes of them as is fastest; of slices of one array it does not know that.

    Parameters
    ----------
    shape : int or tuple of int
        Extents of the array, in C order.
    dtype : type
        Type of the elements.
    offset : int, default: 0
        Where it begins, in bytes: a multiple of an element's size. `SharedStorageCalc.add` returns
        it.
    """
    only_in_kernels("shared_array")
