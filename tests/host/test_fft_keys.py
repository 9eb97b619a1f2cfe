"""Keys: equal exactly where one plan serves both, hashable, picklable, without an operand."""

from __future__ import annotations

import ctypes
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.references import assert_close, random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

KINDS = {"C2C": np.complex64, "R2C": np.float64, "C2R": np.complex128}


def test_all_ways_give_one_key(space: Space) -> None:
    for kind, dtype in KINDS.items():
        values = random_values((4, 6, 10), dtype).transpose(1, 0, 2)
        operand = space.array(values)
        keywords: dict[str, Any] = {"axes": [0, -1], "execution": space.execution}
        keywords["options"] = {"fft_type": kind}
        key = fft.FFT.create_key(operand, **keywords)
        with fft.FFT(operand, **keywords) as transform:
            assert transform.get_key() == key
            transform.plan()
            assert transform.get_key() == key
        described = fft.FFT.create_key_from_metadata(
            *((6, 4, 10), np.dtype(dtype).name, space.memory), strides=(10, 60, 1), **keywords
        )
        assert described == key
        assert hash(described) == hash(key)
        assert {key: 1}[described] == 1


def test_a_pickled_key_is_the_same_and_small() -> None:
    for kind, dtype in KINDS.items():
        options = {"fft_type": kind, "last_axis_parity": "odd", "result_layout": "natural"}
        key = fft.FFT.create_key(random_values((3, 4, 5), dtype).T, options=options)
        data = pickle.dumps(key)
        assert len(data) < 1000
        again = pickle.loads(data)
        assert again == key
        assert hash(again) == hash(key)
        assert again.problem.output_shape == key.problem.output_shape
        assert again.problem.output_strides == key.problem.output_strides
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(key, protocol)) == key


BASE: dict[str, Any] = {"shape": (4, 6), "dtype": "complex64", "memory_space": "cuda"}
DIFFERENT: dict[str, dict[str, Any]] = {
    "shape": {"shape": (4, 8)},
    "dtype": {"dtype": "complex128"},
    "strides": {"strides": (1, 4)},
    "axes": {"axes": [1]},
    "order of axes": {"axes": [1, 0]},
    "kind": {"options": {"fft_type": "C2R"}},
    "parity": {"options": {"fft_type": "C2R", "last_axis_parity": "odd"}},
    "in place": {"options": {"inplace": True}},
    "device": {"execution": fft.ExecutionCUDA(device_id=1)},
    "threads": {"execution": fft.ExecutionCPU(num_threads=3)},
    "more threads": {"execution": fft.ExecutionCPU(num_threads=4)},
    "prolog": {"prolog": fft.DeviceCallable(b"one")},
    "epilog": {"epilog": fft.DeviceCallable(b"one")},
    "other code": {"prolog": fft.DeviceCallable(b"two")},
    "data": {"prolog": fft.DeviceCallable(b"one", data=256)},
}


def test_whatever_changes_the_plan_changes_the_key() -> None:
    keys = [fft.FFT.create_key_from_metadata(**{**BASE, **more}) for more in DIFFERENT.values()]
    keys.append(fft.FFT.create_key_from_metadata(**BASE))
    assert len(set(keys)) == len(keys)


SAME: dict[str, dict[str, Any]] = {
    "negative axes": {"axes": (-2, -1)},
    "named kind": {"options": fft.FFTOptions(fft_type="C2C")},
    "strides": {"strides": (6, 1)},
    "natural": {"options": {"result_layout": "natural"}},
    "dtype": {"dtype": np.complex64},
    "dtype object": {"dtype": np.dtype("c8")},
    "no influence": {"options": {"blocking": True, "memory_limit": "50%"}},
    "execution": {"execution": "cuda"},
    "copied there": {"memory_space": "cpu", "execution": {"name": "cuda"}},
}


@pytest.mark.parametrize("name", SAME)
def test_what_changes_no_plan_changes_no_key(name: str) -> None:
    key = fft.FFT.create_key_from_metadata(**BASE)
    assert fft.FFT.create_key_from_metadata(**{**BASE, **SAME[name]}) == key


def test_strides_that_do_not_matter() -> None:
    whole = random_values((4, 8), np.complex64)
    assert fft.FFT.create_key(whole[:1]) == fft.FFT.create_key(np.ones((1, 8), np.complex64))
    assert whole[:1].strides == whole[1:2].strides != whole[::2][:1].strides
    assert fft.FFT.create_key(whole[:1]) == fft.FFT.create_key(whole[::2][:1])
    empty = np.empty((0, 8), np.complex64)
    assert fft.FFT.create_key(empty, axes=[1]) == fft.FFT.create_key(empty[::-1], axes=[1])


def test_all_usable_cores_are_a_number() -> None:
    a = np.ones(8)
    assert fft.FFT.create_key(a).execution == fft.ExecutionCPU(num_threads=core.usable_cores())


def test_reset_operand_takes_what_has_an_equal_key(space: Space) -> None:
    dtype = np.float32
    first, second = random_values((1, 3, 8), dtype), random_values((2, 3, 8), dtype)[1:]
    keywords: dict[str, Any] = {"axes": [2], "execution": space.execution}
    operand = space.array(second)
    with fft.FFT(space.array(first), **keywords) as transform:
        assert fft.FFT.create_key(operand, **keywords) == transform.get_key()
        transform.plan()
        transform.reset_operand(operand)
        assert_close(space.numpy(transform.execute()), second, "R2C", (2,))


def test_addresses_matter_on_a_device_only(space: Space) -> None:
    """cuFFT needs real numbers to be aligned like complex ones."""
    values = random_values((9,), np.float32)
    whole = space.array(values)
    first, second = whole[:8], whole[1:]
    keys = [fft.FFT.create_key(a, execution=space.execution) for a in (first, second)]
    matters = space.memory == space.execution == "cuda"
    assert (keys[0] == keys[1]) != matters
    with fft.FFT(first, execution=space.execution) as transform:
        transform.plan()
        for operand, key, expected in ((second, keys[1], values[1:]), (first, keys[0], values[:8])):
            transform.reset_operand(operand)
            assert transform.get_key() == key
            assert_close(space.numpy(transform.execute()), expected, "R2C", (0,))


def test_code_counts_by_its_content() -> None:
    code = b"LTO-IR of some kind"
    buffer = ctypes.create_string_buffer(code, len(code))
    address = fft.DeviceCallable(ctypes.addressof(buffer), size=len(code))
    keys = [
        fft.FFT.create_key_from_metadata(**BASE, prolog=prolog)
        for prolog in (address, fft.DeviceCallable(code), {"ltoir": code, "data": 0})
    ]
    assert keys[0] == keys[1] == keys[2]
    assert code not in pickle.dumps(keys[1])
    buffer[0] = b"X"
    assert fft.FFT.create_key_from_metadata(**BASE, prolog=address) != keys[0]


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "memory": ({"memory_space": "disk"}, ValueError, "memory_space is 'disk'; 'cpu' and 'cuda'"),
    "dtype": ({"dtype": "int32"}, ValueError, "element type int32 is not supported"),
    "unknown dtype": ({"dtype": "complex7"}, ValueError, "dtype is .*complex7"),
    "axes": ({"axes": [2]}, ValueError, "axis 2 is out of range"),
    "axis": ({"axes": 1}, TypeError, "axes is 1; a sequence of integers"),
    "shape": ({"shape": 4}, TypeError, "shape is 4; a sequence of integers"),
    "no shape": ({"shape": None}, TypeError, "shape is None; a sequence of integers"),
    "huge shape": ({"shape": (2**70,)}, ValueError, "integers below"),
    "no memory": ({"shape": (2**40, 2**40)}, ValueError, "larger than any memory"),
    "far strides": ({"strides": (2**62, 1)}, ValueError, "larger than any memory"),
    "negative": ({"shape": (-4, 6)}, ValueError, "extent -4"),
    "scalar": ({"shape": ()}, ValueError, "no dimensions"),
    "strides": ({"strides": (1,)}, ValueError, "strides has 1 elements, and the shape 2"),
    "kind": ({"options": {"fft_type": "R2C"}}, ValueError, "needs a real operand"),
    "execution": ({"execution": "tpu"}, ValueError, "execution is 'tpu'"),
    "prolog": ({"prolog": len}, TypeError, "prolog is a builtin"),
    "on CPU": (
        {"execution": "cpu", "epilog": fft.DeviceCallable(b"x")},
        ValueError,
        "prolog and epilog work on a GPU only",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    change, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        fft.FFT.create_key_from_metadata(**{**BASE, **change})


def test_operands_that_are_refused() -> None:
    with pytest.raises(ValueError, match=r"the operand is a builtins\.list"):
        fft.FFT.create_key([1, 2])
    with pytest.raises(ValueError, match="NumPy has no element type for a complex32 result"):
        fft.FFT.create_key(np.ones(8, np.float16))


def test_no_key_of_a_freed_object() -> None:
    transform = fft.FFT(np.ones(8))
    transform.free()
    with pytest.raises(fft.InvalidFFTState, match="freed"):
        transform.get_key()


def test_a_callback_means_the_gpu() -> None:
    code = fft.DeviceCallable(b"code", 4)
    for key in (
        fft.FFT.create_key(np.ones(8), prolog=code),
        fft.FFT.create_key_from_metadata((8,), "float64", "cpu", epilog=code),
    ):
        assert key.execution == fft.ExecutionCUDA()


def test_the_cpu_needs_no_workspace() -> None:
    key = fft.FFT.create_key(np.ones(8))
    assert fft.estimate_workspace_size(key) == 0
    assert fft.estimate_workspace_size(key, technique="refined") == 0


def test_estimates_that_cannot_be() -> None:
    key = fft.FFT.create_key_from_metadata(**BASE)
    with pytest.raises(ValueError, match="technique is 'best'; 'default' and 'refined'"):
        fft.estimate_workspace_size(key, technique="best")
    with pytest.raises(ValueError, match="key is a tuple; one from"):
        fft.estimate_workspace_size(tuple(key))
    with pytest.raises(ValueError, match=r"needs a handle, from gpumath\.bindings\.cufft\.create"):
        fft.estimate_workspace_size(key, technique="refined")
    half = fft.FFT.create_key_from_metadata((8,), "complex32", "cuda")
    with pytest.raises(ValueError, match="no half precision; use technique='refined'"):
        fft.estimate_workspace_size(half)


LAYOUTS: dict[str, dict[str, Any]] = {
    "power of two": {"shape": (64, 1024), "axes": [1]},
    "prime": {"shape": (5, 4099), "axes": [1]},
    "large prime": {"shape": (1_000_003,)},
    "columns": {"shape": (1031, 30), "axes": [0]},
    "four axes": {"shape": (6, 7, 5, 22)},
    "passes": {"shape": (6, 5, 32), "axes": [0, 2]},
    "three axes": {"shape": (31, 37, 41)},
    "middle axis": {"shape": (60, 500, 70), "axes": [1]},
}


@pytest.mark.gpu
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("technique", ["default", "refined"])
def test_estimates_cover_the_plan(layout: str, kind: str, technique: Any) -> None:
    """A fresh handle has the settings of a plan, so that nothing is left to guess."""
    from gpumath.bindings import cufft

    key = fft.FFT.create_key_from_metadata(
        *(LAYOUTS[layout]["shape"], np.dtype(KINDS[kind]).name, "cuda"),
        axes=LAYOUTS[layout].get("axes"),
        options={"fft_type": kind},
    )
    handle = cufft.create()
    try:
        cufft.set_auto_allocation(handle, 0)
        estimate = fft.estimate_workspace_size(key, technique=technique, handle=handle)
    finally:
        cufft.destroy(handle)
    operand = np.empty(LAYOUTS[layout]["shape"], KINDS[kind])
    plan = core.FftPlan(operand, key.problem.axes, kind, execution="cuda")
    assert plan.problem == key.problem
    assert plan.workspace_size <= estimate


@pytest.mark.gpu
def test_estimates_in_half_precision() -> None:
    from gpumath.bindings import cufft

    key = fft.FFT.create_key_from_metadata((16, 1 << 16), "complex32", "cuda", axes=[1])
    handle = cufft.create()
    try:
        estimate = fft.estimate_workspace_size(key, technique="refined", handle=handle)
    finally:
        cufft.destroy(handle)
    assert estimate >= 0
