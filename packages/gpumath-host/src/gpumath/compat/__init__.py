"""Programs that were written for another library run with gpumath.

- `gpumath.compat.nvmath`: programs written for nvmath-python
"""
