/* task/head/next_token.h: the token after each token of a text. */
#ifndef MICA_TASK_HEAD_NEXT_TOKEN_H
#define MICA_TASK_HEAD_NEXT_TOKEN_H

#include "run/composed.h"

/* For each token, tests and predictions output the loss of the next one and the most likely next one, f32 and i32 (N,
 * context). */
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

/* mica__task_row.agree: compares the likeliest tokens at the positions of contexts, if both runs have the same
 * tokens. */
mica_status mica__next_token_agree(mica_run *run, mica_run *other, int64_t most, double *share, int64_t *count);
/* mica_run_generate (run/verbs/generate.c). */
mica_status mica__next_token_generate(mica_run *run, const mica_run_texts *texts);
/* Adds a text that the network writes. */
mica_status mica__next_token_report(mica_run *run, mica_report *report);

#endif
