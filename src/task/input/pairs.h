/* task/input/pairs.h: texts of two languages, and a network that reads one language and writes the other. pairs.c
 * prepares the columns and the batches; pairs_tokens.c encodes texts and builds the network. */
#ifndef MICA_TASK_INPUT_PAIRS_H
#define MICA_TASK_INPUT_PAIRS_H

#include "networks/translation.h"
#include "run/common_settings.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/predict/pairs.h"
#include "run/tokens.h"

/* Columns of batches: the source, what the decoder reads (the target with its begin token), and what it should
 * output. */
#define MICA__PAIRS_SOURCE "source"
#define MICA__PAIRS_READ "read"
#define MICA__PAIRS_TARGET "target"
/* Pads a target after its end; the loss ignores it. */
#define MICA__PAIRS_NOTHING (-1)

#define PAIRS_SETTINGS(X, S)                                                                                           \
  X(S, TEXT, from, "from", "", "COLUMN",                                                                               \
    "source language: a column of the table, or the ending of a file, as in en for train.en (default: the first)",     \
    .fixed = true)                                                                                                     \
  X(S, TEXT, to, "to", "", "COLUMN", "target language, named like --from (default: the other one)", .fixed = true)     \
  MICA__TOKENIZER_SETTINGS(                                                                                            \
      X, S, "bpe", "tokenizer.json with <s> and </s> to use, or kind of tokenizer to train on the training texts",     \
      MICA__OF_LETTERS)                                                                                                \
  X(S, INT, length, "length", "64", "N", "maximum number of tokens of a text, its end token included", .low = 2,       \
    .high = 1 << 16, .fixed = true)                                                                                    \
  X(S, INT, layers, "layers", "3", "N", "blocks of the encoder and of the decoder", .low = 1, .high = 1000,            \
    .fixed = true, .structure = true)                                                                                  \
  X(S, INT, width, "width", "128", "N", "features per position", .low = 1, .high = 1 << 16, .fixed = true,             \
    .structure = true)                                                                                                 \
  X(S, INT, heads, "heads", "4", "N", "attention heads", .low = 1, .high = 1024, .fixed = true, .structure = true)     \
  X(S, INT, hidden, "hidden", "0", "N", "hidden units of each feed-forward layer; 0: 4 x width", .low = 0,             \
    .high = 1 << 20, .fixed = true, .structure = true)                                                                 \
  MICA__BLOCK_SETTINGS(X, S, "0.1", "sinusoidal", "relu")
MICA__SETTINGS_STRUCT(pairs, PAIRS_SETTINGS);

#define PAIRS_FACTS(X, S)                                                                                              \
  X(S, NUMBER, vocabulary, .needed = true, .most = 1 << 24)                                                            \
  X(S, TEXT, from, .needed = true)                                                                                     \
  X(S, TEXT, to, .needed = true)
MICA__FACTS_STRUCT(pairs, PAIRS_FACTS);

extern const mica__input mica__input_pairs;

/* Settings and stored values (run/facts.h) of pairs of texts. */
mica__pairs_settings mica__pairs_settings_of(const mica_run *run);
mica__pairs_facts mica__pairs_facts_of(const mica_run *run);

/* The network that the run's settings describe. */
mica_model_config mica__pairs_network(const mica_run *run);
/* The tokens that begin and end a target, in the run's tokenizer; -1: it has none. */
int32_t mica__pairs_begin(const mica_run *run);
int32_t mica__pairs_end(const mica_run *run);

/* A translator with the run's network and tokenizer. */
mica__translator mica__pairs_translator(const mica_run *run);
/* Translates all texts in `ids` (mica__translate). */
mica_status mica__pairs_translate(const mica_run *run, const mica__ids *ids, int64_t beams, double length_penalty,
                                  mica__translations *translations);

/* Appends the ids of a UTF-8 text and the end token to `ids`. A text with more tokens than the setting "length" allows
 * is cut. `name` is the text's name in messages. MICA_E_FORMAT if the text is not UTF-8. */
mica_status mica__pairs_add(const mica_run *run, const char *name, const char *text, size_t bytes, mica_encoding *work,
                            mica__ids *ids);

/* The columns of the run's pairs, the maximum number of tokens of a text, and the function that encodes a text. */
mica__pair_samples mica__pairs_samples(const mica_run *run);

#endif
