/* run/data_settings.h: the settings of all tasks that say how data are read, for the list in run/common_fields.h. */
#ifndef MICA_RUN_DATA_SETTINGS_H
#define MICA_RUN_DATA_SETTINGS_H

#include "run/columns/kinds.h"

/* Name i of the choices of the setting "missing"; NULL after the last. */
const char *mica__missing_at(size_t i);

#define DATA_SETTINGS(X, S)                                                                                            \
  X(S, TEXT, label, "label", "", "COLUMN",                                                                             \
    "table: columns of the answers, by name or number, as in price or a,b (default: the column label, class or "       \
    "target, else the last one; for forecast all)",                                                                    \
    .fixed = true)                                                                                                     \
  X(S, TEXT, kinds, "kinds", "", "LIST",                                                                               \
    "kinds of table columns, as in zip=class,width=number (default: inferred from the values)",                        \
    .names = mica__kind_at, .fixed = true)                                                                             \
  X(S, TEXT, ignore, "ignore", "", "LIST", "columns of a table to leave out, as in id,name (default: none)",           \
    .fixed = true)                                                                                                     \
  X(S, CHOICE, missing, "missing", "mean", "HOW",                                                                      \
    "fill missing numbers of a table with the training part's mean, median or most frequent number, or stop (refuse)", \
    .names = mica__missing_at, .fixed = true)                                                                          \
  X(S, TEXT, mean, "mean", "", "LIST",                                                                                 \
    "means to subtract from inputs, one per channel or column, or one for all; pixels are from 0 to 1; needs "         \
    "--deviation (default: the training data's)",                                                                      \
    .fixed = true)                                                                                                     \
  X(S, TEXT, deviation, "deviation", "", "LIST",                                                                       \
    "standard deviations to divide inputs by, after --mean; needs --mean (default: the training data's)",              \
    .fixed = true)                                                                                                     \
  X(S, REAL, validation, "validation", "0.1", "SHARE",                                                                 \
    "share of the training data to hold out for validation, if the data have no validation part", .low = 0,            \
    .high = 0.9, .fixed = true)

#endif
