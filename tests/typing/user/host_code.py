"""What a user of gpumath-host writes; checked by mypy and pyright, never run."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

from gpumath import fft

single = np.zeros((4, 8), dtype=np.complex64)
double = np.zeros((4, 8), dtype=np.complex128)
real = np.zeros((4, 8), dtype=np.float64)

assert_type(fft.fft(single), npt.NDArray[np.complex64])
assert_type(fft.ifft(double, axes=[1]), npt.NDArray[np.complex128])
assert_type(fft.rfft(real, execution="cpu"), npt.NDArray[np.complex128])
assert_type(fft.irfft(double, options={"last_axis_parity": "odd"}), npt.NDArray[np.float64])

fft.fft(single, axes=(0, 1), options=fft.FFTOptions(inplace=True))
fft.fft(single, options={"memory_limit": "80%"})
fft.FFTOptions(memory_limit=0.5)
fft.fft(single, execution=fft.ExecutionCPU(num_threads=2))
fft.fft(single, execution=fft.ExecutionCUDA(device_id=1), stream=0)


assert_type(fft.ifft(single, n=4, axes=[0], norm="ortho"), npt.NDArray[np.complex64])
fft.fft(single, s=(2, -1), norm=None)
fft.irfftn(fft.rfftn(real), (4, 8), (0, 1), "forward", execution="cpu")
fft.fft2(single, norm="backward", options={"inplace": True}, stream=0)
assert_type(fft.fftfreq(8, 0.5), npt.NDArray[np.float64])
fft.fftshift(fft.ifftshift(real, axes=0), axes=(0, 1))

key = fft.FFT.create_key(single, axes=[1], options=fft.FFTOptions(inplace=True))
described = fft.FFT.create_key_from_metadata((4, 8), "complex64", "cuda", strides=(8, 1))
assert_type(fft.estimate_workspace_size(described), int)
assert_type({key: 1, described: 2}, dict[fft.FFTKey, int])


def from_another_library(tensor: Any) -> Any:
    return fft.fft(tensor)


with fft.FFT(single, axes=[0]) as transform:
    transform.plan(direction=fft.FFTDirection.FORWARD)
    transform.execute()
    transform.reset_operand(single)
    transform.execute(direction="inverse", release_workspace=True)
    transform.release_operand()
transform.free()


def windowed(data: Any, offset: int, info: Any, reserved: Any) -> Any:
    return data[offset] * info[offset]


code = fft.compile_prolog(windowed, "complex64", np.float32, compute_capability="90")
assert_type(code, bytes)
assert_type(fft.compile_epilog("source", "float64", None, representation="ptx"), bytes)
assert_type(fft.DeviceCallable(code, data=0).size, int | None)

# Mistakes that the checkers must find: an unused suppression is an error too.
fft.fft(single, axis=1)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
fft.fft(  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    single,
    norm="both",  # pyright: ignore[reportArgumentType]
)
fft.compile_prolog(
    1,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "float32",
    None,
)
fft.FFT(single, stream=0, threads=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
