/* runtime/program.h: compiled programs of an engine, in memory and on disk. */
#ifndef MICA_RUNTIME_PROGRAM_H
#define MICA_RUNTIME_PROGRAM_H

#include "base/hash.h"
#include "runtime/build_list.h"
#include "runtime/kernel_desc.h"
#include "runtime/opencl_api.h"

#include <mica/device.h>
#include <pthread.h>

/* Room for a kernel's name in a program: its own, and a number if the name occurs more than once. */
#define MICA__MAX_ENTRY (MICA__MAX_KERNEL_NAME + 24)

typedef struct mica__program {
  mica__hash key;
  char *key_text;
  char *source, *options; /* kept if a binary must be read from a second program made from them (take_twins_binary);
                           * else NULL */
  bool shared;            /* its key has lines that offer kernels */
  cl_program handle;
  /* used: the (kernel, group size) pairs that have run; stored: those that had when the binary on disk was read. Both
   * are sets of 64 hash values. If two pairs share a bit, the only effect is that a binary is not refreshed. */
  _Atomic uint64_t used;
  uint64_t stored;
  size_t stored_bytes; /* of the binary on disk; 0 before one is read or loaded */
  struct mica__program *next;
} mica__program;

#define MICA__PROGRAM_BUCKETS 256

typedef struct mica__programs {
  pthread_mutex_t lock; /* guards this table and the kernels' (runtime/kernel_table.h) */
  mica__program *programs[MICA__PROGRAM_BUCKETS];
} mica__programs;

mica_status mica__programs_init(mica__programs *programs);
void mica__programs_destroy(mica_engine *engine);

/* Computes the key, which decides whether a binary made earlier, here or by another process, belongs to the request. */
mica_status mica__program_key(const mica_engine *engine, const mica__program_request *request, mica__hash *key);
/* Tells mica_engine_config.compiling that this many programs are added, or done if negative. */
void mica__program_tell(const mica_engine *engine, int programs);
/* Makes the program with all its machine code, and keeps it in memory and on disk. Blocks while compiling, and does not
 * call mica_engine_config.compiling: the caller does. */
mica_status mica__program_make(mica_engine *engine, const mica__program_request *request);

/* Call the next two with programs.lock held. The first gets the requested program from memory, disk or the compiler.
 * The second adds it to a list of programs to build, unless it is in memory or on disk. */
mica_status mica__program_get(mica_engine *engine, const mica__program_request *request, mica__program **program);
mica_status mica__program_note(mica_engine *engine, mica__build_list *list, const mica__program_request *request);

/* Call this with programs.lock held. Finds a program whose kernel has this hash (MICA__KERNEL_LINE), through a link of
 * the disk cache; entry receives the kernel's name in it. NULL: none, or the driver refuses it. A program
 * with the key *refused is not tried, and a refused program's key is stored there. */
mica__program *mica__program_with_kernel(mica_engine *engine, mica__hash kernel, mica__hash *refused,
                                         char entry[MICA__MAX_ENTRY]);

/* Drivers such as PoCL make machine code only when a kernel first runs with a group size, so a binary read right after
 * the build would have none. Launches note in `used` what has run (mica__kernel_ran). mica__programs_store, called when
 * the device is idle anyway, writes the binaries of programs that have run and are not on disk yet.
 * mica__programs_store_last, called when the engine ends, also writes those that have gained code since. */
void mica__programs_store(mica_engine *engine);
void mica__programs_store_last(mica_engine *engine);

#endif
