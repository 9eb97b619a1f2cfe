"""`linalg.advanced` without a GPU: what it takes, what it refuses, and its phases."""

from __future__ import annotations

import inspect
import logging
import pickle
from typing import Any

import numpy as np
import pytest

from gpumath import linalg
from gpumath.bindings import core, cublasLt
from gpumath.linalg import advanced

A = np.random.default_rng().uniform(-1, 1, (3, 4))
B = np.random.default_rng().uniform(-1, 1, (4, 5))

EIGHT_BITS = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")


def test_signatures_are_those_of_nvmath_python() -> None:
    """Scripts pass these names, and rely on these defaults."""
    function = inspect.signature(advanced.matmul).parameters
    assert list(function) == [
        *("a", "b", "c", "alpha", "beta", "epilog", "epilog_inputs", "qualifiers"),
        *("quantization_scales", "options", "preferences", "algorithm", "stream"),
    ]
    made = inspect.signature(advanced.Matmul).parameters
    assert list(made) == [
        *("a", "b", "c", "alpha", "beta", "qualifiers", "quantization_scales", "options"),
        "stream",
    ]
    for method, names in {
        "plan": ["preferences", "algorithms", "epilog", "epilog_inputs", "stream"],
        "autotune": ["iterations", "prune", "release_workspace", "stream"],
        "reset_operands": [
            *("a", "b", "c", "alpha", "beta", "quantization_scales", "epilog_inputs", "stream")
        ],
        "applicable_algorithm_ids": ["limit"],
    }.items():
        found = inspect.signature(getattr(advanced.Matmul, method)).parameters
        assert list(found)[1:] == names
    executed = inspect.signature(advanced.Matmul.execute).parameters
    assert {"algorithm", "release_workspace", "stream"} < set(executed)
    options = advanced.MatmulOptions()
    assert (options.inplace, options.compute_type, options.result_amax) == (False, None, False)
    assert (options.memory_limit, options.blocking, options.device_id) == ("80%", "auto", 0)
    preferences = advanced.MatmulPlanPreferences()
    assert (preferences.limit, preferences.max_waves_count, preferences.epilog) == (8, 0.0, None)
    assert advanced.matrix_qualifiers_dtype.names == ("structure", "is_conjugate")
    assert advanced.MatmulEpilog is cublasLt.Epilogue


REFUSED: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ((A, B[:3]), {}, ValueError, "a must have as many columns as b has rows, and has 4 for 3"),
    ((A, B, np.ones(5)), {"beta": 1}, ValueError, r"c has the shape \[5\]"),
    ((A, B, np.ones((4, 5))), {"beta": 1}, ValueError, r"c has the shape \[4, 5\]"),
    ((A, B, np.ones((3, 5))), {}, ValueError, "beta is not; give beta too"),
    ((A, B.astype("f4")), {}, ValueError, "a is of type float64 and b of float32"),
    ((A, B, np.ones((3, 5), "f4")), {"beta": 1}, ValueError, "c is of type float32"),
    ((A, B), {"alpha": "2"}, TypeError, "alpha is '2'; a number"),
    ((A, B), {"alpha": []}, TypeError, r"alpha is \[\]; a number"),
    ((A, B), {"epilog": 3}, ValueError, "epilog is 3"),
    ((A, B), {"epilog": 4}, ValueError, 'BIAS needs the input "bias"'),
    ((A, B), {"epilog_inputs": {"bias": np.ones(3)}}, ValueError, 'has no input "bias"'),
    ((A, B), {"epilog_inputs": {"pias": np.ones(3)}}, ValueError, 'no input "pias"'),
    ((A, B), {"epilog": 4, "epilog_inputs": {"bias": np.ones(5)}}, ValueError, r"\[3, 1\]"),
    ((A, B), {"epilog": 136, "epilog_inputs": {"relu_aux": np.ones((16, 5))}}, ValueError, "uint8"),
    ((A, B), {"options": {"result_type": "float32"}}, ValueError, "can be of float64 only"),
    ((A, B), {"options": {"result_type": "f8"}}, ValueError, "result_type is 'f8'"),
    ((A, B), {"options": {"compute_type": 68}}, ValueError, "COMPUTE_64F_EMULATED_FIXEDPOINT"),
    ((A, B), {"options": {"compute_type": 66}}, ValueError, "compute_type is 66"),
    ((A, B), {"options": {"scale_type": np.float32}}, ValueError, "alpha and beta are of float64"),
    ((A, B), {"options": {"inplace": True}}, ValueError, "there is no c"),
    ((A, B), {"options": {"inplace": 1}}, ValueError, "inplace is 1"),
    ((A, B), {"options": {"device_id": -1}}, ValueError, "device_id is -1"),
    ((A, B), {"options": {"device_id": 2**31}}, ValueError, r"an integer below 2\*\*31"),
    ((A, B), {"options": {"sm_count_target": 2**70}}, ValueError, r"an integer below 2\*\*31"),
    ((A, B), {"preferences": {"limit": 2**31}}, ValueError, r"an integer below 2\*\*31"),
    ((A, B), {"options": {"block_scaling": True}}, ValueError, "but a is of float64"),
    (
        (A, B),
        {"options": {"emulation_strategy": "eager"}},
        ValueError,
        "emulation_strategy is given, but .*_16BFX9 or .*_FIXEDPOINT, and this one is COMPUTE_64F",
    ),
    ((A, B), {"options": {"mantissa_bit_count": True}}, ValueError, "this one is COMPUTE_64F"),
    ((A, B), {"options": {"emulation_strategy": "never"}}, ValueError, "'never'"),
    ((A, B), {"options": {"result_amax": True}}, ValueError, "8-bit floating-point"),
    ((A, B), {"options": {"size": 1}}, TypeError, "no field 'size'"),
    ((A, B), {"options": 1}, TypeError, "options is a int"),
    ((A, B), {"preferences": {"limit": 0}}, ValueError, "limit is 0"),
    ((A, B), {"preferences": {"epilog": {"aux_amax": True}}}, ValueError, "GELU_AUX"),
    ((A, B), {"preferences": 1}, TypeError, "preferences is a int"),
    ((A, B), {"quantization_scales": {"a": 1.0}}, ValueError, "scale of a is given"),
    ((A, B), {"quantization_scales": 1}, TypeError, "quantization_scales is a int"),
    ((A, B), {"qualifiers": np.zeros(3)}, ValueError, "matrix_qualifiers_dtype"),
    ((A, B.tolist()), {}, ValueError, r"b is a builtins\.list"),
    ((A, np.ma.array(B)), {}, ValueError, "b is a NumPy masked array"),
    ((3.0, B), {}, ValueError, r"a is a builtins\.float"),
    ((A, memoryview(B)), {}, ValueError, "b is of the library any other array class"),
    ((A, B), {"algorithm": 1}, TypeError, "algorithm is a int"),
    ((A, None), {}, ValueError, r"b is a builtins\.NoneType"),
    ((A, B), {"alpha": np.ma.masked}, TypeError, "alpha is a masked element"),
    ((A, B, np.ones((3, 5))), {"beta": np.ma.masked}, TypeError, "beta is a masked element"),
    ((A, B), {"epilog": 2.9}, TypeError, "epilog is 2.9; an integer"),
    ((A, B), {"epilog": "RELU"}, TypeError, "epilog is 'RELU'; an integer"),
    ((A, B), {"epilog": True}, TypeError, "epilog is True; an integer"),
    ((A, B), {"epilog": 2**40}, ValueError, "epilog is .*; an integer below"),
    ((A, B), {"epilog_inputs": "bias"}, TypeError, "epilog_inputs is a str; a dictionary"),
    ((A, B), {"epilog_inputs": {4: A}}, TypeError, "epilog_inputs has the key 4; names"),
    ((A, B), {"options": {"compute_type": "x"}}, TypeError, "compute_type is 'x'; an integer"),
    ((A, B), {"options": {"compute_type": 68.5}}, TypeError, "compute_type is 68.5; an integer"),
    ((A, B), {"options": {"handle": "x"}}, TypeError, "handle is 'x'; an integer"),
    ((A, B), {"options": {"handle": -1}}, ValueError, "handle is -1; an integer of at least 0"),
    ((A, B), {"options": {"sm_count_target": 1.5}}, TypeError, "sm_count_target is 1.5; an int"),
    ((A, B), {"options": {"result_type": True}}, ValueError, "result_type is True"),
    ((A, B), {"preferences": {"limit": 2.0}}, TypeError, "limit is 2.0; an integer"),
    ((A, B), {"preferences": {"epilog": 3}}, TypeError, r"preferences\.epilog is a int"),
    ((A, B), {"preferences": {"epilog": {"aux_amax": "no"}}}, TypeError, "aux_amax is 'no'; True"),
    *(
        ((A, B), {"preferences": {"max_waves_count": wrong}}, TypeError, "waves_count is .* number")
        for wrong in ("x", None, True)
    ),
    *(
        ((A, B), {"preferences": {field: wrong}}, error, f"{field} is {wrong!r}; an integer")
        for field in ("reduction_scheme_mask", "numerical_impl_mask")
        for wrong, error in (("x", TypeError), (1.5, TypeError), (-1, ValueError))
    ),
]


@pytest.mark.parametrize(("arguments", "keywords", "error", "match"), REFUSED)
def test_refusals(
    arguments: tuple[Any, ...], keywords: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        advanced.matmul(*arguments, **keywords)


def test_conjugates_are_complex() -> None:
    qualifiers = np.zeros(3, advanced.matrix_qualifiers_dtype)
    qualifiers["is_conjugate"] = [True, False, False]
    with pytest.raises(ValueError, match="only complex ones can be"):
        advanced.matmul(A, B, qualifiers=qualifiers)
    qualifiers["is_conjugate"] = [False, False, True]
    with pytest.raises(ValueError, match="c cannot be conjugated"):
        advanced.matmul(A + 0j, B + 0j, qualifiers=qualifiers)


def test_eight_bit_operands_need_scales() -> None:
    narrow = A.astype(EIGHT_BITS.float8_e4m3fn)
    # Without a GPU, no scale would help.
    with pytest.raises(ValueError, match=r"quantization_scales has no a|CPU does not multiply"):
        advanced.matmul(narrow, narrow.T)
    with pytest.raises(ValueError, match="quantization_scales has no b"):
        advanced.matmul(narrow, narrow.T, quantization_scales={"a": 1})
    wide = A.astype(EIGHT_BITS.float8_e5m2)
    with pytest.raises(ValueError, match="not both of the latter"):
        advanced.matmul(wide, wide.T, quantization_scales={"a": 1, "b": 1})
    scales = {"a": np.ones(2, np.float32), "b": 1}
    with pytest.raises(ValueError, match="one number of type float32"):
        advanced.matmul(narrow, narrow.T, quantization_scales=scales)


def test_phases() -> None:
    product = advanced.Matmul(A, B)
    state = advanced.InvalidMatmulState
    for unplanned in (product.execute, product.autotune, lambda: product.algorithms):
        with pytest.raises(state, match="not planned"):
            unplanned()
    algorithms = product.plan()
    assert algorithms is product.algorithms
    np.testing.assert_allclose(product.execute(), A @ B, atol=1e-12)
    product.plan(preferences={"limit": 2})
    product.reset_operands(a=2 * A, alpha=3)
    np.testing.assert_allclose(product.execute(), 6 * A @ B, atol=1e-12)
    product.reset_operands(alpha=1)
    np.testing.assert_allclose(product.execute(release_workspace=True), 2 * A @ B, atol=1e-12)
    out = np.empty((3, 5))
    assert product.execute(out=out) is out
    np.testing.assert_allclose(out, 2 * A @ B, atol=1e-12)
    for wrong in (A.T, A.astype(np.float32), A[:2], np.asfortranarray(A)):
        with pytest.raises(ValueError, match="this Matmul object was planned for"):
            product.reset_operands(a=wrong)
    with pytest.raises(ValueError, match="made without one"):
        product.reset_operands(c=np.ones((3, 5)), beta=1)
    with pytest.raises(ValueError, match="was planned for"):
        product.reset_operands(epilog_inputs={"bias": np.ones(3)})
    np.testing.assert_allclose(product.execute(), 2 * A @ B, atol=1e-12)
    product.release_operands()
    for without in (product.execute, product.plan):
        with pytest.raises(state, match="no operand"):
            without()
    with pytest.raises(ValueError, match="operands were released"):
        product.reset_operands(a=A)
    product.reset_operands(a=A, b=B)
    np.testing.assert_allclose(product.execute(), A @ B, atol=1e-12)
    product.reset_operands_unchecked(a=3 * A)
    np.testing.assert_allclose(product.execute(), 3 * A @ B, atol=1e-12)
    product.free()
    product.free()
    for freed in (
        *(product.execute, product.plan, product.release_operands, product.__enter__),
        *(product.reset_operands, product.reset_operands_unchecked),
    ):
        with pytest.raises(state, match="is freed"):
            freed()


@pytest.mark.parametrize("name", ["iterations", "prune"])
@pytest.mark.parametrize("value", [0, -1, 1.5, "3"])
def test_numbers_of_autotuning(name: str, value: Any) -> None:
    with advanced.Matmul(A, B) as product:
        product.plan()
        with pytest.raises(ValueError, match=f"{name} is {value!r}; an integer of at least 1"):
            product.autotune(**{name: value})
        product.autotune(**{name: np.int64(2)})


def test_integers_of_numpy_are_integers() -> None:
    kinds = np.int64, np.int32, np.uint8
    for kind in kinds:
        preferences = {
            "limit": kind(4),
            "reduction_scheme_mask": kind(1),
            "max_waves_count": kind(2),
        }
        given: dict[str, Any] = {
            "options": {"sm_count_target": kind(3), "device_id": kind(0), "result_type": kind(1)},
            "preferences": preferences,
            "epilog": kind(advanced.MatmulEpilog.RELU),
        }
        expected = np.maximum(A @ B, 0)
        np.testing.assert_allclose(advanced.matmul(A, B, **given), expected, atol=1e-12)
    for wrong, error in ((1.5, TypeError), (True, TypeError), (0, ValueError)):
        with (
            advanced.Matmul(A, B) as product,
            pytest.raises(error, match=f"limit is {wrong}; an integer of at least 1"),
        ):
            product.applicable_algorithm_ids(wrong)


@pytest.mark.parametrize("module", [linalg, advanced])
def test_a_bool_as_factor_is_one_or_zero(module: Any) -> None:
    c = np.ones((3, 5))
    for flag in (True, np.True_, False):
        expected = flag * (A @ B) + flag * c
        result = module.matmul(A, B, c, alpha=flag, beta=flag)
        np.testing.assert_allclose(result, expected, atol=1e-12)
        with module.Matmul(A, B, c, alpha=3, beta=3) as product:
            product.plan()
            product.reset_operands(alpha=flag, beta=flag)
            np.testing.assert_allclose(product.execute(), expected, atol=1e-12)


def test_numbers_are_of_the_type_that_is_computed_in() -> None:
    c = np.ones((3, 5))
    integers = np.arange(12, dtype=np.int8).reshape(3, 4)
    for arguments, numbers, match in (
        ((A, B), {"alpha": 1j}, r"alpha is 0\+1j, but .* real numbers"),
        ((A, B, c), {"beta": complex(2, np.nan)}, r"beta is 2.*, but .* real numbers"),
        ((A, B), {"alpha": 10**5000}, "alpha is .* too large for float64"),
        ((A + 0j, B + 0j, c + 0j), {"beta": -(10**400)}, "beta is .* too large for float64"),
        ((integers, integers.T), {"alpha": 0.5}, "alpha is 0.5, but .* an integer of 32 bits"),
        ((integers, integers.T), {"alpha": 2**31}, "an integer of 32 bits"),
        ((integers, integers.T), {"alpha": np.nan}, "alpha is NaN, but .* integer"),
    ):
        for make in (advanced.matmul, advanced.Matmul):
            with pytest.raises(ValueError, match=match):
                make(*arguments, **numbers)
    product = integers.astype(int) @ integers.T
    np.testing.assert_array_equal(advanced.matmul(integers, integers.T, alpha=-3.0), -3 * product)
    options = {"result_type": "float32"}
    halves = advanced.matmul(integers, integers.T, alpha=0.5, options=options)
    np.testing.assert_array_equal(halves, product / 2)
    with pytest.raises(ValueError, match=r"alpha is .* too large for float64"):
        linalg.matmul(A, B, alpha=10**400)
    with pytest.raises(ValueError, match=r"beta is .* too large for float64"):
        linalg.matmul([A], [B], [c], alpha=[1], beta=[10**400])


def test_what_is_ignored_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("advanced")
    with caplog.at_level(logging.INFO, "advanced"):
        advanced.matmul(A, B, beta=2, options={"logger": logger})
    texts = [record.message for record in caplog.records]
    assert "beta is ignored: there is no c" in texts
    assert any("MatmulPlan(" in text and "algorithms" in text for text in texts)
    assert any(text.startswith("matmul: ") for text in texts)


def test_algorithms_are_saved_and_loaded() -> None:
    """Their settings need no GPU: cuBLASLt keeps them in the 64 bytes of the algorithm."""
    if core.Device.count():
        pytest.skip("there is a CUDA device, for which an empty algorithm is none")
    saved = np.zeros(1, cublasLt.matmul_heuristic_result_dtype)
    saved["workspace_size"], saved["waves_count"] = 7, 0.5
    loaded = advanced.Algorithm.from_numpy(saved)
    assert (loaded.workspace_size, loaded.waves_count) == (7, 0.5)
    assert repr(loaded) == "Algorithm(<empty>)"
    np.testing.assert_array_equal(loaded.as_numpy(), saved)
    for wrong in (np.zeros(2, saved.dtype), np.zeros(64, np.uint8)):
        with pytest.raises(ValueError, match="give what as_numpy"):
            advanced.Algorithm.from_numpy(wrong)
    told: list[advanced.Matmul] = []

    class Product(advanced.Matmul):
        def _note_new_settings(self) -> None:
            told.append(self)
            super()._note_new_settings()

    products = [Product(A, B) for _ in range(2)]
    for wrong, match in ((3, "algorithms is a int; a sequence"), ([3], "algorithm is a int")):
        with pytest.raises(TypeError, match=match):
            products[0].plan(algorithms=wrong)
    for product in products:
        product.plan(algorithms=iter([loaded]))
    copied = pickle.loads(pickle.dumps(products[0].algorithms))[0]
    np.testing.assert_array_equal(copied.as_numpy(), saved)
    if not core.has("cublasLt.matmul_algo_config_set_attribute"):
        pytest.skip("cuBLASLt is not installed")
    loaded.tile = (128, 256)
    loaded.stages = (64, "AUTO")
    loaded.split_k = 3
    loaded.cluster_shape = (2, 1, 1)
    again = advanced.Algorithm.from_numpy(loaded.as_numpy())
    assert (again.tile, again.stages, again.split_k) == ((128, 256), (64, "AUTO"), 3)
    assert again.cluster_shape == (2, 1, 1)
    assert all(told.count(product) == 4 for product in products), "both need other plans"
    assert repr(copied) == "Algorithm(<empty>)", "a copy has settings of its own"
    with pytest.raises(ValueError, match="tile is"):
        loaded.tile = (7, 7)
    number: Any = 2.9
    with pytest.raises(TypeError, match=r"split_k is 2.9; an integer"):
        loaded.split_k = number


def _way(*numbers: int) -> bytes:
    """Return what stands for cuBLASLt's first algorithm in another way."""
    return b"way\0\0\0\0\xff" + np.array(numbers, np.uint64).tobytes()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (b"gpumath", "<a kernel of gpumath's own>"),
        (b"cublas\0", "<a call of cuBLAS>"),
        (b"cublas\0\xff\1", "<a call of cuBLAS, entries of the batch apart>"),
        (b"epilog\0", "<the product, then the epilog>"),
        (b"epilog\0\xff\1", "<the product by rows, then the epilog>"),
        (_way(1, 0, 0), "<cuBLASLt's first, entries of the batch apart>"),
        (_way(0, 1, 0), "<cuBLASLt's first, a copied along sums>"),
        (_way(0, 0, 2), "<cuBLASLt's first, b copied across sums>"),
        (_way(0, 0, 0, 1), "<cuBLASLt's first, lines padded>"),
        (_way(0, 0, 0, 2), "<cuBLASLt's first, lines as they are>"),
    ],
)
def test_what_is_no_algorithm_of_cublaslt_has_no_settings(code: bytes, text: str) -> None:
    saved = np.zeros(1, cublasLt.matmul_heuristic_result_dtype)
    empty = advanced.Algorithm(saved)
    assert [empty.is_own_kernel, empty.is_by_cublas] == [False, False]
    saved.view(np.uint8)[: len(code)] = np.frombuffer(code, np.uint8)
    one = pickle.loads(pickle.dumps(advanced.Algorithm(saved)))
    assert [one.is_own_kernel, one.is_by_cublas] == [code == b"gpumath", code[:6] == b"cublas"]
    assert one.has_separate_epilog == (code[:6] == b"epilog")
    assert one.is_for_entries_apart == ("apart" in text)
    assert one.copied_factor == next((name for name in "ab" if f" {name} copied" in text), None)
    assert one.pads_lines == ("padded" in text if "lines" in text else None)
    assert not one.is_emulated
    assert (one.algorithm_id, one.split_k, one.workspace_size) == (-1, 0, 0)
    assert one.capabilities.splitk_support == 0
    assert one.tile in one.capabilities.tile_ids
    one.tile, one.split_k = one.tile, one.split_k
    assert repr(one) == f"Algorithm({text})"
    with pytest.raises(ValueError, match="no settings"):
        one.tile = (16, 16)
    number: Any = 0.5
    with pytest.raises(TypeError, match=r"split_k is 0.5; an integer"):
        one.split_k = number


def test_there_is_one_way_on_the_cpu() -> None:
    plan = core.MatmulPlan(A, A.T, execution="cpu")
    assert (plan.algorithms, plan.other_ways) == ([], [])


def test_types_in_every_form() -> None:
    for form in ("float16", np.float16, np.dtype("float16"), 2):
        half = A.astype(np.float16)
        plan = core.MatmulPlan(half[:0], half.T, execution="cpu", result_type="float16")
        assert plan.dtypes[3] == "float16"
        options = advanced.MatmulOptions(result_type=form)
        assert options.result_type is form
    with pytest.raises(ValueError, match="is accepted"):
        advanced.MatmulOptions(result_type=17)
