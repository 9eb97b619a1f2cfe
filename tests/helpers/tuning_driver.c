/* The driver of multiplying_driver.c, with what a tuning database asks: the name of the device, and
   whether an algorithm is for a product. The algorithms of this cuBLASLt end with alignments. */
#include "multiplying_driver.c"

int cuDeviceGetName(char *name, int size, int device) { return strncpy(name, "a stand-in", size), device; }
int cublasLtMatmulAlgoCheck(void *handle, Product *it, Layout *a, Layout *b, Layout *c, Layout *d, const uint64_t *algorithm,
                            Result *result) {
    result->workspace = 1000;
    return handle && c && fits(it, a, b, d) && algorithm[4] ? SUCCESS : NO_SUPPORT;
}
