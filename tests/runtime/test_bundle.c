/* labels: device single
 *
 * Bundles: a device without a compiler trains from one to the same bits; what is damaged, or for another device, is
 * refused with a sentence. */
#include "runtime/program_bundle.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/limited_api.h"

#include <ftw.h>
#include <mica/bundle.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS 16
#define STEPS 3

static char folder[4096], path[4200], cache[4200];

static int remove_one(const char *name, const struct stat *about, int type, struct FTW *level) {
  (void)about, (void)type, (void)level;
  return remove(name);
}

static void begin(void) {
  snprintf(folder, sizeof folder, "%s/bundle-XXXXXX", getenv("MICA_CACHE_DIR"));
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/x.bundle", folder);
  snprintf(cache, sizeof cache, "%s/cache", folder);
}

static void end(void) {
  limited_install("");
  nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Trains a perceptron with its dropout, and reads the losses. */
static mica_status train(mica_engine *engine, float losses[STEPS]) {
  float points[2 * ROWS], rate = 0.1f;
  int32_t labels[ROWS];
  mica_queue *queue = mica_engine_queue(engine);
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *y = NULL, *r = NULL;
  for (int i = 0; i < ROWS; i++) points[2 * i] = (float)i, points[2 * i + 1] = 1, labels[i] = i % 2;
  mica_status status = mica_graph_create(&graph);
  if (!status) status = mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 1}, &nn);
  if (!status) {
    mica_value h = mica_nn_dense(nn, "fc1", mica_input(graph, "x", MICA_F32, MICA_SHAPE(ROWS, 2)), 32, NULL);
    h = mica_nn_dropout(nn, mica_tanh(h), 0.2);
    mica_value target = mica_input(graph, "labels", MICA_I32, MICA_SHAPE(ROWS));
    mica_value loss = mica_cross_entropy(mica_nn_dense(nn, "fc2", h, 2, NULL), target, NULL);
    const mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
    mica_optimize(nn, loss, &how, NULL);
    status = mica_session_create(engine, graph, &loss, 1, NULL, &session);
  }
  if (!status) status = mica_nn_initialise(nn, session);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(ROWS, 2), points, &x);
  if (!status) status = mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(ROWS), labels, &y);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
  const mica_feed feeds[] = {{"x", x}, {"labels", y}, {MICA_LEARNING_RATE, r}};
  for (int i = 0; !status && i < STEPS; i++) {
    status = mica_session_run(session, queue, feeds, 3);
    if (!status) status = mica_tensor_download(queue, mica_session_output(session, 0), &losses[i], sizeof *losses);
  }
  mica_tensor_destroy(r);
  mica_tensor_destroy(y);
  mica_tensor_destroy(x);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return status;
}

static mica_engine *engine_with(const char *directory, const char *bundle) {
  mica_engine *engine = NULL;
  const mica_engine_config config = {.cache_dir = directory, .bundle = bundle};
  ck_ok(mica_engine_create(&config, &engine));
  return engine;
}

static void refused(const char *bundle, mica_status wanted, const char *words) {
  mica_engine *engine = NULL;
  const mica_engine_config config = {.cache_dir = "", .bundle = bundle};
  const mica_status status = mica_engine_create(&config, &engine);
  ck_assert_msg(status == wanted && strstr(mica_error_message(), words), "%s: %d \"%s\"", words, (int)status,
                mica_error_message());
}

/* Writes the bundle of a training, and reads what it lost. */
static void write_bundle(float losses[STEPS]) {
  mica_engine *engine = engine_with(cache, "");
  ck_ok(train(engine, losses));
  ck_ok(mica_bundle_write(engine, path));
  test_count_launches(mica_engine_stats(engine).launches);
  mica_engine_destroy(engine);
}

/* Training on a device that has no compiler. */
static void train_from_bundle(float losses[STEPS]) {
  mica_engine *engine = engine_with("", path);
  ck_assert(!mica_engine_device(engine)->has_compiler);
  ck_ok(train(engine, losses));
  ck_assert_uint_eq(mica_engine_stats(engine).kernel_builds, 0);
  ck_assert_uint_gt(mica_engine_stats(engine).cache_hits, 0);
  test_count_launches(mica_engine_stats(engine).launches);
  mica_engine_destroy(engine);
}

START_TEST(trains_to_the_same_bits_without_a_compiler) {
  float with[STEPS], without[STEPS];
  mica_bundle_info info;
  write_bundle(with);
  ck_ok(mica_bundle_describe(path, &info));
  ck_assert_str_eq(info.version, MICA_VERSION_STRING);
  ck_assert_str_eq(info.device, mica_engine_device(test_engine())->name);
  ck_assert_uint_gt(info.programs, 0);
  ck_assert(limited_install("nocompiler"));
  train_from_bundle(without);
  ck_assert_mem_eq(with, without, sizeof with);
}
END_TEST

START_TEST(what_is_not_in_it_is_named) {
  float losses[STEPS];
  write_bundle(losses);
  ck_assert(limited_install("nocompiler"));
  mica_engine *engine = engine_with("", path);
  mica_tensor *a = NULL;
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(7, 5), &a));
  const mica_status status = mica_op_activation_fwd(mica_engine_queue(engine), MICA_ACTIVATION_GELU, 0, a, a);
  ck_assert_int_eq(status, MICA_E_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "is not in the bundle"));
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "x.bundle"));
  mica_tensor_destroy(a);
  mica_engine_destroy(engine);
}
END_TEST

/* Another program's kernels join those that a bundle has. */
START_TEST(grows_by_what_another_engine_ran) {
  float losses[STEPS];
  mica_bundle_info before, after;
  write_bundle(losses);
  ck_ok(mica_bundle_describe(path, &before));
  mica_engine *engine = engine_with(cache, path);
  mica_tensor *a = NULL;
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1000), &a));
  ck_ok(mica_op_fill(mica_engine_queue(engine), 1, a));
  ck_ok(mica_op_activation_fwd(mica_engine_queue(engine), MICA_ACTIVATION_GELU, 0, a, a));
  ck_ok(mica_queue_finish(mica_engine_queue(engine)));
  mica_tensor_destroy(a);
  setenv("MICA_BUNDLE_OUT", path, 1);
  mica_engine_destroy(engine);
  unsetenv("MICA_BUNDLE_OUT");
  ck_ok(mica_bundle_describe(path, &after));
  ck_assert_uint_gt(after.programs, before.programs);
  ck_assert(limited_install("nocompiler"));
  train_from_bundle(losses);
}
END_TEST

START_TEST(a_device_without_compiler_wants_one) {
  ck_assert(limited_install("nocompiler"));
  refused("", MICA_E_UNSUPPORTED, "has no compiler; give the path of a bundle");
  refused("/nowhere/x.bundle", MICA_E_NOT_FOUND, "there is no file /nowhere/x.bundle");
}
END_TEST

/* As it is, and for every other device, driver or file. */
START_TEST(foreign_ones_are_refused) {
  float losses[STEPS];
  write_bundle(losses);
  ck_assert(limited_install("unoptimised"));
  refused(path, MICA_E_STATE, "driver");
  ck_assert(limited_install(""));
  ck_assert_int_eq(chmod(path, 0666), 0);
  refused(path, MICA_E_STATE, "can be written by others");
  refused("/dev/null", MICA_E_STATE, "/dev/null");
  refused(folder, MICA_E_NOT_FOUND, folder);
  mica_engine *engine = engine_with("", "");
  ck_assert_int_eq(mica_bundle_write(engine, path), MICA_E_STATE);
  mica_engine_destroy(engine);
  engine = engine_with(cache, "");
  const char *message = mica_error_message();
  ck_assert_int_eq(mica_bundle_write(engine, path), MICA_E_STATE); /* written by others */
  ck_assert_ptr_eq(mica_error_message(), message);                 /* the private attempt has ended */
  ck_assert_ptr_nonnull(strstr(message, "can be written by others"));
  ck_assert_int_eq(chmod(path, 0600), 0);
  ck_assert_int_eq(mica_bundle_write(engine, path), MICA_E_STATE); /* nothing has run */
  mica_engine_destroy(engine);
  ck_assert_int_eq(mica_bundle_write(NULL, path), MICA_E_INVALID);
}
END_TEST

static unsigned char *read_all(size_t *size) {
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *data = malloc(*size);
  ck_assert_uint_eq(fread(data, 1, *size, file), *size);
  fclose(file);
  return data;
}

static void write_all(const unsigned char *data, size_t size) {
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  ck_assert_uint_eq(fwrite(data, 1, size, file), size);
  fclose(file);
}

/* A bit anywhere, and every kind of end. */
START_TEST(damaged_ones_are_refused) {
  float losses[STEPS];
  size_t size = 0;
  write_bundle(losses);
  unsigned char *data = read_all(&size);
  for (size_t i = 0; i < 40; i++) {
    const size_t at = i < 20 ? i * 8 : (i - 19) * (size / 21);
    data[at] ^= 4;
    write_all(data, size);
    refused(path, MICA_E_FORMAT, "is not an intact bundle");
    data[at] ^= 4;
  }
  for (size_t i = 0; i < 20; i++) {
    write_all(data, i * size / 20);
    refused(path, MICA_E_FORMAT, "is not an intact bundle");
  }
  unsigned char *longer = malloc(size + 1);
  memcpy(longer, data, size);
  longer[size] = 0;
  write_all(longer, size + 1);
  refused(path, MICA_E_FORMAT, "there are bytes after its programs");
  write_all(data, size);
  mica_engine_destroy(engine_with("", path));
  free(longer);
  free(data);
}
END_TEST

TESTS(DEVICE, begin, end, trains_to_the_same_bits_without_a_compiler, what_is_not_in_it_is_named,
      grows_by_what_another_engine_ran, a_device_without_compiler_wants_one, foreign_ones_are_refused,
      damaged_ones_are_refused)
