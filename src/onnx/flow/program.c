/* Functions and their programs. A program is found by the types of the inputs and is lowered during its first run. The
 * stages used least recently are destroyed if there are too many or they need too much memory. */
#include "onnx/flow/runner.h"

#include "compile/template.h"

#include <mica/device.h>
#include <stdlib.h>
#include <string.h>

#define LOWERINGS 64
#define SHARE_OF_MEMORY 2
/* A bound input is a constant of the program. If this number of programs differ only in the elements of bound inputs,
 * the inputs with many different values are no longer bound. Such inputs are data and not sizes, and binding them would
 * lower the model again for each value. */
#define MOST_VALUES 16

static size_t bytes_of(const mica__lower_input *input) {
  int64_t count = 0;
  return mica_shape_count(input->shape, &count) == MICA_OK ? (size_t)count * mica_dtype_size(input->dtype) : 0;
}

/* --- making and destroying --- */

mica__function *mica__function_create(mica_onnx_runner *runner, const mica__onnx_graph *graph, size_t input_count,
                                      bool counts) {
  mica__function *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  *f = (mica__function){.runner = runner,
                        .graph = graph,
                        .counts = counts,
                        .input_count = input_count,
                        .output_count = graph->proto->n_output + counts,
                        .inputs = calloc(input_count + 1, sizeof *f->inputs),
                        .bound = calloc(input_count + 1, sizeof *f->bound),
                        .free = calloc(input_count + 1, sizeof *f->free)};
  if (f->inputs && f->bound && f->free) return f;
  mica__function_destroy(f);
  return NULL;
}

static void destroy_program(mica__function *f, mica__flow_program *p) {
  if (!p) return;
  for (size_t i = 0; i < f->input_count; i++) {
    if (p->inputs && p->inputs[i].data != f->inputs[i].data) free((void *)p->inputs[i].data);
    if (p->uploads) mica_tensor_destroy(p->uploads[i]);
    if (p->sent) free(p->sent[i]);
  }
  for (size_t i = 0; p->copies && i < f->output_count; i++) mica_tensor_destroy(p->copies[i]);
  mica__stage_destroy(f, p->root);
  free(p->inputs);
  free(p->uploads);
  free(p->sent);
  free(p->path);
  free(p->outputs);
  free(p->wanted);
  free(p->copies);
  free(p->written);
  free(p);
}

void mica__function_forget(mica__function *f) {
  for (mica__flow_program *p = f->programs, *next; p; p = next) {
    next = p->next;
    destroy_program(f, p);
  }
  f->programs = f->current = NULL;
}

void mica__function_destroy(mica__function *f) {
  if (!f) return;
  mica__function_forget(f);
  for (size_t i = 0; f->inputs && i < f->input_count; i++) free((void *)f->inputs[i].data);
  free(f->inputs);
  free(f->bound);
  free(f->free);
  free(f->known);
  free(f);
}

/* --- finding --- */

static bool is_for(const mica__function *f, const mica__flow_program *p, const mica__lower_input *inputs,
                   bool elements) {
  for (size_t i = 0; i < f->input_count; i++) {
    const mica__lower_input *a = &p->inputs[i], *b = &inputs[i];
    if (a->given != b->given || (!a->data) != (!b->data)) return false;
    if (!a->given || a->tensor || a->sparse || f->inputs[i].data) continue;
    if (a->dtype != b->dtype || !mica_shape_equal(a->shape, b->shape)) return false;
    if (elements && a->data && memcmp(a->data, b->data, bytes_of(a))) return false;
  }
  return true;
}

/* Does nothing until MOST_VALUES programs have the types of `inputs`. Then unbinds each input whose elements differ
 * from those in `inputs` in at least MOST_VALUES / 2 of these programs. True if an input was unbound. */
static bool free_inputs(mica__function *f, const mica__lower_input *inputs) {
  size_t count = 0;
  bool freed = false;
  for (const mica__flow_program *p = f->programs; p; p = p->next) count += is_for(f, p, inputs, false);
  for (size_t i = 0; count >= MOST_VALUES && i < f->input_count; i++) {
    size_t others = 0;
    if (!f->bound[i] || !inputs[i].data) continue;
    for (const mica__flow_program *p = f->programs; p; p = p->next)
      others += is_for(f, p, inputs, false) && memcmp(p->inputs[i].data, inputs[i].data, bytes_of(&inputs[i]));
    if (2 * others < MOST_VALUES) continue;
    f->bound[i] = false;
    f->free[i] = freed = true;
  }
  return freed;
}

static void drop_empty(mica__function *f, const mica__flow_program *now) {
  for (mica__flow_program **at = &f->programs, *p; (p = *at);) {
    if (p->root || p == now) {
      at = &p->next;
    } else {
      *at = p->next;
      destroy_program(f, p);
    }
  }
}

mica_status mica__function_program(mica__function *f, const mica__lower_input *inputs, bool *again,
                                   mica__flow_program **out) {
  for (mica__flow_program *p = f->programs; p; p = p->next)
    if (is_for(f, p, inputs, true)) {
      *out = p;
      return MICA_OK;
    }
  if (f->is_model && free_inputs(f, inputs)) {
    mica__function_forget(f);
    *again = true;
    return MICA_OK;
  }
  drop_empty(f, NULL);
  mica__flow_program *p = calloc(1, sizeof *p);
  if (!p) return mica__fail_nomem("a runner");
  *p = (mica__flow_program){.function = f,
                            .fresh = true,
                            .inputs = calloc(f->input_count + 1, sizeof *p->inputs),
                            .uploads = calloc(f->input_count + 1, sizeof(mica_tensor *)),
                            .sent = calloc(f->input_count + 1, sizeof(void *)),
                            .outputs = calloc(f->output_count + 1, sizeof(mica_tensor *)),
                            .wanted = calloc(f->output_count + 1, sizeof(mica_tensor *)),
                            .copies = calloc(f->output_count + 1, sizeof(mica_tensor *)),
                            .written = calloc(f->output_count + 1, sizeof *p->written)};
  if (!p->inputs || !p->uploads || !p->sent || !p->outputs || !p->wanted || !p->copies || !p->written) {
    destroy_program(f, p);
    return mica__fail_nomem("a runner");
  }
  memcpy(p->inputs, inputs, f->input_count * sizeof *inputs);
  p->next = f->programs;
  f->programs = *out = p;
  return MICA_OK;
}

/* --- lowering --- */

static mica_status know(mica__function *f, const Onnx__TensorProto *tensor) {
  const Onnx__TensorProto **known = realloc(f->known, (f->known_count + 1) * sizeof *known);
  if (!known) return mica__fail_nomem("a runner");
  f->known = known;
  known[f->known_count++] = tensor;
  return MICA_OK;
}

/* Records in the last stage of a path where each output of the function is stored, its type, and whether it is known to
 * be true or false. */
static mica_status say_outputs(const mica__trace *t, const mica_value *outputs, mica__stage *stage) {
  size_t count = t->program->function->output_count;
  int32_t at = (int32_t)t->program->path_count;
  bool copies = t->program->function->is_model;
  stage->source_count = count;
  stage->sources = calloc(count + 1, sizeof *stage->sources);
  stage->types = calloc(count + 1, sizeof *stage->types);
  stage->known = calloc(count + 1, sizeof *stage->known);
  if (!stage->sources || !stage->types || !stage->known) return mica__fail_nomem("a stage");
  for (size_t i = 0; i < count; i++) {
    const mica__node *node = mica__graph_node(t->l.graph, outputs[i].id);
    bool on = false;
    stage->types[i] = mica__flow_type_of(node->type.dtype, node->type.shape);
    stage->known[i] = mica__lower_truth(&t->l, outputs[i], &on) ? (int8_t)on : (int8_t)-1;
    stage->sources[i] = mica__trace_source(t, outputs[i].id);
    if (stage->sources[i].stage != -2 && !(stage->sources[i].stage == -1 && copies)) continue;
    for (size_t k = 0; k < stage->id_count; k++)
      if (stage->ids[k] == outputs[i].id) stage->sources[i] = (mica__flow_source){at, (int32_t)k};
  }
  return MICA_OK;
}

/* Checks the indices that the last stage of a path lists, if they are in host memory. Each path has its own list,
 * because the extents that limit the indices may differ between paths. */
static mica_status check_indices(const mica__flow_program *p, const mica__stage *stage) {
  const mica_onnx_runner *r = p->function->runner;
  for (size_t i = 0; p->function->is_model && i < stage->index_count; i++) {
    const mica_onnx_feed *feed = r->feeds[stage->indices[i].input];
    int64_t count = 0;
    if (!feed || feed->tensor) continue;
    MICA_TRY(mica_shape_count(feed->shape, &count));
    MICA_TRY(mica__lower_indices_check(r->model->name, &stage->indices[i], feed->dtype, feed->data, count));
  }
  return MICA_OK;
}

static mica_status end(mica__trace *t, const mica_value *outputs) {
  mica__flow_program *p = t->program;
  mica__stage *stage = NULL;
  MICA_TRY(mica__stage_create(t, outputs, p->function->output_count, NULL, 0, &stage));
  stage->end = MICA__STAGE_OUTPUTS;
  mica_status status = say_outputs(t, outputs, stage);
  if (status == MICA_OK) status = mica__trace_push(t, stage);
  if (status != MICA_OK) {
    mica__stage_destroy(p->function, stage);
    return status;
  }
  stage->indices = t->l.indices;
  stage->index_count = t->l.index_count;
  t->l.indices = NULL;
  MICA_TRY(check_indices(p, stage));
  return mica__stage_run(p, t->run, p->path_count - 1);
}

/* Lowers the function from the beginning, skips the stages already on the path, and runs the new ones. */
static mica_status lower(mica__flow_program *p, mica__run *run) {
  mica__function *f = p->function;
  mica__trace *t = calloc(1, sizeof *t);
  mica_value *outputs = calloc(f->output_count + 1, sizeof *outputs);
  bool *demanded = calloc(f->input_count + 1, sizeof *demanded);
  mica_status status = t && outputs && demanded ? MICA_OK : mica__fail_nomem("a runner");
  if (status == MICA_OK) {
    *t = (mica__trace){.program = p,
                       .run = run,
                       .l = {.model = f->runner->model,
                             .external = &f->runner->external,
                             .root = f->graph,
                             .is_body = !f->is_model,
                             .counts = f->counts,
                             .inputs = p->inputs,
                             .input_count = f->input_count,
                             .demanded = demanded,
                             .free = f->free,
                             .may_bind = f->is_model,
                             .seed = f->runner->config.seed,
                             .most_unrolled = f->runner->config.most_unrolled,
                             .known = f->known,
                             .known_count = f->known_count,
                             .trace = t}};
    status = mica_graph_create(&t->l.graph);
    if (status == MICA_OK) status = mica__lower_model(&t->l, outputs);
    run->again = status == MICA_OK && t->l.demands;
    for (size_t i = 0; run->again && i < f->input_count; i++) f->bound[i] = f->bound[i] || demanded[i];
    if (run->again && t->l.demanded_tensor) status = know(f, t->l.demanded_tensor);
    if (status == MICA_OK && !run->again) status = end(t, outputs);
    mica_graph_destroy(t->l.graph);
    mica__lower_free(&t->l);
    free(t->sources);
  }
  free(t);
  free(outputs);
  free(demanded);
  if (run->again) mica__function_forget(f);
  return status;
}

/* --- forgetting --- */

static bool is_on_way(const mica__flow_program *p, const mica__stage *stage) {
  for (size_t i = 0; i < p->path_count; i++)
    if (p->path[i] == stage) return true;
  return false;
}

/* Finds the least recently used stage, this one or below it, that has no children and that the last run did not take.
 * NOLINTNEXTLINE(misc-no-recursion): see mica__stage_destroy. */
static void find_oldest(const mica__flow_program *now, mica__stage *stage, mica__stage **oldest) {
  for (mica__stage *child = stage->children; child; child = child->next) find_oldest(now, child, oldest);
  if (stage->children || is_on_way(now, stage)) return;
  if (!*oldest || stage->used < (*oldest)->used) *oldest = stage;
}

static void unlink_stage(mica__function *f, mica__stage *stage) {
  mica__stage **at = stage->parent ? &stage->parent->children : NULL;
  for (mica__flow_program *p = f->programs; !at && p; p = p->next)
    if (p->root == stage) at = &p->root;
  while (at && *at != stage) at = &(*at)->next;
  if (at) *at = stage->next;
}

static void trim(mica__flow_program *now) {
  mica__function *f = now->function;
  const mica_onnx_runner *r = f->runner;
  size_t most = r->config.most_lowerings ? r->config.most_lowerings : LOWERINGS;
  uint64_t bytes =
      r->config.most_bytes ? r->config.most_bytes : mica_engine_device(r->engine)->global_bytes / SHARE_OF_MEMORY;
  while (f->stage_count > most || r->bytes > bytes) {
    mica__stage *oldest = NULL;
    for (mica__flow_program *p = f->programs; p; p = p->next)
      if (p->root) find_oldest(now, p->root, &oldest);
    if (!oldest) break;
    unlink_stage(f, oldest);
    mica__stage_destroy(f, oldest);
    drop_empty(f, now);
  }
}

/* --- running --- */

static mica_status take(mica__flow_program *p, mica__stage *stage) {
  if (p->path_count == p->path_capacity) {
    size_t capacity = p->path_capacity ? 2 * p->path_capacity : 8;
    mica__stage **path = realloc(p->path, capacity * sizeof *path);
    if (!path) return mica__fail_nomem("a run");
    p->path = path;
    p->path_capacity = capacity;
  }
  p->path[p->path_count++] = stage;
  return MICA_OK;
}

static mica__stage *next_stage(const mica__stage *stage) {
  for (mica__stage *child = stage->children; child; child = child->next)
    if (child->key_bytes == stage->now_bytes && !memcmp(child->key, stage->now, stage->now_bytes)) return child;
  return NULL;
}

mica_status mica__flow_program_run(mica__flow_program *p, mica__run *run) {
  mica__stage *stage = p->root;
  p->path_count = 0;
  p->used = ++p->function->runner->clock;
  while (stage) {
    MICA_TRY(check_indices(p, stage));
    MICA_TRY(take(p, stage));
    MICA_TRY(mica__stage_run(p, run, p->path_count - 1));
    if (stage->end == MICA__STAGE_OUTPUTS) return MICA_OK;
    stage = next_stage(stage);
  }
  MICA_TRY(lower(p, run));
  if (!run->again) trim(p);
  return MICA_OK;
}

mica_status mica__function_call(mica__function *f, mica__run *run, mica__flow_program **program) {
  mica__lower_input *inputs = calloc(f->input_count + 1, sizeof *inputs);
  if (!inputs) return mica__fail_nomem("a run");
  memcpy(inputs, f->inputs, f->input_count * sizeof *inputs);
  for (size_t i = 0; i < f->input_count; i++) {
    if (!run->inputs[i]) continue;
    inputs[i].dtype = mica_tensor_dtype(run->inputs[i]);
    inputs[i].shape = mica_tensor_shape(run->inputs[i]);
  }
  mica_status status = MICA_OK;
  do {
    run->again = false;
    status = mica__function_program(f, inputs, &run->again, program);
    if (status == MICA_OK && !run->again) status = mica__flow_program_run(*program, run);
  } while (status == MICA_OK && run->again);
  free(inputs);
  return status;
}
