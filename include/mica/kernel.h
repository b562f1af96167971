/* mica/kernel.h: kernels of your own in OpenCL C, on Mica's tensors and queues.
 *
 * They are built once, kept in the cache on disk, timed in profiles and ordered with all other work of a queue, as
 * Mica's own are.
 *
 *   static const char source[] =
 *     "__kernel void axpy(__global const float *x, long x_at, __global float *y, long y_at, int n, float a) {\n"
 *     "  int i = get_global_id(0);\n"
 *     "  if (i < n) y[y_at + i] += a * x[x_at + i];\n"
 *     "}\n";
 *   mica_kernel_build(engine, "axpy", source, NULL, &axpy);
 *   const mica_arg args[] = {MICA_ARG_TENSOR(x), MICA_ARG_TENSOR(y), MICA_ARG_INT(n), MICA_ARG_FLOAT(2)};
 *   mica_kernel_run(queue, axpy, args, 4, (size_t[]){n, 1, 1}, (size_t[]){64, 1, 1});
 *
 * Threads: kernels are built from any thread, and one kernel may be run on several queues at once. */
#ifndef MICA_KERNEL_H
#define MICA_KERNEL_H

#include <mica/tensor.h>

MICA_BEGIN_DECLS

/* Belongs to the engine and lives as long as it does. */
typedef struct mica_kernel mica_kernel;

/* The __kernel function `name` of an OpenCL C 1.2 text: as it was built before by this engine, else from the cache on
 * disk, else compiled, which blocks. options are the compiler's, such as "-DSTEP=4"; NULL for none. name and source are
 * copied. MICA_E_BUILD carries the compiler's words. */
MICA_API MICA_CHECKED mica_status mica_kernel_build(mica_engine *engine, const char *name, const char *source,
                                                    const char *options, mica_kernel **kernel);

typedef enum mica_arg_kind {
  MICA_ARG_KIND_TENSOR, /* two parameters: __global pointer, and long: its first element behind it */
  MICA_ARG_KIND_INT,    /* int */
  MICA_ARG_KIND_LONG,   /* long */
  MICA_ARG_KIND_FLOAT,  /* float */
  MICA_ARG_KIND_LOCAL,  /* __local pointer to so many bytes */
} mica_arg_kind;

typedef struct mica_arg {
  mica_arg_kind kind;
  union {
    const mica_tensor *tensor;
    int64_t integer;
    double real;
  } value;
} mica_arg;

/* The arguments of a launch, each a mica_arg: MICA_ARG_INT(n). */
static inline mica_arg mica_arg_of(mica_arg_kind kind, const mica_tensor *tensor, int64_t integer, double real) {
  mica_arg arg;
  arg.kind = kind;
  if (kind == MICA_ARG_KIND_TENSOR)
    arg.value.tensor = tensor;
  else if (kind == MICA_ARG_KIND_FLOAT)
    arg.value.real = real;
  else
    arg.value.integer = integer;
  return arg;
}
#define MICA_ARG_TENSOR(t) mica_arg_of(MICA_ARG_KIND_TENSOR, (t), 0, 0)
#define MICA_ARG_INT(i) mica_arg_of(MICA_ARG_KIND_INT, NULL, (i), 0)
#define MICA_ARG_LONG(i) mica_arg_of(MICA_ARG_KIND_LONG, NULL, (i), 0)
#define MICA_ARG_FLOAT(x) mica_arg_of(MICA_ARG_KIND_FLOAT, NULL, 0, (x))
#define MICA_ARG_LOCAL(bytes) mica_arg_of(MICA_ARG_KIND_LOCAL, NULL, (int64_t)(bytes), 0)

/* Queues one launch over global[0] x global[1] x global[2] work-items in groups of local; returns without waiting. Each
 * global size is rounded up to a multiple of its local one, so that the kernel must check its bounds; a global size of
 * 0 makes the call a no-op. What the kernel does with the tensors' memory, strides and bounds is its own affair.
 * MICA_E_INVALID: args that are not as many as the function's parameters, a tensor of another engine, a local size of
 * 0; MICA_E_OVERFLOW: an INT beyond int; MICA_E_UNSUPPORTED: a group that the device or the kernel cannot take. */
MICA_API MICA_CHECKED mica_status mica_kernel_run(mica_queue *queue, mica_kernel *kernel, const mica_arg *args,
                                                  size_t count, const size_t global[3], const size_t local[3]);

MICA_END_DECLS

#endif
