"""The functions and the class on PyTorch tensors, half precision included."""

import nvmath
import torch

a = torch.randn(8, 12, 64, dtype=torch.complex64, device="cuda")
b = nvmath.fft.fft(a, axes=(1, 2))
assert isinstance(b, torch.Tensor)
assert b.device == a.device
torch.testing.assert_close(b, torch.fft.fft2(a), rtol=1e-4, atol=1e-3)
torch.testing.assert_close(nvmath.fft.ifft(b, axes=(1, 2)) / (12 * 64), a, rtol=1e-4, atol=1e-4)

half = torch.randn(4, 256, device="cuda").half()
result = nvmath.fft.rfft(half, axes=[1])
assert result.dtype == torch.complex32
expected = torch.fft.rfft(half.double())
error = (result.to(torch.complex64) - expected).abs().max() / expected.abs().max()
assert error < 5e-3, error

stream = torch.cuda.Stream()
with nvmath.fft.FFT(a, axes=[2], options={"result_layout": "natural"}) as transform:
    transform.plan(stream=stream)
    c = transform.execute(stream=stream)
    stream.synchronize()
    assert transform.package == "torch"
    torch.testing.assert_close(c, torch.fft.fft(a), rtol=1e-4, atol=1e-3)
on_cpu = torch.randn(5, 9, dtype=torch.complex128)
assert nvmath.fft.fft(on_cpu, execution="cuda").device.type == "cpu"
