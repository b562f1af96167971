/* Texts as tokens: the columns, the tokenizer, the network. */
#include "task/input/tokens.h"
#include "data/dataset.h"
#include "data/table/number_lists.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/facts.h"
#include "run/network.h"
#include "run/predict/texts.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/networks.h"
#include "run/state/parts.h"
#include "run/tokens.h"
#include "run/verbs/published.h"

#include <mica/nodes.h>
#include <string.h>

static const char *const networks[] = {"encoder", "tagger", "tcn", "cnn_gru", NULL};

/* --- columns --- */

/* The column of texts, or NULL if there is none.
 * name not empty: the column of that name
 * name empty: the first column of kind TEXT. If there is none, the only column of classes apart from the answers; the
 * names of its classes are the texts. */
static const mica_column *text_of(const mica_run *run, const mica_dataset *data, const char *name) {
  const mica_column *label = mica__run_find_label(data), *only = NULL;
  const size_t count = mica_dataset_column_count(data);
  size_t classes = 0;
  for (size_t i = 0; i < count; i++) {
    const mica_column *column = mica_dataset_column(data, i);
    if (data->store->columns[i].paths) continue;
    /* In a task of several inputs, a series is a part of its own and is not taken for the text. */
    if (!*name && run->task->input->traits.rows && mica__number_lists_fill(data, i)) continue;
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

/* Suits data with only texts and answers: a table that also has numbers belongs to another task. */
static int32_t suits(const mica_dataset *data) {
  bool texts = false, others = false;
  const mica_column *label = mica__run_find_label(data);
  for (size_t i = 0; i < mica_dataset_column_count(data); i++) {
    const mica_column *column = mica_dataset_column(data, i);
    texts = texts || column->kind == MICA_COLUMN_KIND_TEXT;
    others = others || (column != label && column->kind != MICA_COLUMN_KIND_TEXT);
  }
  return texts && !others ? 20 : 0;
}

static void opens(const mica_run *run, mica_dataset_config *config) {
  const char *label = mica__common_facts_of(run).label_name;
  if (*label) config->label_column = label;
}

/* --- preparation --- */

static mica_status check_network(const mica_run *run) {
  const mica__tokens_settings settings = mica__tokens_settings_of(run);
  MICA_TRY(mica__task_check_network(run));
  return mica__task_check_heads(mica__common_settings_of(run).model, settings.width, settings.heads);
}

static mica_status find_texts(mica_run *run) {
  const char *name = mica__tokens_settings_of(run).text;
  const mica_column *label = mica__run_find_label(run->parts->whole), *text = text_of(run, run->parts->whole, name);
  if (!text && *name)
    return mica__fail(MICA_E_FORMAT, "%s has no column '%s' of texts%s", run->data, name,
                      label && !strcmp(mica__run_answer_name(run, label), name) ? ": it is the column of answers" : "");
  if (!text || !is_text(text))
    return mica__fail(MICA_E_FORMAT, "%s has no column of texts: the task %s wants one, and an answer for each",
                      run->data, run->task->name);
  if (text == label)
    return mica__fail(MICA_E_FORMAT,
                      "%s has no answers beside the texts: the task %s wants one for each; --label names the column",
                      run->data, run->task->name);
  return mica__run_note_text(run, "text_column", text->name);
}

static mica_status prepare(mica_run *run) {
  MICA_TRY(mica__published_open(run, false));
  MICA_TRY(mica__run_set_defaults(run));
  if (!run->networks->published) MICA_TRY(check_network(run));
  return run->parts->whole ? find_texts(run) : mica__run_make_tokenizer(run, NULL, NULL);
}

/* Refuses answers that were probably texts: there are more than 16 classes, and more than one for every two samples. */
static mica_status check_classes(const mica_run *run, const mica_column *label) {
  const uint64_t samples = mica_dataset_count(run->parts->whole);
  if (label->kind != MICA_COLUMN_KIND_CLASS || label->classes <= 16 || (uint64_t)label->classes * 2 <= samples)
    return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s: '%s' has too many classes, %d in %llu samples; choose another column by --label", run->data,
                    mica__run_answer_name(run, label), label->classes, (unsigned long long)samples);
}

static mica_status complete(mica_run *run, const mica_column *label) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  MICA_TRY(check_classes(run, label));
  MICA_TRY(mica__run_note_answer_name(run, label));
  mica__texts texts = {.data = data, .column = mica_dataset_column_index(data, mica__tokens_facts_of(run).text_column)};
  mica_status status = mica__run_make_tokenizer(run, mica__texts_next, &texts);
  mica__texts_free(&texts);
  return status == MICA_OK ? mica__published_check_tokens(run) : status;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const char *name = mica__tokens_facts_of(run).text_column;
  const mica_column *text = mica_dataset_column(data, mica_dataset_column_index(data, name));
  if (text && is_text(text)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has no column '%s' of texts, but the network was trained on it",
                    mica_dataset_name(data), name);
}

static mica_status derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  const int64_t length = mica__tokens_settings_of(run).length;
  mica__ids about;
  mica_dataset *made = NULL;
  const size_t column = mica_dataset_column_index(data, mica__tokens_facts_of(run).text_column);
  MICA_TRY(mica__tokens_derive(run, data, column, "tokens", length, &made, &about));
  *out = made;
  if (part != MICA_PART_TRAIN && run->parts->whole) return MICA_OK;
  MICA_TRY(mica__run_remark_cut(run, about.cut, about.texts, length));
  return about.empty ? mica__run_remark(run, "%zu of %zu texts are empty", about.empty, about.texts) : MICA_OK;
}

/* --- the network --- */

static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  /* The inputs of an exported model are in the order in which they are taken here. */
  mica_value lengths = mica_batch_value(batch, "tokens.length"), tokens = mica_batch_value(batch, "tokens");
  if (run->networks->published) return mica__published_build(run, nn, tokens, lengths, outputs);
  const mica__tokens_settings settings = mica__tokens_settings_of(run);
  const mica_model_config config = {.name = mica__common_settings_of(run).model,
                                    .classes = outputs,
                                    .width = settings.width,
                                    .dropout = settings.dropout,
                                    .sequence = {.vocabulary = (int64_t)mica__tokens_facts_of(run).vocabulary,
                                                 .context = settings.length,
                                                 .layers = settings.layers,
                                                 .heads = settings.heads,
                                                 .pooled = true,
                                                 .lengths = lengths}};
  return mica__run_answers(run, mica_model_build(nn, tokens, &config), outputs);
}

/* --- samples --- */

static mica__text_samples texts_of(const mica_run *run) {
  return (mica__text_samples){mica__tokens_facts_of(run).text_column, mica__tokens_settings_of(run).length};
}

static mica_status visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  const mica__text_samples from = texts_of(run);
  return mica__text_samples_visit(run, &from, given, fn, user);
}

static mica_status look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  const mica__text_samples from = texts_of(run);
  return mica__text_samples_look(run, &from, data, fn, user);
}

static mica_status show(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t sample,
                        const char *caption) {
  const mica__text_samples from = texts_of(run);
  return mica__text_samples_show(&from, report, data, sample, caption);
}

const mica__input mica__input_tokens = {
    .name = "tokens",
    .suits = suits,
    .opens = opens,
    .prepare = prepare,
    .complete = complete,
    .fits = fits,
    .traits.own_input = true,
    .views.derive = derive,
    .networks = networks,
    .network = network,
    .samples.visit = visit,
    .samples.look = look,
    .samples.show = show,
};
