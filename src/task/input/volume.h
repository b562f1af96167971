/* task/input/volume.h: volumes of any size; a 3-D U-Net gives a class per voxel. volume.c trains on windows,
 * volume_show.c visits volumes, run/predict/windows.c joins the outputs of windows. */
#ifndef MICA_TASK_INPUT_VOLUME_H
#define MICA_TASK_INPUT_VOLUME_H

#include "data/volume/slab.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

/* Name i of the setting "norm"; NULL after the last. */
const char *mica__volume_norm_at(size_t i);

#define VOLUME_SETTINGS(X, S)                                                                                          \
  X(S, INT, width, "width", "16", "N", "channels of U-Net at full resolution", .low = 1, .high = 1024, .fixed = true,  \
    .structure = true)                                                                                                 \
  X(S, INT, depth, "depth", "3", "N", "number of times that U-Net halves the sides", .low = 1, .high = 8,              \
    .fixed = true, .structure = true)                                                                                  \
  X(S, CHOICE, norm, "norm", "group", "NAME", "normalisation layers; group suits batches of one or two samples",       \
    .names = mica__volume_norm_at, .fixed = true, .structure = true)                                                   \
  X(S, INT, window, "window", "64", "VOXELS", "longest side of the windows cut from volumes", .low = 8, .high = 512,   \
    .fixed = true)                                                                                                     \
  X(S, INT, windows, "windows", "8", "N", "windows drawn from each volume per epoch", .low = 1, .high = 100000,        \
    .fixed = true)                                                                                                     \
  X(S, FLAG, keep_sides, "keep-sides", "false", "", "do not mirror windows at random", .fixed = true)                  \
  X(S, REAL, overlap, "overlap", "0.25", "SHARE",                                                                      \
    "predictions: share of a window's side that overlaps the next window", .low = 0, .high = 0.75, .fixed = true)
MICA__SETTINGS_STRUCT(volume, VOLUME_SETTINGS);

/* window: depth, height, width. */
#define VOLUME_FACTS(X, S) X(S, NUMBERS, window, .needed = true, .count = 3, .most = 512)
MICA__FACTS_STRUCT(volume, VOLUME_FACTS);

extern const mica__input mica__input_volume;
mica__volume_settings mica__volume_settings_of(const mica_run *run);
mica__volume_facts mica__volume_facts_of(const mica_run *run);

/* The size of the windows, and the share of a window that overlaps the next one in predictions. */
mica__grid mica__volume_grid(const mica_run *run);

/* Functions that mica__input_volume points to (in volume_show.c). */
mica_status mica__volume_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
mica_status mica__volume_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);
mica_status mica__volume_join(mica_run *run, const mica_batch_source *source, mica__sample_fn *fn, void *user,
                              bool *joined);

#endif
