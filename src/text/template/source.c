/* Finds the index of a name, and the line and column of a position in a template's source. */
#include "text/template/parse.h"

#include <string.h>

mica_status mica__template_fail_at(const mica_chat_template *t, uint32_t at, mica_status status) {
  mica__text where = {0};
  size_t line = 1, column = 1;
  for (size_t i = 0; i < at && i < t->bytes; i++) {
    const bool ends = t->source[i] == '\n';
    line += ends;
    column = ends ? 1 : column + (((unsigned char)t->source[i] & 0xc0) != 0x80);
  }
  mica__text_addf(&where, "%s:%zu:%zu", t->name, line, column);
  mica__fail_in(status, where.data ? where.data : "a chat template");
  mica__text_free(&where);
  return status;
}

mica_status mica__template_name(mica_chat_template *t, const char *text, size_t bytes, int32_t *name) {
  char *copy = NULL;
  MICA_TRY(mica__arena_take(&t->arena, bytes + 1, 1, &copy));
  memcpy(copy, text, bytes);
  *name = mica__name_table_find(&t->names, copy);
  if (*name >= 0) return MICA_OK;
  *name = t->name_count;
  MICA_TRY(mica__name_table_add(&t->names, copy, t->name_count));
  t->name_count++;
  return MICA_OK;
}
