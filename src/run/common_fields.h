/* run/common_fields.h: the settings that all tasks have, as typed fields. */
#ifndef MICA_RUN_COMMON_FIELDS_H
#define MICA_RUN_COMMON_FIELDS_H

#include "run/common_help.h"
#include "run/data_settings.h"
#include "run/setting_fields.h"

/* The i-th name of a setting's choices; NULL after the last. */
const char *mica__network_at(size_t i);
const char *mica__optimizer_at(size_t i);
const char *mica__schedule_at(size_t i);
const char *mica__compression_at(size_t i);
const char *mica__quantize_at(size_t i);
const char *mica__precision_at(size_t i);

#define COMMON_SETTINGS(X, S)                                                                                          \
  X(S, TEXT, model, "model", "", "NAME",                                                                               \
    "network (default: the task's, else convnet for classes of pictures, cnn for numbers from pictures, mlp for "      \
    "tables)",                                                                                                         \
    .names = mica__network_at, .fixed = true, .structure = true)                                                       \
  X(S, INT, epochs, "epochs", "10", "N", MICA__HELP_EPOCHS, .low = 1, .high = 1e6)                                     \
  X(S, INT, batch, "batch", "64", "N",                                                                                 \
    "samples per step, over all ranks; the last incomplete batch of an epoch is left out (default: 64, or 16 to "      \
    "classify fewer than 10,000 pictures without --model)",                                                            \
    .low = 1, .high = 1 << 20, .fixed = true)                                                                          \
  X(S, CHOICE, optimizer, "optimizer", "", "NAME",                                                                     \
    "optimizer (default: sgd for vgg11, resnet18, resnet50 and mobilenetv2, else adamw)", .names = mica__optimizer_at, \
    .fixed = true)                                                                                                     \
  X(S, REAL, lr, "lr", "", "RATE", MICA__HELP_LR, .low = 1e-12, .high = 1e6)                                           \
  X(S, FLAG, find_lr, "find-lr", "false", "",                                                                          \
    "find the learning rate by a short sweep before training; not with --lr or several ranks", .fixed = true)          \
  X(S, CHOICE, schedule, "schedule", "", "NAME", MICA__HELP_SCHEDULE, .names = mica__schedule_at)                      \
  X(S, INT, warm_up, "warm-up", "0", "STEPS", "steps of linear warm-up; not with the schedule one_cycle", .low = 0,    \
    .high = 1e9)                                                                                                       \
  X(S, REAL, weight_decay, "weight-decay", "", "W", MICA__HELP_WEIGHT_DECAY, .low = 0, .high = 1e6)                    \
  X(S, REAL, clip_norm, "clip-norm", "0", "NORM", "largest L2 norm of the gradient; 0: no clipping", .low = 0,         \
    .high = 1e9)                                                                                                       \
  X(S, INT, accumulate, "accumulate", "1", "N", "batches per update of the weights; their gradients are averaged",     \
    .low = 1, .high = 65536, .fixed = true)                                                                            \
  X(S, REAL, ema, "ema", "0", "SHARE",                                                                                 \
    "decay of a moving average of the weights, as in 0.999; the average is validated and saved; 0: off", .low = 0,     \
    .high = 0.999999, .fixed = true)                                                                                   \
  X(S, TEXT, augment, "augment", "none", "LIST", MICA__HELP_AUGMENT, .names = mica_augment_name, .fixed = true)        \
  DATA_SETTINGS(X, S)                                                                                                  \
  X(S, INT, patience, "patience", "0", "N",                                                                            \
    "stop after N epochs without a better validation result; 0: train for all --epochs", .low = 0, .high = 1e6)        \
  X(S, INT, checkpoint_steps, "checkpoint-steps", "0", "N",                                                            \
    "steps between checkpoints within an epoch; 0: only after each epoch", .low = 0, .high = INT32_MAX)                \
  X(S, PATH, init, "init", "", "FILE", MICA__HELP_INIT, .fixed = true, .structure = true)                              \
  X(S, TEXT, stop_at, "stop-at", "", "VALUE",                                                                          \
    "with --init MODEL.onnx: name of a value after which to cut the model and add a new last layer (default: no cut)", \
    .fixed = true, .structure = true)                                                                                  \
  X(S, TEXT, freeze, "freeze", "", "PATTERN",                                                                          \
    "do not train the weights whose names match, as in features.* (default: train all)", .fixed = true)                \
  X(S, PATH, teacher, "teacher", "", "RUN",                                                                            \
    "distillation: run or ONNX model whose outputs the network learns too (default: none)", .fixed = true)             \
  X(S, REAL, temperature, "temperature", "4", "T", "with --teacher: divide the logits of teacher and network by T",    \
    .low = 0.01, .high = 1000, .fixed = true, .of = "teacher=*")                                                       \
  X(S, REAL, alpha, "alpha", "0.5", "SHARE", "with --teacher: share of the distillation loss in the whole loss",       \
    .low = 0, .high = 1, .fixed = true, .of = "teacher=*")                                                             \
  X(S, INT, seed, "seed", "0", "N", "seed of the initial weights, the order of samples and their augmentation",        \
    .low = 0, .high = 0x1p53, .fixed = true)                                                                           \
  X(S, CHOICE, precision, "precision", "f32", "TYPE", "type to compute in, while weights stay in f32",                 \
    .names = mica__precision_at, .fixed = true)                                                                        \
  X(S, CHOICE, compress, "compress", "none", "HOW",                                                                    \
    "several ranks: type in which gradients are exchanged, none for full precision", .names = mica__compression_at)    \
  X(S, FLAG, sync_norm, "sync-norm", "false", "",                                                                      \
    "several ranks: compute batch norms over the samples of all ranks (default: of each rank alone)")                  \
  X(S, CHOICE, quantize, "quantize", "", "BITS",                                                                       \
    "quantisation-aware training with weights of BITS bits and layer inputs of 8 bits (default: off)",                 \
    .names = mica__quantize_at, .fixed = true)                                                                         \
  X(S, INT, threads, "threads", "0", "N",                                                                              \
    "threads that read and augment samples; 0: one fewer than the cores, from 1 to 32", .low = 0, .high = 1024)
MICA__SETTINGS_STRUCT(common, COMMON_SETTINGS);
extern const mica__setting_list mica__common_setting_list;
mica__common_settings mica__common_settings_of(const mica_run *run);

#endif
