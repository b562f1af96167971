#include "runtime/recording.h"

#include "base/error.h"
#include "runtime/buffer.h"
#include "runtime/enqueue.h"
#include "runtime/host_step.h"
#include "runtime/kernel_table.h"
#include "runtime/loans.h"
#include "runtime/lost.h"
#include "runtime/program.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A launch with its own kernel object, whose arguments are set once. */
typedef struct step {
  mica__launch *launch; /* allocated only up to its last argument */
  cl_kernel handle;
  bool ran;
} step;

/* An argument that refers to a placeholder. */
typedef struct slot {
  const mica_buffer *placeholder;
  size_t step;
  uint32_t arg;
  int64_t first; /* index of the first element in the placeholder */
} slot;

/* Workspace of the recording. When the op that asked for it has released it, another op may get it. It is idle if only
 * the recording and its launches hold references to it. */
typedef struct scratch {
  mica_buffer *buffer;
  int named; /* number of recorded launches that use it */
} scratch;

/* The place in the recording where a host step runs or, if it has a `begin`, where that runs. If is_end, the place
 * where its `end` runs. */
typedef struct host_entry {
  mica__host_step *step;
  size_t before; /* number of launches before it */
  bool is_end;
} host_entry;

struct mica__recording {
  mica_engine *engine;
  bool dry_run;
  step *steps;
  size_t count, capacity;
  slot *slots;
  size_t slot_count, slot_capacity;
  scratch *scratches;
  size_t scratch_count;
  host_entry *host_steps;
  size_t host_step_count;
  mica_buffer *counters; /* NULL until a launch asks for counters */
  bool keeps;            /* workspaces are placeholders and are added to `kept` */
  mica_buffer **kept;
  size_t kept_count;
};

mica_status mica__recorder_create(mica_engine *engine, mica_queue **out) {
  mica_queue *recorder = calloc(1, sizeof *recorder);
  mica__recording *recording = calloc(1, sizeof *recording);
  if (!recorder || !recording) {
    free(recorder);
    free(recording);
    return mica__fail_nomem("a recorder");
  }
  recording->engine = engine;
  recorder->engine = engine;
  recorder->recording = recording;
  *out = recorder;
  return MICA_OK;
}

mica_status mica__dry_run_create(mica_engine *engine, mica_queue **out) {
  MICA_TRY(mica__recorder_create(engine, out));
  (*out)->recording->dry_run = true;
  return MICA_OK;
}

static mica_status grow(mica__recording *recording) {
  if (recording->count < recording->capacity) return MICA_OK;
  size_t capacity = recording->capacity ? recording->capacity * 2 : 32;
  step *grown = realloc(recording->steps, capacity * sizeof *grown);
  if (!grown) return mica__fail_nomem("a recording");
  recording->steps = grown;
  recording->capacity = capacity;
  return MICA_OK;
}

/* Copies a launch, with only its used arguments; NULL if memory is short. */
static mica__launch *copy_launch(const mica__launch *launch) {
  const size_t bytes = offsetof(mica__launch, args) + launch->arg_count * sizeof *launch->args;
  mica__launch *copy = malloc(bytes);
  if (copy) memcpy(copy, launch, bytes);
  return copy;
}

static bool names_placeholder(const mica__arg *arg) {
  return arg->kind == MICA__ARG_BUFFER && arg->value.buffer && arg->value.buffer->placeholder;
}

/* Adds a slot for each argument of the next step that refers to a placeholder. */
static mica_status add_slots(mica__recording *recording, const mica__launch *launch) {
  for (uint32_t a = 0; a < launch->arg_count; a++) {
    if (!names_placeholder(&launch->args[a])) continue;
    if (recording->slot_count == recording->slot_capacity) {
      size_t capacity = recording->slot_capacity ? recording->slot_capacity * 2 : 16;
      slot *grown = realloc(recording->slots, capacity * sizeof *grown);
      if (!grown) return mica__fail_nomem("a recording");
      recording->slots = grown;
      recording->slot_capacity = capacity;
    }
    uint32_t index = launch->args[a].first;
    int64_t first = launch->is_packed ? launch->packed[index] : launch->args[index].value.i64;
    recording->slots[recording->slot_count++] = (slot){launch->args[a].value.buffer, recording->count, a, first};
  }
  return MICA_OK;
}

static void keep(mica__recording *recording, mica_buffer *buffer) {
  mica__buffer_retain(buffer);
  for (size_t i = 0; i < recording->scratch_count; i++)
    if (recording->scratches[i].buffer == buffer) recording->scratches[i].named++;
}

/* The smallest idle workspace that is large enough, or NULL. */
static mica_buffer *find_scratch(const mica__recording *recording, size_t bytes) {
  mica_buffer *found = NULL;
  for (size_t i = 0; i < recording->scratch_count; i++) {
    const scratch *s = &recording->scratches[i];
    bool idle = atomic_load(&s->buffer->references) == 1 + s->named;
    if (idle && s->buffer->bytes >= bytes && (!found || s->buffer->bytes < found->bytes)) found = s->buffer;
  }
  return found;
}

static mica_status keep_workspace(mica__recording *recording, size_t bytes, mica_buffer **out) {
  mica_buffer **grown = realloc(recording->kept, (recording->kept_count + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a recording");
  recording->kept = grown;
  MICA_TRY(mica__placeholder_create(recording->engine, bytes, out));
  mica__buffer_retain(*out);
  recording->kept[recording->kept_count++] = *out;
  return MICA_OK;
}

void mica__recorder_keep(mica_queue *recorder) { recorder->recording->keeps = true; }

void mica__recorder_kept(mica_queue *recorder, mica_buffer ***kept, size_t *count) {
  mica__recording *recording = recorder->recording;
  *kept = recording->kept;
  *count = recording->kept_count;
  recording->kept = NULL;
  recording->kept_count = 0;
  recording->keeps = false;
}

mica_status mica__recorder_workspace(mica_queue *recorder, size_t bytes, mica_buffer **out) {
  mica__recording *recording = recorder->recording;
  if (recording->keeps) return keep_workspace(recording, bytes, out);
  mica_buffer *found = find_scratch(recording, bytes);
  if (!found) {
    scratch *grown = realloc(recording->scratches, (recording->scratch_count + 1) * sizeof *grown);
    if (!grown) return mica__fail_nomem("a recording");
    recording->scratches = grown;
    MICA_TRY(mica_buffer_create(recording->engine, bytes, &found));
    recording->scratches[recording->scratch_count++] = (scratch){.buffer = found};
  }
  mica__buffer_retain(found);
  *out = found;
  return MICA_OK;
}

bool mica__recorder_counters(const mica_queue *recorder, mica_buffer **counters) {
  *counters = recorder->recording->counters;
  return !recorder->recording->keeps;
}

void mica__recorder_give_counters(mica_queue *recorder, mica_buffer *counters) {
  mica__buffer_retain(counters);
  recorder->recording->counters = counters;
}

size_t mica__recording_workspace(const mica__recording *recording) {
  size_t bytes = 0;
  for (size_t i = 0; i < recording->scratch_count; i++) bytes += recording->scratches[i].buffer->bytes;
  return bytes;
}

mica_status mica__recorder_add(mica_queue *recorder, const mica__launch *launch) {
  mica__recording *recording = recorder->recording;
  const mica__cl_api *api = recording->engine->api;
  if (recording->dry_run) return MICA_OK;
  MICA_TRY(grow(recording));
  cl_int error = CL_SUCCESS;
  cl_kernel handle = api->CreateKernel(launch->kernel->program->handle, launch->kernel->entry, &error);
  if (!handle) return mica__engine_check(recording->engine, error ? error : CL_OUT_OF_RESOURCES, launch->kernel->name);
  const size_t slots = recording->slot_count;
  mica_status status = mica__launch_set_args(recording->engine, handle, launch);
  mica__launch *copy = copy_launch(launch);
  if (status == MICA_OK && !copy) status = mica__fail_nomem("a recording");
  if (status == MICA_OK) status = add_slots(recording, launch);
  if (status != MICA_OK) {
    recording->slot_count = slots; /* the step is not added */
    free(copy);
    api->ReleaseKernel(handle);
    return status;
  }
  for (uint32_t i = 0; i < launch->arg_count; i++)
    if (launch->args[i].kind == MICA__ARG_BUFFER && launch->args[i].value.buffer &&
        !names_placeholder(&launch->args[i]))
      keep(recording, launch->args[i].value.buffer);
  recording->steps[recording->count++] = (step){.launch = copy, .handle = handle};
  return MICA_OK;
}

mica__recording *mica__recorder_end(mica_queue *recorder) {
  if (!recorder) return NULL;
  mica__recording *recording = recorder->recording;
  mica__loans_free(recorder);
  free(recorder);
  return recording;
}

/* Records that the step's kernel ran. The step has its own kernel object, but this is recorded in the kernel that all
 * steps share. */
static void note_first_run(step *s) {
  mica__kernel *kernel = s->launch->kernel;
  pthread_mutex_lock(&kernel->lock);
  mica__kernel_ran(kernel, s->launch->local);
  pthread_mutex_unlock(&kernel->lock);
  s->ran = true;
}

static mica_status add_entry(mica__recording *recording, mica__host_step *at, bool is_end) {
  host_entry *grown = realloc(recording->host_steps, (recording->host_step_count + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a recording");
  recording->host_steps = grown;
  grown[recording->host_step_count++] = (host_entry){.step = at, .before = recording->count, .is_end = is_end};
  return MICA_OK;
}

mica_status mica__recorder_add_host_step(mica_queue *recorder, const mica__host_call *call) {
  mica__recording *recording = recorder->recording;
  if (!recording)
    return mica__fail(MICA_E_STATE, "%s: the queue does not record launches, so a step on the host cannot be added",
                      call->name);
  if (recording->dry_run) return MICA_OK;
  mica__host_step *made = NULL;
  MICA_TRY(mica__host_step_create(call, &made));
  mica_status status = add_entry(recording, made, false);
  if (status != MICA_OK) mica__host_step_destroy(made);
  return status;
}

mica_status mica__recorder_end_host_step(mica_queue *recorder, int32_t number) {
  mica__recording *recording = recorder->recording;
  mica__host_step *found = NULL;
  for (size_t h = 0; h < recording->host_step_count; h++) {
    mica__host_step *at = recording->host_steps[h].step;
    if (mica__host_step_number(at) != number) continue;
    found = recording->host_steps[h].is_end || !mica__host_step_has_end(at) ? NULL : at;
  }
  return found ? add_entry(recording, found, true) : MICA_OK;
}

/* Replays the launches from `begin` to before `end`. */
static mica_status replay_segment(mica__recording *recording, mica_queue *queue, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) {
    step *s = &recording->steps[i];
    MICA_TRY(mica__launch_enqueue(queue, s->handle, s->launch));
    if (!s->ran) note_first_run(s);
  }
  return MICA_OK;
}

static mica_status run_entry(const host_entry *entry, mica_queue *queue) {
  return entry->is_end ? mica__host_step_end(entry->step, queue, MICA_OK) : mica__host_step_run(entry->step, queue);
}

/* Ends the host steps that have begun, in the order in which they began. Returns `status`, the replay's, or if that is
 * MICA_OK, the first error of an end. */
static mica_status end_all(mica__recording *recording, mica_queue *queue, mica_status status) {
  for (size_t h = 0; h < recording->host_step_count; h++) {
    mica__host_step *at = recording->host_steps[h].step;
    if (!mica__host_step_is_begun(at)) continue;
    if (status == MICA_OK) {
      status = mica__host_step_end(at, queue, MICA_OK);
      continue;
    }
    mica__attempt_begin();
    status = mica__host_step_end(at, queue, status);
    mica__attempt_end();
  }
  return status;
}

mica_status mica__recording_replay(mica__recording *recording, mica_queue *queue) {
  return mica__recording_replay_part(recording, queue, (mica__recorder_mark){0, 0},
                                     (mica__recorder_mark){recording->count, recording->host_step_count});
}

mica_status mica__recording_replay_part(mica__recording *recording, mica_queue *queue, mica__recorder_mark from,
                                        mica__recorder_mark to) {
  size_t at = from.launches;
  mica_status status = MICA_OK;
  if (queue->recording) return mica__fail(MICA_E_STATE, "a queue that records launches cannot run recorded ones");
  for (size_t h = from.host_entries; status == MICA_OK && h < to.host_entries; h++) {
    const host_entry *entry = &recording->host_steps[h];
    status = replay_segment(recording, queue, at, entry->before);
    if (status == MICA_OK) status = run_entry(entry, queue);
    at = entry->before;
  }
  if (status == MICA_OK) status = replay_segment(recording, queue, at, to.launches);
  return end_all(recording, queue, status);
}

size_t mica__recording_host_step_count(const mica__recording *recording) {
  size_t count = 0;
  for (size_t h = 0; h < recording->host_step_count; h++) count += !recording->host_steps[h].is_end;
  return count;
}

bool mica__recording_host_entry(const mica__recording *recording, size_t i, mica__host_entry *entry) {
  if (i >= recording->host_step_count) return false;
  const host_entry *at = &recording->host_steps[i];
  *entry = (mica__host_entry){.number = mica__host_step_number(at->step),
                              .launches_before = at->before,
                              .is_begin = !at->is_end && mica__host_step_has_end(at->step),
                              .is_end = at->is_end};
  return true;
}

mica_status mica__recording_bind(mica__recording *recording, const mica_buffer *placeholder,
                                 const mica_tensor *tensor) {
  for (size_t h = 0; h < recording->host_step_count; h++)
    if (!recording->host_steps[h].is_end) mica__host_step_bind(recording->host_steps[h].step, placeholder, tensor);
  for (size_t i = 0; i < recording->slot_count; i++) {
    const slot *at = &recording->slots[i];
    if (at->placeholder != placeholder) continue;
    step *s = &recording->steps[at->step];
    mica__launch *launch = s->launch;
    uint32_t index = launch->args[at->arg].first;
    launch->args[at->arg].value.buffer = tensor->buffer;
    MICA_TRY(mica__launch_set_arg(recording->engine, s->handle, launch, at->arg));
    if (launch->is_packed) {
      launch->packed[index] = at->first + tensor->first;
      MICA_TRY(mica__launch_set_packed(recording->engine, s->handle, launch));
    } else {
      launch->args[index].value.i64 = at->first + tensor->first;
      MICA_TRY(mica__launch_set_arg(recording->engine, s->handle, launch, index));
    }
  }
  return MICA_OK;
}

mica_status mica__recording_give(mica__recording *recording, const mica_buffer *placeholder, mica_buffer *buffer) {
  size_t left = 0;
  mica_status status = MICA_OK;
  for (size_t h = 0; h < recording->host_step_count; h++)
    if (!recording->host_steps[h].is_end) mica__host_step_give(recording->host_steps[h].step, placeholder, buffer);
  for (size_t i = 0; i < recording->slot_count; i++) {
    const slot at = recording->slots[i];
    if (at.placeholder != placeholder || status != MICA_OK) {
      recording->slots[left++] = at;
      continue;
    }
    step *s = &recording->steps[at.step];
    s->launch->args[at.arg].value.buffer = buffer;
    mica__buffer_retain(buffer);
    status = mica__launch_set_arg(recording->engine, s->handle, s->launch, at.arg);
  }
  recording->slot_count = left;
  return status;
}

bool mica__recorder_is_dry_run(const mica_queue *recorder) { return recorder->recording->dry_run; }

size_t mica__recorder_count(const mica_queue *recorder) { return recorder->recording->count; }

const mica__launch *mica__recorder_launch(const mica_queue *recorder, size_t i) {
  return recorder->recording->steps[i].launch;
}

mica__recorder_mark mica__recorder_position(const mica_queue *recorder) {
  return (mica__recorder_mark){recorder->recording->count, recorder->recording->host_step_count};
}

size_t mica__recording_count(const mica__recording *recording) { return recording->count; }

const mica__launch *mica__recording_at(const mica__recording *recording, size_t index) {
  return recording->steps[index].launch;
}

void mica__recording_destroy(mica__recording *recording) {
  if (!recording) return;
  /* Bound buffers were never retained, so they must not be destroyed with the launches. */
  for (size_t i = 0; i < recording->slot_count; i++)
    recording->steps[recording->slots[i].step].launch->args[recording->slots[i].arg].value.buffer = NULL;
  for (size_t i = 0; i < recording->count; i++) {
    mica__launch *launch = recording->steps[i].launch;
    for (uint32_t a = 0; a < launch->arg_count; a++)
      if (launch->args[a].kind == MICA__ARG_BUFFER) mica_buffer_destroy(launch->args[a].value.buffer);
    free(launch);
    recording->engine->api->ReleaseKernel(recording->steps[i].handle);
  }
  mica_buffer_destroy(recording->counters);
  for (size_t i = 0; i < recording->scratch_count; i++) mica_buffer_destroy(recording->scratches[i].buffer);
  for (size_t h = 0; h < recording->host_step_count; h++)
    if (!recording->host_steps[h].is_end) mica__host_step_destroy(recording->host_steps[h].step);
  for (size_t i = 0; i < recording->kept_count; i++) mica_buffer_destroy(recording->kept[i]);
  free(recording->kept);
  free(recording->host_steps);
  free(recording->scratches);
  free(recording->slots);
  free(recording->steps);
  free(recording);
}
