/* Preloaded by a test: the second device that launches something is lost after LOST_AT launches. LOSE says how:
 * "fail", its launches fail, or "hang", they never come back. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int launch(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, const void *,
                   void *);
typedef int info(void *, unsigned, size_t, void *, size_t *);

#define LOST_AT 3000
#define QUEUE_DEVICE 0x1091
#define OUT_OF_RESOURCES (-5)

static _Atomic(void *) first;
static atomic_int launches;

int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dims, const size_t *offset, const size_t *global,
                           const size_t *local, unsigned waits, const void *list, void *event) {
  static launch *real;
  static info *ask;
  const char *how = getenv("LOSE");
  void *device = NULL, *none = NULL;
  if (!real) real = (launch *)dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel");
  if (!ask) ask = (info *)dlsym(RTLD_NEXT, "clGetCommandQueueInfo");
  ask(queue, QUEUE_DEVICE, sizeof device, &device, NULL);
  atomic_compare_exchange_strong(&first, &none, device);
  if (how && device != first && atomic_fetch_add(&launches, 1) > LOST_AT) {
    if (!strcmp(how, "hang"))
      for (;;) pause();
    return OUT_OF_RESOURCES;
  }
  return real(queue, kernel, dims, offset, global, local, waits, list, event);
}
