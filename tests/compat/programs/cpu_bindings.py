"""Enumerations, structs and errors of the bindings, which need no GPU."""

import pickle

import numpy as np
import nvmath
import nvmath.bindings.cublasLt as lt  # noqa: N813 - as programs do
from nvmath.bindings import cublas, cufft, curand, cusolver, cusolverDn, cusparse

assert (cufft.Type.C2C, cufft.Type.D2Z) == (41, 106)
assert cublas.ComputeType.COMPUTE_32F == 68
assert cusparse.Format.CSR == 1
assert cusolver.EigMode.VECTOR == 1
assert cusolverDn.Function.GETRF == 0
assert curand.RngType.PSEUDO_DEFAULT == 100
assert nvmath.CudaDataType.CUDA_R_16BF == 14
assert nvmath.LibraryPropertyType.PATCH_LEVEL == 2

# Members that only headers of CUDA 11 have.
assert lt.MatmulPreferenceAttribute.EPILOGUE_MASK == 11
assert lt.MatmulPreferenceAttribute.SM_COUNT_TARGET == 13
assert lt.MatmulStages.STAGES_64x80 == 30
assert lt.PointerModeMask.NO_FILTERING == 0

# Structs are arrays, and so are their fields.
results = lt.MatmulHeuristicResult(3)
assert len(results) == 3
results.workspace_size = [30, 10, 20]
results.waves_count = np.float32([0.5, 1, 2])
best = int(np.argmin(results.workspace_size))
assert best == 1
assert results[best].workspace_size == 10
assert (results.workspace_size * 2).sum() == 120
assert list(results.workspace_size[results.waves_count > 0.75]) == [10, 20]
assert lt.matmul_heuristic_result_dtype.names[:4] == (
    "algo",
    "workspace_size",
    "state",
    "waves_count",
)
data = np.zeros(2, dtype=lt.matmul_heuristic_result_dtype)
data["workspace_size"] = 7, 8
view = lt.MatmulHeuristicResult.from_data(data)
view[1].workspace_size = 9
assert data["workspace_size"].tolist() == [7, 9]
algo = lt.MatmulAlgo()
assert algo.data_.dtype == np.uint64
assert algo.data_.size == 8
algo.data_ = np.arange(8, dtype=np.uint64)
assert algo.data_.ravel().tolist() == list(range(8))
assert lt.matmul_algo_dtype.itemsize == 64
assert results.algo.data_.shape == (3, 8)
assert lt.get_matmul_desc_attribute_dtype(lt.MatmulDescAttribute.EPILOGUE) == np.uint32

try:
    cufft.check_status(cufft.Result.INVALID_PLAN)
except cufft.cuFFTError as error:
    assert error.status == cufft.Result.INVALID_PLAN
    assert "CUFFT_INVALID_PLAN" in str(error)
    assert pickle.loads(pickle.dumps(error)).status == error.status
else:
    raise AssertionError("no error")
