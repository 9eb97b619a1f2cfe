// Lets a C++ compiler for the CPU compile the source of gpumath.device.random.

#include <cmath>

#define __device__

static void sincospi(double x, double *sine, double *cosine)
{
    *sine = std::sin(M_PI * x);
    *cosine = std::cos(M_PI * x);
}

static void sincospif(float x, float *sine, float *cosine)
{
    *sine = (float)std::sin(M_PI * x);
    *cosine = (float)std::cos(M_PI * x);
}

static double normcdfinv(double p)
{
    double low = -40, high = 40;
    for (int i = 0; i < 100; i++) {
        double middle = (low + high) / 2;
        (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
    }
    return low;
}

static float normcdfinvf(float p) { return (float)normcdfinv(p); }
