/* labels: device single
 *
 * A table of texts and classes on its way to the device: read into memory and left in its file, resident and streamed;
 * its bytes, and the tokens that a tokeniser makes of them, as a task derives them. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/data.h>
#include <mica/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 37
#define MOST 64

static char texts[SAMPLES][MOST];

/* Texts of many lengths with quotes and characters beyond ASCII; some are empty. Spam is every third one. */
static void write_table(void) {
  FILE *file = fopen(files_path("table.tsv"), "wb");
  ck_assert_ptr_nonnull(file);
  fputs("Label\tSMS\n", file);
  for (int i = 0; i < SAMPLES; i++) {
    static const char *const words[] = {"free ", "caf\xc3\xa9 ", "\"call\" ", "now! "};
    texts[i][0] = '\0';
    for (int k = 0; k < i % 6; k++) strcat(texts[i], words[(i + k) % 4]);
    if (i % 7 != 3 && i > 5) sprintf(texts[i] + strlen(texts[i]), "number %d", i);
    const size_t length = strlen(texts[i]); /* blanks around a cell are none of it */
    if (length && texts[i][length - 1] == ' ') texts[i][length - 1] = '\0';
    fprintf(file, "%s\t%s\n", i % 3 ? "ham" : "spam", texts[i]);
  }
  fclose(file);
}

static const mica_tensor *tensor_of(const mica_batch *batch, const char *name) {
  for (size_t i = 0; i < batch->tensor_count; i++)
    if (!strcmp(batch->tensors[i].name, name)) return batch->tensors[i].tensor;
  ck_abort_msg("the batch has no '%s'", name);
  return NULL;
}

static void download(const mica_batch *batch, const char *name, void *data, size_t capacity) {
  const mica_tensor *tensor = tensor_of(batch, name);
  ck_assert_uint_le(mica_tensor_bytes(tensor), capacity);
  ck_ok(mica_tensor_download(test_queue(), tensor, data, mica_tensor_bytes(tensor)));
}

/* Two epochs' worth of batches of a column; `wanted` and `lengths` say what samples have, padded by zeros. */
static void check_batches(const mica_dataset *dataset, const char *column, size_t element,
                          const int32_t wanted[SAMPLES][MOST], const int32_t lengths[SAMPLES], bool resident) {
  static uint8_t bytes[SAMPLES * MOST * 4];
  static int32_t labels[SAMPLES], length[SAMPLES];
  char name[32];
  const mica_column_config named = {.name = column};
  const mica_loader_config config = {.batch = 8,
                                     .residence = resident ? MICA_RESIDENCE_DEVICE : MICA_RESIDENCE_STREAM,
                                     .columns = &named,
                                     .column_count = 1};
  mica_loader *loader = NULL;
  mica_batch batch;
  snprintf(name, sizeof name, "%s.length", column);
  ck_ok(mica_loader_create(test_engine(), dataset, &config, &loader));
  const mica_batch_source source = mica_loader_source(loader);
  for (int epoch = 0, seen = 0; epoch < 2; epoch++, seen = 0) {
    for (;;) {
      ck_ok(source.next(source.user, test_queue(), &batch));
      if (batch.count == 0) break;
      const int64_t padded = mica_tensor_shape(tensor_of(&batch, column)).dim[1];
      download(&batch, column, bytes, sizeof bytes);
      download(&batch, name, length, sizeof length);
      download(&batch, "label", labels, sizeof labels);
      for (int64_t s = 0; s < batch.count; s++, seen++) {
        ck_assert_int_eq(labels[s], seen % 3 == 0);
        ck_assert_int_eq(length[s], lengths[seen]);
        for (int64_t t = 0; t < padded; t++) {
          int32_t got = 0;
          memcpy(&got, bytes + (size_t)(s * padded + t) * element, element);
          ck_assert_int_eq(got, t < lengths[seen] ? wanted[seen][t] : 0);
        }
      }
    }
    ck_assert_int_eq(seen, SAMPLES);
  }
  ck_assert_int_eq(mica_loader_describe(loader).resident, resident);
  mica_loader_destroy(loader);
}

static int32_t wanted[SAMPLES][MOST], lengths[SAMPLES];

static mica_dataset *opened(uint64_t memory) {
  mica_dataset *dataset = NULL;
  ck_ok(mica_dataset_open(files_path("table.tsv"),
                          &(mica_dataset_config){.kinds = "Label=class,SMS=text", .memory = memory}, &dataset));
  ck_assert_uint_eq(mica_dataset_count(dataset), SAMPLES);
  return dataset;
}

START_TEST(texts_come_out_right) {
  mica_dataset *dataset = opened((uint64_t)_i & 1);
  for (int i = 0; i < SAMPLES; i++) {
    lengths[i] = (int32_t)strlen(texts[i]);
    for (int t = 0; t < lengths[i]; t++) wanted[i][t] = (uint8_t)texts[i][t];
  }
  check_batches(dataset, "SMS", 1, (const int32_t(*)[MOST])wanted, lengths, _i & 2);
  mica_dataset_destroy(dataset);
}
END_TEST

#if MICA_WITH_CJSON && MICA_WITH_PCRE2

static mica_status next_text(void *user, const char **text, size_t *bytes) {
  int *at = user;
  *text = *at < SAMPLES ? texts[*at] : NULL;
  *bytes = *text ? strlen(*text) : 0;
  ++*at;
  return MICA_OK;
}

/* Token ids of all samples beside the texts, as a column in memory. */
START_TEST(tokens_come_out_right) {
  static int32_t ids[SAMPLES * MOST];
  static int64_t offsets[SAMPLES + 1];
  mica_dataset *dataset = opened((uint64_t)_i & 1), *derived = NULL;
  const size_t text = mica_dataset_column_index(dataset, "SMS");
  mica_tokenizer *tokenizer = NULL;
  mica_encoding encoding = {0};
  int at = 0;
  ck_ok(mica_tokenizer_train(&(mica_tokenizer_config){.size = 300}, next_text, &at, &tokenizer));
  for (uint64_t i = 0; i < SAMPLES; i++) {
    char bytes[MOST];
    int64_t length = 0;
    ck_ok(mica_dataset_length(dataset, text, i, &length));
    if (length) ck_ok(mica_dataset_read(dataset, text, i, bytes, (size_t)length));
    ck_ok(mica_tokenizer_encode(tokenizer, bytes, (size_t)length, NULL, &encoding));
    for (size_t k = 0; k < encoding.count; k++) wanted[i][k] = ids[(size_t)offsets[i] + k] = encoding.ids[k];
    offsets[i + 1] = offsets[i] + (int64_t)encoding.count;
    lengths[i] = (int32_t)encoding.count;
  }
  const mica_column_data tokens = {.column = {.name = "tokens",
                                              .kind = MICA_COLUMN_KIND_TOKENS,
                                              .dtype = MICA_I32,
                                              .shape = {1, {MICA_DYNAMIC}},
                                              .classes = mica_tokenizer_size(tokenizer)},
                                   .data = ids,
                                   .offsets = offsets};
  ck_ok(mica_dataset_derive(dataset, &tokens, 1, &derived));
  check_batches(derived, "tokens", 4, (const int32_t(*)[MOST])wanted, lengths, _i & 2);
  mica_encoding_free(&encoding);
  mica_tokenizer_destroy(tokenizer);
  mica_dataset_destroy(derived);
  mica_dataset_destroy(dataset);
}
END_TEST

#endif

TEST_GROUPS(DEVICE, ONCE(write_table, files_remove, LOOP(texts_come_out_right, 0, 4),
                         IF(CJSON, IF(PCRE2, LOOP(tokens_come_out_right, 0, 4)))))
