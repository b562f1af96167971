/* task/diffuse/diffuse.h: pictures drawn from noise. diffuse.c trains, draw.c draws, network.c has settings and
 * network, schedule.c the noise of each step. */
#ifndef MICA_TASK_DIFFUSE_DIFFUSE_H
#define MICA_TASK_DIFFUSE_DIFFUSE_H

#include "run/run.h"
#include "run/setting_fields.h"

#include <mica/nodes.h>

/* Most steps of a schedule. */
#define MICA__DIFFUSE_MOST 10000

/* Settings of the task (mica__diffuse_settings), and how to read them. */
const char *mica__diffuse_noise_at(size_t i);
const char *mica__diffuse_target_at(size_t i);
#define DIFFUSE_SETTINGS(X, S)                                                                                         \
  X(S, INT, width, "width", "32", "N", "channels at full size; coarser levels have twice that", .low = 2,              \
    .high = MICA_DENOISER_WIDEST, .fixed = true)                                                                       \
  X(S, INT, depth, "depth", "0", "N",                                                                                  \
    "times that sides are halved; 0: while they are even and 4 pixels or more are left, at most 3", .low = 0,          \
    .high = 6, .fixed = true)                                                                                          \
  X(S, INT, blocks, "blocks", "1", "N", "residual blocks per level", .low = 1, .high = 8, .fixed = true)               \
  X(S, REAL, dropout, "dropout", "0", "P", "dropout in residual blocks", .low = 0, .high = 0.99, .fixed = true)        \
  X(S, CHOICE, noise, "noise", "cosine", "NAME", "how noise grows with the steps", .names = mica__diffuse_noise_at,    \
    .fixed = true)                                                                                                     \
  X(S, INT, noise_steps, "noise-steps", "1000", "N", "steps from picture to noise", .low = 2,                          \
    .high = MICA__DIFFUSE_MOST, .fixed = true)                                                                         \
  X(S, CHOICE, target, "target", "velocity", "NAME", "what the network predicts", .names = mica__diffuse_target_at,    \
    .fixed = true)                                                                                                     \
  X(S, REAL, drop_class, "drop-class", "0.1", "SHARE", "share of training pictures whose class is hidden", .low = 0,   \
    .high = 1, .fixed = true)                                                                                          \
  X(S, INT, sample_steps, "sample-steps", "50", "N", "steps of drawing, at most noise-steps", .low = 1,                \
    .high = MICA__DIFFUSE_MOST)                                                                                        \
  X(S, REAL, guidance, "guidance", "3", "G", "how strongly drawn pictures follow their class; 1: as trained",          \
    .low = 0, .high = 100)                                                                                             \
  X(S, TEXT, size, "size", "", "PIXELS",                                                                               \
    "N or HxW: scale and crop pictures in folders to this size (default: the size of most, else the median)",          \
    .fixed = true)
MICA__SETTINGS_STRUCT(diffuse, DIFFUSE_SETTINGS);
extern const mica__setting_list mica__diffuse_setting_list;
mica__diffuse_settings mica__diffuse_settings_of(const mica_run *run);

typedef enum mica__diffuse_noise { MICA__DIFFUSE_LINEAR, MICA__DIFFUSE_COSINE } mica__diffuse_noise;
typedef enum mica__diffuse_target { MICA__DIFFUSE_TARGET_NOISE, MICA__DIFFUSE_TARGET_VELOCITY } mica__diffuse_target;

/* --- schedule --- */

/* Fills kept[t] for t from 0 to steps - 1: the product of 1 - beta up to step t, the share of the picture's variance
 * that is left. Linear: beta from 1e-4 to 0.02 in 1,000 steps (Ho et al. 2020), larger in proportion if steps are
 * fewer. Cosine: Nichol and Dhariwal 2021. */
void mica__diffuse_schedule(mica__diffuse_noise noise, int64_t steps, double *kept);

/* A step of drawing by DDIM (Song et al. 2021), from time `time` to the next one. a: sqrt(kept), s: sqrt(1 - kept). */
typedef struct mica__diffuse_step {
  float time, a, s, next_a, next_s;
} mica__diffuse_step;

/* Fills `count` evenly spaced steps, beginning with the last step of the schedule. count is at most steps. */
void mica__diffuse_plan(const double *kept, int64_t steps, int64_t count, mica__diffuse_step *plan);

/* --- drawing --- */

/* The pictures, from -1 to 1, that follow from predictions z for noisy pictures x (N, C, H, W); *next receives the
 * noisy pictures of the next step. row (1, 5): the mica__diffuse_step. velocity: z is the velocity; else it is the
 * noise. */
mica_value mica__diffuse_advance(mica_value x, mica_value z, mica_value row, bool velocity, mica_value *next);

/* The network's prediction for noisy pictures x (N, C, H, W) at time (N), of class label (N); the number of classes
 * means "no class". */
mica_value mica__diffuse_network(mica_nn *nn, const mica_run *run, mica_value x, mica_value time, mica_value label);
/* The number of classes to draw; 0: the data have one class or none. */
int64_t mica__diffuse_classes(const mica_run *run);

mica_status mica__diffuse_predict(mica_run *run, const mica_run_input *given, mica_report *prediction);
mica_status mica__diffuse_report(mica_run *run, mica_report *report);

#endif
