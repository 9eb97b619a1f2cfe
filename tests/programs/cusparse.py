"""cuSPARSE in a process that sees no device, and a stand-in of its interface."""

from __future__ import annotations

import ctypes
from typing import Any

from gpumath.bindings import cusparse
from tests.programs.support.entry import main


def version_and_what_needs_a_gpu(file: str) -> Any:
    raw = ctypes.CDLL(file)
    cell = ctypes.c_int(0)
    expected = [
        raw.cusparseGetProperty(which, ctypes.byref(cell)) or cell.value for which in range(3)
    ]
    try:
        cusparse.create()
    except cusparse.cuSPARSEError as error:
        status = error.status.name
    return [[cusparse.get_property(which) for which in range(3)], expected, status]


def the_signature_that_changed_under_its_symbol() -> Any:
    product = (1, 2, 3, 4, 5, 6)
    sizes = [cusparse.sp_mv_op_buffer_size(*product, 7)]
    descriptors = [cusparse.sp_mv_op_create_descr(*product, compute_type=7, buffer=1 << 40)]
    try:
        sizes.append(cusparse.sp_mv_op_buffer_size(*product, 7, cusparse.SpMVOpAlg.ALG2))
        descriptors.append(cusparse.sp_mv_op_create_descr(*product, 7, 1 << 40, alg=2))
    except ValueError as error:
        sizes.append(str(error))
    return sizes, [descriptor - (1 << 40) for descriptor in descriptors]


def the_name_of_a_global_variable() -> dict[str, int]:
    kept = ctypes.create_string_buffer(b"scale")
    names = {"text": "scale", "address": ctypes.addressof(kept), "other": "stale", "none": 0}
    statuses = dict.fromkeys(names, 0)
    for key, name in names.items():
        try:
            cusparse.sp_mv_op_set_global_user_data(1, 2, name, 3, 4)
        except cusparse.cuSPARSEError as error:
            statuses[key] = int(error.status)
    return statuses


if __name__ == "__main__":
    main(globals())
