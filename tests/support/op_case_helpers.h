/* tests/support/op_case_helpers.h: what is too long for a row of tests/ops/cases/<family>.def. */
#ifndef MICA_TESTS_SUPPORT_OP_CASE_HELPERS_H
#define MICA_TESTS_SUPPORT_OP_CASE_HELPERS_H

#include <mica/nodes.h>
#include <mica/sparse.h>
#include <stdbool.h>

/* The product of all three parts of a split of 7 along the last axis. */
mica_value test_split_and_multiply(mica_value x);

/* Batch normalisation less the product of its mean and variance, which are results too. */
mica_value test_batch_statistics(mica_value x);

/* The mean of (1 - p)^gamma times the cross entropy, p = e^-(cross entropy) the target's probability. */
mica_value test_focal(mica_value logits, mica_value target, double gamma);

/* The layer of mica_rnn that the text names (support/rnn_case.c), its y, h and c in a row; or the same in small ops. */
mica_value test_rnn(const mica_value *x, const char *text, bool written);

/* Attention of x[0], x[1] and x[2], with these settings (support/op_case_attention.c); operands from x[3] on are mask,
 * key lengths, offset, step, starts and sinks, as far as `with` has their letters, in its order: "mlostk". */
typedef struct test_attention_kind {
  bool causal;
  int64_t window;
  double scale, soft_cap, dropout;
  const char *with;
} test_attention_kind;
extern const test_attention_kind test_attention_plain, test_attention_causal, test_attention_window,
    test_attention_masked, test_attention_mask_of_lengths, test_attention_capped, test_attention_cached,
    test_attention_dropped, test_attention_documents, test_attention_with_sinks, test_attention_started;
mica_value test_attention(const test_attention_kind *kind, const mica_value *x);
/* Scores are made as a whole, in small ops; to be built after test_attention in the same graph, whose
 * random numbers it draws. */
mica_value test_attention_written(const test_attention_kind *kind, const mica_value *x);

/* mica_fft, mica_ifft, mica_rfft and mica_irfft as products with waves (support/op_case_signal.c), of at most 64
 * numbers and, of irfft, an odd n: rounding would show in what an even n's last frequency has for nothing. */
mica_value test_fft_written(mica_value x, bool inverse, bool real_in, bool real_out);

/* CTC of logits (T, N, C) with labels 0 2 2 in `frames` frames, at least 5, blank 1; the same in small ops. */
mica_value test_ctc(mica_value logits, int64_t frames, mica_loss_reduction reduction);
mica_value test_ctc_written(mica_value logits, int64_t frames, mica_loss_reduction reduction);

/* Two matrices of 4 x 4 and 7 entries each; the second has 5 that count (support/op_case_sparse.c). */
const mica_pattern *test_pattern(mica_graph *graph);

#endif
