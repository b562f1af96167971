/* run/common_fields.h: the settings that all tasks have, as typed fields. */
#ifndef MICA_RUN_COMMON_FIELDS_H
#define MICA_RUN_COMMON_FIELDS_H

#include "run/columns/kinds.h"
#include "run/setting_fields.h"

/* The i-th name of a setting's choices; NULL after the last. */
const char *mica__network_at(size_t i);
const char *mica__optimizer_at(size_t i);
const char *mica__schedule_at(size_t i);
const char *mica__compression_at(size_t i);
const char *mica__quantize_at(size_t i);
const char *mica__missing_at(size_t i);
const char *mica__precision_at(size_t i);

#define COMMON_SETTINGS(X, S)                                                                                          \
  X(S, TEXT, model, "model", "", "NAME",                                                                               \
    "network (default: convnet for classes of pictures, cnn for other pictures, mlp for tables)",                      \
    .names = mica__network_at, .fixed = true, .structure = true)                                                       \
  X(S, INT, epochs, "epochs", "10", "N", "passes over the training data; more by default if they are few samples",     \
    .low = 1, .high = 1e6)                                                                                             \
  X(S, INT, batch, "batch", "64", "N",                                                                                 \
    "samples per step over all ranks; samples that fill no batch are left out; fewer by default for few pictures",     \
    .low = 1, .high = 1 << 20, .fixed = true)                                                                          \
  X(S, CHOICE, optimizer, "optimizer", "", "NAME", "optimizer (default: the model's)", .names = mica__optimizer_at,    \
    .fixed = true)                                                                                                     \
  X(S, REAL, lr, "lr", "", "RATE", "peak learning rate (default: the optimizer's)", .low = 1e-12, .high = 1e6)         \
  X(S, FLAG, find_lr, "find-lr", "false", "", "find the learning rate by a short sweep before training",               \
    .fixed = true)                                                                                                     \
  X(S, CHOICE, schedule, "schedule", "", "NAME", "learning-rate schedule (default one_cycle)",                         \
    .names = mica__schedule_at)                                                                                        \
  X(S, INT, warm_up, "warm-up", "0", "STEPS", "steps of linear warm-up; implies --schedule cosine unless given",       \
    .low = 0, .high = 1e9)                                                                                             \
  X(S, REAL, weight_decay, "weight-decay", "", "W", "weight decay (default: the model's)", .low = 0, .high = 1e6)      \
  X(S, REAL, clip_norm, "clip-norm", "0", "NORM", "clip the gradient to this norm; 0: no clipping", .low = 0,          \
    .high = 1e9)                                                                                                       \
  X(S, INT, accumulate, "accumulate", "1", "N", "update after N batches, from their mean gradient", .low = 1,          \
    .high = 65536, .fixed = true)                                                                                      \
  X(S, REAL, ema, "ema", "0", "SHARE",                                                                                 \
    "validate and keep moving averages of the weights with this decay, as in 0.999; 0: off", .low = 0,                 \
    .high = 0.999999, .fixed = true)                                                                                   \
  X(S, TEXT, augment, "augment", "none", "LIST", "random changes of training samples, as in crop,rotate=15",           \
    .names = mica_augment_name, .fixed = true)                                                                         \
  X(S, TEXT, label, "label", "", "COLUMN",                                                                             \
    "column of the answer, by name or number; several as in a,b (default: by name, else last)", .fixed = true)         \
  X(S, TEXT, kinds, "kinds", "", "LIST", "kinds of columns of a table, as in zip=class,width=number",                  \
    .names = mica__kind_at, .fixed = true)                                                                             \
  X(S, TEXT, ignore, "ignore", "", "LIST", "columns of a table to leave out, as in id,name", .fixed = true)            \
  X(S, CHOICE, missing, "missing", "mean", "HOW",                                                                      \
    "value for missing numbers of a table, from the training part (refuse stops)", .names = mica__missing_at,          \
    .fixed = true)                                                                                                     \
  X(S, TEXT, mean, "mean", "", "LIST",                                                                                 \
    "numbers to subtract from inputs, one per channel or column, or one for all; pictures are 0 to 1 (default: "       \
    "the data's)",                                                                                                     \
    .fixed = true)                                                                                                     \
  X(S, TEXT, deviation, "deviation", "", "LIST", "input divisors; needs --mean (default: the data's)", .fixed = true)  \
  X(S, REAL, validation, "validation", "0.1", "SHARE",                                                                 \
    "fraction held out for validation if the data have no validation part", .low = 0, .high = 0.9, .fixed = true)      \
  X(S, INT, patience, "patience", "0", "N", "stop after N epochs without improvement; 0: never", .low = 0,             \
    .high = 1e6)                                                                                                       \
  X(S, INT, checkpoint_steps, "checkpoint-steps", "0", "N",                                                            \
    "write a checkpoint every N steps too; 0: after each epoch only", .low = 0, .high = INT32_MAX)                     \
  X(S, PATH, init, "init", "", "FILE",                                                                                 \
    "initial weights: safetensors file or run (by name and shape; half must fit), ONNX model (outputs: logits, or "    \
    "values in the target's units), or published model's folder (tasks text, classify, regress)",                      \
    .fixed = true, .structure = true)                                                                                  \
  X(S, TEXT, stop_at, "stop-at", "", "VALUE", "with --init MODEL.onnx: value after which to put a new last layer",     \
    .fixed = true, .structure = true)                                                                                  \
  X(S, TEXT, freeze, "freeze", "", "PATTERN", "do not train weights of these names, as in features.*", .fixed = true)  \
  X(S, PATH, teacher, "teacher", "", "RUN", "distil: also learn the answers of this run or ONNX model", .fixed = true) \
  X(S, REAL, temperature, "temperature", "4", "T", "temperature of the teacher's logits", .low = 0.01, .high = 1000,   \
    .fixed = true, .of = "teacher=*")                                                                                  \
  X(S, REAL, alpha, "alpha", "0.5", "SHARE", "share of the distillation loss", .low = 0, .high = 1, .fixed = true,     \
    .of = "teacher=*")                                                                                                 \
  X(S, INT, seed, "seed", "0", "N", "seed of weights, sample order and augmentation", .low = 0, .high = 0x1p53,        \
    .fixed = true)                                                                                                     \
  X(S, CHOICE, precision, "precision", "f32", "TYPE", "type to compute in (f16 and bf16 keep f32 weights)",            \
    .names = mica__precision_at, .fixed = true)                                                                        \
  X(S, CHOICE, compress, "compress", "none", "HOW", "send gradients between ranks in 16 or 8 bits",                    \
    .names = mica__compression_at)                                                                                     \
  X(S, FLAG, sync_norm, "sync-norm", "false", "", "compute batch norms over the samples of all ranks")                 \
  X(S, CHOICE, quantize, "quantize", "", "BITS", "train with weights rounded to BITS and layer inputs to 8 bits",      \
    .names = mica__quantize_at, .fixed = true)                                                                         \
  X(S, INT, threads, "threads", "0", "N", "decoder threads; 0: cores - 1", .low = 0, .high = 1024)
MICA__SETTINGS_STRUCT(common, COMMON_SETTINGS);
extern const mica__setting_list mica__common_setting_list;
mica__common_settings mica__common_settings_of(const mica_run *run);

#endif
