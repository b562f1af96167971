#define _GNU_SOURCE /* O_NOFOLLOW and O_DIRECTORY, which POSIX has had since 2008 */
#include "onnx/external.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the component of a path of n bytes inside of a folder, and closes that. */
static mica_status open_component(int *folder, const char *component, size_t n, bool last, const char *who,
                                  const char *location) {
  char name[256];
  if (n == 0 || n >= sizeof name || (component[0] == '.' && (n == 1 || (n == 2 && component[1] == '.'))))
    return mica__fail(MICA_E_FORMAT,
                      "tensor '%s': external data in '%s', which is no name of a file inside of the model's folder",
                      who, location);
  memcpy(name, component, n);
  name[n] = '\0';
  int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY),
      opened = openat(*folder, name, flags);
  int failed = errno;
  close(*folder);
  *folder = opened;
  if (opened >= 0) return MICA_OK;
  if (failed == ELOOP || failed == EMLINK || (failed == ENOTDIR && !last))
    return mica__fail(MICA_E_FORMAT,
                      "tensor '%s': external data in '%s': '%s' is a link or no folder, and is not followed", who,
                      location, name);
  return mica__fail(failed == ENOENT ? MICA_E_NOT_FOUND : MICA_E_IO, "tensor '%s': external data in '%s': %s", who,
                    location, strerror(failed));
}

/* Opens a regular file of one name; *file is the caller's to close. */
static mica_status open_inside(const char *folder, const char *who, const char *location, int *file) {
  int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) return mica__fail(MICA_E_IO, "the model's folder '%s': %s", folder, strerror(errno));
  mica_status status = MICA_OK;
  const char *rest = location;
  while (!strncmp(rest, "./", 2)) rest += 2; /* the folder itself */
  while (rest && status == MICA_OK) {
    const char *slash = strchr(rest, '/');
    status = open_component(&at, rest, slash ? (size_t)(slash - rest) : strlen(rest), !slash, who, location);
    rest = slash ? slash + 1 : NULL;
  }
  struct stat about;
  if (status == MICA_OK && (fstat(at, &about) || !S_ISREG(about.st_mode) || about.st_nlink != 1))
    status = mica__fail(MICA_E_FORMAT, "tensor '%s': external data in '%s', which is no regular file of one name", who,
                        location);
  if (status == MICA_OK)
    *file = at;
  else if (at >= 0)
    close(at);
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
  close(file);
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
    return mica__fail(MICA_E_UNSUPPORTED, "tensor '%s': external data in '%s', but a model in memory has no folder",
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
    return mica__fail(MICA_E_FORMAT,
                      "tensor '%s': external data in '%s', %llu bytes from %llu on, and the file has %zu", who,
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
