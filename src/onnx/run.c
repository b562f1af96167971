/* Runs a model. Reads its feeds, the inputs that the caller gives, and finds the program that was compiled for their
 * types. */
#include "base/element.h"
#include "base/text.h"
#include "onnx/attributes.h"
#include "onnx/flow/runner.h"

#include <mica/buffer.h>
#include <stdlib.h>
#include <string.h>

/* --- making and destroying --- */

static mica_status fill(mica_onnx_runner *r) {
  const mica_onnx *model = r->model;
  r->external.folder = mica__strdup(model->external.folder);
  r->input_count = mica_onnx_input_count(model);
  r->output_count = mica_onnx_output_count(model);
  r->ports = calloc(r->input_count + 1, sizeof *r->ports);
  r->feeds = calloc(r->input_count + 1, sizeof *r->feeds);
  r->tensors = calloc(r->input_count + 1, sizeof(mica_tensor *));
  r->wanted = calloc(r->output_count + 1, sizeof(mica_tensor *));
  r->function = mica__function_create(r, &model->graph, r->input_count, false);
  if (!r->ports || !r->feeds || !r->tensors || !r->wanted || !r->function ||
      (model->external.folder && !r->external.folder))
    return mica__fail_nomem("a runner");
  r->function->is_model = true;
  for (size_t i = 0; i < r->input_count; i++) r->ports[i] = mica_onnx_input(model, i);
  return MICA_OK;
}

mica_status mica_onnx_runner_create(mica_engine *engine, mica_onnx *model, const mica_onnx_runner_config *config,
                                    mica_onnx_runner **out) {
  if (!engine || !model || !out)
    return mica__fail(MICA_E_INVALID, "mica_onnx_runner_create: engine, model or runner is NULL");
  MICA_TRY(mica__onnx_check_operators(model));
  MICA_TRY(mica__onnx_check_attributes(model));
  mica_onnx_runner *r = calloc(1, sizeof *r);
  if (!r) return mica__fail_nomem("a runner");
  r->engine = engine;
  r->model = model;
  if (config) r->config = *config;
  mica_status status = fill(r);
  if (status == MICA_OK)
    *out = r;
  else
    mica_onnx_runner_destroy(r);
  return status;
}

const mica_onnx *mica_onnx_runner_model(const mica_onnx_runner *r) { return r->model; }

void mica_onnx_runner_destroy(mica_onnx_runner *r) {
  if (!r) return;
  mica__function_destroy(r->function);
  for (size_t i = 0; i < r->weight_count; i++) mica_tensor_destroy(r->weights[i].memory);
  for (size_t i = 0; r->wanted && i < r->output_count; i++) mica_tensor_destroy(r->wanted[i]);
  for (size_t i = 0; i < r->cut_count; i++) free((void *)r->cuts[i].why);
  mica_tensor_destroy(r->step);
  mica__external_close(&r->external);
  free(r->weights);
  free(r->cuts);
  free(r->ports);
  free(r->feeds);
  free(r->tensors);
  free(r->wanted);
  free(r);
}

/* --- feeds --- */

static mica_dtype dtype_of(const mica_onnx_feed *feed) {
  return feed->tensor ? mica_tensor_dtype(feed->tensor) : feed->dtype;
}
static mica_shape shape_of(const mica_onnx_feed *feed) {
  return feed->tensor ? mica_tensor_shape(feed->tensor) : feed->shape;
}

static mica_status check_feed(const mica_onnx_runner *r, const mica_onnx_feed *feed, const mica_onnx_port *port) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  int64_t count = 0;
  mica_shape shape = shape_of(feed);
  if (!feed->tensor && (!feed->data || !mica_dtype_is_valid(feed->dtype)))
    return mica__fail(MICA_E_INVALID,
                      "mica_onnx_run: the feed of '%s' has neither a tensor nor elements of a valid type", feed->name);
  MICA_TRY(mica_shape_count(shape, &count));
  if (feed->tensor && mica_tensor_engine(feed->tensor) != r->engine)
    return mica__fail(MICA_E_INVALID, "mica_onnx_run: the tensor for '%s' belongs to another engine", feed->name);
  if (feed->tensor && !mica_tensor_is_contiguous(feed->tensor))
    return mica__fail(MICA_E_INVALID, "mica_onnx_run: the tensor for '%s' is not contiguous", feed->name);
  if (port->has_dtype && port->dtype != dtype_of(feed))
    return mica__fail(MICA_E_DTYPE, "%s: input '%s' is %s, but was fed %s", r->model->name, port->name,
                      mica_dtype_name(port->dtype), mica_dtype_name(dtype_of(feed)));
  bool fits = !port->has_shape || port->shape.rank == shape.rank;
  for (int32_t i = 0; port->has_shape && fits && i < shape.rank; i++)
    fits = port->shape.dim[i] == MICA_DYNAMIC || port->shape.dim[i] == shape.dim[i];
  if (fits) return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "%s: input '%s' has the shape %s, but was fed %s", r->model->name, port->name,
                    mica_shape_format(port->shape, want), mica_shape_format(shape, is));
}

static mica_status take_feeds(mica_onnx_runner *r, const mica_onnx_feed *feeds, size_t feed_count) {
  for (size_t i = 0; i < r->input_count; i++) r->feeds[i] = NULL;
  for (size_t f = 0; f < feed_count; f++) {
    size_t i = 0;
    if (!feeds[f].name) return mica__fail(MICA_E_INVALID, "mica_onnx_run: the name of a feed is NULL");
    while (i < r->input_count && strcmp(r->ports[i].name, feeds[f].name)) i++;
    if (i == r->input_count) return mica__fail(MICA_E_NOT_FOUND, "%s has no input '%s'", r->model->name, feeds[f].name);
    if (r->feeds[i]) return mica__fail(MICA_E_INVALID, "mica_onnx_run: input '%s' is fed twice", feeds[f].name);
    MICA_TRY(check_feed(r, &feeds[f], &r->ports[i]));
    r->feeds[i] = &feeds[f];
  }
  for (size_t i = 0; i < r->input_count; i++) {
    if (r->feeds[i] || r->ports[i].kind == MICA_ONNX_KIND_OPTIONAL) continue;
    if (r->ports[i].kind != MICA_ONNX_KIND_TENSOR && r->ports[i].kind != MICA_ONNX_KIND_OTHER)
      return mica__fail(MICA_E_UNSUPPORTED, "%s: input '%s' is not a tensor; only tensors are supported",
                        r->model->name, r->ports[i].name);
    return mica__fail(MICA_E_INVALID, "%s: input '%s' is not fed", r->model->name, r->ports[i].name);
  }
  return MICA_OK;
}

static size_t bytes_of(const mica_onnx_feed *feed) {
  int64_t count = 0;
  return mica_shape_count(shape_of(feed), &count) == MICA_OK ? (size_t)count * mica_dtype_size(dtype_of(feed)) : 0;
}

/* Copies the feed's elements to new memory on the host, which the caller frees. */
static mica_status elements_of(mica_queue *queue, const mica_onnx_feed *feed, void **out) {
  size_t bytes = bytes_of(feed);
  void *data = malloc(bytes + 1);
  if (!data) return mica__fail_nomem("a bound input");
  mica_status status = MICA_OK;
  if (feed->tensor)
    status = mica_tensor_download(queue, feed->tensor, data, bytes);
  else if (bytes)
    memcpy(data, feed->data, bytes);
  if (status == MICA_OK)
    *out = data;
  else
    free(data);
  return status;
}

/* --- running --- */

/* Describes the inputs of this run: their types and, for inputs whose elements the lowering needs (`bound`), the
 * elements. The caller frees the elements. */
static mica_status describe_run(mica_onnx_runner *r, mica_queue *queue, mica__lower_input *inputs) {
  for (size_t i = 0; i < r->input_count; i++) {
    const mica_onnx_feed *feed = r->feeds[i];
    inputs[i] = (mica__lower_input){.name = r->ports[i].name, .given = feed != NULL};
    if (!feed) continue;
    inputs[i].dtype = dtype_of(feed);
    inputs[i].shape = shape_of(feed);
    void *data = NULL;
    if (r->function->bound[i]) MICA_TRY(elements_of(queue, feed, &data));
    inputs[i].data = data;
  }
  return MICA_OK;
}

/* An input of at most this many bytes is compared with its last upload, and uploaded only if it changed. An upload
 * waits for the device twice, which takes as long as a small model, and some small inputs, such as a sample rate, never
 * change. */
#define MOST_COMPARED 1024

static mica_status send(mica_queue *queue, mica__flow_program *p, size_t i, const mica_onnx_feed *feed) {
  const size_t bytes = bytes_of(feed);
  const bool small = bytes <= MOST_COMPARED;
  if (bytes == 0 || (small && p->sent[i] && !memcmp(p->sent[i], feed->data, bytes))) return MICA_OK;
  free(p->sent[i]);
  p->sent[i] = NULL;
  MICA_TRY(mica_tensor_upload(queue, p->uploads[i], feed->data, bytes));
  if (small) p->sent[i] = malloc(bytes); /* if memory is short, the input is uploaded again in the next run */
  if (p->sent[i]) memcpy(p->sent[i], feed->data, bytes);
  return MICA_OK;
}

/* Sets r->tensors to the feeds. Feeds in host memory are uploaded. Inputs whose elements are already part of the
 * program get NULL. */
static mica_status give_inputs(mica_onnx_runner *r, mica_queue *queue, mica__flow_program *p) {
  for (size_t i = 0; i < r->input_count; i++) {
    const mica_onnx_feed *feed = r->feeds[i];
    r->tensors[i] = NULL;
    if (!feed || p->inputs[i].data) continue;
    r->tensors[i] = feed->tensor;
    if (feed->tensor) continue;
    if (!p->uploads[i]) MICA_TRY(mica_tensor_create(r->engine, feed->dtype, feed->shape, &p->uploads[i]));
    r->tensors[i] = p->uploads[i];
    MICA_TRY(send(queue, p, i, feed));
  }
  return MICA_OK;
}

/* Sets *tensor to the tensor that the caller bound to output i, or to NULL. Fails if its type is not the output's. */
static mica_status want(void *user, size_t i, int32_t passes, const mica__flow_type *type, mica_tensor **tensor) {
  const mica_onnx_runner *r = user;
  char is[MICA_SHAPE_TEXT], should[MICA_SHAPE_TEXT];
  mica_shape shape = mica__flow_shape(type);
  (void)passes;
  *tensor = r->wanted[i];
  if (!*tensor) return MICA_OK;
  const char *name = r->model->proto->graph->output[i]->name;
  if (mica_tensor_dtype(*tensor) != (mica_dtype)type->dtype)
    return mica__fail(MICA_E_DTYPE, "%s: output '%s' is %s, but is bound to a tensor of %s", r->model->name, name,
                      mica_dtype_name((mica_dtype)type->dtype), mica_dtype_name(mica_tensor_dtype(*tensor)));
  if (!mica_shape_equal(mica_tensor_shape(*tensor), shape))
    return mica__fail(MICA_E_SHAPE, "%s: output '%s' has the shape %s, but is bound to a tensor of %s", r->model->name,
                      name, mica_shape_format(shape, should), mica_shape_format(mica_tensor_shape(*tensor), is));
  return MICA_OK;
}

/* Tries to run once. Sets *again if it could not run because elements of inputs are needed first, or because inputs are
 * no longer bound; the caller must then try again. */
static mica_status run_once(mica_onnx_runner *r, mica_queue *queue, bool *again) {
  mica__flow_program *program = NULL;
  mica__lower_input *inputs = calloc(r->input_count + 1, sizeof *inputs);
  *again = false;
  mica_status status = inputs ? describe_run(r, queue, inputs) : mica__fail_nomem("a runner");
  if (status == MICA_OK) status = mica__function_program(r->function, inputs, again, &program);
  bool taken = program && inputs && program->fresh;
  if (taken) program->fresh = false;
  for (size_t i = 0; inputs && !taken && i < r->input_count; i++) free((void *)inputs[i].data);
  free(inputs);
  if (status != MICA_OK || *again) return status;
  MICA_TRY(give_inputs(r, queue, program));
  mica__run run = {.queue = queue, .inputs = r->tensors, .want = want, .user = r};
  if (r->function->current == program) r->function->current = NULL;
  MICA_TRY(mica__flow_program_run(program, &run));
  *again = run.again;
  if (!*again) r->function->current = program;
  return MICA_OK;
}

mica_status mica_onnx_run(mica_onnx_runner *r, mica_queue *queue, const mica_onnx_feed *feeds, size_t feed_count) {
  if (!r || !queue || (feed_count && !feeds))
    return mica__fail(MICA_E_INVALID, "mica_onnx_run: runner, queue or feeds is NULL");
  MICA_TRY(take_feeds(r, feeds, feed_count));
  for (bool again = true; again;) MICA_TRY(run_once(r, queue, &again));
  return MICA_OK;
}

/* --- results of a run --- */

const mica_tensor *mica_onnx_output(const mica_onnx_runner *r, size_t index) {
  return r && r->function->current && index < r->output_count ? r->function->current->outputs[index] : NULL;
}

mica_status mica_onnx_bind_output(mica_onnx_runner *r, size_t index, mica_tensor *tensor) {
  if (!r || index >= r->output_count)
    return mica__fail(MICA_E_INVALID, "mica_onnx_bind_output: runner is NULL, or there is no output %zu (from 0)",
                      index);
  if (tensor && mica_tensor_engine(tensor) != r->engine)
    return mica__fail(MICA_E_INVALID, "mica_onnx_bind_output: the tensor belongs to another engine");
  if (tensor && !mica_tensor_is_contiguous(tensor))
    return mica__fail(MICA_E_INVALID, "mica_onnx_bind_output: the tensor is not contiguous");
  mica_tensor *own = NULL;
  if (tensor) MICA_TRY(mica_tensor_view(tensor, mica_tensor_shape(tensor), NULL, 0, &own));
  mica_tensor_destroy(r->wanted[index]);
  r->wanted[index] = own;
  if (r->function->current) r->function->current->outputs[index] = NULL;
  return MICA_OK;
}

bool mica_onnx_is_bound(const mica_onnx_runner *r, const char *input) {
  const mica__flow_program *now = r->function->current;
  for (size_t i = 0; i < r->input_count; i++)
    if (!strcmp(r->ports[i].name, input)) return now && now->inputs[i].data != NULL;
  return false;
}

size_t mica_onnx_lowering_count(const mica_onnx_runner *r) { return r->function->stage_count; }

size_t mica_onnx_cut_count(const mica_onnx_runner *r) { return r->cut_count; }

mica_onnx_cut mica_onnx_cut_at(const mica_onnx_runner *r, size_t index) {
  return index < r->cut_count ? r->cuts[index] : (mica_onnx_cut){0};
}

mica_status mica_onnx_runner_describe(const mica_onnx_runner *r, mica_onnx_report *report) {
  if (!r || !report) return mica__fail(MICA_E_INVALID, "mica_onnx_runner_describe: runner or report is NULL");
  const mica__flow_program *now = r->function->current;
  if (!now)
    return mica__fail(MICA_E_STATE,
                      "mica_onnx_runner_describe: there is no finished run of %s to describe; call mica_onnx_run first",
                      r->model->name);
  *report = (mica_onnx_report){
      .stages = now->path_count, .lowerings = r->kept, .lowered = r->lowered, .plan_bytes = r->bytes};
  for (size_t i = 0; i < now->path_count; i++) {
    mica_session_report one;
    if (!now->path[i]->session) continue;
    MICA_TRY(mica_session_describe(now->path[i]->session, &one));
    report->launches += one.launches;
    report->flops += one.flops;
    if (one.planned_bytes > report->planned_bytes) report->planned_bytes = one.planned_bytes;
  }
  for (size_t i = 0; i < r->weight_count; i++) report->parameter_bytes += mica_tensor_bytes(r->weights[i].memory);
  return MICA_OK;
}
