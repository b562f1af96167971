/* tests/support/op_case_helpers.h: what is too long for a row of tests/ops/cases/<family>.def. */
#ifndef MICA_TESTS_SUPPORT_OP_CASE_HELPERS_H
#define MICA_TESTS_SUPPORT_OP_CASE_HELPERS_H

#include <mica/graph.h>
#include <stdbool.h>

/* The product of all three parts of a split of 7 along the last axis. */
mica_value test_split_and_multiply(mica_value x);

/* Batch normalisation less the product of its mean and variance, which are results too. */
mica_value test_batch_statistics(mica_value x);

/* The mean of (1 - p)^gamma times the cross entropy, p = e^-(cross entropy) the target's probability. */
mica_value test_focal(mica_value logits, mica_value target, double gamma);

/* The layer of mica_rnn that the text names (support/rnn_case.c), its y, h and c in a row; or the same in small ops. */
mica_value test_rnn(const mica_value *x, const char *text, bool written);

#endif
