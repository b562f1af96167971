#include "runtime/build_list.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>

static _Thread_local mica__build_list *open_list;

void mica__build_list_begin(mica__build_list *list) {
  *list = (mica__build_list){0};
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
  free((char *)r->kernels);
}

void mica__build_list_free(mica__build_list *list) {
  for (size_t i = 0; i < list->count; i++) free_item(&list->items[i]);
  free(list->items);
  *list = (mica__build_list){0};
}

mica_status mica__build_list_add(mica__build_list *list, mica__hash key, const mica__program_request *request) {
  for (size_t i = 0; i < list->count; i++)
    if (mica__hash_equal(list->items[i].key, key)) return MICA_OK;
  mica__build_item *grown = realloc(list->items, (list->count + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a list of programs");
  list->items = grown;
  mica__build_item item = {key,
                           {mica__strdup(request->name), mica__strdup(request->label), mica__strdup(request->source),
                            mica__strdup(request->options), mica__strdup(request->kernels)}};
  const mica__program_request *r = &item.request;
  if (!r->name || !r->label || !r->source || !r->options || !r->kernels) {
    free_item(&item);
    return mica__fail_nomem("a list of programs");
  }
  list->items[list->count++] = item;
  return MICA_OK;
}
