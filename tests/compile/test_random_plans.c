/* labels: null single
 *
 * The plans of random networks, trained a few steps, carried out on the host in double in the memory that they name: no
 * value lies where another is still read, and what was fused, folded and rewritten is what the graph says.
 * MICA_TEST_FIRST and MICA_TEST_LAST give the seeds: thousands take minutes, since nothing is compiled. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/limited_api.h"
#include "support/trained_check.h"

#define NETWORKS (TEST_FAULTS_ALONE ? 16 : 64)

START_TEST(networks_are_trained_alike_in_every_way) { trained_check((uint32_t)_i, trained_by_plan, true); }
END_TEST

TESTS(LIMITED("null"), NULL, NULL, SEEDS(networks_are_trained_alike_in_every_way, NETWORKS))
