/* mica/device.h: devices of this machine, and engines. An engine owns one device.
 *
 * Threads: several threads may call functions of one engine or one queue. A queue executes work in the order of the
 * calls. Tensors, sessions, networks and trainers are created on the engine's own queue. mica_tensor_download and
 * mica_tensor_map lock their queue while they wait for the device; meanwhile, calls of other threads on this queue
 * block. Threads that should work in parallel need a queue each. Call mica_device_prepare_drivers while the process has
 * one thread. */
#ifndef MICA_DEVICE_H
#define MICA_DEVICE_H

#include <mica/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* Class of a device. Kernels are written in two forms. CPU: a work-group has one work-item, which keeps tiles in
 * registers. GPU, also for accelerators: the work-items of a group share tiles through local memory. NULL: a device
 * that runs nothing, see mica_engine_config.device. */
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

/* Maker of the hardware; selects default parameters and vendor-specific kernels. */
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

/* Optional features that Mica can use: name, and the extension that announces it. */
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

/* Description of a device. Long texts are cut; sizes are in bytes. New fields are added at the end. */
typedef struct mica_device_info {
  char id[16]; /* selects the device: "0:1" is device 1 of platform 0 (counting platforms with devices); or "null" */
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
  uint64_t max_buffer_bytes; /* largest single allocation */
  uint64_t local_bytes;      /* local memory that a work-group may use */
  bool local_is_fast;        /* local memory is separate hardware, not a part of global memory */
  bool unified_memory;       /* host and device share memory; mapping does not copy */
  size_t max_group;          /* maximum work-items per work-group */
  size_t max_group_dim[3];
  /* size of a work-item's vector register: 64 with AVX-512, 4 on most GPUs; at most 32 on CPUs with 32-bit addresses,
   * which have few registers */
  uint32_t vector_bytes;
  uint32_t subgroup_min;       /* smallest subgroup size that a kernel may require; 0: none */
  uint32_t compute_capability; /* NVIDIA: major * 10 + minor, such as 80; else 0 */
  uint32_t align_bytes;        /* alignment of a sub-buffer */
  uint32_t address_bits;
  bool has_compiler; /* false: the device runs only the kernels of a bundle (mica/bundle.h) */
  /* Limits of images that are created from buffers, in pixels of four elements. Some kernels read weights through such
   * images, to use the texture cache. The limits are 0 on devices that are not known to gain by it; see MICA_TEXTURES
   * in docs/configuration.md. */
  uint64_t texture_length; /* maximum length of one-dimensional images */
  uint32_t texture_width;  /* width of two-dimensional images, a power of two; 0: do not use them */
  uint32_t texture_height; /* maximum height of two-dimensional images */
} mica_device_info;

/* Names such as "gpu" and "NVIDIA"; "?" for any other value. Constant strings. */
MICA_API const char *mica_device_class_name(mica_device_class device_class);
MICA_API const char *mica_vendor_name(mica_vendor vendor);

/* Lists the devices in the order of the drivers. Writes at most `capacity` elements; infos may be NULL if capacity is
 * 0. *count receives the number of all devices that Mica can use. Platforms without devices, and devices that are
 * unavailable, big-endian or cannot be described, are skipped. Without OpenCL, *count is 0 and the status MICA_OK. The
 * null device is not listed. */
static inline MICA_CHECKED mica_status mica_device_list(mica_device_info *infos, size_t capacity, size_t *count);

/* Finds the device that a selector names; see mica_engine_config.device. MICA_E_NO_DEVICE: no device matches; the
 * message lists the devices. */
static inline MICA_CHECKED mica_status mica_device_find(const char *selector, mica_device_info *info);

/* The functions that mica_device_list and mica_device_find call. info_bytes is sizeof(mica_device_info) when the
 * program was compiled. The library cuts its structure to this size, or pads it with zeros. */
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

/* Sets environment variables that make drivers for CPUs faster. Call it in programs that have the machine to
 * themselves. Variables that are already set keep their values. Measurements are in tests/bench/RESULTS.md.
 *
 *   POCL_AFFINITY=1                    binds each PoCL thread to a core. On few cores, the system may otherwise run a
 *                                      thread on the core of the thread that wakes it, so that a kernel of half a
 *                                      millisecond ends before the second core joins. Not set if the process may use
 *                                      only some of the cores, because PoCL does not know which
 *   POCL_WORK_GROUP_SPECIALIZATION=0   PoCL compiles a kernel once, instead of once per launch shape and again for the
 *                                      binary that Mica stores. This halves the time of the first start
 *   POCL_MAX_PTHREAD_COUNT             number of PoCL threads, set instead of POCL_AFFINITY in two cases. If Open MPI
 *                                      started several ranks on this machine, it is the number of cores that the rank
 *                                      may use, or its share of all cores. If a container limits CPU time (cgroups),
 *                                      it is at most that limit, or the rank's share of it, in whole cores
 *
 * Call it before any other function of Mica or OpenCL, while the process has one thread. */
MICA_API void mica_device_prepare_drivers(void);

/* An engine owns one device with its context, memory pool, compiled kernels and profile. Destroy everything created
 * from an engine before it. */
typedef struct mica_engine mica_engine;

/* An in-order stream of work. Functions that take a queue return once the work is queued, unless they say that they
 * block. */
typedef struct mica_queue mica_queue;

typedef struct mica_engine_config {
  /* Device to use:
   *
   *   NULL                      the environment variable MICA_DEVICE, else the best device: devices with a compiler
   *                             first, then GPUs before accelerators before CPUs, then the largest product of compute
   *                             units and clock, then the first one
   *   "gpu", "cpu", ...         the best device of this class, also "accelerator"
   *   "0:1"                     the device with this id
   *   part of a name            the best device with this text in its own name or its platform's name
   *   "0:0/2:1"                 one of several equal parts of a device, counted from 0: here the second half of 0:0
   *   "null"                    a device in host memory that accepts everything and runs no kernel, for planning and
   *                             tests
   *
   * Case does not matter. */
  const char *device;
  /* Directory for compiled kernels and tuning results. NULL: the environment variable MICA_CACHE_DIR, else mica/ below
   * XDG_CACHE_HOME or ~/.cache (Windows: below LOCALAPPDATA); if none is set, no directory. "": no directory. If
   * the directory cannot be created or written, kernels are compiled in each process; nothing fails. */
  const char *cache_dir;
  /* Path of a bundle, from which the engine takes kernels before it compiles any (mica/bundle.h). NULL: the environment
   * variable MICA_BUNDLE, else none. "": none. An engine on a device without a compiler needs one. Creation fails with
   * MICA_E_STATE if the bundle is for another device, driver or version of Mica, or if other users can write it; with
   * MICA_E_FORMAT if it is damaged. The null device ignores the content. If device is NULL and MICA_DEVICE is not set,
   * the bundle's device is used. */
  const char *bundle;
  /* Maximum size of the directory in bytes; least recently used kernels are deleted first. 0: 256 MiB. */
  uint64_t cache_bytes;
  /* Tunes kernels: when an op meets a problem for the first time, it measures its implementations (mica/tune.h) and
   * uses the fastest from then on. A measurement blocks for about a second. */
  bool tune;
  /* Path of the command `mica`, to compile in parallel; drivers compile on one core only. With a cache_dir, the kernels
   * that a session lacks are built by this process and by one `mica` process per further core (at most 7, for a GPU 3).
   * These store their results in cache_dir and exit. If the command cannot start or fails, this process builds
   * everything. NULL: no further processes. Ignored for engines on the caller's context and with `tune`. With PoCL, use
   * it only together with mica_device_prepare_drivers; else the stored kernels are not the ones that this process runs.
   */
  const char *builder;
  /* Callback for progress of compilation; may be NULL. `programs` is the change in the number of programs that are
   * being compiled or wait to be compiled; the sum is 0 when nothing compiles. Programs from the disk cache do not
   * count. Compiling threads call it, possibly several at once. It must return at once and must not call Mica. */
  void (*compiling)(void *user, int programs);
  void *compiling_user;
  /* Maximum bytes that the engine's buffers take together; mica_device_info then has at most this many global_bytes
   * and max_buffer_bytes. An allocation beyond it fails with MICA_E_DEVICE_MEMORY; the message has both sizes. Set it
   * for untrusted files: a small ONNX file can ask for any amount. 0, or above the device's memory: the device's
   * memory. */
  uint64_t memory_bytes;
  /* Callback for a program that is in use but could not be written to cache_dir; may be NULL. `reason` says why, and is
   * valid during the call. It is called at most once per program, also from mica_engine_destroy, with locks of the
   * engine held: it must return at once and must not call Mica. */
  void (*not_kept)(void *user, const char *reason);
  void *not_kept_user;
} mica_engine_config;

/* Returns a configuration of zeros, in which every field means its default. */
MICA_API mica_engine_config mica_engine_config_default(void);

/* Creates an engine. config may be NULL. Blocks while the driver starts. Any thread may call it, including for the
 * first engine of a process.
 *
 * fork. Drivers do not survive a fork. If a process forks after it listed devices or created an engine, calls in the
 * child that need a driver return MICA_E_STATE. This holds for engines of the parent and for new ones. In the child,
 * destroying an object frees host memory and does not wait. The parent continues as before. A child that was forked
 * earlier, or has called exec, is not affected.
 *
 * Lost devices. A device is lost if a kernel faults, the driver resets it, or it disappears. The call that notices, and
 * all later ones that need the device, return MICA_E_DEVICE_LOST at once. Objects can still be destroyed. The contents
 * of device memory are lost. Another engine, or another process, may be able to use the device again. */
MICA_API MICA_CHECKED mica_status mica_engine_create(const mica_engine_config *config, mica_engine **engine);

/* Waits for work in flight, writes new kernels to the cache, and releases everything. NULL is a no-op. Destroy tensors,
 * queues, sessions, loaders, trainers and runs of the engine first, in any order that their contracts allow; the log
 * gets a warning about remaining buffers. If a process exits without destroying its engines, it waits up to 30 seconds
 * for their work and releases nothing. Drivers whose compiler is running would otherwise crash. */
MICA_API void mica_engine_destroy(mica_engine *engine);

/* Returns the description of the engine's device. The engine owns it. */
MICA_API const mica_device_info *mica_engine_device(const mica_engine *engine);

/* The engine's own queue; do not destroy it. */
MICA_API mica_queue *mica_engine_queue(mica_engine *engine);

/* Creates another queue of the engine. Blocks until work in flight on the engine's own queue is done. */
MICA_API MICA_CHECKED mica_status mica_queue_create(mica_engine *engine, mica_queue **queue);
/* Waits for the queue's work, then destroys it. NULL is a no-op. */
MICA_API void mica_queue_destroy(mica_queue *queue);
/* Starts queued work without waiting. */
MICA_API MICA_CHECKED mica_status mica_queue_flush(mica_queue *queue);
/* Blocks until all queued work is done. Returns errors of the device since the last wait. */
MICA_API MICA_CHECKED mica_status mica_queue_finish(mica_queue *queue);

/* Counters since the engine was created. */
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

/* Writes the counters to *stats, which has `bytes` bytes: sizeof(mica_stats) when the program was compiled. Counters
 * that do not fit are left out; counters that the library does not have are set to 0. */
MICA_API void mica_engine_stats_sized(const mica_engine *engine, mica_stats *stats, size_t bytes);
static inline mica_stats mica_engine_stats(const mica_engine *engine) {
  mica_stats stats;
  mica_engine_stats_sized(engine, &stats, sizeof stats);
  return stats;
}

/* Returns all pooled memory to the driver. */
MICA_API void mica_engine_trim(mica_engine *engine);

/* Returns the directory of the disk cache; "" if the engine has no cache. The engine owns the text. */
MICA_API const char *mica_engine_cache_dir(const mica_engine *engine);

MICA_END_DECLS

#endif
