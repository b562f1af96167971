/* mica/device.h: the devices of this machine, and the engine that owns one of them.
 *
 * Threads: functions of an engine and of a queue may be called from several threads at once. What several threads give
 * one queue is done in the order of their calls; the engine's own queue is also what tensors, sessions, networks and
 * trainers are made on. mica_tensor_download and mica_tensor_map have the queue to themselves while they wait for the
 * device, and other threads' calls on it wait as long. Threads that are to work side by side have a queue each.
 * mica_device_prepare_drivers is called while there is one thread. */
#ifndef MICA_DEVICE_H
#define MICA_DEVICE_H

#include <mica/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* The class of a device decides how kernels are shaped: CPU-class kernels keep tiles in the registers of a work-item
 * that is alone in its group; GPU-class ones share tiles through local memory. NULL is the device that runs nothing
 * (see below). */
#define MICA_DEVICE_CLASS_LIST(X)                                                                                      \
  X(CPU, "cpu")                                                                                                        \
  X(GPU, "gpu")                                                                                                        \
  X(ACCELERATOR, "accelerator")                                                                                        \
  X(NULL, "null")

typedef enum mica_device_class {
#define MICA_DEVICE_CLASS_ENUM(name, text) MICA_DEVICE_CLASS_##name,
  MICA_DEVICE_CLASS_LIST(MICA_DEVICE_CLASS_ENUM)
#undef MICA_DEVICE_CLASS_ENUM
} mica_device_class;

/* Who made the hardware; decides default parameters and vendor paths. */
#define MICA_VENDOR_LIST(X)                                                                                            \
  X(OTHER, "other")                                                                                                    \
  X(NVIDIA, "nvidia")                                                                                                  \
  X(AMD, "amd")                                                                                                        \
  X(INTEL, "intel")                                                                                                    \
  X(ARM, "arm")                                                                                                        \
  X(QUALCOMM, "qualcomm")                                                                                              \
  X(APPLE, "apple")

typedef enum mica_vendor {
#define MICA_VENDOR_ENUM(name, text) MICA_VENDOR_##name,
  MICA_VENDOR_LIST(MICA_VENDOR_ENUM)
#undef MICA_VENDOR_ENUM
} mica_vendor;

/* Optional abilities that Mica can use: name, and the extension that announces it. */
#define MICA_FEATURE_LIST(X)                                                                                           \
  X(FP64, "cl_khr_fp64")                                                                                               \
  X(FP16, "cl_khr_fp16")                                                                                               \
  X(SUBGROUPS, "cl_khr_subgroups")                                                                                     \
  X(INTEL_SUBGROUPS, "cl_intel_subgroups")                                                                             \
  X(INLINE_PTX, "cl_nv_compiler_options")                                                                              \
  X(INTEGER_DOT, "cl_khr_integer_dot_product")                                                                         \
  X(COMMAND_BUFFER, "cl_khr_command_buffer")                                                                           \
  X(INTEL_MATRIX, "cl_intel_subgroup_matrix_multiply_accumulate")

typedef enum mica_feature {
#define MICA_FEATURE_BIT(name, extension) MICA_FEATURE_BIT_##name,
  MICA_FEATURE_LIST(MICA_FEATURE_BIT)
#undef MICA_FEATURE_BIT
#define MICA_FEATURE_ENUM(name, extension) MICA_FEATURE_##name = 1 << MICA_FEATURE_BIT_##name,
      MICA_FEATURE_LIST(MICA_FEATURE_ENUM)
#undef MICA_FEATURE_ENUM
} mica_feature;

#define MICA_DEVICE_TEXT 128

/* A device as it describes itself. Texts are cut to fit; sizes are bytes. Fields are added at the end. */
typedef struct mica_device_info {
  char id[16]; /* selects it: "platform:device", counting only platforms that have devices: "0:1"; or "null" */
  char platform[MICA_DEVICE_TEXT]; /* "Portable Computing Language" */
  char platform_version[MICA_DEVICE_TEXT];
  char name[MICA_DEVICE_TEXT];
  char driver[MICA_DEVICE_TEXT];
  char opencl_c[MICA_DEVICE_TEXT]; /* "OpenCL C 1.2 ..." */
  mica_device_class device_class;
  mica_vendor vendor;
  uint32_t features; /* mica_feature bits */
  uint32_t compute_units;
  uint32_t clock_mhz;
  uint64_t global_bytes;
  uint64_t max_buffer_bytes; /* the largest single allocation */
  uint64_t local_bytes;      /* local memory a work-group may use */
  bool local_is_fast;        /* local memory is a memory of its own, not a part of the global one */
  bool unified_memory;       /* host and device share memory: mapping copies nothing */
  size_t max_group;          /* work-items in a work-group */
  size_t max_group_dim[3];
  uint32_t vector_bytes; /* a vector register of a work-item's: 64 with AVX-512; a scalar's 4 on most GPUs; no more
                                * than 32 on CPUs with addresses of 32 bits, which have few registers */
  uint32_t subgroup_min; /* the smallest subgroup a kernel may demand; 0 where it may demand none */
  uint32_t compute_capability; /* NVIDIA's, major * 10 + minor: 80; 0 elsewhere */
  uint32_t align_bytes;        /* alignment of a sub-buffer */
  uint32_t address_bits;
} mica_device_info;

/* Names to print, such as "gpu" and "NVIDIA"; "?" for an unknown value. Constant strings. */
MICA_API const char *mica_device_class_name(mica_device_class device_class);
MICA_API const char *mica_vendor_name(mica_vendor vendor);

/* Writes at most capacity devices to infos (may be NULL when capacity is 0) and how many there are to *count, in the
 * order of the drivers' own lists. A platform without devices is skipped, and so is a device that is not available or
 * has no compiler; having no OpenCL at all gives *count 0 and MICA_OK. The null device is not listed. */
static inline MICA_CHECKED mica_status mica_device_list(mica_device_info *infos, size_t capacity, size_t *count);

/* The device that `selector` means; the rule of mica_engine_config.device. MICA_E_NO_DEVICE when none matches, with the
 * devices there are in the sentence. */
static inline MICA_CHECKED mica_status mica_device_find(const char *selector, mica_device_info *info);

/* The functions behind these: info_bytes is sizeof(mica_device_info) as the program was compiled. An info of the
 * library is cut to it, or followed by zeros. */
MICA_API MICA_CHECKED mica_status mica_device_list_sized(mica_device_info *infos, size_t info_bytes, size_t capacity,
                                                         size_t *count);
MICA_API MICA_CHECKED mica_status mica_device_find_sized(const char *selector, mica_device_info *info,
                                                         size_t info_bytes);

static inline mica_status mica_device_list(mica_device_info *infos, size_t capacity, size_t *count) {
  return mica_device_list_sized(infos, sizeof *infos, capacity, count);
}
static inline mica_status mica_device_find(const char *selector, mica_device_info *info) {
  return mica_device_find_sized(selector, info, sizeof *info);
}

/* Prepares drivers that run kernels on the processor for a program that has it to itself, by these variables of the
 * environment, unless they are set already (tests/bench/RESULTS.md has figures):
 *
 *   POCL_AFFINITY=1                    binds each of PoCL's threads to a core. On few cores the system may else queue
 *                                      one behind that which wakes it, and a kernel of half a millisecond is over
 *                                      before the second core joins. Left alone where the process may use some of the
 *                                      cores only, of which PoCL knows nothing
 *   POCL_WORK_GROUP_SPECIALIZATION=0   PoCL compiles a kernel once, not for each way to launch it and once more for the
 *                                      binary that Mica keeps: a first start is over in half the time
 *   POCL_MAX_PTHREAD_COUNT             in place of the first, where mpirun started several ranks on this machine: the
 *                                      cores that a rank may use, or its share of all
 *
 * It changes the environment: call it while the program has one thread, before anything else of Mica or OpenCL. */
MICA_API void mica_device_prepare_drivers(void);

/* An engine owns one device: its context, memory pool, compiled kernels and profile. Everything made from an engine is
 * destroyed before it. */
typedef struct mica_engine mica_engine;

/* An in-order stream of work. Functions that take a queue return when the work is queued, not when it is done, unless
 * they say that they block. */
typedef struct mica_queue mica_queue;

typedef struct mica_engine_config {
  /* Which device. NULL: the environment's MICA_DEVICE, and without that the best one: GPUs before accelerators before
   * CPUs, then the most compute units x clock, then the first listed. Else "gpu", "cpu", "accelerator" (the best of
   * the class), an id such as "0:1", a part of a name or platform, one of several equal parts of a device, counted
   * from 0, such as "0:0/2:1" for the second half of 0:0, or "null": a device made of host memory that accepts
   * everything and runs no kernel, for planning and tests. Letters may be of any case. */
  const char *device;
  /* The directory for compiled kernels and tuning results. NULL: the environment's MICA_CACHE_DIR, else mica/ under
   * XDG_CACHE_HOME or ~/.cache. "": nowhere. A directory that cannot be made or written costs time, never success. */
  const char *cache_dir;
  /* Bytes the compiled kernels may take on disk; the least recently used go first. 0 means 256 MiB. */
  uint64_t cache_bytes;
  /* Tunes: an op that meets a problem for the first time measures its implementations (mica/tune.h), which blocks for
   * about a second, and uses the fastest from then on. */
  bool tune;
  /* The path of the command `mica`. Where it is given, and there is a cache_dir, the kernels that a session lacks are
   * built by several processes at once: this one and, for every other core (7 at most, 3 for a GPU), one of the
   * command, which leaves them in cache_dir and ends. Drivers compile on one core only. NULL: all are built here. A
   * command that cannot be started or fails costs time, never success. Not for an engine on the caller's context, nor
   * with `tune`; with PoCL only together with mica_device_prepare_drivers, or what was built is not what it runs. */
  const char *builder;
  /* Where it is given, it is told how many programs more are being compiled or wait for that, or how many fewer (below
   * 0), and returns at once; their sum is 0 when nothing is compiled. It is called by the thread that compiles, several
   * at once perhaps, and must not call Mica. Programs that are taken from the disk cache are not told. */
  void (*compiling)(void *user, int programs);
  void *compiling_user;
} mica_engine_config;

/* All zeros: every field means its default. */
MICA_API mica_engine_config mica_engine_config_default(void);

/* config may be NULL. Blocks while the driver starts. Any thread may make an engine, the first of the process too.
 *
 * Drivers do not survive a fork. In a child of a process that listed devices or made an engine before, calls that need
 * a driver answer MICA_E_STATE, whether for an engine of the parent's or a new one, and destroying an object frees the
 * host's part of it and waits for nothing; the parent goes on as before. A child that was forked earlier, or that has
 * called exec, is a process like any other.
 *
 * Where the device is lost (a kernel faulted, the driver reset it, it is gone from its bus) the call that finds out and
 * all later ones on the engine answer MICA_E_DEVICE_LOST, without the driver and without waiting; objects are destroyed
 * as ever. What its memory held is gone. Another engine, or another process, may find the device again. */
MICA_API MICA_CHECKED mica_status mica_engine_create(const mica_engine_config *config, mica_engine **engine);

/* Waits for work in flight, writes new compiled kernels to the cache, and releases everything. NULL is a no-op. What
 * was made on it (tensors, queues, sessions, loaders, trainers, runs) is destroyed before, in any order but what their
 * own contracts say; a warning in the log tells of buffers that are left. Where a process ends with engines left, it
 * first waits for what they were given, 30 seconds at most, and releases nothing: drivers whose compiler is at work
 * then would end it by a signal. */
MICA_API void mica_engine_destroy(mica_engine *engine);

/* Valid as long as the engine. */
MICA_API const mica_device_info *mica_engine_device(const mica_engine *engine);

/* The queue that every engine has; do not destroy it. */
MICA_API mica_queue *mica_engine_queue(mica_engine *engine);

/* A further queue of the same engine. Waits for what the engine's own queue has in flight. */
MICA_API MICA_CHECKED mica_status mica_queue_create(mica_engine *engine, mica_queue **queue);
/* Waits for its work. NULL is a no-op. */
MICA_API void mica_queue_destroy(mica_queue *queue);
/* Starts what is queued, without waiting. */
MICA_API MICA_CHECKED mica_status mica_queue_flush(mica_queue *queue);
/* Blocks until all that was queued is done; errors of the device in between surface here. */
MICA_API MICA_CHECKED mica_status mica_queue_finish(mica_queue *queue);

/* Counted since the engine was made. */
#define MICA_STATS_LIST(X)                                                                                             \
  X(kernel_builds, "programs compiled from source")                                                                    \
  X(cache_hits, "programs taken from the disk cache")                                                                  \
  X(cache_stores, "programs written to the disk cache")                                                                \
  X(launches, "kernels started")                                                                                       \
  X(host_waits, "times the host waited for the device")                                                                \
  X(allocations, "buffers asked of the driver")                                                                        \
  X(bytes_in_use, "bytes of live buffers, as rounded by the pool")                                                     \
  X(bytes_peak, "the highest bytes_in_use")                                                                            \
  X(bytes_pooled, "bytes kept for reuse")                                                                              \
  X(bytes_uploaded, "bytes moved to the device")                                                                       \
  X(bytes_downloaded, "bytes moved to the host")

typedef struct mica_stats {
#define MICA_STATS_FIELD(name, text) uint64_t name;
  MICA_STATS_LIST(MICA_STATS_FIELD)
#undef MICA_STATS_FIELD
} mica_stats;

/* Writes the first `bytes` bytes of the counters, and zeros where the library has fewer. */
MICA_API void mica_engine_stats_sized(const mica_engine *engine, mica_stats *stats, size_t bytes);
static inline mica_stats mica_engine_stats(const mica_engine *engine) {
  mica_stats stats;
  mica_engine_stats_sized(engine, &stats, sizeof stats);
  return stats;
}

/* Gives all pooled memory back to the driver. */
MICA_API void mica_engine_trim(mica_engine *engine);

/* The directory of the disk cache in use, "" when there is none. Valid as long as the engine. */
MICA_API const char *mica_engine_cache_dir(const mica_engine *engine);

MICA_END_DECLS

#endif
