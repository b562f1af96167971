#include "base/checked.h"
#include "base/file.h"
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

#if MICA_WITH_ZLIB
#include <zlib.h>

#define GZIP_WINDOW (16 + MAX_WBITS)
/* gzip never does better. */
#define BEST_RATIO 1032

/* Room for what is inflated: the size that the file's last four bytes state, where that can be, and a byte more, so
 * that zlib sees the end without growing it. */
static size_t first_capacity(const uint8_t *raw, size_t raw_size) {
  const uint8_t *last = raw + raw_size - 4;
  size_t stated = (size_t)last[0] | (size_t)last[1] << 8 | (size_t)last[2] << 16 | (size_t)last[3] << 24;
  return stated / BEST_RATIO <= raw_size && stated > 0 ? stated + 1 : raw_size * 2;
}

/* Inflates one member after another into a block that grows. */
static mica_status inflate_members(const char *name, z_stream *stream, uint8_t **data, size_t *size, size_t capacity) {
  size_t used = 0;
  uint8_t *block = malloc(capacity + 1);
  int result = block ? Z_OK : Z_MEM_ERROR;
  while (result == Z_OK) {
    if (used == capacity) {
      size_t more = 0;
      uint8_t *grown = mica__mul_size(capacity, 2, &more) && more < SIZE_MAX ? realloc(block, more + 1) : NULL;
      if (!grown) {
        result = Z_MEM_ERROR;
        break;
      }
      block = grown;
      capacity = more;
    }
    size_t room = capacity - used < (1u << 30) ? capacity - used : 1u << 30;
    stream->next_out = block + used;
    stream->avail_out = (uInt)room;
    result = inflate(stream, Z_NO_FLUSH);
    used += room - stream->avail_out;
    if (result == Z_STREAM_END && stream->avail_in >= 2 && stream->next_in[0] == 0x1f && stream->next_in[1] == 0x8b)
      result = inflateReset(stream);
  }
  if (result == Z_STREAM_END) {
    block[used] = '\0';
    *data = block;
    *size = used;
    return MICA_OK;
  }
  free(block);
  if (result == Z_MEM_ERROR) return mica__fail_nomem(name);
  return mica__fail(MICA_E_FORMAT, "%s is %s", name,
                    result == Z_BUF_ERROR ? "truncated in the midst of its gzip data"
                                          : "damaged: its gzip data is wrong");
}

static mica_status inflate_all(const char *name, const uint8_t *raw, size_t raw_size, uint8_t **data, size_t *size) {
  z_stream stream = {.next_in = (Bytef *)(uintptr_t)raw, .avail_in = (uInt)raw_size};
  if (raw_size < 18) return mica__fail(MICA_E_FORMAT, "%s is truncated: %zu bytes of gzip", name, raw_size);
  if (raw_size > UINT32_MAX) return mica__fail(MICA_E_UNSUPPORTED, "%s is too large for gzip here", name);
  if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK) return mica__fail_nomem(name);
  mica_status status = inflate_members(name, &stream, data, size, first_capacity(raw, raw_size));
  inflateEnd(&stream);
  return status;
}

#else

static mica_status inflate_all(const char *name, const uint8_t *raw, size_t raw_size, uint8_t **data, size_t *size) {
  (void)raw, (void)raw_size, (void)data, (void)size;
  return mica__fail(MICA_E_UNSUPPORTED, "%s is in gzip, and this build has no zlib", name);
}

#endif

mica_status mica__content_inflate(const char *name, uint8_t *raw, size_t raw_size, uint8_t **data, size_t *size) {
  if (raw_size < 2 || raw[0] != 0x1f || raw[1] != 0x8b) {
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
  MICA_TRY(mica__file_read(path, &raw, &raw_size));
  return mica__content_inflate(path, raw, raw_size, data, size);
}
