/* Stages: a stage is the part of a lowering's graph between two cuts, run as a session. */
#include "onnx/flow/runner.h"

#include "compile/template.h"

#include <mica/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME 32
/* The maximum number of stages on a path. A small file with a loop could ask for far more. */
#define MOST_STAGES 4096

mica__flow_type mica__flow_type_of(mica_dtype dtype, mica_shape shape) {
  mica__flow_type type;
  memset(&type, 0, sizeof type);
  type.dtype = (int64_t)dtype;
  type.rank = shape.rank;
  for (int32_t i = 0; i < shape.rank; i++) type.dim[i] = shape.dim[i];
  return type;
}

mica_shape mica__flow_shape(const mica__flow_type *type) {
  mica_shape shape = {.rank = (int32_t)type->rank};
  for (int32_t i = 0; i < shape.rank; i++) shape.dim[i] = type->dim[i];
  return shape;
}

/* --- sources of values --- */

mica__flow_source mica__trace_source(const mica__trace *t, int32_t id) {
  if (id <= t->source_capacity && t->sources[id - 1].stage != -2) return t->sources[id - 1];
  if (id == t->l.step.id) return MICA__STEP_SOURCE;
  if (mica__graph_node(t->l.graph, id)->op == &mica__op_input)
    for (size_t i = 0; i < t->l.input_count; i++)
      if (t->l.input_values[i].id == id) return (mica__flow_source){-1, (int32_t)i};
  return MICA__NO_SOURCE;
}

static mica_status set_source(mica__trace *t, int32_t id, mica__flow_source source) {
  if (id > t->source_capacity) {
    int32_t capacity = 2 * id + 64;
    mica__flow_source *sources = realloc(t->sources, (size_t)capacity * sizeof *sources);
    if (!sources) return mica__fail_nomem("building a model's graph");
    for (int32_t i = t->source_capacity; i < capacity; i++) sources[i] = MICA__NO_SOURCE;
    t->sources = sources;
    t->source_capacity = capacity;
  }
  t->sources[id - 1] = source;
  return MICA_OK;
}

mica_status mica__trace_pass(mica__trace *t) {
  int32_t at = (int32_t)t->replayed;
  const mica__stage *stage = t->program->path[t->replayed++];
  for (size_t i = 0; i < stage->id_count; i++)
    MICA_TRY(set_source(t, stage->ids[i], (mica__flow_source){at, (int32_t)i}));
  for (size_t i = 0; stage->call && i < stage->call->result_count; i++)
    MICA_TRY(set_source(t, stage->result_ids[i], (mica__flow_source){at, (int32_t)(stage->id_count + i)}));
  return MICA_OK;
}

mica_status mica__trace_push(mica__trace *t, mica__stage *stage) {
  mica__flow_program *p = t->program;
  if (p->path_count == MOST_STAGES)
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "%s: the run needs more than %d stages, which is the limit; a new stage begins where the model waits for data",
        t->l.model->name, MOST_STAGES);
  if (p->path_count == p->path_capacity) {
    size_t capacity = p->path_capacity ? 2 * p->path_capacity : 8;
    mica__stage **path = realloc(p->path, capacity * sizeof *path);
    if (!path) return mica__fail_nomem("building a model's graph");
    p->path = path;
    p->path_capacity = capacity;
  }
  mica__stage *parent = p->path_count ? p->path[p->path_count - 1] : NULL;
  if (parent) {
    stage->key = malloc(parent->now_bytes + 1);
    if (!stage->key) return mica__fail_nomem("building a model's graph");
    memcpy(stage->key, parent->now, parent->now_bytes);
    stage->key_bytes = parent->now_bytes;
    stage->parent = parent;
    stage->next = parent->children;
    parent->children = stage;
  } else {
    p->root = stage;
  }
  p->path[p->path_count++] = stage;
  stage->filed = true;
  p->function->stage_count++;
  p->function->runner->kept++;
  p->function->runner->lowered++;
  return MICA_OK;
}

/* --- a stage's own graph --- */

/* The nodes of the lowering's graph that a stage computes, and the earlier values that it reads. */
typedef struct cutting {
  mica__trace *t;
  const mica_graph *from;
  mica_graph *to;
  /* Indexed by id - 1. value: the stage reads or returns this value; node: the stage computes this node, with all its
   * results; map: the value's id in `to`. */
  bool *value, *node;
  int32_t *map;
  mica_binding *bindings;
  size_t binding_count;
} cutting;

/* Returns the node that computes value `id`. For one of several results, this is the node that all these results
 * share. */
static int32_t node_of(const mica_graph *graph, int32_t id) {
  const mica__node *node = mica__graph_node(graph, id);
  return node->op == &mica__op_result ? node->inputs[0] : id;
}

static void mark(cutting *c) {
  for (int32_t id = c->from->count; id >= 1; id--) {
    if (c->value[id - 1] && mica__trace_source(c->t, id).stage == -2) c->node[node_of(c->from, id) - 1] = true;
    const mica__node *node = mica__graph_node(c->from, id);
    for (int32_t k = 0; c->node[id - 1] && k < node->input_count; k++) c->value[node->inputs[k] - 1] = true;
  }
}

static mica_status add_feed(cutting *c, mica__stage *stage, const char *name, mica__flow_source source) {
  mica_feed *feeds = realloc(stage->feeds, (stage->feed_count + 1) * sizeof *feeds);
  if (feeds) stage->feeds = feeds;
  mica__flow_source *fed = feeds ? realloc(stage->fed, (stage->feed_count + 1) * sizeof *fed) : NULL;
  if (fed) stage->fed = fed;
  char *own = fed ? malloc(strlen(name) + 1) : NULL;
  if (!own) return mica__fail_nomem("a stage");
  strcpy(own, name); /* NOLINT(clang-analyzer-security.insecureAPI.strcpy): own has its size */
  feeds[stage->feed_count] = (mica_feed){.name = own};
  fed[stage->feed_count++] = source;
  (void)c;
  return MICA_OK;
}

/* Adds an input to the stage for a value that does not come from the stage itself: an input of the program, a value of
 * an earlier stage, or the runner's step (MICA__STEP_SOURCE). */
static mica_status put_input(cutting *c, mica__stage *stage, int32_t id) {
  char name[NAME];
  mica__flow_source source = mica__trace_source(c->t, id);
  const mica__node *node = mica__graph_node(c->from, id);
  snprintf(name, sizeof name, "value #%d", (int)id);
  const char *called = source.stage == -1 ? c->t->l.inputs[source.index].name : name;
  mica_value made = mica_input(c->to, called, node->type.dtype, node->type.shape);
  if (!made.graph) return mica__fail(mica_graph_status(c->to), "%s", mica_graph_message(c->to));
  c->map[id - 1] = made.id;
  return add_feed(c, stage, called, source);
}

static mica_status put_weight(cutting *c, int32_t id) {
  const mica__lowering *l = &c->t->l;
  const mica__node *node = mica__graph_node(c->from, id);
  size_t i = 0;
  while (i < l->weight_count && l->weights[i].value.id != id) i++;
  if (i == l->weight_count) return mica__fail(MICA_E_STATE, "a parameter has no weight (an error in Mica)");
  mica_value made = mica_parameter(c->to, l->weights[i].parameter, node->type.dtype, node->type.shape);
  if (!made.graph) return mica__fail(mica_graph_status(c->to), "%s", mica_graph_message(c->to));
  c->map[id - 1] = made.id;
  c->bindings[c->binding_count].name = l->weights[i].parameter;
  return mica__runner_weight(c->t->program->function->runner, l->weights[i].tensor,
                             &c->bindings[c->binding_count++].tensor);
}

static mica_status put_nodes(cutting *c, mica__stage *stage) {
  for (int32_t id = 1; id <= c->from->count; id++) {
    const mica__node *node = mica__graph_node(c->from, id);
    if (c->node[id - 1])
      MICA_TRY(node->op == &mica__op_parameter ? put_weight(c, id)
                                               : mica__template_copy_node(c->from, id, c->map, c->to));
    if (c->value[id - 1] && mica__trace_source(c->t, id).stage != -2 && !c->node[id - 1])
      MICA_TRY(put_input(c, stage, id));
  }
  return MICA_OK;
}

static mica_status open_session(cutting *c, mica__stage *stage) {
  const mica_onnx_runner *r = c->t->program->function->runner;
  mica_value *outputs = calloc(stage->id_count + 1, sizeof *outputs);
  if (!outputs) return mica__fail_nomem("a stage");
  for (size_t i = 0; i < stage->id_count; i++) outputs[i] = (mica_value){c->to, c->map[stage->ids[i] - 1]};
  const mica_session_config config = {.no_fusion = r->config.no_fusion,
                                      .no_simplify = r->config.no_simplify,
                                      .dtype = r->config.dtype,
                                      .parameters = c->bindings,
                                      .parameter_count = c->binding_count};
  mica_status status = mica_session_create(r->engine, c->to, outputs, stage->id_count, &config, &stage->session);
  free(outputs);
  return status;
}

/* Makes the session that computes stage->ids. */
static mica_status make_session(mica__trace *t, mica__stage *stage) {
  size_t count = (size_t)t->l.graph->count + 1;
  cutting c = {.t = t,
               .from = t->l.graph,
               .value = calloc(count, sizeof *c.value),
               .node = calloc(count, sizeof *c.node),
               .map = calloc(count, sizeof *c.map),
               .bindings = calloc(t->l.weight_count + 1, sizeof *c.bindings)};
  mica_status status =
      c.value && c.node && c.map && c.bindings ? mica_graph_create(&c.to) : mica__fail_nomem("a stage");
  for (size_t i = 0; status == MICA_OK && i < stage->id_count; i++) c.value[stage->ids[i] - 1] = true;
  if (status == MICA_OK) mark(&c);
  if (status == MICA_OK) status = put_nodes(&c, stage);
  if (status == MICA_OK) status = open_session(&c, stage);
  mica_graph_destroy(c.to);
  free(c.value);
  free(c.node);
  free(c.map);
  free(c.bindings);
  return status;
}

/* --- making and destroying --- */

static void add_id(mica__stage *stage, int32_t id) {
  for (size_t i = 0; i < stage->id_count; i++)
    if (stage->ids[i] == id) return;
  stage->ids[stage->id_count++] = id;
}

mica_status mica__stage_create(mica__trace *t, const mica_value *values, size_t count, const int32_t *live,
                               size_t live_count, mica__stage **out) {
  mica__stage *stage = calloc(1, sizeof *stage);
  if (!stage) return mica__fail_nomem("a stage");
  stage->ids = calloc(count + live_count + 1, sizeof *stage->ids);
  mica_status status = stage->ids ? MICA_OK : mica__fail_nomem("a stage");
  /* The model's outputs have their own memory, so copy an input that is also an output. */
  bool copies = !live && t->program->function->is_model;
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    int32_t stands = mica__trace_source(t, values[i].id).stage;
    if (stands == -2 || (stands == -1 && copies)) add_id(stage, values[i].id);
  }
  for (size_t i = 0; status == MICA_OK && stage->id_count && i < live_count; i++) add_id(stage, live[i]);
  if (status == MICA_OK && stage->id_count) status = make_session(t, stage);
  if (status == MICA_OK)
    *out = stage;
  else
    mica__stage_destroy(t->program->function, stage);
  return status;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a model has cuts; MOST_STAGES limits them. */
void mica__stage_destroy(mica__function *function, mica__stage *stage) {
  if (!stage) return;
  for (mica__stage *child = stage->children, *next; child; child = next) {
    next = child->next;
    mica__stage_destroy(function, child);
  }
  if (stage->filed) {
    function->stage_count--;
    function->runner->kept--;
  }
  mica_session_destroy(stage->session);
  for (size_t i = 0; i < stage->feed_count; i++) free((void *)stage->feeds[i].name);
  if (stage->call) {
    stage->call->destroy(stage->call);
    free(stage->call->results);
    free(stage->call);
  }
  function->runner->bytes -= stage->bytes;
  free(stage->feeds);
  free(stage->fed);
  free(stage->ids);
  free(stage->sources);
  free(stage->types);
  free(stage->known);
  free(stage->indices);
  free(stage->result_ids);
  free(stage->now);
  free(stage->key);
  free(stage);
}

/* --- running --- */

const mica_tensor *mica__stage_tensor(const mica__flow_program *p, const mica__run *run, mica__flow_source source) {
  if (source.stage == -1) return run->inputs[source.index];
  const mica__stage *stage = p->path[source.stage];
  size_t index = (size_t)source.index;
  return index < stage->id_count ? mica_session_output(stage->session, index)
                                 : stage->call->results[index - stage->id_count];
}

/* Uploads the number of the current step, on which random numbers depend, and increments it for the next call. */
static mica_status advance(mica_onnx_runner *r, mica_queue *queue, const mica_tensor **step) {
  if (!r->step) MICA_TRY(mica_tensor_create(r->engine, MICA_I64, MICA_SCALAR, &r->step));
  *step = r->step;
  return mica_tensor_upload(queue, r->step, &(int64_t){r->steps++}, sizeof(int64_t));
}

static mica_status run_session(const mica__flow_program *p, const mica__run *run, mica__stage *stage) {
  if (!stage->session) return MICA_OK;
  for (size_t i = 0; i < stage->feed_count; i++)
    if (stage->fed[i].stage == MICA__STEP_SOURCE.stage)
      MICA_TRY(advance(p->function->runner, run->queue, &stage->feeds[i].tensor));
    else
      stage->feeds[i].tensor = mica__stage_tensor(p, run, stage->fed[i]);
  MICA_TRY(mica_session_run(stage->session, run->queue, stage->feeds, stage->feed_count));
  if (stage->bytes) return MICA_OK;
  mica_session_report report;
  MICA_TRY(mica_session_describe(stage->session, &report));
  stage->bytes = report.plan_bytes;
  p->function->runner->bytes += stage->bytes;
  return MICA_OK;
}

/* Lets the session write output i into `tensor`, or into its own memory if `tensor` is NULL. *bound tells whether the
 * session will write `tensor`. It will not if another stage, a call or an input provides the output, or if an earlier
 * output is the same value. */
static mica_status bind(const mica__stage *stage, int32_t at, size_t i, mica_tensor *tensor, bool *bound) {
  mica__flow_source source = stage->sources[i];
  *bound = false;
  if (source.stage != at || (size_t)source.index >= stage->id_count) return MICA_OK;
  for (size_t j = 0; j < i; j++)
    if (stage->sources[j].stage == at && stage->sources[j].index == source.index) return MICA_OK;
  *bound = tensor != NULL;
  return mica_session_bind_output(stage->session, (size_t)source.index, tensor);
}

static bool is_input(const mica__flow_program *p, const mica__run *run, const mica_tensor *tensor) {
  for (size_t i = 0; i < p->function->input_count; i++)
    if (run->inputs[i] == tensor) return true;
  return false;
}

/* Copies an output that is a tensor of the caller. A loop without trips, or a branch, may return an input unchanged,
 * but the memory of the model's outputs must belong to the runner. */
static mica_status copy_input(mica__flow_program *p, const mica__run *run, size_t i) {
  const mica_tensor *from = p->outputs[i];
  mica_tensor *to = p->copies[i];
  if (!to || mica_tensor_dtype(to) != mica_tensor_dtype(from) ||
      !mica_shape_equal(mica_tensor_shape(to), mica_tensor_shape(from))) {
    mica_tensor_destroy(to);
    p->copies[i] = NULL;
    MICA_TRY(mica_tensor_create(p->function->runner->engine, mica_tensor_dtype(from), mica_tensor_shape(from),
                                &p->copies[i]));
    to = p->copies[i];
  }
  if (mica_tensor_bytes(from)) MICA_TRY(mica_op_copy(run->queue, from, to));
  p->outputs[i] = to;
  return MICA_OK;
}

static mica_status run_outputs(mica__flow_program *p, mica__run *run, mica__stage *stage, int32_t at) {
  for (size_t i = 0; i < stage->source_count; i++) {
    int32_t passes = stage->sources[i].stage == -1 ? stage->sources[i].index : -1;
    p->wanted[i] = NULL;
    if (!run->want) continue;
    MICA_TRY(run->want(run->user, i, passes, &stage->types[i], &p->wanted[i]));
    MICA_TRY(bind(stage, at, i, p->wanted[i], &p->written[i]));
  }
  MICA_TRY(run_session(p, run, stage));
  for (size_t i = 0; i < stage->source_count; i++) {
    p->outputs[i] = mica__stage_tensor(p, run, stage->sources[i]);
    if (!p->wanted[i] && p->function->is_model && is_input(p, run, p->outputs[i])) MICA_TRY(copy_input(p, run, i));
    if (!p->wanted[i]) continue;
    if (!p->written[i]) MICA_TRY(mica_op_copy(run->queue, p->outputs[i], p->wanted[i]));
    p->outputs[i] = p->wanted[i];
  }
  return MICA_OK;
}

static mica_status run_value(const mica__flow_program *p, const mica__run *run, mica__stage *stage) {
  MICA_TRY(run_session(p, run, stage));
  const mica_tensor *tensor = mica__stage_tensor(p, run, stage->sources[0]);
  size_t bytes = mica_tensor_bytes(tensor);
  if (!stage->now) stage->now = malloc(bytes + 1);
  if (!stage->now) return mica__fail_nomem("a cut");
  stage->now_bytes = bytes;
  return bytes ? mica_tensor_download(run->queue, tensor, stage->now, bytes) : MICA_OK;
}

static mica_status run_call(const mica__flow_program *p, const mica__run *run, mica__stage *stage) {
  MICA_TRY(run_session(p, run, stage));
  mica__call *call = stage->call;
  const mica_tensor **operands = calloc(stage->source_count + 1, sizeof *operands);
  if (!operands) return mica__fail_nomem("a cut");
  for (size_t i = 0; i < stage->source_count; i++) operands[i] = mica__stage_tensor(p, run, stage->sources[i]);
  mica_status status = call->run(call, run->queue, operands);
  free(operands);
  MICA_TRY(status);
  stage->now_bytes = call->result_count * sizeof(mica__flow_type);
  if (!stage->now) stage->now = malloc(stage->now_bytes + 1);
  if (!stage->now) return mica__fail_nomem("a cut");
  for (size_t i = 0; i < call->result_count; i++)
    ((mica__flow_type *)stage->now)[i] =
        mica__flow_type_of(mica_tensor_dtype(call->results[i]), mica_tensor_shape(call->results[i]));
  return MICA_OK;
}

mica_status mica__stage_run(mica__flow_program *p, mica__run *run, size_t at) {
  mica__stage *stage = p->path[at];
  stage->used = ++p->function->runner->clock;
  if (stage->end == MICA__STAGE_VALUE) return run_value(p, run, stage);
  if (stage->end == MICA__STAGE_CALL) return run_call(p, run, stage);
  return run_outputs(p, run, stage, (int32_t)at);
}
