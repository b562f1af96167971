/* Writes texts, pictures and histograms to event files. */
#include "io/events.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

mica_status mica_events_text(mica_events *events, const char *tag, int64_t step, const char *text) {
  mica__text content = {0}, metadata = {0}, plugin = {0}, tensor = {0};
  if (!events || !tag || !text) return mica__fail(MICA_E_INVALID, "mica_events_text: events, tag or text is NULL");
  mica__proto_bytes(&plugin, 1, "text", 4);          /* PluginData.plugin_name */
  mica__proto_message(&metadata, 1, &plugin);        /* SummaryMetadata.plugin_data */
  mica__proto_message(&content, 9, &metadata);       /* Value.metadata */
  mica__proto_number(&tensor, 1, 7);                 /* TensorProto.dtype: DT_STRING */
  mica__proto_bytes(&tensor, 2, "", 0);              /* tensor_shape: a scalar */
  mica__proto_bytes(&tensor, 8, text, strlen(text)); /* string_val */
  mica__proto_message(&content, 8, &tensor);         /* Value.tensor */
  mica_status status = mica__events_add_value(events, tag, step, &content);
  mica__text_free(&content);
  return status;
}

mica_status mica_events_image(mica_events *events, const char *tag, int64_t step, const mica_events_picture *picture) {
  mica__text content = {0}, image = {0};
  if (!events || !tag || !picture || (!picture->data && picture->bytes))
    return mica__fail(MICA_E_INVALID, "mica_events_image: events, tag, picture or the picture's data is NULL");
  if (picture->height < 1 || picture->width < 1 || picture->channels < 1 || picture->channels > 4)
    return mica__fail(
        MICA_E_SHAPE,
        "mica_events_image: the picture is %d x %d with %d channels, but must have pixels and 1 to 4 channels",
        (int)picture->height, (int)picture->width, (int)picture->channels);
  mica__proto_number(&image, 1, (uint64_t)picture->height);
  mica__proto_number(&image, 2, (uint64_t)picture->width);
  mica__proto_number(&image, 3, (uint64_t)picture->channels);
  mica__proto_bytes(&image, 4, picture->data, picture->bytes);
  mica__proto_message(&content, 4, &image); /* Value.image */
  mica_status status = mica__events_add_value(events, tag, step, &content);
  mica__text_free(&content);
  return status;
}

/* --- histograms --- */

/* The histogram's bucket limits, as in TensorFlow: limit k is 1e-12 1.1^k, for k from 0 to 774, which reaches 1e20.
 * Each bucket ends at one limit:
 *
 *   bucket BUCKETS + 1 + k   limit k
 *   bucket BUCKETS           0
 *   bucket BUCKETS - 1 - k   -limit k
 *   bucket ALL - 1           DBL_MAX */
enum { BUCKETS = 775, ALL = 2 * BUCKETS + 2 };
#define SMALLEST 1e-12

static double limit_of(int bucket) {
  if (bucket == ALL - 1) return DBL_MAX;
  if (bucket == BUCKETS) return 0;
  return bucket > BUCKETS ? SMALLEST * pow(1.1, bucket - BUCKETS - 1) : -SMALLEST * pow(1.1, BUCKETS - 1 - bucket);
}

/* Exponents of frexpf for floats, including denormals. A float with exponent e has an absolute value of at least 2^(e -
 * 1) and less than 2^e. */
enum { LEAST = -150, EXPONENTS = 128 - LEAST + 1 };

/* Limits that all histograms share. */
static struct {
  double limits[ALL];
  int positive[EXPONENTS], negative[EXPONENTS]; /* the buckets of 2^(LEAST + i) and -2^(LEAST + i) */
} scale;

/* Finds the first bucket from low to high whose limit is at least the value. The bucket `high` must be such a
 * bucket. */
static int search(double value, int low, int high) {
  while (low < high) {
    const int middle = (low + high) / 2;
    if (scale.limits[middle] >= value)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static void make_scale(void) {
  for (int k = 0; k < ALL; k++) scale.limits[k] = limit_of(k);
  for (int i = 0; i < EXPONENTS; i++) {
    scale.positive[i] = search(ldexp(1, LEAST + i), 0, ALL - 1);
    scale.negative[i] = search(-ldexp(1, LEAST + i), 0, ALL - 1);
  }
}

/* Finds a value's bucket: searches between the buckets of the two powers of two around the value. */
static int bucket_of(float value) {
  int exponent = 0;
  if (value == 0) return BUCKETS;
  (void)frexpf(value, &exponent);
  const int i = exponent - LEAST;
  return value > 0 ? search((double)value, scale.positive[i - 1], scale.positive[i])
                   : search((double)value, scale.negative[i], scale.negative[i - 1]);
}

typedef struct counts {
  uint64_t bucket[ALL], number;
  double least, most, sum, squares;
} counts;

static void count_values(const float *values, size_t count, counts *c) {
  for (size_t i = 0; i < count; i++) {
    const double value = (double)values[i];
    if (!isfinite(value)) continue;
    if (!c->number || value < c->least) c->least = value;
    if (!c->number || value > c->most) c->most = value;
    c->number++;
    c->sum += value;
    c->squares += value * value;
    c->bucket[bucket_of(values[i])]++;
  }
}

/* Adds the buckets from the first non-empty one to the last non-empty one. The bucket before the first one is added
 * too, because its limit tells where the first bucket begins. */
static void add_buckets(mica__text *out, const counts *c) {
  int first = 0, last = ALL - 1;
  mica__text limits = {0}, numbers = {0};
  while (first < ALL - 1 && !c->bucket[first]) first++;
  while (last > first && !c->bucket[last]) last--;
  for (int k = first ? first - 1 : 0; k <= last; k++) {
    const double limit = scale.limits[k], number = (double)c->bucket[k];
    uint64_t bits;
    memcpy(&bits, &limit, sizeof bits);
    mica__proto_little_endian(&limits, bits, 8);
    memcpy(&bits, &number, sizeof bits);
    mica__proto_little_endian(&numbers, bits, 8);
  }
  mica__proto_message(out, 6, &limits);
  mica__proto_message(out, 7, &numbers);
}

mica_status mica_events_histogram(mica_events *events, const char *tag, int64_t step, const float *values,
                                  size_t count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  mica__text content = {0}, histogram = {0};
  if (!events || !tag || (!values && count))
    return mica__fail(MICA_E_INVALID, "mica_events_histogram: events, tag or values is NULL");
  counts *c = calloc(1, sizeof *c);
  if (!c) return mica__fail_nomem("a histogram");
  pthread_once(&once, make_scale);
  count_values(values, count, c);
  mica__proto_double(&histogram, 1, c->least);
  mica__proto_double(&histogram, 2, c->most);
  mica__proto_double(&histogram, 3, (double)c->number);
  mica__proto_double(&histogram, 4, c->sum);
  mica__proto_double(&histogram, 5, c->squares);
  if (c->number) add_buckets(&histogram, c);
  mica__proto_message(&content, 5, &histogram); /* Value.histo */
  mica_status status = mica__events_add_value(events, tag, step, &content);
  mica__text_free(&content);
  free(c);
  return status;
}
