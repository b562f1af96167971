/* labels: device slow, shards: 12
 *
 * Convolutions on the matrix units of others than NVIDIA (test_mma.c): the emulation of each in every type, with one
 * epilogue each, over the whole grid of the check. */
#include "ops/conv/mma_passes.h"
#include "ops/emulation.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <stdlib.h>
#include <string.h>

/* PoCL 6.0 (LLVM 18) optimises these kernels to other code from one compilation to the next. On empty caches 3 of 8
 * runs of a shard computed wrongly; unoptimised, none of 11. Called before the first test_engine. */
static void choose_optimisation(void) {
  mica_device_info device;
  if (mica_device_find(getenv("MICA_DEVICE"), &device) != MICA_OK) return;
  if (strstr(device.platform, "Portable Computing Language") && atoi(device.driver) > 3)
    setenv("MICA_TEST_LIMITS", "unoptimised", 0);
}

START_TEST(emulations_are_right) {
  const mica__impl *impl = mma_passes[_i].impl;
  const mica__variant *nvidia = last_variant(impl), *variant;
  int tried = 0;
  for (int n = 0; (variant = test_emulation(impl->kernel, n)); n++) {
    if (variant == nvidia || !test_in_shard((size_t)n * MMA_PASSES + (size_t)_i)) continue;
    expect_all_types_right(&mma_passes[_i], variant, true);
    tried++;
  }
  printf("%d emulations of %s\n", tried, impl->name);
}
END_TEST

Suite *test_suite(void) {
  choose_optimisation();
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("conv_mma_units");
  TCase *right = tcase_create("emulations");
  tcase_set_timeout(right, 0);
  tcase_add_loop_test(right, emulations_are_right, 0, MMA_PASSES);
  suite_add_tcase(suite, right);
  return suite;
}
