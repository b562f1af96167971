/* labels: null single
 *
 * The plans of random networks, trained a few steps, carried out on the host in double in the memory that they name: no
 * value lies where another is still read, and what was fused, folded and rewritten is what the graph says.
 * MICA_TEST_FIRST and MICA_TEST_LAST give the seeds: thousands take minutes, since nothing is compiled. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/limited_api.h"
#include "support/trained_check.h"

#define NETWORKS 64

Suite *test_suite(void) {
  if (!limited_install("null")) return NULL;
  return trained_suite("random_plans", NETWORKS, trained_by_plan, true);
}
