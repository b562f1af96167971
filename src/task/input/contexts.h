/* task/input/contexts.h: what training and continuing have in common. */
#ifndef MICA_TASK_INPUT_CONTEXTS_H
#define MICA_TASK_INPUT_CONTEXTS_H

#include "run/run.h"
#include "run/tokens.h"

/* The vocabulary where tokens are bytes. */
#define MICA__LANGUAGE_BYTES 256

/* What tests and predictions give of each position: the loss of the token behind it, and the likeliest one, f32 and i32
 * (N, context). */
#define MICA__LANGUAGE_LOSSES "losses"
#define MICA__LANGUAGE_NEXT "next"

/* The network that the run's settings describe. */
mica_model_config mica__language_network(const mica_run *run);
/* mica_run_generate. */
mica_status mica__language_generate(mica_run *run, const mica_run_texts *texts);
/* Adds a text that the network writes. */
mica_status mica__language_report(mica_run *run, mica_report *report);

/* --- windows of a text (contexts_show.c) --- */

/* The mean loss of the tokens behind the first one, each of those before it in its window. */
mica_status mica__language_mean_loss(mica_run *run, const mica__ids *ids, double *mean);
/* mica__task_row.agree: of the positions of contexts, where both runs have the same tokens. */
mica_status mica__language_agree(mica_run *run, mica_run *other, int64_t most, double *share, int64_t *count);

/* --- tokens (contexts_tokens.c) --- */

/* A text in memory as samples of a column "text", pieces that are encoded by themselves; the owner is released with the
 * dataset, and where there comes to be none. */
mica_status mica__language_pieces(const char *name, const unsigned char *text, size_t bytes, void *owner,
                                  void (*release)(void *owner), mica_dataset **data);
/* Makes the tokeniser of a run whose tokens are no bytes. */
mica_status mica__language_tokenizer(mica_run *run);
/* mica__input.views.derive: the contexts of such pieces. */
mica_status mica__language_derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out);
/* How many bytes the text of each token has, (vocabulary) f32. */
mica_value mica__language_token_bytes(const mica_run *run, mica_graph *graph);
/* The ids of a text, which may be bytes. name stands in sentences. */
mica_status mica__language_encode(const mica_run *run, const char *name, const char *text, size_t bytes,
                                  mica__ids *ids);
/* Hands on the text of a token behind the one before it. */
mica_status mica__language_write(const mica_run *run, const mica_run_texts *texts, size_t prompt, int32_t before,
                                 int32_t id, bool *goes_on);

#endif
