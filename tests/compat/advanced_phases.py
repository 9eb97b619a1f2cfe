"""The advanced class: plan, algorithms, autotune, execute, reset_operands, free."""

from __future__ import annotations

from common import Environment, Results, main, raised


def run(env: Environment) -> Results:
    advanced = env.advanced
    a, b, c = env.real(64, 96), env.real(96, 80), env.real(64, 80)
    other, bias = env.real(64, 96), env.real(64)
    product, other_product = a.astype("f8") @ b, other.astype("f8") @ b
    operands = env.array(a), env.array(b), env.array(c)
    with advanced.Matmul(*operands, alpha=2.0, beta=1.0) as mm:
        yield "before plan", raised(mm.execute) != "nothing", None
        algorithms = mm.plan(preferences={"limit": 4})
        yield "limit", 0 < len(algorithms) <= 4, None
        for turn in range(2):
            yield f"execute {turn}", env.numpy(mm.execute()), 2 * product + c
        for number, algorithm in enumerate(mm.algorithms[:2]):
            result = mm.execute(algorithm=algorithm)
            yield f"algorithm {number}", env.numpy(result), 2 * product + c
        ids = mm.applicable_algorithm_ids(limit=1000)
        yield "ids", bool(ids) and all(isinstance(one, int) for one in ids), None
        yield "id", mm.algorithms[0].algorithm_id in ids, None
        mm.autotune(iterations=3, prune=2)
        yield "pruned", len(mm.algorithms) <= 2, None
        yield "tuned", env.numpy(mm.execute()), 2 * product + c
        mm.reset_operands(a=env.array(other), alpha=3.0)
        yield "reset", env.numpy(mm.execute()), 3 * other_product + c
        mm.reset_operands_unchecked(a=env.array(a), beta=0.5)
        yield "unchecked", env.numpy(mm.execute(release_workspace=True)), 3 * product + 0.5 * c
        wrong = env.array(a[:32].copy())
        yield "misfit", raised(lambda: mm.reset_operands(a=wrong)), None
        mm.release_operands()
        yield "released", raised(mm.execute) != "nothing", None
    mm.free()
    yield "freed", raised(mm.execute) != "nothing", None
    inputs = {"bias": env.array(bias)}
    expected = product + bias[:, None]
    epilog = advanced.MatmulEpilog.BIAS
    with advanced.Matmul(env.array(a), env.array(b)) as mm:
        mm.plan()
        yield "plain", env.numpy(mm.execute()), product
        mm.plan(epilog=epilog, epilog_inputs=inputs)
        yield "planned again", env.numpy(mm.execute()), expected
        mm.reset_operands(epilog_inputs={"bias": env.array(2 * bias)})
        yield "reset bias", env.numpy(mm.execute()), expected + bias[:, None]
        saved = [algorithm.as_numpy() for algorithm in mm.algorithms]
        number = mm.algorithms[0].algorithm_id
    loaded = [advanced.Algorithm.from_numpy(one) for one in saved]
    yield "loaded", loaded[0].algorithm_id == number, None
    with advanced.Matmul(env.array(a), env.array(b)) as mm:
        mm.plan(algorithms=loaded, epilog=epilog, epilog_inputs=inputs)
        yield "planned with algorithms", env.numpy(mm.execute()), expected
        yield "algorithms", len(mm.algorithms) == len(loaded), None
    with advanced.Matmul(env.array(a), env.array(b)) as mm:
        (algorithm,) = mm.plan(preferences=advanced.MatmulPlanPreferences(limit=1))
        yield "capabilities", algorithm.capabilities.splitk_support in (0, 1), None
        algorithm.split_k = algorithm.split_k
        yield "set", env.numpy(mm.execute(algorithm=algorithm)), product
    result = advanced.matmul(env.array(a), env.array(b), algorithm=algorithm)
    yield "function with an algorithm", env.numpy(result), product


if __name__ == "__main__":
    main(run)
