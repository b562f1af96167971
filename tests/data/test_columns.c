/* labels: device
 *
 * Columns: a table of numbers, a class and ragged tokens comes to batches as it is, from arrays and from functions,
 * resident and streamed, on one thread and several; shards, buckets, splits and derived columns. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 101, CLASSES = 3, MOST = 40, ROW = 2 };

static float numbers[SAMPLES], rows[SAMPLES][ROW];
static int32_t labels[SAMPLES], tokens[SAMPLES * MOST];
static int64_t offsets[SAMPLES + 1], times[SAMPLES];

static int64_t length_of(int i) { return i * 7 % (MOST + 1); }

static void fill(void) {
  int64_t at = 0;
  for (int i = 0; i < SAMPLES; i++) {
    numbers[i] = (float)i / 4;
    labels[i] = i * 5 % CLASSES;
    times[i] = INT64_C(5000000000) + (i * 37 % SAMPLES);
    for (int k = 0; k < ROW; k++) rows[i][k] = (float)(i * ROW + k);
    offsets[i] = at;
    for (int64_t t = 0; t < length_of(i); t++) tokens[at++] = (int32_t)(i * 100 + t);
  }
  offsets[SAMPLES] = at;
}

/* Functions that give the same as the arrays; `user` is the number of the column. */
static mica_status read_column(void *user, uint64_t sample, void *data, size_t bytes) {
  const void *const from[] = {&numbers[sample], &labels[sample], &tokens[offsets[sample]], rows[sample],
                              &times[sample]};
  memcpy(data, from[(uintptr_t)user], bytes);
  return MICA_OK;
}

static mica_status read_length(void *user, uint64_t sample, int64_t *length) {
  (void)user;
  *length = length_of((int)sample);
  return MICA_OK;
}

static const char *const class_names[CLASSES] = {"red", "green", "blue"};

static mica_dataset *make_table(bool functions) {
  mica_column_data columns[] = {
      {.column = {"number", MICA_COLUMN_KIND_NUMBER, MICA_F32, MICA_SCALAR, 0}, .data = numbers},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, CLASSES},
       .data = labels,
       .class_names = class_names},
      {.column = {"words", MICA_COLUMN_KIND_TOKENS, MICA_I32, {1, {MICA_DYNAMIC}}, 0},
       .data = tokens,
       .offsets = offsets},
      {.column = {"x", MICA_COLUMN_KIND_NUMBER, MICA_F32, {1, {ROW}}, 0}, .data = rows},
      {.column = {"when", MICA_COLUMN_KIND_TIME, MICA_I64, MICA_SCALAR, 0}, .data = times},
  };
  fill();
  for (uintptr_t k = 0; functions && k < 5; k++) {
    columns[k].data = NULL;
    columns[k].offsets = NULL;
    columns[k].user = (void *)k;
    columns[k].read = read_column;
    columns[k].length = k == 2 ? read_length : NULL;
  }
  mica_dataset *dataset = NULL;
  ck_ok(mica_dataset_create("table", SAMPLES, columns, 5, &dataset));
  return dataset;
}

/* The tensor of a batch by its name. */
static const mica_tensor *tensor_of(const mica_batch *batch, const char *name) {
  for (size_t k = 0; k < batch->tensor_count; k++)
    if (!strcmp(batch->tensors[k].name, name)) return batch->tensors[k].tensor;
  ck_abort_msg("no tensor %s", name);
  return NULL;
}

static void download(const mica_batch *batch, const char *name, mica_dtype dtype, void *data, size_t capacity) {
  const mica_tensor *tensor = tensor_of(batch, name);
  ck_assert_int_eq(mica_tensor_dtype(tensor), dtype);
  ck_assert_uint_le(mica_tensor_bytes(tensor), capacity);
  ck_ok(mica_tensor_download(test_queue(), tensor, data, mica_tensor_bytes(tensor)));
}

/* Sees that every column of a batch is that of the samples that its numbers name; marks them as seen. Returns T. */
static int64_t check_batch(const mica_batch *batch, bool *seen) {
  static float number[SAMPLES], x[SAMPLES * ROW];
  static int32_t label[SAMPLES], word[SAMPLES * MOST], length[SAMPLES];
  static int64_t when[SAMPLES];
  const mica_shape shape = mica_tensor_shape(tensor_of(batch, "words"));
  download(batch, "number", MICA_F32, number, sizeof number);
  download(batch, "x", MICA_F32, x, sizeof x);
  download(batch, "label", MICA_I32, label, sizeof label);
  download(batch, "words", MICA_I32, word, sizeof word);
  download(batch, "words.length", MICA_I32, length, sizeof length);
  download(batch, "when", MICA_I64, when, sizeof when);
  ck_assert_int_eq(shape.dim[0], batch->count);
  for (int64_t s = 0; s < batch->count; s++) {
    const int i = (int)(number[s] * 4);
    ck_assert(i >= 0 && i < SAMPLES && !seen[i]);
    seen[i] = true;
    ck_assert_int_eq(label[s], labels[i]);
    ck_assert_int_eq(when[s], times[i]);
    ck_assert_int_eq(length[s], length_of(i));
    ck_assert_int_le(length[s], shape.dim[1]);
    for (int k = 0; k < ROW; k++) ck_assert_float_eq(x[s * ROW + k], rows[i][k]);
    for (int64_t t = 0; t < shape.dim[1]; t++)
      ck_assert_int_eq(word[s * shape.dim[1] + t], t < length[s] ? tokens[offsets[i] + t] : 0);
  }
  return shape.dim[1];
}

static const mica_column_config rows_as_they_are = {
    .name = "x", .mean = (const float[ROW]){0}, .deviation = (const float[ROW]){1, 1}};

START_TEST(a_table_comes_out_right) {
  for (int way = 0; way < 8; way++) {
    mica_dataset *dataset = make_table(way & 4);
    const mica_loader_config config = {.batch = 8,
                                       .shuffle = true,
                                       .seed = 5,
                                       .threads = way & 1 ? 2 : 1,
                                       .residence = way & 2 ? MICA_RESIDENCE_DEVICE : MICA_RESIDENCE_STREAM,
                                       .columns = &rows_as_they_are,
                                       .column_count = 1};
    mica_loader *loader = NULL;
    ck_ok(mica_loader_create(test_engine(), dataset, &config, &loader));
    mica_batch_source source = mica_loader_source(loader);
    ck_assert_uint_eq(source.column_count, 6);
    for (int epoch = 0; epoch < 2; epoch++) {
      bool seen[SAMPLES] = {false};
      int64_t lengths[4] = {0}, padded = 0;
      int buckets = 0;
      for (uint64_t b = 0; b < source.batches; b++) {
        mica_batch batch;
        ck_ok(source.next(source.user, test_queue(), &batch));
        const int64_t T = check_batch(&batch, seen);
        int k = 0;
        while (k < buckets && lengths[k] != T) k++;
        if (k == buckets) {
          ck_assert_int_lt(buckets, 4);
          lengths[buckets++] = T;
        }
        padded += T * batch.count;
      }
      for (int i = 0; i < SAMPLES; i++) ck_assert(seen[i]);
      ck_assert_int_gt(buckets, 1);
      ck_assert_int_lt(padded, SAMPLES * MOST * 3 / 4); /* a single length would be all of it */
      mica_batch end;
      ck_ok(source.next(source.user, test_queue(), &end));
      ck_assert_int_eq(end.count, 0);
    }
    mica_loader_destroy(loader);
    mica_dataset_destroy(dataset);
  }
}
END_TEST

/* The bits of batch `b` of epoch 1 in all its tensors. */
static size_t bits_of(const mica_batch_source *source, uint64_t b, uint8_t *bits, size_t capacity) {
  mica_batch batch;
  size_t at = 0;
  ck_ok(source->seek(source->user, 1, b));
  ck_ok(source->next(source->user, test_queue(), &batch));
  for (size_t k = 0; k < batch.tensor_count; k++) {
    const size_t bytes = mica_tensor_bytes(batch.tensors[k].tensor);
    ck_assert_uint_le(at + bytes, capacity);
    ck_ok(mica_tensor_download(test_queue(), batch.tensors[k].tensor, bits + at, bytes));
    at += bytes;
  }
  return at;
}

START_TEST(the_same_bits_wherever_samples_reside) {
  static uint8_t bits[2][1 << 16];
  mica_dataset *dataset = make_table(false);
  for (int shuffle = 0; shuffle < 2; shuffle++) {
    mica_loader *loaders[2] = {NULL};
    mica_batch_source sources[2];
    for (int k = 0; k < 2; k++) {
      const mica_loader_config config = {.batch = 7,
                                         .shuffle = shuffle,
                                         .seed = 11,
                                         .threads = 2,
                                         .buckets = 3,
                                         .residence = k ? MICA_RESIDENCE_DEVICE : MICA_RESIDENCE_STREAM};
      ck_ok(mica_loader_create(test_engine(), dataset, &config, &loaders[k]));
      sources[k] = mica_loader_source(loaders[k]);
    }
    for (uint64_t b = 0; b < sources[0].batches; b++) {
      const size_t n = bits_of(&sources[0], b, bits[0], sizeof bits[0]);
      ck_assert_uint_eq(bits_of(&sources[1], b, bits[1], sizeof bits[1]), n);
      ck_assert(!memcmp(bits[0], bits[1], n));
    }
    mica_loader_destroy(loaders[0]);
    mica_loader_destroy(loaders[1]);
  }
  mica_dataset_destroy(dataset);
}
END_TEST

/* shares NULL: 8 samples of a batch each. */
static void share_an_epoch(const int64_t *shares) {
  enum { SHARDS = 3 };
  mica_dataset *dataset = make_table(false);
  bool seen[SAMPLES] = {false};
  uint64_t batches = 0, samples = 0;
  for (int shard = 0; shard < SHARDS; shard++) {
    const mica_loader_config config = {.batch = shares ? shares[shard] : 8,
                                       .shuffle = true,
                                       .seed = 2,
                                       .shard = shard,
                                       .shards = SHARDS,
                                       .shares = shares,
                                       .columns = &rows_as_they_are,
                                       .column_count = 1};
    mica_loader *loader = NULL;
    ck_ok(mica_loader_create(test_engine(), dataset, &config, &loader));
    mica_batch_source source = mica_loader_source(loader);
    ck_assert(shard == 0 || source.batches == batches);
    batches = source.batches;
    for (uint64_t b = 0; b < batches; b++) {
      mica_batch batch;
      ck_ok(source.next(source.user, test_queue(), &batch));
      check_batch(&batch, seen);
      samples += (uint64_t)batch.count;
    }
    mica_loader_destroy(loader);
  }
  ck_assert_uint_eq(samples, SAMPLES); /* 101 = 4 * 24 + 5 */
  mica_dataset_destroy(dataset);
}

START_TEST(shards_share_an_epoch) {
  share_an_epoch(NULL);
  share_an_epoch((const int64_t[]){20, 1, 3}); /* of the last 5 samples 3, 1 and 1 */
  share_an_epoch((const int64_t[]){1, 100, 90});
}
END_TEST

/* One column of each kind, of forms that other tests do not have. */
enum { N = 9, GRID = 12, BIG = GRID * GRID };

START_TEST(every_kind_comes_to_batches) {
  static uint8_t marks[N][3], small[N][2][3], text[N * 4];
  static float large[N][BIG], waves[N * 6];
  static int16_t sound[N * 4][2];
  static int64_t ids[N][2], starts[N + 1];
  static int32_t triples[N][3];
  for (int i = 0; i < N; i++) {
    for (int k = 0; k < 3; k++) marks[i][k] = (uint8_t)((i + k) % 2), triples[i][k] = (i + k) % 4;
    for (int k = 0; k < 6; k++) small[i][k / 3][k % 3] = (uint8_t)(i * 20 + k), waves[i * 6 + k] = (float)(i - k);
    for (int k = 0; k < BIG; k++) large[i][k] = (float)(i * BIG + k);
    for (int k = 0; k < 2; k++) ids[i][k] = INT64_C(7000000000) + i * 2 + k;
    starts[i + 1] = starts[i] + i % 4;
    for (int t = 0; t < i % 4; t++) {
      text[starts[i] + t] = (uint8_t)('a' + i);
      for (int k = 0; k < 2; k++) sound[starts[i] + t][k] = (int16_t)(i * 1000 - t * 300 + k);
    }
  }
  const mica_column_data columns[] = {
      {.column = {"marks", MICA_COLUMN_KIND_CLASSES, MICA_U8, {1, {3}}, 3}, .data = marks},
      {.column = {"small", MICA_COLUMN_KIND_NUMBER, MICA_U8, {2, {2, 3}}, 0}, .data = small},
      {.column = {"large", MICA_COLUMN_KIND_NUMBER, MICA_F32, {2, {GRID, GRID}}, 0}, .data = large},
      {.column = {"wave", MICA_COLUMN_KIND_SOUND, MICA_F32, {1, {6}}, 0}, .data = waves},
      {.column = {"sound", MICA_COLUMN_KIND_SOUND, MICA_I16, {2, {MICA_DYNAMIC, 2}}, 0},
       .data = sound,
       .offsets = starts},
      {.column = {"text", MICA_COLUMN_KIND_TEXT, MICA_U8, {1, {MICA_DYNAMIC}}, 0}, .data = text, .offsets = starts},
      {.column = {"ids", MICA_COLUMN_KIND_ID, MICA_I64, {1, {2}}, 0}, .data = ids},
      {.column = {"triple", MICA_COLUMN_KIND_CLASS, MICA_I32, {1, {3}}, 4}, .data = triples},
  };
  mica_dataset *dataset = NULL;
  ck_ok(mica_dataset_create("kinds", N, columns, 8, &dataset));
  for (int resident = 0; resident < 2; resident++) {
    const mica_column_config texts[] = {{.name = "text"}};
    const mica_loader_config config = {.batch = N,
                                       .residence = resident ? MICA_RESIDENCE_DEVICE : MICA_RESIDENCE_STREAM,
                                       .columns = texts,
                                       .column_count = 1,
                                       .buckets = 1};
    static float floats[N * BIG];
    static int64_t wide[N * 2];
    static int32_t whole[N * 3];
    static uint8_t bytes[N * 3];
    mica_loader *loader = NULL;
    mica_batch batch;
    ck_ok(mica_loader_create(test_engine(), dataset, &config, &loader));
    mica_batch_source source = mica_loader_source(loader);
    ck_ok(source.next(source.user, test_queue(), &batch));
    ck_assert_uint_eq(batch.tensor_count, 10);
    download(&batch, "marks", MICA_F32, floats, sizeof floats);
    for (int i = 0; i < N * 3; i++) ck_assert_float_eq(floats[i], (float)marks[i / 3][i % 3]);
    download(&batch, "small", MICA_F32, floats, sizeof floats);
    for (int i = 0; i < N * 6; i++) ck_assert_float_eq(floats[i], (float)small[i / 6][i / 3 % 2][i % 3] / 255);
    download(&batch, "large", MICA_F32, floats, sizeof floats);
    for (int i = 0; i < N * BIG; i++) ck_assert_float_eq(floats[i], (float)i);
    download(&batch, "wave", MICA_F32, floats, sizeof floats);
    for (int i = 0; i < N * 6; i++) ck_assert_float_eq(floats[i], waves[i]);
    download(&batch, "sound", MICA_F32, floats, sizeof floats);
    download(&batch, "text", MICA_U8, bytes, sizeof bytes);
    download(&batch, "ids", MICA_I64, wide, sizeof wide);
    download(&batch, "triple", MICA_I32, whole, sizeof whole);
    for (int i = 0; i < N; i++) {
      for (int t = 0; t < 3; t++) {
        const bool there = t < i % 4;
        ck_assert_int_eq(bytes[i * 3 + t], there ? 'a' + i : 0);
        for (int k = 0; k < 2; k++)
          ck_assert_float_eq(floats[(i * 3 + t) * 2 + k], there ? (float)(i * 1000 - t * 300 + k) / 32768 : 0);
      }
      for (int k = 0; k < 2; k++) ck_assert_int_eq(wide[i * 2 + k], ids[i][k]);
      for (int k = 0; k < 3; k++) ck_assert_int_eq(whole[i * 3 + k], triples[i][k]);
    }
    mica_loader_destroy(loader);
  }
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(rows_say_how_columns_come) {
  mica_dataset *dataset = make_table(false);
  const mica_column_config columns[] = {
      {.name = "number", .mean = &(float){2}, .deviation = &(float){4}},
      {.name = "words", .most = 5, .pad = -7},
      {.name = "when", .left_out = true},
      {.name = "x", .dtype = MICA_BF16},
  };
  const mica_loader_config config = {.batch = SAMPLES, .columns = columns, .column_count = 4, .buckets = 1};
  static float number[SAMPLES];
  static int32_t words[SAMPLES * 5], length[SAMPLES];
  mica_loader *loader = NULL;
  ck_ok(mica_loader_create(test_engine(), dataset, &config, &loader));
  mica_batch_source source = mica_loader_source(loader);
  mica_batch batch;
  ck_ok(source.next(source.user, test_queue(), &batch));
  ck_assert_uint_eq(batch.tensor_count, 5);
  download(&batch, "number", MICA_F32, number, sizeof number);
  download(&batch, "words", MICA_I32, words, sizeof words);
  download(&batch, "words.length", MICA_I32, length, sizeof length);
  ck_assert_int_eq(mica_tensor_dtype(tensor_of(&batch, "x")), MICA_BF16);
  ck_assert_int_eq(mica_tensor_shape(tensor_of(&batch, "words")).dim[1], 5);
  for (int i = 0; i < SAMPLES; i++) {
    ck_assert_float_eq(number[i], (numbers[i] - 2) / 4);
    ck_assert_int_eq(length[i], length_of(i) < 5 ? length_of(i) : 5);
    for (int t = 0; t < 5; t++) ck_assert_int_eq(words[i * 5 + t], t < length[i] ? tokens[offsets[i] + t] : -7);
  }
  mica_loader_destroy(loader);
  const mica_column_config wrong[] = {
      {.name = "nothing"},
      {.name = "label", .mean = &(float){0}, .deviation = &(float){1}},
      {.name = "number", .most = 3},
      {.name = "number", .mean = &(float){0}},
      {.name = "number", .mean = &(float){0}, .deviation = &(float){0}},
      {.name = "label", .dtype = MICA_F16},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const mica_loader_config bad = {.columns = &wrong[i], .column_count = 1};
    ck_assert_int_ne(mica_loader_create(test_engine(), dataset, &bad, &loader), MICA_OK);
    ck_assert_msg(strstr(mica_error_message(), wrong[i].name) != NULL, "%s", mica_error_message());
  }
  const mica_loader_config numbers_wrong[] = {{.buckets = 9},
                                              {.shard = 2, .shards = 2},
                                              {.shards = SAMPLES + 1},
                                              {.shards = 2, .batch = 8, .shares = (const int64_t[]){7, 9}},
                                              {.shards = 2, .batch = 8, .shares = (const int64_t[]){8, 0}}};
  for (size_t i = 0; i < 3; i++)
    ck_assert_int_eq(mica_loader_create(test_engine(), dataset, &numbers_wrong[i], &loader), MICA_E_INVALID);
  mica_dataset_destroy(dataset);
}
END_TEST

static mica_status read_never(void *user, uint64_t sample, void *data, size_t bytes) {
  (void)user, (void)data, (void)bytes;
  return sample == 3 ? MICA_E_IO : MICA_OK;
}

static mica_status read_class(void *user, uint64_t sample, void *data, size_t bytes) {
  const int32_t value = sample == 4 ? CLASSES : 0;
  (void)user;
  memcpy(data, &value, bytes);
  return MICA_OK;
}

START_TEST(derived_columns_stand_beside_the_others) {
  mica_dataset *dataset = make_table(false), *part = NULL, *rest = NULL, *derived = NULL;
  ck_ok(mica_dataset_split(dataset, 0.5, 1, &part, &rest));
  mica_dataset_destroy(rest);
  static float added[SAMPLES];
  for (int i = 0; i < SAMPLES; i++) added[i] = (float)(1000 + i);
  const mica_column_data columns[] = {
      {.column = {"extra", MICA_COLUMN_KIND_NUMBER, MICA_F32, MICA_SCALAR, 0}, .data = added},
      {.column = {"number", MICA_COLUMN_KIND_NUMBER, MICA_F32, MICA_SCALAR, 0}, .data = added + 1},
  };
  ck_ok(mica_dataset_derive(part, columns, 2, &derived));
  ck_assert_uint_eq(mica_dataset_column_count(derived), 6);
  mica_dataset_destroy(dataset);
  for (uint64_t i = 0; i < mica_dataset_count(part); i++) {
    float extra, number, row[ROW], same[ROW];
    ck_ok(mica_dataset_read(derived, mica_dataset_column_index(derived, "extra"), i, &extra, sizeof extra));
    ck_ok(mica_dataset_read(derived, mica_dataset_column_index(derived, "number"), i, &number, sizeof number));
    ck_ok(mica_dataset_read(derived, mica_dataset_column_index(derived, "x"), i, row, sizeof row));
    ck_ok(mica_dataset_read(part, mica_dataset_column_index(part, "x"), i, same, sizeof same));
    ck_assert_float_eq(extra, (float)(1000 + i));
    ck_assert_float_eq(number, (float)(1001 + i));
    ck_assert(!memcmp(row, same, sizeof row));
    int64_t a, b;
    ck_ok(mica_dataset_length(derived, mica_dataset_column_index(derived, "words"), i, &a));
    ck_ok(mica_dataset_length(part, mica_dataset_column_index(part, "words"), i, &b));
    ck_assert_int_eq(a, b);
  }
  ck_assert_str_eq(mica_dataset_class_name(derived, 2), "blue");
  mica_dataset_destroy(part);
  mica_dataset_destroy(derived);
}
END_TEST

START_TEST(what_cannot_be_a_column_is_refused) {
  fill();
  const int64_t falling[SAMPLES + 1] = {0, 5, 3};
  const mica_column number = {"a", MICA_COLUMN_KIND_NUMBER, MICA_F32, MICA_SCALAR, 0};
  const mica_column words = {"a", MICA_COLUMN_KIND_TOKENS, MICA_I32, {1, {MICA_DYNAMIC}}, 0};
  const mica_column_data wrong[] = {
      {.column = number},
      {.column = number, .data = numbers, .read = read_never},
      {.column = words, .data = tokens},
      {.column = words, .read = read_never},
      {.column = words, .data = tokens, .offsets = falling},
      {.column = {"a", MICA_COLUMN_KIND_NUMBER, MICA_I32, MICA_SCALAR, 0}, .data = labels},
      {.column = {"a", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, 2}, .data = labels},
      {.column = {"a", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, -1}, .data = labels},
      {.column = {"a", MICA_COLUMN_KIND_BOXES, MICA_F32, {2, {MICA_DYNAMIC, 5}}, 0}, .data = rows, .offsets = offsets},
      {.column = {"a", MICA_COLUMN_KIND_IMAGE, MICA_U8, {2, {4, 4}}, 0}, .data = rows},
      {.column = {"a", MICA_COLUMN_KIND_NUMBER, MICA_F32, {1, {0}}, 0}, .data = rows},
      {.column = {"a", (mica_column_kind)99, MICA_F32, MICA_SCALAR, 0}, .data = rows},
      {.column = {"", MICA_COLUMN_KIND_NUMBER, MICA_F32, MICA_SCALAR, 0}, .data = rows},
  };
  mica_dataset *dataset = NULL;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(mica_dataset_create("wrong", SAMPLES, &wrong[i], 1, &dataset) != MICA_OK, "%zu", i);
  const mica_column_data twice[] = {{.column = number, .data = numbers}, {.column = number, .data = numbers}};
  ck_assert_int_eq(mica_dataset_create("wrong", SAMPLES, twice, 2, &dataset), MICA_E_FORMAT);
  ck_assert_int_eq(mica_dataset_create("wrong", 0, twice, 1, &dataset), MICA_E_FORMAT);
  /* Functions that fail, or give a class that there is not. */
  const mica_column_data functions[] = {
      {.column = number, .read = read_never},
      {.column = {"b", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, CLASSES}, .read = read_class}};
  ck_ok(mica_dataset_create("functions", SAMPLES, functions, 2, &dataset));
  float value;
  int32_t class_index;
  ck_ok(mica_dataset_read(dataset, 0, 2, &value, sizeof value));
  ck_assert_int_eq(mica_dataset_read(dataset, 0, 3, &value, sizeof value), MICA_E_IO);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "column \"a\" of sample 3"));
  ck_assert_int_eq(mica_dataset_read(dataset, 1, 4, &class_index, sizeof class_index), MICA_E_FORMAT);
  mica_loader *loader = NULL;
  mica_batch batch;
  ck_ok(mica_loader_create(test_engine(), dataset, &(mica_loader_config){.batch = 10}, &loader));
  mica_batch_source source = mica_loader_source(loader);
  ck_assert_int_ne(source.next(source.user, test_queue(), &batch), MICA_OK);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "functions"));
  mica_loader_destroy(loader);
  mica_dataset_destroy(dataset);
}
END_TEST

/* The times of a part, in its order. */
static void read_times(const mica_dataset *dataset, int64_t *out) {
  const size_t k = mica_dataset_column_index(dataset, "when");
  for (uint64_t i = 0; i < mica_dataset_count(dataset); i++)
    ck_ok(mica_dataset_read(dataset, k, i, &out[i], sizeof *out));
}

START_TEST(datasets_are_split_in_many_ways) {
  mica_dataset *dataset = make_table(false), *part = NULL, *rest = NULL;
  int64_t when[SAMPLES], other[SAMPLES];
  int folds[SAMPLES] = {0};
  for (int fold = 0; fold < 4; fold++) {
    ck_ok(mica_dataset_split_by(dataset, &(mica_split_config){.fold = fold, .folds = 4, .seed = 3}, &part, &rest));
    read_times(part, when);
    ck_assert_uint_eq(mica_dataset_count(part) + mica_dataset_count(rest), SAMPLES);
    for (uint64_t i = 0; i < mica_dataset_count(part); i++) folds[when[i] - INT64_C(5000000000)]++;
    mica_dataset_destroy(part);
    mica_dataset_destroy(rest);
  }
  for (int i = 0; i < SAMPLES; i++) ck_assert_int_eq(folds[i], 1);
  ck_ok(mica_dataset_split_by(dataset, &(mica_split_config){.share = 0.2, .time = "when"}, &part, &rest));
  ck_assert_uint_eq(mica_dataset_count(part), 20);
  read_times(part, when);
  read_times(rest, other);
  for (uint64_t i = 0; i < 20; i++)
    for (uint64_t k = 0; k < SAMPLES - 20; k++) ck_assert_int_gt(when[i], other[k]);
  mica_dataset_destroy(part);
  mica_dataset_destroy(rest);
  ck_ok(mica_dataset_split_by(dataset, &(mica_split_config){.share = 0.4, .group = "label"}, &part, &rest));
  for (uint64_t i = 0; i < mica_dataset_count(part); i++)
    ck_assert_int_eq(mica_dataset_label(part, i), mica_dataset_label(part, 0));
  ck_assert_int_ne(mica_dataset_label(rest, 0), mica_dataset_label(part, 0));
  mica_dataset_destroy(part);
  mica_dataset_destroy(rest);
  uint64_t all[16] = {0}, held[16] = {0};
  uint32_t kept = 0;
  for (uint64_t i = 0; i < SAMPLES; i++) all[mica_dataset_label(dataset, i)]++;
  for (uint64_t seed = 0; seed < 8; seed++) {
    int64_t again[SAMPLES];
    const mica_split_config by_class = {.share = 0.2, .seed = seed, .by_class = true};
    ck_ok(mica_dataset_split_by(dataset, &by_class, &part, &rest));
    ck_assert_uint_eq(mica_dataset_count(part), 20);
    memset(held, 0, sizeof held);
    for (uint64_t i = 0; i < 20; i++) held[mica_dataset_label(part, i)]++;
    for (int k = 0; k < 16; k++) ck_assert(fabs((double)held[k] - 0.2 * (double)all[k]) < 1);
    read_times(part, when);
    mica_dataset_destroy(part);
    mica_dataset_destroy(rest);
    ck_ok(mica_dataset_split_by(dataset, &by_class, &part, &rest));
    read_times(part, again);
    ck_assert_mem_eq(when, again, 20 * sizeof *when);
    kept += seed > 0 && !memcmp(when, other, 20 * sizeof *when);
    memcpy(other, when, sizeof other);
    mica_dataset_destroy(part);
    mica_dataset_destroy(rest);
  }
  ck_assert_uint_eq(kept, 0);
  ck_assert_int_eq(mica_dataset_split_by(dataset, &(mica_split_config){.share = 0.2, .time = "when", .by_class = true},
                                         &part, &rest),
                   MICA_E_INVALID);
  files_write_text("part.txt", "# held out\n3\n 7 \r\n100\n\n");
  ck_ok(mica_dataset_split_by(dataset, &(mica_split_config){.file = files_path("part.txt")}, &part, &rest));
  ck_assert_uint_eq(mica_dataset_count(part), 3);
  read_times(part, when);
  ck_assert_int_eq(when[1], times[7]);
  mica_dataset_destroy(part);
  mica_dataset_destroy(rest);
  files_write_text("wrong.txt", "3\n101\n");
  ck_assert_int_eq(mica_dataset_split_by(dataset, &(mica_split_config){.file = files_path("wrong.txt")}, &part, &rest),
                   MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "line 2"));
  const mica_split_config wrong[] = {{.share = 1},
                                     {.share = 0},
                                     {.fold = 2, .folds = 2},
                                     {.fold = 1},
                                     {.share = 0.5, .folds = 3},
                                     {.share = 0.5, .group = "nothing"},
                                     {.share = 0.5, .group = "words"},
                                     {.share = 0.5, .group = "label", .time = "when"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(mica_dataset_split_by(dataset, &wrong[i], &part, &rest) != MICA_OK, "%zu", i);
  mica_dataset_destroy(dataset);
}
END_TEST

static mica_status absurd_length(void *user, uint64_t sample, int64_t *length) {
  *length = sample == 5 ? *(const int64_t *)user : 1;
  return MICA_OK;
}

START_TEST(lengths_beyond_an_index_are_refused) {
  for (int k = 0; k < 2; k++) {
    int64_t length = k ? -1 : INT64_C(4294967297); /* 1, were it cut to 32 bits */
    const mica_column_data column = {.column = {"words", MICA_COLUMN_KIND_TOKENS, MICA_I32, {1, {MICA_DYNAMIC}}, 0},
                                     .user = &length,
                                     .read = read_column,
                                     .length = absurd_length};
    mica_dataset *dataset = NULL;
    mica_loader *loader = NULL;
    ck_ok(mica_dataset_create("table", SAMPLES, &column, 1, &dataset));
    ck_assert_int_eq(mica_loader_create(test_engine(), dataset, &(mica_loader_config){.batch = 4}, &loader),
                     MICA_E_FORMAT);
    ck_assert_msg(strstr(mica_error_message(), "sample 5 ") != NULL, "%s", mica_error_message());
    mica_dataset_destroy(dataset);
  }
}
END_TEST

TESTS(DEVICE, NULL, NULL, a_table_comes_out_right, the_same_bits_wherever_samples_reside, shards_share_an_epoch,
      every_kind_comes_to_batches, rows_say_how_columns_come, derived_columns_stand_beside_the_others,
      what_cannot_be_a_column_is_refused, datasets_are_split_in_many_ways, lengths_beyond_an_index_are_refused)
