#include "runtime/host_step.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/large.h"
#include "runtime/buffer.h"
#include "runtime/objects.h"
#include "runtime/profile.h"
#include "runtime/tensor.h"

#include <stdlib.h>
#include <string.h>

/* The alignment of elements on the host, in bytes. */
#define HOST_ALIGNMENT 64

/* A tensor, and the location of its elements on the host. */
typedef struct operand {
  mica_tensor tensor; /* its buffer is retained, or is the one bound to the placeholder if there is one */
  const mica_buffer *placeholder;
  int64_t first; /* index of the first element in the placeholder */
  size_t offset; /* in bytes, in the step's memory */
} operand;

struct mica__host_step {
  mica__host_call call; /* its arrays of tensors are not used after mica__host_step_create */
  operand *operands;    /* inputs, then outputs */
  void **elements;      /* pointers to the operands' elements in `memory` */
  char *memory;         /* holds the copy of call.user and the operands' elements */
  void *user;           /* the copy of call.user */
  mica_event ready;     /* for a call with begin and end: is done when the inputs are on the host */
  bool begun;
  void *pending; /* what begin passes to end */
};

static int32_t count_of(const mica__host_step *step) { return step->call.input_count + step->call.output_count; }

/* Assigns operands their offsets in the step's memory, and sets *bytes to the memory's size. */
static mica_status lay_out(mica__host_step *step, const mica__host_call *call, size_t *bytes) {
  *bytes = mica__round_up(call->user_bytes, HOST_ALIGNMENT);
  for (int32_t i = 0; i < count_of(step); i++) {
    const mica_tensor *tensor = i < call->input_count ? call->inputs[i] : call->outputs[i - call->input_count];
    operand *o = &step->operands[i];
    if (!tensor) continue;
    *o = (operand){.tensor = *tensor, .first = tensor->first, .offset = *bytes};
    if (!mica__add_size(*bytes, mica__round_up(mica_tensor_bytes(tensor), HOST_ALIGNMENT), bytes))
      return mica__fail(MICA_E_OVERFLOW, "%s: the inputs and outputs are too large for the host's memory", call->name);
    if (tensor->buffer->placeholder)
      o->placeholder = tensor->buffer;
    else
      mica__buffer_retain(tensor->buffer);
  }
  return MICA_OK;
}

mica_status mica__host_step_create(const mica__host_call *call, mica__host_step **out) {
  mica__host_step *step = calloc(1, sizeof *step);
  size_t bytes = 0;
  if (!step) return mica__fail_nomem("a step of the host");
  step->call = *call;
  step->operands = calloc((size_t)count_of(step) + 1, sizeof *step->operands);
  step->elements = calloc((size_t)count_of(step) + 1, sizeof *step->elements);
  mica_status status = step->operands && step->elements ? MICA_OK : mica__fail_nomem("a step of the host");
  if (status == MICA_OK) status = lay_out(step, call, &bytes);
  if (status == MICA_OK && !(step->memory = mica__alloc_aligned(HOST_ALIGNMENT, bytes + HOST_ALIGNMENT)))
    status = mica__fail_nomem("a step of the host");
  if (status != MICA_OK) {
    mica__host_step_destroy(step);
    return status;
  }
  /* Zeroes the gaps between operands too: they are read if all operands are used as one block. */
  memset(step->memory, 0, bytes);
  if (call->user_bytes) memcpy(step->memory, call->user, call->user_bytes);
  step->user = step->memory;
  for (int32_t i = 0; i < count_of(step); i++)
    if (step->operands[i].tensor.buffer) step->elements[i] = step->memory + step->operands[i].offset;
  *out = step;
  return MICA_OK;
}

int32_t mica__host_step_number(const mica__host_step *step) { return step->call.number; }

bool mica__host_step_is_begun(const mica__host_step *step) { return step->begun; }

bool mica__host_step_has_end(const mica__host_step *step) { return step->call.end != NULL; }

static mica_status upload(mica__host_step *step, mica_queue *queue) {
  for (int32_t i = step->call.input_count; i < count_of(step); i++) {
    mica_tensor *tensor = &step->operands[i].tensor;
    if (step->elements[i]) MICA_TRY(mica_tensor_upload(queue, tensor, step->elements[i], mica_tensor_bytes(tensor)));
  }
  return MICA_OK;
}

static mica_status run_whole(mica__host_step *step, mica_queue *queue) {
  int32_t inputs = step->call.input_count;
  for (int32_t i = 0; i < inputs; i++) {
    const mica_tensor *tensor = &step->operands[i].tensor;
    if (!step->elements[i]) continue;
    MICA_TRY(mica_tensor_download(queue, tensor, step->elements[i], mica_tensor_bytes(tensor)));
  }
  double start = mica__clock();
  mica_status status = step->call.run(step->user, (const void *const *)step->elements, step->elements + inputs);
  mica__profile_add_host(queue->engine, queue, "", step->call.name, start);
  if (status != MICA_OK) return mica__fail_in(status, step->call.name);
  return upload(step, queue);
}

/* Queues downloads of all inputs. Queues run in order, so all downloads are done when the last one is. */
static mica_status download(mica__host_step *step, mica_queue *queue) {
  mica__event_clear(&step->ready);
  step->ready.engine = queue->engine;
  for (int32_t i = 0; i < step->call.input_count; i++) {
    const mica_tensor *tensor = &step->operands[i].tensor;
    if (step->elements[i] && mica_tensor_bytes(tensor) > 0)
      MICA_TRY(mica__tensor_download_begin(queue, tensor, step->elements[i], &step->ready));
  }
  return mica__queue_flush(queue);
}

/* Waits until no download in flight writes to the step's memory. */
static mica_status drain(mica__host_step *step) {
  bool done = true;
  if (!step->ready.engine) return MICA_OK;
  MICA_TRY(mica_event_is_done(&step->ready, &done));
  return done ? MICA_OK : mica_event_wait(&step->ready);
}

/* Waits like drain, after the step has failed. If the wait fails too, only logs that: the first failure is the one to
 * report. */
static void drain_quietly(mica__host_step *step) {
  mica__attempt_begin();
  if (drain(step) != MICA_OK) mica__log(MICA_LOG_LEVEL_INFO, "%s: %s", step->call.name, mica_error_message());
  mica__attempt_end();
}

static mica_status begin(mica__host_step *step, mica_queue *queue) {
  double start = mica__clock();
  mica_status status = download(step, queue);
  step->pending = NULL;
  if (status == MICA_OK) {
    status = step->call.begin(step->user, (const void *const *)step->elements, step->elements + step->call.input_count,
                              &step->ready, &step->pending);
    if (status != MICA_OK) status = mica__fail_in(status, step->call.name);
  }
  mica__profile_add_host(queue->engine, queue, "begin ", step->call.name, start);
  step->begun = status == MICA_OK;
  if (!step->begun) drain_quietly(step);
  return status;
}

mica_status mica__host_step_run(mica__host_step *step, mica_queue *queue) {
  return step->call.begin ? begin(step, queue) : run_whole(step, queue);
}

mica_status mica__host_step_end(mica__host_step *step, mica_queue *queue, mica_status failed) {
  double start = mica__clock();
  /* Starts the launches queued since begin, so that they run while `end` waits. */
  if (failed == MICA_OK) failed = mica__queue_flush(queue);
  mica_status status = step->call.end(step->user, step->pending, failed);
  if (status != MICA_OK) status = mica__fail_in(status, step->call.name);
  step->begun = false;
  mica__profile_add_host(queue->engine, queue, "end ", step->call.name, start);
  if (status == MICA_OK)
    status = drain(step);
  else
    drain_quietly(step);
  if (failed != MICA_OK) return failed;
  return status == MICA_OK ? upload(step, queue) : status;
}

void mica__host_step_bind(mica__host_step *step, const mica_buffer *placeholder, const mica_tensor *tensor) {
  for (int32_t i = 0; i < count_of(step); i++) {
    operand *o = &step->operands[i];
    if (o->placeholder != placeholder) continue;
    o->tensor.buffer = tensor->buffer;
    o->tensor.first = o->first + tensor->first;
  }
}

void mica__host_step_give(mica__host_step *step, const mica_buffer *placeholder, mica_buffer *buffer) {
  for (int32_t i = 0; i < count_of(step); i++) {
    operand *o = &step->operands[i];
    if (!o->placeholder || o->placeholder != placeholder) continue;
    mica__buffer_retain(buffer);
    o->tensor.buffer = buffer;
    o->placeholder = NULL;
  }
}

void mica__host_step_destroy(mica__host_step *step) {
  if (!step) return;
  mica__event_clear(&step->ready);
  for (int32_t i = 0; step->operands && i < count_of(step); i++)
    if (!step->operands[i].placeholder) mica_buffer_destroy(step->operands[i].tensor.buffer);
  free(step->operands);
  free(step->elements);
  mica__free_aligned(step->memory);
  free(step);
}
