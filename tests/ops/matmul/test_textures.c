/* labels: device
 *
 * A matrix times a vector whose matrix is read from an image over its buffer (runtime/texture.h): results, choice, the
 * life of images, and what happens without them. MICA_TEXTURES asks a device for images that is not known to gain. */
#include "base/element.h"
#include "ops/matmul/gemm.h"
#include "ops/select/check.h"
#include "ops/select/registry.h"
#include "runtime/recording.h"
#include "runtime/texture.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_api.h"
#include "support/limited_api.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPU "class=gpu unoptimised"

static mica_engine *engine;

static void begin_with(const char *limits) {
  ck_assert(limited_install(limits));
  fault_install(mica__cl_loader());
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
}

static void begin(void) {
  setenv("MICA_TEXTURES", "1", 1);
  begin_with(GPU " planes");
}

static void end(void) {
  mica_engine_destroy(engine);
  ck_assert_msg(fault_live() == 0, "leaks %s", fault_live_text());
  fault_remove();
  unsetenv("MICA_TEXTURES");
}

/* NULL, or why the device cannot run the tests. */
static const char *lacks_images(void) {
  mica_device_info info = {0};
  if (test_lacks_device()) return test_lacks_device();
  setenv("MICA_TEXTURES", "1", 1);
  const bool found = mica_device_find(NULL, &info) == MICA_OK && info.texture_length > 0;
  unsetenv("MICA_TEXTURES");
  return found ? NULL : "the device has no images";
}

/* --- products --- */

/* y = x W, with W (k, n) or, by_k, as the transpose of an (n, k). */
typedef struct product {
  int64_t n, k;
  bool by_k;
  mica_dtype dtype;
  mica_tensor *stored, *x, *w, *y;
  mica__gemm gemm;
} product;

static double value_at(int64_t i) { return (double)((i * 37 + 11) % 64 - 32) / 32; }

static void fill(mica_tensor *tensor, int64_t shift) {
  const size_t bytes = mica_tensor_bytes(tensor);
  unsigned char *data = malloc(bytes);
  ck_assert_ptr_nonnull(data);
  for (int64_t i = 0; i < mica_tensor_count(tensor); i++)
    mica__element_set(mica_tensor_dtype(tensor), data, i, value_at(i + shift));
  ck_ok(mica_tensor_upload(mica_engine_queue(engine), tensor, data, bytes));
  free(data);
}

static mica_tensor *filled(mica_dtype dtype, mica_shape shape, int64_t shift) {
  mica_tensor *tensor = NULL;
  ck_ok(mica_tensor_create(engine, dtype, shape, &tensor));
  fill(tensor, shift);
  return tensor;
}

static product make(int64_t n, int64_t k, bool by_k, mica_dtype dtype) {
  product p = {.n = n, .k = k, .by_k = by_k, .dtype = dtype};
  p.x = filled(dtype, MICA_SHAPE(1, k), 5);
  p.stored = filled(dtype, by_k ? MICA_SHAPE(n, k) : MICA_SHAPE(k, n), 0);
  if (by_k)
    ck_ok(mica_tensor_transpose(p.stored, &p.w));
  else
    ck_ok(mica_tensor_view(p.stored, MICA_SHAPE(k, n), NULL, 0, &p.w));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1, n), &p.y));
  ck_ok(mica__gemm_problem(mica_engine_queue(engine), NULL, p.x, p.w, NULL, NULL, p.y, &p.gemm));
  return p;
}

static void drop(product *p) {
  mica_tensor_destroy(p->w);
  mica_tensor_destroy(p->stored);
  mica_tensor_destroy(p->x);
  mica_tensor_destroy(p->y);
}

static const mica__variant *variant_of(const char *name) {
  const mica__kernel_desc *desc = &mica__gemv_gpu_kernel;
  for (int v = 0; v < desc->variant_count; v++)
    if (!strcmp(desc->variants[v].name, name)) return &desc->variants[v];
  ck_abort_msg("no variant %s", name);
  return NULL;
}

/* The result by a variant; NULL: as the list chooses. The caller frees it. */
static float *result(const product *p, const char *variant) {
  float *y = malloc((size_t)p->n * sizeof *y);
  ck_assert_ptr_nonnull(y);
  mica_queue *queue = mica_engine_queue(engine);
  for (int64_t i = 0; i < p->n; i++) y[i] = NAN;
  ck_ok(mica_tensor_upload(queue, p->y, y, (size_t)p->n * sizeof *y));
  if (variant)
    ck_ok(mica__impl_launch(queue, &mica__gemv_gpu, &p->gemm, variant_of(variant)));
  else
    ck_ok(mica_op_gemm(queue, NULL, p->x, p->w, NULL, NULL, p->y));
  ck_ok(mica_tensor_download(queue, p->y, y, (size_t)p->n * sizeof *y));
  return y;
}

/* The product in double; `shift` as in `filled`. Sums of at most 2^12 products of values with 6 bits are exact. */
static void check_result(const product *p, const float *y, int64_t shift) {
  for (int64_t j = 0; j < p->n; j++) {
    double sum = 0;
    for (int64_t i = 0; i < p->k; i++)
      sum += value_at(i + 5) * value_at((p->by_k ? j * p->k + i : i * p->n + j) + shift);
    ck_assert_msg((double)y[j] == sum, "element %lld is %.9g, not %.9g", (long long)j, (double)y[j], sum);
  }
}

/* Makes the variant the best that a tuner has found for the product. */
static void keep_as_best(const product *p, const char *choice) {
  char key[MICA__TUNING_TEXT];
  mica__gemm_key(&p->gemm, key);
  ck_ok(mica__tuning_keep(engine, key, choice, 1e-6));
}

static const char *declined(const product *p, const char *variant) {
  const mica__task task = {
      .problem = &p->gemm, .device = mica_engine_device(engine), .engine = engine, .variant = variant_of(variant)};
  return mica__gemv_gpu.decline(&task);
}

/* --- tests --- */

static const char *const textures[] = {"texture", "texture.outer", "plane", "plane.outer"};

/* Sums are added in the same order, so no bit differs from the variant that reads the buffer. */
START_TEST(results_are_those_of_the_buffer) {
  static const mica_dtype dtypes[] = {MICA_F32, MICA_F16};
  for (int i = 0; i < 4 * 2 * 2; i++) {
    const char *name = textures[i % 4];
    product p = make(256, 516, i / 4 % 2, dtypes[i / 8]);
    const unsigned long made = fault_calls(FAULT_CreateImage);
    ck_assert_ptr_null(declined(&p, name));
    float *by_texture = result(&p, name), *by_buffer = result(&p, strstr(name, "outer") ? "gpu.outer" : "gpu");
    ck_assert_uint_eq(fault_calls(FAULT_CreateImage), made + 1);
    ck_assert_int_eq(memcmp(by_texture, by_buffer, (size_t)p.n * sizeof *by_texture), 0);
    check_result(&p, by_texture, 0);
    free(by_texture);
    free(by_buffer);
    drop(&p);
    mica_engine_trim(engine);
  }
}
END_TEST

static void count_line(void *user, const mica_doctor_line *line) {
  size_t *lines = user;
  for (size_t i = 0; i < sizeof textures / sizeof *textures; i++)
    lines[i] += !strcmp(line->kernel, "gemv_gpu") && !strcmp(line->variant, textures[i]);
}

/* The doctor's cases of these variants, and that it has them: f32 and f16, along k and along the outer index. */
START_TEST(variants_pass_the_doctor) {
  size_t lines[4] = {0}, of_op[4] = {0};
  mica__check check = {.engine = engine,
                       .queue = mica_engine_queue(engine),
                       .level = MICA__CHECK_SMALL,
                       .op = "gemm",
                       .fn = count_line,
                       .user = lines,
                       .random = 1};
  for (int i = 0; i < 4; i++) {
    const unsigned long made = fault_calls(FAULT_CreateImage);
    ck_ok(mica__gemm_check_variant(&check, &mica__gemv_gpu, variant_of(textures[i])));
    ck_assert_uint_ge(fault_calls(FAULT_CreateImage), made + 2);
    mica_engine_trim(engine);
  }
  ck_assert_uint_eq(check.summary.failed, 0);
  ck_assert_uint_eq(check.summary.passed, 16);
  check.dry_run = true;
  check.user = of_op;
  ck_ok(mica__op_gemm.check(&check));
  for (int i = 0; i < 4; i++) ck_assert(lines[i] == 4 && of_op[i] == 4);
  mica__text_free(&check.run);
}
END_TEST

/* A launch that was recorded reads the image too, with the weights of the time of its replay. */
START_TEST(a_recording_reads_the_image) {
  product p = make(64, 128, true, MICA_F32);
  mica_queue *queue = mica_engine_queue(engine), *recorder = NULL;
  float y[64];
  ck_ok(mica__recorder_create(engine, &recorder));
  ck_ok(mica__impl_launch(recorder, &mica__gemv_gpu, &p.gemm, variant_of("texture")));
  mica__recording *recording = mica__recorder_end(recorder);
  for (int64_t shift = 0; shift < 3; shift++) {
    fill(p.stored, shift);
    ck_ok(mica__recording_replay(recording, queue));
    ck_ok(mica_tensor_download(queue, p.y, y, sizeof y));
    check_result(&p, y, shift);
  }
  ck_assert_uint_eq(fault_calls(FAULT_CreateImage), 1);
  mica__recording_destroy(recording);
  drop(&p);
}
END_TEST

/* Only a tuner chooses images; it tries all of them. */
START_TEST(a_tuner_chooses) {
  product p = make(128, 256, true, MICA_F32);
  mica__choice *choices = NULL;
  size_t count = 0, found = 0;
  ck_ok(mica__choices_of(engine, mica__gemm_impls, &p.gemm, &choices, &count));
  for (size_t i = 0; i < count; i++)
    for (size_t t = 0; choices[i].base && t < sizeof textures / sizeof *textures; t++)
      found += !strcmp(choices[i].base->name, textures[t]);
  free(choices);
  ck_assert_uint_eq(found, 4);
  free(result(&p, NULL));
  ck_assert_uint_eq(fault_calls(FAULT_CreateImage), 0);
  keep_as_best(&p, "gemv_gpu texture");
  float *y = result(&p, NULL);
  check_result(&p, y, 0);
  ck_assert_uint_eq(fault_calls(FAULT_CreateImage), 1);
  free(y);
  drop(&p);
}
END_TEST

/* One image for many launches and for the next tensor in the block, until the block goes back to the driver. New
 * weights in the same tensor are seen. */
START_TEST(an_image_lives_as_long_as_its_block) {
  product p = make(64, 128, true, MICA_F16);
  for (int i = 0; i < 3; i++) free(result(&p, "texture"));
  ck_assert_uint_eq(fault_calls(FAULT_CreateImage), 1);
  fill(p.stored, 3);
  float *y = result(&p, "texture");
  check_result(&p, y, 3);
  free(y);
  drop(&p);
  p = make(64, 128, true, MICA_F16);
  free(result(&p, "texture"));
  ck_assert_uint_le(fault_calls(FAULT_CreateImage), 2); /* the pool gave this block or the other */
  const unsigned long released = fault_calls(FAULT_ReleaseMemObject), made = fault_calls(FAULT_CreateImage);
  drop(&p);
  ck_ok(mica_queue_finish(mica_engine_queue(engine)));
  mica_engine_trim(engine);
  ck_assert_uint_ge(fault_calls(FAULT_ReleaseMemObject), released + made + 3);
}
END_TEST

/* A driver that refuses an image costs speed, not the result, and is asked once. */
START_TEST(without_an_image_the_buffer_is_read) {
  product p = make(128, 256, true, MICA_F32);
  keep_as_best(&p, "gemv_gpu texture");
  fault_always(FAULT_CreateImage, CL_IMAGE_FORMAT_NOT_SUPPORTED);
  for (int i = 0; i < 2; i++) {
    float *y = result(&p, NULL);
    check_result(&p, y, 0);
    free(y);
  }
  ck_assert_uint_eq(fault_calls(FAULT_CreateImage), 1);
  drop(&p);
}
END_TEST

/* Rows that no pixel divides, other types, and results in the matrix's own buffer. */
START_TEST(what_no_image_holds_is_declined) {
  product odd = make(128, 258, true, MICA_F32), narrow = make(128, 256, true, MICA_BF16);
  ck_assert_ptr_nonnull(declined(&odd, "texture"));
  ck_assert_ptr_nonnull(declined(&narrow, "texture"));
  float *y = result(&odd, "texture");
  check_result(&odd, y, 0);
  free(y);
  mica_tensor *all = filled(MICA_F32, MICA_SHAPE(129, 128), 0), *w = NULL, *d = NULL;
  mica__gemm gemm;
  ck_ok(mica_tensor_view(all, MICA_SHAPE(128, 128), NULL, 0, &w));
  ck_ok(mica_tensor_view(all, MICA_SHAPE(1, 128), NULL, 128 * 128, &d));
  product p = make(128, 128, false, MICA_F32);
  ck_ok(mica__gemm_problem(mica_engine_queue(engine), NULL, p.x, w, NULL, NULL, d, &gemm));
  p.gemm = gemm;
  ck_assert_ptr_nonnull(declined(&p, "texture"));
  ck_assert_uint_eq(fault_calls(FAULT_CreateImage), 0);
  mica_tensor_destroy(w);
  mica_tensor_destroy(d);
  mica_tensor_destroy(all);
  drop(&p);
  drop(&odd);
  drop(&narrow);
}
END_TEST

/* What a device must be for its images to be tried, and how large they may be. */
START_TEST(the_probe) {
  static const struct {
    const char *wanted, *limits; /* MICA_TEXTURES; NULL: not set */
    bool line, plane;
  } rows[] = {
      {NULL, GPU, false, false},
      {NULL, "class=cpu vendor=QUALCOMM vendor_id=20803", false, false},
      {NULL, GPU " vendor=QUALCOMM vendor_id=20803", true, false},
      {NULL, GPU " vendor=ARM vendor_id=5045 planes", true, true},
      {"0", GPU " vendor=ARM vendor_id=5045 planes", false, false},
      {"", GPU " vendor=ARM vendor_id=5045", true, false},
      {"1", GPU, true, false},
      {"1", GPU " planes", true, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    end();
    if (rows[i].wanted) setenv("MICA_TEXTURES", rows[i].wanted, 1);
    begin_with(rows[i].limits);
    const mica_device_info *device = mica_engine_device(engine);
    ck_assert_msg(mica__has_texture_line(device) == rows[i].line, "%s", rows[i].limits);
    ck_assert_msg(mica__has_texture_plane(device) == rows[i].plane, "%s", rows[i].limits);
    if (rows[i].plane) ck_assert_int_eq(1 << mica__texture_shift(device), (int)device->texture_width);
  }
  end();
  setenv("MICA_TEXTURES", "1", 1);
  begin_with(GPU " planes texture=1000");
  ck_assert_uint_eq(mica_engine_device(engine)->texture_length, 1000);
  product p = make(64, 128, true, MICA_F32);
  ck_assert_ptr_nonnull(declined(&p, "texture"));
  drop(&p);
  p = make(512, 128, true, MICA_F32); /* 16384 pixels: four rows of the widest plane */
  ck_assert_ptr_nonnull(declined(&p, "texture"));
  ck_assert_ptr_null(declined(&p, "plane"));
  drop(&p);
}
END_TEST

TESTS(lacks_images(), begin, end, results_are_those_of_the_buffer, variants_pass_the_doctor,
      a_recording_reads_the_image, a_tuner_chooses, an_image_lives_as_long_as_its_block,
      without_an_image_the_buffer_is_read, what_no_image_holds_is_declined, the_probe)
