#include "runtime/host_step.h"

#include "base/checked.h"
#include "base/error.h"
#include "runtime/buffer.h"
#include "runtime/objects.h"

#include <stdlib.h>
#include <string.h>

/* Elements of the host begin at multiples of that many bytes. */
#define HOST_ALIGNMENT 64

/* A tensor and its elements on the host. */
typedef struct operand {
  mica_tensor tensor; /* its buffer is the one bound where there is a placeholder, and retained where there is none */
  const mica_buffer *placeholder;
  int64_t first; /* in the placeholder */
  size_t offset; /* in the step's memory */
} operand;

struct mica__host_step {
  mica__host_call call; /* without the tensors */
  operand *operands;    /* inputs, then outputs */
  void **elements;      /* of the operands */
  char *memory;         /* theirs, and the copy of call.user */
};

static int32_t count_of(const mica__host_step *step) { return step->call.input_count + step->call.output_count; }

/* Lays the operands out in the step's memory; *bytes is what they take. */
static mica_status lay_out(mica__host_step *step, const mica__host_call *call, size_t *bytes) {
  *bytes = mica__round_up(call->user_bytes, HOST_ALIGNMENT);
  for (int32_t i = 0; i < count_of(step); i++) {
    const mica_tensor *tensor = i < call->input_count ? call->inputs[i] : call->outputs[i - call->input_count];
    operand *o = &step->operands[i];
    if (!tensor) continue;
    *o = (operand){.tensor = *tensor, .first = tensor->first, .offset = *bytes};
    if (!mica__add_size(*bytes, mica__round_up(mica_tensor_bytes(tensor), HOST_ALIGNMENT), bytes))
      return mica__fail(MICA_E_OVERFLOW, "%s: the operands are too large for the host's addresses", call->name);
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
  if (status == MICA_OK && !(step->memory = aligned_alloc(HOST_ALIGNMENT, bytes + HOST_ALIGNMENT)))
    status = mica__fail_nomem("a step of the host");
  if (status != MICA_OK) {
    mica__host_step_destroy(step);
    return status;
  }
  if (call->user_bytes) memcpy(step->memory, call->user, call->user_bytes);
  step->call.user = step->memory;
  for (int32_t i = 0; i < count_of(step); i++)
    if (step->operands[i].tensor.buffer) step->elements[i] = step->memory + step->operands[i].offset;
  *out = step;
  return MICA_OK;
}

int32_t mica__host_step_number(const mica__host_step *step) { return step->call.number; }

mica_status mica__host_step_run(mica__host_step *step, mica_queue *queue) {
  int32_t inputs = step->call.input_count;
  for (int32_t i = 0; i < inputs; i++) {
    const mica_tensor *tensor = &step->operands[i].tensor;
    if (!step->elements[i]) continue;
    MICA_TRY(mica_tensor_download(queue, tensor, step->elements[i], mica_tensor_bytes(tensor)));
  }
  mica_status status = step->call.run(step->call.user, (const void *const *)step->elements, step->elements + inputs);
  if (status != MICA_OK) return mica__fail_in(status, step->call.name);
  for (int32_t i = inputs; i < count_of(step); i++) {
    mica_tensor *tensor = &step->operands[i].tensor;
    MICA_TRY(mica_tensor_upload(queue, tensor, step->elements[i], mica_tensor_bytes(tensor)));
  }
  return MICA_OK;
}

void mica__host_step_bind(mica__host_step *step, const mica_buffer *placeholder, const mica_tensor *tensor) {
  for (int32_t i = 0; i < count_of(step); i++) {
    operand *o = &step->operands[i];
    if (o->placeholder != placeholder) continue;
    o->tensor.buffer = tensor->buffer;
    o->tensor.first = o->first + tensor->first;
  }
}

void mica__host_step_destroy(mica__host_step *step) {
  if (!step) return;
  for (int32_t i = 0; step->operands && i < count_of(step); i++)
    if (!step->operands[i].placeholder) mica_buffer_destroy(step->operands[i].tensor.buffer);
  free(step->operands);
  free(step->elements);
  free(step->memory);
  free(step);
}
