"""gpumath for PyTorch programs that differentiate or compile: operators that PyTorch knows.

The functions of `gpumath.torch.fft` have the names of those in `gpumath.fft`. They take tensors
that require a gradient, and ``torch.compile`` takes them into its graphs, with
``fullgraph=True`` too. Where neither is needed, `gpumath.fft` itself takes tensors at less cost
per call. Importing this package imports PyTorch.

Examples
--------
>>> import torch
>>> from gpumath.torch import fft
>>> x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
>>> fft.rfft(x)[0].real.backward()
>>> x.grad
tensor([1., 1., 1., 1.])
"""

from gpumath.torch import fft, linalg

__all__ = ["fft", "linalg"]
