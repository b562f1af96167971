/* labels: device slow, shards: 12
 *
 * Convolutions on the matrix units of others than NVIDIA (test_mma.c): the emulation of each in every type, with one
 * epilogue each, over the whole grid of the check. */
#include "ops/conv/mma_passes.h"
#include "ops/emulation.h"
#include "support/check_main.h"
#include "support/engine.h"

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

/* Emulations are compiled without optimisation. */
static const char *lacks(void) {
  test_emulate_unoptimised();
  return DEVICE;
}

TESTS(lacks(), NULL, NULL, LOOP(emulations_are_right, 0, MMA_PASSES))
