/* labels: null single
 *
 * Weights by name from all that models come in: one safetensors file, an index and its files, a folder, GGUF. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/gguf.h>
#include <mica/safetensors.h>
#include <mica/status.h>
#include <mica/weights.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float numbers[6] = {1, -2, 3, -4, 5, -6};

static void write_safetensors(const char *name, const char *first, const char *second) {
  mica_safetensors_entry entries[2] = {
      {.name = first, .dtype = MICA_F32, .shape = {2, {2, 3}}, .data = numbers, .bytes = sizeof numbers},
      {.name = second, .dtype = MICA_BF16, .shape = {1, {3}}, .data = numbers, .bytes = 6}};
  ck_ok(mica_safetensors_write(files_path(name), entries, second ? 2 : 1, NULL, 0));
}

static void write_gguf(const char *name) {
  const mica_weight_entry entry = {
      .name = "w", .dtype = MICA_F32, .shape = {2, {2, 3}}, .data = numbers, .bytes = sizeof numbers};
  ck_ok(mica_gguf_write(files_path(name), NULL, 0, &entry, 1));
}

static mica_weights *opened(const char *name, size_t count) {
  mica_weights *weights = NULL;
  ck_ok(mica_weights_open(files_path(name), &weights));
  ck_assert_uint_eq(mica_weights_count(weights), count);
  for (size_t i = 0; i < count; i++) {
    const mica_weight_entry *entry = mica_weights_at(weights, i);
    const mica_weight_file *file = mica_weights_file_at(weights, entry->file);
    ck_assert_ptr_eq(mica_weights_find(weights, entry->name), entry);
    ck_assert((const char *)entry->data >= (const char *)file->data &&
              (const char *)entry->data + entry->bytes <= (const char *)file->data + file->bytes);
    ck_assert_ptr_nonnull(strstr(file->path, "/"));
  }
  ck_assert_ptr_null(mica_weights_at(weights, count));
  ck_assert_ptr_null(mica_weights_find(weights, "nowhere"));
  ck_assert_ptr_null(mica_weights_find(weights, NULL));
  ck_assert_ptr_null(mica_weights_file_at(weights, mica_weights_file_count(weights)));
  return weights;
}

static void fails(const char *name, mica_status status, const char *reason) {
  mica_weights *weights = NULL;
  const mica_status got = mica_weights_open(files_path(name), &weights);
  ck_assert_msg(got == status, "%s: %d, %s", name, got, mica_error_message());
  ck_assert_msg(strstr(mica_error_message(), reason) != NULL, "%s: %s", name, mica_error_message());
}

START_TEST(a_file_of_either_format_is_known_by_its_content) {
  write_safetensors("weights.bin", "a", "b");
  write_gguf("other.bin");
  mica_weights *weights = opened("weights.bin", 2);
  ck_assert_ptr_null(mica_weights_gguf(weights));
  ck_assert_str_eq(mica_weights_find(weights, "b")->type, "BF16");
  ck_assert_int_eq(mica_weights_find(weights, "b")->dtype, MICA_BF16);
  ck_assert(!memcmp(mica_weights_find(weights, "a")->data, numbers, sizeof numbers));
  mica_weights_close(weights);
  weights = opened("other.bin", 1);
  ck_assert_uint_eq(mica_gguf_tensor_count(mica_weights_gguf(weights)), 1);
  /* Each owner closes; the last one ends it. */
  ck_assert_ptr_eq(mica_weights_retain(weights), weights);
  mica_weights_close(weights);
  ck_assert(!memcmp(mica_weights_find(weights, "w")->data, numbers, sizeof numbers));
  mica_weights_close(weights);
  mica_weights_close(NULL);
  ck_assert_ptr_null(mica_weights_retain(NULL));
}
END_TEST

static int warnings;
static char warning[500];
static void count_warnings(void *user, mica_log_level level, const char *message) {
  (void)user;
  warnings += level == MICA_LOG_LEVEL_WARNING;
  snprintf(warning, sizeof warning, "%s", message);
}

#define INDEX(total, a, b, c)                                                                                          \
  "{\"metadata\": {\"total_size\": " total "}, \"weight_map\": {\"c\": \"" c "\", \"a\": \"" a "\", \"b\": \"" b "\"}" \
  "}"

START_TEST(an_index_opens_all_its_files) {
  write_safetensors("i/m-2.safetensors", "a", "b");
  write_safetensors("i/m-1.safetensors", "c", NULL);
  files_write_text("i/m.safetensors.index.json", INDEX("54", "m-2.safetensors", "m-2.safetensors", "m-1.safetensors"));
  warnings = 0;
  mica_log_set(MICA_LOG_LEVEL_WARNING, count_warnings, NULL);
  mica_weights *weights = opened("i/m.safetensors.index.json", 3);
  ck_assert_int_eq(warnings, 0);
  ck_assert_uint_eq(mica_weights_file_count(weights), 2);
  ck_assert_str_eq(mica_weights_at(weights, 0)->name, "c");
  mica_weights_close(weights);
  weights = opened("i", 3);
  mica_weights_close(weights);
  /* A wrong total is a warning. */
  files_write_text("i/m.safetensors.index.json", INDEX("55", "m-2.safetensors", "m-2.safetensors", "m-1.safetensors"));
  mica_weights_close(opened("i", 3));
  mica_log_set(MICA_LOG_LEVEL_ERROR, NULL, NULL);
  ck_assert_int_eq(warnings, 1);
  ck_assert_ptr_nonnull(strstr(warning, "total_size is 55, but the tensors have 54 bytes"));
}
END_TEST

START_TEST(an_index_that_does_not_fit_is_refused) {
  write_safetensors("j/m-2.safetensors", "a", "b");
  write_safetensors("j/m-1.safetensors", "c", NULL);
  static const struct {
    const char *text;
    mica_status status;
    const char *reason;
  } cases[] = {
      {INDEX("54", "m-2.safetensors", "m-3.safetensors", "m-1.safetensors"), MICA_E_NOT_FOUND, "j/m-3.safetensors"},
      {INDEX("54", "m-2.safetensors", "m-1.safetensors", "m-1.safetensors"), MICA_E_FORMAT,
       "tensor \"b\" is in * but the index says m-1.safetensors"},
      {"{\"weight_map\": {\"a\": \"m-2.safetensors\", \"c\": \"m-1.safetensors\"}}", MICA_E_FORMAT,
       "j/m-2.safetensors: tensor \"b\" is not in the index"},
      {"{\"weight_map\": {\"c\": \"m-1.safetensors\", \"d\": \"m-1.safetensors\"}}", MICA_E_FORMAT,
       "tensor \"d\" is not in m-1.safetensors, where the index says it is"},
      {INDEX("54", "../m-2.safetensors", "m-2.safetensors", "m-1.safetensors"), MICA_E_FORMAT,
       "tensor \"a\" is in \"../m-2.safetensors\"; name a file of the index's folder"},
      {INDEX("54", "m-2.safetensors", "/m-2.safetensors", "m-1.safetensors"), MICA_E_FORMAT,
       "name a file of the index's folder"},
      {INDEX("54", "m-2.safetensors", "x\\\\m-2.safetensors", "m-1.safetensors"), MICA_E_FORMAT,
       "name a file of the index's folder"},
      {INDEX("54", "m-2.bin", "m-2.safetensors", "m-1.safetensors"), MICA_E_FORMAT, "not a safetensors file"},
      {INDEX("54", ".safetensors", "m-2.safetensors", "m-1.safetensors"), MICA_E_FORMAT, "not a safetensors file"},
      {INDEX("54", "", "m-2.safetensors", "m-1.safetensors"), MICA_E_FORMAT, "not a safetensors file"},
      {INDEX("54", "a\\u0000.safetensors", "m-2.safetensors", "m-1.safetensors"), MICA_E_FORMAT, "U+0000"},
      {"{\"weight_map\": {\"a\": 1}}", MICA_E_FORMAT,
       "weight_map must give the name of a file for tensor \"a\", as a string"},
      {"{\"weight_map\": {\"a\": \"m-2.safetensors\", \"a\": \"m-1.safetensors\"}}", MICA_E_FORMAT,
       "weight_map has \"a\" twice"},
      {"{\"weight_map\": {}, \"weight_map\": {}}", MICA_E_FORMAT, "the index has \"weight_map\" twice"},
      {"{\"weight_map\": {}}", MICA_E_FORMAT, "it has no weight_map"},
      {"{\"weight_map\": []}", MICA_E_FORMAT, "it has no weight_map"},
      {"{\"model_type\": \"llama\"}", MICA_E_FORMAT, "it has no weight_map"},
      {"{\"weight_map\": {\"\xe4\": \"m-1.safetensors\"}}", MICA_E_FORMAT, "not UTF-8"},
      {"{\"weight_map\": {\"a\"", MICA_E_FORMAT, "it is not a JSON object"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char reason[200];
    snprintf(reason, sizeof reason, "%s", cases[i].reason);
    char *star = strchr(reason, '*');
    if (star) *star = 0;
    files_write_text("j/model.safetensors.index.json", cases[i].text);
    fails("j/model.safetensors.index.json", cases[i].status, reason);
    if (star) ck_assert_msg(strstr(mica_error_message(), star + 1) != NULL, "%s", mica_error_message());
  }
}
END_TEST

START_TEST(a_tensor_that_two_files_have_is_refused) {
  write_safetensors("k/m-1.safetensors", "a", "b");
  write_safetensors("k/m-2.safetensors", "b", NULL);
  files_write_text("k/model.safetensors.index.json",
                   "{\"weight_map\": {\"a\": \"m-1.safetensors\", \"b\": \"m-2.safetensors\"}}");
  fails("k", MICA_E_FORMAT, "the tensor \"b\" is there twice");
}
END_TEST

START_TEST(a_folder_has_one_set_of_weights) {
  files_write_text("f/config.json", "{}");
  fails("f", MICA_E_NOT_FOUND, "has neither a safetensors nor a GGUF file");
  files_write_text("f/pytorch_model.bin", "x");
  fails("f", MICA_E_NOT_FOUND, "pytorch_model files, which can run code; convert them to safetensors");
  write_gguf("f/z.gguf");
  mica_weights_close(opened("f", 1));
  write_gguf("f/y.gguf");
  fails("f", MICA_E_NOT_FOUND, "has 2 files that end in .gguf; name one of them");
  write_safetensors("f/other.safetensors", "a", "b");
  mica_weights_close(opened("f", 2));
  write_safetensors("f/more.safetensors", "a", "b");
  fails("f", MICA_E_NOT_FOUND, "has 2 files that end in .safetensors; name one of them");
  write_safetensors("f/model.safetensors", "a", NULL);
  mica_weights_close(opened("f", 1));
  files_write_text("f/x.safetensors.index.json", "{}");
  mica_weights_close(opened("f", 1));
  files_write_text("f/model.safetensors.index.json", "{}");
  fails("f", MICA_E_FORMAT, "it has no weight_map");
  /* The first shard stands for all of a GGUF file. */
  files_write_text("g/m-00002-of-00002.gguf", "x");
  fails("g", MICA_E_NOT_FOUND, "nor a GGUF file");
  files_write_text("g/m-00001-of-00002.gguf", "x");
  fails("g", MICA_E_FORMAT, "m-00001-of-00002.gguf");
}
END_TEST

START_TEST(wrong_calls_are_refused) {
  mica_weights *weights = NULL;
  ck_assert_int_eq(mica_weights_open(NULL, &weights), MICA_E_INVALID);
  ck_assert_int_eq(mica_weights_open("x", NULL), MICA_E_INVALID);
  fails("nothing.gguf", MICA_E_NOT_FOUND, "nothing.gguf");
  files_write_text("empty", "");
  fails("empty", MICA_E_FORMAT, "empty");
  files_write_text("short", "GGUF");
  fails("short", MICA_E_FORMAT, "truncated");
  /* Zeros are no blanks before an index. */
  files_write("zeros", "        \0\0{\"weight_map\": {}}", 28);
  fails("zeros", MICA_E_FORMAT, "it begins with a header size of");
  files_write_text("other.gguf", "{\"a\": 1}");
  fails("other.gguf", MICA_E_FORMAT, "it is not a GGUF file");
}
END_TEST

TESTS(NEEDS(CJSON), NULL, NULL, a_file_of_either_format_is_known_by_its_content, an_index_opens_all_its_files,
      an_index_that_does_not_fit_is_refused, a_tensor_that_two_files_have_is_refused, a_folder_has_one_set_of_weights,
      wrong_calls_are_refused)
