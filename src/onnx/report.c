/* Errors and memory of a lowering. */
#include "onnx/lowering.h"

#include "base/number.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

mica_graph *mica__lower_graph(mica__lowering *l) { return l->graph; }

mica_status mica__lower_fail(mica__lowering *l, const mica__onnx_node *node, mica_status status, const char *format,
                             ...) {
  if (*l->message) return mica__lower_failed(l);
  char text[sizeof l->message];
  va_list args;
  va_start(args, format);
  mica__vsnprintf(text, sizeof text, format, args);
  va_end(args);
  l->status =
      mica__fail(status, "%s: node '%.80s' (%.80s): %s", l->model->name, mica__onnx_node_title(node), node->op, text);
  snprintf(l->message, sizeof l->message, "%s", mica_error_message());
  return l->status;
}

mica_status mica__lower_failed(const mica__lowering *l) {
  return *l->message ? mica__fail(l->status, "%s", l->message) : l->status;
}

void *mica__lower_room(mica__lowering *l, size_t count, size_t size) {
  if (l->room_count == l->room_capacity) {
    size_t capacity = l->room_capacity ? 2 * l->room_capacity : 64;
    void **rooms = realloc(l->rooms, capacity * sizeof *rooms);
    if (rooms) {
      l->rooms = rooms;
      l->room_capacity = capacity;
    }
  }
  void *room = l->room_count < l->room_capacity ? calloc(count ? count : 1, size) : NULL;
  if (!room)
    l->status = mica__fail_nomem("building a model's graph");
  else
    l->rooms[l->room_count++] = room;
  return room;
}
