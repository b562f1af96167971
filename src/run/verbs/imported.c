/* Builds networks that are ONNX models into the steps of a run, with a new last layer if the run needs one. */
#include "run/verbs/imported.h"
#include "base/signature.h"
#include "data/dataset.h"
#include "ir/graph.h"
#include "nn/nn.h"
#include "onnx/training.h"
#include "run/columns/categories.h"
#include "run/columns/kinds.h"
#include "run/columns/scale.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/composed.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/networks.h"
#include "run/state/parts.h"
#include "run/units.h"

#include <mica/io.h>
#include <mica/nodes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME MICA__NETWORK_FILE
#define MODEL "onnx" /* the value of the setting "model" if the network is an ONNX model */
/* The stored value (run/facts.h) of runs that convert inputs and answers to and from the model's scales. Older runs
 * lack it: they were trained without conversion, and stay so. */
#define IN_UNITS "imported_units"
/* The most names that a message lists. */
#define LISTED 5

bool mica__is_model_file(const char *path) {
  const size_t n = strlen(path);
  return n > 5 && !strcmp(path + n - 5, ".onnx");
}

static const char *path_of(const mica_run *run) { return mica__common_settings_of(run).init; }

/* --- checks of the model --- */

/* The edit distance: how many letters must be changed, added or removed to turn one text into the other. */
static size_t distance(const char *a, const char *b) {
  size_t row[129], n = strlen(b);
  if (n > 128) return SIZE_MAX;
  for (size_t j = 0; j <= n; j++) row[j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t corner = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      const size_t changed = corner + (a[i - 1] != b[j - 1]), shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];
      corner = row[j];
      row[j] = changed < shorter + 1 ? changed : shorter + 1;
    }
  }
  return row[n];
}

/* Adds to the list the names of the model's values that are most similar to a text; if the text is "", the names
 * nearest to the end of the model. */
static void list_near(const mica_onnx *model, const char *text, mica__text *list) {
  const char *names[LISTED] = {NULL}, *name = NULL;
  size_t far[LISTED] = {0}, count = 0;
  for (size_t i = 0; (name = mica_onnx_value_at(model, i)); i++) {
    const size_t own = *text ? distance(text, name) : SIZE_MAX - i;
    size_t at = count < LISTED ? count++ : LISTED - 1;
    if (!*name || (at == LISTED - 1 && names[at] && far[at] <= own)) continue;
    for (; at > 0 && far[at - 1] > own; at--) names[at] = names[at - 1], far[at] = far[at - 1];
    names[at] = name;
    far[at] = own;
  }
  for (size_t i = 0; i < count && names[i]; i++) mica__text_addf(list, "%s%.80s", i ? ", " : "", names[i]);
}

/* Fails with a message: the sentence, followed by the names of the model's values that are most similar to `near`.
 * Returns the status. */
static mica_status fail_listing(const mica_onnx *model, const char *near, mica_status status, const char *sentence) {
  mica__text list = {0};
  list_near(model, near, &list);
  mica__fail(status, "%s%s", sentence, list.data ? list.data : "none");
  mica__text_free(&list);
  return status;
}

static mica_status check_stop(const mica_run *run) {
  const char *stop = mica__common_settings_of(run).stop_at, *name = NULL;
  char sentence[400];
  if (!*stop) return MICA_OK;
  for (size_t i = 0; (name = mica_onnx_value_at(run->networks->network, i)); i++)
    if (!strcmp(name, stop)) return MICA_OK;
  snprintf(sentence, sizeof sentence, "stop-at: %.200s has no value \"%.80s\"; near it are ", path_of(run), stop);
  return fail_listing(run->networks->network, stop, MICA_E_NOT_FOUND, sentence);
}

/* Checks a model that reads whole numbers: they are ids, which must not be scaled. */
static mica_status check_ids(const mica_run *run, const mica_onnx_port *port) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  const mica__column *column = data ? mica__store_input(data->store) : NULL;
  if (port->dtype != MICA_I64 && port->dtype != MICA_I32)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "%s takes %s, but only models that take f32, f16, bf16, int32 or int64 can be trained",
                      path_of(run), port->type);
  if (column && column->about.dtype == MICA_U8)
    return mica__fail(MICA_E_FORMAT,
                      "%s takes whole numbers, but inputs of u8 are divided by 255; give it int32 or "
                      "int64 arrays",
                      path_of(run));
  if (mica__run_is_unscaled(run)) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "%s takes whole numbers; pass --mean 0 --deviation 1 to leave inputs unscaled",
                    path_of(run));
}

/* Checks that the model has one input of numbers, which fits the run's samples. */
static mica_status check_input(const mica_run *run) {
  const mica_onnx_port port = mica_onnx_input(run->networks->network, 0);
  char has[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  mica_shape sample = {.rank = (int32_t)input.count + 1, .dim = {MICA_DYNAMIC}};
  if (mica_onnx_input_count(run->networks->network) != 1 || port.kind != MICA_ONNX_KIND_TENSOR || !port.has_dtype)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "%s has %zu input%s; a model to train must have exactly one input, a tensor of a known type "
                      "(masks and token types cannot be made from data)",
                      path_of(run), mica_onnx_input_count(run->networks->network),
                      mica_onnx_input_count(run->networks->network) == 1 ? " of another kind" : "s");
  if (port.dtype != MICA_F32 && port.dtype != MICA_F16 && port.dtype != MICA_BF16) MICA_TRY(check_ids(run, &port));
  if (mica__run_categories(run))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "a model in ONNX cannot read columns of classes, such as '%s'; leave them out with ignore",
                      mica__run_category(run, 0).name);
  bool fits = !port.has_shape || port.shape.rank == sample.rank;
  for (size_t k = 0; k < input.count && k + 1 < MICA_MAX_RANK; k++) {
    sample.dim[k + 1] = (int64_t)input.list[k];
    if (fits && port.has_shape)
      fits = port.shape.dim[k + 1] == MICA_DYNAMIC || port.shape.dim[k + 1] == sample.dim[k + 1];
  }
  if (fits) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s takes %s, but the samples are %s", path_of(run),
                    mica_shape_format(port.shape, has), mica_shape_format(sample, want));
}

/* --- opening --- */

static mica_status check_settings(const mica_run *run) {
  const char *model = mica__common_settings_of(run).model;
  if (run->task->input->networks)
    return mica__fail(MICA_E_INVALID, "the task %s trains networks of its own; init takes a file of their weights",
                      run->task->name);
  if (*model && strcmp(model, MODEL) != 0)
    return mica__fail(MICA_E_INVALID, "init: %s has its own network, so model cannot be %s; leave model out",
                      path_of(run), model);
  if (strcmp(mica__common_typed(run, MICA__SETTING_precision), "f32") != 0)
    return mica__fail(MICA_E_UNSUPPORTED, "a model in ONNX is trained in f32, not in %s",
                      mica__common_typed(run, MICA__SETTING_precision));
  return MICA_OK;
}

mica_status mica__imported_facts(mica_run *run, const char *path, const mica_onnx *model) {
  const char *config = mica_onnx_metadata(model, "mica.config");
  if (config) MICA_TRY(mica__run_parse_config(run, path, config));
  return mica__run_take_bases(run);
}

/* Opens the model and reads the stored values (run/facts.h) of the run that it was exported from. */
static mica_status open_model(mica_run *run, const char *path) {
  mica_run *origin = mica__run_new();
  if (!origin) return mica__fail_nomem("a run");
  origin->engine = run->engine;
  run->networks->origin = origin;
  MICA_TRY(mica_onnx_open(path, &run->networks->network));
  return mica__imported_facts(origin, path, run->networks->network);
}

static mica_status open_kept(mica_run *run) {
  char *path = mica__run_path(run, FILE_NAME);
  mica_status status = path ? open_model(run, path) : mica__fail_nomem("a run");
  free(path);
  return mica__run_damaged(run, FILE_NAME, status == MICA_E_NOT_FOUND ? MICA_E_FORMAT : status);
}

mica_status mica__imported_open(mica_run *run) {
  const bool kept = !run->parts->at[MICA_PART_TRAIN].loader || run->resumed, given = mica__is_model_file(path_of(run));
  const double one = 1;
  if (run->networks->network) return MICA_OK;
  if (kept && !strcmp(mica__common_settings_of(run).model, MODEL)) return open_kept(run);
  if (!given && !strcmp(mica__common_settings_of(run).model, MODEL))
    return mica__fail(MICA_E_INVALID, "the network onnx comes from a file; give it with --init MODEL.onnx");
  if (!given && *mica__common_settings_of(run).stop_at)
    return mica__fail(MICA_E_INVALID, "stop-at needs a model in ONNX; give it with --init MODEL.onnx");
  if (kept || !given) return MICA_OK;
  MICA_TRY(check_settings(run));
  MICA_TRY(open_model(run, path_of(run)));
  if (mica__onnx_is_quantized(run->networks->network))
    return mica__fail(MICA_E_FORMAT,
                      "init: the weights in %s are quantised already; name the model that they were quantised from",
                      path_of(run));
  MICA_TRY(check_input(run));
  MICA_TRY(check_stop(run));
  const char *lacking = mica__units_lacking(run, run->networks->origin);
  if (lacking)
    MICA_TRY(mica__run_remark(run,
                              "init: %s was trained on the column '%s', which %s lacks, so columns are taken in their "
                              "order, with their own means",
                              path_of(run), lacking, run->data));
  if (!*mica__common_settings_of(run).mean && !mica__common_facts_of(run->networks->origin).mean.list)
    MICA_TRY(mica__run_remark(run,
                              "init: inputs of %s are scaled by mean and deviation of the data; if it expects other "
                              "inputs, set --mean and --deviation (0 and 1: unscaled)",
                              path_of(run)));
  MICA_TRY(mica__run_note_numbers(run, IN_UNITS, &one, 1));
  return mica__common_set(run, MICA__SETTING_model, MODEL);
}

/* --- building --- */

typedef struct making {
  const mica_onnx *model;
  mica_nn *nn;
} making;

static mica_value make(void *user, mica_graph *graph, const char *name, mica_dtype dtype, mica_shape shape) {
  const making *m = user;
  /* The name in the file: the graph's name without the number at its end. */
  char *own = malloc(strlen(name) + 1), *end = own ? strrchr(strcpy(own, name), '#') : NULL;
  if (!own) return mica__graph_fail_with(graph, mica__fail_nomem("a network"));
  if (end) *end = '\0';
  const bool trained = dtype == MICA_F32 && !mica__onnx_is_statistic(m->model, own);
  mica_value value = mica__nn_add(m->nn, own, dtype, shape, NULL, trained ? MICA_NN_ROLE_WEIGHT : MICA_NN_ROLE_STATE);
  free(own);
  return value;
}

/* A name for the new layer that the model does not use yet: "head", "head2", ... */
static void name_head(const mica_nn *nn, char name[24]) {
  snprintf(name, 24, "head");
  for (int n = 2; n < 100; n++) {
    bool taken = false;
    for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
      const char *own = mica_nn_parameter_at(nn, i)->own_name;
      taken = taken || (!strncmp(own, name, strlen(name)) && own[strlen(name)] == '.');
    }
    if (!taken) return;
    snprintf(name, 24, "head%d", n);
  }
}

/* The run's answers, from the model's result y. If y is features because of the setting "stop-at", averages each plane
 * and adds a new layer. */
static mica_value answers_of(const mica_run *run, mica_nn *nn, mica_value y, int64_t outputs) {
  const mica_shape shape = mica_value_shape(y);
  const bool stopped = *mica__common_settings_of(run).stop_at != '\0';
  char has[MICA_SHAPE_TEXT], name[24];
  if (!y.graph) return y;
  if (stopped && shape.rank >= 3) y = mica_flatten(mica_global_average_pool(y), 1);
  if (stopped && (shape.rank >= 3 || shape.rank == 2)) {
    name_head(nn, name);
    return mica_nn_dense(nn, name, y, outputs, NULL);
  }
  if (shape.rank == 2 && shape.dim[1] == outputs) return y;
  mica__text list = {0};
  list_near(run->networks->network, "", &list);
  y = mica__graph_fail(
      y.graph, MICA_E_FORMAT,
      "%s computes %s, but the run learns %lld answers per sample; set stop-at to the value that a new "
      "last layer reads, for example one of %s",
      path_of(run), mica_shape_format(shape, has), (long long)outputs, list.data ? list.data : "none");
  mica__text_free(&list);
  return y;
}

static bool says_numbers(const mica_run *run) { return mica__common_facts_of(run).target_deviation.list != NULL; }

mica__ending mica__imported_ending(const mica_onnx *model, const mica_run *origin, bool numbers) {
  if (!numbers) return (mica__ending){.stop_at = mica__onnx_before_shares(model)};
  const mica__fact_numbers mean = mica__common_facts_of(origin).target_mean;
  const mica__fact_numbers deviation = mica__common_facts_of(origin).target_deviation;
  const char *scaled = says_numbers(origin) ? mica__onnx_before_affine(model, deviation.count ? deviation.list[0] : 1,
                                                                       mean.count ? mean.list[0] : 0)
                                            : NULL;
  return (mica__ending){.stop_at = scaled, .plain = !scaled};
}

mica_value mica__imported_build(const mica_run *run, mica_nn *nn, mica_value x, int64_t outputs) {
  const char *stop = mica__common_settings_of(run).stop_at;
  const size_t count = mica_onnx_output_count(run->networks->network);
  mica_onnx_parameter *parameters = NULL;
  size_t parameter_count = 0;
  making m = {run->networks->network, nn};
  mica_onnx_build_config config = {.parameter = make, .user = &m, .stop_at = *stop ? stop : NULL};
  config.small_weights = config.widen = true;
  const bool converts = mica__common_facts_of(run).imported_units.list != NULL;
  const mica__ending ending = mica__imported_ending(run->networks->network, run->networks->origin, says_numbers(run));
  if (!*stop) config.stop_at = converts ? ending.stop_at : mica__onnx_before_softmax(run->networks->network);
  if (converts) x = mica__units_of_input(run, run->networks->origin, mica__common_facts_of(run).input_column, x);
  const mica_onnx_port port = mica_onnx_input(run->networks->network, 0);
  if (x.graph && (port.dtype == MICA_I64 || port.dtype == MICA_I32)) x = mica_cast(x, port.dtype);
  mica_value *values = calloc(count + 1, sizeof *values), y = {0};
  if (!x.graph || !values) {
    free(values);
    return x.graph ? mica__graph_fail_with(x.graph, mica__fail_nomem("a network")) : x;
  }
  mica__nn_record(nn, "network", "onnx");
  mica_status status = mica_onnx_build(run->networks->network, x.graph, &x, 1, values, count + 1, &config, &parameters,
                                       &parameter_count);
  y = mica__nn_recorded(nn, status == MICA_OK ? values[0] : mica__graph_fail_with(x.graph, status));
  if (status == MICA_OK) y = answers_of(run, nn, y, outputs);
  if (converts && !*stop && says_numbers(run)) y = mica__units_of_answer(run->networks->origin, ending.plain, run, y);
  mica_free(parameters);
  free(values);
  return y;
}

/* --- weights and the file --- */

mica_value mica__imported_answer(const mica_onnx *model, const char *stop_at, mica_nn *nn, mica_value x) {
  making m = {model, nn};
  mica_onnx_build_config config = {.parameter = make, .user = &m, .small_weights = true, .stop_at = stop_at};
  const size_t count = mica_onnx_output_count(model);
  mica_onnx_parameter *parameters = NULL;
  size_t parameter_count = 0;
  mica_value *values = calloc(count + 1, sizeof *values);
  mica_status status =
      values ? mica_onnx_build(model, x.graph, &x, 1, values, count + 1, &config, &parameters, &parameter_count)
             : mica__fail_nomem("a network");
  mica_value y = status == MICA_OK ? values[0] : mica__graph_fail_with(x.graph, status);
  if (status == MICA_OK && mica_value_dtype(y) != MICA_F32) y = mica_cast(y, MICA_F32);
  mica_free(parameters);
  free(values);
  return y;
}

mica_status mica__imported_load(mica_run *run) {
  return mica__imported_fill(run->networks->network, run->engine, mica_trainer_network(run->trainer),
                             mica_trainer_session(run->trainer));
}

mica_status mica__imported_fill(const mica_onnx *model, mica_engine *engine, const mica_nn *nn, mica_session *session) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    if (!tensor || info->role == MICA_NN_ROLE_OPTIMIZER) continue;
    mica__attempt_begin();
    mica_status status = mica_onnx_load(model, mica_engine_queue(engine), info->own_name, tensor);
    if (status != MICA_OK && status != MICA_E_NOT_FOUND) return mica__attempt_pass(status);
    mica__attempt_end();
  }
  return MICA_OK;
}

static mica_status copy_file(const char *from, const mica_run *run) {
  unsigned char *bytes = NULL;
  size_t size = 0;
  char *path = mica__run_path(run, FILE_NAME);
  mica_status status = path ? mica__file_read_signed(from, &bytes, &size) : mica__fail_nomem("a run");
  if (status == MICA_OK) status = mica_file_write(path, bytes, size);
  free(bytes);
  free(path);
  return status;
}

mica_status mica__imported_keep(const mica_run *run) {
  return run->networks->network && !run->resumed ? copy_file(path_of(run), run) : MICA_OK;
}

mica_status mica__imported_copy(const mica_run *from, const mica_run *to) {
  if (!from->networks->network) return MICA_OK;
  char *path = mica__run_path(from, FILE_NAME);
  mica_status status = path ? copy_file(path, to) : mica__fail_nomem("a run");
  free(path);
  return status;
}
