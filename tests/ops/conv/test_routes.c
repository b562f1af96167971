/* labels: null single
 *
 * Which implementation computes which layer: routes.def says it for networks' layers on a CPU and on a GPU. The devices
 * are descriptions, and need not be there. */
#include "ops/conv/conv.h"
#include "runtime/kernel.h"
#include "runtime/tuning.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

typedef struct layer {
  int64_t n, c, h, k, r, stride, pad, groups;
  const char *cpu[MICA__CONV_PASSES], *gpu[MICA__CONV_PASSES];
} layer;

#define LAYER(n, c, h, k, r, stride, pad, groups, cpu_fwd, cpu_data, cpu_filter, gpu_fwd, gpu_data, gpu_filter)        \
  {n, c, h, k, r, stride, pad, groups, {#cpu_fwd, #cpu_data, #cpu_filter}, {#gpu_fwd, #gpu_data, #gpu_filter}},
static const layer layers[] = {
#include "ops/conv/routes.def"
};
#undef LAYER

static const mica_device_info cpu = {.device_class = MICA_DEVICE_CLASS_CPU,
                                     .compute_units = 2,
                                     .local_bytes = 1 << 20,
                                     .max_group = 4096,
                                     .vector_bytes = 64,
                                     .vendor = MICA_VENDOR_AMD};
static const mica_device_info gpu = {.device_class = MICA_DEVICE_CLASS_GPU,
                                     .compute_units = 64,
                                     .local_bytes = 48 << 10,
                                     .local_is_fast = true,
                                     .max_group = 1024,
                                     .vector_bytes = 4,
                                     .vendor = MICA_VENDOR_NVIDIA};

static mica_engine *engine;

static void open_engine(void) {
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
}

static void close_engine(void) { mica_engine_destroy(engine); }

/* How many routes of a layer are others than it says; each is named on stderr. */
static int wrong_routes(const layer *l) {
  mica_conv_config config = {.stride = {l->stride, l->stride}, .pad = {l->pad, l->pad}, .groups = l->groups};
  int64_t p = (l->h + 2 * l->pad - l->r) / l->stride + 1;
  mica_tensor *x = NULL, *w = NULL, *y = NULL;
  int wrong = 0;
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(l->n, l->c, l->h, l->h), &x));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(l->k, l->c / l->groups, l->r, l->r), &w));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(l->n, l->k, p, p), &y));
  for (int pass = 0; pass < MICA__CONV_PASSES; pass++) {
    mica__conv conv;
    ck_ok(mica__conv_problem(mica_engine_queue(engine), (mica__conv_pass)pass, &config, x, w, y, NULL, &conv));
    const char *const names[] = {mica__route(mica__conv_impls[pass], &conv, &cpu)->name,
                                 mica__route(mica__conv_impls[pass], &conv, &gpu)->name};
    const char *const wanted[] = {l->cpu[pass], l->gpu[pass]};
    for (int class = 0; class < 2; class ++) {
      if (!strcmp(names[class], wanted[class])) continue;
      fprintf(stderr, "n%d c%d h%d k%d r%d s%d p%d g%d, pass %d on a %s: %s, not %s\n", (int)l->n, (int)l->c, (int)l->h,
              (int)l->k, (int)l->r, (int)l->stride, (int)l->pad, (int)l->groups, pass, class ? "GPU" : "CPU",
              names[class], wanted[class]);
      wrong++;
    }
  }
  mica_tensor_destroy(x);
  mica_tensor_destroy(w);
  mica_tensor_destroy(y);
  return wrong;
}

START_TEST(layers_take_their_routes) {
  int wrong = 0;
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) wrong += wrong_routes(&layers[i]);
  ck_assert_int_eq(wrong, 0);
}
END_TEST

/* Forward passes on a CPU with vectors of 32 bytes. */
START_TEST(short_vectors_have_routes_of_their_own) {
  static const struct {
    int64_t c, h, k, r, stride, pad;
    const char *wanted;
  } rows[] = {{128, 14, 32, 3, 1, 1, "conv_cpu_direct_kw"},  {64, 56, 64, 3, 2, 1, "conv_cpu_direct_kw"},
              {512, 7, 512, 3, 1, 1, "conv_cpu_direct_kw"},  {64, 13, 256, 3, 1, 1, "conv_cpu_implicit_gemm"},
              {2048, 7, 512, 1, 1, 0, "conv_cpu_direct_kw"}, {64, 7, 384, 1, 1, 0, "conv_gemm"},
              {512, 8, 128, 1, 1, 0, "conv_gemm"},           {256, 14, 1024, 1, 1, 0, "conv_gemm"}};
  mica_device_info device = cpu;
  device.vector_bytes = 32;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const mica_conv_config config = {.stride = {rows[i].stride, rows[i].stride}, .pad = {rows[i].pad, rows[i].pad}};
    const int64_t p = (rows[i].h + 2 * rows[i].pad - rows[i].r) / rows[i].stride + 1;
    mica_tensor *x = NULL, *w = NULL, *y = NULL;
    mica__conv conv;
    ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1, rows[i].c, rows[i].h, rows[i].h), &x));
    ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(rows[i].k, rows[i].c, rows[i].r, rows[i].r), &w));
    ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1, rows[i].k, p, p), &y));
    ck_ok(mica__conv_problem(mica_engine_queue(engine), MICA__CONV_FWD, &config, x, w, y, NULL, &conv));
    ck_assert_str_eq(mica__route(mica__conv_impls[MICA__CONV_FWD], &conv, &device)->name, rows[i].wanted);
    mica_device_info narrow = device;
    narrow.vector_bytes = 16;
    ck_assert_str_ne(mica__route(mica__conv_impls[MICA__CONV_FWD], &conv, &narrow)->name, "conv_cpu_direct_kw");
    mica_tensor_destroy(x);
    mica_tensor_destroy(w);
    mica_tensor_destroy(y);
  }
}
END_TEST

/* The implementation of the forward pass of one image with filters of 3 x 3. If `constant`, the filters are the same in
 * every run. */
static const char *route_of_one_image(int64_t c, int64_t side, int64_t k, bool constant,
                                      const mica_device_info *device) {
  mica_tensor *x = NULL, *w = NULL, *y = NULL;
  mica__conv conv;
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1, c, side, side), &x));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(k, c, 3, 3), &w));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1, k, side, side), &y));
  ck_ok(mica__conv_problem(mica_engine_queue(engine), MICA__CONV_FWD, &(mica_conv_config){.pad = {1, 1}}, x, w, y, NULL,
                           &conv));
  if (constant) conv.prologue = mica_engine_queue(engine);
  const char *name = mica__route(mica__conv_impls[MICA__CONV_FWD], &conv, device)->name;
  mica_tensor_destroy(x);
  mica_tensor_destroy(w);
  mica_tensor_destroy(y);
  return name;
}

/* Constant filters are transformed once, so smaller planes take Winograd's algorithm. */
START_TEST(constant_filters_have_routes_of_their_own) {
  static const struct {
    int64_t c, side, k;
    const char *plain, *constant, *short_constant;
  } rows[] = {
      {256, 14, 256, "conv_cpu_direct_kw", "winograd_fused", "winograd_fused"},
      {128, 14, 32, "conv_cpu_direct_kw", "winograd_fused", "winograd_fused"},
      {64, 13, 256, "conv_cpu_direct_kw", "winograd_fused", "winograd_fused"},
      {512, 7, 512, "conv_cpu_direct_kw", "conv_cpu_direct_kw", "winograd_fused"},
      {512, 3, 512, "conv_cpu_implicit_gemm", "conv_cpu_implicit_gemm", "conv_cpu_implicit_gemm"},
      {128, 28, 128, "winograd_fused", "winograd_fused", "winograd_fused"},
  };
  mica_device_info narrow = cpu;
  narrow.vector_bytes = 32;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert_str_eq(route_of_one_image(rows[i].c, rows[i].side, rows[i].k, false, &cpu), rows[i].plain);
    ck_assert_str_eq(route_of_one_image(rows[i].c, rows[i].side, rows[i].k, true, &cpu), rows[i].constant);
    ck_assert_str_eq(route_of_one_image(rows[i].c, rows[i].side, rows[i].k, true, &narrow), rows[i].short_constant);
  }
}
END_TEST

/* A wrong row, and an implementation that is not there any more, are noticed. */
START_TEST(wrong_routes_are_found) {
  layer wrong = layers[0];
  wrong.cpu[MICA__CONV_BWD_DATA] = "conv_ref";
  wrong.gpu[MICA__CONV_FWD] = "conv_ref";
  ck_assert_int_eq(wrong_routes(&layers[0]), 0);
  ck_assert_int_eq(wrong_routes(&wrong), 2);
  ck_assert(mica__choice_leave_out(layers[0].cpu[MICA__CONV_FWD]));
  ck_assert_int_gt(wrong_routes(&layers[0]), 0);
  mica__choice_leave_out(NULL);
  ck_assert_int_eq(wrong_routes(&layers[0]), 0);
}
END_TEST

/* Checks the choices for a layer while the second kernel that the first choice needs is in quarantine, such as one that
 * packs weights. Returns in how many passes there is such a kernel. */
static int check_helpers(const layer *l) {
  const mica_conv_config config = {.stride = {l->stride, l->stride}, .pad = {l->pad, l->pad}, .groups = l->groups};
  const int64_t p = (l->h + 2 * l->pad - l->r) / l->stride + 1;
  mica_tensor *x = NULL, *w = NULL, *y = NULL;
  int helped = 0;
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(l->n, l->c, l->h, l->h), &x));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(l->k, l->c / l->groups, l->r, l->r), &w));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(l->n, l->k, p, p), &y));
  for (int pass = 0; pass < MICA__CONV_PASSES; pass++) {
    const mica__impl *const *list = mica__conv_impls[pass];
    mica__conv conv;
    char name[MICA__TUNING_TEXT];
    ck_ok(mica__conv_problem(mica_engine_queue(engine), (mica__conv_pass)pass, &config, x, w, y, NULL, &conv));
    const mica__choice first = mica__choose(engine, list, &conv, "a test");
    const mica__kernel_desc *helper = first.impl->helper;
    if (!helper) continue;
    const mica__choice tuned = {.impl = first.impl};
    snprintf(name, sizeof name, "%s.%s", helper->name, mica__kernel_variant(helper, mica_engine_device(engine))->name);
    ck_assert(mica__choice_is_open(engine, &tuned, &conv));
    ck_ok(mica__tuning_avoid(engine, name, "a test says so"));
    ck_assert_ptr_ne(mica__choose(engine, list, &conv, "a test").impl->helper, helper);
    ck_assert(!mica__choice_is_open(engine, &tuned, &conv));
    ck_ok(mica__tuning_unquarantine(engine, name));
    ck_assert_ptr_eq(mica__choose(engine, list, &conv, "a test").impl, first.impl);
    helped++;
  }
  mica_tensor_destroy(x);
  mica_tensor_destroy(w);
  mica_tensor_destroy(y);
  return helped;
}

START_TEST(second_kernels_heed_the_quarantine) {
  int helped = 0;
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) helped += check_helpers(&layers[i]);
  ck_assert_int_gt(helped, 0);
}
END_TEST

/* Implementations that launch a kernel which packs weights name it, or its quarantine would not be heeded. */
START_TEST(implementations_name_their_second_kernels) {
  static const struct {
    const char *name, *helper;
  } rows[] = {{"conv_cpu_implicit_gemm", "conv_cpu_pack_weights"},
              {"conv_cpu_direct_w", "conv_cpu_pack_weights"},
              {"conv_cpu_direct_k", "conv_cpu_pack_weights"},
              {"conv_cpu_direct_kw", "conv_cpu_pack_weights"},
              {"conv_cpu_direct_n", "conv_cpu_pack_weights"},
              {"winograd_fused", "winograd_pack_weights"},
              {"winograd_staged", "winograd_outputs"},
              {"winograd_staged_wgrad", "winograd_wgrad_sums"},
              {"conv_cpu_tiles_n", "conv_cpu_tiles_filters"},
              {"conv_gpu_implicit_gemm", "conv_gpu_pack_weights"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bool found = false;
    for (int pass = 0; pass < MICA__CONV_PASSES; pass++)
      for (const mica__impl *const *impl = mica__conv_impls[pass]; *impl; impl++) {
        if (strcmp((*impl)->name, rows[i].name) != 0) continue;
        found = true;
        ck_assert_ptr_nonnull((*impl)->helper);
        ck_assert_str_eq((*impl)->helper->name, rows[i].helper);
      }
    ck_assert_msg(found, "%s", rows[i].name);
  }
}
END_TEST

TESTS(ANYWHERE, open_engine, close_engine, layers_take_their_routes, short_vectors_have_routes_of_their_own,
      constant_filters_have_routes_of_their_own, wrong_routes_are_found, second_kernels_heed_the_quarantine,
      implementations_name_their_second_kernels)
