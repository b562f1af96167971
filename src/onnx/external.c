#define _GNU_SOURCE /* O_NOFOLLOW and O_DIRECTORY, in POSIX since 2008 */
#include "onnx/external.h"

#include "base/signature.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_FOLDERS 32
#define MOST_LINKS 16

/* The state while a file is opened. The walk starts in the model's folder and follows the path `location` component by
 * component, including its links. The folders on the way stay open, so that ".." in a link returns to the folder
 * before. The walk never goes above the model's folder. */
typedef struct walk {
  const char *who, *location;
  /* The open folders: the model's folder, then each folder on the way; at[depth] is the current one. */
  int at[MOST_FOLDERS + 1];
  int depth, links;
  char rest[4096]; /* the remaining path */
  /* The number of bytes at the end of `rest` that come from the location; the bytes before them come from links. */
  size_t plain;
} walk;

static mica_status leaves(const walk *w) {
  return mica__fail(
      MICA_E_FORMAT,
      "tensor '%s': its external data must be in a file of the model's folder, not in '%s'; the path must be relative, "
      "without '//', '..', '.' after its start or '/' at its end, and below %d bytes, 256 per name",
      w->who, w->location, (int)sizeof w->rest);
}

/* Puts the target of the link `name` in the current folder before the remaining path. */
static mica_status follow(walk *w, const char *name) {
  char target[sizeof w->rest];
  const ssize_t n = readlinkat(w->at[w->depth], name, target, sizeof target - 1);
  const size_t rest = strlen(w->rest);
  if (n <= 0)
    return mica__fail(MICA_E_IO, "tensor '%s': external data in '%s': a link of the path cannot be read", w->who,
                      w->location);
  if (++w->links > MOST_LINKS || (size_t)n + 1 + rest >= sizeof w->rest)
    return mica__fail(MICA_E_FORMAT,
                      "tensor '%s': external data in '%s': the path has too many links, or too long ones", w->who,
                      w->location);
  if (target[0] == '/')
    return mica__fail(MICA_E_FORMAT,
                      "tensor '%s': external data in '%s': '%s' is a link that leaves the model's folder", w->who,
                      w->location, name);
  memmove(w->rest + n + (rest > 0), w->rest, rest + 1);
  memcpy(w->rest, target, (size_t)n);
  if (rest) w->rest[n] = '/';
  return MICA_OK;
}

/* Opens the folder `name` or, if it is the last component of the path, the file into *file. Follows `name` if it is
 * a link. */
static mica_status enter(walk *w, const char *name, bool last, int *file) {
  const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY);
  const int opened = openat(w->at[w->depth], name, flags), failed = errno;
  struct stat about;
  if (opened < 0 && !fstatat(w->at[w->depth], name, &about, AT_SYMLINK_NOFOLLOW) && S_ISLNK(about.st_mode))
    return follow(w, name);
  if (opened < 0)
    return mica__fail(failed == ENOENT    ? MICA_E_NOT_FOUND
                      : failed == ENOTDIR ? MICA_E_FORMAT
                                          : MICA_E_IO,
                      "tensor '%s': external data in '%s': %s", w->who, w->location, strerror(failed));
  if (last) {
    *file = opened;
  } else if (w->depth == MOST_FOLDERS) {
    close(opened);
    return mica__fail(MICA_E_FORMAT, "tensor '%s': external data in '%s': the path has more than %d folders", w->who,
                      w->location, MOST_FOLDERS);
  } else {
    w->at[++w->depth] = opened;
  }
  return MICA_OK;
}

/* Enters the next component of the remaining path. "." and ".." are allowed only in the target of a link. */
static mica_status step(walk *w, int *file) {
  char name[256];
  const size_t rest = strlen(w->rest), n = strcspn(w->rest, "/");
  const bool of_link = rest > w->plain, last = n == rest, here = n == 1 && w->rest[0] == '.';
  const bool up = n == 2 && w->rest[0] == '.' && w->rest[1] == '.';
  if (n >= sizeof name || (!of_link && (n == 0 || here || up)) || (last && (n == 0 || here || up))) return leaves(w);
  memcpy(name, w->rest, n);
  name[n] = '\0';
  memmove(w->rest, w->rest + n + !last, rest - n + last);
  if (rest - n - !last < w->plain) w->plain = rest - n - !last;
  if (up && w->depth == 0)
    return mica__fail(MICA_E_FORMAT, "tensor '%s': external data in '%s': the path leaves the model's folder", w->who,
                      w->location);
  if (up) close(w->at[w->depth--]);
  return n == 0 || here || up ? MICA_OK : enter(w, name, last, file);
}

/* Opens the file `location` of the folder; the caller closes *file. It must be a regular file with a single hard
 * link. */
static mica_status open_inside(const char *folder, const char *who, const char *location, int *file) {
  walk w = {.who = who, .location = location, .at = {open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)}};
  struct stat about;
  int opened = -1;
  if (w.at[0] < 0) return mica__fail(MICA_E_IO, "cannot open the model's folder '%s': %s", folder, strerror(errno));
  const char *rest = location;
  /* "./" is the folder itself. */
  while (!strncmp(rest, "./", 2)) rest += 2;
  w.plain = strlen(rest);
  mica_status status = w.plain < sizeof w.rest ? MICA_OK : leaves(&w);
  if (status == MICA_OK) memcpy(w.rest, rest, w.plain + 1);
  while (status == MICA_OK && opened < 0) status = step(&w, &opened);
  while (w.depth >= 0) close(w.at[w.depth--]);
  if (status == MICA_OK && (fstat(opened, &about) || !S_ISREG(about.st_mode) || about.st_nlink != 1))
    status = mica__fail(MICA_E_FORMAT,
                        "tensor '%s': external data in '%s': it must be a regular file with a single hard link", who,
                        location);
  if (status == MICA_OK)
    *file = opened;
  else if (opened >= 0)
    close(opened);
  return status;
}

static mica_status demand_signature(const char *folder, const char *location, const mica__external_file *file) {
  mica__text path = {0};
  mica__text_addf(&path, "%s/%s", folder, location);
  mica_status status = mica__text_status(&path);
  if (status == MICA_OK) status = mica__signature_demand(path.data, file->data, file->size);
  mica__text_free(&path);
  return status;
}

static mica_status map_file(mica__external *external, const char *who, const char *location, mica__external_file *out) {
  int file = -1;
  struct stat about;
  MICA_TRY(open_inside(external->folder, who, location, &file));
  mica_status status = MICA_OK;
  *out = (mica__external_file){.location = mica__strdup(location)};
  if (!out->location) status = mica__fail_nomem("external data");
  if (status == MICA_OK && fstat(file, &about)) status = mica__fail(MICA_E_IO, "%s: %s", location, strerror(errno));
  if (status == MICA_OK && about.st_size > 0) {
    void *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) {
      status = mica__fail(MICA_E_IO, "tensor '%s': external data in '%s': %s", who, location, strerror(errno));
    } else {
      out->data = data;
      out->size = (size_t)about.st_size;
    }
  }
  if (status == MICA_OK) status = demand_signature(external->folder, location, out);
  close(file);
  if (status != MICA_OK && out->data) munmap((void *)out->data, out->size);
  if (status != MICA_OK) free(out->location);
  return status;
}

static mica_status find_file(mica__external *external, const char *who, const char *location,
                             const mica__external_file **out) {
  for (size_t i = 0; i < external->count; i++)
    if (!strcmp(external->files[i].location, location)) {
      *out = &external->files[i];
      return MICA_OK;
    }
  if (!external->folder)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "tensor '%s': external data in '%s' cannot be read, because a model in memory has no folder; "
                      "open its file",
                      who, location);
  mica__external_file *files = realloc(external->files, (external->count + 1) * sizeof *files);
  if (!files) return mica__fail_nomem("external data");
  external->files = files;
  MICA_TRY(map_file(external, who, location, &files[external->count]));
  *out = &files[external->count++];
  return MICA_OK;
}

mica_status mica__external_bytes(mica__external *external, const char *who, const char *location, uint64_t offset,
                                 uint64_t length, const unsigned char **data, size_t *size) {
  const mica__external_file *file = NULL;
  MICA_TRY(find_file(external, who, location, &file));
  if (offset > file->size || length > file->size - offset)
    return mica__fail(
        MICA_E_FORMAT,
        "tensor '%s': external data in '%s': %llu bytes from byte %llu on are needed, but the file has only %zu", who,
        location, (unsigned long long)length, (unsigned long long)offset, file->size);
  *size = (size_t)(length ? length : file->size - offset);
  *data = file->data ? file->data + offset : (const unsigned char *)"";
  return MICA_OK;
}

void mica__external_close(mica__external *external) {
  for (size_t i = 0; i < external->count; i++) {
    if (external->files[i].data) munmap((void *)external->files[i].data, external->files[i].size);
    free(external->files[i].location);
  }
  free(external->files);
  free(external->folder);
  *external = (mica__external){0};
}
