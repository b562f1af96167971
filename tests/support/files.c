#include "support/files.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if MICA_WITH_ZLIB
#include <zlib.h>
#endif

static char folder[32];

const char *files_folder(void) {
  if (!folder[0]) {
    strcpy(folder, "/tmp/mica-files-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
  }
  return folder;
}

const char *files_path(const char *name) {
  static char paths[4][256];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", files_folder(), name);
  return path;
}

/* files_path, with the folders above the file made. */
static const char *place_for(const char *name) {
  const char *path = files_path(name);
  char above[256];
  for (const char *at = path + strlen(files_folder()) + 1; (at = strchr(at, '/')); at++) {
    snprintf(above, sizeof above, "%.*s", (int)(at - path), path);
    mkdir(above, 0777);
  }
  return path;
}

void files_write(const char *name, const void *data, size_t size) {
  FILE *file = fopen(place_for(name), "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(size ? fwrite(data, 1, size, file) : 0, size);
  ck_assert_int_eq(fclose(file), 0);
}

void files_write_text(const char *name, const char *text) { files_write(name, text, strlen(text)); }

void files_write_gzip(const char *name, const void *data, size_t size) {
#if MICA_WITH_ZLIB
  gzFile file = gzopen(place_for(name), "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(gzwrite(file, data, (unsigned)size), (int)size);
  ck_assert_int_eq(gzclose(file), Z_OK);
#else
  files_write(name, data, size);
#endif
}

uint8_t *files_read(const char *path, size_t *size) {
#if MICA_WITH_ZLIB
  gzFile file = gzopen(path, "rb");
#else
  FILE *file = fopen(path, "rb");
#endif
  ck_assert_msg(file != NULL, "%s", path);
  uint8_t *data = NULL;
  size_t room = 0, got;
  *size = 0;
  do {
    room = room ? 2 * room : 1 << 20;
    uint8_t *grown = realloc(data, room);
    ck_assert_ptr_nonnull(grown);
    data = grown;
#if MICA_WITH_ZLIB
    int n = gzread(file, data + *size, (unsigned)(room - *size));
    ck_assert_int_ge(n, 0);
    got = (size_t)n;
#else
    got = fread(data + *size, 1, room - *size, file);
#endif
    *size += got;
  } while (*size == room);
#if MICA_WITH_ZLIB
  gzclose(file);
#else
  fclose(file);
#endif
  return data;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *place) {
  (void)about, (void)type, (void)place;
  return remove(path);
}

void files_remove(void) {
  if (folder[0]) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  folder[0] = '\0';
}

const char *files_shared(const char *name) {
  static char path[4096];
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/../shared/data/%s", root ? root : ".", name);
  return access(path, R_OK) == 0 ? path : NULL;
}
