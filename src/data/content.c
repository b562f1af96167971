#include "base/checked.h"
#include "base/file.h"
#include "base/large.h"
#include "data/dataset.h"
#include "data/volume/nifti.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_gzip(const uint8_t *raw, size_t raw_size) { return raw_size >= 2 && raw[0] == 0x1f && raw[1] == 0x8b; }

#if MICA_WITH_DEFLATE
#include <libdeflate.h>

#define GZIP_LEAST 18 /* bytes of the header and trailer of a member */
/* The first allocation is at most this many times the compressed size, whatever size the file states. */
#define TRUSTED_RATIO 16

/* Limits of the unpacked size if the file does not state it: this multiple of the packed size, but at least the second
 * number. */
#define MOST_RATIO 200
#define ALWAYS_BYTES ((size_t)64 << 20)
/* No gzip file unpacks to more than this multiple of its size. */
#define PACKED_RATIO 1032
/* How many bytes of the beginning are inspected first. */
#define PEEKED 4096

/* A block that grows, and how many bytes of it are filled. */
typedef struct block {
  uint8_t *data;
  size_t used, capacity, most; /* most: the largest size that is accepted */
  bool stated;                 /* a header at the beginning of the content states `most` */
} block;

/* The size in bytes that an IDX header implies; 0: another kind of file, or a wrong header. */
static size_t idx_bytes(const uint8_t *start, size_t n) {
  static const uint8_t widths[] = {1, 1, 0, 2, 4, 4, 8}; /* bytes per element of types 8 to 14; 0: no such type */
  if (n < 8 || start[0] || start[1] || start[2] < 8 || start[2] > 14 || !widths[start[2] - 8]) return 0;
  const size_t header = 4 + 4 * (size_t)start[3];
  size_t bytes = widths[start[2] - 8];
  if (n < header) return 0;
  for (size_t i = 4; i < header; i += 4) {
    const uint64_t dim =
        (uint64_t)start[i] << 24 | (uint64_t)start[i + 1] << 16 | (uint64_t)start[i + 2] << 8 | start[i + 3];
    if (!mica__mul_size(bytes, dim, &bytes)) return 0;
  }
  return bytes < SIZE_MAX - header ? header + bytes : 0;
}

/* Finds the largest unpacked size that is accepted. Usually it is a multiple of the packed size. If the content begins
 * with the header of an IDX file that states a smaller size, or of a NIfTI file that states a plausible larger one, it
 * is that size. To see the header, the first PEEKED bytes are unpacked into `start`, which is too small for the rest.
 * If the decompressor writes nothing there, `start` keeps its initial bytes, which are not a header. */
static void find_most(struct libdeflate_decompressor *d, const uint8_t *raw, size_t raw_size, block *b) {
  uint8_t start[PEEKED] = {1};
  size_t taken = 0, made = 0, by_ratio = 0;
  const enum libdeflate_result result =
      libdeflate_gzip_decompress_ex(d, raw, raw_size, start, sizeof start, &taken, &made);
  const size_t idx = idx_bytes(start, result == LIBDEFLATE_SUCCESS ? made : sizeof start);
  if (!mica__mul_size(raw_size, MOST_RATIO, &by_ratio)) by_ratio = SIZE_MAX - 1;
  b->most = by_ratio > ALWAYS_BYTES ? by_ratio : ALWAYS_BYTES;
  b->stated = idx && idx < b->most;
  if (b->stated) b->most = idx;
  mica__nifti nifti;
  /* A NIfTI file may exceed the usual ratio: masks are mostly zeros and compress far better than other files. */
  const bool volume =
      mica__nifti_parse("", start, result == LIBDEFLATE_SUCCESS ? made : sizeof start, &nifti) == MICA_OK;
  const uint64_t bytes = volume ? mica__nifti_bytes(&nifti) : 0;
  if (!volume || bytes <= b->most || bytes / PACKED_RATIO > raw_size) return;
  b->most = (size_t)bytes;
  b->stated = true;
}

static mica_status fail_too_large(const char *name, const block *b) {
  if (b->stated)
    return mica__fail(MICA_E_FORMAT, "%s unpacks to more than the %zu bytes that its header says", name, b->most);
  return mica__fail(
      MICA_E_FORMAT,
      "%s unpacks to more than %zu MiB, the limit for a file of its size; if that is right, unpack it with "
      "gunzip first",
      name, b->most >> 20);
}

/* Returns how much memory to allocate first. This is the size that the file's last four bytes state or, if they state 0
 * or over about TRUSTED_RATIO times the packed size, twice the packed size. */
static size_t first_capacity(const uint8_t *raw, size_t raw_size) {
  const uint8_t *last = raw + raw_size - 4;
  size_t stated = (size_t)last[0] | (size_t)last[1] << 8 | (size_t)last[2] << 16 | (size_t)last[3] << 24;
  return stated > 0 && stated / TRUSTED_RATIO <= raw_size ? stated : raw_size * 2;
}

/* Allocates one byte more than the capacity, for a NUL. */
static mica_status reserve(block *b, size_t capacity, const char *name) {
  uint8_t *grown = capacity < SIZE_MAX ? mica__alloc_large(capacity + 1) : NULL;
  if (!grown) return mica__fail_nomem(name);
  if (b->used > 0) memcpy(grown, b->data, b->used);
  free(b->data);
  b->data = grown;
  b->capacity = capacity;
  return MICA_OK;
}

/* Inflates the member at the beginning of raw; *taken is its packed length. If the block is too small, it is doubled,
 * up to b->most, and the member begun anew. */
static mica_status inflate_member(const char *name, struct libdeflate_decompressor *decompressor, const uint8_t *raw,
                                  size_t raw_size, block *b, size_t *taken) {
  enum libdeflate_result result;
  size_t made = 0;
  for (;;) {
    result = libdeflate_gzip_decompress_ex(decompressor, raw, raw_size, b->data + b->used, b->capacity - b->used, taken,
                                           &made);
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE) break;
    size_t more = 0;
    if (b->capacity >= b->most) return fail_too_large(name, b);
    if (!mica__mul_size(b->capacity, 2, &more) || more > b->most) more = b->most;
    MICA_TRY(reserve(b, more, name));
  }
  if (result != LIBDEFLATE_SUCCESS)
    return mica__fail(MICA_E_FORMAT, "%s is truncated or damaged: its gzip data is wrong", name);
  b->used += made;
  return MICA_OK;
}

/* Inflates members one after another, up to the end or to bytes that do not begin a member. */
static mica_status inflate_members(const char *name, struct libdeflate_decompressor *decompressor, const uint8_t *raw,
                                   size_t raw_size, block *b) {
  find_most(decompressor, raw, raw_size, b);
  const size_t first = first_capacity(raw, raw_size);
  MICA_TRY(reserve(b, first < b->most ? first : b->most, name));
  do {
    size_t taken = 0;
    MICA_TRY(inflate_member(name, decompressor, raw, raw_size, b, &taken));
    raw += taken;
    raw_size -= taken;
  } while (is_gzip(raw, raw_size));
  b->data[b->used] = '\0';
  return MICA_OK;
}

static mica_status inflate_all(const char *name, const uint8_t *raw, size_t raw_size, uint8_t **data, size_t *size) {
  if (raw_size < GZIP_LEAST)
    return mica__fail(MICA_E_FORMAT, "%s is truncated: %zu bytes are too few for a gzip file", name, raw_size);
  struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
  if (!decompressor) return mica__fail_nomem(name);
  block b = {0};
  mica_status status = inflate_members(name, decompressor, raw, raw_size, &b);
  libdeflate_free_decompressor(decompressor);
  if (status != MICA_OK) {
    free(b.data);
    return status;
  }
  *data = b.data;
  *size = b.used;
  return MICA_OK;
}

#else

static mica_status inflate_all(const char *name, const uint8_t *raw, size_t raw_size, uint8_t **data, size_t *size) {
  (void)raw, (void)raw_size, (void)data, (void)size;
  return mica__fail_lacks(name, "libdeflate");
}

#endif

mica_status mica__content_inflate(const char *name, uint8_t *raw, size_t raw_size, uint8_t **data, size_t *size) {
  if (!is_gzip(raw, raw_size)) {
    *data = raw;
    *size = raw_size;
    return MICA_OK;
  }
  mica_status status = inflate_all(name, raw, raw_size, data, size);
  free(raw);
  return status;
}

mica_status mica__content_read(const char *path, uint8_t **data, size_t *size) {
  unsigned char *raw = NULL;
  size_t raw_size = 0;
  uint8_t magic[2];
  int file = -1;
  MICA_TRY(mica__file_hold(path, &file));
  const ssize_t got = pread(file, magic, sizeof magic, 0);
  close(file);
  /* The file is read rather than mapped: if it were truncated meanwhile, the process would die. */
  if (got != sizeof magic || !is_gzip(magic, sizeof magic)) return mica__file_read(path, data, size);
  MICA_TRY(mica__file_read_part(path, 0, 1, &raw, &raw_size));
  return mica__content_inflate(path, raw, raw_size, data, size);
}

uint8_t *mica__elements_align(uint8_t *content, size_t header, size_t bytes) {
  if (header % sizeof(double) == 0) return content + header;
  return memmove(content, content + header, bytes);
}
