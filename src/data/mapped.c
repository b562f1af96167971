/* Samples that stay in their file, each read when it is needed. Unlike a mapping, a read fails with a status if the
 * file has become shorter. */
#include "base/byte_order.h"
#include "base/checked.h"
#include "base/element.h"
#include "data/dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger files are not kept in memory, however much memory there is. */
#define MOST_IN_MEMORY ((uint64_t)1 << 30)

typedef struct mapped {
  int file;
  const char *name;            /* the name of the store */
  const mica__extent *extents; /* the column's; NULL: the column is u8 */
  size_t parts;
  mica__file_rows rows;
  size_t bytes;     /* of a sample in the file */
  int64_t elements; /* of a sample */
  mica_shape shape;
} mapped;

bool mica__stays_in_file(const char *path, const mica_dataset_config *config) {
  struct stat about;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  uint64_t most = config->memory ? config->memory : pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 4 : 0;
  const size_t n = strlen(path);
  const bool packed = n > 3 && !strcmp(path + n - 3, ".gz");
  if (most == 0 || most > MOST_IN_MEMORY) most = MOST_IN_MEMORY;
  return !packed && !stat(path, &about) && S_ISREG(about.st_mode) && (uint64_t)about.st_size > most;
}

mica_status mica__file_read_at(const char *name, int file, uint64_t offset, void *data, size_t size) {
  for (size_t at = 0; at < size;) {
    const ssize_t got = pread(file, (uint8_t *)data + at, size - at, (off_t)(offset + at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return mica__fail(MICA_E_IO, "cannot read %s: %s", name, got ? strerror(errno) : "it became shorter");
    at += (size_t)got;
  }
  return MICA_OK;
}

mica_status mica__file_begin(const char *path, void *bytes, size_t capacity, uint64_t *size) {
  struct stat about;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 || fstat(file, &about)) {
    const int error = errno;
    if (file >= 0) close(file);
    return mica__fail(MICA_E_IO, "cannot read %s: %s", path, strerror(error));
  }
  *size = (uint64_t)about.st_size;
  memset(bytes, 0, capacity);
  mica_status status = mica__file_read_at(path, file, 0, bytes, *size < capacity ? (size_t)*size : capacity);
  close(file);
  return status;
}

/* Refuses bytes that are not bools, in samples from `first` on. */
static mica_status check_bools(const mapped *m, const uint8_t *raw, uint64_t first, uint64_t samples) {
  if (m->rows.dtype != MICA_BOOL) return MICA_OK;
  const uint64_t each = (uint64_t)m->elements, count = samples * each;
  for (uint64_t i = 0; i < count; i++)
    if (raw[i] > 1)
      return mica__fail(MICA_E_FORMAT, "%s: element %" PRIu64 " of sample %" PRIu64 " is %d, but a bool must be 0 or 1",
                        m->name, i % each, first + i / each, raw[i]);
  return MICA_OK;
}

static void release_mapped(void *object) {
  mapped *m = object;
  close(m->file);
  free(m);
}

/* Reads a sample; elements of a type that no column can have are converted to f32. */
static mica_status read_sample(void *user, uint64_t sample, void *data, size_t bytes) {
  const mapped *m = user;
  const uint64_t offset = m->rows.offset + sample * m->rows.stride;
  const bool kept = m->bytes == bytes && (m->rows.dtype == MICA_U8 || m->rows.dtype == MICA_F32);
  const bool same = kept && !mica__extents_have_bases(m->extents, m->parts);
  uint8_t *raw = same ? data : malloc(m->bytes);
  if (!raw) return mica__fail_nomem(m->name);
  mica_status status = mica__file_read_at(m->name, m->file, offset, raw, m->bytes);
  if (status == MICA_OK)
    mica__bytes_from_file(m->rows.big_endian, raw, (size_t)m->elements, mica_dtype_size(m->rows.dtype));
  if (status == MICA_OK) status = check_bools(m, raw, sample, 1);
  if (status == MICA_OK) status = mica__check_finite(m->name, m->rows.dtype, raw, m->shape, sample, 1);
  if (status == MICA_OK && !same) mica__extents_convert(m->extents, m->parts, m->rows.dtype, raw, m->elements, data);
  if (!same) free(raw);
  return status;
}

mica_status mica__store_map(mica__store *store, mica__column *column, const char *path, const mica__file_rows *rows) {
  struct stat about;
  mapped *m = calloc(1, sizeof *m);
  if (!m) return mica__fail_nomem(path);
  *m = (mapped){.name = store->name,
                .rows = *rows,
                .shape = column->about.shape,
                .elements = (int64_t)(column->bytes / mica_dtype_size(column->about.dtype))};
  m->bytes = (size_t)m->elements * mica_dtype_size(rows->dtype);
  m->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (m->file < 0) {
    const mica_status status = mica__fail(MICA_E_IO, "cannot read %s: %s", path, strerror(errno));
    free(m);
    return status;
  }
  column->user = m;
  column->read = read_sample;
  MICA_TRY(mica__store_own(store, m, release_mapped));
  const uint64_t end = rows->offset + (store->count - 1) * rows->stride + m->bytes;
  if (fstat(m->file, &about)) return mica__fail(MICA_E_IO, "cannot read %s: %s", path, strerror(errno));
  if ((uint64_t)about.st_size < end)
    return mica__fail(MICA_E_FORMAT, "%s is truncated: %llu bytes of %llu", path, (unsigned long long)about.st_size,
                      (unsigned long long)end);
  return MICA_OK;
}

/* Bytes that are read at once. */
#define BLOCK ((size_t)1 << 20)

mica_status mica__store_measure_mapped(const mica__store *store, const mica__column *column, mica__extent *extents,
                                       size_t parts) {
  mapped *m = column->user;
  const uint64_t most = m->bytes < BLOCK ? BLOCK / m->bytes : 1;
  uint8_t *raw = malloc((size_t)most * m->bytes);
  mica_status status = raw ? MICA_OK : mica__fail_nomem(store->name);
  m->extents = extents;
  m->parts = parts;
  for (uint64_t from = 0; status == MICA_OK && from < store->count; from += most) {
    const uint64_t left = store->count - from, n = left < most ? left : most;
    const int64_t elements = (int64_t)n * m->elements;
    status =
        mica__file_read_at(store->name, m->file, m->rows.offset + from * m->rows.stride, raw, (size_t)n * m->bytes);
    if (status == MICA_OK) status = check_bools(m, raw, from, n);
    if (status != MICA_OK) break;
    mica__bytes_from_file(m->rows.big_endian, raw, (size_t)elements, mica_dtype_size(m->rows.dtype));
    mica__extents_measure(extents, parts, m->rows.dtype, raw, elements);
  }
  free(raw);
  return status;
}
