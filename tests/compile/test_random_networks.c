/* labels: device slow
 *
 * Random networks, trained a few steps and asked for predictions, on the device: as sessions plan them, with some of
 * the compiler's parts left out, with all of them left out, and on the host in double from the graph as it was built.
 * MICA_TEST_FIRST and MICA_TEST_LAST give the seeds; MICA_TEST_VERBOSE shows each one's largest error. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/trained_check.h"

#define NETWORKS 8

START_TEST(networks_are_trained_alike_in_every_way) { trained_check((uint32_t)_i, trained_on_device, false); }
END_TEST

Suite *test_suite(void) {
  int first = 0, end = 0;
  if (!test_engine()) return test_skip("no device");
  trained_seeds(NETWORKS, &first, &end);
  Suite *suite = suite_create("random_networks");
  TCase *tests = tcase_create("random");
  tcase_set_timeout(tests, 0);
  tcase_add_loop_test(tests, networks_are_trained_alike_in_every_way, first, end);
  suite_add_tcase(suite, tests);
  return suite;
}
