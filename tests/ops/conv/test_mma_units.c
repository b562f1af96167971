/* labels: device slow, shards: 12
 *
 * Convolutions on the matrix units of others than NVIDIA (test_mma.c): the emulation of each in every type, with one
 * epilogue each, over the whole grid of the check. */
#include "ops/conv/all_types.h"
#include "ops/emulation.h"
#include "support/check_main.h"
#include "support/engine.h"

static const struct {
  const mica__impl *impl;
  mica__conv_pass pass;
} passes[] = {{&mica__conv_gpu_mma, MICA__CONV_FWD},
              {&mica__conv_gpu_mma, MICA__CONV_BWD_DATA},
              {&mica__conv_gpu_wgrad_mma, MICA__CONV_BWD_FILTER}};
#define PASSES (sizeof passes / sizeof *passes)

START_TEST(emulations_are_right) {
  const mica__kernel_desc *kernel = passes[_i].impl->kernel;
  const mica__variant *nvidia = &kernel->variants[kernel->variant_count - 1], *variant;
  int tried = 0;
  for (int n = 0; (variant = test_emulation(kernel, n)); n++) {
    if (variant == nvidia || !test_in_shard((size_t)n * PASSES + (size_t)_i)) continue;
    expect_all_types_right(passes[_i].impl, variant, passes[_i].pass, true);
    tried++;
  }
  printf("%d emulations of %s\n", tried, kernel->name);
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("conv_mma_units");
  TCase *right = tcase_create("emulations");
  tcase_set_timeout(right, 0);
  tcase_add_loop_test(right, emulations_are_right, 0, PASSES);
  suite_add_tcase(suite, right);
  return suite;
}
