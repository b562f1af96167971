/* Steps of a stage, and the exchange of weights before a test. */
#include "base/text.h"
#include "nn/divided.h"
#include "ops/collective/channels.h"
#include "train/stages.h"

#include <stdlib.h>
#include <string.h>

bool mica__stages_counts(const mica_trainer *t) {
  return mica__ranks_own(t) % mica__ranks_parts(t) == 0 && (!t->stages || t->stages->stage == t->stages->count - 1);
}

/* --- passes --- */

/* Makes a view of micro-batch m of the column with this name. */
static mica_status make_view(const mica__stages *s, const char *column, const mica_tensor *whole, int32_t m,
                             mica_tensor **view) {
  mica_shape shape = mica_tensor_shape(whole);
  int64_t count = 0;
  if (shape.rank < 1)
    return mica__fail(MICA_E_INVALID, "column '%s' is a scalar; with stages, each column needs a dimension of samples",
                      column);
  if (shape.dim[0] % s->micro)
    return mica__fail(MICA_E_INVALID, "a batch of %lld samples cannot be divided into %d equal micro-batches",
                      (long long)shape.dim[0], (int)s->micro);
  shape.dim[0] /= s->micro;
  MICA_TRY(mica_shape_count(shape, &count));
  return mica_tensor_view((mica_tensor *)(uintptr_t)whole, shape, NULL, m * count, view);
}

static void drop_views(mica_trainer *t) {
  for (size_t i = 0; i < t->training.batch.count; i++) {
    mica_tensor_destroy(t->stages->views[i]);
    t->stages->views[i] = NULL;
  }
}

static mica_status make_feeds(mica_trainer *t, int32_t m, const mica_tensor *x, size_t *count) {
  mica__stages *s = t->stages;
  *count = 0;
  for (size_t i = 0; i < t->training.batch.count; i++) {
    const mica__batch_input *column = &t->training.batch.columns[i];
    const mica_tensor *whole = NULL;
    if (!column->value.graph) continue;
    for (size_t k = 0; k < s->batch->tensor_count && !whole; k++)
      if (!strcmp(s->batch->tensors[k].name, column->name)) whole = s->batch->tensors[k].tensor;
    if (!whole) return mica__fail(MICA_E_INVALID, "the batch has no column '%s'", column->name);
    MICA_TRY(make_view(s, column->name, whole, m, &s->views[i]));
    s->feeds[(*count)++] = (mica_feed){column->input, s->views[i]};
  }
  if (x) s->feeds[(*count)++] = (mica_feed){"pipe.x", x};
  return MICA_OK;
}

/* Sets the number of a pass, so that both passes of a micro-batch drop the same elements. */
static mica_status number_pass(mica_trainer *t, int32_t m) {
  const int64_t number = t->progress.step * t->stages->micro + m;
  if (!t->stages->steps) return MICA_OK;
  return mica_tensor_upload(t->queue, mica_session_parameter(t->training.session, "step"), &number, sizeof number);
}

static mica_status run(mica_trainer *t, mica_session *session, int32_t m, const mica_tensor *x, const mica_tensor *dy) {
  size_t count = 0;
  mica_status status = make_feeds(t, m, x, &count);
  if (dy) t->stages->feeds[count++] = (mica_feed){"pipe.dy", dy};
  if (status == MICA_OK) status = number_pass(t, m);
  if (status == MICA_OK) status = mica_session_run(session, t->queue, t->stages->feeds, count);
  drop_views(t);
  return status;
}

static mica_status pass_forward(void *user, int32_t m, const mica_tensor *x, const mica_tensor **y) {
  mica_trainer *t = user;
  MICA_TRY(run(t, t->stages->forward, m, x, NULL));
  *y = mica_session_output(t->stages->forward, 0);
  return MICA_OK;
}

static mica_status pass_backward(void *user, int32_t m, const mica_tensor *x, const mica_tensor *dy,
                                 const mica_tensor **dx) {
  mica_trainer *t = user;
  MICA_TRY(run(t, t->training.session, m, x, dy));
  *dx = x ? mica_session_output(t->training.session, 1) : NULL;
  return MICA_OK;
}

mica_status mica__stages_link(mica_trainer *t) {
  mica__stages *s = t->stages;
  const mica_stage_config config = {.communicator = s->pipe,
                                    .last_first = true,
                                    .schedule = t->config.stages.schedule,
                                    .micro_batches = s->micro,
                                    .x = s->x,
                                    .y = s->y,
                                    .forward = pass_forward,
                                    .backward = pass_backward,
                                    .user = t};
  return mica_stage_create(t->engine, &config, &s->link);
}

mica_status mica__stages_step(mica_trainer *t, const mica_batch *batch, mica_tensor *row, const mica_tensor *rate) {
  mica__stages *s = t->stages;
  s->batch = batch;
  MICA_TRY(mica_stage_run(s->link));
  MICA_TRY(mica_session_bind_output(s->update, 0, row));
  return mica_session_run(s->update, t->queue, &(mica_feed){MICA_LEARNING_RATE, rate}, 1);
}

/* --- weights for tests --- */

/* The tensor that tests use for a parameter: its moving average if it has one. NULL: this stage lacks it. */
static mica_status tested(mica_trainer *t, const mica_nn_parameter_info *info, mica_tensor **tensor) {
  mica__text name = {0};
  mica__text_addf(&name, "ema.%s", info->own_name);
  const mica_status status = mica__text_status(&name);
  mica_session *averages = t->stages ? t->stages->update : t->training.session;
  *tensor = status == MICA_OK ? mica_session_parameter(averages, name.data) : NULL;
  if (status == MICA_OK && !*tensor) *tensor = mica_session_parameter(t->training.session, info->name);
  mica__text_free(&name);
  return status;
}

/* Fetches this rank's bytes of a parameter from the first stage that has it, which is the highest such rank of the
 * pipe. */
static mica_status fetch(mica_trainer *t, size_t index, char *data, size_t bytes) {
  const mica__stages *s = t->stages;
  const mica_nn_parameter_info *info = mica_nn_parameter_at(t->training.nn, index);
  mica_tensor *from = NULL;
  int32_t stage = 0;
  while (s && !(s->holders[index] >> stage & 1)) stage++;
  if (!s || stage == s->stage) {
    MICA_TRY(tested(t, info, &from));
    if (!from)
      return mica__fail(MICA_E_STATE, "this rank holds no tensor for the parameter '%s' (an error in Mica)",
                        info->name);
    MICA_TRY(mica_tensor_download(t->queue, from, data, bytes));
  }
  const mica_transfer all = {.kind = MICA_COLLECTIVE_BROADCAST,
                             .channel = MICA__CHANNEL_SHARE,
                             .peer = s ? s->count - 1 - stage : 0,
                             .dtype = MICA_U8,
                             .data = data,
                             .count = (int64_t)bytes};
  return s ? mica_communicator_run(s->pipe, &all) : MICA_OK;
}

/* Assembles a tensor from the parts of all ranks. parts has room for all of them. */
static mica_status join_parts(const mica_trainer *t, size_t index, char *parts, char *whole, size_t bytes) {
  mica_communicator *c = t->tensor;
  const mica__division *d = mica__nn_division(t->training.nn, index);
  const mica_value value = mica_nn_parameter_at(t->training.nn, index)->value;
  int64_t *offsets = calloc((size_t)c->ranks + 1, sizeof *offsets);
  if (!offsets) return mica__fail_nomem("weights of all ranks");
  for (int32_t k = 0; k <= c->ranks; k++) offsets[k] = (int64_t)(bytes / (size_t)c->ranks) * k;
  const mica_transfer all = {.kind = MICA_COLLECTIVE_ALL_GATHER,
                             .channel = MICA__CHANNEL_SHARE,
                             .dtype = MICA_U8,
                             .data = parts,
                             .count = (int64_t)bytes,
                             .offsets = offsets};
  mica_status status = mica_communicator_run(c, &all);
  for (int32_t k = 0; status == MICA_OK && k < c->ranks; k++)
    mica__division_copy(d, mica_value_shape(value), mica_dtype_size(mica_value_dtype(value)), c->ranks, k, whole,
                        parts + offsets[k], true);
  free(offsets);
  return status;
}

static mica_status share_one(mica_trainer *t, size_t index) {
  const mica_nn_parameter_info *info = mica_nn_parameter_at(t->training.nn, index);
  mica_tensor *to = mica_session_parameter(t->testing.session, info->name);
  const bool divided = mica__is_divided(mica__nn_division(t->training.nn, index));
  if (!to || info->role == MICA_NN_ROLE_OPTIMIZER || (t->stages && !t->stages->holders[index])) return MICA_OK;
  const size_t bytes = mica_tensor_bytes(to), own = divided ? bytes / (size_t)t->tensor->ranks : bytes;
  char *data = malloc(2 * bytes + 1), *whole = divided ? data + bytes : data;
  if (!data) return mica__fail_nomem("weights of all ranks");
  mica_status status = fetch(t, index, divided ? data + own * (size_t)t->tensor->rank : data, own);
  if (status == MICA_OK && divided) status = join_parts(t, index, data, whole, bytes);
  if (status == MICA_OK) status = mica_tensor_upload(t->queue, to, whole, bytes);
  free(data);
  return status;
}

mica_status mica__stages_share(mica_trainer *t) {
  if (!mica__ranks_apart(t) || !t->stale) return MICA_OK;
  for (size_t i = 0; i < mica_nn_parameter_count(t->training.nn); i++) MICA_TRY(share_one(t, i));
  t->stale = false;
  return MICA_OK;
}
