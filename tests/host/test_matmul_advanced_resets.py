"""`linalg.advanced.Matmul` with other operands and plans: what is refused changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpumath.linalg import advanced

A = np.random.default_rng().uniform(-1, 1, (3, 4))
B = np.random.default_rng().uniform(-1, 1, (4, 5))


def test_other_operands_before_planning() -> None:
    with advanced.Matmul(A, B) as product:
        product.reset_operands(a=2 * A)
        product.reset_operands(b=B[:, :2], alpha=3)
        product.plan()
        np.testing.assert_allclose(product.execute(), 6 * A @ B[:, :2], atol=1e-12)
    with advanced.Matmul(A, B) as product:
        product.release_operands()
        with pytest.raises(ValueError, match="operands were released"):
            product.reset_operands(a=A)
        with pytest.raises(ValueError, match="operands were released"):
            product.reset_operands_unchecked(b=B)
        product.reset_operands(a=3 * A, b=B)
        product.plan()
        np.testing.assert_allclose(product.execute(), 3 * A @ B, atol=1e-12)


def test_unchecked_operands_of_other_layouts_are_refused_by_execute() -> None:
    with advanced.Matmul(A, B) as product:
        product.plan()
        for wrong in (A[:2], np.asfortranarray(A), A.astype(np.float32)):
            product.reset_operands_unchecked(a=wrong, alpha=2)
            for call in (
                product.execute,
                product.autotune,
                lambda: product.execute(out=np.empty((3, 5))),
            ):
                with pytest.raises(ValueError, match="object was planned for"):
                    call()
            product.reset_operands_unchecked(a=3 * A)
            np.testing.assert_allclose(product.execute(), 6 * A @ B, atol=1e-12)
    with advanced.Matmul(A[:0], B) as empty:
        empty.plan()
        # No stride of an empty array matters.
        empty.reset_operands(a=np.asfortranarray(A[:0]))
        assert empty.execute(out=np.empty((0, 5))).shape == (0, 5)


def test_what_the_plan_has_is_all_needed_and_nothing_else() -> None:
    bias, c = np.ones((3, 1)), np.ones((3, 5))
    with advanced.Matmul(A, B) as product:
        product.plan()
        with pytest.raises(ValueError, match="was planned for"):
            product.reset_operands_unchecked(epilog_inputs={"bias": bias})
        product.plan(epilog=advanced.MatmulEpilog.BIAS, epilog_inputs={"bias": bias})
        for reset in (product.reset_operands, product.reset_operands_unchecked):
            for keywords in ({"beta": 1.0}, {}):
                with pytest.raises(ValueError, match=r"c is given, but .* made without one"):
                    reset(a=3 * A, c=bias, **keywords)
            np.testing.assert_allclose(product.execute(), A @ B + bias, atol=1e-12)
            product.release_operands()
            with pytest.raises(ValueError, match="operands were released, and bias is missing"):
                reset(a=A, b=B)
            with pytest.raises(advanced.InvalidMatmulState, match=r"call its reset_operands\(\)"):
                product.execute()
            reset(a=A, b=B, epilog_inputs={"bias": bias})
            np.testing.assert_allclose(product.execute(), A @ B + bias, atol=1e-12)
            result = product.execute(out=np.empty((3, 5)))
            np.testing.assert_allclose(result, A @ B + bias, atol=1e-12)
    with advanced.Matmul(A, B, c, beta=1) as product:
        for planned in (False, True):
            if planned:
                product.plan()
            product.release_operands()
            for reset in (product.reset_operands, product.reset_operands_unchecked):
                with pytest.raises(ValueError, match="operands were released, and c is missing"):
                    reset(a=A, b=B)
            product.reset_operands_unchecked(a=A, b=B, c=2 * c)
        np.testing.assert_allclose(product.execute(), A @ B + 2 * c, atol=1e-12)


def test_options_of_the_user_are_copied() -> None:
    options = advanced.MatmulOptions(memory_limit="50%")
    inputs = {"bias": np.ones(3)}
    with advanced.Matmul(A, B, options=options) as product:
        options.memory_limit, options.handle = "nothing", -1
        product.plan(epilog=advanced.MatmulEpilog.BIAS, epilog_inputs=inputs)
        inputs["bias"] = np.zeros(3)
        product.reset_operands(alpha=2)
        # Without a GPU nothing else depends on it.
        assert product._options.memory_limit == "50%"
        result = product.execute(out=np.empty((3, 5)))
        np.testing.assert_allclose(result, 2 * A @ B + 1, atol=1e-12)


def test_preferences_are_checked_again_when_they_are_used() -> None:
    preferences = advanced.MatmulPlanPreferences()
    preferences.limit = 0
    with pytest.raises(ValueError, match="limit is 0"):
        advanced.matmul(A, B, preferences=preferences)


def test_refused_operands_leave_those_before() -> None:
    other = np.ones_like(A)
    with advanced.Matmul(A, B, alpha=2) as product:
        product.plan()
        refused: list[dict[str, Any]] = [
            *({"alpha": number} for number in ("x", 1j, 10**5000)),
            {"b": "x"},
        ]
        misfits: list[dict[str, Any]] = [{"b": B[:3]}, {"c": np.ones((3, 5)), "beta": 1}]
        cases = [(product.reset_operands, keywords) for keywords in refused + misfits]
        cases += [(product.reset_operands_unchecked, keywords) for keywords in refused]
        for reset, keywords in cases:
            with pytest.raises((ValueError, TypeError)):
                reset(a=other, **keywords)
            np.testing.assert_allclose(product.execute(), 2 * A @ B, atol=1e-12)
            result = product.execute(out=np.empty((3, 5)))
            np.testing.assert_allclose(result, 2 * A @ B, atol=1e-12)


def test_a_refused_plan_leaves_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    bias = np.ones(3)
    with advanced.Matmul(A, B) as product, advanced.Matmul(A, B) as unplanned:
        product.plan()
        with pytest.raises(ValueError, match='"bias"'):
            product.plan(epilog=advanced.MatmulEpilog.BIAS)
        np.testing.assert_allclose(product.execute(), A @ B, atol=1e-12)
        # What the tuning database refuses is refused last.
        monkeypatch.setattr(advanced.tuning, "_of_process", None)
        monkeypatch.setenv("GPUMATH_TUNING", "bogus")
        epilog: dict[str, Any] = {
            "epilog": advanced.MatmulEpilog.RELU_BIAS,
            "epilog_inputs": {"bias": bias},
        }
        for one in (product, unplanned):
            with pytest.raises(ValueError, match="GPUMATH_TUNING is 'bogus'"):
                one.plan(**epilog)
        with pytest.raises(advanced.InvalidMatmulState, match="not planned"):
            unplanned.execute()
        for _ in range(2):
            np.testing.assert_allclose(product.execute(), A @ B, atol=1e-12)
        product.reset_operands(a=2 * A)
        result = product.execute(out=np.empty((3, 5)))
        np.testing.assert_allclose(result, 2 * A @ B, atol=1e-12)
        monkeypatch.delenv("GPUMATH_TUNING")
        for one, factor in ((product, 2), (unplanned, 1)):
            one.plan(**epilog)
            expected = np.maximum(factor * A @ B + 1, 0)
            np.testing.assert_allclose(one.execute(), expected, atol=1e-12)
