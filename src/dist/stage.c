/* Transfers between the stages of a pipeline: values to the next stage, gradients to the previous one. A value's shape
 * is sent first, because batches may differ. */
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "ops/collective/channels.h"

#include <mica/parallel.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of messages in flight per direction; each has its own buffer. */
#define IN_FLIGHT 2

typedef struct message {
  mica_shape shape;
  void *data;
  size_t room;
  void *requests[2]; /* of the shape, and of the data */
} message;

typedef struct direction {
  int32_t channel;
  int64_t sent; /* number of messages so far */
  message messages[IN_FLIGHT];
} direction;

struct mica_stage {
  mica_stage_config config;
  mica_engine *engine;
  mica_queue *queue;
  int32_t stage, stages;
  /* order: m + 1 is the forward pass of micro-batch m, -(m + 1) its backward pass. slots: inputs kept at once */
  int32_t *order, slots;
  mica_tensor **inputs; /* one per slot */
  mica_shape *sent;     /* shapes of sent values, one per slot */
  mica_tensor *dy;
  direction values, gradients;
  message received;
  mica_pipeline_stats stats;
};

static bool is_first(const mica_stage *s) { return s->stage == 0; }
static bool is_last(const mica_stage *s) { return s->stage == s->stages - 1; }

/* The rank of another stage. */
static int32_t rank_of(const mica_stage *s, int32_t stage) {
  return s->config.last_first ? s->stages - 1 - stage : stage;
}

/* --- creation --- */

static mica_status make_order(mica_stage *s) {
  const int32_t micro = s->config.micro_batches;
  s->order = calloc(2 * (size_t)micro, sizeof *s->order);
  if (!s->order) return mica__fail_nomem("a pipeline's order");
  MICA_TRY(mica_pipeline_order(s->config.schedule, s->stages, s->stage, micro, s->order));
  for (int32_t i = 0, kept = 0; i < 2 * micro; i++) {
    kept += s->order[i] > 0 ? 1 : -1;
    if (kept > s->slots) s->slots = kept;
  }
  s->inputs = calloc((size_t)s->slots, sizeof(mica_tensor *));
  s->sent = calloc((size_t)s->slots, sizeof *s->sent);
  return s->inputs && s->sent ? MICA_OK : mica__fail_nomem("a pipeline's inputs");
}

static mica_status check(const mica_stage_config *c) {
  if (!c->communicator || !c->forward || !c->backward)
    return mica__fail(MICA_E_INVALID, "mica_stage_create: communicator, forward or backward is NULL");
  if (c->micro_batches < 1 || c->micro_batches > INT32_MAX / 2)
    return mica__fail(MICA_E_INVALID, "a pipeline's step cannot have %d micro-batches; give it 1 to %d",
                      (int)c->micro_batches, INT32_MAX / 2);
  if ((size_t)c->schedule > MICA_PIPELINE_SCHEDULE_GPIPE)
    return mica__fail(MICA_E_INVALID, "%d is not a mica_pipeline_schedule", (int)c->schedule);
  return MICA_OK;
}

mica_status mica_stage_create(mica_engine *engine, const mica_stage_config *config, mica_stage **out) {
  if (!engine || !config || !out) return mica__fail(MICA_E_INVALID, "mica_stage_create: a pointer is NULL");
  MICA_TRY(check(config));
  mica_stage *s = calloc(1, sizeof *s);
  if (!s) return mica__fail_nomem("a stage");
  s->config = *config;
  s->engine = engine;
  s->queue = mica_engine_queue(engine);
  s->stages = config->communicator->ranks;
  s->stage = rank_of(s, config->communicator->rank);
  s->values.channel = MICA__CHANNEL_STAGE_VALUES;
  s->gradients.channel = MICA__CHANNEL_STAGE_GRADIENTS;
  mica_status status = make_order(s);
  if (status == MICA_OK)
    *out = s;
  else
    mica_stage_destroy(s);
  return status;
}

void mica_stage_destroy(mica_stage *s) {
  if (!s) return;
  for (int32_t k = 0; s->inputs && k < s->slots; k++) mica_tensor_destroy(s->inputs[k]);
  for (int k = 0; k < IN_FLIGHT; k++) {
    free(s->values.messages[k].data);
    free(s->gradients.messages[k].data);
  }
  mica_tensor_destroy(s->dy);
  free(s->received.data);
  free(s->inputs);
  free(s->sent);
  free(s->order);
  free(s);
}

/* --- messages --- */

static mica_status make_room(message *m, size_t bytes) {
  if (bytes < m->room) return MICA_OK;
  void *grown = realloc(m->data, bytes + 1);
  if (!grown) return mica__fail_nomem("a pipeline's messages");
  m->data = grown;
  m->room = bytes + 1;
  return MICA_OK;
}

static mica_transfer transfer_of(mica_collective kind, int32_t channel, int32_t peer, void *data, size_t bytes) {
  return (mica_transfer){
      .kind = kind, .channel = channel, .peer = peer, .dtype = MICA_U8, .data = data, .count = (int64_t)bytes};
}

static mica_status receive_bytes(mica_stage *s, int32_t channel, int32_t from, void *data, size_t bytes) {
  const double start = mica__clock();
  const mica_transfer transfer = transfer_of(MICA_COLLECTIVE_RECEIVE, channel, from, data, bytes);
  mica_status status = mica_communicator_run(s->config.communicator, &transfer);
  s->stats.waited += mica__clock() - start;
  return status;
}

/* Receives a tensor from another stage; allocates a new one if the shape has changed. */
static mica_status receive(mica_stage *s, int32_t channel, int32_t stage, mica_dtype dtype, mica_tensor **tensor) {
  mica_shape shape;
  MICA_TRY(receive_bytes(s, channel, rank_of(s, stage), &shape, sizeof shape));
  if (!*tensor || !mica_shape_equal(shape, mica_tensor_shape(*tensor))) {
    mica_tensor_destroy(*tensor);
    *tensor = NULL;
    MICA_TRY(mica_tensor_create(s->engine, dtype, shape, tensor));
  }
  const size_t bytes = mica_tensor_bytes(*tensor);
  MICA_TRY(make_room(&s->received, bytes));
  MICA_TRY(receive_bytes(s, channel, rank_of(s, stage), s->received.data, bytes));
  return mica_tensor_upload(s->queue, *tensor, s->received.data, bytes);
}

static mica_status wait_for(mica_stage *s, message *m) {
  mica_status status = MICA_OK;
  const double start = mica__clock();
  for (int i = 0; i < 2; i++) {
    void *request = m->requests[i];
    m->requests[i] = NULL;
    const mica_status own = request ? mica_communicator_wait(s->config.communicator, request) : MICA_OK;
    if (status == MICA_OK) status = own;
  }
  s->stats.waited += mica__clock() - start;
  return status;
}

static mica_status wait_for_sends(mica_stage *s) {
  mica_status status = MICA_OK;
  for (int k = 0; k < IN_FLIGHT; k++) {
    const mica_status values = wait_for(s, &s->values.messages[k]), gradients = wait_for(s, &s->gradients.messages[k]);
    if (status == MICA_OK) status = values != MICA_OK ? values : gradients;
  }
  return status;
}

/* Downloads the tensor and sends it. */
static mica_status send(mica_stage *s, direction *d, const mica_tensor *tensor, int32_t stage) {
  message *m = &d->messages[d->sent++ % IN_FLIGHT];
  mica_communicator *c = s->config.communicator;
  if (!tensor)
    return mica__fail(MICA_E_STATE, "the %s pass of stage %d of a pipeline returned no output to send",
                      d == &s->gradients ? "backward" : "forward", (int)s->stage);
  const size_t bytes = mica_tensor_bytes(tensor);
  MICA_TRY(wait_for(s, m));
  MICA_TRY(make_room(m, bytes));
  MICA_TRY(mica_tensor_download(s->queue, tensor, m->data, bytes));
  m->shape = mica_tensor_shape(tensor);
  const mica_transfer shape =
      transfer_of(MICA_COLLECTIVE_SEND, d->channel, rank_of(s, stage), &m->shape, sizeof m->shape);
  const mica_transfer data = transfer_of(MICA_COLLECTIVE_SEND, d->channel, rank_of(s, stage), m->data, bytes);
  s->stats.bytes_sent += bytes;
  MICA_TRY(mica_communicator_begin(c, &shape, &m->requests[0]));
  return mica_communicator_begin(c, &data, &m->requests[1]);
}

/* --- a step --- */

static mica_status pass_forward(mica_stage *s, int32_t m) {
  const mica_tensor *y = NULL;
  mica_tensor **x = &s->inputs[m % s->slots];
  s->stats.forwards++;
  if (!is_first(s)) MICA_TRY(receive(s, s->values.channel, s->stage - 1, s->config.x, x));
  if (is_last(s)) return MICA_OK;
  MICA_TRY(s->config.forward(s->config.user, m, *x, &y));
  MICA_TRY(send(s, &s->values, y, s->stage + 1));
  s->sent[m % s->slots] = mica_tensor_shape(y);
  return MICA_OK;
}

static mica_status pass_backward(mica_stage *s, int32_t m) {
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  const mica_tensor *dx = NULL;
  s->stats.backwards++;
  if (!is_last(s)) {
    MICA_TRY(receive(s, s->gradients.channel, s->stage + 1, s->config.y, &s->dy));
    if (!mica_shape_equal(mica_tensor_shape(s->dy), s->sent[m % s->slots]))
      return mica__fail(
          MICA_E_STATE, "the gradient of a micro-batch has the shape %s, but its values have the shape %s",
          mica_shape_format(mica_tensor_shape(s->dy), is), mica_shape_format(s->sent[m % s->slots], want));
  }
  MICA_TRY(s->config.backward(s->config.user, m, s->inputs[m % s->slots], is_last(s) ? NULL : s->dy, &dx));
  return is_first(s) ? MICA_OK : send(s, &s->gradients, dx, s->stage - 1);
}

static mica_status run_step(mica_stage *s) {
  int32_t kept = 0;
  for (int32_t i = 0; i < 2 * s->config.micro_batches; i++) {
    const int32_t pass = s->order[i];
    kept += pass > 0 ? 1 : -1;
    if (kept > s->stats.most_kept) s->stats.most_kept = kept;
    MICA_TRY(pass > 0 ? pass_forward(s, pass - 1) : pass_backward(s, -pass - 1));
  }
  return wait_for_sends(s);
}

mica_status mica_stage_run(mica_stage *s) {
  if (!s) return mica__fail(MICA_E_INVALID, "mica_stage_run: a pointer is NULL");
  const double from = mica__clock();
  mica_status status = run_step(s);
  s->stats.seconds += mica__clock() - from;
  if (status == MICA_OK) return MICA_OK;
  /* Aborts, because other stages would wait for this one; the abort also ends this stage's own requests. */
  char *sentence = mica__strdup(mica_error_message());
  mica_communicator_abort(s->config.communicator, sentence ? sentence : "");
  (void)wait_for_sends(s);
  status = mica__fail(status, "%s", sentence ? sentence : "a step of a pipeline failed");
  free(sentence);
  return status;
}

mica_pipeline_stats mica_stage_stats_of(const mica_stage *s) { return s->stats; }
