/* Preloaded by tests: a driver that ends the process at a kernel of the name END_KERNEL, or where a context is made if
 * that is "context". By abort, or if END_HOW is set by exit. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void end_at(const char *position) {
  const char *wanted = getenv("END_KERNEL");
  if (!wanted || strcmp(wanted, position) != 0) return;
  fputs("\nLLVM ERROR: no fixpoint\nPLEASE submit a bug report\n", stderr);
  if (getenv("END_HOW")) _Exit(3);
  abort();
}

void *clCreateKernel(void *program, const char *name, int *error) {
  static void *(*real)(void *, const char *, int *);
  if (!real) real = (void *(*)(void *, const char *, int *))dlsym(RTLD_NEXT, "clCreateKernel");
  end_at(name);
  return real(program, name, error);
}

void *clCreateContext(const intptr_t *properties, unsigned count, void *const *devices, void *notify, void *user,
                      int *error) {
  static void *(*real)(const intptr_t *, unsigned, void *const *, void *, void *, int *);
  if (!real)
    real = (void *(*)(const intptr_t *, unsigned, void *const *, void *, void *, int *))dlsym(RTLD_NEXT,
                                                                                              "clCreateContext");
  end_at("context");
  return real(properties, count, devices, notify, user, error);
}
