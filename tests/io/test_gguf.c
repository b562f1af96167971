/* labels: null single
 *
 * GGUF files: what is written comes back, and what the format forbids is refused with the file, the place and the
 * reason. Files are put together here byte by byte, beside Mica's writer. */
#include "base/text.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/gguf.h>
#include <mica/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- files byte by byte --- */

static void put(mica__text *file, uint64_t number, size_t width) {
  char bytes[8];
  for (size_t i = 0; i < width; i++) bytes[i] = (char)(unsigned char)(number >> (8 * i));
  mica__text_add_bytes(file, bytes, width);
}

static void put_text(mica__text *file, const char *text) {
  put(file, strlen(text), 8);
  mica__text_add(file, text);
}

static void put_header(mica__text *file, uint64_t version, uint64_t tensors, uint64_t keys) {
  mica__text_add(file, "GGUF");
  put(file, version, 4);
  put(file, tensors, 8);
  put(file, keys, 8);
}

/* A key of one U32. */
static void put_u32(mica__text *file, const char *key, uint32_t number) {
  put_text(file, key);
  put(file, MICA_GGUF_KIND_U32, 4);
  put(file, number, 4);
}

static void put_tensor(mica__text *file, const char *name, uint64_t columns, uint64_t rows, uint32_t type,
                       uint64_t offset) {
  put_text(file, name);
  put(file, 2, 4);
  put(file, columns, 8);
  put(file, rows, 8);
  put(file, type, 4);
  put(file, offset, 8);
}

static void put_data(mica__text *file, size_t alignment, size_t bytes) {
  while (file->length % alignment) mica__text_add_bytes(file, "", 1);
  for (size_t i = 0; i < bytes; i++) mica__text_add_bytes(file, "x", 1);
}

static mica_gguf *opened(const mica__text *file) {
  mica_gguf *gguf = NULL;
  ck_assert(!file->failed);
  ck_ok(mica_gguf_open_memory("x.gguf", file->data, file->length, &gguf));
  return gguf;
}

/* --- values and tensors --- */

START_TEST(all_kinds_of_values_come_back) {
  mica__text file = {0};
  put_header(&file, 2, 0, 13);
  static const struct {
    const char *key;
    mica_gguf_kind kind;
    uint64_t bits;
    size_t width;
    int64_t integer;
    double number;
  } cases[] = {{"u8", MICA_GGUF_KIND_U8, 200, 1, 200, 200},
               {"i8", MICA_GGUF_KIND_I8, 0xfe, 1, -2, -2},
               {"u16", MICA_GGUF_KIND_U16, 0xfffe, 2, 65534, 65534},
               {"i16", MICA_GGUF_KIND_I16, 0xfffe, 2, -2, -2},
               {"u32", MICA_GGUF_KIND_U32, 0xfffffffe, 4, 4294967294, 4294967294.0},
               {"i32", MICA_GGUF_KIND_I32, 0xfffffffe, 4, -2, -2},
               {"f32", MICA_GGUF_KIND_F32, 0x3fc00000, 4, 0, 1.5},
               {"bool", MICA_GGUF_KIND_BOOL, 1, 1, 1, 1},
               {"u64", MICA_GGUF_KIND_U64, UINT64_MAX, 8, INT64_MAX, 0x1p64},
               {"i64", MICA_GGUF_KIND_I64, UINT64_MAX, 8, -1, -1},
               {"f64", MICA_GGUF_KIND_F64, 0x3fe0000000000000, 8, 0, 0.5}};
  const size_t count = sizeof cases / sizeof *cases;
  for (size_t i = 0; i < count; i++) {
    put_text(&file, cases[i].key);
    put(&file, cases[i].kind, 4);
    put(&file, cases[i].bits, cases[i].width);
  }
  put_text(&file, "text");
  put(&file, MICA_GGUF_KIND_TEXT, 4);
  put_text(&file, "gr\xc3\xbc\xc3\x9f");
  put_text(&file, "nothing");
  put(&file, MICA_GGUF_KIND_TEXT, 4);
  put_text(&file, "");
  mica_gguf *gguf = opened(&file);
  ck_assert_uint_eq(mica_gguf_key_count(gguf), 13);
  for (size_t i = 0; i < count; i++) {
    const mica_gguf_value *value = mica_gguf_find(gguf, cases[i].key);
    ck_assert_msg(value == mica_gguf_key_at(gguf, i) && value->kind == cases[i].kind && !value->array, "%s",
                  cases[i].key);
    ck_assert_str_eq(mica_gguf_kind_name(value->kind), cases[i].key);
    ck_assert_int_eq(mica_gguf_integer(value, 0), cases[i].integer);
    ck_assert_double_eq(mica_gguf_number(value, 0), cases[i].number);
    ck_assert_int_eq(mica_gguf_integer(value, 1), 0);
    ck_assert_double_eq(mica_gguf_number(value, 1), 0);
    ck_assert_uint_eq(mica_gguf_text_at(value, 0).length, 0);
  }
  mica_gguf_text text = mica_gguf_text_at(mica_gguf_find(gguf, "text"), 0);
  ck_assert(text.length == 6 && !memcmp(text.bytes, "gr\xc3\xbc\xc3\x9f", 6));
  ck_assert_uint_eq(mica_gguf_text_at(mica_gguf_find(gguf, "nothing"), 0).length, 0);
  ck_assert_ptr_null(mica_gguf_find(gguf, "missing"));
  ck_assert_int_eq(mica_gguf_integer(NULL, 0), 0);
  ck_assert_double_eq(mica_gguf_number(NULL, 0), 0);
  ck_assert_str_eq(mica_gguf_text_at(NULL, 0).bytes, "");
  ck_assert_ptr_null(mica_gguf_array_at(NULL, 0));
  ck_assert_ptr_null(mica_gguf_key_at(gguf, 13));
  ck_assert_str_eq(mica_gguf_kind_name(MICA_GGUF_KIND_COUNT), "?");
  mica_gguf_close(gguf);
  mica__text_free(&file);
}
END_TEST

/* An array of arrays: [[1, 2], []] of U16, and texts. */
static void put_arrays(mica__text *file) {
  put_text(file, "nested");
  put(file, MICA_GGUF_KIND_ARRAY, 4);
  put(file, MICA_GGUF_KIND_ARRAY, 4);
  put(file, 2, 8);
  put(file, MICA_GGUF_KIND_U16, 4);
  put(file, 2, 8);
  put(file, 1, 2);
  put(file, 2, 2);
  put(file, MICA_GGUF_KIND_U16, 4);
  put(file, 0, 8);
  put_text(file, "texts");
  put(file, MICA_GGUF_KIND_ARRAY, 4);
  put(file, MICA_GGUF_KIND_TEXT, 4);
  put(file, 3, 8);
  put_text(file, "a");
  put_text(file, "");
  put_text(file, "\xff bytes");
}

START_TEST(arrays_come_back) {
  mica__text file = {0};
  put_header(&file, 3, 0, 2);
  put_arrays(&file);
  mica_gguf *gguf = opened(&file);
  const mica_gguf_value *nested = mica_gguf_find(gguf, "nested"), *texts = mica_gguf_find(gguf, "texts");
  ck_assert(nested->array && nested->kind == MICA_GGUF_KIND_ARRAY && nested->count == 2);
  ck_assert_uint_eq(mica_gguf_array_at(nested, 0)->count, 2);
  ck_assert_int_eq(mica_gguf_integer(mica_gguf_array_at(nested, 0), 1), 2);
  ck_assert_uint_eq(mica_gguf_array_at(nested, 1)->count, 0);
  ck_assert_ptr_null(mica_gguf_array_at(nested, 2));
  ck_assert_ptr_null(mica_gguf_array_at(texts, 0));
  ck_assert(texts->array && texts->kind == MICA_GGUF_KIND_TEXT && texts->count == 3);
  ck_assert(mica_gguf_text_at(texts, 2).length == 7 && !memcmp(mica_gguf_text_at(texts, 2).bytes, "\xff bytes", 7));
  ck_assert_str_eq(mica_gguf_text_at(texts, 3).bytes, "");
  mica_gguf_close(gguf);
  mica__text_free(&file);
}
END_TEST

START_TEST(tensors_have_their_outermost_dimension_first) {
  mica__text file = {0};
  put_header(&file, 3, 4, 1);
  put_u32(&file, "general.alignment", 64);
  put_tensor(&file, "blocks", 32, 3, 2, 64);
  put_tensor(&file, "numbers", 5, 2, 30, 0);
  put_tensor(&file, "foreign", 256, 1, 23, 192);
  put_tensor(&file, "empty", 7, 0, 0, 0);
  put_data(&file, 64, 192 + 136);
  mica_gguf *gguf = opened(&file);
  const mica_weight_entry *blocks = mica_gguf_tensor(gguf, 0), *numbers = mica_gguf_tensor(gguf, 1);
  const mica_weight_entry *foreign = mica_gguf_tensor(gguf, 2), *empty = mica_gguf_tensor(gguf, 3);
  ck_assert_uint_eq(mica_gguf_tensor_count(gguf), 4);
  ck_assert_str_eq(blocks->name, "blocks");
  ck_assert_str_eq(blocks->type, "Q4_0");
  ck_assert(blocks->block == MICA_BLOCK_Q4_0 && blocks->dtype == MICA_DTYPE_COUNT && blocks->bytes == 3 * 18);
  ck_assert(mica_shape_equal(blocks->shape, MICA_SHAPE(3, 32)));
  ck_assert(numbers->block == MICA_BLOCK_NONE && numbers->dtype == MICA_BF16 && numbers->bytes == 20);
  ck_assert(mica_shape_equal(numbers->shape, MICA_SHAPE(2, 5)));
  ck_assert_int_eq((const char *)blocks->data - (const char *)numbers->data, 64);
  ck_assert_str_eq(foreign->type, "IQ4_XS");
  ck_assert(foreign->block == MICA_BLOCK_NONE && foreign->dtype == MICA_DTYPE_COUNT && foreign->bytes == 136);
  ck_assert(empty->bytes == 0 && mica_shape_equal(empty->shape, MICA_SHAPE(0, 7)));
  ck_assert_ptr_null(mica_gguf_tensor(gguf, 4));
  ck_assert_uint_eq(mica_gguf_file_count(gguf), 1);
  ck_assert_str_eq(mica_gguf_file_at(gguf, 0)->path, "x.gguf");
  ck_assert_uint_eq(mica_gguf_file_at(gguf, 0)->bytes, file.length);
  mica_gguf_close(gguf);
  mica__text_free(&file);
}
END_TEST

/* --- what is refused --- */

static void many_keys(mica__text *f) { put_header(f, 3, 0, UINT64_MAX / 2); }
static void many_tensors(mica__text *f) { put_header(f, 3, (uint64_t)1 << 60, 1); }
static void no_magic(mica__text *f) { mica__text_add(f, "GGML\3"); }
static void cut_version(mica__text *f) { mica__text_add_bytes(f, "GGUF\3", 5); }
static void cut_counts(mica__text *f) { mica__text_add_bytes(f, "GGUF\3\0\0\0\1\0\0", 11); }
static void version_1(mica__text *f) { put_header(f, 1, 0, 0); }
static void version_4(mica__text *f) { put_header(f, 4, 0, 0); }
static void big_endian(mica__text *f) { put_header(f, 0x03000000, 0, 0); }
static void big_endian_2(mica__text *f) { put_header(f, 0x02000000, 0, 0); }

static void put_value(mica__text *f, const char *key, mica_gguf_kind kind) {
  put_header(f, 3, 0, 1);
  put_text(f, key);
  put(f, kind, 4);
}
static void long_text(mica__text *f) {
  put_value(f, "k", MICA_GGUF_KIND_TEXT);
  put(f, UINT64_MAX, 8);
}
static void cut_number(mica__text *f) {
  put_value(f, "k", MICA_GGUF_KIND_U64);
  put(f, 1, 7);
}
static void put_array(mica__text *f, mica_gguf_kind kind, uint64_t count) {
  put_value(f, "k", MICA_GGUF_KIND_ARRAY);
  put(f, kind, 4);
  put(f, count, 8);
}
static void long_array(mica__text *f) { put_array(f, MICA_GGUF_KIND_U64, (uint64_t)1 << 61); }
static void long_texts(mica__text *f) {
  put_array(f, MICA_GGUF_KIND_TEXT, 2);
  put_text(f, "1234567");
}
static void long_last_text(mica__text *f) {
  put_array(f, MICA_GGUF_KIND_TEXT, 1);
  put(f, 1, 8);
}
static void long_arrays(mica__text *f) { put_array(f, MICA_GGUF_KIND_ARRAY, UINT64_MAX / 12); }
static void deep_arrays(mica__text *f) {
  put_array(f, MICA_GGUF_KIND_ARRAY, 1);
  for (int i = 0; i < 4; i++) put(f, MICA_GGUF_KIND_ARRAY, 4), put(f, 1, 8);
}
static void unknown_kind(mica__text *f) { put_value(f, "k", MICA_GGUF_KIND_COUNT); }
static void odd_bool(mica__text *f) {
  put_array(f, MICA_GGUF_KIND_BOOL, 2);
  mica__text_add_bytes(f, "\1\2", 2);
}
static void key_twice(mica__text *f) {
  put_header(f, 3, 0, 3);
  put_u32(f, "k", 1);
  put_u32(f, "a", 1);
  put_u32(f, "k", 1);
}
static void empty_key(mica__text *f) {
  put_header(f, 3, 0, 1);
  put_u32(f, "", 1);
  put(f, 0, 8);
}
static void latin_key(mica__text *f) {
  put_header(f, 3, 0, 1);
  put_u32(f, "\xe4", 1);
}
static void zero_in_key(mica__text *f) {
  put_header(f, 3, 0, 1);
  put(f, 3, 8);
  mica__text_add_bytes(f, "a\0b", 3);
  put(f, 0, 8);
}
static void long_key(mica__text *f) {
  put_header(f, 3, 0, 1);
  put(f, 65536, 8);
  put_data(f, 1, 65536);
  put(f, 0, 8);
}
static void odd_alignment(mica__text *f) {
  put_header(f, 3, 0, 1);
  put_u32(f, "general.alignment", 48);
}
static void zero_alignment(mica__text *f) {
  put_header(f, 3, 0, 1);
  put_u32(f, "general.alignment", 0);
}
static void large_alignment(mica__text *f) {
  put_header(f, 3, 0, 1);
  put_u32(f, "general.alignment", 8192);
}
static void alignment_as_text(mica__text *f) {
  put_value(f, "general.alignment", MICA_GGUF_KIND_TEXT);
  put_text(f, "32");
}

static void put_one(mica__text *f, const char *name, uint64_t columns, uint64_t rows, uint32_t type, uint64_t offset,
                    size_t data) {
  put_header(f, 3, 1, 0);
  put_tensor(f, name, columns, rows, type, offset);
  put_data(f, 32, data);
}
static void long_name(mica__text *f) {
  put_one(f, "a2345678901234567890123456789012345678901234567890123456789012345", 1, 1, 0, 0, 32);
}
static void empty_name(mica__text *f) { put_one(f, "", 1, 1, 0, 0, 32); }
static void latin_name(mica__text *f) { put_one(f, "\xe4", 1, 1, 0, 0, 32); }
static void name_twice(mica__text *f) {
  put_header(f, 3, 2, 0);
  put_tensor(f, "w", 1, 1, 0, 0);
  put_tensor(f, "w", 1, 1, 0, 32);
  put_data(f, 32, 64);
}
static void rank_5(mica__text *f) {
  put_header(f, 3, 1, 0);
  put_text(f, "w");
  put(f, 5, 4);
  for (int i = 0; i < 5; i++) put(f, 1, 8);
  put(f, 0, 4);
  put(f, 0, 8);
}
static void large_dimension(mica__text *f) { put_one(f, "w", UINT64_MAX, 1, 0, 0, 32); }
static void large_product(mica__text *f) { put_one(f, "w", (uint64_t)1 << 40, (uint64_t)1 << 40, 0, 0, 32); }
static void large_bytes(mica__text *f) { put_one(f, "w", (uint64_t)1 << 31, (uint64_t)1 << 31, 0, 0, 32); }
static void unknown_type(mica__text *f) { put_one(f, "w", 32, 1, 99, 0, 32); }
static void removed_type(mica__text *f) { put_one(f, "w", 32, 1, 31, 0, 32); }
static void half_blocks(mica__text *f) { put_one(f, "w", 48, 2, 2, 0, 64); }
static void scalar_block(mica__text *f) {
  put_header(f, 3, 1, 0);
  put_text(f, "w");
  put(f, 0, 4);
  put(f, 8, 4);
  put(f, 0, 8);
}
static void odd_offset(mica__text *f) { put_one(f, "w", 4, 1, 0, 16, 64); }
static void past_the_end(mica__text *f) { put_one(f, "w", 8, 2, 0, 0, 63); }
static void far_offset(mica__text *f) { put_one(f, "w", 1, 1, 0, UINT64_MAX - 31, 32); }
static void no_data(mica__text *f) {
  put_header(f, 3, 1, 0);
  put_tensor(f, "w", 1, 1, 0, 0);
}
static void overlap(mica__text *f) {
  put_header(f, 3, 3, 0);
  put_tensor(f, "a", 16, 1, 0, 0);
  put_tensor(f, "c", 8, 1, 0, 64);
  put_tensor(f, "b", 8, 1, 0, 32);
  put_data(f, 32, 96);
}
static void cut_tensor(mica__text *f) {
  put_header(f, 3, 1, 0);
  put_tensor(f, "a-name-of-some-length", 16, 1, 0, 0);
  f->length -= 9;
}

START_TEST(what_the_format_forbids_is_refused_with_the_reason) {
  static const struct {
    void (*make)(mica__text *file);
    const char *reason;
  } cases[] = {
      {no_magic, "does not begin with GGUF"},
      {cut_version, "truncated: the version"},
      {cut_counts, "truncated: the number of tensors"},
      {version_1, "the file is GGUF version 1, but Mica reads 2 and 3"},
      {version_4, "GGUF version 4"},
      {big_endian, "a big-endian GGUF file; convert it"},
      {big_endian_2, "a big-endian GGUF file"},
      {many_keys, "do not fit 24 bytes"},
      {many_tensors, "do not fit 24 bytes"},
      {long_text, "key \"k\": the file is truncated: a text"},
      {cut_number, "key \"k\": the file is truncated: 1 elements of the kind u64"},
      {long_array, "2305843009213693952 elements of the kind u64"},
      {long_texts, "2 elements of the kind text"},
      {long_last_text, "truncated: a text at byte"},
      {long_arrays, "elements of the kind array"},
      {deep_arrays, "nested more than 4 deep"},
      {unknown_kind, "key \"k\": a value is of the unknown kind 13"},
      {odd_bool, "key \"k\": element 1 is 2, but a bool must be 0 or 1"},
      {key_twice, "the key \"k\" is there twice"},
      {empty_key, "a key is empty"},
      {latin_key, "a key is not UTF-8"},
      {zero_in_key, "a key has the character U+0000"},
      {long_key, "has 65536 bytes, but may have at most 65535"},
      {odd_alignment, "is 48, but must be a power of two up to 4096"},
      {zero_alignment, "is 0, but must be a power of two"},
      {large_alignment, "is 8192, but must be a power of two"},
      {alignment_as_text, "must be one number of the kind u32"},
      {long_name, "has 65 bytes, but may have at most 64"},
      {empty_name, "the name of a tensor is empty"},
      {latin_name, "the name of a tensor is not UTF-8"},
      {name_twice, "the tensor \"w\" is there twice"},
      {rank_5, "tensor \"w\": the rank is 5, but must be at most 4"},
      {large_dimension, "tensor \"w\": a dimension of 18446744073709551615 elements"},
      {large_product, "takes 2^63 bytes or more"},
      {large_bytes, "F32 (2147483648, 2147483648) takes 2^63 bytes or more"},
      {unknown_type, "tensor \"w\": it is of the unknown type 99"},
      {removed_type, "it is of type 31, Q4_0_4_4, which GGUF no longer has"},
      {half_blocks, "rows of 48 elements are not a whole number of blocks of Q4_0, which have 32"},
      {scalar_block, "rows of 1 elements are not a whole number of blocks of Q8_0"},
      {odd_offset, "its offset 16 is not a multiple of the alignment, 32"},
      {past_the_end, "tensor \"w\": the file is truncated: its 64 bytes"},
      {far_offset, "tensor \"w\": the file is truncated"},
      {no_data, "tensor \"w\": the file is truncated"},
      {overlap, "tensor \"b\" overlaps tensor \"a\""},
      {cut_tensor, "truncated"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica__text file = {0};
    mica_gguf *gguf = NULL;
    cases[i].make(&file);
    /* A block of exactly its size, so that the address sanitizer sees a byte read too far. */
    char *exact = malloc(file.length);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, file.data, file.length);
    const mica_status status = mica_gguf_open_memory("x.gguf", exact, file.length, &gguf);
    ck_assert_msg(status == MICA_E_FORMAT && !gguf, "accepted: %s", cases[i].reason);
    const char *said = mica_error_message();
    ck_assert_msg(strstr(said, cases[i].reason) && strstr(said, "x.gguf"), "%s: %s", cases[i].reason, said);
    free(exact);
    mica__text_free(&file);
  }
}
END_TEST

START_TEST(a_file_cut_at_any_byte_is_refused) {
  mica__text file = {0};
  put_header(&file, 3, 1, 3);
  put_u32(&file, "number", 7);
  put_arrays(&file);
  put_tensor(&file, "w", 8, 1, 0, 0);
  put_data(&file, 32, 32);
  mica_gguf_close(opened(&file));
  for (size_t bytes = 0; bytes < file.length; bytes++) {
    mica_gguf *gguf = NULL;
    char *exact = malloc(bytes + 1);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, file.data, bytes);
    ck_assert_int_eq(mica_gguf_open_memory("x.gguf", exact, bytes, &gguf), MICA_E_FORMAT);
    free(exact);
  }
  mica__text_free(&file);
}
END_TEST

START_TEST(wrong_calls_are_refused) {
  mica_gguf *gguf = NULL;
  ck_assert_int_eq(mica_gguf_open(NULL, &gguf), MICA_E_INVALID);
  ck_assert_int_eq(mica_gguf_open("x", NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_gguf_open_memory("x", NULL, 1, &gguf), MICA_E_INVALID);
  ck_assert_int_eq(mica_gguf_open_memory(NULL, "", 0, &gguf), MICA_E_INVALID);
  ck_assert_int_eq(mica_gguf_open_memory("x", NULL, 0, &gguf), MICA_E_FORMAT);
  ck_assert_int_eq(mica_gguf_open("/nowhere/x.gguf", &gguf), MICA_E_NOT_FOUND);
  ck_assert_int_eq(mica_gguf_open("/nowhere/x-00001-of-00002.gguf", &gguf), MICA_E_NOT_FOUND);
  mica_gguf_close(NULL);
}
END_TEST

START_TEST(block_types_have_names_and_sizes) {
  ck_assert_str_eq(mica_block_name(MICA_BLOCK_Q4_K), "q4_k");
  ck_assert_str_eq(mica_block_name(MICA_BLOCK_NONE), "");
  ck_assert_str_eq(mica_block_name(MICA_BLOCK_COUNT), "?");
  ck_assert_int_eq(mica_block_named("mxfp4"), MICA_BLOCK_MXFP4);
  ck_assert_int_eq(mica_block_named("q3_k"), MICA_BLOCK_COUNT);
  ck_assert_int_eq(mica_block_named(""), MICA_BLOCK_COUNT);
  ck_assert_int_eq(mica_block_named(NULL), MICA_BLOCK_COUNT);
  ck_assert_int_eq(mica_block_elements(MICA_BLOCK_Q6_K), 256);
  ck_assert_int_eq(mica_block_elements(MICA_BLOCK_NONE), 1);
  ck_assert_int_eq(mica_block_elements(MICA_BLOCK_COUNT), 0);
  ck_assert_uint_eq(mica_block_bytes(MICA_BLOCK_Q6_K), 210);
  ck_assert_uint_eq(mica_block_bytes(MICA_BLOCK_COUNT), 0);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, all_kinds_of_values_come_back, arrays_come_back,
      tensors_have_their_outermost_dimension_first, what_the_format_forbids_is_refused_with_the_reason,
      a_file_cut_at_any_byte_is_refused, wrong_calls_are_refused, block_types_have_names_and_sizes)
