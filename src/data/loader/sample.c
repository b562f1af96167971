/* Converts samples of a loader's columns to the form that is uploaded. */
#include "base/checked.h"
#include "data/loader/loader.h"
#include "ops/random/philox.h"

#include <stdlib.h>
#include <string.h>

static mica_status reserve(mica__scratch *scratch, size_t bytes) {
  if (bytes <= scratch->capacity) return MICA_OK;
  uint8_t *grown = realloc(scratch->data, bytes);
  if (!grown) return mica__fail_nomem("a sample");
  scratch->data = grown;
  scratch->capacity = bytes;
  return MICA_OK;
}

/* True if rows are normalised here; planes of pictures are normalised on the device. */
static bool is_normalised(const mica__carried *c) { return c->mean && c->from->about.kind != MICA_COLUMN_KIND_IMAGE; }

/* Converts elements: u8 to f32 (for NUMBER divided by 255), and normalises what the host normalises. */
static void convert(const mica__carried *c, const uint8_t *from, int64_t count, uint8_t *to) {
  const float unit = c->from->about.kind == MICA_COLUMN_KIND_NUMBER ? 255.0f : 1.0f;
  const int64_t channels = is_normalised(c) ? mica__column_channels(c->from) : 1;
  for (int64_t i = 0; i < count; i++) {
    float value = (float)from[i] / unit;
    if (c->from->about.dtype == MICA_F32) memcpy(&value, from + (size_t)i * sizeof value, sizeof value);
    if (is_normalised(c)) value = (value - c->mean[i % channels]) / c->deviation[i % channels];
    memcpy(to + (size_t)i * sizeof value, &value, sizeof value);
  }
}

/* The random number of an epoch that mica__column.read_drawn receives. */
static uint64_t draw_of(const mica_loader *loader, uint64_t epoch) {
  uint32_t words[4] = {UINT32_C(0x64726177), 0, (uint32_t)epoch, (uint32_t)(epoch >> 32)}; /* "draw" */
  mica__philox(words, (uint32_t)loader->config.seed, (uint32_t)(loader->config.seed >> 32));
  return (uint64_t)words[0] << 32 | words[1];
}

/* Reads a whole sample that is not in memory. */
static mica_status read_stored(const mica_loader *loader, const mica__carried *c, uint64_t index, uint64_t epoch,
                               void *out, size_t bytes) {
  const mica_dataset *dataset = loader->dataset;
  if (!c->from->read_drawn) return mica_dataset_read(dataset, c->column, index, out, bytes);
  return c->from->read_drawn(c->from->user, mica__dataset_index(dataset, index), draw_of(loader, epoch), out, bytes);
}

mica_status mica__carried_write(const mica_loader *loader, const mica__carried *c, uint64_t index, uint64_t epoch,
                                mica__scratch *scratch, void *out) {
  const mica_dataset *dataset = loader->dataset;
  const bool ragged = c->way == MICA__WAY_RAGGED, same = c->up == c->from->about.dtype && !is_normalised(c);
  const int64_t rows = ragged ? c->lengths[index] : 1;
  const uint8_t *there = mica__dataset_at(dataset, c->column, index);
  int64_t stored = rows;
  if (rows == 0) return MICA_OK;
  if (!there) {
    size_t bytes = 0;
    if (ragged) MICA_TRY(mica_dataset_length(dataset, c->column, index, &stored));
    if (stored < rows)
      return mica__fail(MICA_E_FORMAT, "%s: the column \"%s\" of sample %llu became shorter while it was read",
                        dataset->store->name, c->from->about.name, (unsigned long long)index);
    if (!mica__mul_size(c->from->bytes, (uint64_t)stored, &bytes)) return mica__fail_nomem("a sample");
    if (same && stored == rows) return read_stored(loader, c, index, epoch, out, bytes);
    MICA_TRY(reserve(scratch, bytes));
    MICA_TRY(read_stored(loader, c, index, epoch, scratch->data, bytes));
    there = scratch->data;
  }
  if (same)
    memcpy(out, there, c->bytes * (size_t)rows);
  else
    convert(c, there, c->elements * rows, out);
  return MICA_OK;
}

mica_status mica__record_write(const mica_loader *loader, uint64_t index, mica__scratch *scratch, int32_t *record) {
  for (size_t k = 0; k < loader->count; k++) {
    const mica__carried *c = &loader->carried[k];
    if (c->way == MICA__WAY_RAGGED)
      record[c->word] = c->lengths[index];
    else if (c->way == MICA__WAY_WORDS)
      MICA_TRY(mica__carried_write(loader, c, index, 0, scratch, record + c->word));
  }
  return MICA_OK;
}
