/* task/head/identity.h: embeddings that are close together for samples of the same class, even if training never saw
 * that class. The label column holds identities (task/verify/verify.h) or classes. */
#ifndef MICA_TASK_HEAD_IDENTITY_H
#define MICA_TASK_HEAD_IDENTITY_H

#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

/* Name i of the setting "loss"; NULL after the last. */
const char *mica__identity_loss_at(size_t i);

#define IDENTITY_SETTINGS(X, S)                                                                                        \
  X(S, CHOICE, loss, "loss", "arcface", "NAME", "loss to minimise in training; tests report the triplet loss",         \
    .names = mica__identity_loss_at, .fixed = true)                                                                    \
  X(S, REAL, margin, "margin", "0.3", "M",                                                                             \
    "arcface and triplet: margin between classes, an angle in radians for arcface, a difference of cosines for "       \
    "triplet",                                                                                                         \
    .low = 0, .high = 1.4, .fixed = true)                                                                              \
  X(S, REAL, scale, "scale", "20", "S", "arcface and ge2e: factor of the cosines; ge2e learns it from this value on",  \
    .low = 1, .high = 1000, .fixed = true, .of = "loss=arcface|ge2e")                                                  \
  X(S, INT, embedding, "embedding", "64", "N", "size of an embedding", .low = 2, .high = 4096, .fixed = true,          \
    .structure = true)

/* Classes that were trained on. */
#define IDENTITY_FACTS(X, S) X(S, TEXTS, classes, .needed = true)

/* The metrics of a task with this head: an initialiser for the member of its mica__task_row. */
#define IDENTITY_METRICS                                                                                               \
  {                                                                                                                    \
    {"eer", true, "share of wrong decisions at the threshold where both kinds are equally frequent", false},           \
        {"auc", false, "probability that a right pair or click scores higher than a wrong one", false},                \
        {"tar_1", false, "share of pairs of one class that are accepted if 1 % of the other pairs are", false},        \
        {"nearest", false, "share of samples whose nearest other sample has their class", false},                      \
        {"threshold", false, "similarity at which both kinds of wrong decisions are equally frequent", true}, {        \
      0                                                                                                                \
    }                                                                                                                  \
  }

extern const mica__head mica__head_identity;

/* Frees what a test kept for the report (mica__task_row.closes). */
void mica__identity_close(mica_run *run);

#endif
