/* runtime/launch.h: starting kernels: packs arguments, checks sizes, and names each launch for the profiler.
 *
 *   mica__launch l = mica__launch_of(kernel);
 *   mica__launch_tensor(&l, x);
 *   mica__launch_size(&l, n);
 *   mica__launch_range1(&l, n, 64);
 *   return mica__queue_submit(queue, &l);
 *
 * Errors while packing are remembered and reported by submit. A launch is a plain value: an ordinary queue starts it at
 * once; a recorder keeps it, and a recording replays its launches without packing, checking or allocating anything. */
#ifndef MICA_RUNTIME_LAUNCH_H
#define MICA_RUNTIME_LAUNCH_H

#include "runtime/kernel.h"
#include "runtime/texture.h"

#include <mica/tensor.h>

#define MICA__MAX_ARGS 96
#define MICA__MAX_PACKED 80

typedef struct mica__arg {
  enum { MICA__ARG_BYTES, MICA__ARG_BUFFER, MICA__ARG_LOCAL, MICA__ARG_TEXTURE } kind;
  size_t size; /* bytes of the value, or of local memory */
  /* For BUFFER, the number of the argument or packed value that has the index of the tensor's first element. For
   * TEXTURE, the slot (mica__texture_slot). */
  uint32_t first;
  union {
    int32_t i32;
    int64_t i64;
    float f32;
    double f64;
    int32_t i32x8[8];
    int64_t i64x8[8];
    float f32x8[8];
    mica_buffer *buffer; /* not retained: a caller that keeps a launch keeps its buffers */
  } value;
} mica__arg;

typedef struct mica__launch {
  mica__kernel *kernel;
  uint32_t dims;
  size_t global[3]; /* work-items, before padding to whole groups */
  size_t local[3];  /* work-items per group; 0 in [0] lets the driver choose */
  uint32_t arg_count;
  bool is_packed;
  uint32_t packed_count;
  int64_t packed[MICA__MAX_PACKED]; /* the values of a packed launch */
  double flops, bytes;              /* what the algorithm needs; for the profiler and runtime/split.h */
  bool is_whole;                    /* see mica__launch_whole */
  mica_status status;               /* the first error while packing */
  mica__arg args[MICA__MAX_ARGS];   /* must be last: a recording keeps only arg_count of them */
} mica__launch;

mica__launch mica__launch_of(mica__kernel *kernel);
/* Call this before anything is added, for a kernel that takes its buffers and local memory first, and then all its
 * values as one argument, in the order in which they are added (cl/common/packed.clh). What the functions below call a
 * value or an argument other than a buffer or local memory is then one of these values, or eight of them. */
void mica__launch_pack(mica__launch *launch);

/* Adds two arguments: the buffer, and the index of the tensor's first element in it as a value of type long. */
void mica__launch_tensor(mica__launch *launch, const mica_tensor *tensor);
/* Like mica__launch_tensor. If tensor is NULL, the two arguments are a null pointer and 0. */
void mica__launch_optional(mica__launch *launch, const mica_tensor *tensor);
/* Adds two arguments: the buffer, and `first` as a value of type long. It is the index of the first element to use; its
 * unit is the element type that the kernel reads. */
void mica__launch_buffer(mica__launch *launch, mica_buffer *buffer, int64_t first);
/* Adds an image over the tensor's whole buffer (mica__texture_fits). For MICA__TEXTURE_PLANE, adds also an int: the
 * logarithm to base 2 of the image's width. The same launch must also get the tensor as an argument, because only that
 * keeps the buffer alive. */
void mica__launch_texture(mica__launch *launch, const mica_tensor *tensor, mica__texture kind);
/* Adds an int argument from a 64-bit size. If the size does not fit, mica__queue_submit returns MICA_E_OVERFLOW. */
void mica__launch_size(mica__launch *launch, int64_t size);
void mica__launch_int(mica__launch *launch, int32_t value);
void mica__launch_long(mica__launch *launch, int64_t value);
void mica__launch_float(mica__launch *launch, float value);
void mica__launch_double(mica__launch *launch, double value);
/* Add one argument of eight values: an int8, a long8 or a float8. A CPU's driver spends the same time on it as on an
 * argument with one value. mica__launch_sizes adds an int8 of 64-bit sizes, each checked as by mica__launch_size.
 * Prefer the macros of runtime/fields.h, which name the values. */
void mica__launch_int8(mica__launch *launch, const int32_t values[8]);
void mica__launch_sizes(mica__launch *launch, const int64_t values[8]);
void mica__launch_long8(mica__launch *launch, const int64_t values[8]);
void mica__launch_float8(mica__launch *launch, const float values[8]);
/* Adds the value as COMPUTE(dtype): float, double, or an integer of 32 or 64 bits; integers saturate. */
void mica__launch_scalar(mica__launch *launch, mica_dtype dtype, double value);
/* Adds local memory of this many bytes. */
void mica__launch_local(mica__launch *launch, size_t bytes);

/* The group size of kernels whose work-items are independent (RANGE_KERNEL of cl/common/group.clh). */
#define MICA__RANGE_GROUP 64

/* Sets the index space, in work-items. The global size is padded to a multiple of the local size, so kernels must check
 * their bounds. With a global size of 0, mica__queue_submit does nothing.
 *
 * A local size of 0 lets the driver choose it. Give one nevertheless, because PoCL compiles machine code again for
 * every new size. Unless the kernel's source fixes the group size, the first local size is halved until the group fits
 * the compiled kernel. */
void mica__launch_range1(mica__launch *launch, int64_t global, size_t local);
void mica__launch_range3(mica__launch *launch, const int64_t global[3], const size_t local[3]);

/* States the operations and the bytes that the algorithm needs. The profile computes rates from them. They also show
 * whether a launch would last too long and must be split (runtime/split.h). */
void mica__launch_cost(mica__launch *launch, double flops, double bytes);
/* Forbids splitting the range. Kernels need this if they use the number of groups or work-items, for example by
 * get_num_groups or get_global_size. */
void mica__launch_whole(mica__launch *launch);

/* The queue's engine, and whether the queue is a recorder (runtime/recording.h). */
mica_engine *mica__queue_engine(const mica_queue *queue);
bool mica__queue_records(const mica_queue *queue);
/* A number that no other queue of the engine has or ever had; 0 for every recorder. */
uint64_t mica__queue_id(const mica_queue *queue);

/* Starts or records the launch. MICA_E_UNSUPPORTED if the group is too large for the device or kernel. */
mica_status mica__queue_submit(mica_queue *queue, const mica__launch *launch);

/* The number of launches in this process on devices that run kernels; tests use it to prove that something ran. */
uint64_t mica__launch_total(void);

#endif
