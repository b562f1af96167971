/* Mean and standard deviation of the channels of a column. */
#include "base/checked.h"
#include "data/dataset.h"
#include "ops/random/permutation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most samples that are decoded to measure. They are drawn at random, because evenly spaced ones could follow a
 * period in the data. */
#define MEASURED_SAMPLES 10000

/* How many elements are summed in 32 bits before they are added in 64, so that the loop vectorises. */
#define BLOCK 256

int64_t mica__column_channels(const mica__column *column) {
  const mica_shape shape = column->about.shape;
  const bool ragged = mica__column_is_ragged(column);
  int64_t channels = 1;
  if (column->about.kind == MICA_COLUMN_KIND_IMAGE) return shape.dim[0];
  for (int32_t i = ragged; i < shape.rank; i++) channels *= shape.dim[i];
  return channels;
}

/* A run of elements of one channel, `step` elements apart. */
typedef struct run {
  mica_dtype dtype;
  const uint8_t *at;
  int64_t count, step;
} run;

/* Adds a channel's elements and their squares to its sums; for u8 the sums are exact integers. */
static void add_run(run r, double sums[2]) {
  if (r.dtype == MICA_U8) {
    uint64_t sum = 0, squares = 0;
    int64_t i = 0;
    for (; r.step == 1 && r.count - i >= BLOCK; i += BLOCK) {
      uint32_t part = 0, part_squares = 0;
      for (int k = 0; k < BLOCK; k++) {
        part += r.at[i + k];
        part_squares += (uint32_t)r.at[i + k] * r.at[i + k];
      }
      sum += part;
      squares += part_squares;
    }
    for (; i < r.count; i++) {
      sum += r.at[i * r.step];
      squares += (uint32_t)r.at[i * r.step] * r.at[i * r.step];
    }
    sums[0] += (double)sum / 255;
    sums[1] += (double)squares / (255 * 255);
    return;
  }
  for (int64_t i = 0; i < r.count; i++) {
    float value = 0;
    if (r.dtype == MICA_I16) {
      int16_t whole;
      memcpy(&whole, r.at + i * r.step * 2, sizeof whole);
      value = (float)whole / 32768;
    } else {
      memcpy(&value, r.at + (size_t)(i * r.step) * sizeof value, sizeof value);
    }
    sums[0] += value;
    sums[1] += (double)value * value;
  }
}

/* Adds a sample of `elements` elements. The channels of pictures are planes, others are interleaved. */
static void add_sample(const mica__column *column, const uint8_t *data, int64_t elements, int64_t channels,
                       double (*sums)[2]) {
  const bool planes = column->about.kind == MICA_COLUMN_KIND_IMAGE;
  const int64_t each = elements / channels, width = (int64_t)mica_dtype_size(column->about.dtype);
  for (int64_t c = 0; c < channels; c++)
    add_run((run){.dtype = column->about.dtype,
                  .at = data + (planes ? c * each : c) * width,
                  .count = each,
                  .step = planes ? 1 : channels},
            sums[c]);
}

/* Counts the elements of a sample, and reads it if it is not in memory; *buffer grows as needed. */
static mica_status read_sample(const mica_dataset *dataset, size_t column, uint64_t sample, uint8_t **buffer,
                               size_t *capacity, int64_t *elements) {
  const mica__column *from = &dataset->store->columns[column];
  int64_t length = 1;
  size_t bytes = 0;
  if (mica__column_is_ragged(from)) MICA_TRY(mica_dataset_length(dataset, column, sample, &length));
  if (!mica__mul_size(from->bytes, (uint64_t)length, &bytes)) return mica__fail_nomem("a measurement");
  *elements = (int64_t)(bytes / mica_dtype_size(from->about.dtype));
  if (mica__dataset_at(dataset, column, sample)) return MICA_OK;
  if (bytes > *capacity) {
    uint8_t *grown = realloc(*buffer, bytes);
    if (!grown) return mica__fail_nomem("a measurement");
    *buffer = grown;
    *capacity = bytes;
  }
  return mica_dataset_read(dataset, column, sample, *buffer, bytes);
}

static mica_status sum_samples(const mica_dataset *dataset, size_t column, int64_t channels, double (*sums)[2],
                               double *count) {
  const mica__column *from = &dataset->store->columns[column];
  const uint64_t samples = from->data || dataset->count < MEASURED_SAMPLES ? dataset->count : MEASURED_SAMPLES;
  mica__permutation order = {.n = (uint32_t)dataset->count};
  if (samples < dataset->count) order = mica__permutation_of(order.n, 0, MICA__PERMUTATION_SPLIT);
  uint8_t *buffer = NULL;
  size_t capacity = 0;
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < samples; i++) {
    const uint32_t index = mica__permute(&order, (uint32_t)i);
    int64_t elements = 0;
    status = read_sample(dataset, column, index, &buffer, &capacity, &elements);
    if (status != MICA_OK) break;
    const uint8_t *there = mica__dataset_at(dataset, column, index);
    add_sample(from, there ? there : buffer, elements, channels, sums);
    *count += (double)(elements / channels);
  }
  free(buffer);
  return status;
}

/* A deviation below this share of the mean is only the rounding error of a constant; one below LEAST_DEVIATION cannot
 * be a divisor. */
#define CONSTANT_SHARE 1e-7
#define LEAST_DEVIATION 1e-30

mica_status mica_dataset_measure_column(const mica_dataset *dataset, size_t column, float *mean, float *deviation) {
  if (!dataset || !mean || !deviation || column >= dataset->store->column_count)
    return mica__fail(MICA_E_INVALID,
                      "mica_dataset_measure_column: a pointer is NULL, or there is no column %zu, counted from 0",
                      column);
  const mica__column *from = &dataset->store->columns[column];
  const mica_column_kind kind = from->about.kind;
  if (kind != MICA_COLUMN_KIND_NUMBER && kind != MICA_COLUMN_KIND_IMAGE && kind != MICA_COLUMN_KIND_SOUND)
    return mica__fail(MICA_E_INVALID, "%s: column \"%s\" must hold numbers, pictures or sound to have a mean",
                      dataset->store->name, from->about.name);
  const int64_t channels = mica__column_channels(from);
  double(*sums)[2] = calloc((size_t)channels, sizeof *sums), n = 0;
  if (!sums) return mica__fail_nomem("a measurement");
  mica_status status = sum_samples(dataset, column, channels, sums, &n);
  if (n == 0) n = 1; /* all samples are ragged and empty */
  for (int64_t c = 0; status == MICA_OK && c < channels; c++) {
    const double m = sums[c][0] / n, d = sqrt(fmax(sums[c][1] / n - m * m, 0));
    mean[c] = (float)m;
    deviation[c] = d < LEAST_DEVIATION || d < CONSTANT_SHARE * fabs(m) ? 1 : (float)d;
  }
  free(sums);
  return status;
}

mica_status mica_dataset_measure(const mica_dataset *dataset, float *mean, float *deviation) {
  if (!dataset) return mica__fail(MICA_E_INVALID, "mica_dataset_measure: a pointer is NULL");
  if (dataset->store->input == dataset->store->column_count)
    return mica__fail(MICA_E_INVALID, "%s has no column of inputs, so its mean cannot be measured",
                      dataset->store->name);
  return mica_dataset_measure_column(dataset, dataset->store->input, mean, deviation);
}
