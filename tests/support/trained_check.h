/* tests/support/trained_check.h: a random network must be trained alike in all ways. */
#ifndef MICA_TESTS_SUPPORT_TRAINED_CHECK_H
#define MICA_TESTS_SUPPORT_TRAINED_CHECK_H

#include "support/trained.h"

#include <check.h>

typedef trained trained_fn(const random_network *network, uint32_t data, const trained_way *way);

/* Runs the network of a seed as planned, with some parts of the compiler left out that the seed chooses, and with all
 * left out; compares each with trained_on_host, within a bound that comes from rounding: how far that run moves when
 * every value of the graph is rounded to its type. A network that fails is printed, made smaller, and printed again,
 * with the parts of the compiler without which it is right; then the test fails.
 *
 * What lies near a kink (of relu, max pooling) may fall to its other side: a network that has kinks fails when it does
 * on three data sets. */
void trained_check(uint32_t seed, trained_fn *run, bool small);

#endif
