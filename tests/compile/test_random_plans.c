/* labels: null single
 *
 * The plans of random networks, trained a few steps, carried out on the host in double in the memory that they name: no
 * value lies where another is still read, and what was fused, folded and rewritten is what the graph says.
 * MICA_TEST_FIRST and MICA_TEST_LAST give the seeds: thousands take minutes, since nothing is compiled. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/limited_api.h"
#include "support/trained_check.h"

#define NETWORKS 24

START_TEST(networks_are_trained_alike_in_every_way) { trained_check((uint32_t)_i, trained_by_plan, true); }
END_TEST

Suite *test_suite(void) {
  int first = 0, end = 0;
  if (!limited_install("null")) return NULL;
  trained_seeds(NETWORKS, &first, &end);
  Suite *suite = suite_create("random_plans");
  TCase *tests = tcase_create("random");
  tcase_set_timeout(tests, 0);
  tcase_add_loop_test(tests, networks_are_trained_alike_in_every_way, first, end);
  suite_add_tcase(suite, tests);
  return suite;
}
