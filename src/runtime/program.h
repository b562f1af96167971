/* runtime/program.h: compiled programs of an engine, in memory and on disk. */
#ifndef MICA_RUNTIME_PROGRAM_H
#define MICA_RUNTIME_PROGRAM_H

#include "base/hash.h"
#include "runtime/build_list.h"
#include "runtime/kernel_desc.h"
#include "runtime/opencl_api.h"

#include <mica/device.h>
#include <pthread.h>

/* Bytes for a kernel's name in a program: the kernel's name, followed by a number if the name occurs more than once. */
#define MICA__MAX_ENTRY (MICA__MAX_KERNEL_NAME + 24)

typedef struct mica__program {
  mica__hash key;
  char *key_text;
  char *source, *options; /* only for PoCL (take_twins_binary); NULL for other platforms */
  bool shared;            /* its key has a MICA__KERNEL_LINE for each kernel */
  cl_program handle;
  /* Sets of (kernel, group size) pairs, each as a hash value from 0 to 63. `used` has the pairs that have run, `stored`
   * those pairs that had run when the binary on disk was read. If two pairs have the same hash value, the only effect
   * is that a binary is not refreshed. */
  _Atomic uint64_t used;
  uint64_t stored;
  size_t stored_bytes; /* of the last binary read from the driver or loaded; 0 if there was none */
  struct mica__program *next;
} mica__program;

#define MICA__PROGRAM_BUCKETS 256

typedef struct mica__programs {
  pthread_mutex_t lock; /* guards this table and the kernels' (runtime/kernel_table.h) */
  mica__program *programs[MICA__PROGRAM_BUCKETS];
} mica__programs;

mica_status mica__programs_init(mica__programs *programs);
void mica__programs_destroy(mica_engine *engine);

/* Computes the key of a request. A binary made earlier, here or by another process, is used if it has the same key. */
mica_status mica__program_key(const mica_engine *engine, const mica__program_request *request, mica__hash *key);
/* Calls mica_engine_config.compiling: with a positive number when that many programs begin to be compiled, and with a
 * negative number when that many are done. */
void mica__program_tell(const mica_engine *engine, int programs);
/* Makes the program with all its machine code, and keeps it in memory and, if the engine stores programs, on disk.
 * Blocks while compiling, and does not call mica_engine_config.compiling: the caller does. */
mica_status mica__program_make(mica_engine *engine, const mica__program_request *request);

/* Call the next two with programs.lock held. mica__program_get gets the requested program from memory, the engine's
 * bundle, the disk cache or the compiler. mica__program_note adds the request to a list of programs to build, unless
 * the program is in one of the first three. */
mica_status mica__program_get(mica_engine *engine, const mica__program_request *request, mica__program **program);
mica_status mica__program_note(mica_engine *engine, mica__build_list *list, const mica__program_request *request);

/* Call this with programs.lock held. Finds a program that has the kernel with this hash (MICA__KERNEL_LINE): in the
 * engine's bundle, or by a link of the disk cache. Sets `entry` to the kernel's name in the program. NULL if no program
 * has the kernel, or if the driver refuses the program. In the second case, *refused becomes the program's key. A
 * program with the key *refused is not tried again. */
mica__program *mica__program_with_kernel(mica_engine *engine, mica__hash kernel, mica__hash *refused,
                                         char entry[MICA__MAX_ENTRY]);

/* Drivers such as PoCL make machine code only when a kernel first runs with a group size, so a binary read right after
 * the build would have none. So each launch records in `used` that the kernel ran (mica__kernel_ran), and binaries are
 * written later.
 *
 * mica__programs_store is called when the device is idle anyway. It writes the binaries of programs that have run and
 * are not on disk yet. mica__programs_store_last is called when the engine ends. It also writes again the binaries of
 * programs for which the driver has made more code since they were written. */
void mica__programs_store(mica_engine *engine);
void mica__programs_store_last(mica_engine *engine);

#endif
