/* task/input/contexts.h: contexts of tokens, cut from a text or given as samples, and a network that predicts after
 * each token the next one. */
#ifndef MICA_TASK_INPUT_CONTEXTS_H
#define MICA_TASK_INPUT_CONTEXTS_H

#include "run/common_settings.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/tokens.h"

/* The size of the vocabulary if tokens are bytes. */
#define MICA__CONTEXTS_BYTES 256

#define CONTEXTS_SETTINGS(X, S)                                                                                        \
  MICA__TOKENIZER_SETTINGS(X, S, "byte", "tokenizer.json to use, or kind of tokenizer to train on the training text",  \
                           MICA__OF_TRAINED)                                                                           \
  X(S, INT, context, "context", "128", "N", "number of preceding tokens that a prediction sees", .low = 1,             \
    .high = 1 << 20, .fixed = true)                                                                                    \
  X(S, INT, contexts, "contexts", "0", "N",                                                                            \
    "pieces of --context tokens per epoch, evenly spaced in the text; 0: the whole text", .low = 0, .high = 0x1p31,    \
    .fixed = true)                                                                                                     \
  X(S, INT, layers, "layers", "4", "N", "transformer blocks", .low = 1, .high = 1000, .fixed = true,                   \
    .structure = true)                                                                                                 \
  X(S, INT, width, "width", "128", "N", "features per position", .low = 1, .high = 1 << 16, .fixed = true,             \
    .structure = true)                                                                                                 \
  X(S, INT, heads, "heads", "4", "N", "attention heads", .low = 1, .high = 1024, .fixed = true, .structure = true)     \
  X(S, INT, groups, "groups", "0", "N",                                                                                \
    "grouped-query attention: heads of keys and values; 0: the same number as --heads", .low = 0, .high = 1024,        \
    .fixed = true, .structure = true)                                                                                  \
  MICA__BLOCK_SETTINGS(X, S, "0", "learned", "gelu")                                                                   \
  X(S, FLAG, rms_norm, "rms-norm", "false", "", "use RMS norms instead of layer norms", .fixed = true,                 \
    .structure = true)

#define CONTEXTS_FACTS(X, S)                                                                                           \
  X(S, NUMBER, vocabulary, .needed = true, .most = 1 << 24)                                                            \
  X(S, TEXTS, tokenizer, .needed = false)

MICA__SETTINGS_STRUCT(contexts, CONTEXTS_SETTINGS);
MICA__FACTS_STRUCT(contexts, CONTEXTS_FACTS);

extern const mica__input mica__input_contexts;

/* Settings and stored values (run/facts.h) of contexts (task/input/contexts_tokens.c). */
mica__contexts_settings mica__contexts_settings_of(const mica_run *run);
mica__contexts_facts mica__contexts_facts_of(const mica_run *run);

/* Opens a part: mica__task_row.open. The validation part of the run's own data is the last share of the training text,
 * unless a folder has a file for it. */
mica_status mica__contexts_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                                mica_dataset **data);
/* The network that the run's settings describe. */
mica_model_config mica__contexts_network(const mica_run *run);

/* --- tokens (contexts_tokens.c) --- */

/* Makes a dataset of a text in memory. The samples of its column "text" are pieces of the text, which are encoded
 * independently. release(owner) is called when the dataset is destroyed, and also if this call fails. */
mica_status mica__contexts_pieces(const char *name, const unsigned char *text, size_t bytes, void *owner,
                                  void (*release)(void *owner), mica_dataset **data);
/* Makes the tokenizer of a run whose tokens are not bytes. */
mica_status mica__contexts_tokenizer(mica_run *run);
/* mica__input.views.derive: encodes pieces of text and cuts the tokens into contexts. Data that hold contexts already
 * stay as they are. */
mica_status mica__contexts_derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out);
/* The token ids of a text: its bytes, or what the tokenizer makes of them. `name` appears in messages. */
mica_status mica__contexts_encode(const mica_run *run, const char *name, const char *text, size_t bytes,
                                  mica__ids *ids);

/* --- texts that are read window by window (contexts_show.c) --- */

/* Visits the given texts, with the head's output for each token but the last. */
mica_status mica__contexts_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
/* Visits the first contexts of data in the same way. */
mica_status mica__contexts_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);
/* Computes an output for each of `count` ids but the last, and stores 4 bytes for each in `values`. The ids are cut
 * into windows of the run's context; a prediction sees only the earlier ids of its window. */
mica_status mica__contexts_read(mica_run *run, const int32_t *ids, int64_t count, const char *output, void *values);

#endif
