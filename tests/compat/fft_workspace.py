"""estimate_workspace_size: on the CPU 0, on a GPU what cuFFT says."""

from __future__ import annotations

from common import Environment, Results, main, raised

LAYOUTS = [((64, 1024), [1]), ((4099,), None), ((31, 37, 41), None), ((1 << 20,), [0])]


def run(env: Environment) -> Results:
    fft = env.fft
    create = fft.FFT.create_key_from_metadata
    if not env.is_on_gpu:
        yield "cpu", fft.estimate_workspace_size(create((4099,), "complex64", "cpu")), None
        return
    cufft = env.bindings("cufft")
    for shape, axes in LAYOUTS:
        for dtype in ("complex64", "complex128", "float32"):
            key = create(shape, dtype, "cuda", axes=axes)
            yield f"{shape} {dtype}", fft.estimate_workspace_size(key), None
            handle = cufft.create()
            refined = fft.estimate_workspace_size(key, technique="refined", handle=handle)
            cufft.destroy(handle)
            yield f"{shape} {dtype} refined", refined, None
    yield "no handle", raised(lambda: fft.estimate_workspace_size(key, technique="refined")), None
    yield "no technique", raised(lambda: fft.estimate_workspace_size(key, technique="x")), None
    half = create((1024,), "complex32", "cuda")
    yield "half", raised(lambda: fft.estimate_workspace_size(half)), None


if __name__ == "__main__":
    main(run)
