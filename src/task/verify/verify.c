/* verify and sound_verify: whether two pictures, or two recordings, have the same class. */
#include "task/verify/verify.h"
#include "data/dataset.h"
#include "run/columns/columns.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/state/parts.h"
#include "task/head/identity.h"
#include "task/input/sample.h"
#include "task/input/sound.h"

#include <string.h>

static const mica_task_metric metrics[] = IDENTITY_METRICS;

/* Returns 1 if data have a column of this kind and classes, else 0. The tasks that learn the classes themselves return
 * more and are chosen first. */
static int32_t suits_kind(const mica_dataset *data, mica_column_kind kind) {
  const mica_column *label = mica__run_find_label(data);
  return label && mica__dataset_find(data, kind) && mica__head_identity.suits(label) ? 1 : 0;
}

/* --- verify --- */

#define VERIFY_SETTINGS(X, S)                                                                                          \
  IDENTITY_SETTINGS(X, S)                                                                                              \
  UNSEEN_SETTINGS(X, S)                                                                                                \
  X(S, INT, width, "width", "0", "N",                                                                                  \
    "units per layer of mlp, or filters of the first layer of cnn and convnet; 0: 128 for mlp, else 32", .low = 0,     \
    .high = 4096, .fixed = true, .of = "model=mlp|cnn|convnet", .structure = true)                                     \
  X(S, TEXT, size, "size", "", "PIXELS",                                                                               \
    "scale and crop pictures in folders to N x N or H x W pixels, as in 64 or 48x64 (default: the size of most "       \
    "pictures, else the median size)",                                                                                 \
    .fixed = true)
MICA__TASK_FIELDS(verify, VERIFY_SETTINGS, IDENTITY_FACTS, 0);

static int32_t suits(const mica_dataset *data) { return suits_kind(data, MICA_COLUMN_KIND_IMAGE); }

static mica_status prepare(mica_run *run) {
  if (run->parts->whole && mica_dataset_shape(run->parts->whole).rank != 3)
    return mica__fail(MICA_E_FORMAT, "%s has no pictures; for recordings choose the task sound_verify", run->data);
  MICA_TRY(mica__composed_prepare(run));
  return run->parts->whole ? mica__run_check_size(run) : MICA_OK;
}

const mica__task_row mica__task_verify = {
    .name = "verify",
    .text = "whether two pictures show the same class, also one that was not trained on",
    MICA__COMPOSED_PREPARED(sample, identity),
    .prepare = prepare,
    .suits = suits,
    .open = mica__verify_open,
    .closes = mica__identity_close,
    .gallery = true,
    .named_columns = true,
    .classes = true,
    .metrics = metrics,
    MICA__TASK_LISTS(verify),
    .least_steps = 300,
};

/* --- sound_verify --- */

#define SOUND_VERIFY_SETTINGS(X, S) IDENTITY_SETTINGS(X, S) UNSEEN_SETTINGS(X, S) SOUND_SETTINGS(X, S)
#define SOUND_VERIFY_FACTS(X, S) IDENTITY_FACTS(X, S) SOUND_FACTS(X, S)
MICA__TASK_FIELDS(sound_verify, SOUND_VERIFY_SETTINGS, SOUND_VERIFY_FACTS, 2);

static const char *const stands_for[] = {"verify", NULL};
static const mica_setting sound_defaults[] = {
    {"model", "dscnn"},     {"epochs", "20"},         {"batch", "32"},        {"lr", "0.004"},
    {"optimizer", "adamw"}, {"weight-decay", "0.02"}, {"schedule", "cosine"}, {0}};
static const mica_onnx_text sound_docs[] = {
    {"sound", "a recording, numbers from -1 to 1 at \"rate\" samples a second, of any length: its middle is heard"},
    {"embedding", "numbers of length 1: the product of two embeddings is their similarity"},
    {0}};

static int32_t sound_suits(const mica_dataset *data) { return suits_kind(data, MICA_COLUMN_KIND_SOUND); }

const mica__task_row mica__task_sound_verify = {
    .name = "sound_verify",
    .text = "whether two recordings have the same class, such as a speaker, also one that was not trained on",
    .stands_for = stands_for,
    MICA__COMPOSED_PREPARED(sound, identity),
    .prepare = mica__composed_prepare,
    .suits = sound_suits,
    .open = mica__verify_open,
    .closes = mica__identity_close,
    .gallery = true,
    .named_columns = true,
    .classes = true,
    .metrics = metrics,
    MICA__TASK_LISTS(sound_verify),
    .defaults = sound_defaults,
    .least_steps = 1200,
    .export_docs = sound_docs,
};
