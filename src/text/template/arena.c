/* Memory of one run of a template. */
#include "base/checked.h"
#include "text/template/value.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 16)
#define LONG_TEXT 256 /* minimum bytes of a joined text that gets room to grow */

struct mica__arena_chunk {
  mica__arena_chunk *next;
};

/* Adds a chunk with room for `bytes` and alignment. */
static mica_status grow(mica__arena *arena, size_t bytes) {
  size_t size = 0;
  if (!mica__add_size(bytes, sizeof(mica__arena_chunk) + 2 * alignof(max_align_t), &size))
    return mica__fail_nomem("a chat template");
  if (size < CHUNK) size = CHUNK;
  if (size > MICA__MOST_TEMPLATE_MEMORY - arena->total)
    return mica__fail(MICA_E_FORMAT, "the template or JSON needs more than %zu MiB of memory",
                      MICA__MOST_TEMPLATE_MEMORY >> 20);
  mica__arena_chunk *chunk = malloc(size);
  if (!chunk) return mica__fail_nomem("a chat template");
  chunk->next = arena->chunks;
  arena->chunks = chunk;
  arena->total += size;
  arena->next = (char *)(chunk + 1);
  arena->end = (char *)chunk + size;
  return MICA_OK;
}

mica_status mica__arena_take(mica__arena *arena, size_t count, size_t size, void *memory) {
  size_t bytes = 0;
  if (!mica__mul_size(count, size, &bytes)) return mica__fail_nomem("a chat template");
  const size_t over = (uintptr_t)arena->next % alignof(max_align_t), skip = over ? alignof(max_align_t) - over : 0;
  if (!arena->next || (size_t)(arena->end - arena->next) < skip || (size_t)(arena->end - arena->next) - skip < bytes) {
    MICA_TRY(grow(arena, bytes));
    return mica__arena_take(arena, count, size, memory);
  }
  void *taken = arena->next + skip;
  memset(taken, 0, bytes);
  arena->next += skip + bytes;
  memcpy(memory, &taken, sizeof taken);
  return MICA_OK;
}

/* Takes bytes without alignment. */
static mica_status take_bytes(mica__arena *arena, size_t bytes, char **memory) {
  if (!arena->next || (size_t)(arena->end - arena->next) < bytes) MICA_TRY(grow(arena, bytes));
  *memory = arena->next;
  arena->next += bytes;
  return MICA_OK;
}

mica_status mica__arena_copy(mica__arena *arena, const char *text, size_t bytes, const char **copy) {
  char *made = NULL;
  MICA_TRY(take_bytes(arena, bytes, &made));
  if (bytes) memcpy(made, text, bytes);
  *copy = made;
  return MICA_OK;
}

mica_status mica__arena_join(mica__arena *arena, const char *first, size_t first_bytes, const char *second,
                             size_t second_bytes, const char **joined) {
  char *made = NULL;
  size_t bytes = 0;
  if (!mica__add_size(first_bytes, second_bytes, &bytes)) return mica__fail_nomem("a chat template");
  if (second_bytes == 0 || first_bytes == 0) return *joined = first_bytes ? first : second, MICA_OK;
  for (size_t i = 0; i < MICA__GROWING_TEXTS; i++) {
    char *end = arena->growing[i].end;
    if (!end || first + first_bytes != end || (size_t)(arena->growing[i].limit - end) < second_bytes) continue;
    memcpy(end, second, second_bytes);
    arena->growing[i].end += second_bytes;
    return *joined = first, MICA_OK;
  }
  const size_t room = bytes < LONG_TEXT || bytes > MICA__MOST_TEMPLATE_MEMORY / 16 ? bytes : 2 * bytes;
  MICA_TRY(take_bytes(arena, room, &made));
  memcpy(made, first, first_bytes);
  memcpy(made + first_bytes, second, second_bytes);
  if (room > bytes) {
    arena->growing[arena->oldest].end = made + bytes;
    arena->growing[arena->oldest].limit = made + room;
    arena->oldest = (arena->oldest + 1) % MICA__GROWING_TEXTS;
  }
  *joined = made;
  return MICA_OK;
}

void mica__arena_free(mica__arena *arena) {
  while (arena->chunks) {
    mica__arena_chunk *next = arena->chunks->next;
    free(arena->chunks);
    arena->chunks = next;
  }
  *arena = (mica__arena){0};
}
