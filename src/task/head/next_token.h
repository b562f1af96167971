/* task/head/next_token.h: the token after each token of a text. */
#ifndef MICA_TASK_HEAD_NEXT_TOKEN_H
#define MICA_TASK_HEAD_NEXT_TOKEN_H

#include "run/composed.h"

/* Names of the outputs (N, context) in tests and predictions: for each token, the loss of the token after it (f32), and
 * the most likely token after it (i32). */
#define MICA__NEXT_TOKEN_LOSSES "losses"
#define MICA__NEXT_TOKEN_LIKELIEST "next"

#define NEXT_TOKEN_METRICS                                                                                             \
  {                                                                                                                    \
    {"perplexity", true, "exp of the mean loss per token; less is better", false},                                     \
        {"bits_per_byte", true, "bits that the network needs per byte of the text; less is better", false},            \
        {"bytes_per_token", false, "mean length of a token", true}, {                                                  \
      0                                                                                                                \
    }                                                                                                                  \
  }

extern const mica__head mica__head_next_token;

/* mica__task_row.agree: compares the likeliest next tokens of two runs in at most `most` contexts. *share is the share
 * of positions at which both runs find the same token likeliest. *count is the number of contexts. If the runs have
 * different tokens, *share is NaN and *count is 0. */
mica_status mica__next_token_agree(mica_run *run, mica_run *other, int64_t most, double *share, int64_t *count);
/* Writes texts for mica_run_generate (run/verbs/generate.c). */
mica_status mica__next_token_generate(mica_run *run, const mica_run_texts *texts);
/* Adds to a report a text that the network writes. Adds nothing if the tokenizer cannot encode any prompt to begin
 * with. */
mica_status mica__next_token_report(mica_run *run, mica_report *report);

#endif
