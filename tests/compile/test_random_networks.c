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

TESTS(DEVICE, NULL, NULL, SEEDS(networks_are_trained_alike_in_every_way, NETWORKS))
