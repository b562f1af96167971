/* task/input/tokens.h: a column of texts in a table, read as the first tokens of each text. */
#ifndef MICA_TASK_INPUT_TOKENS_H
#define MICA_TASK_INPUT_TOKENS_H

#include "run/common_settings.h"
#include "run/composed.h"
#include "run/fact_fields.h"

/* heads_text: help for the setting "heads"; heads_of: when it has an effect (mica_setting_row.of). */
#define TOKENS_SETTINGS_WITH(X, S, heads_text, heads_of)                                                               \
  X(S, TEXT, text, "text", "", "COLUMN",                                                                               \
    "column that holds the texts, if DATA is a table (default: the first column of texts)", .fixed = true)             \
  MICA__TOKENIZER_SETTINGS(X, S, "bpe", "tokenizer.json to use, or kind of tokenizer to train on the training texts",  \
                           MICA__OF_LETTERS)                                                                           \
  X(S, INT, length, "length", "256", "N", "maximum number of tokens of a text; the rest is cut off", .low = 1,         \
    .high = 1 << 20, .fixed = true)                                                                                    \
  X(S, INT, layers, "layers", "1", "N", "layers of the network", .low = 1, .high = 1000, .fixed = true,                \
    .structure = true)                                                                                                 \
  X(S, INT, width, "width", "64", "N", "features per position", .low = 1, .high = 1 << 16, .fixed = true,              \
    .structure = true)                                                                                                 \
  X(S, INT, heads, "heads", "4", "N", heads_text, .low = 1, .high = 1024, .of = heads_of, .fixed = true,               \
    .structure = true)                                                                                                 \
  X(S, REAL, dropout, "dropout", "0.1", "P", "dropout after layers", .low = 0, .high = 0.95, .fixed = true)
#define TOKENS_SETTINGS(X, S)                                                                                          \
  TOKENS_SETTINGS_WITH(X, S, "attention heads of encoder and cnn_gru", "model=encoder|cnn_gru")
MICA__SETTINGS_STRUCT(tokens, TOKENS_SETTINGS);

#define TOKENS_FACTS(X, S)                                                                                             \
  X(S, TEXT, text_column, .needed = true)                                                                              \
  X(S, TEXT, label_column, .needed = true)                                                                             \
  X(S, TEXTS, tokenizer, .needed = true)                                                                               \
  X(S, NUMBER, vocabulary, .needed = true, .most = 1 << 24)
MICA__FACTS_STRUCT(tokens, TOKENS_FACTS);

/* Descriptions of the inputs of an exported model (mica__task_row.export_docs). */
#define TOKENS_DOCS                                                                                                    \
  {"tokens",                                                                                                           \
   "of the text, by the run's tokenizer.json, no more than the setting length, or a single 0 if it has none; any "     \
   "behind tokens.length"},                                                                                            \
  {                                                                                                                    \
    "tokens.length", "how many tokens count, from the left; 1 for a text without tokens"                               \
  }

extern const mica__input mica__input_tokens;

/* Settings and stored values (run/facts.h) of texts as tokens (task/input/tokens_fields.c). */
mica__tokens_settings mica__tokens_settings_of(const mica_run *run);
mica__tokens_facts mica__tokens_facts_of(const mica_run *run);

#endif
