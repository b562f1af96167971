/* runtime/kernel_table.h: the kernel objects of an engine, by a hash of what they were made from. */
#ifndef MICA_RUNTIME_KERNEL_TABLE_H
#define MICA_RUNTIME_KERNEL_TABLE_H

#include "runtime/kernel_desc.h"
#include "runtime/program.h"

typedef struct mica_kernel {
  mica__program *program;
  cl_kernel handle;
  pthread_mutex_t lock; /* the kernel object holds the arguments: setting them and starting must not interleave */
  char name[MICA__MAX_KERNEL_NAME + 1];
  char entry[MICA__MAX_ENTRY]; /* the kernel's name in the program */
  mica__hash key;              /* a hash of everything that the kernel was made from */
  const char *file;            /* a file of cl/; NULL if the kernel was made from a text */
  char *prelude;               /* the text before the file; may be NULL */
  bool generated;              /* `prelude` is the whole text, in which includes of cl/ are not yet replaced */
  char *options;
  size_t max_group;
  bool declares_group; /* the kernel states its group size by reqd_work_group_size */
  cl_uint arg_count;   /* MICA__ANY_ARGS on the null device, which does not look at kernels */
  bool ran;
  size_t last_group[3]; /* the work-group of the last launch */
  struct mica_kernel *next;
} mica__kernel;

#define MICA__ANY_ARGS ((cl_uint)-1)

#define MICA__KERNEL_BUCKETS 256

/* Guarded by the lock of mica__programs. */
typedef struct mica__kernels {
  mica__kernel *kernels[MICA__KERNEL_BUCKETS];
} mica__kernels;

void mica__kernels_destroy(mica_engine *engine);

/* MICA_E_INVALID if the name has more than MICA__MAX_KERNEL_NAME characters. */
mica_status mica__kernel_check_name(const char *name);

/* The engine's kernel with this key, or NULL. */
mica__kernel *mica__kernel_find_key(mica_engine *engine, mica__hash key);

/* Gets the kernel `name` of the program made from prelude (may be NULL) and file (may be NULL) with these options;
 * compiles it if needed. key identifies all of these. label is the program's name in messages. While the thread has an
 * open list, returns mica__kernel_placeholder instead of compiling. */
mica_status mica__kernel_find(mica_engine *engine, mica__hash key, const char *name, const char *label,
                              const char *file, const char *prelude, const char *options, mica__kernel **kernel);

/* While the thread has an open list (runtime/build_list.h), requests for kernels compile nothing and return this
 * kernel. It can be packed into launches, but must not be started. */
mica__kernel *mica__kernel_placeholder(void);

/* A kernel of a program, with what mica__kernel_text needs to know about it. */
typedef struct mica__kernel_origin {
  mica__hash key;
  const char *name, *entry, *file, *prelude, *options;
  bool generated;
} mica__kernel_origin;

/* The caller of these two must hold the lock of mica__programs. mica__kernel_lookup returns the kernel with this key,
 * or NULL. mica__kernel_make makes a new one; `kernel` may be NULL if the caller does not need it. */
mica__kernel *mica__kernel_lookup(const mica_engine *engine, mica__hash key);
mica_status mica__kernel_make(mica_engine *engine, mica__program *program, const mica__kernel_origin *origin,
                              mica__kernel **kernel);

/* Notes that the kernel ran with groups of this size; called with the kernel's lock held. */
void mica__kernel_ran(mica__kernel *kernel, const size_t group[3]);

#endif
