#include "support/files.h"
#include "support/golden.h"

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if MICA_WITH_DEFLATE
#include <libdeflate.h>
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
static const char *make_room_for(const char *name) {
  const char *path = files_path(name);
  char above[256];
  for (const char *at = path + strlen(files_folder()) + 1; (at = strchr(at, '/')); at++) {
    snprintf(above, sizeof above, "%.*s", (int)(at - path), path);
    mkdir(above, 0777);
  }
  return path;
}

void files_write(const char *name, const void *data, size_t size) {
  FILE *file = fopen(make_room_for(name), "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(size ? fwrite(data, 1, size, file) : 0, size);
  ck_assert_int_eq(fclose(file), 0);
}

void files_write_text(const char *name, const char *text) { files_write(name, text, strlen(text)); }

void files_write_gzip(const char *name, const void *data, size_t size) {
#if MICA_WITH_DEFLATE
  struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
  ck_assert_ptr_nonnull(compressor);
  size_t room = libdeflate_gzip_compress_bound(compressor, size);
  void *packed = malloc(room);
  ck_assert_ptr_nonnull(packed);
  size_t n = libdeflate_gzip_compress(compressor, data, size, packed, room);
  ck_assert_uint_gt(n, 0);
  files_write(name, packed, n);
  free(packed);
  libdeflate_free_compressor(compressor);
#else
  files_write(name, data, size);
#endif
}

static uint8_t *read_all(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "%s", path);
  uint8_t *data = NULL;
  size_t room = 0;
  *size = 0;
  do {
    room = room ? 2 * room : 1 << 20;
    data = realloc(data, room);
    ck_assert_ptr_nonnull(data);
    *size += fread(data + *size, 1, room - *size, file);
  } while (*size == room);
  fclose(file);
  return data;
}

uint8_t *files_read(const char *path, size_t *size) {
  uint8_t *data = read_all(path, size);
#if MICA_WITH_DEFLATE
  if (*size < 18 || data[0] != 0x1f || data[1] != 0x8b) return data;
  struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
  ck_assert_ptr_nonnull(decompressor);
  size_t packed = *size, room = packed;
  uint8_t *unpacked = NULL;
  enum libdeflate_result result;
  do {
    room *= 2;
    unpacked = realloc(unpacked, room);
    ck_assert_ptr_nonnull(unpacked);
    result = libdeflate_gzip_decompress(decompressor, data, packed, unpacked, room, size);
  } while (result == LIBDEFLATE_INSUFFICIENT_SPACE);
  ck_assert_int_eq(result, LIBDEFLATE_SUCCESS);
  libdeflate_free_decompressor(decompressor);
  free(data);
  data = unpacked;
#endif
  return data;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *level) {
  (void)about, (void)type, (void)level;
  return remove(path);
}

void files_remove(void) {
  if (folder[0]) nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  folder[0] = '\0';
}

const char *files_real(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "data/%s", name);
  return test_data(path);
}
