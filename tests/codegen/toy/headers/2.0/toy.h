/* A made-up library, second release. */
#include <stddef.h>

typedef enum toyStatus_t { TOY_SUCCESS = 0, TOY_FAILED = 1, TOY_BUSY = 3 } toyStatus;
typedef enum {
    TOY_FLAG_NONE = 0, TOY_FLAG_FAST = 1, TOY_FLAG_SAFE = 2, TOY_FLAG_SURE = 2
} toyFlag_t;
typedef struct toyContext *toyHandle_t;
typedef unsigned long long toyAddress;
typedef struct { float x, y; } toyPair;
typedef void (*toyCallback)(int);
typedef struct toyRequest_st {
    toyPair corners[2];
    toyFlag_t flag;
    union {
        int number;
        struct { unsigned char low, high[3]; } bytes;
    };
    union { void *ptr; struct { double value; int bits : 3; } from; } target;
    struct { size_t width, height; } extent;
    char name[12];
    toyCallback callback;
} toyRequest;

#define toyFill toyFill_v2
#define __CUDA_API_PTSZ(name) name
#define toySort_64 toySort_v2_64
#define toySort toyOrder
#define toyLaunch __CUDA_API_PTSZ(toyLaunch_v2)

toyStatus toyCreate(toyHandle_t *handle);
toyStatus toyDestroy(toyHandle_t handle);
toyStatus toyGetMode(toyHandle_t handle, toyFlag_t *mode, int *nGPUs);
toyStatus toySetMode(toyHandle_t handle, toyFlag_t mode);
toyStatus toyGetName(toyHandle_t handle, const char **name);
toyStatus toyLoad(const char *fileName, const void *image, size_t size);
toyStatus toyShape(int rank, const long long extent[], const double scale[]);
toyStatus toyWorkspace(toyHandle_t handle, size_t *workSize);
toyStatus toyFill(toyAddress target, unsigned char byte, short step, float alpha, double beta);
toyStatus toyLaunch(toyHandle_t handle, toyCallback callback, toyPair *pair, void **arguments);
toyStatus toyExecC2R(toyHandle_t handle, void *in, void *lambda);
toyStatus toyDeviceOnly(toyHandle_t handle);
toyStatus toySort_64(toyHandle_t handle, long long count);
size_t toyVersion(void);
toyStatus toyAdded(toyHandle_t handle, float *hErrSigma);
const char *toyStatusText(toyStatus status);
void toyReset(void);
static inline toyStatus toyInline(void) { return toyCreate(NULL); }
