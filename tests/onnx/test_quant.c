/* labels: device single
 *
 * A keyword spotter with quantised operators (onnx/models of the test data): right, and computed by integer kernels. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/golden.h"

#include <mica/onnx.h>
#include <mica/profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;

static uint64_t launches_of(const char *kernel) {
  mica_profile_row rows[64];
  size_t count = 0;
  uint64_t launches = 0;
  ck_ok(mica_profile_rows(test_engine(), rows, 64, &count));
  for (size_t i = 0; i < count; i++)
    if (!strncmp(rows[i].kernel, kernel, strlen(kernel))) launches += rows[i].count;
  return launches;
}

/* Three convolutions and three layers. The first convolution has one input channel and many taps: a product too. */
START_TEST(keywords_are_spotted_in_integers) {
  char path[600];
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  ck_ok(mica_onnx_open(path, &model));
  ck_ok(mica_onnx_runner_create(test_engine(), model, NULL, &runner));
  ck_ok(mica_profile_start(test_engine()));
  snprintf(path, sizeof path, "%s/test_data_set_0", folder);
  ck_ok(mica_onnx_check(runner, test_queue(), path, 0, 0));
  ck_ok(mica_profile_stop(test_engine()));
  /* Products quantise as they store. */
  ck_assert_uint_le(launches_of("fused_quantize"), 5);
  uint64_t products =
      launches_of("int8_cpu") + launches_of("int8_filters") + launches_of("int8_winograd") + launches_of("int8_gpu");
  ck_assert_uint_eq(products, 6);
  ck_assert_uint_eq(launches_of("int8_depthwise") + launches_of("gemm") + launches_of("conv"), 0);
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
}
END_TEST

static const char *lacks_model(void) {
  folder = test_data("onnx/models/micro_kws_m_static_qdq");
  return folder ? test_lacks_device() : "no onnx/models in MICA_TEST_DATA";
}

TESTS(BOTH(NEEDS(ONNX), lacks_model()), NULL, NULL, keywords_are_spotted_in_integers)
