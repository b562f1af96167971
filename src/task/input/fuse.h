/* task/input/fuse.h: several inputs of one row of a table. A row can have numbers and classes, a text, a series, a
 * picture and a recording; each of these is a part. Each part has an input of its own, whose network computes features.
 * The features of all parts are joined. */
#ifndef MICA_TASK_INPUT_FUSE_H
#define MICA_TASK_INPUT_FUSE_H

#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/network.h"
#include "run/setting_fields.h"
#include "task/input/sound.h"
#include "task/input/tokens.h"

#include <math.h>

/* The choices of --join. */
const char *mica__fuse_join_at(size_t i);
enum { MICA__FUSE_CONCAT, MICA__FUSE_ATTENTION };

#define FUSE_SETTINGS(X, S)                                                                                            \
  X(S, CHOICE, join, "join", "concat", "NAME", "how to join the features of a sample's parts",                         \
    .names = mica__fuse_join_at, .fixed = true, .structure = true)                                                     \
  TOKENS_SETTINGS_WITH(X, S, "attention heads of encoder, cnn_gru and --join attention",                               \
                       "model=encoder|cnn_gru;join=attention")                                                         \
  X(S, CHOICE, picture_model, "picture-model", "convnet", "NAME", "network for pictures",                              \
    .names = mica__run_picture_model_at, .fixed = true, .structure = true)                                             \
  X(S, TEXT, size, "size", "", "PIXELS",                                                                               \
    "scale and crop pictures to N x N or H x W pixels, as in 64 or 48x64 (default: the size of most pictures, else "   \
    "the median size)",                                                                                                \
    .fixed = true)                                                                                                     \
  SOUND_OWN_SETTINGS(X, S)
MICA__SETTINGS_STRUCT(fuse, FUSE_SETTINGS);

/* The stored values (run/facts.h) about a part of a sample exist if `parts` names the part. */
#define FUSE_FACTS(X, S)                                                                                               \
  X(S, TEXTS, parts, .needed = true)                                                                                   \
  X(S, TEXT, label_column, .needed = true)                                                                             \
  X(S, TEXTS, text_columns, .needed = false)                                                                           \
  X(S, TEXT, text_column, .needed = false)                                                                             \
  X(S, TEXTS, tokenizer, .needed = false)                                                                              \
  X(S, NUMBER, vocabulary, .most = 1 << 24)                                                                            \
  X(S, NUMBER, rate, .most = 1 << 20)                                                                                  \
  X(S, TEXT, series_column, .needed = false)                                                                           \
  X(S, NUMBER, series_length, .most = 1 << 20)                                                                         \
  X(S, NUMBERS, series_mean, .count = 1, .above = -INFINITY)                                                           \
  X(S, NUMBERS, series_deviation, .count = 1)                                                                          \
  X(S, NUMBERS, row_mean, .of = "input", .above = -INFINITY)                                                           \
  X(S, NUMBERS, row_deviation, .of = "input")                                                                          \
  X(S, TEXT, picture_column, .needed = false)                                                                          \
  X(S, TEXT, sound_column, .needed = false)                                                                            \
  X(S, NUMBERS, picture, .count = 3, .most = 8192)                                                                     \
  X(S, NUMBERS, picture_mean, .above = -INFINITY)                                                                      \
  X(S, NUMBERS, picture_deviation, .of = "picture_mean")
MICA__FACTS_STRUCT(fuse, FUSE_FACTS);

extern const mica__input mica__input_fuse;

mica__fuse_settings mica__fuse_settings_of(const mica_run *run);
mica__fuse_facts mica__fuse_facts_of(const mica_run *run);

/* A part of a sample that fuse reads. `in` tells whether data have the part (NULL if it has files: then a column of
 * `kind` tells), `input` is the input whose members are called for it, and `facts` are the stored values (run/facts.h)
 * that it needs. */
typedef struct mica__fuse_part {
  bool (*in)(const mica_run *run, const mica_dataset *data); /* run may be NULL: no setting is set */
  mica_column_kind kind;                                     /* the kind of the part's column; only if `files` is set */
  const char *files;                                         /* what the files are; NULL: the part has no files */
  const mica__input *input;
  const char *facts[4];
} mica__fuse_part;

/* All parts in the order of their features. The last row, whose input is NULL, ends the table
 * (task/input/fuse_parts.c). */
extern const mica__fuse_part mica__fuse_parts[];
/* True if the data have the part. */
bool mica__fuse_part_in(const mica__fuse_part *part, const mica_run *run, const mica_dataset *data);
/* True if the run has the part. */
bool mica__fuse_has(const mica_run *run, const mica__fuse_part *part);

/* Series in cells (task/input/fuse_series.c): the part, and whether data have it. */
extern const mica__input mica__fuse_series;
bool mica__fuse_has_series(const mica_run *run, const mica_dataset *data);
/* True for the column in the setting "text". run NULL: the setting is not set. */
bool mica__fuse_is_text(const mica_run *run, const mica_dataset *data, size_t column);

/* MICA_E_FORMAT if the data lack a column of a part that the run has. */
mica_status mica__fuse_fits(const mica_run *run, const mica_dataset *data);
/* mica__input.views.derive: the parts derive their columns one after the other, each from the result of the part before
 * it. */
mica_status mica__fuse_derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out);

/* The function for mica__task_row.checks (in fuse.c): checks the stored values (run/facts.h) of all parts. */
mica_status mica__fuse_checks(const mica_run *run);

#endif
