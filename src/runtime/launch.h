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
  /* BUFFER: which argument or packed value is the index of the tensor's first element; TEXTURE: the slot */
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
 * values as one argument, in the order in which they are added (cl/common/packed.clh). */
void mica__launch_pack(mica__launch *launch);

/* Adds two arguments: the buffer and, as long, the index of the tensor's first element. */
void mica__launch_tensor(mica__launch *launch, const mica_tensor *tensor);
/* Adds the two arguments of a tensor that may be absent: then a null pointer and 0. */
void mica__launch_optional(mica__launch *launch, const mica_tensor *tensor);
/* Adds the two arguments of a range that begins at an element of a buffer, counted in the kernel's type. */
void mica__launch_buffer(mica__launch *launch, mica_buffer *buffer, int64_t first);
/* Adds an image over the tensor's whole buffer (mica__texture_fits), and for MICA__TEXTURE_PLANE, as int, the
 * logarithm to base 2 of its width. The launch must also take the tensor itself, which keeps the buffer alive. */
void mica__launch_texture(mica__launch *launch, const mica_tensor *tensor, mica__texture kind);
/* Adds an int argument from a 64-bit size; MICA_E_OVERFLOW if it does not fit. */
void mica__launch_size(mica__launch *launch, int64_t size);
void mica__launch_int(mica__launch *launch, int32_t value);
void mica__launch_long(mica__launch *launch, int64_t value);
void mica__launch_float(mica__launch *launch, float value);
void mica__launch_double(mica__launch *launch, double value);
/* Add an int8, a long8 and a float8: a CPU's driver spends the same time on one argument as on one with eight values.
 * _sizes adds an int8 of 64-bit sizes, as mica__launch_size takes them. Prefer names: runtime/fields.h. */
void mica__launch_int8(mica__launch *launch, const int32_t values[8]);
void mica__launch_sizes(mica__launch *launch, const int64_t values[8]);
void mica__launch_long8(mica__launch *launch, const int64_t values[8]);
void mica__launch_float8(mica__launch *launch, const float values[8]);
/* Adds the value as COMPUTE(dtype): float, double, int or long; integers saturate. */
void mica__launch_scalar(mica__launch *launch, mica_dtype dtype, double value);
/* Adds local memory of this many bytes. */
void mica__launch_local(mica__launch *launch, size_t bytes);

/* The group size of kernels whose work-items are independent (RANGE_KERNEL of cl/common/group.clh). */
#define MICA__RANGE_GROUP 64

/* Sets the index space, in work-items. Local sizes of 0 let the driver choose, but PoCL compiles machine code again for
 * every new size, so state one. If the kernel declares no group, the first local size is halved until the compiled
 * kernel allows it. The global size is padded to a multiple of the local one, so kernels check their bounds. A global
 * size of 0 makes submit a no-op. */
void mica__launch_range1(mica__launch *launch, int64_t global, size_t local);
void mica__launch_range3(mica__launch *launch, const int64_t global[3], const size_t local[3]);

/* States what the algorithm needs, for rates in the profile, and for launches that would last too long
 * (runtime/split.h). */
void mica__launch_cost(mica__launch *launch, double flops, double bytes);
/* Forbids to split the range, because its groups count one another or the existing work-items, for example by
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
