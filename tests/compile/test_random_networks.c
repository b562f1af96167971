/* labels: device slow
 *
 * Random networks, trained a few steps and asked for predictions, on the device: as sessions plan them, with some of
 * the compiler's parts left out, with all of them left out, and on the host in double from the graph as it was built.
 * MICA_TEST_FIRST and MICA_TEST_LAST give the seeds; MICA_TEST_VERBOSE shows each one's largest error. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/trained_check.h"

#define NETWORKS 8

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  return trained_suite("random_networks", NETWORKS, trained_on_device, false);
}
