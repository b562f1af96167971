/* mica/kernel.h: your own OpenCL C kernels on Mica's tensors and queues. Like Mica's kernels they are built once,
 * stored in the disk cache, timed in profiles, and ordered with the other work of a queue.
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
 * Threads: any thread may build kernels. A kernel may run on several queues at once. */
#ifndef MICA_KERNEL_H
#define MICA_KERNEL_H

#include <mica/tensor.h>

MICA_BEGIN_DECLS

/* A kernel. The engine owns it; it lives as long as the engine. */
typedef struct mica_kernel mica_kernel;

/* Builds the __kernel function `name` of an OpenCL C 1.2 source. If this engine has built it before, or the disk cache
 * has it, it is not compiled again. Blocks if it must be compiled. options are for the compiler, such as "-DSTEP=4",
 * and may be NULL. name and source are copied. MICA_E_BUILD: the message has the compiler's output. */
MICA_API MICA_CHECKED mica_status mica_kernel_build(mica_engine *engine, const char *name, const char *source,
                                                    const char *options, mica_kernel **kernel);

typedef enum mica_arg_kind {
  MICA_ARG_KIND_TENSOR, /* two parameters: a __global pointer, and a long with the index of the first element */
  MICA_ARG_KIND_INT,    /* int */
  MICA_ARG_KIND_LONG,   /* long */
  MICA_ARG_KIND_FLOAT,  /* float */
  MICA_ARG_KIND_LOCAL,  /* __local pointer to this number of bytes */
} mica_arg_kind;

typedef struct mica_arg {
  mica_arg_kind kind;
  union {
    const mica_tensor *tensor;
    int64_t integer;
    double real;
  } value;
} mica_arg;

/* The macros below make the arguments of a launch; each is a mica_arg, for example MICA_ARG_INT(n). */
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

/* Queues one launch over global[0] x global[1] x global[2] work-items in groups of `local`; returns without waiting.
 * Global sizes are rounded up to multiples of local sizes, so the kernel must check bounds. A global size of 0 makes
 * the call a no-op. The kernel itself must respect strides and bounds of tensors. MICA_E_INVALID: the number of args
 * differs from the function's parameters, a tensor is NULL or belongs to another engine, a LOCAL has no bytes, or a
 * local size is 0. MICA_E_OVERFLOW: an INT does not fit into int, or a global size is 2^63 or more. MICA_E_UNSUPPORTED:
 * device or kernel cannot run groups of this size. */
MICA_API MICA_CHECKED mica_status mica_kernel_run(mica_queue *queue, mica_kernel *kernel, const mica_arg *args,
                                                  size_t count, const size_t global[3], const size_t local[3]);

MICA_END_DECLS

#endif
