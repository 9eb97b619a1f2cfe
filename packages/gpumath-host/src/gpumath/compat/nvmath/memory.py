"""What type checkers read; when a program runs, `_facade` makes the module nvmath.memory."""

from gpumath.compat.nvmath._memory import BaseCUDAMemoryManagerAsync as BaseCUDAMemoryManagerAsync
from gpumath.memory import Array as Array
from gpumath.memory import BaseCUDAMemoryManager as BaseCUDAMemoryManager
from gpumath.memory import MemoryPointer as MemoryPointer
from gpumath.memory import empty as empty
from gpumath.memory import from_dlpack as from_dlpack
