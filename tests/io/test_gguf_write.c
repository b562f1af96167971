/* labels: null single
 *
 * GGUF files that are written: equal bytes for equal input, everything back when it is read, and a sentence for what
 * the format cannot hold. Shards of GGUF files, which Mica reads. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/gguf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const float numbers[6] = {1, -2, 3, -4, 5, -6};
static const uint8_t blocks[36] = {1, 2, 3};
static const uint8_t foreign[18] = {9};
static const mica_gguf_text texts[] = {{"a", 1}, {NULL, 0}, {"gr\xc3\xbc\xc3\x9f", 6}};
static const uint16_t shorts[] = {1, 65535};
static const uint8_t bools[] = {1, 0};
static const double half = 0.5;
static const uint32_t alignment = 64;
static const mica_gguf_value inner[] = {
    {.kind = MICA_GGUF_KIND_U16, .array = true, .count = 2, .data = shorts},
    {.kind = MICA_GGUF_KIND_TEXT, .array = true, .count = 0},
};
static const mica_gguf_value keys[] = {
    {.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = texts},
    {.key = "half", .kind = MICA_GGUF_KIND_F64, .count = 1, .data = &half},
    {.key = "general.alignment", .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &alignment},
    {.key = "texts", .kind = MICA_GGUF_KIND_TEXT, .array = true, .count = 3, .data = texts},
    {.key = "bools", .kind = MICA_GGUF_KIND_BOOL, .array = true, .count = 2, .data = bools},
    {.key = "nested", .kind = MICA_GGUF_KIND_ARRAY, .array = true, .count = 2, .data = inner},
};
#define KEYS (sizeof keys / sizeof *keys)
static const mica_weight_entry entries[] = {
    {.name = "numbers", .dtype = MICA_F32, .shape = {2, {2, 3}}, .data = numbers, .bytes = sizeof numbers},
    {.name = "blocks",
     .dtype = MICA_DTYPE_COUNT,
     .block = MICA_BLOCK_Q4_0,
     .shape = {2, {2, 32}},
     .data = blocks,
     .bytes = sizeof blocks},
    {.name = "foreign",
     .type = "IQ4_NL",
     .dtype = MICA_DTYPE_COUNT,
     .shape = {1, {32}},
     .data = foreign,
     .bytes = sizeof foreign},
    {.name = "scalar", .dtype = MICA_I64, .data = &half, .bytes = 8},
    {.name = "nothing", .dtype = MICA_BF16, .shape = {2, {0, 5}}},
};
#define ENTRIES (sizeof entries / sizeof *entries)

START_TEST(what_is_written_comes_back) {
  const char *path = files_path("x.gguf");
  mica_gguf *file = NULL;
  ck_ok(mica_gguf_write(path, keys, KEYS, entries, ENTRIES));
  ck_ok(mica_gguf_open(path, &file));
  ck_assert_uint_eq(mica_gguf_key_count(file), KEYS);
  for (size_t i = 0; i < KEYS; i++) {
    const mica_gguf_value *value = mica_gguf_find(file, keys[i].key);
    ck_assert_ptr_eq(value, mica_gguf_key_at(file, i));
    ck_assert(value->kind == keys[i].kind && value->array == keys[i].array && value->count == keys[i].count);
  }
  ck_assert_double_eq(mica_gguf_number(mica_gguf_find(file, "half"), 0), 0.5);
  ck_assert_int_eq(mica_gguf_integer(mica_gguf_find(file, "bools"), 0), 1);
  ck_assert_uint_eq(mica_gguf_text_at(mica_gguf_find(file, "texts"), 2).length, 6);
  ck_assert_int_eq(mica_gguf_integer(mica_gguf_array_at(mica_gguf_find(file, "nested"), 0), 1), 65535);
  ck_assert_int_eq(mica_gguf_array_at(mica_gguf_find(file, "nested"), 1)->kind, MICA_GGUF_KIND_TEXT);
  for (size_t i = 0; i < ENTRIES; i++) {
    const mica_weight_entry *got = mica_gguf_tensor(file, i);
    ck_assert_str_eq(got->name, entries[i].name);
    ck_assert(got->dtype == entries[i].dtype && got->block == entries[i].block && got->bytes == entries[i].bytes);
    ck_assert(mica_shape_equal(got->shape, entries[i].shape));
    ck_assert(!got->bytes || !memcmp(got->data, entries[i].data, got->bytes));
    ck_assert(!got->bytes || ((const char *)got->data - (const char *)mica_gguf_file_at(file, 0)->data) % 64 == 0);
  }
  ck_assert_str_eq(mica_gguf_tensor(file, 2)->type, "IQ4_NL");
#ifdef _WIN32 /* which refuses to replace a mapped file */
  mica_gguf_close(file);
  ck_ok(mica_gguf_write(path, NULL, 0, NULL, 0));
#else
  /* A file that is open stays readable while another takes its place. */
  ck_ok(mica_gguf_write(path, NULL, 0, NULL, 0));
  ck_assert(!memcmp(mica_gguf_tensor(file, 0)->data, numbers, sizeof numbers));
  mica_gguf_close(file);
#endif
  ck_ok(mica_gguf_open(path, &file));
  ck_assert(mica_gguf_key_count(file) == 0 && mica_gguf_tensor_count(file) == 0);
  mica_gguf_close(file);
}
END_TEST

START_TEST(what_the_format_cannot_hold_is_not_written) {
  const char *path = files_path("never.gguf");
  static char long_name[66];
  memset(long_name, 'a', sizeof long_name - 1);
  static const mica_gguf_text null_text = {NULL, 3};
  static const uint8_t odd_bool = 2;
  static const uint32_t odd_alignment = 48;
  static const mica_gguf_value one = {.kind = MICA_GGUF_KIND_U8, .count = 1, .data = bools};
  mica_gguf_value nests[5];
  for (int i = 0; i < 5; i++)
    nests[i] = (mica_gguf_value){.kind = MICA_GGUF_KIND_ARRAY, .array = true, .count = 1, .data = &nests[i + 1]};
  nests[4] = (mica_gguf_value){.kind = MICA_GGUF_KIND_U8, .array = true, .count = 1, .data = bools};
  const struct {
    mica_gguf_value keys[2];
    const char *reason;
  } wrong_keys[] = {
      {{{.key = NULL, .kind = MICA_GGUF_KIND_U8, .count = 1, .data = bools}}, "key 0 has no name"},
      {{{.key = "", .kind = MICA_GGUF_KIND_U8, .count = 1, .data = bools}}, "a key is empty"},
      {{{.key = "\xff", .kind = MICA_GGUF_KIND_U8, .count = 1, .data = bools}}, "a key is not UTF-8"},
      {{{.key = "k", .kind = MICA_GGUF_KIND_U8, .count = 2, .data = bools}}, "has 2 elements of the kind"},
      {{{.key = "k", .kind = MICA_GGUF_KIND_U8, .count = 1}}, "the data of key \"k\" is NULL"},
      {{{.key = "k", .kind = MICA_GGUF_KIND_COUNT, .count = 1, .data = bools}}, "has the unknown kind"},
      {{{.key = "k", .kind = MICA_GGUF_KIND_ARRAY, .count = 1, .data = &one}}, "is not an array"},
      {{{.key = "k", .kind = MICA_GGUF_KIND_ARRAY, .array = true, .count = 1, .data = nests}}, "more than 4 deep"},
      {{{.key = "k", .kind = MICA_GGUF_KIND_BOOL, .count = 1, .data = &odd_bool}}, "neither 0 nor 1"},
      {{{.key = "k", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &null_text}}, "text 0 of key \"k\" is NULL"},
      {{{.key = "general.alignment", .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &odd_alignment}},
       "but must be a power of two"},
      {{{.key = "general.alignment", .kind = MICA_GGUF_KIND_U32, .count = 1}}, "must have one value"},
      {{{.key = "k", .kind = MICA_GGUF_KIND_U8, .count = 1, .data = bools},
        {.key = "k", .kind = MICA_GGUF_KIND_U8, .count = 1, .data = bools}},
       "the key \"k\" is there twice"},
  };
  for (size_t i = 0; i < sizeof wrong_keys / sizeof *wrong_keys; i++) {
    ck_assert_int_eq(mica_gguf_write(path, wrong_keys[i].keys, wrong_keys[i].keys[1].key ? 2 : 1, NULL, 0),
                     MICA_E_INVALID);
    ck_assert_msg(strstr(mica_error_message(), wrong_keys[i].reason) != NULL, "%s", mica_error_message());
  }
  mica_weight_entry wrong[] = {entries[0], entries[0], entries[0], entries[0], entries[0],
                               entries[1], entries[2], entries[0], entries[0], entries[0]};
  wrong[0].name = NULL;
  wrong[1].name = long_name;
  wrong[2].bytes--;
  wrong[3].data = NULL;
  wrong[4].dtype = MICA_BOOL;
  wrong[5].shape = MICA_SHAPE(2, 48);
  wrong[6].type = "IQ9_XXS";
  wrong[7].shape = MICA_SHAPE(1, 1, 1, 2, 3);
  wrong[8].shape.rank = -1;
  wrong[9].block = MICA_BLOCK_COUNT;
  static const char *const reasons[] = {"tensor 0 has no name",
                                        "has 65 bytes, but may have at most 64",
                                        "tensor \"numbers\" has 23 bytes",
                                        "the data of tensor \"numbers\" is NULL",
                                        "a type that GGUF lacks, b8",
                                        "cannot hold tensor \"blocks\" as Q4_0 (2, 48)",
                                        "a type that GGUF lacks",
                                        "cannot hold tensor \"numbers\" as F32 (1, 1, 1, 2, 3)",
                                        "cannot hold",
                                        "lacks"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_int_eq(mica_gguf_write(path, NULL, 0, &wrong[i], 1), MICA_E_INVALID);
    ck_assert_msg(strstr(mica_error_message(), reasons[i]) != NULL, "%zu: %s", i, mica_error_message());
  }
  const mica_weight_entry twice[] = {entries[0], entries[0]};
  ck_assert_int_eq(mica_gguf_write(path, NULL, 0, twice, 2), MICA_E_INVALID);
  ck_assert_int_eq(mica_error_status(), MICA_E_INVALID);
  ck_assert_int_eq(mica_gguf_write(NULL, NULL, 0, NULL, 0), MICA_E_INVALID);
  ck_assert_int_eq(mica_gguf_write(path, NULL, 1, NULL, 0), MICA_E_INVALID);
  ck_assert_int_eq(mica_gguf_write(path, NULL, 0, NULL, 1), MICA_E_INVALID);
  ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* --- shards --- */

/* Writes shard `no` (from 0) of `count` as NAME with one tensor; all: what split.tensors.count says. */
static void write_shard(const char *name, uint16_t no, uint16_t count, const char *tensor, int32_t all) {
  const mica_gguf_text architecture = {"llama", 5};
  const mica_gguf_value split[] = {
      {.key = "split.no", .kind = MICA_GGUF_KIND_U16, .count = 1, .data = &no},
      {.key = "split.count", .kind = MICA_GGUF_KIND_U16, .count = 1, .data = &count},
      {.key = "split.tensors.count", .kind = MICA_GGUF_KIND_I32, .count = 1, .data = &all},
      {.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &architecture}};
  mica_weight_entry entry = entries[0];
  entry.name = tensor;
  ck_ok(mica_gguf_write(files_path(name), split, no ? 3 : 4, &entry, 1));
}

static void fails(const char *name, mica_status status, const char *reason) {
  mica_gguf *file = NULL;
  ck_assert_msg(mica_gguf_open(files_path(name), &file) == status, "%s: %s", name, mica_error_message());
  ck_assert_msg(strstr(mica_error_message(), reason) != NULL, "%s: %s", name, mica_error_message());
}

START_TEST(the_first_shard_opens_all) {
  mica_gguf *file = NULL;
  write_shard("m-00001-of-00002.gguf", 0, 2, "a", 2);
  write_shard("m-00002-of-00002.gguf", 1, 2, "b", 2);
  ck_ok(mica_gguf_open(files_path("m-00001-of-00002.gguf"), &file));
  ck_assert_uint_eq(mica_gguf_tensor_count(file), 2);
  ck_assert_uint_eq(mica_gguf_file_count(file), 2);
  ck_assert_ptr_null(mica_gguf_file_at(file, 2));
  ck_assert_str_eq(mica_gguf_tensor(file, 1)->name, "b");
  ck_assert_uint_eq(mica_gguf_tensor(file, 1)->file, 1);
  ck_assert(!memcmp(mica_gguf_tensor(file, 1)->data, numbers, sizeof numbers));
  ck_assert_ptr_nonnull(mica_gguf_find(file, "general.architecture"));
  mica_gguf_close(file);
}
END_TEST

START_TEST(shards_that_do_not_fit_are_refused) {
  write_shard("a-00001-of-00002.gguf", 0, 2, "a", 2);
  fails("a-00001-of-00002.gguf", MICA_E_NOT_FOUND, "a-00002-of-00002.gguf");
  write_shard("a-00002-of-00002.gguf", 1, 3, "b", 2);
  fails("a-00001-of-00002.gguf", MICA_E_FORMAT,
        "shard 2 of 2, so its key split.no must be 1 and split.count 2, but they are 1 and 3");
  write_shard("a-00002-of-00002.gguf", 0, 2, "b", 2);
  fails("a-00001-of-00002.gguf", MICA_E_FORMAT, "but they are 0 and 2");
  write_shard("a-00002-of-00002.gguf", 1, 2, "a", 2);
  fails("a-00001-of-00002.gguf", MICA_E_FORMAT, "the tensor \"a\" is there twice");
  fails("a-00002-of-00002.gguf", MICA_E_FORMAT, "is shard 2 of 2; open the first one");
  write_shard("b-00001-of-00001.gguf", 0, 1, "a", 7);
  fails("b-00001-of-00001.gguf", MICA_E_FORMAT, "its 1 shards have 1 tensors, but its key split.tensors.count is 7");
  write_shard("c.gguf", 1, 3, "a", 2);
  fails("c.gguf", MICA_E_FORMAT, "is shard 2 of 3, but its name does not end in -00002-of-00003.gguf");
  const mica_gguf_text zero = {"0", 1};
  const uint16_t two = 2;
  const mica_gguf_value wrong[] = {
      {.key = "split.no", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &zero},
      {.key = "split.count", .kind = MICA_GGUF_KIND_U16, .count = 1, .data = &two},
      {.key = "general.architecture", .kind = MICA_GGUF_KIND_TEXT, .count = 1, .data = &zero}};
  ck_ok(mica_gguf_write(files_path("e-00001-of-00002.gguf"), wrong, 3, &entries[0], 1));
  write_shard("e-00002-of-00002.gguf", 1, 2, "b", 2);
  fails("e-00001-of-00002.gguf", MICA_E_FORMAT, "but they are not an integer and 2");
  ck_ok(mica_gguf_write(files_path("d-00001-of-00002.gguf"), keys, KEYS, NULL, 0));
  fails("d-00001-of-00002.gguf", MICA_E_FORMAT, "lacks the key split.no or split.count");
  fails("d-00003-of-00002.gguf", MICA_E_FORMAT, "its name says shard 3 of 2");
  fails("d-00000-of-00002.gguf", MICA_E_FORMAT, "its name says shard 0 of 2");
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, what_is_written_comes_back, what_the_format_cannot_hold_is_not_written,
      the_first_shard_opens_all, shards_that_do_not_fit_are_refused)
