/* Exports the network of a run as an ONNX model with metadata. */
#include "nn/nn.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/columns/kinds.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/composed.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/state/facts.h"
#include "run/state/parts.h"
#include "run/verbs/quantizer.h"
#include "train/train.h"

#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Results are named after their layers, so that other programs can find them. */
static mica_status name_layers(const mica_nn *nn) {
  for (size_t i = 0; i < nn->layer_count; i++) {
    const mica__nn_layer *layer = &nn->layers[i];
    if (layer->result.graph && !*mica_value_name(layer->result)) mica_named(layer->result, layer->name);
  }
  return mica_graph_status(nn->graph) == MICA_OK
             ? MICA_OK
             : mica__fail(mica_graph_status(nn->graph), "%s", mica_graph_message(nn->graph));
}

/* --- metadata --- */

#define MOST_TEXTS 48
typedef struct metadata {
  mica__text texts[MOST_TEXTS];
  mica_onnx_text list[MOST_TEXTS];
  size_t count;
} metadata;

static void free_metadata(metadata *m) {
  for (size_t i = 0; i < MOST_TEXTS; i++) mica__text_free(&m->texts[i]);
}

static mica__text *add_text(metadata *m, const char *key) {
  m->list[m->count].key = key;
  return &m->texts[m->count++];
}

/* "columns": the names of a table's numbers, in the order of the input. */
static mica_status add_columns(const mica_run *run, metadata *m) {
  static const char number[] = "number ";
  mica__fact columns = {0};
  const char *const *names = mica__common_facts_of(run).numbers.list;
  const mica__fact_texts table = mica__common_facts_of(run).table;
  if (!names && !(mica__common_facts_of(run).header > 0)) return MICA_OK;
  columns.count = mica__common_facts_of(run).numbers.count;
  columns.texts = calloc(columns.count + table.count + 1, sizeof *columns.texts);
  if (!columns.texts) return mica__fail_nomem("a run");
  for (size_t i = 0; names && i < columns.count; i++) columns.texts[i] = (char *)(uintptr_t)names[i];
  for (size_t i = 0; !names && i < table.count; i++)
    if (!strncmp(table.list[i], number, strlen(number)))
      columns.texts[columns.count++] = (char *)(uintptr_t)table.list[i] + strlen(number);
  mica__fact_text(add_text(m, "columns"), &columns);
  free(columns.texts);
  return MICA_OK;
}

/* Adds "bases", the number that is subtracted from each column that has one, and "answer", a list with the name of the
 * predicted column. "bases" may lack that column. */
static void add_bases(const mica_run *run, metadata *m) {
  const mica__fact answer = {.texts = (char *[]){(char *)(uintptr_t)mica__run_label_name(run)}, .count = 1};
  mica__run_bases_text(run, add_text(m, "bases"));
  if (*answer.texts[0]) mica__fact_text(add_text(m, "answer"), &answer);
}

static mica_status make_metadata(const mica_run *run, metadata *m) {
  static const char *const facts[] = {"classes",
                                      "answers",
                                      "input",
                                      "mean",
                                      "deviation",
                                      "fills",
                                      "categories",
                                      "category_classes",
                                      "category_names",
                                      /* sounds */ "rate",
                                      "alphabet",
                                      "speakers",
                                      /* masks */ "mask_values",
                                      "tile",
                                      /* series */ "series",
                                      "targets",
                                      "window",
                                      "horizon",
                                      "season",
                                      "scale",
                                      "level_mean",
                                      "level_deviation",
                                      /* texts */ "from",
                                      "to",
                                      "vocabulary",
                                      /* ratings */ "users",
                                      "items",
                                      "rating_mean",
                                      "rating_range",
                                      "features",
                                      "feature_numbers",
                                      "feature_values",
                                      /* rows beside other inputs */ "row_mean",
                                      "row_deviation",
                                      "picture_column",
                                      "picture_mean",
                                      "picture_deviation",
                                      "sound_column",
                                      "series_column",
                                      "series_length",
                                      "text_column"};
  mica__run_config_text(run, "", add_text(m, "mica.config"));
  mica__text_add(add_text(m, "task"), run->task->name);
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    const mica__fact *fact = mica__run_find_fact(run, facts[i]);
    if (fact) mica__fact_text(add_text(m, facts[i]), fact);
  }
  if (*mica__common_facts_of(run).input_column) MICA_TRY(add_columns(run, m));
  if (run->facts->bases) add_bases(run, m);
  for (size_t i = 0; i < m->count; i++) {
    MICA_TRY(mica__text_status(&m->texts[i]));
    m->list[i].value = m->texts[i].data;
  }
  return MICA_OK;
}

/* --- the model --- */

/* The columns that an exported model reads: a list of the task's input (mica__input.onnx.columns) or, without one,
 * what tests read except the answers. Returns their number. */
static size_t columns_of(const mica_run *run, mica_batch_column *columns) {
  size_t count = 0;
  const mica_batch_column *own = run->task->input->onnx.columns;
  for (; own && own->name; own++) columns[count++] = *own;
  for (size_t i = 0; !run->task->input->onnx.columns && i < run->parts->column_count; i++)
    if (!mica__run_is_answer(run, run->parts->columns[i].name)) columns[count++] = run->parts->columns[i];
  if (run->task->input->onnx.shapes) run->task->input->onnx.shapes(run, columns, count);
  return count;
}

/* Descriptions of the inputs and outputs of models that read pictures or rows of tables. */
static const mica_onnx_text sample_docs[] = {
    {"image", "a picture: (u8 / 255 - \"mean\") / \"deviation\" of the channel"},
    {"x", "numbers in the order of \"columns\": (number - \"mean\") / \"deviation\"; if the model has \"bases\", "
          "subtract the column's from the number first; a missing number is that of \"fills\""},
    {"shares", "the probability of each of the \"classes\""},
    {"value", "the number, or several, in the table's units"},
    {"embedding", "numbers of length 1: the product of two embeddings is their similarity"},
    {0}};

/* Descriptions of a model's inputs and outputs: the task's, and one for each column of classes. */
typedef struct ports {
  mica_onnx_text *docs;
  mica__text *texts; /* descriptions of the columns of classes, which follow the task's in `docs` */
  size_t count, categories;
} ports;

static void free_ports(ports *p) {
  for (size_t k = 0; p->texts && k < p->categories; k++) mica__text_free(&p->texts[k]);
  free(p->texts);
  free(p->docs);
}

static mica_status describe_ports(const mica_run *run, ports *p) {
  const mica_onnx_text *own = run->task->input->traits.by_samples ? sample_docs : run->task->export_docs;
  while (own && own[p->count].key) p->count++;
  p->categories = mica__run_categories(run);
  p->docs = calloc(p->count + p->categories + 1, sizeof *p->docs);
  p->texts = calloc(p->categories + 1, sizeof *p->texts);
  if (!p->docs || !p->texts) return mica__fail_nomem("a run");
  for (size_t i = 0; i < p->count; i++) p->docs[i] = own[i];
  size_t first = 0;
  for (size_t k = 0; k < p->categories; k++) {
    const mica__category c = mica__run_category(run, k);
    mica__text_addf(&p->texts[k],
                    "the class of the column, from 0: its names are entries %zu to %zu of \"category_names\", which "
                    "count from 0; -1: any other class",
                    first, first + c.classes - 1);
    MICA_TRY(mica__text_status(&p->texts[k]));
    p->docs[p->count++] = (mica_onnx_text){c.name, p->texts[k].data};
    first += c.classes;
  }
  return MICA_OK;
}

static mica_status write_model(const mica_run *run, const mica__phase *phase, const char *path,
                               const mica_run_export_config *config) {
  metadata m = {0};
  ports p = {0};
  mica_status status = make_metadata(run, &m);
  if (status == MICA_OK) status = describe_ports(run, &p);
  const mica_onnx_write_config how = {.opset = config->opset,
                                      .external_bytes = config->external_bytes,
                                      .session = phase->session,
                                      .output_names = (const char *const *)phase->outputs,
                                      .input_prefix = "batch.",
                                      .name = mica__common_settings_of(run).model,
                                      .metadata = m.list,
                                      .metadata_count = m.count,
                                      .docs = p.docs,
                                      .doc_count = p.count};
  if (status == MICA_OK && !phase->output_count)
    status = mica__fail(
        MICA_E_UNSUPPORTED,
        "a run of the task %s cannot be exported, because the task defines no outputs for one pass of its network",
        run->task->name);
  if (status == MICA_OK) status = name_layers(phase->nn);
  if (status == MICA_OK) status = mica_onnx_write(path, phase->output_values, phase->output_count, &how);
  if (status == MICA_E_UNSUPPORTED && phase->output_count) {
    char why[512];
    snprintf(why, sizeof why, "%s", mica_error_message());
    status = mica__fail(status, "a run of the task %s with the network %s cannot be exported: %s%s", run->task->name,
                        mica__common_settings_of(run).model, why,
                        mica__run_is_quantized(run) ? "; the run that it was quantised from can be" : "");
  }
  free_ports(&p);
  free_metadata(&m);
  return status;
}

mica_status mica_run_export(mica_run *run, const char *path, const mica_run_export_config *config) {
  static const mica_run_export_config standard;
  mica__phase phase = {0};
  mica_batch_column *columns = NULL;
  if (!run || !path) return mica__fail(MICA_E_INVALID, "mica_run_export: a pointer is NULL");
  if (!run->trainer) return mica__fail(MICA_E_STATE, "mica_run_export: the run is a model in ONNX already");
  columns = calloc(run->parts->column_count + 16, sizeof *columns);
  if (!columns) return mica__fail_nomem("a run");
  const size_t count = columns_of(run, columns);
  mica_step_fn *step = run->task->exports || !run->task->head ? run->task->exports : mica__composed_exports;
  mica_status status = mica__phase_build_outputs(run->trainer, step, columns, count, &phase);
  if (status == MICA_OK) status = write_model(run, &phase, path, config ? config : &standard);
  mica__phase_free(&phase);
  free(columns);
  return status;
}
