#include "runtime/build_ahead.h"

#include "base/error.h"
#include "runtime/builder.h"
#include "runtime/drivers.h"
#include "runtime/kernel_desc.h"
#include "runtime/objects.h"
#include "runtime/program.h"

/* The most builder processes at a time. Each needs some 150 MB with PoCL, and on a GPU also a context in the GPU's
 * memory. More processes would gain little, because the program that takes longest to build takes the same time. */
#define MAX_BUILDERS 7
#define MAX_BUILDERS_ON_GPU 3

bool mica__builds_ahead(const mica_engine *engine) {
  return *engine->builder && !engine->tunes && *engine->cache_dir && *engine->device.info.id &&
         engine->device.info.device_class != MICA_DEVICE_CLASS_NULL;
}

typedef struct crew {
  mica_engine *engine;
  const mica__build_list *list;
  atomic_size_t next;
} crew;

static const mica__build_item *take(crew *c) {
  size_t i = atomic_fetch_add(&c->next, 1);
  return i < c->list->count ? &c->list->items[i] : NULL;
}

/* A thread that lets another process build programs of the list, until all are taken. If the process fails, the
 * program that it took is built later, when it is asked for. */
static void *build_elsewhere(void *arg) {
  crew *c = arg;
  mica__builder builder;
  if (!mica__builder_start(&builder, c->engine)) return NULL;
  for (const mica__build_item *item; (item = take(c));) {
    const bool serves = mica__builder_make(&builder, item);
    mica__program_tell(c->engine, -1);
    if (!serves) break;
  }
  mica__builder_stop(&builder);
  return NULL;
}

static void build_here(crew *c) {
  for (const mica__build_item *item; (item = take(c));) {
    mica__attempt_begin();
    mica__program_make(c->engine, &item->request);
    mica__attempt_end();
    mica__program_tell(c->engine, -1);
  }
}

void mica__build_ahead(mica_engine *engine, const mica__build_list *list) {
  crew c = {.engine = engine, .list = list};
  pthread_t threads[MAX_BUILDERS];
  size_t cores = mica__usable_cores(), wanted = list->count < cores ? list->count : cores, count = 0;
  size_t most = mica__kernel_class(&engine->device.info) == MICA__ON_GPU ? MAX_BUILDERS_ON_GPU : MAX_BUILDERS;
  mica__program_tell(engine, (int)list->count);
  while (count + 1 < wanted && count < most && !pthread_create(&threads[count], NULL, build_elsewhere, &c)) count++;
  build_here(&c);
  for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
}
