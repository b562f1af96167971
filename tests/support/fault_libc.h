/* tests/support/fault_libc.h: the C library failing on purpose, in Mica's code and the test's.
 *
 * The linker puts the functions below in the place of the C library's (--wrap; tests/CMakeLists.txt names the programs
 * that may use this). Allocations are counted, so that a leak shows. A scenario allocates with Mica alone: Check, which
 * is linked statically, would be counted with it. */
#ifndef MICA_TESTS_SUPPORT_FAULT_LIBC_H
#define MICA_TESTS_SUPPORT_FAULT_LIBC_H

#include <mica/status.h>
#include <stdbool.h>

typedef enum fault_kind {
  FAULT_MEMORY = 1, /* malloc, calloc, realloc, aligned_alloc: NULL */
  FAULT_FILES = 2,  /* open, read, write, fsync, rename, mkdir, mmap, fstat, opendir, fopen: EIO */
  FAULT_THREADS = 4 /* pthread_create, pthread_mutex_init, pthread_cond_init: EAGAIN */
} fault_kind;

/* The n-th call from now on of the functions of these kinds fails; n 0 for none. */
void fault_libc_arm(unsigned kinds, unsigned n);
/* The function that failed since then; NULL when none has. */
const char *fault_libc_fired(void);
/* Blocks that were allocated and not freed. */
long fault_libc_live(void);

/* Frees all that it makes, whatever fails. */
typedef mica_status fault_scenario(void *user);

/* Runs the scenario with the n-th call failing, for n = 1, 2, ... until it makes no more calls. Each time it ends in
 * MICA_OK, where it could do without, or in a failure with a sentence (with memory alone: one of memory), and leaks
 * neither memory nor files. Without a failure it ends in MICA_OK. At least so many calls are there to fail. */
void fault_libc_each(unsigned kinds, fault_scenario *run, void *user, unsigned at_least);
/* fault_libc_each for n = first, first + stride, ...: for many scenarios that have most of their calls in common. */
void fault_libc_some(unsigned kinds, unsigned first, unsigned stride, fault_scenario *run, void *user);

#endif
