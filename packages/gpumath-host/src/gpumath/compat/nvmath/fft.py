"""What type checkers read; when a program runs, `_facade` makes the module nvmath.fft."""

from gpumath.fft import *
