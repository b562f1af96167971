/* language: the next token of a text, of those before it. Contexts are cut from a file; its last part is held out. */
#include "task/input/contexts.h"
#include "run/common_settings.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include "base/file.h"
#include "data/dataset.h"
#include "data/source.h"
#include "data/text/contexts.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BYTES MICA__LANGUAGE_BYTES

/* name, kind, default, how help calls a value, help and further fields */
#define LANGUAGE_SETTINGS(X, S)                                                                                        \
  MICA__TOKENIZER_SETTINGS(X, S, "byte", "a tokenizer.json, or a kind to train on the training text",                  \
                           MICA__OF_TRAINED)                                                                           \
  X(S, INT, context, "context", "128", "N", "tokens that a prediction can see", .low = 1, .high = 1 << 20,             \
    .fixed = true)                                                                                                     \
  X(S, INT, contexts, "contexts", "0", "N", "contexts per epoch, evenly spaced; 0: the whole text", .low = 0,          \
    .high = 0x1p31, .fixed = true)                                                                                     \
  X(S, INT, layers, "layers", "4", "N", "blocks of the network", .low = 1, .high = 1000, .fixed = true)                \
  X(S, INT, width, "width", "128", "N", "features per position", .low = 1, .high = 1 << 16, .fixed = true)             \
  X(S, INT, heads, "heads", "4", "N", "attention heads", .low = 1, .high = 1024, .fixed = true)                        \
  X(S, INT, groups, "groups", "0", "N", "heads of keys and values; 0: the same as heads", .low = 0, .high = 1024,      \
    .fixed = true)                                                                                                     \
  MICA__BLOCK_SETTINGS(X, S, "0", "learned", "gelu")                                                                   \
  X(S, FLAG, rms_norm, "rms-norm", "false", "", "use RMS norms instead of layer norms", .fixed = true)
MICA__SETTINGS_STRUCT(language, LANGUAGE_SETTINGS);
static MICA__SETTINGS_TABLE(language, LANGUAGE_SETTINGS);

static const mica_task_metric metrics[] = {{"perplexity", true}, {"bits_per_byte", true}, {NULL, false}};

static int64_t whole(const mica_run *run, const char *name) { return (int64_t)mica_run_number(run, name); }

/* --- data --- */

/* A folder's file of a part: train.txt, validation.txt or val.txt, test.txt; *found is false if it has none. */
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

/* Contexts of a file's bytes from a share of it to another; the bytes, where tokens are others. */
static mica_status open_bytes(const mica_run *run, const char *path, const char *name, double from, double to,
                              uint64_t samples, mica_dataset **data) {
  unsigned char *bytes = NULL;
  size_t count = 0;
  /* Not mapped: whoever cuts a file short in place would end the process. */
  MICA_TRY(mica__file_read_part(path, from, to, &bytes, &count));
  if (!mica__tokens_are_bytes(run)) return mica__language_pieces(name, bytes, count, bytes, free, data);
  const mica__tokens tokens = {
      .tokens = bytes, .dtype = MICA_U8, .count = count, .vocabulary = BYTES, .owner = bytes, .release = free};
  return mica__dataset_of_contexts(name, &tokens, whole(run, "context"), samples, data);
}

static mica_status missing(const char *path, mica_part part) {
  if (part == MICA_PART_TRAIN)
    return mica__fail(MICA_E_NOT_FOUND,
                      "%s holds no train.txt: a folder of text holds train.txt, and may hold validation.txt (or "
                      "val.txt) and test.txt; --data takes a single file too",
                      path);
  return mica__fail(MICA_E_NOT_FOUND, "%s has no part %s", path, mica_part_name(part));
}

/* The last share of a text that is trained on is its validation part, unless a folder has a file for that. */
static mica_status open_text(const mica_run *run, const char *path, const mica_dataset_config *config,
                             mica_dataset **data) {
  const mica_part part = config->part;
  const bool own = run->data && !strcmp(path, run->data);
  const uint64_t samples = part == MICA_PART_TRAIN && own ? (uint64_t)mica_run_number(run, "contexts") : 0;
  double held_out = own ? mica_run_number(run, "validation") : 0;
  mica__text file = {0}, other = {0};
  struct stat about;
  if (stat(path, &about) != 0) return mica__fail(MICA_E_NOT_FOUND, "%s: there is no such file or folder", path);
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

/* Tokens, and where no other task suits it a text of lines that is no table. */
static int32_t suits(const mica_dataset *data) {
  const size_t column = mica_dataset_column_index(data, "tokens");
  const mica_column *only = mica_dataset_column_count(data) == 1 ? mica_dataset_column(data, 0) : NULL;
  if (only && only->kind == MICA_COLUMN_KIND_TEXT && !data->store->schema) return 1;
  if (column == mica_dataset_column_count(data)) return 0;
  return mica_dataset_column(data, column)->kind == MICA_COLUMN_KIND_TOKENS ? 10 : 0;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const size_t column = mica_dataset_column_index(data, "tokens");
  const int64_t wanted = whole(run, "context") + 1;
  if (run->tokenizer && mica_dataset_column_index(data, "text") < mica_dataset_column_count(data)) return MICA_OK;
  if (column == mica_dataset_column_count(data))
    return mica__fail(MICA_E_FORMAT, "%s has no column 'tokens'", mica_dataset_name(data));
  const mica_column *about = mica_dataset_column(data, column);
  if (about->kind != MICA_COLUMN_KIND_TOKENS || about->shape.rank != 1 || about->shape.dim[0] != wanted)
    return mica__fail(MICA_E_FORMAT, "%s: samples of 'tokens' are not the %lld tokens that a context of %lld wants",
                      mica_dataset_name(data), (long long)wanted, (long long)wanted - 1);
  const double known = mica__run_fact_number(run, "vocabulary", BYTES);
  if ((double)about->classes <= known) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has tokens up to %d, the network's vocabulary ends at %g",
                    mica_dataset_name(data), (int)about->classes - 1, known - 1);
}

static mica_status set_default(mica_run *run, const char *name, double value) {
  return mica__run_is_set(run, name) ? MICA_OK : mica__run_set_number(run, name, value);
}

/* The attention's sizes, in the words of the settings that give them. */
static mica_status check_heads(const mica_run *run) {
  const long long width = whole(run, "width"), heads = whole(run, "heads"), groups = whole(run, "groups");
  if (width % heads)
    return mica__fail(MICA_E_INVALID, "a width of %lld cannot be shared by %lld heads: width is a multiple of heads",
                      width, heads);
  if (groups && heads % groups)
    return mica__fail(MICA_E_INVALID, "%lld heads cannot share %lld groups: heads is a multiple of groups", heads,
                      groups);
  if (width / heads % 2 && !strcmp(mica_run_setting(run, "positions"), "rotary"))
    return mica__fail(MICA_E_INVALID, "rotary positions rotate pairs: width %lld over heads %lld is odd", width, heads);
  return MICA_OK;
}

/* Rates that the default network bears; wider ones bear less (measured on tinyshakespeare, 2026-11-25). */
#define RATE 3e-3
#define RATE_WIDTH 128

/* Tokens of a dataset are numbers below its vocabulary; those of a text are bytes. */
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
  const char *model = mica_run_setting(run, "model");
  if (*model) MICA_TRY(mica__task_check_network(run));
  if (!*model) MICA_TRY(mica__run_set(run, "model", "gpt"));
  if (run->parts->whole) MICA_TRY(check_heads(run));
  if (!mica__tokens_are_bytes(run)) MICA_TRY(mica__language_tokenizer(run));
  if (!run->parts->whole) return MICA_OK;
  if (!run->tokenizer) MICA_TRY(note_bytes(run));
  MICA_TRY(fits(run, run->parts->whole));
  MICA_TRY(set_default(run, "clip-norm", 1));
  if (mica__run_is_set(run, "optimizer")) return MICA_OK;
  return set_default(run, "lr", RATE * sqrt(fmin(1, RATE_WIDTH / mica_run_number(run, "width"))));
}

/* --- the step --- */

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const mica_model_config network = mica__language_network(run);
  mica_value tokens = mica_batch_value(batch, "tokens");
  /* A teacher may know longer contexts than those that its student is shown. */
  const int64_t shown = tokens.graph ? mica_value_shape(tokens).dim[1] - 1 : 0;
  const int64_t context = shown > 0 && shown < network.sequence.context ? shown : network.sequence.context;
  mica_value logits = mica_model_build(nn, mica_slice(tokens, 1, 0, context, 1), &network);
  mica_value target = mica_reshape(mica_slice(tokens, 1, 1, context + 1, 1), MICA_SHAPE(MICA_DYNAMIC));
  mica_value rows = mica_flatten(logits, 2);
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES,
                                  .value = mica_value_dtype(rows) == MICA_F32 ? rows : mica_cast(rows, MICA_F32)};
  if (mica_nn_is_training(nn)) {
    out->loss = mica_cross_entropy(rows, target, NULL);
    return;
  }
  const mica_cross_entropy_config each = {.reduction = MICA_LOSS_REDUCTION_NONE};
  mica_value losses = mica_cast(mica_cross_entropy(rows, target, &each), MICA_F32);
  out->loss = mica_mean(losses, MICA_ALL_AXES, false);
  if (run->tokenizer)
    out->metrics[0] =
        mica_metric_mean("bytes_per_token", mica_gather(mica__language_token_bytes(run, rows.graph), target, 0));
  mica_value likeliest = mica_cast(mica_argmax(out->answers[0].value, 1, false), MICA_I32);
  out->outputs[0] = mica_reshape(losses, MICA_SHAPE(MICA_DYNAMIC, context));
  out->output_names[0] = MICA__LANGUAGE_LOSSES;
  out->outputs[1] = mica_reshape(likeliest, MICA_SHAPE(MICA_DYNAMIC, context));
  out->output_names[1] = MICA__LANGUAGE_NEXT;
}

static const mica_batch_column export_columns[] = {{"tokens", MICA_I32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}}, {0}};

static void exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_model_config network = mica__language_network(config);
  out->outputs[0] = mica_model_build(nn, mica_batch_value(batch, "tokens"), &network);
  out->output_names[0] = "logits";
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const double bytes = run->tokenizer ? mica_metrics_get(m, "bytes_per_token") : 1;
  (void)source;
  MICA_TRY(mica_metrics_add(m, "perplexity", exp(m->loss)));
  return mica_metrics_add(m, "bits_per_byte", bytes > 0 ? m->loss / log(2) / bytes : (double)NAN);
}

/* --- what a text costs --- */

/* Bits per byte take the first token for one of mean length. */
static mica_status predict_text(mica_run *run, const char *name, const unsigned char *text, size_t bytes,
                                mica_report *p) {
  mica__ids ids = {0};
  double mean = 0;
  mica_status status = mica__language_encode(run, name, (const char *)text, bytes, &ids);
  const double count = (double)ids.count;
  if (status == MICA_OK && ids.count < 2)
    status = mica__fail(MICA_E_FORMAT, "%s has %zu %s: nothing is predicted before the second one", name, ids.count,
                        run->tokenizer ? "tokens" : "bytes");
  if (status == MICA_OK) status = mica__language_mean_loss(run, &ids, &mean);
  mica__ids_free(&ids);
  if (status == MICA_OK) status = mica_report_begin(p, name);
  if (status == MICA_OK) status = mica_report_add_number(p, "bytes", (double)bytes);
  if (status == MICA_OK && run->tokenizer) status = mica_report_add_number(p, "tokens", count);
  if (status == MICA_OK) status = mica_report_add_number(p, "perplexity", exp(mean));
  return status == MICA_OK ? mica_report_add_number(p, "bits_per_byte", mean / log(2) * count / (double)bytes) : status;
}

static mica_status predict_file(mica_run *run, const char *path, mica_report *p) {
  unsigned char *bytes = NULL;
  size_t size = 0;
  MICA_TRY(mica__file_read(path, &bytes, &size));
  mica_status status = predict_text(run, path, bytes, size, p);
  free(bytes);
  return status;
}

static mica_status predict(mica_run *run, const mica_run_input *input, mica_report *p) {
  if (input->text)
    return predict_text(run, input->name ? input->name : input->text, (const unsigned char *)input->text,
                        strlen(input->text), p);
  if (input->data) return predict_file(run, input->data, p);
  for (size_t i = 0; i < input->file_count; i++) MICA_TRY(predict_file(run, input->files[i], p));
  return MICA_OK;
}

static const mica_onnx_text export_docs[] = {
    {"tokens", "of the text so far, by the run's tokenizer.json, else its bytes; no more than the setting context"},
    {"logits", "of each token of the vocabulary to follow, behind each of those read"},
    {0}};

static const char *const networks[] = {"gpt", NULL};

/* What config.json must hold of a run of the task. */
#define LANGUAGE_FACTS(X, S)                                                                                           \
  X(S, NUMBER, vocabulary, .needed = true, .most = 1 << 24)                                                            \
  X(S, TEXTS, tokenizer, .needed = false)
MICA__FACTS_STRUCT(language, LANGUAGE_FACTS);
static MICA__FACTS_TABLE(language, LANGUAGE_FACTS, 0);

static const mica__input input = {
    .name = "contexts",
    .networks = networks,
    .traits.own_input = true,
    .views.derive = mica__language_derive,
    .onnx.columns = export_columns,
};

const mica__task_row mica__task_language = {
    .name = "language",
    .text = "the next byte or token of a text file, for texts to be continued by mica generate",
    .input = &input,
    .metrics = metrics,
    .facts = &mica__language_fact_list,
    .settings = &mica__language_setting_list,
    .open = open_text,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .step = step,
    .exports = exports,
    .export_docs = export_docs,
    .evaluate = evaluate,
    .predict = predict,
    .report = mica__language_report,
    .generate = mica__language_generate,
    .agree = mica__language_agree,
};
