/* labels: null single
 *
 * Files of weights are the same bytes whichever host writes them: a little-endian one's, byte for byte, are read and
 * written by every host. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/wire.h"

#include <mica/compress.h>
#include <mica/gguf.h>
#include <mica/io.h>
#include <mica/mica.h>
#include <mica/onnx.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS 2

static const float f32[ELEMENTS] = {1.5F, -2};

/* Two elements of each type, as the host holds them and as files do. */
#define TYPE(name, onnx, type, first, second, file)                                                                    \
  { #name, MICA_##name, onnx, (const type[ELEMENTS]){first, second }, file }
static const struct {
  const char *name; /* of the type in safetensors */
  mica_dtype dtype;
  int onnx;
  const void *host;
  const char *file;
} types[] = {
    TYPE(F64, 11, double, 3.141592653589793, -2, "\x18\x2d\x44\x54\xfb\x21\x09\x40\x00\x00\x00\x00\x00\x00\x00\xc0"),
    TYPE(U64, 13, uint64_t, 1, 0x0102030405060708, "\x01\x00\x00\x00\x00\x00\x00\x00\x08\x07\x06\x05\x04\x03\x02\x01"),
    TYPE(I64, 7, int64_t, -2, 258, "\xfe\xff\xff\xff\xff\xff\xff\xff\x02\x01\x00\x00\x00\x00\x00\x00"),
    TYPE(F32, 1, float, 1.5F, -2, "\x00\x00\xc0\x3f\x00\x00\x00\xc0"),
    TYPE(U32, 12, uint32_t, 1, 0xfffffffe, "\x01\x00\x00\x00\xfe\xff\xff\xff"),
    TYPE(I32, 6, int32_t, -2, 0x01020304, "\xfe\xff\xff\xff\x04\x03\x02\x01"),
    TYPE(F16, 10, uint16_t, 0x3e00, 0xc000, "\x00\x3e\x00\xc0"),
    TYPE(BF16, 16, uint16_t, 0x3fc0, 0xc000, "\xc0\x3f\x00\xc0"),
    TYPE(U16, 4, uint16_t, 1, 0xfffe, "\x01\x00\xfe\xff"),
    TYPE(I16, 5, int16_t, -2, 258, "\xfe\xff\x02\x01"),
    TYPE(I8, 3, int8_t, -2, 127, "\xfe\x7f"),
    TYPE(U8, 2, uint8_t, 1, 254, "\x01\xfe"),
    TYPE(BOOL, 9, bool, true, false, "\x01\x00"),
};
#define TYPES (sizeof types / sizeof *types)

static size_t bytes_of(size_t type) { return ELEMENTS * mica_dtype_size(types[type].dtype); }

/* The metadata of a file that Mica writes: its hash is the same on hosts of either byte order. */
#define HASHED(hash) "{\"__metadata__\":{\"mica.hash\":\"" hash "\"},"

/* The safetensors file of all types, a tensor each. */
static mica__text weights_file(void) {
  mica__text header = {0}, file = {0};
  size_t at = 0;
  for (size_t i = 0; i < TYPES; i++) {
    mica__text_addf(&header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[2],\"data_offsets\":[%zu,%zu]}",
                    i ? "," : HASHED("31447acac367105adbe72dcd8ee6fef2"), types[i].name, types[i].name, at,
                    at + bytes_of(i));
    at += bytes_of(i);
  }
  mica__text_add(&header, "}");
  while (header.length % 8) mica__text_add(&header, " ");
  const unsigned char size[8] = {(unsigned char)header.length, (unsigned char)(header.length >> 8)};
  mica__text_add_bytes(&file, (const char *)size, sizeof size);
  mica__text_add_bytes(&file, header.data, header.length);
  for (size_t i = 0; i < TYPES; i++) mica__text_add_bytes(&file, types[i].file, bytes_of(i));
  ck_ok(mica__text_status(&file));
  mica__text_free(&header);
  return file;
}

static void same_file(const char *name, const void *want, size_t bytes) {
  size_t size = 0;
  uint8_t *got = files_read(files_path(name), &size);
  ck_assert_uint_eq(size, bytes);
  ck_assert_mem_eq(got, want, bytes);
  free(got);
}

#if MICA_WITH_CJSON
START_TEST(safetensors) {
  mica__text want = weights_file();
  mica_safetensors *file = NULL;
  mica_safetensors_entry entries[TYPES];
  files_write("a.safetensors", want.data, want.length);
  ck_ok(mica_safetensors_open(files_path("a.safetensors"), &file));
  ck_assert_uint_eq(mica_safetensors_count(file), TYPES);
  for (size_t i = 0; i < TYPES; i++) {
    const mica_safetensors_entry *found = mica_safetensors_find(file, types[i].name);
    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(found->dtype, types[i].dtype);
    ck_assert_uint_eq(found->bytes, bytes_of(i));
    ck_assert_msg(!memcmp(found->data, types[i].host, found->bytes), "%s is read wrongly", types[i].name);
    entries[i] = (mica_safetensors_entry){.name = types[i].name,
                                          .dtype = types[i].dtype,
                                          .shape = MICA_SHAPE(ELEMENTS),
                                          .data = types[i].host,
                                          .bytes = bytes_of(i)};
  }
  mica_safetensors_close(file);
  ck_ok(mica_safetensors_write(files_path("b.safetensors"), entries, TYPES, NULL, 0));
  same_file("b.safetensors", want.data, want.length);
  mica__text_free(&want);
}
END_TEST

/* A network's weights into the tensors of a session, and out of them. */
START_TEST(networks) {
  static const char header[] =
      HASHED("72e618eb54e84047866eb48efea13cc2") "\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}  ";
  char want[8 + sizeof header - 1 + 8] = {sizeof header - 1};
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  float got[ELEMENTS] = {0};
  memcpy(want + 8, header, sizeof header - 1);
  memcpy(want + 8 + sizeof header - 1, "\x00\x00\xc0\x3f\x00\x00\x00\xc0", 8);
  files_write("c.safetensors", want, sizeof want);
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
  mica_value y = mica_exp(mica_nn_parameter(nn, "w", MICA_SHAPE(ELEMENTS), NULL));
  ck_ok(mica_graph_status(graph));
  ck_ok(mica_session_create(engine, graph, &y, 1, NULL, &session));
  ck_ok(mica_nn_load(nn, session, files_path("c.safetensors"), NULL));
  mica_tensor *w = mica_session_parameter(session, "w");
  ck_assert_ptr_nonnull(w);
  ck_ok(mica_tensor_download(mica_engine_queue(engine), w, got, sizeof got));
  ck_assert_mem_eq(got, f32, sizeof got);
  ck_ok(mica_nn_save(nn, session, files_path("d.safetensors"), NULL, 0));
  same_file("d.safetensors", want, sizeof want);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
}
END_TEST
#endif

/* The element types of safetensors that GGUF has, each a tensor, and numbers of two widths as values. */
START_TEST(gguf_files) {
  static const uint32_t number = 0x01020304;
  static const uint16_t pair[] = {0x0102, 0x0304};
  const mica_gguf_value keys[] = {{.key = "number", .kind = MICA_GGUF_KIND_U32, .count = 1, .data = &number},
                                  {.key = "pair", .kind = MICA_GGUF_KIND_U16, .array = true, .count = 2, .data = pair}};
  mica_weight_entry entries[TYPES];
  size_t count = 0, size = 0, kept[TYPES];
  for (size_t i = 0; i < TYPES; i++)
    if (types[i].dtype != MICA_BOOL && mica_dtype_kind_of(types[i].dtype) != MICA_DTYPE_KIND_UNSIGNED) {
      kept[count] = i;
      entries[count++] = (mica_weight_entry){.name = types[i].name,
                                             .dtype = types[i].dtype,
                                             .shape = MICA_SHAPE(ELEMENTS),
                                             .data = types[i].host,
                                             .bytes = bytes_of(i)};
    }
  ck_assert_uint_eq(count, 8);
  ck_ok(mica_gguf_write(files_path("a.gguf"), keys, 2, entries, count));
  uint8_t *file = files_read(files_path("a.gguf"), &size);
  ck_assert_mem_eq(file + 24 + 8 + 6 + 4, "\4\3\2\1", 4);
  ck_assert_mem_eq(file + 24 + 22 + 8 + 4 + 4 + 4 + 8, "\2\1\4\3", 4);
  for (size_t i = 0; i < count; i++)
    ck_assert_mem_eq(file + size - 32 * (count - i), types[kept[i]].file, bytes_of(kept[i]));
  mica_gguf *gguf = NULL;
  ck_ok(mica_gguf_open_memory("a.gguf", file, size, &gguf));
  ck_assert_int_eq(mica_gguf_integer(mica_gguf_find(gguf, "number"), 0), number);
  ck_assert_int_eq(mica_gguf_integer(mica_gguf_find(gguf, "pair"), 1), pair[1]);
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(!memcmp(mica_gguf_tensor(gguf, i)->data, types[kept[i]].host, bytes_of(kept[i])),
                  "%s is read wrongly", types[kept[i]].name);
  mica_gguf_close(gguf);
  free(file);
}
END_TEST

/* Written in the host's order, which the header names; read in either (those of highest bytes first: io.npy). */
START_TEST(npy) {
  static const struct {
    const char *descr;
    size_t type;
  } arrays[] = {{"<f8", 0}, {"<u8", 1}, {"<i8", 2}, {"<f4", 3},  {"<u4", 4},  {"<i4", 5},
                {"<f2", 6}, {"<u2", 8}, {"<i2", 9}, {"|i1", 10}, {"|u1", 11}, {"|b1", 12}};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    const size_t type = arrays[i].type, bytes = bytes_of(type);
    char file[144];
    mica_dtype dtype;
    mica_shape shape;
    void *data = NULL;
    memset(file, ' ', sizeof file);
    memcpy(file, "\x93NUMPY\x01\x00v\x00", 10);
    const int n = snprintf(file + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }", arrays[i].descr);
    file[10 + n] = ' ';
    file[127] = '\n';
    memcpy(file + 128, types[type].file, bytes);
    files_write("a.npy", file, 128 + bytes);
    ck_ok(mica_npy_read(files_path("a.npy"), &dtype, &shape, &data));
    ck_assert_int_eq(dtype, types[type].dtype);
    ck_assert(mica_shape_equal(shape, MICA_SHAPE(ELEMENTS)));
    ck_assert_msg(!memcmp(data, types[type].host, bytes), "%s is read wrongly", arrays[i].descr);
    mica_free(data);
  }
}
END_TEST

#ifdef MICA_WITH_ONNX
static const int64_t shape_two[] = {ELEMENTS, -1};

START_TEST(onnx_tensors) {
  for (size_t i = 0; i < TYPES; i++) {
    mica_dtype dtype;
    mica_shape shape;
    void *data = NULL;
    mica__text tensor = wire_tensor("w", types[i].onnx, shape_two, NULL, 0);
    wire_bytes(&tensor, 9, types[i].file, bytes_of(i));
    files_write("w.pb", tensor.data, tensor.length);
    mica__text_free(&tensor);
    ck_ok(mica_onnx_tensor_read(files_path("w.pb"), &dtype, &shape, &data));
    ck_assert_int_eq(dtype, types[i].dtype);
    ck_assert_msg(!memcmp(data, types[i].host, bytes_of(i)), "%s is read wrongly", types[i].name);
    mica_free(data);
  }
}
END_TEST

/* The initial value of a model, whose elements begin with these of the host. */
static void holds(const char *path, const char *wanted, mica_dtype want, const void *host, size_t bytes) {
  mica_onnx *model = NULL;
  const char *name = NULL;
  mica_dtype dtype;
  mica_shape shape;
  void *data = NULL;
  ck_ok(mica_onnx_open(path, &model));
  for (size_t i = 0; !name || strcmp(name, wanted) != 0; i++) {
    mica_free(data);
    ck_ok(mica_onnx_initial_read(model, i, &name, &dtype, &shape, &data));
    ck_assert_msg(name != NULL, "there is no '%s'", wanted);
  }
  ck_assert_int_eq(dtype, want);
  ck_assert_mem_eq(data, host, bytes);
  mica_free(data);
  mica_onnx_close(model);
}

/* True where the file has these bytes. */
static bool contains(const char *name, const void *bytes, size_t count) {
  size_t size = 0;
  uint8_t *data = files_read(files_path(name), &size);
  bool found = false;
  for (size_t i = 0; !found && i + count <= size; i++) found = !memcmp(data + i, bytes, count);
  free(data);
  return found;
}

/* Weights of a written model, in the file and beside it. */
START_TEST(onnx_models) {
  for (int beside = 0; beside < 2; beside++) {
    float weights[300];
    unsigned char bytes[sizeof weights];
    mica_graph *graph = NULL;
    for (int i = 0; i < 300; i++) {
      weights[i] = f32[i % 2];
      memcpy(bytes + i * 4, types[3].file + i % 2 * 4, 4);
    }
    ck_ok(mica_graph_create(&graph));
    mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 300));
    mica_value y = mica_mul(x, mica_named(mica_constant(graph, MICA_F32, MICA_SHAPE(300), weights), "w"));
    const mica_onnx_write_config how = {.external_bytes = beside ? 1000 : 0};
    ck_ok(mica_onnx_write(files_path("m.onnx"), &y, 1, &how));
    mica_graph_destroy(graph);
    holds(files_path("m.onnx"), "w", MICA_F32, weights, sizeof weights);
    ck_assert_int_eq(contains("m.onnx", bytes, sizeof bytes), !beside);
    if (beside) same_file("m.onnx.data", bytes, sizeof bytes);
  }
}
END_TEST

/* A weight of a model beside its file. */
static mica__text outside(const char *name, const int64_t *dims, const char *offset) {
  mica__text tensor = wire_tensor(name, 1, dims, NULL, 0);
  const char *pairs[][2] = {{"location", "q.bin"}, {"offset", offset}};
  for (size_t i = 0; i < 2; i++) {
    mica__text pair = {0};
    wire_text(&pair, 1, pairs[i][0]);
    wire_text(&pair, 2, pairs[i][1]);
    wire_inside(&tensor, 13, &pair);
  }
  wire_int(&tensor, 14, 1);
  return tensor;
}

/* Pairs of quantisation get initial values of their own, and what lies beside a model comes into it. */
START_TEST(onnx_pairs) {
  enum { ROWS = 64, COLUMNS = 8 };
  static const int64_t x_dims[] = {WIRE_OPEN, ROWS, -1}, y_dims[] = {WIRE_OPEN, COLUMNS, -1};
  static const int64_t w_dims[] = {ROWS, COLUMNS, -1}, b_dims[] = {COLUMNS, -1};
  unsigned char beside[(ROWS + 1) * COLUMNS * 4];
  float scales[COLUMNS], bias[COLUMNS];
  /* Columns of 63.5, -63.5 and so on: steps of a half. Behind them the bias, 1.5 and -2. */
  for (int i = 0; i < ROWS * COLUMNS; i++) memcpy(beside + i * 4, i / COLUMNS % 2 ? "\0\0\x7e\xc2" : "\0\0\x7e\x42", 4);
  for (int i = 0; i < COLUMNS; i++) {
    memcpy(beside + (ROWS * COLUMNS + i) * 4, types[3].file + i % 2 * 4, 4);
    scales[i] = 0.5F, bias[i] = f32[i % 2];
  }
  mica__text graph = {0}, x = wire_port("x", 1, x_dims), y = wire_port("y", 1, y_dims);
  mica__text w = outside("w", w_dims, "0"), b = outside("b", b_dims, "2048");
  mica__text product = wire_node("MatMul x w > h"), sum = wire_node("Add h b > y");
  wire_inside(&graph, WIRE_GRAPH_NODE, &product);
  wire_inside(&graph, WIRE_GRAPH_NODE, &sum);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &w);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &b);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  mica__text file = wire_model(&graph);
  files_write("q.onnx", file.data, file.length);
  files_write("q.bin", beside, sizeof beside);
  mica__text_free(&file);
  mica_engine *engine = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
  const mica_onnx_quantize_config how = {.path = files_path("quantised.onnx"), .how = {.weights_only = true}};
  ck_ok(mica_onnx_quantize(engine, files_path("q.onnx"), &how, NULL));
  mica_engine_destroy(engine);
  holds(how.path, "b", MICA_F32, bias, sizeof bias);
  ck_assert(contains("quantised.onnx", beside + ROWS * COLUMNS * 4, sizeof bias));
  holds(how.path, "w_scale", MICA_F32, scales, sizeof scales);
}
END_TEST
#endif

TESTS(ANYWHERE, NULL, files_remove, IF(CJSON, safetensors), IF(CJSON, networks), gguf_files, npy,
      IF(ONNX, onnx_tensors), IF(ONNX, onnx_models), IF(ONNX, onnx_pairs))
