/* labels: null single
 *
 * Arrays that are written come back equal, byte for byte as NumPy writes them; what is no npy is refused. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ck_failed(call, status, sentence)                                                                              \
  do {                                                                                                                 \
    ck_assert_int_eq(call, status);                                                                                    \
    ck_assert_msg(strstr(mica_error_message(), sentence) != NULL, "%s", mica_error_message());                         \
  } while (0)

/* A file as numpy.save writes it: the dictionary, blanks, a line feed at 127, the elements, of which "<" stands for the
 * host's order. */
static size_t numpy_file(const char *descr, const char *shape, const void *data, size_t bytes, char *file) {
  char text[128];
  memset(file, ' ', 128);
  memcpy(file, "\x93NUMPY\x01\x00v\x00", 10);
  const char order = *descr == '<' && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? '>' : *descr;
  int n =
      snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': False, 'shape': %s, }", order, descr + 1, shape);
  memcpy(file + 10, text, (size_t)n);
  file[127] = '\n';
  memcpy(file + 128, data, bytes);
  return 128 + bytes;
}

static const int16_t numbers[6] = {0, 1, -2, 3, 4, 32767};
static const double half = 0.5;
static const bool flags[3] = {true, false, true};

static const struct {
  mica_dtype dtype;
  mica_shape shape;
  const void *data;
  size_t bytes;
  const char *descr, *text;
} arrays[] = {
    {MICA_I16, {2, {2, 3}}, numbers, sizeof numbers, "<i2", "(2, 3)"},
    {MICA_F64, {0}, &half, sizeof half, "<f8", "()"},
    {MICA_BOOL, {1, {3}}, flags, sizeof flags, "|b1", "(3,)"},
    {MICA_U8, {3, {1, 6, 2}}, numbers, sizeof numbers, "|u1", "(1, 6, 2)"},
    {MICA_F32, {2, {0, 4}}, &half, 0, "<f4", "(0, 4)"},
    {MICA_F64, {3, {(int64_t)1 << 40, (int64_t)1 << 40, 0}}, &half, 0, "<f8", "(1099511627776, 1099511627776, 0)"},
    {MICA_F64, {3, {0, (int64_t)1 << 40, (int64_t)1 << 40}}, &half, 0, "<f8", "(0, 1099511627776, 1099511627776)"},
};
#define ARRAYS ((int)(sizeof arrays / sizeof *arrays))

START_TEST(files_are_numpys) {
  char want[256];
  size_t size = 0, bytes = numpy_file(arrays[_i].descr, arrays[_i].text, arrays[_i].data, arrays[_i].bytes, want);
  ck_ok(mica_npy_write(files_path("a.npy"), arrays[_i].dtype, arrays[_i].shape, arrays[_i].data));
  uint8_t *got = files_read(files_path("a.npy"), &size);
  ck_assert_uint_eq(size, bytes);
  ck_assert_mem_eq(got, want, bytes);
  free(got);
}
END_TEST

START_TEST(files_come_back) {
  char file[256];
  mica_dtype dtype;
  mica_shape shape;
  void *data = NULL;
  size_t bytes = numpy_file(arrays[_i].descr, arrays[_i].text, arrays[_i].data, arrays[_i].bytes, file);
  files_write("b.npy", file, bytes);
  ck_ok(mica_npy_read(files_path("b.npy"), &dtype, &shape, &data));
  ck_assert_int_eq(dtype, arrays[_i].dtype);
  ck_assert(mica_shape_equal(shape, arrays[_i].shape));
  if (arrays[_i].bytes) ck_assert_mem_eq(data, arrays[_i].data, arrays[_i].bytes);
  mica_free(data);
}
END_TEST

/* numpy.save of arrays of dtype ">i2", ">f4", ">f8", ">u1". */
START_TEST(highest_bytes_first_are_read) {
  static const uint8_t i2[] = {0, 1, 0xff, 0xfe}, f4[] = {0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0};
  static const uint8_t f8[] = {0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18};
  static const int16_t integers[] = {1, -2};
  static const float floats[] = {1.5F, -2};
  static const double pi = 3.141592653589793;
  static const struct {
    const char *descr, *shape;
    const uint8_t *file;
    const void *want;
    size_t bytes;
    mica_dtype dtype;
  } swapped[] = {{">i2", "(2,)", i2, integers, 4, MICA_I16},
                 {">f4", "(2,)", f4, floats, 8, MICA_F32},
                 {">f8", "()", f8, &pi, 8, MICA_F64},
                 {">u1", "(4,)", i2, i2, 4, MICA_U8}};
  for (size_t i = 0; i < sizeof swapped / sizeof *swapped; i++) {
    char file[256];
    mica_dtype dtype;
    mica_shape shape;
    void *data = NULL;
    files_write("h.npy", file, numpy_file(swapped[i].descr, swapped[i].shape, swapped[i].file, swapped[i].bytes, file));
    ck_ok(mica_npy_read(files_path("h.npy"), &dtype, &shape, &data));
    ck_assert_int_eq(dtype, swapped[i].dtype);
    ck_assert_mem_eq(data, swapped[i].want, swapped[i].bytes);
    mica_free(data);
  }
}
END_TEST

START_TEST(what_cannot_be_is_refused) {
  char file[256];
  mica_dtype dtype;
  mica_shape shape;
  void *data = NULL;
  ck_failed(mica_npy_write(files_path("c.npy"), MICA_BF16, MICA_SHAPE(1), numbers), MICA_E_DTYPE, "no type for bf16");
  ck_failed(mica_npy_write(NULL, MICA_F32, MICA_SHAPE(1), numbers), MICA_E_INVALID, "NULL");
  ck_failed(mica_npy_read(files_path("none.npy"), &dtype, &shape, &data), MICA_E_NOT_FOUND, "none.npy");
  size_t bytes = numpy_file("<i2", "(2, 4)", numbers, sizeof numbers, file);
  files_write("d.npy", file, bytes);
  ck_failed(mica_npy_read(files_path("d.npy"), &dtype, &shape, &data), MICA_E_FORMAT,
            "is truncated: it has 12 bytes of data");
  files_write("e.npy", "no array at all", 15);
  ck_failed(mica_npy_read(files_path("e.npy"), &dtype, &shape, &data), MICA_E_FORMAT, "not an npy file");
}
END_TEST

/* Headers, and a part of the sentence for those that are refused; the data are six bytes. */
static const struct {
  const char *header, *sentence;
} headers[] = {
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }", NULL},
    {"{\"shape\":(2,3,),\"fortran_order\":False,\"descr\":\"|u1\"}\n", NULL},
    {" { 'shape' : ( 6L , ) , 'descr' : '|u1' , 'fortran_order' : False } \n", NULL},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (2, 4), }", "is truncated: it has 6 bytes of data"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (1099511627776, 1099511627776), }", "is truncated: it has 6"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (1099511627776, 1099511627776, 0), }", "has 6 bytes more than"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }", "has 1 bytes more than its u8 (5) needs"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (6,), 'shape': (2,), }", "two values of 'shape'"},
    {"{'descr': '|u1', 'fortran_order': False, 'x': '\\'shape\\': (9, 9)', 'shape': (6,), }", "unknown key 'x'"},
    {"{'descr': \"'shape': (9, 9)\", 'fortran_order': False, 'shape': (6,), }", "elements of type \"'shape': (9, 9)\""},
    {"{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (6,), }", "not the name of a type"},
    {"{'descr': '|u1', 'fortran_order': False, }", "no 'shape'"},
    {"{'fortran_order': False, 'shape': (6,), }", "no 'descr'"},
    {"{'descr': '|u1', 'fortran_order': 0, 'shape': (6,), }", "must be True or False"},
    {"{'descr': '|u1', 'fortran_order': True, 'shape': (6,), }", "Fortran"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (6), }", "no valid shape"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (-6,), }", "no valid shape"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (,), }", "no valid shape"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 6), }", "at most 8 dimensions"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,), }", "no valid shape"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (6,), } x", "goes on after its dictionary"},
    {"{'descr': '|u1' 'fortran_order': False, 'shape': (6,), }", "neither a comma nor '}' after the value of 'descr'"},
    {"'descr': '|u1'", "not an npy header"},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (6,), ", "not an npy header"},
    {"{'descr': '=u1', 'fortran_order': False, 'shape': (6,), }", "elements of type '=u1'"},
    {"{'descr': '|i2', 'fortran_order': False, 'shape': (3,), }", "elements of type '|i2'"},
    {"{'descr': '', 'fortran_order': False, 'shape': (3,), }", "elements of type ''"},
    {"", "not an npy header"},
};
#define HEADERS ((int)(sizeof headers / sizeof *headers))

START_TEST(headers_are_dictionaries) {
  char file[256] = "\x93NUMPY\x01";
  size_t n = strlen(headers[_i].header);
  mica_dtype dtype;
  mica_shape shape;
  void *data = NULL;
  file[8] = (char)n;
  memcpy(file + 10, headers[_i].header, n);
  memcpy(file + 10 + n, "abcdef", 6);
  files_write("f.npy", file, 10 + n + 6);
  if (headers[_i].sentence) {
    ck_failed(mica_npy_read(files_path("f.npy"), &dtype, &shape, &data), MICA_E_FORMAT, headers[_i].sentence);
    return;
  }
  ck_ok(mica_npy_read(files_path("f.npy"), &dtype, &shape, &data));
  ck_assert_int_eq(dtype, MICA_U8);
  ck_assert_mem_eq(data, "abcdef", 6);
  mica_free(data);
}
END_TEST

START_TEST(versions_and_bools_are_looked_at) {
  char file[256];
  mica_dtype dtype;
  mica_shape shape;
  void *data = NULL;
  size_t bytes = numpy_file("|b1", "(3,)", flags, sizeof flags, file);
  file[130] = 2;
  files_write("g.npy", file, bytes);
  ck_failed(mica_npy_read(files_path("g.npy"), &dtype, &shape, &data), MICA_E_FORMAT,
            "element 2 is 2, but a bool must be 0 or 1");
  file[6] = file[7] = 9;
  files_write("g.npy", file, bytes);
  ck_failed(mica_npy_read(files_path("g.npy"), &dtype, &shape, &data), MICA_E_FORMAT, "version 9.9");
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(files_are_numpys, 0, ARRAYS), LOOP(files_come_back, 0, ARRAYS),
      highest_bytes_first_are_read, what_cannot_be_is_refused, LOOP(headers_are_dictionaries, 0, HEADERS),
      versions_and_bools_are_looked_at)
