#include "base/checked.h"
#include "base/file.h"
#include "base/large.h"
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

static bool is_gzip(const uint8_t *raw, size_t raw_size) { return raw_size >= 2 && raw[0] == 0x1f && raw[1] == 0x8b; }

#if MICA_WITH_DEFLATE
#include <libdeflate.h>

#define GZIP_LEAST 18 /* bytes of the header and trailer of a member */
/* The first allocation is at most this many times the compressed size, whatever size the file states. */
#define TRUSTED_RATIO 16

/* A growing block and the bytes of it that are filled. */
typedef struct block {
  uint8_t *data;
  size_t used, capacity;
} block;

/* The capacity to inflate into first: the size that the file's last four bytes state, bounded by TRUSTED_RATIO. */
static size_t first_capacity(const uint8_t *raw, size_t raw_size) {
  const uint8_t *last = raw + raw_size - 4;
  size_t stated = (size_t)last[0] | (size_t)last[1] << 8 | (size_t)last[2] << 16 | (size_t)last[3] << 24;
  return stated > 0 && stated / TRUSTED_RATIO <= raw_size ? stated : raw_size * 2;
}

/* Allocates one byte more than the capacity, for the NUL. */
static mica_status reserve(block *b, size_t capacity, const char *name) {
  uint8_t *grown = capacity < SIZE_MAX ? mica__alloc_large(capacity + 1) : NULL;
  if (!grown) return mica__fail_nomem(name);
  if (b->used > 0) memcpy(grown, b->data, b->used);
  free(b->data);
  b->data = grown;
  b->capacity = capacity;
  return MICA_OK;
}

/* Inflates the member that raw begins with; *taken is its length. A block that proves too small is doubled, and the
 * member begun anew. */
static mica_status inflate_member(const char *name, struct libdeflate_decompressor *decompressor, const uint8_t *raw,
                                  size_t raw_size, block *b, size_t *taken) {
  enum libdeflate_result result;
  size_t made = 0;
  for (;;) {
    result = libdeflate_gzip_decompress_ex(decompressor, raw, raw_size, b->data + b->used, b->capacity - b->used, taken,
                                           &made);
    if (result != LIBDEFLATE_INSUFFICIENT_SPACE) break;
    size_t more = 0;
    if (!mica__mul_size(b->capacity, 2, &more)) return mica__fail_nomem(name);
    MICA_TRY(reserve(b, more, name));
  }
  if (result != LIBDEFLATE_SUCCESS)
    return mica__fail(MICA_E_FORMAT, "%s is truncated or damaged: its gzip data is wrong", name);
  b->used += made;
  return MICA_OK;
}

/* Inflates one member after another, up to the end or to bytes that begin no member. */
static mica_status inflate_members(const char *name, struct libdeflate_decompressor *decompressor, const uint8_t *raw,
                                   size_t raw_size, block *b) {
  MICA_TRY(reserve(b, first_capacity(raw, raw_size), name));
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
  if (raw_size < GZIP_LEAST) return mica__fail(MICA_E_FORMAT, "%s is truncated: %zu bytes of gzip", name, raw_size);
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
  const unsigned char *raw = NULL;
  size_t raw_size = 0;
  MICA_TRY(mica__file_map(path, &raw, &raw_size));
  bool packed = is_gzip(raw, raw_size);
  mica_status status = packed ? inflate_all(path, raw, raw_size, data, size) : MICA_OK;
  mica__file_unmap(raw, raw_size);
  return packed ? status : mica__file_read(path, data, size);
}

uint8_t *mica__elements_align(uint8_t *content, size_t header, size_t bytes) {
  if (header % sizeof(double) == 0) return content + header;
  return memmove(content, content + header, bytes);
}
