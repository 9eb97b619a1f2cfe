"""Matrix products for kernels without a GPU: traits, refusals, LTO-IR, a kernel for a given GPU."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from gpumath import device
from gpumath.bindings import errors, mathdx, nvjitlink, nvrtc
from gpumath.bindings.nvjitlink import InputType
from gpumath.device import Alignment, Dim3, LeadingDimension, Matmul, Precision
from tests.helpers.callbacks import require_numba
from tests.helpers.compiler import compiled, kernels, linked, linked_ptx

OPTIONS: dict[str, Any] = {
    "size": (32, 16, 64),
    "precision": np.float32,
    "data_type": "real",
    "sm": 90,
    "arrangement": ("row_major", "col_major", "row_major"),
    "block_dim": (64, 1, 1),
}


@pytest.fixture(scope="module")
def compiler() -> None:
    """Skip unless libmathdx and an NVRTC that it works with are there."""
    try:
        versions = mathdx.get_version(), nvrtc.version()
        nvjitlink.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")
    if 400 <= versions[0] < 402 and versions[1] >= (13, 5):
        pytest.skip(f"an NVRTC that libmathdx {versions[0]} works with is not there")


@pytest.mark.parametrize("arrangement", list(product(("row_major", "col_major"), repeat=3)))
def test_traits_of_arrangements(arrangement: tuple[str, str, str]) -> None:
    matmul = Matmul(**OPTIONS | {"arrangement": arrangement})
    shapes = ((32, 64), (64, 16), (32, 16))
    assert (matmul.a_dim, matmul.b_dim, matmul.c_dim) == shapes
    by_rows = [kind == "row_major" for kind in arrangement]
    least = [shape[by] for shape, by in zip(shapes, by_rows, strict=True)]
    assert matmul.leading_dimension == tuple(least)
    assert (matmul.a_size, matmul.b_size, matmul.c_size) == (32 * 64, 64 * 16, 32 * 16)
    wider = Matmul(**OPTIONS | {"arrangement": arrangement, "leading_dimension": (70, 71, 72)})
    counts = [shape[not by] for shape, by in zip(shapes, by_rows, strict=True)]
    sizes = [ld * count for ld, count in zip((70, 71, 72), counts, strict=True)]
    assert [wider.a_size, wider.b_size, wider.c_size] == sizes
    assert wider.get_shared_storage_size() == 4 * sum(sizes)
    assert matmul.get_shared_storage_size_ab(70, 71) == 4 * sum(sizes[:2])


def test_traits_of_types() -> None:
    matmul = Matmul(**OPTIONS)
    assert matmul.alignment == Alignment(4, 4, 4)
    assert (matmul.block_dim, matmul.block_size) == (Dim3(64, 1, 1), 64)
    mixed = Precision("float8_e4m3fn", device.bfloat16, np.float64)
    matmul = Matmul(**OPTIONS | {"precision": mixed, "data_type": "complex"})
    assert matmul.precision == (device.float8_e4m3fn, device.bfloat16, np.float64)
    assert matmul.alignment == Alignment(2, 4, 16)
    assert matmul.c_value_type is device.complex128
    assert matmul.a_value_type.real_dtype is device.float8_e4m3fn


def test_transpose_modes() -> None:
    modes = ("transposed", "conj_transposed")
    options = {**OPTIONS, "arrangement": None, "transpose_mode": modes}
    matmul = Matmul(**options)
    assert (matmul.a_dim, matmul.b_dim) == ((64, 32), (16, 64))
    assert matmul.leading_dimension == LeadingDimension(64, 16, 32)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": (32, 16)}, "3 values are needed"),
        ({"size": (32, 16, 0)}, "size is 0; a positive integer"),
        ({"size": (32, 16, 2**40)}, "at most 4294967295 is possible"),
        ({"precision": "float128x"}, "one of float16, float32, float64, bfloat16"),
        ({"data_type": "quaternion"}, "one of 'real', 'complex'"),
        ({"arrangement": None}, "neither is given"),
        ({"transpose_mode": ("transposed", "transposed")}, "both are given"),
        ({"arrangement": ("C", "F", "C")}, "one of 'col_major', 'row_major'"),
        ({"precision": None}, "precision is None; one of float16"),
        ({"alignment": (16, 16, 2)}, r"from the sizes of the elements, \(4, 4, 4\)"),
        ({"alignment": (12, 16, 16)}, "powers of two"),
        ({"alignment": (32, 16, 16)}, "up to 16 are needed"),
        ({"leading_dimension": (63, 64, 16)}, r"at least \(64, 64, 16\) is needed"),
        ({"block_size": 64}, "one of them is needed"),
        ({"block_dim": (64, 32, 1)}, "at most 1024 threads"),
        ({"block_dim": (1, 1, 65)}, "64 of them in z"),
        ({"leading_dimension": np.array([64, 64, 16])}, "3 values are needed"),
        ({"function": "TRSM"}, "one of 'MM'"),
        ({"execution": "Grid"}, "one of 'Block', 'Thread'"),
    ],
)
def test_refusals(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Matmul(**OPTIONS | changes)


def test_shared_storage() -> None:
    calculator = device.SharedStorageCalc()
    calculator.add(16, 2, 7)
    calculator.add(8, 3)
    assert calculator.get() == 16 + 3
    with pytest.raises(ValueError, match="elements is 0"):
        calculator.add(16, 2, 0)
    with pytest.raises(ValueError, match="1 sizes are given; none or 3"):
        Matmul(**OPTIONS).get_shared_storage_size(32)


@pytest.mark.usefixtures("compiler")
def test_a_refusal_of_cublasdx_says_why() -> None:
    if mathdx.get_version() < 400:
        pytest.skip("libmathdx before 0.4 has products of a thread")
    matmul = Matmul(**OPTIONS | {"size": (4, 4, 4), "block_dim": None, "execution": "Thread"})
    with pytest.raises(ValueError, match=r"cannot compile Matmul.*: Thread\(\) execution is only"):
        device.compile_blas_execute(matmul, ("lto", (9, 0)))


@pytest.mark.usefixtures("compiler")
def test_code_and_a_kernel_without_a_gpu() -> None:
    require_numba()
    from numba import cuda
    from numba.core.errors import TypingError
    from numba.cuda import types

    matmul: Any = device.matmul(**OPTIONS, compiler="numba")
    code, symbol = device.compile_blas_execute(matmul, ("lto", (9, 0)))
    assert symbol.startswith("cublasdx_execute")
    assert len(code.data) > 10_000
    sizes = matmul.a_size, matmul.b_size, matmul.c_size

    def kernel(c: Any, alpha: Any) -> None:
        a_shared = cuda.shared.array(shape=sizes[0], dtype=matmul.a_value_type)
        b_shared = cuda.shared.array(shape=sizes[1], dtype=matmul.b_value_type)
        c_shared = cuda.shared.array(shape=sizes[2], dtype=matmul.c_value_type)
        matmul.execute(alpha, a_shared, b_shared, 0, c_shared)
        matmul(alpha, a_shared, b_shared, 1.0, c_shared)
        c[0] = c_shared[matmul.leading_dimension.a + matmul.block_dim.y]

    def wrong(c: Any, alpha: Any) -> None:
        matmul.execute(alpha, c, c, 0, 0)

    signature = types.void(types.float32[::1], types.float64)
    options: dict[str, Any] = {"device": False, "abi": "numba", "cc": (9, 0), "output": "ltoir"}
    codes, _ = cuda.compile_all(kernel, signature, **options)
    data = [one if isinstance(one, bytes) else one.data for one in codes]
    assert code.data in data
    assert len(data) == 2
    cubin = linked([(InputType.LTOIR, one) for one in data], "-arch=sm_90", "-lto")
    assert len(kernels(cubin)) == 1
    with pytest.raises(TypingError, match=r"c of execute of Matmul.* is .*an array made with"):
        cuda.compile_all(wrong, signature, **options)


TENSOR_CALLER = """
struct libmathdx_tensor_0s_0s {{ void *ptr; }};
using Tensor = libmathdx_tensor_0s_0s;
extern "C" __device__ void {symbol}({parameters});
extern "C" __global__ void multiply(const float *x, float *y, float alpha, float beta)
{{
    extern __shared__ __align__(16) float shared[];
    float registers[8] = {{}};
    for (int i = threadIdx.x; i < 3584; i += 64) shared[i] = x[i];
    __syncthreads();
    Tensor a{{shared}}, b{{shared + 2048}}, c{{{target}}};
    {symbol}({arguments});
    __syncthreads();
    for (int i = 0; i < 8; ++i) {{
        y[8 * threadIdx.x + i] = registers[i] + shared[3072 + 8 * threadIdx.x + i];
    }}
}}
"""


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(
    ("tensor_types", "target", "parameters", "arguments"),
    [
        (
            ("smem_a", "smem_b", "smem_c"),
            "shared + 3072",
            "const float *, Tensor, Tensor, const float *, Tensor",
            "&alpha, a, b, &beta, c",
        ),
        (
            ("suggested_smem_a", "suggested_smem_b", "suggested_rmem_c"),
            "registers",
            "Tensor, Tensor, Tensor",
            "a, b, c",
        ),
    ],
    ids=["in shared memory", "in registers"],
)
def test_a_product_of_tensors_for_other_compilers(
    tensor_types: tuple[str, str, str], target: str, parameters: str, arguments: str
) -> None:
    matmul = Matmul(**OPTIONS)
    code, symbol = device.compile_blas_execute(matmul, ("lto", (9, 0)), "tensors", tensor_types)
    assert symbol.startswith("cublasdx_execute")
    assert code.code_type == ("lto", (9, 0, ""))
    caller = TENSOR_CALLER.format(
        symbol=symbol, target=target, parameters=parameters, arguments=arguments
    )
    options = ("-arch=compute_90", "-dlto", "-rdc=true")
    inputs = [
        (InputType.LTOIR, code.data),
        (InputType.LTOIR, compiled(caller, *options, kind="ltoir")),
    ]
    ptx = linked_ptx(inputs, "-arch=sm_90")
    assert ".entry multiply(" in ptx
    # The linker inlines a function only if both sides agree on its parameters.
    assert symbol not in ptx


@pytest.mark.parametrize(
    ("execute_api", "tensor_types", "message"),
    [
        ("tensors", None, "tensor_types is None; 3 values are needed"),
        ("tensors", ("smem_a", "smem_b"), "3 values are needed"),
        ("tensors", ("gmem_a", "smem_b", "smem_c"), "tensor_types is 'gmem_a'; one of 'smem_a'"),
        (
            "static_leading_dimensions",
            ("smem_a", "smem_b", "smem_c"),
            "tensor_types is .*, but it is for execute_api='tensors' only",
        ),
        ("registers", None, "execute_api is 'registers'; one of 'static_leading_dimensions', "),
    ],
)
def test_tensor_types_that_are_refused(execute_api: Any, tensor_types: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        device.compile_blas_execute(Matmul(**OPTIONS), ("lto", (9, 0)), execute_api, tensor_types)


@pytest.mark.usefixtures("compiler")
def test_tensors_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match="libmathdx cannot compile execute of Matmul"):
        device.compile_blas_execute(
            Matmul(**OPTIONS), ("lto", (9, 0)), "tensors", ("smem_b", "smem_a", "smem_c")
        )


def test_only_fragments_are_cleared() -> None:
    require_numba()
    from numba import cuda
    from numba.core.errors import TypingError
    from numba.cuda import types

    from gpumath.device import clear, make_tensor

    matmul = Matmul(**OPTIONS)

    def kernel(c: Any) -> None:
        clear(make_tensor(c, matmul.get_layout_gmem_c()))

    with pytest.raises(
        TypingError, match=r"arr of clear is Tensor.*in rmem or accumulator is need"
    ):
        cuda.compile_all(
            kernel, types.void(types.float32[::1]), device=False, abi="numba", cc=(9, 0)
        )


def test_shapes_and_layouts_are_constants_of_kernels() -> None:
    require_numba()
    from numba import cuda
    from numba.cuda import types

    from gpumath.device import make_tensor

    matmul = Matmul(**OPTIONS)
    # Layouts that differ in the leading dimension alone have one type.
    narrow, wide = matmul.get_layout_gmem_c(20), matmul.get_layout_gmem_c(24)

    def kernel(c: Any, i: Any) -> None:
        shared = cuda.shared.array(shape=matmul.a_dim[::-1], dtype=matmul.a_value_type)
        shared[i, 0] = narrow.cosize
        shared[i, 1] = make_tensor(c, wide).layout.storage_bytes
        shared[i, 2] = narrow.size
        shared[i, 3] = matmul.get_layout_gmem_c(i).cosize
        cuda.syncthreads()
        c[i] = shared[0, i]

    signature = types.void(types.float32[::1], types.int64)
    options: dict[str, Any] = {"device": False, "abi": "numba", "cc": (9, 0)}
    ptx, _ = cuda.compile(kernel, signature, **options)
    assert f"[{64 * 32 * 4}];" in ptx
    assert (narrow.size, narrow.cosize, wide.storage_bytes) == (32 * 16, 32 * 20, 32 * 24 * 4)
    # Numbers of float32 are either hexadecimal or the integers with the same bits.
    for number in (512, 640, 3072):
        bits = int(np.float32(number).view(np.uint32))
        assert f"{bits};" in ptx or f"{bits:08X};" in ptx, number
    # What is known in the kernel alone is computed there: 32 rows, each of i elements.
    assert re.search(r"shl\.b64\s+%rd\d+, %rd\d+, 5;", ptx)
