from gpumath.fft import *
