/* Records host ops as calls between kernel launches. */
#include "compile/plan.h"
#include "runtime/host_step.h"

#include <stdlib.h>

/* The arguments of a host step. They lie in the recording's memory, so the op gets the same object in every call.
 * `types` holds the types of the inputs. */
typedef struct host_node {
  const mica__op *op;
  mica__host host;
  mica__type results[MICA__MAX_RESULTS];
  mica__type types[];
} host_node;

/* Sets the pointers that copying the struct invalidates, and the memory of inputs and outputs. */
static const mica__host *host_of(host_node *h, const void *const *inputs, void *const *outputs) {
  h->host.types = h->types;
  h->host.type = h->results;
  h->host.inputs = inputs;
  h->host.output = outputs[0];
  h->host.outputs = outputs;
  return &h->host;
}

static mica_status run(void *user, const void *const *inputs, void *const *outputs) {
  host_node *h = user;
  return h->op->host(host_of(h, inputs, outputs));
}

static mica_status begin(void *user, const void *const *inputs, void *const *outputs, mica_event *ready,
                         void **pending) {
  host_node *h = user;
  return h->op->begin(host_of(h, inputs, outputs), ready, pending);
}

static mica_status end(void *user, void *pending, mica_status failed) {
  host_node *h = user;
  return h->op->end(&h->host, pending, failed);
}

mica_status mica__partition_record_host(const mica__partition *partition, const mica__step *step,
                                        const mica__exec *exec) {
  const mica__node *node = mica__graph_node(partition->graph, step->members[0]);
  size_t bytes = sizeof(host_node) + (size_t)node->input_count * sizeof(mica__type);
  host_node *user = calloc(1, bytes);
  if (!user) return mica__fail_nomem("a session");
  user->op = node->op;
  user->host = (mica__host){.attrs = node->attrs, .input_count = node->input_count};
  for (int32_t k = 0; k < step->count; k++) user->results[k] = node[k].type;
  for (int32_t k = 0; k < node->input_count; k++)
    user->types[k] = mica__graph_node(partition->graph, node->inputs[k])->type;
  mica__host_call call = {.name = node->op->name,
                          .user = user,
                          .user_bytes = bytes,
                          .inputs = exec->inputs,
                          .input_count = node->input_count,
                          .outputs = exec->outputs,
                          .output_count = step->count,
                          .number = (int32_t)(step - partition->steps)};
  if (node->op->begin)
    call.begin = begin, call.end = end;
  else
    call.run = run;
  mica_status status = mica__recorder_add_host_step(exec->queue, &call);
  /* The prologue (recorder.h) runs its steps one after the other, so the second half of the step follows the first at
   * once. */
  if (status == MICA_OK && step->invariant) status = mica__recorder_end_host_step(exec->queue, call.number);
  free(user);
  return status;
}
