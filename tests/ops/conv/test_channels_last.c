/* labels: device
 *
 * Copies with channels last as values of a session (src/compile/channels_last.c): on PoCL under the name of a GPU with
 * matrix units, convolutions share them, and every result keeps its bits. Elsewhere a convolution takes such a copy,
 * too. */
#include "base/element.h"
#include "compile/without.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/gpu/channels_last.h"
#include "ops/emulation.h"
#include "ops/select/registry.h"
#include "ops/units_device.h"
#include "runtime/tensor.h"

#include <stdlib.h>

/* Sizes of x, filters and a config; how many launches a step saves. transposed: conv_transpose. */
typedef struct layer {
  mica_shape x, w;
  mica_conv_config config;
  bool transposed;
  size_t saved;
} layer;

static const layer layers[] = {
    /* x for the result, dy for both gradients, x for the filters: three copies for four. */
    {{4, {2, 24, 9, 7}}, {4, {32, 24, 3, 3}}, {.pad = {1, 1}}, false, 1},
    /* Channels that fill no piece, and several phases. */
    {{4, {3, 21, 8, 11}}, {4, {35, 21, 3, 3}}, {.pad = {1, 1}, .stride = {2, 2}}, false, 1},
    /* One element: pixels that are no whole pieces. */
    {{4, {2, 40, 7, 7}}, {4, {64, 40, 1, 1}}, {.groups = 1}, false, 1},
    {{5, {1, 17, 3, 4, 5}}, {5, {18, 17, 2, 3, 3}}, {.pad = {0, 1, 1}}, false, 1},
    /* Groups keep copies of their own. */
    {{4, {2, 48, 5, 6}}, {4, {64, 24, 3, 3}}, {.pad = {1, 1}, .groups = 2}, false, 0},
    /* A transposed convolution has its source in the place of dy. */
    {{4, {2, 32, 6, 5}}, {4, {32, 24, 3, 3}}, {.pad = {1, 1}}, true, 1},
};

/* Numbers of up to 4 bits, whose products and sums f32 has exactly; results are rounded once. */
static mica_tensor *make(mica_engine *on, mica_shape shape, int seed) {
  int64_t count = 0;
  mica_tensor *tensor = NULL;
  ck_ok(mica_shape_count(shape, &count));
  uint16_t *data = calloc((size_t)count, sizeof *data);
  ck_assert_ptr_nonnull(data);
  for (int64_t i = 0; i < count; i++)
    mica__element_set(MICA_F16, data, i, (double)((i * (2 * seed + 3) + i / 17) % 15 - 7) / 8);
  ck_ok(mica_tensor_create_from(on, MICA_F16, shape, data, &tensor));
  free(data);
  return tensor;
}

typedef struct results {
  unsigned char *data[4];
  size_t bytes[4], launches;
} results;

static void download(mica_engine *engine, const mica_session *session, size_t count, results *r) {
  for (size_t k = 0; k < count; k++) {
    const mica_tensor *got = mica_session_output(session, k);
    r->bytes[k] = mica_tensor_bytes(got);
    r->data[k] = malloc(r->bytes[k]);
    ck_assert_ptr_nonnull(r->data[k]);
    ck_ok(mica_tensor_download(mica_engine_queue(engine), got, r->data[k], r->bytes[k]));
  }
}

/* The result of a layer and the gradients of x and w for a given dy. */
static results run(mica_engine *engine, const layer *l) {
  const char *const names[] = {"x", "w", "dy"};
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_session_report report;
  mica_tensor *fed[3];
  mica_feed feeds[3];
  mica_value outputs[3], gradients[2];
  results r = {0};
  ck_ok(mica_graph_create(&graph));
  const mica_value x = mica_input(graph, "x", MICA_F16, l->x), w = mica_input(graph, "w", MICA_F16, l->w);
  outputs[0] = (l->transposed ? mica_conv_transpose : mica_conv)(x, w, (mica_value){0}, &l->config);
  const mica_shape shapes[] = {l->x, l->w, mica_value_shape(outputs[0])};
  const mica_value dy = mica_input(graph, "dy", MICA_F16, shapes[2]);
  ck_ok(mica_gradients(mica_sum(mica_mul(outputs[0], dy), (mica_axes){0}, false), (mica_value[]){x, w}, 2, gradients));
  outputs[1] = gradients[0];
  outputs[2] = gradients[1];
  ck_ok(mica_session_create(engine, graph, outputs, 3, NULL, &session));
  for (int k = 0; k < 3; k++) {
    fed[k] = make(engine, shapes[k], k);
    feeds[k] = (mica_feed){names[k], fed[k]};
  }
  ck_ok(mica_session_run(session, mica_engine_queue(engine), feeds, 3));
  ck_ok(mica_session_describe(session, &report));
  r.launches = report.launches;
  download(engine, session, 3, &r);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  for (int k = 0; k < 3; k++) mica_tensor_destroy(fed[k]);
  return r;
}

static void expect_same(const results *a, const results *b) {
  for (int k = 0; k < 3; k++) {
    ck_assert_uint_eq(a->bytes[k], b->bytes[k]);
    for (size_t i = 0; i < a->bytes[k] / 2; i++)
      ck_assert_msg(!memcmp(a->data[k] + 2 * i, b->data[k] + 2 * i, 2), "result %d, element %zu: %g, not %g", k, i,
                    mica__element_get(MICA_F16, a->data[k], (int64_t)i),
                    mica__element_get(MICA_F16, b->data[k], (int64_t)i));
  }
}

static void end(results *r) {
  for (int k = 0; k < 4; k++) free(r->data[k]);
}

START_TEST(copies_are_shared) {
  const layer *l = &layers[_i];
  units_program made[] = {{.has = "void mma_trial("}, {.has = "conv_gpu_mma("}, {.has = "conv_gpu_wgrad_mma("}};
  mica_engine *engine = units_open("gfx1100", made, 3);
  results shared = run(engine, l);
  mica__compile_without(MICA__WITHOUT_CHANNELS_LAST);
  results apart = run(engine, l);
  mica__compile_without(0);
  units_close(engine);
  /* It was matrix units that computed all passes. */
  ck_assert_int_ge(made[1].made, 1);
  ck_assert_int_ge(made[2].made, 1);
  ck_assert_uint_eq(apart.launches - shared.launches, l->saved);
  expect_same(&shared, &apart);
  end(&shared);
  end(&apart);
}
END_TEST

/* Three convolutions and the means of channels; the last convolution adds the first one's result: relu(conv(relu(conv(
 * relu(conv(x))))) + first). Weights are fed, too. What follows has operands of every shape; an output
 * has channels first. */
static results run_chain(mica_engine *engine, size_t *copies) {
  const char *const names[] = {"x", "w1", "w2", "w3", "b", "w4"};
  const mica_shape shapes[] = {MICA_SHAPE(2, 20, 9, 8),  MICA_SHAPE(32, 20, 3, 3), MICA_SHAPE(24, 32, 3, 3),
                               MICA_SHAPE(32, 24, 1, 1), MICA_SHAPE(32),           MICA_SHAPE(32, 20, 3, 3)};
  const mica_conv_config config = {.pad = {1, 1}};
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *fed[6];
  mica_feed feeds[6];
  mica_value in[6];
  results r = {0};
  char *text = NULL;
  ck_ok(mica_graph_create(&graph));
  for (int k = 0; k < 6; k++) {
    in[k] = mica_input(graph, names[k], MICA_F16, shapes[k]);
    fed[k] = make(engine, shapes[k], k);
    feeds[k] = (mica_feed){names[k], fed[k]};
  }
  const mica_value first = mica_relu(mica_conv(in[0], in[1], in[4], &config));
  const mica_value inside = mica_relu(mica_conv(first, in[2], (mica_value){0}, &config));
  const mica_value sum = mica_relu(mica_add(mica_conv(inside, in[3], (mica_value){0}, NULL), first));
  const mica_value scale = mica_reshape(in[4], MICA_SHAPE(32, 1, 1)), d = mica_conv(in[0], in[5], in[4], &config);
  const mica_value scaled = mica_add(mica_mul(mica_cast(sum, MICA_F32), mica_cast(scale, MICA_F32)),
                                     mica_mul(mica_cast(d, MICA_F32), mica_scalar(graph, MICA_F32, 0.5)));
  const mica_value outputs[] = {mica_mean(scaled, (mica_axes){.count = 2, .axis = {2, 3}}, false),
                                mica_max(scaled, (mica_axes){.count = 3, .axis = {0, 2, 3}}, true), mica_neg(sum),
                                mica_mean(mica_abs(scaled), (mica_axes){.count = 2, .axis = {2, 3}}, false)};
  ck_ok(mica_session_create(engine, graph, outputs, 4, NULL, &session));
  ck_ok(mica_session_run(session, mica_engine_queue(engine), feeds, 6));
  ck_ok(mica_session_dump(session, &text));
  *copies = 0;
  for (const char *at = text; (at = strstr(at, "conv_gpu_channels_last:")); at++) ++*copies;
  mica_free(text);
  download(engine, session, 4, &r);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  for (int k = 0; k < 6; k++) mica_tensor_destroy(fed[k]);
  return r;
}

START_TEST(layouts_stay_between_convolutions) {
  units_program made[] = {{.has = "void mma_trial("}, {.has = "conv_gpu_mma("}};
  mica_engine *engine = units_open("gfx1100", made, 2);
  size_t some = 0, all = 0;
  results last = run_chain(engine, &some);
  mica__compile_without(MICA__WITHOUT_CHANNELS_LAST);
  results first = run_chain(engine, &all);
  mica__compile_without(0);
  units_close(engine);
  /* Only x is copied, for two convolutions; d keeps its channels first. */
  ck_assert_uint_eq(some, 1);
  ck_assert_uint_eq(all, 4);
  for (int k = 0; k < 4; k++) ck_assert_uint_eq(first.bytes[k], last.bytes[k]);
  ck_assert_mem_eq(first.data[1], last.data[1], first.bytes[1]);
  ck_assert_mem_eq(first.data[2], last.data[2], first.bytes[2]);
  for (size_t i = 0; i < first.bytes[0] / sizeof(float); i++) {
    float got, want, most;
    memcpy(&got, last.data[0] + i * sizeof got, sizeof got);
    memcpy(&want, first.data[0] + i * sizeof want, sizeof want);
    memcpy(&most, first.data[3] + i * sizeof most, sizeof most);
    /* 72 elements are added in another order. */
    ck_assert_float_eq_tol(got, want, 72 * 0x1p-23f * most);
  }
  end(&last);
  end(&first);
}
END_TEST

/* Adds the results of convolutions of images and of lines, which other convolutions ask for with channels last: a line
 * is broadcast along the images. */
static results run_ranks(mica_engine *engine) {
  const char *const names[] = {"x4", "w4", "v4", "x3", "w3", "v3"};
  const mica_shape shapes[] = {MICA_SHAPE(2, 16, 16, 8), MICA_SHAPE(16, 16, 3, 3), MICA_SHAPE(16, 16, 3, 3),
                               MICA_SHAPE(16, 16, 8),    MICA_SHAPE(16, 16, 3),    MICA_SHAPE(16, 16, 3)};
  const mica_conv_config images = {.pad = {1, 1}}, lines = {.pad = {1}};
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *fed[6];
  mica_feed feeds[6];
  mica_value in[6];
  results r = {0};
  ck_ok(mica_graph_create(&graph));
  for (int k = 0; k < 6; k++) {
    in[k] = mica_input(graph, names[k], MICA_F16, shapes[k]);
    fed[k] = make(engine, shapes[k], k);
    feeds[k] = (mica_feed){names[k], fed[k]};
  }
  const mica_value y4 = mica_conv(in[0], in[1], (mica_value){0}, &images);
  const mica_value y3 = mica_conv(in[3], in[4], (mica_value){0}, &lines), sum = mica_add(y4, y3);
  const mica_value outputs[] = {mica_neg(mica_mul(sum, sum)), mica_conv(y4, in[2], (mica_value){0}, &images),
                                mica_conv(y3, in[5], (mica_value){0}, &lines)};
  ck_ok(mica_session_create(engine, graph, outputs, 3, NULL, &session));
  ck_ok(mica_session_run(session, mica_engine_queue(engine), feeds, 6));
  download(engine, session, 3, &r);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  for (int k = 0; k < 6; k++) mica_tensor_destroy(fed[k]);
  return r;
}

START_TEST(layouts_of_several_ranks) {
  units_program made[] = {{.has = "void mma_trial("}, {.has = "conv_gpu_mma("}};
  mica_engine *engine = units_open("gfx1100", made, 2);
  results last = run_ranks(engine);
  mica__compile_without(MICA__WITHOUT_CHANNELS_LAST);
  results first = run_ranks(engine);
  mica__compile_without(0);
  units_close(engine);
  ck_assert_int_ge(made[1].made, 1);
  expect_same(&last, &first);
  end(&last);
  end(&first);
}
END_TEST

/* What a card of NVIDIA's says that has units for tf32; it computes nothing. */
static cl_int card_text(const char *is, size_t size, void *out, size_t *used) {
  if (used) *used = strlen(is) + 1;
  if (out && size > strlen(is)) strcpy(out, is);
  return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL card_info(cl_device_id device, cl_device_info what, size_t size, void *out,
                                                 size_t *used) {
  enum { CAPABILITY_MAJOR = 0x4000, CAPABILITY_MINOR = 0x4001 };
  if (what == CL_DEVICE_VENDOR) return card_text("NVIDIA Corporation", size, out, used);
  if (what == CL_DEVICE_EXTENSIONS) return card_text("cl_nv_compiler_options", size, out, used);
  if (what == CAPABILITY_MAJOR || what == CAPABILITY_MINOR) {
    *(cl_uint *)out = what == CAPABILITY_MAJOR ? 9 : 0;
    return CL_SUCCESS;
  }
  const cl_int error = mica__cl_null()->GetDeviceInfo(device, what, size, out, used);
  if (out && what == CL_DEVICE_TYPE) *(cl_device_type *)out = CL_DEVICE_TYPE_GPU;
  if (out && what == CL_DEVICE_VENDOR_ID) *(cl_uint *)out = 0x10de;
  if (out && what == CL_DEVICE_MAX_COMPUTE_UNITS) *(cl_uint *)out = 132;
  if (out && what == CL_DEVICE_LOCAL_MEM_SIZE) *(cl_ulong *)out = 48 << 10;
  if (out && what == CL_DEVICE_LOCAL_MEM_TYPE) *(cl_device_local_mem_type *)out = CL_LOCAL;
  if (out && what == CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT) *(cl_uint *)out = 1;
  return error;
}

/* A convolution of tf32 reads a value that has channels last already, but whose channels are no whole pieces of its
 * type: it reads a copy of this type, whose channels are. */
START_TEST(parts_of_pieces_are_copied) {
  static const char *const copies[] = {"f32 (2, 16, 16, 4)", "f16 (2, 16, 16, 24)"};
  const mica_conv_config config = {.pad = {1, 1}, .allow_tf32 = true};
  const bool cast = _i == 1;
  const mica_shape image = MICA_SHAPE(2, 20, 16, 16), filters = MICA_SHAPE(20, 20, 3, 3);
  static mica__cl_api card;
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  char *text = NULL;
  card = *mica__cl_null();
  card.GetDeviceInfo = card_info;
  mica__cl_install(&card);
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "0:0", .cache_dir = ""}, &engine));
  ck_ok(mica_graph_create(&graph));
  const mica_value x = mica_input(graph, "x", MICA_F32, image), w = mica_input(graph, "w", MICA_F32, filters);
  const mica_value y = mica_conv(x, w, (mica_value){0}, &config);
  const mica_value part = cast ? mica_cast(mica_relu(y), MICA_F16) : mica_max(y, MICA_AXES(1), true);
  const mica_value v = mica_input(graph, "v", mica_value_dtype(part), MICA_SHAPE(32, cast ? 20 : 1, 3, 3));
  const mica_value outputs[] = {mica_conv(y, w, (mica_value){0}, &config),
                                mica_conv(part, v, (mica_value){0}, &config)};
  ck_ok(mica_session_create(engine, graph, outputs, 2, NULL, &session));
  ck_ok(mica_session_dump(session, &text));
  /* One copy of x, and one of the value. */
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, "conv_gpu_channels_last:")); at++) count++;
  ck_assert_msg(strstr(text, copies[_i]) && count == 2, "%zu copies, in\n%s", count, text);
  mica_free(text);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
  mica__cl_install(NULL);
}
END_TEST

/* Runs a pass with operands a and b, as they are or as copies with channels last. */
static results run_pass(mica__conv_pass pass, const layer *l, bool copies) {
  mica__conv_dims dims;
  results r = {0};
  ck_ok(mica__conv_dims_of(&l->config, l->x, l->w, NULL, &dims));
  const int32_t rank = l->x.rank;
  mica_shape y = {.rank = rank, .dim = {l->x.dim[0], l->w.dim[0]}};
  for (int32_t i = 2; i < rank; i++) y.dim[i] = dims.out[i + 3 - rank];
  mica_tensor *tensors[] = {make(test_engine(), l->x, 0), make(test_engine(), l->w, 1), make(test_engine(), y, 2)};
  mica_tensor *last[3] = {NULL}, *views[3] = {NULL};
  const int result = pass == MICA__CONV_FWD ? 2 : pass == MICA__CONV_BWD_DATA ? 0 : 1;
  unsigned bits = 0;
  for (int k = 0; k < 3; k += 2) {
    const mica__type from = {MICA_F16, mica_tensor_shape(tensors[k])};
    mica__type to;
    if (!copies || k == result) continue;
    ck_ok(mica__op_infer(&mica__op_channels_last, &from, 1, NULL, &to));
    ck_ok(mica_tensor_create(test_engine(), MICA_F16, to.shape, &last[k]));
    ck_ok(mica__op_channels_last.launch(&(mica__exec){.queue = test_queue(),
                                                      .inputs = (const mica_tensor *const *)&tensors[k],
                                                      .input_count = 1,
                                                      .output = last[k]}));
    ck_ok(mica__conv_view_last(last[k], from.shape.dim[1], &views[k]));
    bits |= k == 0 ? MICA__CONV_X_LAST : MICA__CONV_Y_LAST;
  }
  const mica_tensor *operands[3];
  for (int k = 0; k < 3; k++) operands[k] = views[k] ? views[k] : tensors[k];
  const mica__exec exec = {.queue = test_queue()};
  const int a = pass == MICA__CONV_BWD_DATA ? 2 : 0, b = pass == MICA__CONV_BWD_FILTER ? 2 : 1;
  ck_ok(mica__conv_run(&exec, pass, bits, &l->config, operands[a], operands[b], NULL, tensors[result]));
  r.bytes[0] = mica_tensor_bytes(tensors[result]);
  r.data[0] = malloc(r.bytes[0]);
  ck_assert_ptr_nonnull(r.data[0]);
  ck_ok(mica_tensor_download(test_queue(), tensors[result], r.data[0], r.bytes[0]));
  for (int k = 0; k < 3; k++) {
    mica_tensor_destroy(views[k]);
    mica_tensor_destroy(last[k]);
    mica_tensor_destroy(tensors[k]);
  }
  return r;
}

START_TEST(copies_are_taken_without_units) {
  for (size_t i = 0; i < 4; i++) {
    results want = run_pass((mica__conv_pass)_i, &layers[i], false),
            got = run_pass((mica__conv_pass)_i, &layers[i], true);
    expect_same(&got, &want);
    end(&got);
    end(&want);
  }
}
END_TEST

/* Results with channels last, from the emulation of matrix units or from other kernels: of a pass, in f16 or f32; n,
 * c, h, w, k; filter, stride and padding, groups; splits the depth of products: too few tiles for the device. */
typedef struct written {
  mica__conv_pass pass;
  mica_dtype dtype;
  int64_t n, c, h, w, k, r, stride, pad, groups;
  bool split;
} written;

static const written results_last[] = {
    {MICA__CONV_FWD, MICA_F16, 2, 24, 9, 7, 40, 3, 1, 1, 1, false},
    {MICA__CONV_FWD, MICA_F16, 1, 32, 10, 9, 80, 3, 2, 1, 2, false},
    {MICA__CONV_FWD, MICA_F32, 2, 20, 5, 7, 36, 1, 1, 0, 1, false},
    {MICA__CONV_FWD, MICA_F16, 2, 203, 7, 9, 32, 3, 1, 1, 1, true},
    {MICA__CONV_BWD_DATA, MICA_F16, 2, 24, 9, 7, 35, 3, 1, 1, 1, false},
    {MICA__CONV_BWD_DATA, MICA_F16, 3, 48, 8, 11, 21, 3, 2, 1, 1, false},
    {MICA__CONV_BWD_DATA, MICA_F32, 2, 36, 5, 5, 18, 3, 1, 1, 1, false},
    {MICA__CONV_BWD_DATA, MICA_F16, 2, 40, 7, 7, 200, 3, 1, 1, 1, true},
};

static mica_tensor *made_of(mica_dtype dtype, mica_shape shape, int seed) {
  int64_t count = 0;
  mica_tensor *tensor = NULL;
  ck_ok(mica_shape_count(shape, &count));
  unsigned char *data = calloc((size_t)count, mica_dtype_size(dtype));
  ck_assert_ptr_nonnull(data);
  for (int64_t i = 0; i < count; i++)
    mica__element_set(dtype, data, i, (double)((i * (2 * seed + 3) + i / 17) % 15 - 7) / 8);
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, data, &tensor));
  free(data);
  return tensor;
}

/* The tensor with its channels last, and a view of it in its own shape. */
static mica_tensor *last_of(const mica_tensor *tensor, mica_tensor **view) {
  const mica__type from = {mica_tensor_dtype(tensor), mica_tensor_shape(tensor)};
  mica__type to;
  mica_tensor *last = NULL;
  ck_ok(mica__op_infer(&mica__op_channels_last, &from, 1, NULL, &to));
  ck_ok(mica_tensor_create(test_engine(), to.dtype, to.shape, &last));
  ck_ok(mica__op_channels_last.launch(&(mica__exec){
      .queue = test_queue(), .inputs = (const mica_tensor *const[]){tensor}, .input_count = 1, .output = last}));
  ck_ok(mica__conv_view_last(last, from.shape.dim[1], view));
  return last;
}

static unsigned char *bytes_of(const mica_tensor *tensor) {
  unsigned char *data = malloc(mica_tensor_bytes(tensor));
  ck_assert_ptr_nonnull(data);
  ck_ok(mica_tensor_download(test_queue(), tensor, data, mica_tensor_bytes(tensor)));
  return data;
}

static const mica_device_info large = {.device_class = MICA_DEVICE_CLASS_GPU,
                                       .compute_units = 132,
                                       .local_bytes = 48 << 10,
                                       .local_is_fast = true,
                                       .max_group = 1024,
                                       .compute_capability = 90,
                                       .vendor = MICA_VENDOR_NVIDIA};

static void launch_written(const mica__conv *conv, bool emulated, bool split) {
  const mica__kernel_desc *desc = &mica__conv_gpu_mma_kernel;
  const mica__task task = {.problem = conv,
                           .device = split ? &large : mica_engine_device(test_engine()),
                           .variant = &desc->variants[desc->variant_count - 1]};
  ck_ok(emulated ? mica__conv_gpu_mma.launch(test_queue(), &task)
                 : mica__conv_channels_first.launch(test_queue(), &task));
}

/* The result in both layouts, each with its channels last in the end. */
START_TEST(results_are_last) {
  const written *s = &results_last[_i / 2];
  const bool emulated = _i % 2, forward = s->pass == MICA__CONV_FWD;
  const int64_t p = (s->h + 2 * s->pad - s->r) / s->stride + 1, q = (s->w + 2 * s->pad - s->r) / s->stride + 1;
  const mica_conv_config config = {
      .stride = {s->stride, s->stride}, .pad = {s->pad, s->pad}, .groups = s->groups, .allow_tf32 = true};
  const mica_shape x_shape = MICA_SHAPE(s->n, s->c, s->h, s->w), y_shape = MICA_SHAPE(s->n, s->k, p, q);
  mica_tensor *x = made_of(s->dtype, x_shape, 0), *y = made_of(s->dtype, y_shape, 1), *result = forward ? y : x;
  mica_tensor *w = made_of(s->dtype, MICA_SHAPE(s->k, s->c / s->groups, s->r, s->r), 2);
  mica_tensor *bias = made_of(s->dtype, MICA_SHAPE(forward ? s->k : s->c), 3);
  mica_tensor *addend = made_of(s->dtype, forward ? y_shape : x_shape, 4), *addend_view = NULL, *x_view, *y_view, *view;
  mica_tensor *x_last = s->groups == 1 || !forward ? last_of(x, &x_view) : NULL, *y_last = last_of(y, &y_view);
  mica_tensor *addend_last = last_of(addend, &addend_view);
  mica_conv_epilogue epilogue = {.bias = bias, .addend = addend, .activation = MICA_ACTIVATION_RELU};
  const unsigned both = MICA__CONV_X_LAST | MICA__CONV_Y_LAST;
  const unsigned last = x_last ? both : MICA__CONV_Y_LAST;
  mica__conv conv;
  ck_ok(mica__conv_problem(test_queue(), s->pass, &config, x, w, y, &epilogue, &conv));
  launch_written(&conv, emulated, s->split);
  mica_tensor *want_last = last_of(result, &view);
  epilogue.addend = addend_view;
  ck_ok(
      mica__conv_problem_last(test_queue(), s->pass, last, &config, x_last ? x_view : x, w, y_view, &epilogue, &conv));
  ck_assert_ptr_null(mica__conv_gpu_mma.unable(&conv));
  launch_written(&conv, emulated, s->split);
  const mica_tensor *got_last = forward ? y_last : x_last;
  unsigned char *want = bytes_of(want_last), *got = bytes_of(got_last);
  const size_t size = mica_dtype_size(s->dtype), count = mica_tensor_bytes(got_last) / size;
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(!memcmp(got + size * i, want + size * i, size), "element %zu: %g, not %g", i,
                  mica__element_get(s->dtype, got, (int64_t)i), mica__element_get(s->dtype, want, (int64_t)i));
  free(got);
  free(want);
  mica_tensor *const all[] = {x,      y,      w,           bias,      addend, addend_view,           x_last,
                              y_last, y_view, addend_last, want_last, view,   x_last ? x_view : NULL};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica_tensor_destroy(all[i]);
}
END_TEST

/* The op itself, on the host and on the device: zeros beyond the channels. */
START_TEST(the_copy_is_right) {
  const mica_shape shape = MICA_SHAPE(2, 5, 3, 2);
  const mica__type from = {MICA_F32, shape};
  mica__type to;
  double in[60], want[96], out[96];
  float values[60], got[96];
  for (int i = 0; i < 60; i++) in[i] = values[i] = (float)(i + 1);
  ck_ok(mica__op_infer(&mica__op_channels_last, &from, 1, NULL, &to));
  ck_assert(mica_shape_equal(to.shape, MICA_SHAPE(2, 3, 2, 8)));
  for (int n = 0; n < 2; n++)
    for (int p = 0; p < 6; p++)
      for (int c = 0; c < 8; c++) want[(n * 6 + p) * 8 + c] = c < 5 ? in[(n * 5 + c) * 6 + p] : 0;
  ck_ok(mica__op_channels_last.evaluate(&(mica__eval){
      .inputs = (const double *const[]){in}, .types = &from, .input_count = 1, .type = &to, .output = out}));
  mica_tensor *x = NULL, *y = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, values, &x));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, to.shape, &y));
  ck_ok(mica__op_channels_last.launch(
      &(mica__exec){.queue = test_queue(), .inputs = (const mica_tensor *const[]){x}, .input_count = 1, .output = y}));
  ck_ok(mica_tensor_download(test_queue(), y, got, sizeof got));
  for (int i = 0; i < 96; i++) {
    ck_assert_double_eq(out[i], want[i]);
    ck_assert_double_eq((double)got[i], want[i]);
  }
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
}
END_TEST

/* Emulations are compiled without optimisation. */
static const char *lacks(void) {
  test_emulate_unoptimised();
  return DEVICE;
}

TESTS(lacks(), NULL, NULL, LOOP(copies_are_shared, 0, sizeof layers / sizeof *layers),
      layouts_stay_between_convolutions, layouts_of_several_ranks, LOOP(parts_of_pieces_are_copied, 0, 2),
      LOOP(copies_are_taken_without_units, 0, MICA__CONV_PASSES),
      LOOP(results_are_last, 0, 2 * (sizeof results_last / sizeof *results_last)), the_copy_is_right)
