/* run/shared_settings.h: settings that several tasks have and that the run reads too. The lists of the tasks give their
 * defaults, help and checks. If a task lacks a setting, an INT is 0 and a TEXT is "". */
#ifndef MICA_RUN_SHARED_SETTINGS_H
#define MICA_RUN_SHARED_SETTINGS_H

#include "run/setting_fields.h"

#define SHARED_SETTINGS(X, S)                                                                                          \
  X(S, INT, width, "width", "", "", "")                                                                                \
  X(S, INT, length, "length", "", "", "")                                                                              \
  X(S, INT, context, "context", "", "", "")                                                                            \
  X(S, INT, vocabulary, "vocabulary", "", "", "")                                                                      \
  X(S, FLAG, lowercase, "lowercase", "", "", "")                                                                       \
  X(S, TEXT, from, "from", "", "", "")                                                                                 \
  X(S, TEXT, text, "text", "", "", "")                                                                                 \
  X(S, TEXT, to, "to", "", "", "")                                                                                     \
  X(S, TEXT, tokenizer, "tokenizer", "", "", "")                                                                       \
  X(S, TEXT, class_weights, "class-weights", "", "", "")                                                               \
  X(S, TEXT, mask_values, "mask-values", "", "", "")                                                                   \
  X(S, TEXT, size, "size", "", "", "")                                                                                 \
  X(S, TEXT, split, "split", "", "", "")
MICA__SETTINGS_STRUCT(shared, SHARED_SETTINGS);

mica__shared_settings mica__shared_settings_of(const mica_run *run);
/* The texts that the caller gave for "mask-values" and "size", before the task is known; NULL if none. */
const char *mica__given_mask_values(const mica_run *run);
double mica__given_depth_scale(const mica_run *run); /* the same for "depth-scale", as a number; 0 if not given */
const char *mica__given_size(const mica_run *run);

#endif
