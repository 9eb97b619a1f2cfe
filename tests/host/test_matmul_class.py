"""The class `Matmul`: its phases, other operands, and lists."""

from __future__ import annotations

import gc
import logging
import weakref
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gpumath import linalg
from gpumath.bindings.errors import InvalidStateError
from tests.helpers.structured import GENERAL, KINDS, numbers, qualifiers

if TYPE_CHECKING:
    from tests.helpers.spaces import Space


def test_phases(space: Space) -> None:
    rng = np.random.default_rng()
    a, b, c = (numbers(rng, shape, "float64") for shape in [(3, 4), (4, 5), (3, 5)])
    operands = [space.array(each) for each in (a, b, c)]
    with linalg.Matmul(*operands, alpha=2, beta=3, execution=space.execution) as product:
        product.plan()
        for _ in range(2):
            result = product.execute()
            space.assert_is_alike(result)
            np.testing.assert_allclose(space.numpy(result), 2 * a @ b + 3 * c)
        other = numbers(rng, (3, 4), "float64")
        product.reset_operands(a=space.array(other))
        np.testing.assert_allclose(space.numpy(product.execute()), 2 * other @ b + 3 * c)
        product.reset_operands(alpha=1, beta=-1)
        np.testing.assert_allclose(space.numpy(product.execute()), other @ b - c)
        product.reset_operands_unchecked(b=space.array(2 * b), c=space.array(c))
        np.testing.assert_allclose(space.numpy(product.execute_unchecked()), 2 * other @ b - c)
        out = space.array(np.empty((3, 5)))
        assert product.execute(out=out) is out
        np.testing.assert_allclose(space.numpy(out), 2 * other @ b - c)


def test_states() -> None:
    a = np.ones((3, 3))
    product = linalg.Matmul(a, a)
    with pytest.raises(linalg.InvalidMatmulState, match="not planned"):
        product.execute()
    product.plan()
    product.release_operands()
    with pytest.raises(linalg.InvalidMatmulState, match="no operand"):
        product.execute()
    with pytest.raises(ValueError, match="released"):
        product.reset_operands(a=a)
    product.reset_operands(a=a, b=2 * a)
    np.testing.assert_array_equal(product.execute(), 6 * a)
    product.free()
    product.free()
    for call in (product.execute, product.plan, product.release_operands, product.__enter__):
        with pytest.raises(linalg.InvalidMatmulState, match="freed"):
            call()
    with pytest.raises(InvalidStateError):
        product.reset_operands(a=a)


def test_other_operands_must_be_alike() -> None:
    a, b = np.ones((3, 4)), np.ones((4, 5))
    with linalg.Matmul(a, b) as product:
        product.plan()
        for other in (a.astype("float32"), np.ones((2, 4)), np.ones((4, 3)).T):
            with pytest.raises(ValueError, match=r"made for|same type"):
                product.reset_operands(a=other)
        for reset in (product.reset_operands, product.reset_operands_unchecked):
            for keywords in ({}, {"beta": 1.0}):
                with pytest.raises(ValueError, match=r"c is given, but .* made without one"):
                    reset(a=3 * a, c=np.ones((3, 5)), **keywords)
            np.testing.assert_array_equal(product.execute(), a @ b)
            np.testing.assert_array_equal(product.execute(out=np.empty((3, 5))), a @ b)
        product.reset_operands_unchecked(a=np.ones((2, 4)))
        with pytest.raises(ValueError, match="plan was made for"):
            product.execute()


def test_other_operands_that_are_no_arrays_are_named() -> None:
    a, b, c = np.ones((3, 4)), np.ones((4, 5)), np.ones((3, 5))
    with linalg.Matmul(a, b, c, beta=1) as product:
        product.plan()
        for reset in (product.reset_operands, product.reset_operands_unchecked):
            for name in ("a", "b", "c"):
                with pytest.raises(ValueError, match=f"{name} is a builtins.str"):
                    reset(**{name: "x"})
                with pytest.raises(ValueError, match=f"{name} is a NumPy masked array"):
                    reset(**{name: np.ma.array(c)})
        np.testing.assert_array_equal(product.execute(), a @ b + c)
    with linalg.Matmul([a], [b]) as product:
        product.plan()
        with pytest.raises(ValueError, match=r"b\[0\] is a builtins.str"):
            product.reset_operands(b=["x"])
        np.testing.assert_array_equal(product.execute()[0], a @ b)


def test_numbers_that_need_another_plan_do_not_hide_other_layouts() -> None:
    a, b = np.ones((3, 4)), np.ones((4, 5))
    with linalg.Matmul([a], [b], alpha=[1]) as product:
        product.plan()
        with pytest.raises(ValueError, match="was made for"):
            product.reset_operands_unchecked(a=[a[:2]], alpha=[2])
        np.testing.assert_array_equal(product.execute()[0], a @ b)


def test_released_operands_are_all_needed_again() -> None:
    a, b, c = np.ones((3, 4)), np.ones((4, 5)), np.ones((3, 5))
    with linalg.Matmul(a, b, c, beta=2) as product:
        product.plan()
        for reset in (product.reset_operands, product.reset_operands_unchecked):
            product.release_operands()
            with pytest.raises(ValueError, match="operands were released"):
                reset(a=a, b=b)
            with pytest.raises(linalg.InvalidMatmulState, match=r"call its reset_operands\(\)"):
                product.execute()
            reset(a=a, b=b, c=c)
            np.testing.assert_array_equal(product.execute(), a @ b + 2 * c)


def test_lists_and_qualifiers_are_copied() -> None:
    """What the user does with his own afterwards changes nothing, also not at the next reset."""
    rng = np.random.default_rng()
    a, b = numbers(rng, (4, 4), "float64"), numbers(rng, (4, 4), "float64")
    triangle, known = KINDS[2].stored(rng, (4, 4), "float64", "C"), qualifiers(KINDS[2], GENERAL)
    with linalg.Matmul(triangle, b, qualifiers=known) as product:
        product.plan()
        known[0] = GENERAL.qualifier()
        product.reset_operands(alpha=2)
        np.testing.assert_allclose(product.execute(), 2 * KINDS[2].whole(triangle) @ b)
    first, alphas, later = [a, a], [1.0, 2.0], [b, b]
    with linalg.Matmul(first, [b], alpha=alphas) as product:
        product.plan()
        first[1], alphas[1] = b, 5.0
        product.reset_operands(b=later)
        later[1] = a
        product.reset_operands(a=None)
        for factor, one in zip((1, 2), product.execute(), strict=True):
            np.testing.assert_allclose(one, factor * a @ b)


def test_beta_without_c_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    """As nvmath-python does it."""
    a, b = np.ones((3, 4)), np.ones((4, 5))
    calls = [
        lambda: linalg.matmul(a, b, beta=2.0),
        lambda: linalg.matmul([a], [b], beta=[2.0])[0],
    ]
    with linalg.Matmul(a, b, beta=2.0) as product:
        assert "beta is ignored: there is no c" in caplog.text
        product.plan()
        for call in [*calls, product.execute]:
            np.testing.assert_array_equal(call(), a @ b)
        caplog.clear()
        product.reset_operands(beta=3.0)
        assert "beta is ignored" in caplog.text
        np.testing.assert_array_equal(product.execute(), a @ b)
    for call in calls:
        caplog.clear()
        call()
        assert [record.message for record in caplog.records] == ["beta is ignored: there is no c"]


def test_in_place(space: Space) -> None:
    rng = np.random.default_rng()
    a, c = numbers(rng, (4, 4), "complex64"), numbers(rng, (4, 4), "complex64")
    target = space.array(c)
    options = {"inplace": True}
    operands = (space.array(a), space.array(a))
    with linalg.Matmul(
        *operands, target, beta=2, options=options, execution=space.execution
    ) as product:
        product.plan()
        expected = a @ a + 2 * c
        assert product.execute() is target
        np.testing.assert_allclose(space.numpy(target), expected, rtol=1e-5, atol=1e-5)
        expected = a @ a + 2 * expected
        product.execute()
        np.testing.assert_allclose(space.numpy(target), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("inplace", [False, True])
def test_lists(execution: str, inplace: bool) -> None:
    rng = np.random.default_rng()
    a = [numbers(rng, (m, m), "float32") for m in (2, 5)]
    c = [np.zeros((m, m), "float32") for m in (2, 5)]
    given = {"options": {"inplace": inplace}, "execution": execution}
    with linalg.Matmul(a, a, c, alpha=[1, 2], beta=1, **given) as product:
        product.plan()
        first = product.execute()
        for factor, one, left in zip((1, 2), first, a, strict=True):
            np.testing.assert_allclose(one, factor * left @ left, rtol=1e-4, atol=1e-5)
        product.reset_operands(a=[2 * each for each in a], alpha=[3, 1])
        for old, factor, one, left in zip(
            [np.array(each) for each in c], (6, 2), product.execute(), a, strict=True
        ):
            np.testing.assert_allclose(one, factor * left @ left + old, rtol=1e-4, atol=1e-4)
        with pytest.raises(ValueError, match="made for"):
            product.reset_operands(a=a[::-1], b=a[::-1], c=c[::-1])


def test_structures(execution: str) -> None:
    rng = np.random.default_rng()
    for kind in KINDS[2:]:
        a, b = kind.stored(rng, (6, 6), "complex128", "C"), numbers(rng, (6, 3), "complex128")
        known = qualifiers(kind, GENERAL)
        with linalg.Matmul(a, b, qualifiers=known, execution=execution) as product:
            product.plan()
            np.testing.assert_allclose(product.execute(), kind.whole(a) @ b)


def test_nothing_is_kept_alive() -> None:
    class Array(np.ndarray):
        pass

    a = np.ones((3, 3)).view(Array)
    product = linalg.Matmul(a, a)
    product.plan()
    reference = weakref.ref(a)
    product.itself = product  # type: ignore[attr-defined]  # a cycle for the collector
    del a, product
    gc.collect()
    assert reference() is None


def test_the_log(caplog: pytest.LogCaptureFixture) -> None:
    a = np.ones((2, 2))
    logger = logging.getLogger("products")
    with (
        caplog.at_level(logging.INFO, "products"),
        linalg.Matmul(a, a, options={"logger": logger}) as product,
    ):
        product.plan()
        product.execute()
        product.reset_operands(a=2 * a)
    text = caplog.text
    for word in ("specified", "embedded", "planned", "matmul: ", "other operands", "freed"):
        assert word in text
