"""What type checkers read; when a program runs, `_facade` makes the module nvmath.linalg."""

from gpumath.linalg import *
