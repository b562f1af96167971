#include "data/volume/volume.h"
#include "base/file.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Number of elements read at once when the mean and deviation are computed. */
#define BLOCK 65536

struct mica__volume {
  char *path;
  mica__nifti header;
  uint8_t *content; /* content of a gzip file, unpacked; NULL: the volume is read from `file` */
  int file;
};

void mica__volume_close(mica__volume *v) {
  if (!v) return;
  if (v->file >= 0) close(v->file);
  free(v->content);
  free(v->path);
  free(v);
}

const mica__nifti *mica__volume_header(const mica__volume *v) { return &v->header; }

static mica_status check_size(const mica__volume *v, uint64_t size) {
  const uint64_t wanted = mica__nifti_bytes(&v->header);
  if (size >= wanted) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s is truncated: it has %llu of the %llu bytes that its header says", v->path,
                    (unsigned long long)size, (unsigned long long)wanted);
}

static mica_status fill(mica__volume *v) {
  uint8_t begin[MICA__NIFTI_HEADER];
  uint64_t size = 0;
  MICA_TRY(mica__file_begin(v->path, begin, sizeof begin, &size));
  if (size >= 2 && begin[0] == 0x1f && begin[1] == 0x8b) {
    size_t unpacked = 0;
    MICA_TRY(mica__content_read(v->path, &v->content, &unpacked));
    MICA_TRY(mica__nifti_parse(v->path, v->content, unpacked, &v->header));
    return check_size(v, unpacked);
  }
  MICA_TRY(mica__nifti_parse(v->path, begin, size < sizeof begin ? (size_t)size : sizeof begin, &v->header));
  MICA_TRY(check_size(v, size));
  return mica__file_hold(v->path, &v->file);
}

mica_status mica__volume_open(const char *path, mica__volume **volume) {
  mica__volume *v = calloc(1, sizeof *v);
  if (!v) return mica__fail_nomem("a volume");
  v->file = -1;
  v->path = mica__strdup(path);
  mica_status status = v->path ? fill(v) : mica__fail_nomem("a volume");
  if (status == MICA_OK)
    *volume = v;
  else
    mica__volume_close(v);
  return status;
}

/* Reads `count` elements of the file, beginning with element number `first`, and converts them to f32 in `values`.
 * `room` is scratch for the stored elements. */
static mica_status read_run(const mica__volume *v, int64_t first, int64_t count, uint8_t *room, float *values) {
  const size_t width = mica_dtype_size(v->header.dtype), bytes = (size_t)count * width;
  const uint64_t at = v->header.offset + (uint64_t)first * width;
  if (v->content)
    memcpy(room, v->content + at, bytes);
  else
    MICA_TRY(mica__file_read_at(v->path, v->file, at, room, bytes));
  mica__nifti_values(&v->header, room, (size_t)count, values);
  return MICA_OK;
}

mica_status mica__volume_read(const mica__volume *v, const mica__window *w, float outside, float *values) {
  const int64_t *sides = v->header.sides, plane = w->sides[1] * w->sides[2];
  const int64_t from = w->at[2] > 0 ? w->at[2] : 0, last = w->at[2] + w->sides[2];
  const int64_t count = (last < sides[2] ? last : sides[2]) - from;
  uint8_t *room = malloc((size_t)w->sides[2] * sizeof(double));
  mica_status status = room ? MICA_OK : mica__fail_nomem("a volume");
  for (int64_t i = 0; i < v->header.channels * mica__window_voxels(w); i++) values[i] = outside;
  for (int64_t c = 0; c < v->header.channels && count > 0; c++)
    for (int64_t i = 0; status == MICA_OK && i < w->sides[0] * w->sides[1]; i++) {
      const int64_t z = w->at[0] + i / w->sides[1], y = w->at[1] + i % w->sides[1];
      if (z < 0 || y < 0 || z >= sides[0] || y >= sides[1]) continue;
      float *row = values + c * w->sides[0] * plane + i * w->sides[2] + from - w->at[2];
      status = read_run(v, ((c * sides[0] + z) * sides[1] + y) * sides[2] + from, count, room, row);
    }
  free(room);
  return status;
}

/* --- intensities --- */

/* Mean and standard deviation of a channel's finite voxels, in one pass (Welford 1962). */
static mica_status measure_channel(const mica__volume *v, int64_t c, uint8_t *room, float *values, double found[2]) {
  const int64_t voxels = mica__nifti_voxels(&v->header);
  double mean = 0, squares = 0, n = 0;
  for (int64_t i = 0; i < voxels; i += BLOCK) {
    const int64_t count = voxels - i < BLOCK ? voxels - i : BLOCK;
    MICA_TRY(read_run(v, c * voxels + i, count, room, values));
    for (int64_t k = 0; k < count; k++) {
      const double x = (double)values[k], apart = x - mean;
      if (!isfinite(x)) continue;
      mean += apart / ++n;
      squares += apart * (x - mean);
    }
  }
  found[0] = mean;
  found[1] = n > 0 ? sqrt(squares / n) : 0;
  return MICA_OK;
}

mica_status mica__volume_measure(const mica__volume *v, mica__intensity *intensity) {
  uint8_t *room = malloc(BLOCK * sizeof(double));
  float *values = malloc(BLOCK * sizeof *values);
  mica_status status = room && values ? MICA_OK : mica__fail_nomem("a volume");
  for (int64_t c = 0; status == MICA_OK && c < v->header.channels; c++) {
    double found[2] = {0, 1};
    status = measure_channel(v, c, room, values, found);
    const double scale = found[1] > 0 ? 1 / found[1] : 1;
    intensity->scale[c] = (float)scale;
    intensity->shift[c] = (float)(-found[0] * scale);
  }
  free(room);
  free(values);
  return status;
}

void mica__intensity_apply(const mica__intensity *intensity, int64_t channels, int64_t voxels, float *values) {
  for (int64_t i = 0; i < channels * voxels; i++) {
    const float value = values[i] * intensity->scale[i / voxels] + intensity->shift[i / voxels];
    values[i] = isfinite(value) ? value : 0;
  }
}
