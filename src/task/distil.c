/* Distillation: a teacher's pass is part of the training step, in inference form and without a gradient. Its weights
 * are parameters "teacher.NAME" of the session, which neither the optimiser nor a file of the run's network has. */
#include "task/distil.h"

#include "ir/graph.h"
#include "task/run.h"
#include "train/train.h"

#include <math.h>
#include <mica/nodes.h>
#include <mica/onnx.h>
#include <mica/safetensors.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "teacher."
#define MODEL "model.safetensors"

/* --- what a teacher must have in common with the run --- */

static mica_status check_classes(const mica_run *run) {
  const mica_run *teacher = run->teacher.run;
  size_t count = 0, wanted = 0;
  const char *const *is = mica_run_fact(teacher, "classes", &count), *const *want =
                                                                         mica_run_fact(run, "classes", &wanted);
  if (count != wanted)
    return mica__fail(MICA_E_FORMAT, "the teacher in %s knows %zu classes, %s has %zu", teacher->folder, count,
                      run->data, wanted);
  for (size_t i = 0; i < count; i++)
    if (strcmp(is[i], want[i]) != 0)
      return mica__fail(MICA_E_FORMAT, "the teacher in %s has '%s' as class %zu, %s '%s'", teacher->folder, is[i], i,
                        run->data, want[i]);
  return MICA_OK;
}

static mica_status check_sizes(const mica_run *run) {
  static const char *const facts[] = {"input", "vocabulary", "several"};
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    size_t count = 0, wanted = 0;
    const double *is = mica_run_fact_numbers(run->teacher.run, facts[i], &count);
    const double *want = mica_run_fact_numbers(run, facts[i], &wanted);
    if (count != wanted)
      return mica__fail(MICA_E_FORMAT, "the teacher in %s has %zu numbers as its \"%s\", the data have %zu",
                        run->teacher.run->folder, count, facts[i], wanted);
    for (size_t k = 0; k < count; k++)
      if (is[k] != want[k])
        return mica__fail(MICA_E_FORMAT, "the teacher in %s was trained on \"%s\" %g, the data have %g",
                          run->teacher.run->folder, facts[i], is[k], want[k]);
  }
  return MICA_OK;
}

/* Ids of another tokenizer mean other words, and a teacher has no positions behind those that it read. */
static mica_status check_tokens(const mica_run *run) {
  static const char *const reach[] = {"length", "context"};
  size_t count = 0, wanted = 0;
  const char *const *is = mica_run_fact(run->teacher.run, "tokenizer", &count);
  const char *const *want = mica_run_fact(run, "tokenizer", &wanted);
  if (count == 2 && wanted == 2 && strcmp(is[1], want[1]) != 0)
    return mica__fail(MICA_E_FORMAT,
                      "the teacher in %s reads other tokens: train with its tokenizer.json as the setting tokenizer",
                      run->teacher.run->folder);
  for (size_t i = 0; mica__run_find_fact(run, "vocabulary") && i < sizeof reach / sizeof *reach; i++) {
    const double own = mica_run_number(run, reach[i]), others = mica_run_number(run->teacher.run, reach[i]);
    if (own > others)
      return mica__fail(MICA_E_FORMAT, "the teacher in %s was trained with %s %g, the run would take %g tokens",
                        run->teacher.run->folder, reach[i], others, own);
  }
  return MICA_OK;
}

/* A model of elsewhere: its shapes alone are to be compared, when it is built. */
static bool is_foreign(const mica_run *teacher) { return teacher->model && !teacher->task; }

/* One input of f32, as the samples are. */
static mica_status check_model(const mica_run *run) {
  const mica_run *teacher = run->teacher.run;
  const mica_onnx_port port = mica_onnx_input(teacher->model, 0);
  if (!mica__run_find_fact(run, "input") || mica__run_categories(run))
    return mica__fail(MICA_E_UNSUPPORTED, "a teacher in ONNX takes pictures or numbers; the task %s has others here",
                      run->task->name);
  if (mica_onnx_input_count(teacher->model) != 1 || !port.has_dtype || port.dtype != MICA_F32)
    return mica__fail(MICA_E_UNSUPPORTED, "the teacher %s has not one input, of f32", teacher->folder);
  size_t rank = 0;
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  const double *input = mica_run_fact_numbers(run, "input", &rank);
  mica_shape sample = {.rank = (int32_t)rank + 1, .dim = {MICA_DYNAMIC}};
  bool fits = !port.has_shape || port.shape.rank == sample.rank;
  for (size_t k = 0; k < rank && k + 1 < MICA_MAX_RANK; k++) {
    const int64_t own = port.shape.dim[k + 1];
    sample.dim[k + 1] = (int64_t)input[k];
    fits = fits && (!port.has_shape || own == MICA_DYNAMIC || own == sample.dim[k + 1]);
  }
  if (fits) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the teacher %s takes %s, the samples are %s", teacher->folder,
                    mica_shape_format(port.shape, is), mica_shape_format(sample, want));
}

static mica_status check(const mica_run *run) {
  const mica_run *teacher = run->teacher.run;
  if (is_foreign(teacher)) return check_model(run);
  if (teacher->task != run->task)
    return mica__fail(MICA_E_FORMAT, "the teacher in %s learned the task %s, the run %s", teacher->folder,
                      teacher->task->name, run->task->name);
  if (mica__run_is_quantized(teacher))
    return mica__fail(MICA_E_UNSUPPORTED, "the teacher in %s is quantised; the run that it was made of can teach",
                      teacher->folder);
  MICA_TRY(check_classes(run));
  MICA_TRY(check_sizes(run));
  if (teacher->model) MICA_TRY(check_model(run));
  MICA_TRY(check_tokens(run));
  if (!strcmp(mica__run_fact_text(teacher, "input_column"), mica__run_fact_text(run, "input_column"))) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "the teacher in %s takes the column '%s', the run '%s'", teacher->folder,
                    mica__run_fact_text(teacher, "input_column"), mica__run_fact_text(run, "input_column"));
}

mica_status mica__distil_begin(mica_run *run) {
  MICA_TRY(check(run));
  if (run->teacher.run->model) return MICA_OK;
  char *path = mica__run_path(run->teacher.run, MODEL);
  if (!path) return mica__fail_nomem("a teacher");
  mica_status status = mica_safetensors_open(path, &run->teacher.weights);
  free(path);
  return status;
}

void mica__distil_close(mica_run *run) {
  mica_nn_destroy(run->teacher.nn);
  mica_safetensors_close(run->teacher.weights);
  run->teacher.nn = NULL;
  run->teacher.weights = NULL;
}

/* --- the step --- */

/* A constant (1, C, 1, ...) of one number a channel of x. */
static mica_value channels(mica_value x, const double *numbers, size_t count) {
  const mica_shape shape = mica_value_shape(x);
  mica_shape flat = {.rank = shape.rank};
  float *copy = malloc((count + 1) * sizeof *copy);
  for (int32_t i = 0; i < shape.rank; i++) flat.dim[i] = i == 1 ? (int64_t)count : 1;
  for (size_t i = 0; copy && i < count; i++) copy[i] = (float)numbers[i];
  mica_value value = copy ? mica_constant(x.graph, MICA_F32, flat, copy) : (mica_value){0};
  free(copy);
  return value;
}

/* Inputs as the teacher's loader would have scaled them: (x d + m - n) / e with the run's mean m and deviation d and
 * the teacher's n and e. */
static mica_value rescale(const mica_run *run, mica_value x) {
  size_t count = 0, others = 0;
  const double *m = mica_run_fact_numbers(run, "mean", &count), *d = mica_run_fact_numbers(run, "deviation", NULL);
  const double *n = mica_run_fact_numbers(run->teacher.run, "mean", &others);
  const double *e = mica_run_fact_numbers(run->teacher.run, "deviation", NULL);
  const mica_shape shape = mica_value_shape(x);
  bool same = !m || !d || !n || !e || count != others || shape.rank < 2 || shape.dim[1] != (int64_t)count;
  if (!same) same = !memcmp(m, n, count * sizeof *m) && !memcmp(d, e, count * sizeof *d);
  double *numbers = same ? NULL : malloc((2 * count + 1) * sizeof *numbers);
  if (!numbers) return x;
  for (size_t i = 0; i < count; i++) {
    numbers[i] = d[i] / e[i];
    numbers[count + i] = (m[i] - n[i]) / e[i];
  }
  x = mica_add(mica_mul(x, channels(x, numbers, count)), channels(x, numbers + count, count));
  free(numbers);
  return x;
}

/* The batch without answers, so that the teacher's step does as if it predicted. */
static mica_status blindfold(const mica_run *run, const mica_batch_values *batch, mica_batch_values *blind) {
  static const char *const facts[] = {"label_column", "boxes_column"};
  *blind = (mica_batch_values){.graph = batch->graph, .columns = calloc(batch->count + 1, sizeof *blind->columns)};
  if (!blind->columns) return mica__fail_nomem("a teacher");
  for (size_t i = 0; i < batch->count; i++) {
    mica__column column = batch->columns[i];
    bool answer = false;
    for (size_t k = 0; k < 2; k++) answer = answer || !strcmp(column.name, mica__run_fact_text(run, facts[k]));
    if (answer) continue;
    if (!strcmp(column.name, mica__run_fact_text(run, "input_column")) && column.value.graph)
      column.value = rescale(run, column.value);
    blind->columns[blind->count++] = column;
  }
  return MICA_OK;
}

/* Columns that the teacher alone asked for are inputs of the graph as well. */
static void note_inputs(const mica_batch_values *batch, const mica_batch_values *blind) {
  for (size_t i = 0; i < batch->count; i++)
    for (size_t k = 0; k < blind->count; k++)
      if (!batch->columns[i].value.graph && batch->columns[i].name == blind->columns[k].name)
        batch->columns[i].value = blind->columns[k].value;
}

static mica_status answer(mica_run *run, mica_nn *nn, const mica_batch_values *batch, mica_value *logits) {
  mica__teacher *teacher = &run->teacher;
  mica_objective made = {0};
  mica_batch_values blind;
  const mica_nn_config config = {.dtype = run->training.dtype, .name_prefix = PREFIX, .like = teacher->weights};
  mica_nn_destroy(teacher->nn);
  teacher->nn = NULL;
  MICA_TRY(mica_nn_create(mica_nn_graph(nn), &config, &teacher->nn));
  mica_status status = blindfold(run, batch, &blind);
  if (status == MICA_OK && teacher->run->model) {
    mica_value x = mica_batch_value(&blind, mica__run_fact_text(run, "input_column"));
    if (x.graph && mica_value_dtype(x) != MICA_F32) x = mica_cast(x, MICA_F32);
    note_inputs(batch, &blind);
    *logits = x.graph ? mica_stop_gradient(mica__imported_answer(teacher->run->model, teacher->nn, x)) : x;
  } else if (status == MICA_OK) {
    run->task->step(teacher->nn, &blind, teacher->run, &made);
    note_inputs(batch, &blind);
    *logits = mica_stop_gradient(made.logits);
  }
  free(blind.columns);
  return status;
}

static mica_value fail(mica_nn *nn, mica_status status) { return mica__graph_fail_with(mica_nn_graph(nn), status); }

void mica__distil_step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica_run *run = (mica_run *)config;
  const double alpha = mica_run_number(run, "alpha"), temperature = mica_run_number(run, "temperature");
  mica_value taught = {0};
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  run->task->step(nn, batch, run, out);
  if (!run->teacher.run || !mica_nn_is_training(nn) || !out->loss.graph || !out->logits.graph) return;
  mica_status status = answer(run, nn, batch, &taught);
  if (status == MICA_OK && !taught.graph) return;
  const mica_shape shape = mica_value_shape(out->logits), other = mica_value_shape(taught);
  if (status == MICA_OK && !mica_shape_equal(shape, other))
    status = mica__fail(MICA_E_FORMAT, "the teacher in %s answers by %s numbers, the network by %s",
                        run->teacher.run->folder, mica_shape_format(other, is), mica_shape_format(shape, want));
  if (status != MICA_OK) {
    out->loss = fail(nn, status);
    return;
  }
  mica_value distance = run->task->distance(run, out->logits, taught, temperature);
  out->loss = mica_add(mica_affine(out->loss, 1 - alpha, 0), mica_affine(distance, alpha, 0));
}

mica_status mica__distil_load(const mica_run *run, mica_trainer *trainer) {
  if (!run->teacher.run) return MICA_OK;
  if (run->teacher.run->model)
    return mica__imported_fill(run->teacher.run->model, run->engine, run->teacher.nn, mica_trainer_session(trainer));
  char *path = mica__run_path(run->teacher.run, MODEL);
  if (!path) return mica__fail_nomem("a teacher");
  mica_status status = mica_nn_load(run->teacher.nn, mica_trainer_session(trainer), path, NULL);
  free(path);
  return status == MICA_E_FORMAT ? mica__run_damaged(run->teacher.run, MODEL) : status;
}

/* --- distances --- */

mica_value mica__distance_of_classes(const mica_run *run, mica_value student, mica_value teacher, double temperature) {
  (void)run;
  mica_value log_q = mica_log_softmax(mica_affine(student, 1 / temperature, 0), 1);
  mica_value p = mica_softmax(mica_affine(teacher, 1 / temperature, 0), 1);
  mica_value each = mica_sum(mica_kl_divergence(log_q, p, MICA_LOSS_REDUCTION_NONE), MICA_AXES(1), false);
  return mica_affine(mica_mean(each, MICA_ALL_AXES, false), temperature * temperature, 0);
}

mica_value mica__distance_of_labels(const mica_run *run, mica_value student, mica_value teacher, double temperature) {
  (void)run;
  mica_value p = mica_sigmoid(mica_affine(teacher, 1 / temperature, 0));
  mica_value loss = mica_bce_with_logits(mica_affine(student, 1 / temperature, 0), p, 1, MICA_LOSS_REDUCTION_MEAN);
  return mica_affine(loss, temperature * temperature, 0);
}

mica_value mica__distance_of_numbers(const mica_run *run, mica_value student, mica_value teacher, double temperature) {
  (void)temperature;
  /* Each network answers in deviations of what it was trained on. */
  const double m = mica__run_fact_number(run, "target_mean", 0), d = mica__run_fact_number(run, "target_deviation", 1);
  const mica_run *other = run->teacher.run;
  /* A model of elsewhere answers in the targets' own units. */
  const double n = mica__run_fact_number(other, "target_mean", is_foreign(other) ? 0 : m),
               e = mica__run_fact_number(other, "target_deviation", is_foreign(other) ? 1 : d);
  return mica_mse(student, mica_affine(teacher, e / d, (n - m) / d), MICA_LOSS_REDUCTION_MEAN);
}
