/* The driver of multiplying_driver.c, with what a tuning database asks: whether an algorithm is for
   a product. The algorithms of this cuBLASLt end with alignments. */
#include "multiplying_driver.c"

int cublasLtMatmulAlgoCheck(void *handle, Product *it, Layout *a, Layout *b, Layout *c, Layout *d,
                            const uint64_t *algorithm, Result *result) {
    result->workspace = 1000;
    return handle && c && fits(it, a, b, d) && algorithm[4] ? SUCCESS : NO_SUPPORT;
}
