/* runtime/program.h: compiled programs of an engine, in memory and on disk. */
#ifndef MICA_RUNTIME_PROGRAM_H
#define MICA_RUNTIME_PROGRAM_H

#include "base/hash.h"
#include "runtime/build_list.h"
#include "runtime/kernel.h"
#include "runtime/opencl_api.h"

#include <pthread.h>

typedef struct mica__program {
  mica__hash key;
  char *key_text;
  char *source, *options; /* kept where a binary must be taken from a twin; else NULL */
  cl_program handle;
  /* Which (kernel, group size) pairs have run, and which had when the binary on disk was taken: sets of 64 hash values.
   * Two pairs that share a bit cost a missed refresh, nothing else. */
  _Atomic uint64_t used;
  uint64_t stored;
  size_t stored_bytes; /* of the binary on disk; 0 as long as none was taken or loaded */
  struct mica__program *next;
} mica__program;

/* A kernel's name, and which of its name it is. */
#define MICA__MAX_ENTRY (MICA__MAX_KERNEL_NAME + 24)

struct mica_kernel {
  mica__program *program;
  cl_kernel handle;
  pthread_mutex_t lock; /* arguments belong to the kernel object: setting them and starting must not interleave */
  char name[MICA__MAX_KERNEL_NAME + 1];
  char entry[MICA__MAX_ENTRY]; /* what the program calls it */
  mica__hash key;              /* of all that was asked for */
  const char *file;            /* of cl/; NULL for a text of its own */
  char *prelude;               /* the text before it; may be NULL */
  bool generated;              /* the text includes files */
  char *options;
  size_t max_group;
  cl_uint arg_count; /* MICA__ANY_ARGS on the null device, which does not read kernels */
  bool ran;
  size_t last_group[3]; /* of the last launch */
  mica__kernel *next;
};

#define MICA__ANY_ARGS ((cl_uint)-1)

#define MICA__PROGRAM_BUCKETS 256

typedef struct mica__programs {
  pthread_mutex_t lock;
  mica__program *programs[MICA__PROGRAM_BUCKETS];
  mica__kernel *kernels[MICA__PROGRAM_BUCKETS]; /* by program key */
} mica__programs;

mica_status mica__programs_init(mica__programs *programs);
void mica__programs_destroy(mica_engine *engine);

/* Decides whether a binary made earlier, by another process or here, is of the program that is wanted. */
mica_status mica__program_key(const mica_engine *engine, const mica__program_request *request, mica__hash *key);
/* What requests for kernels return while the thread has a list open (runtime/build_list.h): fit to be packed into
 * launches. */
mica__kernel *mica__kernel_promise(void);
/* Makes the program with all of its machine code, and leaves both in memory and on disk. Blocks while compiling. */
mica_status mica__program_make(mica_engine *engine, const mica__program_request *request);

/* The kernel `name` of the program made of prelude (may be NULL) and file (may be NULL) with these options; key
 * identifies all of these. label names the program to people. */
mica_status mica__kernel_find(mica_engine *engine, mica__hash key, const char *name, const char *label,
                              const char *file, const char *prelude, const char *options, mica__kernel **kernel);

/* NULL when the engine has no kernel of this key. */
mica__kernel *mica__kernel_find_key(mica_engine *engine, mica__hash key);

/* What the program made of a bundle calls its kernel i, and its source. */
void mica__kernel_bundle_entry(const mica__kernel_bundle *bundle, size_t i, char entry[MICA__MAX_ENTRY]);
mica_status mica__kernel_bundle_source(const mica__kernel_bundle *bundle, mica__text *source);

/* Drivers such as PoCL make machine code only when a kernel first runs with a group size, so that a binary taken right
 * after the build would hold none. A launch, holding the kernel's lock, reports its group here. mica__programs_store,
 * called when the device is idle anyway, writes the binaries of programs that have run and are not on disk yet;
 * mica__programs_store_last, called when the engine ends, also those that gained code since. */
void mica__program_used(mica__kernel *kernel, const size_t group[3]);
void mica__programs_store(mica_engine *engine);
void mica__programs_store_last(mica_engine *engine);

#endif
