#include "support/fault_libc.h"

#include "support/check_main.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned armed;        /* kinds */
static atomic_uint remaining; /* calls until the one that fails; 0 for none */
static _Atomic(const char *) failed;
static atomic_long live;

static bool fails(fault_kind kind, const char *name) {
  if (!(armed & kind) || atomic_load(&remaining) == 0 || atomic_fetch_sub(&remaining, 1) != 1) return false;
  atomic_store(&failed, name);
  return true;
}

/* Functions that answer `bad` and set errno, or answer the error itself. */
#define WRAP(kind, type, name, parameters, arguments, bad)                                                             \
  type __real_##name parameters;                                                                                       \
  type __wrap_##name parameters;                                                                                       \
  type __wrap_##name parameters {                                                                                      \
    if (!fails(kind, #name)) return __real_##name arguments;                                                           \
    errno = EIO;                                                                                                       \
    return bad;                                                                                                        \
  }
#define WRAP_MEMORY(name, parameters, arguments)                                                                       \
  void *__real_##name parameters;                                                                                      \
  void *__wrap_##name parameters;                                                                                      \
  void *__wrap_##name parameters {                                                                                     \
    void *made = fails(FAULT_MEMORY, #name) ? NULL : __real_##name arguments;                                          \
    if (made) atomic_fetch_add(&live, 1);                                                                              \
    return made;                                                                                                       \
  }
WRAP_MEMORY(malloc, (size_t n), (n))
WRAP_MEMORY(calloc, (size_t n, size_t size), (n, size))
WRAP_MEMORY(aligned_alloc, (size_t alignment, size_t n), (alignment, n))

void *__real_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n);
void *__wrap_realloc(void *old, size_t n) {
  void *made = fails(FAULT_MEMORY, "realloc") ? NULL : __real_realloc(old, n);
  if (made && !old) atomic_fetch_add(&live, 1);
  return made;
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
  if (memory) atomic_fetch_sub(&live, 1);
  __real_free(memory);
}

WRAP(FAULT_FILES, ssize_t, read, (int file, void *to, size_t n), (file, to, n), -1)
WRAP(FAULT_FILES, ssize_t, write, (int file, const void *from, size_t n), (file, from, n), -1)
WRAP(FAULT_FILES, int, fsync, (int file), (file), -1)
WRAP(FAULT_FILES, int, rename, (const char *from, const char *to), (from, to), -1)
WRAP(FAULT_FILES, int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
WRAP(FAULT_FILES, void *, mmap, (void *at, size_t n, int may, int flags, int file, off_t from),
     (at, n, may, flags, file, from), MAP_FAILED)
WRAP(FAULT_FILES, int, fstat, (int file, struct stat *about), (file, about), -1)
WRAP(FAULT_FILES, DIR *, opendir, (const char *path), (path), NULL)
WRAP(FAULT_FILES, FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
WRAP(FAULT_THREADS, int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *), void *user),
     (thread, attributes, run, user), EAGAIN)
WRAP(FAULT_THREADS, int, pthread_mutex_init, (pthread_mutex_t * mutex, const pthread_mutexattr_t *attributes),
     (mutex, attributes), EAGAIN)
WRAP(FAULT_THREADS, int, pthread_cond_init, (pthread_cond_t * condition, const pthread_condattr_t *attributes),
     (condition, attributes), EAGAIN)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  if (!fails(FAULT_FILES, "open")) return __real_open(path, flags, mode);
  errno = EIO;
  return -1;
}

void fault_libc_arm(unsigned kinds, unsigned n) {
  atomic_store(&failed, NULL);
  armed = kinds;
  atomic_store(&remaining, n);
}

const char *fault_libc_fired(void) { return atomic_load(&failed); }

long fault_libc_live(void) { return atomic_load(&live); }

/* Descriptors below 256 that are open. One call asks for all of them: it is made twice a failure. */
static int open_files(void) {
  struct pollfd files[256];
  int count = 0;
  for (int file = 0; file < 256; file++) files[file] = (struct pollfd){.fd = file};
  if (poll(files, 256, 0) < 0) ck_abort_msg("poll");
  for (int file = 0; file < 256; file++) count += !(files[file].revents & POLLNVAL);
  return count;
}

static bool is_of_memory(mica_status status) { return status == MICA_E_NOMEM || status == MICA_E_DEVICE_MEMORY; }

static unsigned each(unsigned kinds, unsigned first, unsigned stride, fault_scenario *run, void *user) {
  if (TEST_RACES_ALONE && kinds == FAULT_MEMORY) stride *= 8;
  fault_libc_arm(0, 0);
  mica_status status = run(user); /* what lasts as long as the process is made here */
  ck_assert_msg(status == MICA_OK, "%s", mica_error_message());
  unsigned n = first;
  for (;; n += stride) {
    const long before = fault_libc_live();
    const int files = open_files();
    fault_libc_arm(kinds, n);
    status = run(user);
    const char *name = fault_libc_fired();
    fault_libc_arm(0, 0);
    ck_assert_msg(fault_libc_live() == before, "%s, call %u: %ld blocks leak", name ? name : "nothing failed", n,
                  fault_libc_live() - before);
    ck_assert_msg(open_files() == files, "%s, call %u: %d files stay open", name ? name : "nothing failed", n,
                  open_files() - files);
    if (!name) break;
    ck_assert_msg(status == MICA_OK || kinds != FAULT_MEMORY || is_of_memory(status), "%s, call %u: %s, %s", name, n,
                  mica_status_name(status), mica_error_message());
    if (status != MICA_OK) ck_assert_msg(strlen(mica_error_message()) > 10, "%s, call %u: no sentence", name, n);
  }
  ck_assert_msg(status == MICA_OK, "%s", mica_error_message());
  return n;
}

void fault_libc_each(unsigned kinds, fault_scenario *run, void *user, unsigned at_least) {
  ck_assert_uint_gt(each(kinds, 1, 1, run, user), at_least);
}

void fault_libc_some(unsigned kinds, unsigned first, unsigned stride, fault_scenario *run, void *user) {
  each(kinds, first, stride, run, user);
}
