from gpumath.linalg import *
