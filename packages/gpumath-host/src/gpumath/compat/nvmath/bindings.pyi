from gpumath.bindings import *
