#include "compile/recorder.h"
#include "compile/without.h"

#include "runtime/buffer.h"
#include "runtime/build_ahead.h"
#include "runtime/host_step.h"
#include "runtime/kernel_bundle.h"
#include "runtime/loans.h"
#include "runtime/recording.h"
#include "runtime/tensor.h"

#include <mica/ops.h>
#include <stdlib.h>
#include <string.h>

/* Finds the plan's node of every input and parameter of the session, by name. */
static mica_status match_names(mica_session *session, mica__plan *v) {
  const mica_graph *graph = v->template.graph;
  v->parameters = calloc((size_t)graph->count + 1, sizeof *v->parameters);
  if (!v->parameters) return mica__fail_nomem("a session");
  for (int32_t id = 1; id <= graph->count; id++) {
    const mica__node *node = mica__graph_node(graph, id);
    bool fed = node->op == &mica__op_input && v->memory.locations[id - 1].home == MICA__HOME_INPUT;
    int32_t input = fed ? mica__name_table_find(&session->input_names, node->name) : -1;
    v->parameters[id - 1] =
        node->op == &mica__op_parameter ? mica__name_table_find(&session->parameter_names, node->name) : -1;
    if (input >= 0) v->inputs[input].node = id;
  }
  return MICA_OK;
}

/* Plans the steps of the plan's template, their order and their memory. */
static mica_status plan_steps(mica_session *session, mica__plan *v) {
  const mica__slabs slabs = mica__slabs_of(session->engine);
  const bool fusion = !session->config.no_fusion;
  mica__composites composites = {0};
  if (fusion) MICA_TRY(mica__composites_find(&v->template, &slabs, &composites));
  mica_status status = mica__partition_make(&v->template, fusion, fusion ? &composites : NULL, &v->partition);
  if (status == MICA_OK) status = mica__partition_schedule(&v->template, &v->partition, v->deferred);
  if (status == MICA_OK)
    status = mica__memory_plan(&v->template, &v->partition, v->deferred, session->engine, &v->memory);
  mica__composites_free(&composites);
  v->partition.composites = NULL;
  return status;
}

static mica_status plan_memory(mica_session *session, mica__plan *v) {
  size_t source_nodes = (size_t)session->template.graph->count + 1;
  mica_shape *by_node = calloc(source_nodes, sizeof *by_node);
  if (!by_node) return mica__fail_nomem("a session");
  for (int32_t i = 0; i < session->input_count; i++) by_node[session->inputs[i].node - 1] = v->shapes[i];
  mica_status status =
      mica__template_specialise(&session->template, by_node, !session->config.no_simplify, &v->template);
  free(by_node);
  MICA_TRY(status);
  v->deferred = calloc((size_t)v->template.assignment_count + 1, sizeof *v->deferred);
  if (!v->deferred) return mica__fail_nomem("a session");
  if (!session->config.no_fusion && !mica__is_without(MICA__WITHOUT_EPILOGUES)) {
    MICA_TRY(mica__template_fuse_epilogues(&v->template));
    const bool rewriting = !session->config.no_simplify && !mica__is_without(MICA__WITHOUT_REWRITE);
    if (rewriting) MICA_TRY(mica__template_rewrite(&v->template, session->engine));
    if (!mica__is_without(MICA__WITHOUT_CHANNELS_LAST))
      MICA_TRY(mica__template_choose_layouts(&v->template, session->engine));
  }
  MICA_TRY(plan_steps(session, v));
  return match_names(session, v);
}

mica_status mica__plan_create(mica_session *session, const mica_shape *shapes, mica__plan **out) {
  size_t inputs = (size_t)session->input_count + 1;
  mica__plan *v = calloc(1, sizeof *v);
  if (!v) return mica__fail_nomem("a session");
  v->shapes = calloc(inputs, sizeof *v->shapes);
  v->inputs = calloc(inputs, sizeof *v->inputs);
  mica_status status = v->shapes && v->inputs ? MICA_OK : mica__fail_nomem("a session");
  if (status == MICA_OK) {
    memcpy(v->shapes, shapes, (size_t)session->input_count * sizeof *shapes);
    status = plan_memory(session, v);
  }
  if (status == MICA_OK)
    *out = v;
  else
    mica__plan_destroy(session, v);
  return status;
}

/* --- recording --- */

#define NEVER UINT64_MAX /* a count of changes that never occurs */

typedef mica__recorder recorder;

/* Makes a tensor for the result of an invariant step. Its buffer is a placeholder until the step's launches are known
 * (recorder.h). */
static mica_status wrap_derived(recorder *r, int32_t id, mica_tensor **out) {
  const mica__node *node = mica__graph_node(r->v->template.graph, id);
  mica_buffer **placeholder = &r->derived[id - 1];
  if (!*placeholder) MICA_TRY(mica__placeholder_create(r->session->engine, mica__node_bytes(node), placeholder));
  return mica_tensor_wrap(*placeholder, 0, node->type.dtype, node->type.shape, out);
}

static mica_status wrap(recorder *r, int32_t id, mica_tensor **out) {
  const mica__node *node = mica__graph_node(r->v->template.graph, id);
  const mica__memory *memory = &r->v->memory;
  const mica__location *location = &memory->locations[id - 1];
  mica_buffer *buffer = NULL;
  size_t at = 0;
  switch (location->home) {
  case MICA__HOME_ARENA: buffer = mica__slabs_at(&memory->arena, r->v->arena, location->offset, &at); break;
  case MICA__HOME_CONSTANT: buffer = mica__slabs_at(&memory->constants, r->v->constants, location->offset, &at); break;
  case MICA__HOME_DERIVED: return wrap_derived(r, id, out);
  case MICA__HOME_OUTPUT:
    return mica_tensor_wrap(r->v->outputs[location->node].placeholder, 0, node->type.dtype, node->type.shape, out);
  case MICA__HOME_INPUT:
    for (int32_t i = 0; i < r->session->input_count; i++)
      if (r->v->inputs[i].node == id) buffer = r->v->inputs[i].placeholder;
    break;
  case MICA__HOME_PARAMETER:
    return mica_tensor_view(r->session->tensors[r->v->parameters[location->node - 1]], node->type.shape, NULL, 0, out);
  case MICA__HOME_NONE: break;
  }
  if (!buffer) return mica__fail(MICA_E_STATE, "%s: an operand has no memory (an error in Mica)", node->op->name);
  return mica_tensor_wrap(buffer, at, node->type.dtype, node->type.shape, out);
}

static mica_status tensor_of(recorder *r, int32_t id, mica_tensor **out) {
  mica_tensor **tensor = &r->tensors[id - 1];
  if (!*tensor) MICA_TRY(wrap(r, id, tensor));
  *out = *tensor;
  return MICA_OK;
}

static mica_queue *queue_of(const recorder *r, const mica__step *step) {
  return step->invariant ? r->prologue : r->recorder;
}

/* Records the launch of the step's kernel. If there is a bundle, only adds the kernel to it; the bundle is built as one
 * program. */
static mica_status record_kernel(recorder *r, const mica__step *step, mica__kernel_bundle *bundle) {
  mica_tensor *operands[MICA__FUSED_OPERANDS];
  const mica_tensor *const *given = (const mica_tensor *const *)operands;
  for (int32_t k = 0; k < step->fused->operand_count; k++) MICA_TRY(tensor_of(r, step->operands[k], &operands[k]));
  if (bundle) return mica__fused_collect(r->session->engine, step->fused, given, bundle);
  return mica__fused_launch(queue_of(r, step), step->fused, given);
}

/* Records the launch that this step and the next ones share. If there is a bundle, only adds the kernel to it. */
static mica_status record_batch(recorder *r, const mica__step *steps, mica__kernel_bundle *bundle) {
  mica_tensor *operands[MICA__BATCH_PARTS][MICA__FUSED_OPERANDS];
  mica__batch batch = {.count = steps->together};
  for (int32_t p = 0; p < batch.count; p++) {
    for (int32_t k = 0; k < steps[p].fused->operand_count; k++)
      MICA_TRY(tensor_of(r, steps[p].operands[k], &operands[p][k]));
    batch.parts[p] = steps[p].fused;
    batch.operands[p] = (const mica_tensor *const *)operands[p];
  }
  if (bundle) return mica__fused_batch_collect(r->session->engine, &batch, bundle);
  return mica__fused_batch_launch(queue_of(r, steps), &batch);
}

/* Makes the operands of an op's launch as views of the memory that they read. Operands of which only the shape matters
 * stay NULL. */
static mica_status make_operands(recorder *r, const mica__node *node, mica_tensor **operands) {
  const mica_graph *graph = r->v->template.graph;
  for (int32_t k = 0; k < node->input_count; k++) {
    int32_t base = 0;
    mica_tensor *memory = NULL;
    if (k < 32 && node->op->shape_only >> k & 1) continue;
    mica__access access = mica__partition_operand(graph, node, k, &base);
    MICA_TRY(tensor_of(r, base, &memory));
    MICA_TRY(mica_tensor_view(memory, mica__graph_node(graph, node->inputs[k])->type.shape, access.stride,
                              access.offset, &operands[k]));
  }
  return MICA_OK;
}

/* Returns as bits the inputs that stay the same in all runs, except held weights (mica__is_held), whose bits are set in
 * *held. */
static uint32_t constant_inputs(const recorder *r, const mica__node *node, uint32_t *held) {
  uint32_t constant = 0;
  for (int32_t k = 0; k < node->input_count && k < 32; k++) {
    int32_t base = 0;
    mica__partition_operand(r->v->template.graph, node, k, &base);
    const mica__location *location = &r->v->memory.locations[base - 1];
    bool invariant = location->home == MICA__HOME_PARAMETER &&
                     !r->session->parameters[r->v->parameters[location->node - 1]].assigned;
    if (invariant && mica__is_held(mica__graph_node(r->v->template.graph, location->node)))
      *held |= 1u << k;
    else if (location->home == MICA__HOME_CONSTANT || location->home == MICA__HOME_DERIVED || invariant)
      constant |= 1u << k;
  }
  return constant;
}

/* A launch may lend a value that it derives from an operand to later launches (mica__op.lends). It does so only if one
 * of the next LENDING_STEPS steps uses the value, because the value's memory is occupied until then. */
#define LENDING_STEPS 8

/* True if the op of one of the next LENDING_STEPS steps has the value as an operand whose derived values it can borrow
 * (mica__op.lends). */
static bool is_awaited(const mica__partition *p, const mica__step *step, int32_t value) {
  const mica__step *end = p->steps + p->count;
  for (const mica__step *s = step + 1; s < end && s <= step + LENDING_STEPS; s++) {
    if (s->fused || s->invariant) continue;
    const mica__node *node = mica__graph_node(p->graph, s->members[0]);
    for (int32_t k = 0; k < node->input_count && k < 32; k++)
      if (node->op->lends >> k & 1 && node->inputs[k] == value) return true;
  }
  return false;
}

/* Returns as bits the inputs whose derived values are kept for later launches. Such an input is a value in the arena,
 * which is not overwritten before its last reader, and one of the next steps reads it too. */
static uint32_t lent_inputs(const recorder *r, const mica__step *step, const mica__node *node) {
  uint32_t lent = 0;
  for (int32_t k = 0; k < node->input_count && k < 32 && !step->invariant; k++) {
    int32_t base = 0;
    if (!(node->op->lends >> k & 1)) continue;
    mica__partition_operand(r->v->template.graph, node, k, &base);
    const bool stays = r->v->memory.locations[base - 1].home == MICA__HOME_ARENA;
    if (stays && is_awaited(&r->v->partition, step, node->inputs[k])) lent |= 1u << k;
  }
  return lent;
}

static mica_status record_op(recorder *r, const mica__step *step) {
  int32_t id = step->members[0];
  const mica__node *node = mica__graph_node(r->v->template.graph, id);
  mica_tensor **operands = calloc((size_t)node->input_count + 1, sizeof *operands);
  mica_tensor *outputs[MICA__MAX_RESULTS] = {NULL};
  mica__exec exec = {.queue = queue_of(r, step), .attrs = node->attrs, .input_count = node->input_count};
  if (!operands) return mica__fail_nomem("a session");
  exec.inputs = (const mica_tensor *const *)operands;
  exec.constant = constant_inputs(r, node, &exec.held);
  if (exec.constant) exec.prologue = r->prologue;
  exec.lends = lent_inputs(r, step, node);
  mica_status status = make_operands(r, node, operands);
  for (int32_t k = 0; status == MICA_OK && k < step->count; k++)
    if (step->stores >> k & 1) status = tensor_of(r, id + k, &outputs[k]);
  exec.output = outputs[0];
  exec.outputs = outputs;
  if (status == MICA_OK && !node->op->launch && !node->op->host && !node->op->begin)
    status = mica__fail(MICA_E_UNSUPPORTED, "the op %s cannot run on a device yet", node->op->name);
  if (status == MICA_OK)
    status = node->op->launch ? node->op->launch(&exec) : mica__partition_record_host(&r->v->partition, step, &exec);
  for (int32_t k = 0; k < node->input_count; k++) {
    if (operands[k] && k < 32 && (node->op->lends & ~exec.lends) >> k & 1) mica__loans_end(exec.queue, operands[k]);
    mica_tensor_destroy(operands[k]);
  }
  free(operands);
  return status;
}

/* Assigns the launches recorded since `from` to a step. */
static mica_status note_launches(recorder *r, size_t from, int32_t step) {
  size_t to = mica__recorder_count(r->recorder);
  int32_t *grown = realloc(r->v->step_of_launch, (to + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a session");
  r->v->step_of_launch = grown;
  for (size_t i = from; i < to; i++) grown[i] = step;
  return MICA_OK;
}

/* Records the second half of the host step that computes value `read`, if that host step has two halves and belongs to
 * this queue. A host step of the prologue has already ended. */
static mica_status end_host_step(recorder *r, mica_queue *queue, int32_t read) {
  const mica__partition *p = &r->v->partition;
  int32_t from = p->step_of[read - 1];
  if (from < 0 || !mica__step_op(p, from)->end || queue_of(r, &p->steps[from]) != queue) return MICA_OK;
  return mica__recorder_end_host_step(queue, from);
}

/* Records a step, with the steps that share its launch. */
static mica_status record_step(recorder *r, int32_t index) {
  const mica__step *step = &r->v->partition.steps[index];
  for (int32_t k = 0; k < mica__step_share(step); k++)
    for (int32_t i = 0; i < step[k].read_count; i++) MICA_TRY(end_host_step(r, queue_of(r, step), step[k].reads[i]));
  size_t from = mica__recorder_count(r->recorder);
  mica__recorder_mark before;
  mica__prologue_begin(r, step, &before);
  if (mica__step_share(step) > 1)
    MICA_TRY(record_batch(r, step, NULL));
  else
    MICA_TRY(step->fused ? record_kernel(r, step, NULL) : record_op(r, step));
  MICA_TRY(mica__prologue_end(r, step, before));
  return note_launches(r, from, index);
}

/* Copies of values with 2 to this many floats share launches. A value of one element is copied alone, because a
 * generated kernel would drop its only dimension. */
#define FEW_ELEMENTS (1 << 20)

static const mica__node *deferred_at(const mica__plan *v, int32_t i) {
  return v->deferred[i] ? mica__graph_node(v->template.graph, v->template.assignments[i].value) : NULL;
}

static bool shares_copies(const mica__node *node) {
  return mica_dtype_kind_of(node->type.dtype) == MICA_DTYPE_KIND_FLOAT && mica__node_count(node) > 1 &&
         mica__node_count(node) <= FEW_ELEMENTS;
}

int32_t mica__plan_copies(const mica__plan *v, int32_t first, int32_t list[MICA__BATCH_PARTS]) {
  const mica__node *own = deferred_at(v, first);
  int32_t before = 0, count = 0;
  list[0] = first;
  if (!shares_copies(own)) return 1;
  for (int32_t i = 0; i < v->template.assignment_count && count < MICA__BATCH_PARTS; i++) {
    const mica__node *node = deferred_at(v, i);
    if (!node || node->type.dtype != own->type.dtype || !shares_copies(node)) continue;
    if (i < first)
      before++;
    else
      list[count++] = i;
  }
  return before % MICA__BATCH_PARTS ? 0 : count;
}

/* Describes the copy of a value to its parameter as a pointwise kernel over one dimension. */
static mica_status copied_of(recorder *r, int32_t index, mica__fused *fused, const mica_tensor *operands[2]) {
  const mica__assignment a = r->v->template.assignments[index];
  const mica__node *node = mica__graph_node(r->v->template.graph, a.value);
  const mica__fused_instr load = {.kind = MICA__FUSED_LOAD, .dtype = node->type.dtype, .access.stride = {1}};
  mica_tensor *value = NULL;
  MICA_TRY(tensor_of(r, a.value, &value));
  *fused = (mica__fused){.rank = 1, .extent = {mica__node_count(node)}, .count = 2, .operand_count = 2};
  fused->instrs[0] = fused->instrs[1] = load;
  fused->instrs[1].kind = MICA__FUSED_STORE;
  fused->instrs[1].arg_count = fused->instrs[1].operand = 1;
  fused->operand_dtype[0] = fused->operand_dtype[1] = node->type.dtype;
  operands[0] = value;
  operands[1] = r->session->tensors[r->v->parameters[a.parameter - 1]];
  return MICA_OK;
}

/* Records the launch that makes several copies. If there is a bundle, only adds the kernel to it. */
static mica_status copy_together(recorder *r, const int32_t *list, int32_t count, mica__kernel_bundle *bundle) {
  const mica_tensor *operands[MICA__BATCH_PARTS][2];
  mica__fused *parts = calloc((size_t)count, sizeof *parts);
  mica__batch batch = {.count = count};
  mica_status status = parts ? MICA_OK : mica__fail_nomem("a session");
  for (int32_t k = 0; status == MICA_OK && k < count; k++) {
    status = copied_of(r, list[k], &parts[k], operands[k]);
    batch.parts[k] = &parts[k];
    batch.operands[k] = operands[k];
  }
  if (status == MICA_OK)
    status = bundle ? mica__fused_batch_collect(r->session->engine, &batch, bundle)
                    : mica__fused_batch_launch(r->recorder, &batch);
  free(parts);
  return status;
}

static mica_status copy_alone(recorder *r, int32_t index) {
  const mica__assignment a = r->v->template.assignments[index];
  mica_tensor *value = NULL, *to = r->session->tensors[r->v->parameters[a.parameter - 1]], *shaped = NULL;
  MICA_TRY(tensor_of(r, a.value, &value));
  MICA_TRY(mica_tensor_view(value, mica_tensor_shape(to), NULL, 0, &shaped));
  mica_status status = mica_op_copy(r->recorder, shaped, to);
  mica_tensor_destroy(shaped);
  return status;
}

/* Records the deferred copies. They run after all steps, and one launch makes many copies of the same type. */
static mica_status record_copies(recorder *r, mica__kernel_bundle *bundle) {
  int32_t list[MICA__BATCH_PARTS];
  for (int32_t i = 0; i < r->v->template.assignment_count; i++) {
    const int32_t count = r->v->deferred[i] ? mica__plan_copies(r->v, i, list) : 0;
    const size_t from = mica__recorder_count(r->recorder);
    if (count == 0 || (bundle && count == 1)) continue;
    for (int32_t k = 0; k < count && !bundle; k++)
      MICA_TRY(end_host_step(r, r->recorder, r->v->template.assignments[list[k]].value));
    MICA_TRY(count == 1 ? copy_alone(r, i) : copy_together(r, list, count, bundle));
    if (!bundle) MICA_TRY(note_launches(r, from, -1 - i));
  }
  return MICA_OK;
}

static mica_status upload_constant(recorder *r, int32_t id) {
  const mica__node *node = mica__graph_node(r->v->template.graph, id);
  mica_tensor *tensor = NULL;
  MICA_TRY(tensor_of(r, id, &tensor));
  if (node->op == &mica__op_full) return mica_op_fill(r->queue, mica__full_value(node), tensor);
  return mica_tensor_upload(r->queue, tensor, node->data, mica_tensor_bytes(tensor));
}

static mica_status allocate(mica_session *session, mica__plan *v) {
  mica_engine *engine = session->engine;
  /* Another plan's arena can be used if its slabs are large enough, because plans never run at once. */
  for (mica__plan *other = session->plans; other; other = other->next)
    if (other != v && other->arena)
      MICA_TRY(mica__slabs_share(&v->memory.arena, &other->memory.arena, other->arena, &v->arena));
  MICA_TRY(mica__slabs_allocate(&v->memory.arena, engine, &v->arena));
  MICA_TRY(mica__slabs_allocate(&v->memory.constants, engine, &v->constants));
  for (int32_t i = 0; i < session->input_count; i++)
    if (v->inputs[i].node && !v->inputs[i].placeholder)
      MICA_TRY(mica__placeholder_create(
          engine, mica__node_bytes(mica__graph_node(v->template.graph, v->inputs[i].node)), &v->inputs[i].placeholder));
  return MICA_OK;
}

/* Makes the placeholders of outputs. Also allocates the plan's own memory for outputs, unless all of them are bound to
 * tensors of the caller. If the device has no room for that memory, this is not an error yet: the caller may bind the
 * outputs before the run, and otherwise the run tries again. */
static mica_status make_outputs(mica_session *session, mica__plan *v) {
  int32_t count = v->template.output_count, bound = 0;
  if (!v->outputs) v->outputs = calloc((size_t)count + 1, sizeof *v->outputs);
  if (!v->outputs) return mica__fail_nomem("a session");
  for (int32_t i = 0; i < count; i++) {
    const mica__node *node = mica__graph_node(v->template.graph, v->template.outputs[i]);
    mica_buffer **placeholder = &v->outputs[i].placeholder;
    if (!*placeholder) MICA_TRY(mica__placeholder_create(session->engine, mica__node_bytes(node), placeholder));
    bound += session->bound[i] != NULL;
  }
  const bool early = bound < count && mica__memory_has_room(&v->memory, session->engine, true);
  return early ? mica__plan_make_results(session, v) : MICA_OK;
}

/* Builds all generated kernels of the plan together, as one program. */
static mica_status build_kernels(recorder *r) {
  mica__kernel_bundle bundle = {0};
  mica_status status = MICA_OK;
  const mica__partition *p = &r->v->partition;
  for (int32_t i = 0; status == MICA_OK && i < p->count; i += mica__step_share(&p->steps[i])) {
    if (mica__step_share(&p->steps[i]) > 1)
      status = record_batch(r, &p->steps[i], &bundle);
    else if (p->steps[i].fused)
      status = record_kernel(r, &p->steps[i], &bundle);
  }
  if (status == MICA_OK) status = record_copies(r, &bundle);
  if (status == MICA_OK) status = mica__kernel_bundle_build(r->session->engine, &bundle);
  mica__kernel_bundle_free(&bundle);
  return status;
}

static mica_status record_all(recorder *r) {
  mica__plan *v = r->v;
  MICA_TRY(build_kernels(r));
  for (int32_t id = 1; id <= v->template.graph->count; id++) {
    bool source = mica__graph_node(v->template.graph, id)->op->kind == MICA__OP_SOURCE;
    if (source && v->memory.locations[id - 1].home == MICA__HOME_CONSTANT) MICA_TRY(upload_constant(r, id));
  }
  for (int32_t i = 0; i < v->partition.count; i += mica__step_share(&v->partition.steps[i]))
    MICA_TRY(record_step(r, i));
  return record_copies(r, NULL);
}

/* Requests the programs that record_all needs. */
static mica_status dry_run_all(recorder *r) {
  MICA_TRY(build_kernels(r));
  for (int32_t i = 0; i < r->v->partition.count; i++)
    if (!r->v->partition.steps[i].fused) MICA_TRY(record_op(r, &r->v->partition.steps[i]));
  return record_copies(r, NULL);
}

/* Builds all programs that the launches need at once, if the engine builds ahead (build_ahead.h). Errors are ignored
 * here: they occur again, and are reported, when the launches are recorded. */
static void build_ahead(const recorder *real) {
  recorder r = *real;
  mica_engine *engine = r.session->engine;
  mica__build_list list;
  if (!mica__builds_ahead(engine)) return;
  mica__attempt_begin();
  mica__build_list_begin(&list);
  mica_status status = mica__dry_run_create(engine, &r.recorder);
  if (status == MICA_OK) status = mica__dry_run_create(engine, &r.prologue);
  if (status == MICA_OK) status = dry_run_all(&r);
  if (r.recorder) mica__recording_destroy(mica__recorder_end(r.recorder));
  if (r.prologue) mica__recording_destroy(mica__recorder_end(r.prologue));
  mica__build_list_end();
  mica__build_ahead(engine, &list);
  mica__build_list_free(&list);
  mica__attempt_end();
}

static void free_recorder(recorder *r) {
  int32_t nodes = r->v->template.graph->count;
  for (int32_t i = 0; r->tensors && i < nodes; i++) mica_tensor_destroy(r->tensors[i]);
  for (int32_t i = 0; r->derived && i < nodes; i++) mica_buffer_destroy(r->derived[i]);
  for (size_t i = 0; i < r->given_count; i++) mica_buffer_destroy(r->given[i].placeholder);
  free(r->tensors);
  free(r->derived);
  free(r->given);
}

static mica_status record(recorder *r) {
  mica__plan *v = r->v;
  size_t nodes = (size_t)v->template.graph->count + 1;
  r->tensors = calloc(nodes, sizeof *r->tensors);
  r->derived = calloc(nodes, sizeof *r->derived);
  if (!r->tensors || !r->derived) return mica__fail_nomem("a session");
  build_ahead(r);
  mica_status status = mica__recorder_create(r->session->engine, &r->recorder);
  if (status == MICA_OK) status = mica__recorder_create(r->session->engine, &r->prologue);
  if (status == MICA_OK) status = record_all(r);
  if (r->recorder) v->recording = mica__recorder_end(r->recorder);
  if (r->prologue) v->prologue = mica__recorder_end(r->prologue);
  return status == MICA_OK ? mica__prologue_give(r) : status;
}

mica_status mica__plan_record(mica_session *session, mica__plan *v, mica_queue *queue) {
  recorder r = {.session = session, .v = v, .queue = queue};
  MICA_TRY(allocate(session, v));
  MICA_TRY(make_outputs(session, v));
  v->changes = NEVER;
  mica_status status = record(&r);
  if (status != MICA_OK) mica__plan_forget(v);
  free_recorder(&r);
  return status;
}

/* Marks the tensors outside the plan's arena that a run has written. */
static void note_writes(const mica_session *session, const mica__plan *v) {
  for (int32_t i = 0; i < v->template.assignment_count; i++)
    mica__tensor_changed(session->tensors[v->parameters[v->template.assignments[i].parameter - 1]]);
  for (int32_t i = 0; i < v->template.output_count; i++) mica__tensor_changed(v->outputs[i].at);
}

mica_status mica__plan_run(mica_session *session, mica__plan *v, mica_queue *queue) {
  MICA_TRY(mica__plan_run_prologue(session, v, queue));
  mica_status status = mica__recording_replay(v->recording, queue);
  note_writes(session, v);
  return status;
}

void mica__plan_forget(mica__plan *v) {
  mica__recording_destroy(v->recording);
  mica__recording_destroy(v->prologue);
  v->recording = v->prologue = NULL;
  for (size_t i = 0; i < v->part_count; i++) mica__derived_release(v->parts[i].derived);
  free(v->parts);
  v->parts = NULL;
  v->part_count = 0;
  for (int32_t i = 0; v->outputs && i < v->template.output_count; i++) v->outputs[i].at = NULL;
  free(v->step_of_launch);
  v->step_of_launch = NULL;
}

void mica__plan_destroy(mica_session *session, mica__plan *v) {
  if (!v) return;
  mica__plan_forget(v);
  for (int32_t i = 0; v->inputs && i < session->input_count; i++) {
    mica_buffer_destroy(v->inputs[i].placeholder);
    mica_tensor_destroy(v->inputs[i].aligned);
  }
  for (int32_t i = 0; v->outputs && i < v->template.output_count; i++) {
    mica_buffer_destroy(v->outputs[i].placeholder);
    mica_tensor_destroy(v->outputs[i].own);
  }
  mica__slabs_release(&v->memory.arena, v->arena);
  mica__slabs_release(&v->memory.constants, v->constants);
  mica__slabs_release(&v->memory.outputs, v->results);
  mica__memory_free(&v->memory);
  mica__partition_free(&v->partition);
  mica__template_free(&v->template);
  free(v->outputs);
  free(v->shapes);
  free(v->inputs);
  free(v->parameters);
  free(v->deferred);
  free(v);
}
