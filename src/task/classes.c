/* Classes of other data by their names. */
#include "task/json.h"
#include "task/run.h"

#include <stdlib.h>
#include <string.h>

/* True if the names are the same, or become so where bytes that are no UTF-8 are replaced, as config.json does. */
static bool same_name(const char *a, const char *b) {
  bool plain = true;
  for (const char *c = b; *c; c++) plain = plain && (unsigned char)*c < 0x80;
  if (plain || !strcmp(a, b)) return !strcmp(a, b);
  mica__text texts[2] = {{0}};
  mica__json_string(&texts[0], a);
  mica__json_string(&texts[1], b);
  const bool same = texts[0].data && texts[1].data && !strcmp(texts[0].data, texts[1].data);
  mica__text_free(&texts[0]);
  mica__text_free(&texts[1]);
  return same;
}

size_t mica__run_find_name(const char *const *known, size_t count, const char *name) {
  size_t k = 0;
  while (k < count && !same_name(known[k], name)) k++;
  return k;
}

static mica_status fail_class(const mica_dataset *data, const char *where, const char *name, const char *const *known,
                              size_t count) {
  mica__text list = {0};
  for (size_t j = 0; j < count && j < 20; j++) mica__text_addf(&list, j ? ", %s" : "%s", known[j]);
  mica__fail(MICA_E_FORMAT, "%s%s%s%s has a class '%s', which the run does not know; it was trained on %zu: %s%s",
             mica_dataset_name(data), where ? ": the column '" : "", where ? where : "", where ? "'" : "", name, count,
             list.data ? list.data : "none", count > 20 ? ", ..." : "");
  mica__text_free(&list);
  return MICA_E_FORMAT;
}

mica_status mica__run_map_names(const mica_dataset *data, size_t column, const char *where, const char *const *known,
                                size_t count, int32_t **out) {
  const mica_column *about = mica_dataset_column(data, column);
  const int32_t classes = about ? about->classes : 0;
  int32_t *map = malloc(((size_t)classes + 1) * sizeof *map);
  bool same = true;
  if (!map) return mica__fail_nomem("classes");
  *out = NULL;
  for (int32_t i = 0; i < classes; i++) {
    const char *name = mica_dataset_column_class(data, column, i);
    const size_t k = mica__run_find_name(known, count, name);
    if (k == count) {
      free(map);
      return fail_class(data, where, name, known, count);
    }
    map[i] = (int32_t)k;
    same = same && map[i] == i;
  }
  if (same)
    free(map);
  else
    *out = map;
  return MICA_OK;
}

mica_status mica__run_map_classes(const mica_run *run, const mica_dataset *data, int32_t **map) {
  size_t known = 0;
  const char *const *names = mica_run_fact(run, "classes", &known);
  return mica__run_map_names(data, mica_dataset_column_index(data, "label"), NULL, names, known, map);
}
