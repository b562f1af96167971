/* task/diffuse/diffuse.h: pictures drawn from noise. diffuse.c trains, draw.c draws, and network.c has the settings and
 * builds the network. networks/diffusion.h has the formulas of the noise and of the steps. */
#ifndef MICA_TASK_DIFFUSE_DIFFUSE_H
#define MICA_TASK_DIFFUSE_DIFFUSE_H

#include "networks/diffusion.h"
#include "run/run.h"
#include "run/setting_fields.h"

#include <mica/nodes.h>

/* Maximum number of steps of a schedule. */
#define MICA__DIFFUSE_MOST 10000

/* Settings of the task (mica__diffuse_settings), and how to read them. */
const char *mica__diffuse_noise_at(size_t i);
const char *mica__diffuse_target_at(size_t i);
#define DIFFUSE_SETTINGS(X, S)                                                                                         \
  X(S, INT, width, "width", "32", "N", "channels at full resolution; coarser levels have 2 x N", .low = 2,             \
    .high = MICA_DENOISER_WIDEST, .fixed = true, .structure = true)                                                    \
  X(S, INT, depth, "depth", "0", "N",                                                                                  \
    "number of times that the sides are halved; 0: up to 3, while they are even and at least 4 pixels remain",         \
    .low = 0, .high = 6, .fixed = true, .structure = true)                                                             \
  X(S, INT, blocks, "blocks", "1", "N", "residual blocks per level", .low = 1, .high = 8, .fixed = true,               \
    .structure = true)                                                                                                 \
  X(S, REAL, dropout, "dropout", "0", "P", "dropout in residual blocks", .low = 0, .high = 0.99, .fixed = true)        \
  X(S, CHOICE, noise, "noise", "cosine", "NAME", "noise schedule", .names = mica__diffuse_noise_at, .fixed = true)     \
  X(S, INT, noise_steps, "noise-steps", "1000", "N", "number of steps from a picture to pure noise", .low = 2,         \
    .high = MICA__DIFFUSE_MOST, .fixed = true)                                                                         \
  X(S, CHOICE, target, "target", "velocity", "NAME", "what the network predicts", .names = mica__diffuse_target_at,    \
    .fixed = true)                                                                                                     \
  X(S, REAL, drop_class, "drop-class", "0.1", "SHARE",                                                                 \
    "share of training pictures whose class is hidden; --guidance above 1 needs such pictures", .low = 0, .high = 1,   \
    .fixed = true)                                                                                                     \
  X(S, INT, sample_steps, "sample-steps", "50", "N", "steps to draw a picture, at most --noise-steps", .low = 1,       \
    .high = MICA__DIFFUSE_MOST)                                                                                        \
  X(S, REAL, guidance, "guidance", "3", "G",                                                                           \
    "classifier-free guidance: how strongly drawn pictures follow their class; 1: as trained", .low = 0, .high = 100)  \
  X(S, TEXT, size, "size", "", "PIXELS",                                                                               \
    "scale and crop pictures in folders to N x N or H x W pixels, as in 64 or 48x64 (default: the size of most "       \
    "pictures, else the median size)",                                                                                 \
    .fixed = true)
MICA__SETTINGS_STRUCT(diffuse, DIFFUSE_SETTINGS);
extern const mica__setting_list mica__diffuse_setting_list;
mica__diffuse_settings mica__diffuse_settings_of(const mica_run *run);

typedef enum mica__diffuse_target { MICA__DIFFUSE_TARGET_NOISE, MICA__DIFFUSE_TARGET_VELOCITY } mica__diffuse_target;

/* --- network and drawing --- */

/* The schedule of the noise, its steps, the number of classes and the target, as the run's settings give them. */
mica__diffusion mica__diffuse_trained(const mica_run *run);
/* The network's prediction for noisy pictures x (N, C, H, W) at time (N), of class label (N), where the number of
 * classes means "no class". label is not used if mica__diffuse_classes is 0. */
mica_value mica__diffuse_network(mica_nn *nn, const mica_run *run, mica_value x, mica_value time, mica_value label);
/* The number of classes that the network tells apart. It is 0 if the data have fewer than two classes. */
int64_t mica__diffuse_classes(const mica_run *run);

mica_status mica__diffuse_predict(mica_run *run, const mica_run_input *given, mica_report *prediction);
mica_status mica__diffuse_report(mica_run *run, mica_report *report);

#endif
