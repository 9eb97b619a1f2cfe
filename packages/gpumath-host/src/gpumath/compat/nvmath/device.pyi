from gpumath.device import *
