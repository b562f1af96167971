/* The kinds that a user gives to columns of a table: "user=class,text=text". */
#include "base/error.h"
#include "data/table/table.h"

#include <string.h>

/* Finds the kind (number, class, text or time) named by a word of this many bytes; false for other words. */
static bool find_word(const char *word, size_t length, mica_column_kind *kind) {
  static const mica_column_kind known[] = {MICA_COLUMN_KIND_NUMBER, MICA_COLUMN_KIND_CLASS, MICA_COLUMN_KIND_TEXT,
                                           MICA_COLUMN_KIND_TIME};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    const char *name = mica_column_kind_name(known[k]);
    if (strlen(name) != length || strncmp(word, name, length) != 0) continue;
    *kind = known[k];
    return true;
  }
  return false;
}

mica_status mica__kinds_next(const char **kinds, const char **name, size_t *length, mica_column_kind *kind) {
  const char *at = *kinds;
  *name = NULL;
  if (!at || !*at) return MICA_OK;
  const size_t all = strcspn(at, ","), n = strcspn(at, "=");
  if (n >= all || !n)
    return mica__fail(MICA_E_INVALID, "kinds of columns: \"%.*s\" must have the form NAME=KIND", (int)all, at);
  if (!find_word(at + n + 1, all - n - 1, kind))
    return mica__fail(MICA_E_INVALID, "kinds of columns: \"%.*s\": a kind must be number, class, text or time",
                      (int)all, at);
  if (at[all] == ',' && !at[all + 1])
    return mica__fail(MICA_E_INVALID, "kinds of columns: nothing follows the comma after \"%.*s\"", (int)all, at);
  *name = at;
  *length = n;
  *kinds = at + all + (at[all] == ',');
  return MICA_OK;
}

mica_status mica__kinds_find(const char *kinds, const char *name, mica_column_kind *kind, bool *stated) {
  *stated = false;
  for (;;) {
    mica_column_kind one;
    const char *of = NULL;
    size_t length = 0;
    MICA_TRY(mica__kinds_next(&kinds, &of, &length, &one));
    if (!of) return MICA_OK;
    if (length == strlen(name) && !strncmp(of, name, length)) *kind = one, *stated = true;
  }
}
