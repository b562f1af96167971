/* text: the class of a text, of a column of texts in a table. */
#include "task/text/text.h"
#include "data/dataset.h"
#include "data/table/table.h"
#include "run/columns/categories.h"
#include "run/columns/classes.h"
#include "run/columns/columns.h"
#include "run/common_settings.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/network.h"
#include "run/record.h"
#include "run/settings.h"
#include "run/state/networks.h"
#include "run/state/parts.h"
#include "run/tokens.h"
#include "run/verbs/published.h"

#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const networks[] = {"encoder", "tagger", "tcn", NULL};

#define TEXT_SETTINGS(X, S)                                                                                            \
  X(S, TEXT, text, "text", "", "COLUMN", "column of texts (default: the first one)", .fixed = true)                    \
  MICA__TOKENIZER_SETTINGS(X, S, "bpe", "a tokenizer.json, or a kind to train on the training texts",                  \
                           MICA__OF_LETTERS)                                                                           \
  X(S, INT, length, "length", "256", "N", "first N tokens of a text are read", .low = 1, .high = 1 << 20,              \
    .fixed = true)                                                                                                     \
  X(S, INT, layers, "layers", "1", "N", "layers of the network", .low = 1, .high = 1000, .fixed = true)                \
  X(S, INT, width, "width", "64", "N", "features per position", .low = 1, .high = 1 << 16, .fixed = true)              \
  X(S, INT, heads, "heads", "4", "N", "attention heads of encoder", .low = 1, .high = 1024, .of = "model=encoder",     \
    .fixed = true)                                                                                                     \
  X(S, REAL, dropout, "dropout", "0.1", "P", "dropout after layers", .low = 0, .high = 0.95, .fixed = true)            \
  X(S, REAL, label_smoothing, "label-smoothing", "0", "S", "probability shared evenly by all classes", .low = 0,       \
    .high = 1, .fixed = true)                                                                                          \
  X(S, TEXT, class_weights, "class-weights", "", "LIST", "balanced, or one weight per class, as in 1,5,2",             \
    .fixed = true)
MICA__SETTINGS_STRUCT(text, TEXT_SETTINGS);
static MICA__SETTINGS_TABLE(text, TEXT_SETTINGS);

/* Found on messages of a telephone (spam or not). */
static const mica_setting defaults[] = {
    {"model", "encoder"},   {"epochs", "5"},          {"batch", "32"},    {"lr", "0.003"},
    {"optimizer", "adamw"}, {"weight-decay", "0.01"}, {"clip-norm", "1"}, {0}};

static const mica_task_metric metrics[] = {{"f1", false}, {"accuracy", false}, {NULL, false}};

static int64_t classes_of(const mica_run *run) {
  size_t count = 0;
  mica_run_fact(run, "classes", &count);
  return (int64_t)count;
}

/* --- columns --- */

/* The column of texts: of that name, else the first one of texts, else the only one of classes beside the answers,
 * whose names are the texts. NULL: there is none. */
static const mica_column *text_of(const mica_dataset *data, const char *name) {
  const mica_column *label = mica__run_find_label(data), *only = NULL;
  const size_t count = mica_dataset_column_count(data);
  size_t classes = 0;
  for (size_t i = 0; i < count; i++) {
    const mica_column *column = mica_dataset_column(data, i);
    if (*name ? !strcmp(column->name, name) : column->kind == MICA_COLUMN_KIND_TEXT) return column;
    if (column == label || column->kind != MICA_COLUMN_KIND_CLASS) continue;
    only = column;
    classes++;
  }
  return !*name && classes == 1 ? only : NULL;
}

static bool is_text(const mica_column *column) {
  return column->kind == MICA_COLUMN_KIND_TEXT || (column->kind == MICA_COLUMN_KIND_CLASS && column->shape.rank == 0);
}

static bool is_answer(const mica_column *label) {
  return label && label->kind == MICA_COLUMN_KIND_CLASS && label->shape.rank == 0;
}

/* Texts and classes alone: a table that has numbers too is the task classify's. */
static int32_t suits(const mica_dataset *data) {
  bool texts = false, others = false;
  const mica_column *label = mica__run_find_label(data);
  for (size_t i = 0; i < mica_dataset_column_count(data); i++) {
    const mica_column *column = mica_dataset_column(data, i);
    texts = texts || column->kind == MICA_COLUMN_KIND_TEXT;
    others = others || (column != label && column->kind != MICA_COLUMN_KIND_TEXT);
  }
  return texts && !others && is_answer(label) ? 20 : 0;
}

static void opens(const mica_run *run, mica_dataset_config *config) {
  const char *label = mica__run_fact_text(run, "label_name");
  if (*label) config->label_column = label;
}

/* The answers' column as the table calls it. */
static mica_status note_label(mica_run *run, const mica_column *label) {
  MICA_TRY(mica__run_note_text(run, "label_column", label->name));
  MICA_TRY(mica__run_note_text(run, "label_name", mica__run_answer_name(run, label)));
  return mica__run_note_classes(run, label);
}

/* --- preparation --- */

static mica_status count_classes(mica_run *run, double *counts, int64_t classes) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  for (uint64_t i = 0; i < mica_dataset_count(data); i++) {
    const int32_t label = mica_dataset_label(data, i);
    if (label >= 0 && label < classes) counts[label]++;
  }
  return MICA_OK;
}

static mica_status check_network(const mica_run *run) {
  const long long width = (long long)mica_run_number(run, "width"), heads = (long long)mica_run_number(run, "heads");
  MICA_TRY(mica__task_check_network(run));
  if (!strcmp(mica_run_setting(run, "model"), "encoder") && width % heads)
    return mica__fail(MICA_E_INVALID, "a width of %lld cannot be shared by %lld heads: width is a multiple of heads",
                      width, heads);
  return MICA_OK;
}

static mica_status find_columns(mica_run *run, const mica_column **text, const mica_column **label) {
  const char *name = mica_run_setting(run, "text");
  *label = mica__run_find_label(run->parts->whole);
  *text = text_of(run->parts->whole, name);
  if (!*text && *name)
    return mica__fail(MICA_E_FORMAT, "%s has no column '%s' of texts%s", run->data, name,
                      *label && !strcmp(mica__run_answer_name(run, *label), name) ? ": it is that of answers" : "");
  if (!*text || !is_text(*text))
    return mica__fail(MICA_E_FORMAT, "%s has no column of texts: the task text wants one, and a class for each",
                      run->data);
  if (!is_answer(*label) || *label == *text)
    return mica__fail(MICA_E_FORMAT,
                      "%s has no column of classes: the task text wants one for each text; --label names it",
                      run->data);
  if ((uint64_t)(*label)->classes * 2 > mica_dataset_count(run->parts->whole) && (*label)->classes > 16)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the answers '%s' have %d classes in %llu samples; --label names another column", run->data,
                      mica__run_answer_name(run, *label), (*label)->classes,
                      (unsigned long long)mica_dataset_count(run->parts->whole));
  return MICA_OK;
}

static mica_status prepare(mica_run *run) {
  const mica_column *text = NULL, *label = NULL;
  MICA_TRY(mica__published_open(run, false));
  MICA_TRY(mica__run_set_defaults(run));
  if (!run->networks->published) MICA_TRY(check_network(run));
  if (!run->parts->whole) return mica__run_make_tokenizer(run, NULL, NULL);
  MICA_TRY(find_columns(run, &text, &label));
  MICA_TRY(mica__run_note_text(run, "text_column", text->name));
  MICA_TRY(note_label(run, label));
  MICA_TRY(mica__run_note_weights(run, classes_of(run), count_classes));
  mica__texts texts = {.data = run->parts->at[MICA_PART_TRAIN].data,
                       .column = mica_dataset_column_index(run->parts->at[MICA_PART_TRAIN].data, text->name)};
  mica_status status = mica__run_make_tokenizer(run, mica__texts_next, &texts);
  mica__texts_free(&texts);
  return status == MICA_OK ? mica__published_check_tokens(run) : status;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const char *name = mica__run_fact_text(run, "text_column");
  const mica_column *text = mica_dataset_column(data, mica_dataset_column_index(data, name));
  int32_t *map = NULL;
  if (!text || !is_text(text))
    return mica__fail(MICA_E_FORMAT, "%s has no column '%s' of texts, which the network was trained on",
                      mica_dataset_name(data), name);
  if (!is_answer(mica__run_find_label(data)))
    return mica__fail(MICA_E_FORMAT, "%s has no classes in the column '%s'", mica_dataset_name(data),
                      mica__run_fact_text(run, "label_name"));
  mica_status status = mica__run_map_classes(run, data, &map);
  free(map);
  return status;
}

static mica_status derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  mica__ids about;
  mica_dataset *made = NULL;
  const size_t column = mica_dataset_column_index(data, mica__run_fact_text(run, "text_column"));
  MICA_TRY(mica__tokens_derive(run, data, column, "tokens", (int64_t)mica_run_number(run, "length"), &made, &about));
  *out = made;
  if (part != MICA_PART_TRAIN && run->parts->whole) return MICA_OK;
  MICA_TRY(mica__run_remark_cut(run, about.cut, about.texts, (int64_t)mica_run_number(run, "length")));
  return about.empty ? mica__run_remark(run, "%zu of %zu texts are empty", about.empty, about.texts) : MICA_OK;
}

/* --- the step --- */

static mica_value network(mica_nn *nn, const mica_run *run, mica_value tokens, mica_value lengths) {
  if (run->networks->published) return mica__published_build(run, nn, tokens, lengths, classes_of(run));
  const mica_model_config config = {.name = mica_run_setting(run, "model"),
                                    .classes = classes_of(run),
                                    .width = (int64_t)mica_run_number(run, "width"),
                                    .dropout = mica_run_number(run, "dropout"),
                                    .sequence = {.vocabulary = (int64_t)mica__run_fact_number(run, "vocabulary", 1),
                                                 .context = (int64_t)mica_run_number(run, "length"),
                                                 .layers = (int64_t)mica_run_number(run, "layers"),
                                                 .heads = (int64_t)mica_run_number(run, "heads"),
                                                 .pooled = true,
                                                 .lengths = lengths}};
  return mica__run_answers(run, mica_model_build(nn, tokens, &config), config.classes);
}

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const char *label = mica__run_fact_text(run, "label_column");
  const bool training = mica_nn_is_training(nn);
  mica_value z = network(nn, run, mica_batch_value(batch, "tokens"), mica_batch_value(batch, "tokens.length"));
  if (!training) out->outputs[0] = mica_softmax(z, 1), out->output_names[0] = "shares";
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES, .value = z};
  if (!mica_batch_has(batch, label) || !z.graph) return;
  mica_value y = mica_batch_value(batch, label), weights = mica__run_class_weights(run, z.graph);
  const mica_cross_entropy_config how = {.label_smoothing = training ? mica_run_number(run, "label-smoothing") : 0,
                                         .weights = weights};
  out->loss = mica_cross_entropy(z, y, &how);
  if (weights.graph) out->weight = mica_sum(mica_gather(weights, y, 0), MICA_ALL_AXES, false);
  out->metrics[0] = mica_metric_mean("accuracy", mica_hits(z, y));
  if (!training && classes_of(run) <= MOST_CONFUSED)
    out->metrics[1] = (mica_metric){.name = "confusion", .sum = mica_confusion(z, y)};
}

/* Classes whose F1 is a metric of its own, at most. */
#define NAMED_CLASSES 20

static mica_status add_scores(const mica_run *run, const mica_class_scores *scores, mica_metrics *m) {
  const int64_t classes = classes_of(run);
  const char *const *names = mica_run_fact(run, "classes", NULL);
  for (int64_t c = 0; classes <= NAMED_CLASSES && c < classes; c++) {
    char name[sizeof m->values[0].name];
    snprintf(name, sizeof name, "f1_%.*s", (int)sizeof name - 4, names[c]);
    MICA_TRY(mica_metrics_add(m, name, scores[c].f1));
  }
  return MICA_OK;
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const int64_t classes = classes_of(run);
  int64_t *confusion = NULL;
  mica_class_scores mean;
  (void)source;
  if (classes > MOST_CONFUSED) return MICA_OK;
  mica_class_scores *scores = calloc((size_t)classes + 1, sizeof *scores);
  mica_status status = scores ? mica__run_read_confusion(run, &confusion) : mica__fail_nomem("scores");
  if (status == MICA_OK) {
    mica_confusion_scores(confusion, classes, scores, &mean, NULL);
    status = mica_metrics_add(m, "f1", mean.f1);
  }
  if (status == MICA_OK) status = add_scores(run, scores, m);
  free(confusion);
  free(scores);
  return status;
}

static const mica_onnx_text export_docs[] = {
    {"tokens", "of the text, by the run's tokenizer.json, no more than the setting length; any behind tokens.length"},
    {"tokens.length", "how many tokens count, from the left"},
    {"shares", "the probability of each of the \"classes\""},
    {0}};

/* What config.json must hold of a run of the task. */
#define TEXT_FACTS(X, S)                                                                                               \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, NUMBERS, class_weights, .of = "classes", .above = -0x1p-149)                                                    \
  X(S, TEXT, text_column, .needed = true)                                                                              \
  X(S, TEXT, label_column, .needed = true)                                                                             \
  X(S, TEXTS, tokenizer, .needed = true)                                                                               \
  X(S, NUMBER, vocabulary, .needed = true, .most = 1 << 24)
MICA__FACTS_STRUCT(text, TEXT_FACTS);
static MICA__FACTS_TABLE(text, TEXT_FACTS, 0);

const mica__task_row mica__task_text = {
    .name = "text",
    .text = "the class of a text, of a column of texts in a table",
    .metrics = metrics,
    .facts = &mica__text_fact_list,
    .settings = &mica__text_setting_list,
    .defaults = defaults,
    .least_steps = 300,
    .opens = opens,
    .networks = networks,
    .own_input = true,
    .suits = suits,
    .prepare = prepare,
    .derive = derive,
    .fits = fits,
    .step = step,
    .export_docs = export_docs,
    .evaluate = evaluate,
    .predict = mica__text_predict,
    .report = mica__text_report,
};
