/* Distillation: the teacher's pass is part of the training step, in inference form and without a gradient. Its weights
 * are parameters "teacher.NAME" of the session, which the optimiser and the run's files leave out. */
#include "run/verbs/distil.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/composed.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/state/networks.h"
#include "run/verbs/imported.h"
#include "run/verbs/quantizer.h"

#include "base/number.h"
#include "ir/graph.h"
#include "onnx/training.h"
#include "run/run.h"
#include "run/units.h"
#include "train/distance.h"
#include "train/train.h"

#include <mica/nodes.h>
#include <mica/onnx.h>
#include <mica/safetensors.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "teacher."
#define MODEL "model.safetensors"

/* --- what a teacher must have in common with the run --- */

mica_status mica__distil_check_texts(const mica_run *run, const char *fact, const char *one, const char *many) {
  const mica_run *teacher = run->networks->teacher.run;
  size_t count = 0, wanted = 0;
  const char *const *is = mica_run_fact(teacher, fact, &count), *const *want = mica_run_fact(run, fact, &wanted);
  /* A run with a single answer has no stored value "answers", but its answer counts as one. */
  const size_t least = !strcmp(fact, "answers"), knows = count < least ? least : count;
  if (count != wanted)
    return mica__fail(MICA_E_FORMAT, "the teacher in %s knows %zu %s, but %s has %zu", teacher->folder, knows,
                      knows == 1 ? one : many, run->data, wanted < least ? least : wanted);
  for (size_t i = 0; i < count; i++)
    if (strcmp(is[i], want[i]) != 0)
      return mica__fail(MICA_E_FORMAT, "the teacher in %s has '%s' as %s %zu, but %s has '%s'", teacher->folder, is[i],
                        one, i, run->data, want[i]);
  return MICA_OK;
}

mica_status mica__distil_check_numbers(const mica_run *run, const char *fact) {
  size_t count = 0, wanted = 0;
  const double *is = mica_run_fact_numbers(run->networks->teacher.run, fact, &count);
  const double *want = mica_run_fact_numbers(run, fact, &wanted);
  if (count != wanted)
    return mica__fail(
        MICA_E_FORMAT,
        "the value \"%s\" has %zu number%s in the teacher %s, but %zu in these data; choose a teacher that was "
        "trained on such data",
        fact, count, count == 1 ? "" : "s", run->networks->teacher.run->folder, wanted);
  for (size_t k = 0; k < count; k++)
    if (is[k] != want[k])
      return mica__fail(
          MICA_E_FORMAT,
          "the value \"%s\" is %g in the teacher %s, but %g in these data; choose a teacher that was trained "
          "on such data",
          fact, is[k], run->networks->teacher.run->folder, want[k]);
  return MICA_OK;
}

/* Checks the stored values (run/facts.h) in which the run and its teacher must agree, so that inputs and answers mean
 * the same to both. */
static mica_status check_facts(const mica_run *run) {
  static const struct {
    const char *fact, *one, *many;
  } texts[] = {{"classes", "class", "classes"},       {"categories", "category", "categories"},
               {"category_names", "value", "values"}, {"answers", "number", "numbers"},
               {"alphabet", "letter", "letters"},     {"series", "series", "series"},
               {"from", "source", "sources"},         {"to", "target", "targets"}};
  static const char *const numbers[] = {"input", "vocabulary", "several", "rate", "horizon", "window", "targets"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    MICA_TRY(mica__distil_check_texts(run, texts[i].fact, texts[i].one, texts[i].many));
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) MICA_TRY(mica__distil_check_numbers(run, numbers[i]));
  const char *lacking = mica__units_lacking(run, run->networks->teacher.run);
  if (!lacking) return MICA_OK;
  return mica__fail(
      MICA_E_FORMAT,
      "the teacher in %s was trained on the number '%s', which is not among the inputs that this run takes from %s",
      run->networks->teacher.run->folder, lacking, run->data);
}

/* Checks the settings in which the run and its teacher must agree, so that their answers mean the same. */
static mica_status check_settings(const mica_run *run) {
  static const char *const names[] = {"reduction", "objective"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *is = mica_run_setting(run->networks->teacher.run, names[i]), *want = mica_run_setting(run, names[i]);
    if (strcmp(is, want) != 0)
      return mica__fail(MICA_E_FORMAT, "the teacher in %s was trained with %s %s, but the run uses %s",
                        run->networks->teacher.run->folder, names[i], is, want);
  }
  return MICA_OK;
}

/* Refuses a teacher with another tokenizer, to which the ids would mean other words, or one that was trained on
 * fewer tokens than the run reads at once. */
static mica_status check_tokens(const mica_run *run) {
  static const char *const reach[] = {"length", "context"};
  const mica__fact_texts is = mica__common_facts_of(run->networks->teacher.run).tokenizer;
  const mica__fact_texts want = mica__common_facts_of(run).tokenizer;
  if (is.count == 2 && want.count == 2 && strcmp(is.list[1], want.list[1]) != 0)
    return mica__fail(MICA_E_FORMAT,
                      "the teacher in %s has another tokenizer; set tokenizer to the tokenizer.json of the teacher",
                      run->networks->teacher.run->folder);
  for (size_t i = 0; mica__common_facts_of(run).vocabulary > 0 && i < sizeof reach / sizeof *reach; i++) {
    const double own = mica_run_number(run, reach[i]), others = mica_run_number(run->networks->teacher.run, reach[i]);
    if (own > others)
      return mica__fail(MICA_E_FORMAT, "the teacher in %s was trained with %s %g, but the run takes %g tokens",
                        run->networks->teacher.run->folder, reach[i], others, own);
  }
  return MICA_OK;
}

/* True if the teacher is a model that Mica did not export. Then only shapes can be compared: the shape of
 * samples at once, the shapes of answers when the model is built. */
static bool is_foreign(const mica_run *teacher) { return teacher->networks->model && !teacher->task; }

/* Checks a teacher in ONNX: it must have one f32 input that fits the samples. */
static mica_status check_model(const mica_run *run) {
  const mica_run *teacher = run->networks->teacher.run;
  const mica_onnx_port port = mica_onnx_input(teacher->networks->model, 0);
  const bool sound = run->task->input->onnx.input != NULL;
  if (!mica__common_facts_of(run).input.list || (mica__common_facts_of(run).rate > 0 && !sound) ||
      mica__run_categories(run))
    return mica__fail(MICA_E_UNSUPPORTED,
                      "a teacher in ONNX takes pictures, numbers or recordings of words, but the task %s has other "
                      "inputs here; choose a run as the teacher",
                      run->task->name);
  if (mica__onnx_is_quantized(teacher->networks->model))
    return mica__fail(MICA_E_UNSUPPORTED, "the teacher %s is quantised; choose the model that it was made from",
                      teacher->folder);
  if (mica_onnx_input_count(teacher->networks->model) != 1 || !port.has_dtype || port.dtype != MICA_F32)
    return mica__fail(MICA_E_UNSUPPORTED, "the teacher %s must have exactly one input, of f32", teacher->folder);
  if (mica__common_facts_of(run).several > 0 && mica__onnx_ends_in_softmax(teacher->networks->model))
    return mica__fail(MICA_E_FORMAT,
                      "the teacher %s ends in a softmax, which suits one label per sample; for several, choose a model "
                      "that ends in a sigmoid or in logits",
                      teacher->folder);
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  const double *input = mica__common_facts_of(run).input.list;
  size_t rank = mica__common_facts_of(run).input.count;
  /* Segmentation trains on windows of its pictures. */
  const mica__fact_numbers window = mica__common_facts_of(run).window;
  /* Recordings have one channel, and ONNX models have no axis for it. */
  if (sound) input += rank - 1, rank = 1;
  mica_shape sample = {.rank = (int32_t)rank + 1, .dim = {MICA_DYNAMIC}};
  bool fits = !port.has_shape || port.shape.rank == sample.rank;
  for (size_t k = 0; k < rank && k + 1 < MICA_MAX_RANK; k++) {
    const int64_t own = port.shape.dim[k + 1];
    sample.dim[k + 1] = (int64_t)(rank == 3 && window.count == 2 && k > 0 ? window.list[k - 1] : input[k]);
    fits = fits && (!port.has_shape || own == MICA_DYNAMIC || own == sample.dim[k + 1]);
  }
  if (fits) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the teacher %s takes %s, but the samples are %s", teacher->folder,
                    mica_shape_format(port.shape, is), mica_shape_format(sample, want));
}

static mica_status check(const mica_run *run) {
  const mica_run *teacher = run->networks->teacher.run;
  if (is_foreign(teacher)) return check_model(run);
  if (teacher->task != run->task)
    return mica__fail(MICA_E_FORMAT, "the teacher in %s learned the task %s, but the run has %s", teacher->folder,
                      teacher->task->name, run->task->name);
  if (mica__run_is_quantized(teacher))
    return mica__fail(MICA_E_UNSUPPORTED, "the teacher in %s is quantised; choose the run that it was made from",
                      teacher->folder);
  MICA_TRY(check_settings(run));
  MICA_TRY(check_facts(run));
  if (teacher->networks->model) MICA_TRY(check_model(run));
  MICA_TRY(check_tokens(run));
  if (run->task->teaches) MICA_TRY(run->task->teaches(run, teacher));
  if (!strcmp(mica__common_facts_of(teacher).input_column, mica__common_facts_of(run).input_column)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the teacher in %s takes the column '%s', but the run takes '%s'", teacher->folder,
                    mica__common_facts_of(teacher).input_column, mica__common_facts_of(run).input_column);
}

mica_status mica__distil_begin(mica_run *run) {
  MICA_TRY(check(run));
  if (run->networks->teacher.run->networks->model) return MICA_OK;
  char *path = mica__run_path(run->networks->teacher.run, MODEL);
  if (!path) return mica__fail_nomem("a teacher");
  mica_status status = mica_safetensors_open(path, &run->networks->teacher.weights);
  free(path);
  return status;
}

/* --- the step --- */

/* Makes the batch that the teacher's step reads: without the answers, so that it predicts, and with inputs in the
 * teacher's units. */
static mica_status blindfold(const mica_run *run, const mica_batch_values *batch, const mica_objective *own,
                             mica_batch_values *blind) {
  *blind = (mica_batch_values){.graph = batch->graph, .columns = calloc(batch->count + 1, sizeof *blind->columns)};
  if (!blind->columns) return mica__fail_nomem("a teacher");
  for (size_t i = 0; i < batch->count; i++) {
    mica__batch_input column = batch->columns[i];
    if (mica__run_is_answer(run, column.name)) continue;
    if (own->seen.graph && !strcmp(column.name, own->seen_column)) column.value = own->seen;
    column.value = mica__units_of_input(run, run->networks->teacher.run, column.name, column.value);
    blind->columns[blind->count++] = column;
  }
  return MICA_OK;
}

/* Columns that only the teacher reads have become inputs of the graph. Sets their values in `batch` too, so that the
 * trainer feeds them. */
static void note_inputs(const mica_batch_values *batch, const mica_batch_values *blind) {
  for (size_t i = 0; i < batch->count; i++)
    for (size_t k = 0; k < blind->count; k++)
      if (!batch->columns[i].value.graph && batch->columns[i].name == blind->columns[k].name)
        batch->columns[i].value = blind->columns[k].value;
}

/* Builds the teacher's network in the graph of `nn` and sets `made` to its answers for a batch. If the teacher is an
 * ONNX model, only the value of the first answer is set. */
static mica_status teach(mica_run *run, mica_nn *nn, const mica_batch_values *batch, const mica_objective *own,
                         mica_objective *made) {
  mica__teacher *teacher = &run->networks->teacher;
  mica_batch_values blind;
  const mica_nn_config config = {.dtype = run->training.dtype, .name_prefix = PREFIX, .like = teacher->weights};
  mica_nn_destroy(teacher->nn);
  teacher->nn = NULL;
  MICA_TRY(mica_nn_create(mica_nn_graph(nn), &config, &teacher->nn));
  mica_status status = blindfold(run, batch, own, &blind);
  if (status == MICA_OK && teacher->run->networks->model) {
    mica_value x = run->task->input->onnx.input ? run->task->input->onnx.input(teacher->nn, run, &blind)
                                                : mica_batch_value(&blind, mica__common_facts_of(run).input_column);
    if (x.graph && mica_value_dtype(x) != MICA_F32) x = mica_cast(x, MICA_F32);
    const mica__ending ending = mica__imported_ending(teacher->run->networks->model, teacher->run,
                                                      own->answers[0].kind == MICA_ANSWER_KIND_NUMBERS);
    if (x.graph) x = mica__imported_answer(teacher->run->networks->model, ending.stop_at, teacher->nn, x);
    teacher->plain = ending.plain;
    made->answers[0] = (mica_answer){.kind = own->answers[0].kind, .value = x};
  } else if (status == MICA_OK) {
    run->task->step(teacher->nn, &blind, teacher->run, made);
  }
  if (status == MICA_OK) note_inputs(batch, &blind);
  free(blind.columns);
  return status;
}

/* The distance between the run's own answer and the teacher's, in the run's units. */
static mica_status compare(const mica_run *run, const mica_answer *own, const mica_answer *taught, mica_value *out) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  mica_answer answer = *taught;
  if (!taught->value.graph)
    return mica__fail(MICA_E_UNSUPPORTED, "a model in ONNX cannot teach the task %s; choose a run as the teacher",
                      run->task->name);
  const mica_shape shape = mica_value_shape(own->value), other = mica_value_shape(taught->value);
  if (own->kind != taught->kind)
    return mica__fail(MICA_E_FORMAT,
                      "the teacher in %s and the network give different kinds of answers, such as classes and numbers",
                      run->networks->teacher.run->folder);
  if (!mica_shape_equal(shape, other))
    return mica__fail(MICA_E_FORMAT, "the teacher in %s answers with %s numbers, but the network with %s",
                      run->networks->teacher.run->folder, mica_shape_format(other, is), mica_shape_format(shape, want));
  if (own->kind == MICA_ANSWER_KIND_NUMBERS)
    answer.value = mica__units_of_answer(run->networks->teacher.run, run->networks->teacher.plain, run, answer.value);
  answer.value = mica_stop_gradient(answer.value);
  if (answer.weight.graph) answer.weight = mica_stop_gradient(answer.weight);
  *out = mica__answer_distance(own, &answer, mica__common_settings_of(run).temperature);
  return MICA_OK;
}

/* Refuses a temperature other than the default if it would have no effect: only answers that are logits are divided by
 * it. */
static mica_status check_temperature(const mica_run *run, const mica_objective *out) {
  const mica_setting_row *row = mica_task_settings(NULL);
  bool softens = false;
  for (size_t i = 0; i < MICA_OBJECTIVE_ANSWERS && out->answers[i].value.graph; i++)
    softens = softens || mica__answer_is_softened(out->answers[i].kind);
  while (row->name && strcmp(row->name, "temperature") != 0) row++;
  if (softens || !row->name || mica_run_number(run, row->name) == mica__strtod(row->value, NULL)) return MICA_OK;
  return mica__fail(MICA_E_INVALID,
                    "temperature divides logits, but the task %s answers with numbers here; leave it out",
                    run->task->name);
}

static mica_status add_distances(mica_run *run, mica_nn *nn, const mica_batch_values *batch, mica_objective *out) {
  const double alpha = mica__common_settings_of(run).alpha;
  mica_objective made = {0};
  mica_value sum = {0};
  if (!out->answers[0].value.graph)
    return mica__fail(MICA_E_UNSUPPORTED, "the task %s cannot learn from a teacher", run->task->name);
  MICA_TRY(check_temperature(run, out));
  MICA_TRY(teach(run, nn, batch, out, &made));
  /* If the graph failed, its message gives the reason. */
  if (!made.answers[0].value.graph) return MICA_OK;
  for (size_t i = 0; i < MICA_OBJECTIVE_ANSWERS && out->answers[i].value.graph; i++) {
    mica_value distance = {0};
    MICA_TRY(compare(run, &out->answers[i], &made.answers[i], &distance));
    sum = i ? mica_add(sum, distance) : distance;
  }
  out->loss = mica_add(mica_affine(out->loss, 1 - alpha, 0), mica_affine(sum, alpha, 0));
  return MICA_OK;
}

void mica__distil_step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica_run *run = (mica_run *)config;
  run->task->step(nn, batch, run, out);
  if (!run->networks->teacher.run || !mica_nn_is_training(nn) || !out->loss.graph) return;
  const mica_status status = add_distances(run, nn, batch, out);
  if (status != MICA_OK) out->loss = mica__graph_fail_with(mica_nn_graph(nn), status);
}

mica_status mica__distil_load(const mica_run *run, mica_trainer *trainer) {
  if (!run->networks->teacher.run) return MICA_OK;
  if (run->networks->teacher.run->networks->model)
    return mica__imported_fill(run->networks->teacher.run->networks->model, run->engine, run->networks->teacher.nn,
                               mica_trainer_session(trainer));
  char *path = mica__run_path(run->networks->teacher.run, MODEL);
  if (!path) return mica__fail_nomem("a teacher");
  mica_status status = mica_nn_load(run->networks->teacher.nn, mica_trainer_session(trainer), path, NULL);
  free(path);
  return mica__run_damaged(run->networks->teacher.run, MODEL, status);
}
