/* Paths of files and folders. */
#include "base/text.h"
#include "data/source.h"

#include <string.h>
#include <sys/stat.h>

bool mica__name_ends(const char *name, const char *ending) {
  size_t n = strlen(name), m = strlen(ending);
  if (n > 3 && !strcmp(name + n - 3, ".gz")) n -= 3;
  return n >= m && !strncmp(name + n - m, ending, m);
}

mica_status mica__path_join_two(const char *folder, const char *a, const char *b, char **path) {
  mica__text text = {0};
  size_t length = strlen(folder);
  while (length && folder[length - 1] == '/') length--;
  mica__text_addf(&text, b ? "%.*s/%s/%s" : "%.*s/%s", (int)length, folder, a, b);
  MICA_TRY(mica__text_status(&text));
  *path = text.data;
  return MICA_OK;
}

mica_status mica__path_join(const char *folder, const char *name, char **path) {
  return mica__path_join_two(folder, name, NULL, path);
}

bool mica__is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

#define MOST_DEPTH 32

bool mica__folder_enter(const char *path, const mica__folder_level *above, mica__folder_level *here) {
  struct stat about;
  *here = (mica__folder_level){.above = above, .depth = above ? above->depth + 1 : 0};
  if (stat(path, &about) != 0) return true; /* mica__names_read will report the error */
  here->device = (uint64_t)about.st_dev;
  here->number = (uint64_t)about.st_ino;
  for (const mica__folder_level *l = above; l; l = l->above)
    if (here->number && l->device == here->device && l->number == here->number) return false;
  return here->depth < MOST_DEPTH;
}

bool mica__is_file(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}
