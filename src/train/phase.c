/* A phase: the step as built for training, testing or predicting, its sums, and its session. */
#include "base/text.h"
#include "nn/nn.h"
#include "nn/optim_ranks.h"
#include "ops/common/build.h"
#include "train/train.h"

#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

static char *joined(const char *first, const char *second) {
  mica__text text = {0};
  mica__text_add(&text, first);
  mica__text_add(&text, second);
  if (mica__text_status(&text) != MICA_OK) mica__text_free(&text);
  return text.data;
}

/* --- columns --- */

static mica__batch_input *find(const mica_batch_values *batch, const char *name) {
  for (size_t i = 0; name && i < batch->count; i++)
    if (!strcmp(batch->columns[i].name, name)) return &batch->columns[i];
  return NULL;
}

bool mica_batch_has(const mica_batch_values *batch, const char *name) { return batch && find(batch, name) != NULL; }

mica_value mica_batch_value(const mica_batch_values *batch, const char *name) {
  mica__text list = {0};
  if (!batch) return (mica_value){0};
  mica__batch_input *column = find(batch, name);
  if (column) {
    if (!column->value.graph) column->value = mica_input(batch->graph, column->input, column->dtype, column->shape);
    return column->value;
  }
  for (size_t i = 0; i < batch->count; i++) mica__text_addf(&list, "%s'%s'", i ? ", " : "", batch->columns[i].name);
  mica_value null = mica__graph_fail(batch->graph, MICA_E_NOT_FOUND, "batches have no column '%s'; choose from %s",
                                     name ? name : "NULL", list.data ? list.data : "none");
  mica__text_free(&list);
  return null;
}

mica_value mica_batch_samples(const mica_batch_values *batch) {
  for (size_t i = 0; batch && i < batch->count; i++) {
    mica_value value = batch->columns[i].value;
    if (value.graph && mica_value_shape(value).rank > 0)
      return mica__count_along(mica_cast(value, MICA_F32), MICA_AXES(0));
  }
  return batch ? mica__graph_fail(batch->graph, MICA_E_STATE,
                                  "mica_batch_samples: the step has read no column with a dimension of samples; call "
                                  "mica_batch_value first")
               : (mica_value){0};
}

static mica_status take_columns(mica__phase *phase, const mica_batch_column *columns, size_t count) {
  phase->batch = (mica_batch_values){.graph = phase->graph, .columns = calloc(count + 1, sizeof(mica__batch_input))};
  phase->feeds = calloc(count + 1, sizeof *phase->feeds);
  if (!phase->batch.columns || !phase->feeds) return mica__fail_nomem("a trainer");
  for (size_t i = 0; i < count; i++) {
    mica__batch_input *column = &phase->batch.columns[phase->batch.count++];
    if (!columns[i].name || !*columns[i].name)
      return mica__fail(MICA_E_INVALID, "mica_trainer_create: the name of column %zu (counted from 0) is NULL or empty",
                        i);
    *column = (mica__batch_input){.name = mica__strdup(columns[i].name), .input = joined("batch.", columns[i].name)};
    column->dtype = columns[i].dtype;
    column->shape = columns[i].shape;
    if (!column->name || !column->input) return mica__fail_nomem("a trainer");
  }
  return MICA_OK;
}

/* --- sums --- */

static size_t elements(mica_value value) {
  mica_shape shape = mica_value_shape(value);
  size_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i] > 0 ? (size_t)shape.dim[i] : 0;
  return count;
}

static mica_status wrong(const char *name, const char *what) {
  return mica__fail(MICA_E_INVALID, "the step's metric '%.64s' %s", name, what);
}

/* Checks metric k of the step. The graph must be valid. */
static mica_status check_metric(const mica_objective *made, size_t k) {
  const mica_metric *m = &made->metrics[k];
  size_t parts = 0;
  if (!*m->name || strlen(m->name) >= MICA_METRIC_NAME) return wrong(m->name, "must have a name of 1 to 31 bytes");
  for (size_t j = 0; j < k; j++)
    if (!strcmp(made->metrics[j].name, m->name)) return wrong(m->name, "is made twice");
  if (!m->sum.graph || mica_value_dtype(m->sum) != MICA_F32 || !elements(m->sum))
    return wrong(m->name, "must have an f32 sum whose dimensions are known and not 0");
  if (!m->weight.graph) return MICA_OK;
  while (m->parts && m->parts[parts]) parts++;
  if (mica_value_dtype(m->weight) != MICA_F32 ||
      !mica_shape_equal(mica_value_shape(m->sum), mica_value_shape(m->weight)))
    return wrong(m->name, "must have a weight of the shape and type of its sum");
  if (mica_value_shape(m->sum).rank != (m->parts ? 1 : 0) || (m->parts && elements(m->sum) != parts))
    return wrong(m->name, "must be a scalar, or name each of its elements");
  return MICA_OK;
}

static mica_status copy_parts(mica__metric_slot *slot, const char *const *parts) {
  slot->parts = calloc(slot->count + 1, sizeof *slot->parts);
  if (!slot->parts) return mica__fail_nomem("a trainer");
  for (size_t i = 0; i < slot->count; i++)
    if (!(slot->parts[i] = mica__strdup(parts[i]))) return mica__fail_nomem("a trainer");
  return MICA_OK;
}

static mica_status make_slots(mica__phase *phase, const mica_objective *made, bool test) {
  phase->sum_count = MICA__SUM_FIRST;
  for (size_t k = 0; k < MICA_OBJECTIVE_METRICS && made->metrics[k].name; k++) {
    const mica_metric *m = &made->metrics[k];
    MICA_TRY(check_metric(made, k));
    if (!m->weight.graph && !test) continue;
    mica__metric_slot *slot = &phase->slots[phase->slot_count++];
    *slot = (mica__metric_slot){.name = mica__strdup(m->name), .count = elements(m->sum)};
    slot->weighted = m->weight.graph != NULL;
    slot->totals = calloc(slot->count, sizeof *slot->totals);
    slot->parameter = joined("sum.", m->name);
    if (!slot->name || !slot->totals || !slot->parameter) return mica__fail_nomem("a trainer");
    if (!slot->weighted) continue;
    slot->at = phase->sum_count;
    phase->sum_count += 2 * slot->count;
    if (m->parts) MICA_TRY(copy_parts(slot, m->parts));
  }
  return MICA_OK;
}

static mica_value as_f32(mica_value x) { return mica_value_dtype(x) == MICA_F32 ? x : mica_cast(x, MICA_F32); }

static mica_value weight_of(const mica__phase *phase, const mica_objective *made) {
  return made->weight.graph ? made->weight : mica_batch_samples(&phase->batch);
}

static double least_of(const mica_objective *made) { return made->weight.graph ? made->least : 0; }

/* Returns the row of this run's sums. The row begins with the loss times its weight, and the weight. The sums and
 * weights of each metric are at its slot. If `next` is not null, it is added to the row.
 *
 * A scalar gets its place by a comparison with the index, which needs no kernel of its own. A vector is padded to the
 * length of the row. Sums without a weight are not in the row, but are added to parameters of their own. */
static mica_value add_up(mica__phase *phase, const mica_objective *made, mica_value next) {
  mica_graph *graph = phase->graph;
  mica_value loss = as_f32(made->loss), weight = mica__ranks_counted(weight_of(phase, made), least_of(made));
  mica_value index = mica_range(graph, MICA_F32, (int64_t)phase->sum_count), zero = mica_scalar(graph, MICA_F32, 0);
  const mica_value first[MICA__SUM_FIRST] = {mica_mul(loss, weight), weight};
  for (int i = 0; i < MICA__SUM_FIRST; i++) {
    mica_value own = mica_where(mica_equal(index, mica_scalar(graph, MICA_F32, i)), first[i], zero);
    next = next.graph ? mica_add(next, own) : own;
  }
  size_t s = 0;
  for (size_t k = 0; k < MICA_OBJECTIVE_METRICS && made->metrics[k].name; k++) {
    const mica_metric *m = &made->metrics[k];
    const mica__metric_slot *slot = &phase->slots[s];
    if (s == phase->slot_count || strcmp(slot->name, m->name) != 0) continue;
    s++;
    if (!slot->weighted) {
      mica_value counts = mica_parameter(graph, slot->parameter, MICA_F32, mica_value_shape(m->sum));
      mica_assign(counts, mica_add(counts, m->sum));
      continue;
    }
    const mica_value pair[2] = {m->sum, m->weight};
    for (size_t half = 0; half < 2; half++) {
      const int64_t at = (int64_t)(slot->at + half * slot->count), n = (int64_t)slot->count;
      if (slot->parts)
        next = mica_add(next, mica__pad_axis(pair[half], 0, at, (int64_t)phase->sum_count - at - n, 0));
      else
        next =
            mica_add(next, mica_where(mica_equal(index, mica_scalar(graph, MICA_F32, (double)at)), pair[half], zero));
    }
  }
  return next;
}

/* Outputs the run's sums: in training as a row; in tests by adding them to "metrics". */
static void put_out(mica__phase *phase, const mica_objective *made, bool training, mica_value *outputs) {
  if (training) {
    outputs[phase->output_count++] = add_up(phase, made, (mica_value){0});
    return;
  }
  mica_value total = mica_parameter(phase->graph, "metrics", MICA_F32, MICA_SHAPE((int64_t)phase->sum_count));
  mica_assign(total, add_up(phase, made, total));
}

/* --- phases --- */

static mica_status take_outputs(mica__phase *phase, const mica_objective *made, mica_value *outputs) {
  for (size_t i = 0; i < MICA_OBJECTIVE_OUTPUTS && made->output_names[i]; i++) {
    if (!made->outputs[i].graph)
      return mica__fail(MICA_E_INVALID, "the step's output '%.64s' is null", made->output_names[i]);
    phase->output_values[phase->output_count] = outputs[phase->output_count] = made->outputs[i];
    if (!(phase->outputs[phase->output_count++] = mica__strdup(made->output_names[i])))
      return mica__fail_nomem("a trainer");
  }
  return MICA_OK;
}

/* In training with mica_trainer_config.bind, appends the memory of weights that the caller holds to the bindings in
 * config. *all is the new array, which the caller frees; NULL in other phases or without bind. */
static mica_status add_held(const mica_trainer *t, const mica__phase *phase, mica_session_config *config,
                            mica_binding **all) {
  const mica_binding *held = NULL;
  size_t count = 0;
  *all = NULL;
  if (!t->config.bind || phase != &t->training) return MICA_OK;
  MICA_TRY(t->config.bind(t->config.bind_user, phase->nn, &held, &count));
  *all = malloc((config->parameter_count + count + 1) * sizeof **all);
  if (!*all) return mica__fail_nomem("a session");
  for (size_t i = 0; i < config->parameter_count; i++) (*all)[i] = config->parameters[i];
  for (size_t i = 0; i < count; i++) (*all)[config->parameter_count + i] = held[i];
  config->parameters = *all;
  config->parameter_count += count;
  return MICA_OK;
}

static mica_status make_session(mica_trainer *t, mica__phase *phase, const mica_value *outputs, size_t count) {
  /* All phases share the weights, but each phase that tests has its own sums. */
  const bool adds_up = phase->sum_count && phase != &t->training;
  mica_binding own[1 + MICA_OBJECTIVE_METRICS] = {{"metrics", NULL}};
  /* With a hook, the test network may have other weights than the training network. */
  const bool apart = mica__ranks_apart(t) && phase != &t->training;
  const bool tested = t->testing.session && (phase->observer || t->config.hook || apart);
  mica_session_config config = {.share = tested  ? t->testing.session
                                         : apart ? NULL
                                                 : t->training.session,
                                .parameters = own,
                                .parameter_count = 0};
  if (adds_up) config.parameter_count = 1;
  for (size_t s = 0; s < phase->slot_count; s++)
    if (!phase->slots[s].weighted) own[config.parameter_count++] = (mica_binding){phase->slots[s].parameter, NULL};
  mica_binding *all = NULL;
  MICA_TRY(add_held(t, phase, &config, &all));
  const mica_status status = mica_session_create(t->engine, phase->graph, outputs, count, &config, &phase->session);
  free(all);
  if (status != MICA_OK) return status;
  phase->metrics = adds_up ? mica_session_parameter(phase->session, "metrics") : NULL;
  for (size_t s = 0; s < phase->slot_count; s++)
    if (!phase->slots[s].weighted)
      phase->slots[s].tensor = mica_session_parameter(phase->session, phase->slots[s].parameter);
  return MICA_OK;
}

static mica_status graph_status(const mica_graph *graph) {
  mica_status status = mica_graph_status(graph);
  return status == MICA_OK ? MICA_OK : mica__fail(status, "%s", mica_graph_message(graph));
}

static mica_status fail_freeze(const mica_nn *nn, const char *pattern) {
  mica__text names = {0};
  mica__nn_list_weights(nn, &names);
  const mica_status status = mica__fail(MICA_E_NOT_FOUND, "freeze: no weight matches \"%s\"; the weights are %s",
                                        pattern, names.data ? names.data : "none");
  mica__text_free(&names);
  return status;
}

static bool has_trained_weights(const mica_nn *nn) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (info->role == MICA_NN_ROLE_WEIGHT && !info->frozen) return true;
  }
  return false;
}

/* Builds the graph, the network and the sums. draws: the number that the first dropout gets; outputs: has room for the
 * outputs of an objective. */
static mica_status build_graph(const mica_trainer *t, const mica_trainer_config *c, uint64_t draws, mica__phase *phase,
                               mica__phase_kind kind, const mica_batch_column *columns, size_t count,
                               mica_objective *made, mica_value *outputs) {
  const mica_observer *o = phase->observer;
  mica_nn_config how = {.training = kind == MICA__PHASE_TRAIN,
                        .dtype = c->dtype,
                        .allow_tf32 = c->allow_tf32,
                        .seed = c->seed,
                        .like = c->like,
                        .hold = c->hold,
                        .hold_user = c->hold_user,
                        .hook = o ? o->hook : c->hook,
                        .hook_user = o ? o->user : c->hook_user,
                        .norm_ranks = kind == MICA__PHASE_TRAIN && c->sync_norm ? c->communicator : NULL,
                        .loss_ranks = kind == MICA__PHASE_TRAIN && !mica__ranks_apart(t) ? c->communicator : NULL,
                        .tensor_ranks = kind == MICA__PHASE_TRAIN ? t->tensor : NULL};
  MICA_TRY(mica_graph_create(&phase->graph));
  MICA_TRY(mica_nn_create(phase->graph, &how, &phase->nn));
  phase->nn->draws = draws;
  MICA_TRY(take_columns(phase, columns, count));
  c->step(phase->nn, &phase->batch, c->step_config, made);
  MICA_TRY(graph_status(phase->graph));
  if (kind != MICA__PHASE_PREDICT) {
    char shape[MICA_SHAPE_TEXT];
    if (!made->loss.graph) return mica__fail(MICA_E_INVALID, "the step has not set the loss of its objective");
    if (mica_value_shape(made->loss).rank != 0)
      return mica__fail(MICA_E_INVALID, "the step's loss has the shape %s, but must be a scalar",
                        mica_shape_format(mica_value_shape(made->loss), shape));
    MICA_TRY(make_slots(phase, made, kind == MICA__PHASE_TEST));
    put_out(phase, made, kind == MICA__PHASE_TRAIN, outputs);
  }
  if (kind == MICA__PHASE_TRAIN) {
    size_t frozen = 1;
    if (c->freeze) MICA_TRY(mica_nn_freeze(phase->nn, c->freeze, true, &frozen));
    if (frozen == 0) return fail_freeze(phase->nn, c->freeze);
    if (c->freeze && !has_trained_weights(phase->nn))
      return mica__fail(MICA_E_STATE,
                        "freeze: \"%s\" matches every weight that is not frozen already, so none is left to train",
                        c->freeze);
    if (c->stages.count > 1) {
      phase->loss = made->loss;
      phase->weight = weight_of(phase, made);
      phase->least = least_of(made);
      phase->row = outputs[0];
      return graph_status(phase->graph);
    }
    mica_optimizer_config optimizer = c->optimizer;
    optimizer.communicator = mica__ranks_replicas(t);
    optimizer.shard = optimizer.shard && optimizer.communicator;
    optimizer.joined = c->sync_norm || (made->joined && how.loss_ranks);
    if (optimizer.communicator) {
      optimizer.weight = weight_of(phase, made);
      optimizer.least = least_of(made);
    }
    mica_optimize(phase->nn, made->loss, &optimizer, NULL);
  } else {
    MICA_TRY(take_outputs(phase, made, outputs));
  }
  return graph_status(phase->graph);
}

mica_status mica__phase_build(mica_trainer *t, mica__phase *phase, mica__phase_kind kind,
                              const mica_batch_column *columns, size_t count) {
  mica_value own[MICA_OBJECTIVE_OUTPUTS], *outputs = own;
  const mica_observer *o = phase->observer;
  const mica_value *values = NULL;
  size_t more = 0;
  /* Each replica has its own samples, so dropout drops other elements in each. */
  const int32_t stages = t->config.stages.count > 1 ? t->config.stages.count : 1;
  const uint64_t draws = (uint64_t)(mica__ranks_own(t) / (stages * mica__ranks_parts(t))) << 32;
  mica_objective made = {0};
  MICA_TRY(build_graph(t, &t->config, draws, phase, kind, columns, count, &made, own));
  if (kind == MICA__PHASE_TRAIN && stages > 1) return MICA_OK;
  if (!o) return make_session(t, phase, outputs, phase->output_count);
  MICA_TRY(o->values(o->user, &values, &more));
  MICA_TRY(graph_status(phase->graph));
  outputs = malloc((phase->output_count + more) * sizeof *outputs);
  if (!outputs) return mica__fail_nomem("a trainer");
  memcpy(outputs, own, phase->output_count * sizeof *outputs);
  if (more) memcpy(outputs + phase->output_count, values, more * sizeof *outputs);
  mica_status status = make_session(t, phase, outputs, phase->output_count + more);
  free(outputs);
  return status;
}

mica_status mica__train_outline(const mica_trainer_config *c, const mica_observer *o) {
  mica__phase phase = {.observer = o};
  mica_value outputs[MICA_OBJECTIVE_OUTPUTS];
  mica_objective made = {0};
  const mica_value *values = NULL;
  size_t more = 0;
  const bool apart = c->test_columns != NULL;
  mica_status status = build_graph(NULL, c, 0, &phase, MICA__PHASE_TEST, apart ? c->test_columns : c->columns,
                                   apart ? c->test_column_count : c->column_count, &made, outputs);
  if (status == MICA_OK) status = o->values(o->user, &values, &more);
  mica__phase_free(&phase);
  return status;
}

void mica__phase_free(mica__phase *phase) {
  mica_session_destroy(phase->session);
  mica_nn_destroy(phase->nn);
  mica_graph_destroy(phase->graph);
  for (size_t i = 0; i < phase->batch.count; i++) {
    free(phase->batch.columns[i].name);
    free(phase->batch.columns[i].input);
  }
  free(phase->batch.columns);
  free(phase->feeds);
  for (size_t s = 0; s < phase->slot_count; s++) {
    mica__metric_slot *slot = &phase->slots[s];
    for (size_t i = 0; slot->parts && i < slot->count; i++) free(slot->parts[i]);
    free(slot->parts);
    free(slot->name);
    free(slot->parameter);
    free(slot->totals);
  }
  for (size_t i = 0; i < phase->output_count; i++) free(phase->outputs[i]);
  *phase = (mica__phase){0};
}

mica_status mica__phase_run(mica_trainer *t, mica__phase *phase, const mica_batch *batch, const mica_tensor *rate) {
  size_t count = 0;
  for (size_t i = 0; i < phase->batch.count; i++) {
    const mica__batch_input *column = &phase->batch.columns[i];
    const mica_tensor *tensor = NULL;
    if (!column->value.graph) continue;
    for (size_t k = 0; k < batch->tensor_count && !tensor; k++)
      if (!strcmp(batch->tensors[k].name, column->name)) tensor = batch->tensors[k].tensor;
    if (!tensor) return mica__fail(MICA_E_INVALID, "the batch has no column '%s'", column->name);
    phase->feeds[count++] = (mica_feed){column->input, tensor};
  }
  if (rate) phase->feeds[count++] = (mica_feed){MICA_LEARNING_RATE, rate};
  return mica_session_run(phase->session, t->queue, phase->feeds, count);
}
