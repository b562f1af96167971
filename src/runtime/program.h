/* runtime/program.h: compiled programs of an engine, in memory and on disk. */
#ifndef MICA_RUNTIME_PROGRAM_H
#define MICA_RUNTIME_PROGRAM_H

#include "base/hash.h"
#include "runtime/build_list.h"
#include "runtime/kernel_desc.h"
#include "runtime/opencl_api.h"

#include <mica/device.h>
#include <pthread.h>

/* A kernel's name, and which of its name it is. */
#define MICA__MAX_ENTRY (MICA__MAX_KERNEL_NAME + 24)

typedef struct mica__program {
  mica__hash key;
  char *key_text;
  char *source, *options; /* kept where a binary must be taken from a twin; else NULL */
  bool shared;            /* its key has lines of kernels */
  cl_program handle;
  /* Which (kernel, group size) pairs have run, and which had when the binary on disk was taken: sets of 64 hash values.
   * Two pairs that share a bit cost a missed refresh, nothing else. */
  _Atomic uint64_t used;
  uint64_t stored;
  size_t stored_bytes; /* of the binary on disk; 0 as long as none was taken or loaded */
  struct mica__program *next;
} mica__program;

#define MICA__PROGRAM_BUCKETS 256

typedef struct mica__programs {
  pthread_mutex_t lock; /* guards this table and that of kernels (runtime/kernel_table.h) */
  mica__program *programs[MICA__PROGRAM_BUCKETS];
} mica__programs;

mica_status mica__programs_init(mica__programs *programs);
void mica__programs_destroy(mica_engine *engine);

/* Decides whether a binary made earlier, by another process or here, is of the program that is wanted. */
mica_status mica__program_key(const mica_engine *engine, const mica__program_request *request, mica__hash *key);
/* Tells mica_engine_config.compiling of so many programs more, or fewer. */
void mica__program_tell(const mica_engine *engine, int programs);
/* Makes the program with all of its machine code, and leaves both in memory and on disk. Blocks while compiling, and
 * tells nobody: the caller has. */
mica_status mica__program_make(mica_engine *engine, const mica__program_request *request);

/* The next two are called with programs.lock held. The first gives the program that was asked for, from memory, disk or
 * the compiler; the second adds it to a list of what is to be built, unless it is in memory or on disk. */
mica_status mica__program_get(mica_engine *engine, const mica__program_request *request, mica__program **program);
mica_status mica__program_note(mica_engine *engine, mica__build_list *list, const mica__program_request *request);

/* Called with programs.lock held: the program with a kernel of this hash (MICA__KERNEL_LINE) that a link of the disk
 * cache knows, and what it calls the kernel. NULL when there is none, or the driver refuses it; a program of the key
 * *refused is not tried, and one that is refused becomes it. */
mica__program *mica__program_with_kernel(mica_engine *engine, mica__hash kernel, mica__hash *refused,
                                         char entry[MICA__MAX_ENTRY]);

/* Drivers such as PoCL make machine code only when a kernel first runs with a group size, so that a binary taken right
 * after the build would hold none. Launches note in `used` what has run (mica__kernel_ran). mica__programs_store,
 * called when the device is idle anyway, writes the binaries of programs that have run and are not on disk yet;
 * mica__programs_store_last, called when the engine ends, also those that gained code since. */
void mica__programs_store(mica_engine *engine);
void mica__programs_store_last(mica_engine *engine);

#endif
