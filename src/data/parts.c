/* The files of the parts of a dataset, and folders next to them. */
#include "base/text.h"
#include "data/source.h"

#include <stdlib.h>
#include <string.h>

mica_status mica__part_find_file(const char *folder, mica_part part, const char *ending, char **path) {
  mica__names names;
  const char *found = NULL;
  *path = NULL;
  MICA_TRY(mica__names_look(folder, &names));
  for (size_t i = 0; i < names.count; i++) {
    const char *rest = mica__part_rest(part, names.names[i]);
    if (rest && !strcmp(rest, ending) && (!found || strlen(names.names[i]) > strlen(found))) found = names.names[i];
  }
  mica_status status = found ? mica__path_join(folder, found, path) : MICA_OK;
  mica__names_free(&names);
  return status;
}

mica_status mica__part_refuse_two(const char *folder, mica_part part, const char *found, const char *name) {
  const char *slash = strrchr(found, '/');
  return mica__fail(MICA_E_FORMAT,
                    "the folder %s has two %s parts, %s and %s; merge them, or move one of them out of the folder",
                    folder, mica_part_name(part), slash ? slash + 1 : found, name);
}

/* The most names that are listed. */
#define NAMED 5

static bool is_used(const char *path, char *const used[3]) {
  for (int part = 0; part < 3; part++)
    if (used[part] && !strcmp(used[part], path)) return true;
  return false;
}

static mica_status list_unused(const char *folder, const mica__names *names, char *const used[3], mica__text *list,
                               size_t *count) {
  for (size_t i = 0; i < names->count; i++) {
    char *path = NULL;
    MICA_TRY(mica__path_join(folder, names->names[i], &path));
    const bool unused = mica__is_folder(path) && !is_used(path, used);
    free(path);
    if (!unused) continue;
    char *name = (*count)++ < NAMED ? mica__name_printable(names->names[i]) : NULL;
    if (name) mica__text_addf(list, *count > 1 ? ", %s" : "%s", name);
    if (!name && *count <= NAMED) return mica__fail_nomem("names of folders");
    free(name);
  }
  if (*count > NAMED) mica__text_add(list, ", ...");
  return mica__text_status(list);
}

mica_status mica__parts_note_unused(mica__store *store, const char *folder, char *const used[3]) {
  mica__names names;
  mica__text list = {0}, sentence = {0};
  size_t count = 0;
  MICA_TRY(mica__names_read(folder, &names));
  mica_status status = list_unused(folder, &names, used, &list, &count);
  mica__names_free(&names);
  if (status == MICA_OK && count) {
    mica__text_addf(&sentence, "%zu folder%s beside the parts %s not used: %s", count, count == 1 ? "" : "s",
                    count == 1 ? "is" : "are", list.data);
    status = mica__text_status(&sentence);
    if (status == MICA_OK) status = mica__store_add_summary(store, sentence.data);
  }
  mica__text_free(&list);
  mica__text_free(&sentence);
  return status;
}
