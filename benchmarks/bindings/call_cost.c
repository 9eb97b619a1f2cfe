/* Loops around the calls that call_cost.py times. Functions are passed by their address. */
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef int (*get_version_t)(void *, int *);
double get_version(get_version_t function, void *handle, int calls)
{
    int version;
    double start = now();
    for (int i = 0; i < calls; ++i)
        function(handle, &version);
    return now() - start;
}

typedef int (*sgemm_t)(void *, int, int, int, int, int, const float *, const float *, int,
                       const float *, int, const float *, float *, int);
double sgemm(sgemm_t function, void *handle, int n, const float *scalars, const float *a,
             const float *b, float *c, int calls)
{
    double start = now();
    for (int i = 0; i < calls; ++i)
        function(handle, 0, 0, n, n, n, scalars, a, n, b, n, scalars + 1, c, n);
    return now() - start;
}

typedef int (*exec_t)(int, void *, void *, int);
double exec_c2c(exec_t function, int plan, void *in, void *out, int calls)
{
    double start = now();
    for (int i = 0; i < calls; ++i)
        function(plan, in, out, -1);
    return now() - start;
}

typedef int (*launch_t)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, void *, void **, void **);
double launch(launch_t function, void *kernel, void *stream, void **arguments, int calls)
{
    double start = now();
    for (int i = 0; i < calls; ++i)
        function(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, 0);
    return now() - start;
}
