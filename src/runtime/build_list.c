#include "runtime/build_list.h"

#include "base/text.h"
#include "runtime/builder.h"
#include "runtime/engine.h"

#include <stdlib.h>

/* Each needs some 150 MB with PoCL, and on a GPU a context in its memory; the longest program bounds what more of them
 * gain. */
#define MAX_BUILDERS 7
#define MAX_BUILDERS_ON_GPU 3

static _Thread_local mica__build_list *open_list;

bool mica__builds_ahead(const mica_engine *engine) {
  return *engine->builder && !engine->tunes && *engine->cache_dir && *engine->device.info.id &&
         engine->device.info.device_class != MICA_CLASS_NULL;
}

void mica__build_list_begin(mica__build_list *list) {
  *list = (mica__build_list){0};
  list->promise.arg_count = MICA__ANY_ARGS;
  list->promise.max_group = SIZE_MAX;
  open_list = list;
}

void mica__build_list_end(void) { open_list = NULL; }

mica__build_list *mica__build_list_open(void) { return open_list; }

static void free_item(mica__build_item *item) {
  const mica__program_request *r = &item->request;
  free((char *)r->name);
  free((char *)r->label);
  free((char *)r->source);
  free((char *)r->options);
}

void mica__build_list_free(mica__build_list *list) {
  for (size_t i = 0; i < list->count; i++) free_item(&list->items[i]);
  free(list->items);
  *list = (mica__build_list){0};
}

mica_status mica__build_list_add(mica__build_list *list, mica_engine *engine, const mica__program_request *request) {
  mica__hash key;
  MICA_TRY(mica__program_key(engine, request, &key));
  for (size_t i = 0; i < list->count; i++)
    if (mica__hash_equal(list->items[i].key, key)) return MICA_OK;
  if (mica__program_is_known(engine, key)) return MICA_OK;
  mica__build_item *grown = realloc(list->items, (list->count + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a list of programs");
  list->items = grown;
  mica__build_item item = {key,
                           {mica__strdup(request->name), mica__strdup(request->label), mica__strdup(request->source),
                            mica__strdup(request->options)}};
  const mica__program_request *r = &item.request;
  if (!r->name || !r->label || !r->source || !r->options) {
    free_item(&item);
    return mica__fail_nomem("a list of programs");
  }
  list->items[list->count++] = item;
  return MICA_OK;
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

/* What a process that fails had taken is built when it is asked for. */
static void *build_elsewhere(void *arg) {
  crew *c = arg;
  mica__builder builder;
  if (!mica__builder_start(&builder, c->engine)) return NULL;
  for (const mica__build_item *item; (item = take(c));)
    if (!mica__builder_make(&builder, item)) break;
  mica__builder_stop(&builder);
  return NULL;
}

static void build_here(crew *c) {
  for (const mica__build_item *item; (item = take(c));) {
    mica__attempt_begin();
    mica__program_make(c->engine, &item->request);
    mica__attempt_end();
  }
}

void mica__build_list_make(mica_engine *engine, mica__build_list *list) {
  crew c = {.engine = engine, .list = list};
  pthread_t threads[MAX_BUILDERS];
  size_t cores = mica__usable_cores(), wanted = list->count < cores ? list->count : cores, count = 0;
  size_t most = mica__kernel_class(&engine->device.info) == MICA__ON_GPU ? MAX_BUILDERS_ON_GPU : MAX_BUILDERS;
  while (count + 1 < wanted && count < most && !pthread_create(&threads[count], NULL, build_elsewhere, &c)) count++;
  build_here(&c);
  for (size_t i = 0; i < count; i++) pthread_join(threads[i], NULL);
}
