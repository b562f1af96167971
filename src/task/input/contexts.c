/* Contexts of tokens, from datasets or cut from files of text. The end of a training file can be held out for
 * validation. */
#include "task/input/contexts.h"
#include "base/file.h"
#include "data/dataset.h"
#include "data/source.h"
#include "data/text/contexts.h"
#include "run/common_values.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BYTES MICA__CONTEXTS_BYTES

#define READ_SETTINGS(X, S)                                                                                            \
  CONTEXTS_SETTINGS(X, S)                                                                                              \
  X(S, TEXT, model, "model", "", "", "")                                                                               \
  X(S, REAL, validation, "validation", "", "", "")

MICA__SETTINGS_STRUCT(contexts_read, READ_SETTINGS);
MICA__SETTINGS(contexts_read, READ_SETTINGS);

static int64_t vocabulary_of(const mica_run *run) {
  const double known = mica__contexts_facts_of(run).vocabulary;
  return known > 0 ? (int64_t)known : BYTES;
}

/* --- data --- */

/* The file of a part in a folder: train.txt, validation.txt or val.txt, test.txt; *found is false if there is none. */
static mica_status find_file(const char *folder, mica_part part, mica__text *path, bool *found) {
  char *file = NULL;
  MICA_TRY(mica__part_find_file(folder, part, ".txt", &file));
  *found = file != NULL;
  mica__text_free(path);
  *path = (mica__text){0};
  if (file) mica__text_add(path, file);
  free(file);
  return *found ? mica__text_status(path) : MICA_OK;
}

/* Opens the part of a file between two fractions of its size, from 0 to 1. The samples are contexts of its bytes or, if
 * tokens are not bytes, pieces of text that are still to be encoded (mica__contexts_pieces). */
static mica_status open_bytes(const mica_run *run, const char *path, const char *name, double from, double to,
                              uint64_t samples, mica_dataset **data) {
  unsigned char *bytes = NULL;
  size_t count = 0;
  /* The file is not mapped: if another process truncated a mapped file, reading it would end this process. */
  MICA_TRY(mica__file_read_part(path, from, to, &bytes, &count));
  if (!mica__tokens_are_bytes(run)) return mica__contexts_pieces(name, bytes, count, bytes, free, data);
  const mica__tokens tokens = {
      .tokens = bytes, .dtype = MICA_U8, .count = count, .vocabulary = BYTES, .owner = bytes, .release = free};
  return mica__dataset_of_contexts(name, &tokens, settings_of(run).context, samples, data);
}

static mica_status missing(const char *path, mica_part part) {
  if (part == MICA_PART_TRAIN)
    return mica__fail(MICA_E_NOT_FOUND,
                      "%s has no train.txt; give a file of text, or a folder with train.txt and, if you like, "
                      "validation.txt (or val.txt) and test.txt",
                      path);
  return mica__fail(MICA_E_NOT_FOUND, "%s has no %s part", path, mica_part_name(part));
}

mica_status mica__contexts_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                                mica_dataset **data) {
  const mica_part part = config->part;
  const bool own = run->data && !strcmp(path, run->data);
  const uint64_t samples = part == MICA_PART_TRAIN && own ? (uint64_t)settings_of(run).contexts : 0;
  double held_out = own ? settings_of(run).validation : 0;
  mica__text file = {0}, other = {0};
  struct stat about;
  if (stat(path, &about) != 0)
    return mica__fail(MICA_E_NOT_FOUND, "%s: there is no such file or folder, or it cannot be read", path);
  if (!S_ISDIR(about.st_mode)) {
    if (part == MICA_PART_TEST || (part == MICA_PART_VALIDATION && !(held_out > 0))) return missing(path, part);
    return part == MICA_PART_TRAIN ? open_bytes(run, path, path, 0, 1 - held_out, samples, data)
                                   : open_bytes(run, path, path, 1 - held_out, 1, 0, data);
  }
  bool found = false;
  mica_status status = find_file(path, MICA_PART_VALIDATION, &other, &found);
  if (found) held_out = 0;
  const bool share = part == MICA_PART_VALIDATION && held_out > 0;
  if (status == MICA_OK) status = find_file(path, share ? MICA_PART_TRAIN : part, &file, &found);
  if (status == MICA_OK && !found) status = missing(path, part);
  if (status == MICA_OK && share)
    status = open_bytes(run, file.data, file.data, 1 - held_out, 1, 0, data);
  else if (status == MICA_OK)
    status = open_bytes(run, file.data, file.data, 0, part == MICA_PART_TRAIN ? 1 - held_out : 1, samples, data);
  mica__text_free(&file);
  mica__text_free(&other);
  return status;
}

/* How well data suit the task: 10 for a column of tokens. Lines of text that are not a table get 1, so that any other
 * task that can learn from them is preferred. */
static int32_t suits(const mica_dataset *data) {
  const size_t column = mica_dataset_column_index(data, "tokens");
  const mica_column *only = mica_dataset_column_count(data) == 1 ? mica_dataset_column(data, 0) : NULL;
  if (only && only->kind == MICA_COLUMN_KIND_TEXT && !data->store->schema) return 1;
  if (column == mica_dataset_column_count(data)) return 0;
  return mica_dataset_column(data, column)->kind == MICA_COLUMN_KIND_TOKENS ? 10 : 0;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const size_t column = mica_dataset_column_index(data, "tokens");
  const int64_t wanted = settings_of(run).context + 1;
  if (run->tokenizer && mica_dataset_column_index(data, "text") < mica_dataset_column_count(data)) return MICA_OK;
  if (column == mica_dataset_column_count(data))
    return mica__fail(MICA_E_FORMAT, "%s has no column 'tokens'", mica_dataset_name(data));
  const mica_column *about = mica_dataset_column(data, column);
  if (about->kind != MICA_COLUMN_KIND_TOKENS || about->shape.rank != 1 || about->shape.dim[0] != wanted)
    return mica__fail(MICA_E_FORMAT, "%s: samples of 'tokens' must be lists of %lld tokens, for a context of %lld",
                      mica_dataset_name(data), (long long)wanted, (long long)wanted - 1);
  const double known = (double)vocabulary_of(run);
  if ((double)about->classes <= known) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has tokens up to %d, but the network's vocabulary ends at %.0f",
                    mica_dataset_name(data), (int)about->classes - 1, known - 1);
}

static mica_status set_default(mica_run *run, mica__common_setting setting, double value) {
  return mica__common_is_set(run, setting) ? MICA_OK : mica__common_set_number(run, setting, value);
}

/* Checks that the width can be divided evenly among the heads, and that the number of heads is a multiple of the number
 * of groups. */
static mica_status check_heads(const mica_run *run) {
  const mica__contexts_read_settings s = settings_of(run);
  MICA_TRY(mica__task_share_width(s.width, s.heads, s.positions == MICA_POSITIONS_KIND_ROTARY));
  if (!s.groups || s.heads % s.groups == 0) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "%lld heads cannot share %lld groups: heads must be a multiple of groups",
                    (long long)s.heads, (long long)s.groups);
}

/* The learning rate at which networks up to this width are stable; wider ones need lower rates (measured on
 * tinyshakespeare, 2026-11-25). */
#define RATE 3e-3
#define RATE_WIDTH 128

/* Records the size of the vocabulary: what a dataset's column of tokens says or, for a text, 256, since its tokens are
 * bytes. */
static mica_status note_bytes(mica_run *run) {
  const size_t column = mica_dataset_column_index(run->parts->whole, "tokens");
  double vocabulary = BYTES;
  if (column < mica_dataset_column_count(run->parts->whole) &&
      mica_dataset_column(run->parts->whole, column)->classes > 0)
    vocabulary = (double)mica_dataset_column(run->parts->whole, column)->classes;
  MICA_TRY(mica__run_note_numbers(run, "vocabulary", &vocabulary, 1));
  return mica__run_note_text(run, "tokens", "bytes");
}

static mica_status prepare(mica_run *run) {
  const char *model = settings_of(run).model;
  if (*model) MICA_TRY(mica__task_check_network(run));
  if (!*model) MICA_TRY(mica__common_set(run, MICA__SETTING_model, "gpt"));
  if (run->parts->whole) MICA_TRY(check_heads(run));
  if (!mica__tokens_are_bytes(run)) MICA_TRY(mica__contexts_tokenizer(run));
  if (!run->parts->whole) return MICA_OK;
  if (!run->tokenizer) MICA_TRY(note_bytes(run));
  MICA_TRY(fits(run, run->parts->whole));
  MICA_TRY(mica__run_set_defaults(run));
  if (mica__common_is_set(run, MICA__SETTING_optimizer)) return MICA_OK;
  return set_default(run, MICA__SETTING_lr, RATE * sqrt(fmin(1, RATE_WIDTH / (double)settings_of(run).width)));
}

/* --- the network --- */

mica_model_config mica__contexts_network(const mica_run *run) {
  const mica__contexts_settings s = mica__contexts_settings_of(run);
  return (mica_model_config){.name = "gpt",
                             .classes = vocabulary_of(run),
                             .width = s.width,
                             .dropout = s.dropout,
                             .sequence = {.context = s.context,
                                          .layers = s.layers,
                                          .heads = s.heads,
                                          .groups = s.groups,
                                          .positions = (mica_positions_kind)s.positions,
                                          .feed_forward = (mica_feed_forward)s.feed_forward,
                                          .rms_norm = s.rms_norm}};
}

/* Returns logits (N, context, outputs), a prediction after each token. The last token of a sample is not read, since it
 * is only a target. */
static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  mica_model_config model = mica__contexts_network(run);
  mica_value tokens = mica_batch_value(batch, "tokens");
  /* A teacher may have been trained on longer contexts than its student; then it reads the student's context. */
  const int64_t shown = tokens.graph ? mica_value_shape(tokens).dim[1] - 1 : 0;
  const int64_t context = shown > 0 && shown < model.sequence.context ? shown : model.sequence.context;
  model.classes = outputs;
  return mica_model_build(nn, mica_slice(tokens, 1, 0, context, 1), &model);
}

/* Builds the network of exported models, which reads all tokens. */
static mica_value exported(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  mica_model_config model = mica__contexts_network(run);
  model.classes = outputs;
  return mica_model_build(nn, mica_batch_value(batch, "tokens"), &model);
}

static const mica_batch_column export_columns[] = {{"tokens", MICA_I32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}}, {0}};
static const char *const networks[] = {"gpt", NULL};

const mica__input mica__input_contexts = {
    .name = "contexts",
    .traits.own_input = true,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .views.derive = mica__contexts_derive,
    .networks = networks,
    .network = network,
    .onnx.columns = export_columns,
    .onnx.network = exported,
    .samples.visit = mica__contexts_visit,
    .samples.look = mica__contexts_look,
};
