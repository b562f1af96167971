#include "runtime/recording.h"

#include "runtime/cl_error.h"

#include <stdlib.h>

/* A launch with a kernel object of its own, whose arguments are set once. */
typedef struct step {
  mica__launch launch;
  cl_kernel handle;
  bool ran;
} step;

struct mica__recording {
  mica_engine *engine;
  step *steps;
  size_t count, capacity;
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

static mica_status grow(mica__recording *recording) {
  if (recording->count < recording->capacity) return MICA_OK;
  size_t capacity = recording->capacity ? recording->capacity * 2 : 32;
  step *grown = realloc(recording->steps, capacity * sizeof *grown);
  if (!grown) return mica__fail_nomem("a recording");
  recording->steps = grown;
  recording->capacity = capacity;
  return MICA_OK;
}

mica_status mica__recording_add(mica__recording *recording, const mica__launch *launch) {
  const mica__cl_api *api = recording->engine->api;
  MICA_TRY(grow(recording));
  cl_int error = CL_SUCCESS;
  cl_kernel handle = api->CreateKernel(launch->kernel->program->handle, launch->kernel->name, &error);
  if (!handle) return mica__cl_check(error ? error : CL_OUT_OF_RESOURCES, launch->kernel->name);
  mica_status status = mica__launch_set_args(recording->engine, handle, launch);
  if (status != MICA_OK) {
    api->ReleaseKernel(handle);
    return status;
  }
  for (uint32_t i = 0; i < launch->arg_count; i++)
    if (launch->args[i].kind == MICA__ARG_BUFFER && launch->args[i].value.buffer)
      mica__buffer_retain(launch->args[i].value.buffer);
  recording->steps[recording->count++] = (step){.launch = *launch, .handle = handle};
  return MICA_OK;
}

mica__recording *mica__recorder_end(mica_queue *recorder) {
  mica__recording *recording = recorder->recording;
  free(recorder);
  return recording;
}

/* The step has a kernel object of its own, but what has run is noted in the shared one. */
static void note_first_run(step *s) {
  mica__kernel *kernel = s->launch.kernel;
  pthread_mutex_lock(&kernel->lock);
  mica__program_used(kernel, s->launch.local);
  pthread_mutex_unlock(&kernel->lock);
  s->ran = true;
}

mica_status mica__recording_replay(mica__recording *recording, mica_queue *queue) {
  if (queue->recording) return mica__fail(MICA_E_STATE, "a recording cannot be replayed into a recorder");
  for (size_t i = 0; i < recording->count; i++) {
    step *s = &recording->steps[i];
    MICA_TRY(mica__launch_enqueue(queue, s->handle, &s->launch));
    if (!s->ran) note_first_run(s);
  }
  return MICA_OK;
}

size_t mica__recording_count(const mica__recording *recording) { return recording->count; }

const mica__launch *mica__recording_at(const mica__recording *recording, size_t index) {
  return &recording->steps[index].launch;
}

void mica__recording_destroy(mica__recording *recording) {
  if (!recording) return;
  for (size_t i = 0; i < recording->count; i++) {
    const mica__launch *launch = &recording->steps[i].launch;
    for (uint32_t a = 0; a < launch->arg_count; a++)
      if (launch->args[a].kind == MICA__ARG_BUFFER) mica_buffer_destroy(launch->args[a].value.buffer);
    recording->engine->api->ReleaseKernel(recording->steps[i].handle);
  }
  free(recording->steps);
  free(recording);
}
