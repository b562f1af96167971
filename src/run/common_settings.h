/* run/common_settings.h: groups of settings that several tasks have, for the lists of run/setting_fields.h. */
#ifndef MICA_RUN_COMMON_SETTINGS_H
#define MICA_RUN_COMMON_SETTINGS_H

#include "run/setting_fields.h"
#include "run/tokens.h"

/* Settings of the tokenizer of a task on texts. `standard` is its default, `source` its help, and `letters` the
 * conditions under which "lowercase" has an effect (mica_setting_row.of). */
#define MICA__TOKENIZER_SETTINGS(X, S, standard, source, letters)                                                      \
  X(S, TEXT, tokenizer, "tokenizer", standard, "NAME", source, .names = mica__tokenizer_kind_at, .fixed = true,        \
    .structure = true)                                                                                                 \
  X(S, INT, vocabulary, "vocabulary", "4000", "N", "maximum number of tokens of the tokenizer to train", .low = 1,     \
    .high = 1 << 24, .of = MICA__OF_TRAINED, .fixed = true, .structure = true)                                         \
  X(S, FLAG, lowercase, "lowercase", "false", "", "train a tokenizer that ignores case", .of = letters, .fixed = true, \
    .structure = true)

/* Settings of a transformer's blocks. The arguments are the defaults. */
#define MICA__BLOCK_SETTINGS(X, S, dropout_, positions_, feed_forward_)                                                \
  X(S, REAL, dropout, "dropout", dropout_, "P", "dropout of block outputs and of attention", .low = 0, .high = 0.99,   \
    .fixed = true)                                                                                                     \
  X(S, CHOICE, positions, "positions", positions_, "NAME", "position encoding", .names = mica__positions_at,           \
    .fixed = true, .structure = true)                                                                                  \
  X(S, CHOICE, feed_forward, "feed-forward", feed_forward_, "NAME", "activation of the feed-forward layers",           \
    .names = mica__feed_forward_at, .fixed = true, .structure = true)

/* Settings of the spectra of a task on recordings. `least` is the least number of mel frequencies. */
#define MICA__MEL_SETTINGS(X, S, least)                                                                                \
  X(S, INT, rate, "rate", "0", "HZ", "sample rate to convert recordings to; 0: the first recording's", .low = 0,       \
    .high = 192000, .fixed = true)                                                                                     \
  X(S, INT, mels, "mels", "40", "N", "number of mel filters", .low = least, .high = 256, .fixed = true)
#define MICA__MASK_SETTINGS(X, S)                                                                                      \
  X(S, INT, masks, "masks", "1", "N",                                                                                  \
    "SpecAugment: number of frequency masks, and of time masks, per recording in training; 0: none", .low = 0,         \
    .high = 16, .fixed = true)

/* Settings of tasks whose answers are classes. `smoothing` is the default. */
#define MICA__SMOOTHING_SETTINGS(X, S, smoothing)                                                                      \
  X(S, REAL, label_smoothing, "label-smoothing", smoothing, "S",                                                       \
    "part of the target probability to share among all classes; 0: off", .low = 0, .high = 1, .fixed = true)
#define MICA__CLASS_WEIGHT_SETTINGS(X, S)                                                                              \
  X(S, TEXT, class_weights, "class-weights", "", "LIST",                                                               \
    "weights of the classes in the loss: balanced (inverse to their numbers of samples), or one per class, as in "     \
    "1,5,2 (default: all equal)",                                                                                      \
    .fixed = true)

/* Return name i of MICA_POSITIONS_LIST or MICA_FEED_FORWARD_LIST; NULL after the last. */
const char *mica__positions_at(size_t i);
const char *mica__feed_forward_at(size_t i);

#endif
