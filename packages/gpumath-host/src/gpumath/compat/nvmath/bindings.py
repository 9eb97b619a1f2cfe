"""What type checkers read; when a program runs, `_facade` makes the module nvmath.bindings."""

from gpumath.bindings import *
