#include "onnx/flow/loop_call.h"

#include "base/element.h"
#include "onnx/flow/body.h"

#include <mica/ops.h>
#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX
/* The host waits for the device after this many trips, so that the queue does not grow without limit. */
#define QUEUED 256
#define ROWS 16

/* A collected result. Trip i writes row i of the buffer, which has `room` rows; the result is a view of the rows in
 * use. If the form's back_out is set for the result, the rows are in reverse order. */
typedef struct collection {
  mica_tensor *buffer, *view;
  int64_t room;
  bool has_empty; /* the file declares the type of an empty result */
  mica__flow_type empty;
} collection;

typedef struct loop_call {
  mica__call call;
  mica__loop_form form;
  mica__function *body;
  /* slots[i]: the index of the operand that is input i of the body; NONE if the input is not an operand of the call. */
  size_t *slots;
  size_t trips_at, first_at;
  mica_tensor *trip_zero, *trip_numbers[2], *states[MICA__LOOP_VALUES][2];
  collection collections[MICA__LOOP_VALUES];
  const mica_tensor **now; /* by input of the body: its tensor in the current trip */
} loop_call;

static size_t first_state(const loop_call *c) { return c->form.conditional ? 2 : 1; }

static mica_status fit(const loop_call *c, mica_tensor **tensor, const mica__flow_type *type) {
  mica_shape shape = mica__flow_shape(type);
  if (*tensor && mica_tensor_dtype(*tensor) == (mica_dtype)type->dtype &&
      mica_shape_equal(mica_tensor_shape(*tensor), shape))
    return MICA_OK;
  mica_tensor_destroy(*tensor);
  *tensor = NULL;
  return mica_tensor_create(c->body->runner->engine, (mica_dtype)type->dtype, shape, tensor);
}

/* Gives the memory for output i of the body, as mica__run.want. Each carried value, and the trip's number, has two
 * tensors. A trip writes the tensor that it does not read. A value that the trip leaves unchanged needs no memory. */
static mica_status want(void *user, size_t i, int32_t passes, const mica__flow_type *type, mica_tensor **tensor) {
  loop_call *c = user;
  size_t k = i - c->form.conditional, input = first_state(c) + k;
  mica_tensor **pair = k < c->form.states ? c->states[k] : c->trip_numbers;
  if (i + 1 == c->body->output_count)
    input = 0;
  else if ((c->form.conditional && i == 0) || k >= c->form.states)
    return MICA_OK;
  if (passes == (int32_t)input) return MICA_OK;
  mica_tensor **own = &pair[pair[0] == c->now[input]];
  MICA_TRY(fit(c, own, type));
  *tensor = *own;
  return MICA_OK;
}

static mica_status read_number(mica_queue *queue, const mica_tensor *tensor, int64_t *number) {
  unsigned char element[16];
  if (mica_tensor_count(tensor) != 1)
    return mica__fail(MICA_E_SHAPE, "a loop's number of trips or condition has %lld elements, but must have 1",
                      (long long)mica_tensor_count(tensor));
  MICA_TRY(mica_tensor_download(queue, tensor, element, mica_tensor_bytes(tensor)));
  double value = mica__element_get(mica_tensor_dtype(tensor), element, 0);
  *number = value > 0x1p62 ? INT64_MAX : value < 0 ? 0 : (int64_t)value;
  return MICA_OK;
}

/* --- collected results --- */

static mica_shape rows_of(mica_shape row, int64_t rows) {
  mica_shape shape = {.rank = row.rank + 1, .dim = {rows}};
  for (int32_t i = 0; i < row.rank; i++) shape.dim[i + 1] = row.dim[i];
  return shape;
}

static mica_status view_rows(const mica_tensor *buffer, mica_shape row, int64_t from, int64_t rows,
                             mica_tensor **view) {
  int64_t count = 0;
  MICA_TRY(mica_shape_count(row, &count));
  return mica_tensor_view(buffer, rows_of(row, rows), NULL, from * count, view);
}

static mica_status grow(const loop_call *c, mica_queue *queue, collection *k, const mica_tensor *row, int64_t used,
                        int64_t rows) {
  mica_tensor *more = NULL, *old = NULL, *new = NULL;
  mica_shape shape = mica_tensor_shape(row);
  MICA_TRY(mica_tensor_create(c->body->runner->engine, mica_tensor_dtype(row), rows_of(shape, rows), &more));
  mica_status status = MICA_OK;
  if (used) status = view_rows(k->buffer, shape, 0, used, &old);
  if (used && status == MICA_OK) status = view_rows(more, shape, 0, used, &new);
  if (used && status == MICA_OK) status = mica_op_copy(queue, old, new);
  mica_tensor_destroy(old);
  mica_tensor_destroy(new);
  if (status != MICA_OK) {
    mica_tensor_destroy(more);
    return status;
  }
  mica_tensor_destroy(k->buffer);
  k->buffer = more;
  k->room = rows;
  return MICA_OK;
}

static mica_status collect(const loop_call *c, mica_queue *queue, collection *k, const mica_tensor *row, int64_t at,
                           int64_t trip, int64_t most) {
  mica_shape shape = mica_tensor_shape(row);
  if (shape.rank == MICA_MAX_RANK)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "a loop collects values of rank %d, but collected values can have at most rank %d", shape.rank,
                      MICA_MAX_RANK - 1);
  mica_tensor *view = NULL;
  mica_shape have = k->buffer ? mica_tensor_shape(k->buffer) : (mica_shape){0};
  bool fits = k->buffer && mica_tensor_dtype(k->buffer) == mica_tensor_dtype(row) &&
              mica_shape_equal(have, rows_of(shape, k->room));
  if (trip && !fits) {
    char is[MICA_SHAPE_TEXT];
    return mica__fail(
        MICA_E_SHAPE,
        "a loop must collect values of one type and shape, but trip %lld (from 0) gives %s %s, unlike earlier trips",
        (long long)trip, mica_dtype_name(mica_tensor_dtype(row)), mica_shape_format(shape, is));
  }
  int64_t enough = most >= 0 && most < 1024 ? most : ROWS;
  while (enough <= at) enough *= 2;
  if (!fits || k->room <= at) MICA_TRY(grow(c, queue, k, row, trip, enough));
  if (!mica_tensor_bytes(row)) return MICA_OK;
  int64_t count = mica_tensor_count(row);
  MICA_TRY(mica_tensor_view(k->buffer, shape, NULL, at * count, &view));
  mica_status status = mica_op_copy(queue, row, view);
  mica_tensor_destroy(view);
  return status;
}

static mica_status end_collection(loop_call *c, collection *k, int64_t trips, const mica_tensor **result) {
  mica_tensor_destroy(k->view);
  k->view = NULL;
  if (!trips) {
    if (!k->has_empty)
      return mica__fail(MICA_E_UNSUPPORTED,
                        "a loop had no trips, so its body must declare a supported type and a fixed shape of at most "
                        "%d axes for each output that is collected",
                        MICA_MAX_RANK - 1);
    MICA_TRY(
        mica_tensor_create(c->body->runner->engine, (mica_dtype)k->empty.dtype, mica__flow_shape(&k->empty), &k->view));
  } else {
    mica_shape shape = mica_tensor_shape(k->buffer);
    shape.dim[0] = trips;
    MICA_TRY(mica_tensor_view(k->buffer, shape, NULL, 0, &k->view));
  }
  *result = k->view;
  return MICA_OK;
}

/* --- trips --- */

static mica_status run_trip(loop_call *c, mica_queue *queue, int64_t trip, int64_t most, bool *on) {
  const mica__loop_form *f = &c->form;
  mica__flow_program *program = NULL;
  mica__run run = {.queue = queue, .inputs = c->now, .want = want, .user = c};
  MICA_TRY(mica__function_call(c->body, &run, &program));
  const mica__stage *last = program->path[program->path_count - 1];
  const mica_tensor **outputs = program->outputs + f->conditional;
  for (size_t k = 0; k < f->collected; k++) {
    int64_t at = f->back_out[k] ? most - 1 - trip : trip;
    MICA_TRY(collect(c, queue, &c->collections[k], outputs[f->states + k], at, trip, most));
  }
  for (size_t k = 0; k < f->states; k++) c->now[first_state(c) + k] = outputs[k];
  c->now[0] = program->outputs[c->body->output_count - 1];
  if (!f->conditional) return MICA_OK;
  *on = last->known[0] != 0;
  if (last->known[0] >= 0) return MICA_OK;
  int64_t number = 0;
  MICA_TRY(read_number(queue, program->outputs[0], &number));
  *on = number != 0;
  return MICA_OK;
}

static mica_status run(mica__call *call, mica_queue *queue, const mica_tensor *const *operands) {
  loop_call *c = (loop_call *)call;
  const mica__loop_form *f = &c->form;
  int64_t most = f->most, first = 1, trip = 0;
  if (c->trips_at != NONE) MICA_TRY(read_number(queue, operands[c->trips_at], &most));
  if (c->first_at != NONE) MICA_TRY(read_number(queue, operands[c->first_at], &first));
  for (size_t i = 0; i < c->body->input_count; i++) c->now[i] = c->slots[i] == NONE ? NULL : operands[c->slots[i]];
  if (!c->trip_zero)
    MICA_TRY(mica_tensor_create_from(c->body->runner->engine, MICA_I64, MICA_SCALAR, &(int64_t){0}, &c->trip_zero));
  c->now[0] = c->trip_zero;
  for (bool on = first != 0; on && (most < 0 || trip < most); trip++) {
    MICA_TRY(run_trip(c, queue, trip, most, &on));
    if (trip % QUEUED == QUEUED - 1) MICA_TRY(mica_queue_finish(queue));
  }
  for (size_t k = 0; k < f->states; k++) call->results[k] = c->now[first_state(c) + k];
  for (size_t k = 0; k < f->collected; k++)
    MICA_TRY(end_collection(c, &c->collections[k], trip, &call->results[f->states + k]));
  return MICA_OK;
}

/* --- making --- */

static void destroy(mica__call *call) {
  loop_call *c = (loop_call *)call;
  mica__function_destroy(c->body);
  free(c->slots);
  free(c->now);
  mica_tensor_destroy(c->trip_zero);
  for (int b = 0; b < 2; b++) {
    mica_tensor_destroy(c->trip_numbers[b]);
    for (size_t k = 0; k < c->form.states; k++) mica_tensor_destroy(c->states[k][b]);
  }
  for (size_t k = 0; k < c->form.collected; k++) {
    mica_tensor_destroy(c->collections[k].view);
    mica_tensor_destroy(c->collections[k].buffer);
  }
}

static mica_status say_inputs(loop_call *c) {
  const mica__loop_form *f = &c->form;
  if (f->conditional) {
    bool *on = malloc(sizeof *on);
    if (!on) return mica__fail_nomem("a loop");
    *on = true;
    c->body->inputs[1].dtype = MICA_BOOL;
    c->body->inputs[1].data = on;
  }
  for (size_t k = 0; k < f->scanned; k++) {
    mica__lower_input *input = &c->body->inputs[first_state(c) + f->states + k];
    input->sliced = true;
    input->axis = (int32_t)f->axis_in[k];
    input->back = f->back_in[k];
  }
  for (size_t k = 0; k < f->collected; k++) {
    mica_dtype dtype;
    mica_shape shape;
    size_t at = f->conditional + f->states + k;
    c->collections[k].has_empty = mica__flow_declared(f->body->proto->output[at], &dtype, &shape);
    if (c->collections[k].has_empty) c->collections[k].empty = mica__flow_type_of(dtype, rows_of(shape, 0));
  }
  return MICA_OK;
}

/* Lists the operands of the call, and records in c->slots the index of the operand that is passed to each input of the
 * body. */
static void list_operands(loop_call *c, const mica_value *captured, const mica_value *values, mica_value *operands,
                          size_t *count) {
  const mica__loop_form *f = &c->form;
  size_t from = first_state(c), given = f->states + f->scanned;
  c->trips_at = c->first_at = NONE;
  for (size_t i = 0; i < c->body->input_count; i++) {
    mica_value value = i < from ? (mica_value){0} : i < from + given ? values[i - from] : captured[i];
    c->slots[i] = value.graph ? *count : NONE;
    if (value.graph) operands[(*count)++] = value;
  }
  if (f->trips.graph) c->trips_at = *count, operands[(*count)++] = f->trips;
  if (f->first.graph) c->first_at = *count, operands[(*count)++] = f->first;
}

static mica_status fill(mica__lowering *l, const mica__onnx_node *node, loop_call *c, const mica_value *values,
                        mica_value **operands, size_t *count) {
  const mica__loop_form *f = &c->form;
  const Onnx__GraphProto *proto = f->body->proto;
  const char *formals[2 + MICA__LOOP_VALUES] = {"trip #"};
  mica_value *captured = NULL;
  size_t from = first_state(c), formal_count = from + f->states + f->scanned, skipped = f->conditional ? 0 : 1;
  for (size_t i = skipped; i < formal_count; i++) formals[i] = mica__onnx_text(proto->input[i - skipped]->name);
  MICA_TRY(mica__function_capture(l, node, f->body, formals, formal_count, true, &c->body, &captured));
  if (!c->body) return MICA_OK;
  c->slots = calloc(c->body->input_count + 1, sizeof *c->slots);
  c->now = calloc(c->body->input_count + 1, sizeof(mica_tensor *));
  *operands = mica__lower_room(l, c->body->input_count + 2, sizeof **operands);
  if (!c->slots || !c->now || !*operands) return mica__fail_nomem("a loop");
  list_operands(c, captured, values, *operands, count);
  return say_inputs(c);
}

mica_status mica__loop_call(mica__lowering *l, const mica__onnx_node *node, const mica__loop_form *form,
                            const mica_value *values, mica_value *results, bool *done) {
  size_t count = 0, result_count = form->states + form->collected;
  mica_value *operands = NULL;
  loop_call *c = NULL;
  if (form->states + form->scanned > MICA__LOOP_VALUES || result_count > MICA__LOOP_VALUES)
    return mica__lower_fail(
        l, node, MICA_E_UNSUPPORTED,
        "the loop has %zu carried and scanned inputs and %zu outputs, but at most %d of each are supported",
        form->states + form->scanned, result_count, MICA__LOOP_VALUES);
  *done = false;
  if (!mica__cut_is_replayed(l)) {
    c = calloc(1, sizeof *c);
    if (!c) return mica__fail_nomem("a loop");
    c->form = *form;
    c->call.run = run;
    c->call.destroy = destroy;
    mica_status status = mica__call_init(&c->call, result_count);
    if (status == MICA_OK) status = fill(l, node, c, values, &operands, &count);
    if (status != MICA_OK || !c->body) {
      destroy(&c->call);
      free(c->call.results);
      free(c);
      return status;
    }
  } else if (!mica__cut_replays_call(l)) {
    return MICA_OK;
  }
  MICA_TRY(mica__cut_call(l, node, form->why, c ? &c->call : NULL, operands, count, results, result_count));
  *done = true;
  return MICA_OK;
}
