/* labels: null single
 *
 * The decoder's thread of mica serve: one decoder that fails does not keep the others from their step. */
#ifndef _WIN32

/* Replace the two functions that a step calls. */
#define mica_decoder_step step_one
#define serve_vectors_step step_vectors
#include "cli/serve/job.c"

#include "base/error.h"
#include "support/check_main.h"

enum { COUNT = SERVE_MOST_ADAPTERS + 1 };

static char slots[COUNT]; /* decoder d points to slots[d] */
static int steps[COUNT], vector_steps;
static bool fails[COUNT], goes_on[COUNT];

mica_status step_one(mica_decoder *decoder, bool *busy) {
  const size_t d = (size_t)((char *)decoder - slots);
  steps[d]++;
  *busy = goes_on[d];
  return fails[d] ? mica__fail(MICA_E_DEVICE, "decoder %zu fails", d) : MICA_OK;
}

mica_status step_vectors(serve_work *work, bool *busy) {
  (void)work;
  vector_steps++;
  *busy |= false;
  return MICA_OK;
}

START_TEST(each_decoder_gets_its_step) {
  serve_work work = {.embedder = (mica_embedder *)slots, .lock = PTHREAD_MUTEX_INITIALIZER};
  char message[512];
  bool busy = false;
  memset(steps, 0, sizeof steps);
  vector_steps = 0;
  for (size_t d = 0; d < COUNT; d++) work.decoders[d] = d == 1 ? NULL : (mica_decoder *)(slots + d);
  fails[0] = fails[COUNT - 2] = goes_on[COUNT - 1] = true;
  step(&work, &busy);
  ck_assert(serve_work_failed(&work, message));
  ck_assert_str_eq(message, "decoder 0 fails");
  for (size_t d = 0; d < COUNT; d++) ck_assert_int_eq(steps[d], d != 1);
  ck_assert_int_eq(vector_steps, 1);
  ck_assert(busy);
  fails[0] = fails[COUNT - 2] = goes_on[COUNT - 1] = false;
  step(&work, &busy);
  ck_assert(!busy);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, each_decoder_gets_its_step)

#else

#include "support/check_main.h"

SKIPS("mica serve is not for Windows")

#endif
