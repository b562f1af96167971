#include "base/text.h"
#include "base/utf8.h"
#include "data/dataset.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static mica_status read_open(DIR *directory, const char *path, mica__names *names) {
  size_t capacity = 0;
  for (const struct dirent *entry; (errno = 0, entry = readdir(directory));) {
    if (mica__is_litter(entry->d_name)) continue;
    if (names->count == capacity) {
      capacity = capacity ? capacity * 2 : 64;
      char **grown = realloc(names->names, capacity * sizeof *grown);
      if (!grown) return mica__fail_nomem(path);
      names->names = grown;
    }
    if (!(names->names[names->count] = mica__strdup(entry->d_name))) return mica__fail_nomem(path);
    names->count++;
  }
  if (errno) return mica__fail(MICA_E_IO, "cannot read the folder %s: %s", path, strerror(errno));
  if (names->count) qsort(names->names, names->count, sizeof *names->names, by_text);
  return MICA_OK;
}

mica_status mica__names_read(const char *path, mica__names *names) {
  *names = (mica__names){0};
  DIR *directory = opendir(path);
  if (!directory && errno == ENOMEM) return mica__fail_nomem(path);
  if (!directory)
    return mica__fail(errno == ENOENT || errno == ENOTDIR ? MICA_E_NOT_FOUND : MICA_E_IO,
                      "cannot read the folder %s: %s", path, strerror(errno));
  mica_status status = read_open(directory, path, names);
  closedir(directory);
  if (status != MICA_OK) mica__names_free(names);
  return status;
}

mica_status mica__names_look(const char *path, mica__names *names) {
  struct stat about;
  *names = (mica__names){0};
  if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode) || access(path, R_OK | X_OK) != 0) return MICA_OK;
  return mica__names_read(path, names);
}

void mica__names_free(mica__names *names) {
  for (size_t i = 0; i < names->count; i++) free(names->names[i]);
  free(names->names);
  *names = (mica__names){0};
}

char *mica__name_printable(const char *name) {
  mica__text text = {0};
  mica__text_add(&text, "");
  for (const unsigned char *at = (const unsigned char *)name; *at;) {
    const size_t length = mica__utf8_first((const char *)at, strnlen((const char *)at, 4));
    /* Control characters: those below space, DEL, and U+0080 to U+009F, which begin with c2 in UTF-8. */
    const bool control = *at < 0x20 || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0);
    if (length > 0 && !control) {
      mica__text_add_bytes(&text, (const char *)at, length);
      at += length;
    } else {
      mica__text_addf(&text, "\\x%02x", *at);
      at++;
    }
  }
  if (mica__text_status(&text) == MICA_OK) return text.data;
  mica__text_free(&text);
  return NULL;
}
