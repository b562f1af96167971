#include "support/small_run.h"

#include "base/error.h"
#include "base/large.h"
#include "runtime/launch.h"
#include "runtime/recording.h"
#include "runtime/tensor.h"
#include "runtime/texture.h"

#include <mica/profile.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

static const char source[] =
    "__kernel void small_run_axpy(__global const float *x, const long x_at, __global float *y, const long y_at,\n"
    "                             const int n, const float a) {\n"
    "  const int i = get_global_id(0);\n"
    "  if (i < n) y[y_at + i] += a * x[x_at + i];\n"
    "}\n";

typedef struct run {
  mica_engine *engine;
  mica_queue *queue, *second, *recorder;
  mica_buffer *workspace;
  mica_tensor *x, *y, *inside, *row;
  mica_event *event, *sent, *marked;
  mica__kernel *kernel;
  mica__recording *recording;
  float host[N];
} run;

static mica_status make(run *r) {
  MICA_TRY(mica_queue_create(r->engine, &r->second));
  MICA_TRY(mica_tensor_create(r->engine, MICA_F32, MICA_SHAPE(N / 10, 10), &r->x));
  for (int i = 0; i < N; i++) r->host[i] = (float)i;
  MICA_TRY(mica_tensor_create_from(r->engine, MICA_F32, MICA_SHAPE(N), r->host, &r->y));
  MICA_TRY(mica_buffer_create(r->engine, MICA__LARGE_BYTES, &r->workspace));
  MICA_TRY(mica_tensor_wrap(r->workspace, 4, MICA_F32, MICA_SHAPE(N / 2), &r->inside));
  MICA_TRY(mica_tensor_view(r->x, MICA_SHAPE(10), NULL, 20, &r->row));
  return mica__kernel_get_source(r->engine, "small_run_axpy", source, "-DUNUSED=1", &r->kernel);
}

static mica_status axpy(run *r, mica_queue *queue, float a, const mica_tensor *x, mica_tensor *y) {
  mica__launch launch = mica__launch_of(r->kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, y);
  mica__launch_size(&launch, mica_tensor_count(x));
  mica__launch_float(&launch, a);
  mica__launch_range1(&launch, mica_tensor_count(x), 8);
  mica__launch_cost(&launch, 2.0 * N, 12.0 * N);
  return mica__queue_submit(queue, &launch);
}

/* y = i; x = 2 i; then y += x once, and twice a recording of two halves of it: y = 7 i. */
static mica_status compute(run *r) {
  for (int i = 0; i < N; i++) r->host[i] = (float)(2 * i);
  MICA_TRY(mica_profile_start(r->engine));
  MICA_TRY(mica_tensor_upload(r->queue, r->x, r->host, sizeof r->host));
  MICA_TRY(axpy(r, r->queue, 1, r->x, r->y));
  /* The queue is busy now, so that these go through staging memory, one piece of it twice; the data is the same. */
  for (int i = 0; i < 5; i++) MICA_TRY(mica_tensor_upload(r->queue, r->x, r->host, sizeof r->host));
  MICA_TRY(mica__recorder_create(r->engine, &r->recorder));
  MICA_TRY(axpy(r, r->recorder, 0.5f, r->x, r->y));
  MICA_TRY(axpy(r, r->recorder, 0.5f, r->x, r->y));
  r->recording = mica__recorder_end(r->recorder);
  r->recorder = NULL;
  MICA_TRY(mica__recording_replay(r->recording, r->queue));
  MICA_TRY(mica__recording_replay(r->recording, r->queue));
  return mica_queue_flush(r->queue);
}

static mica_status look(run *r, bool computes, const char *trace_path) {
  float *mapped = NULL;
  bool done = false, wrong = false;
  mica_profile_row rows[4];
  size_t count = 0;
  memset(r->host, 0, sizeof r->host);
  MICA_TRY(mica_tensor_download(r->queue, r->y, r->host, sizeof r->host));
  for (int i = 0; i < N; i++) wrong |= computes && r->host[i] != (float)(7 * i);
  MICA_TRY(mica_tensor_download_async(r->second, r->row, r->host, 10 * sizeof(float), &r->event));
  mica_status waited = mica_event_wait(r->event);
  MICA_TRY(mica_queue_finish(r->second)); /* or host could not be given up below */
  MICA_TRY(waited);
  MICA_TRY(mica_event_is_done(r->event, &done));
  for (int i = 0; i < 10; i++) wrong |= r->host[i] != (float)(2 * (i + 20));
  MICA_TRY(mica_tensor_map(r->second, r->inside, MICA_MAP_MODE_WRITE, (void **)&mapped));
  for (int i = 0; i < N / 2; i++) mapped[i] = (float)-i;
  MICA_TRY(mica_tensor_unmap(r->second, r->inside, mapped));
  MICA_TRY(mica_tensor_download(r->second, r->inside, r->host, N / 2 * sizeof(float)));
  for (int i = 0; i < N / 2; i++) wrong |= r->host[i] != (float)-i;
  MICA_TRY(mica_profile_stop(r->engine));
  MICA_TRY(mica_profile_rows(r->engine, rows, 4, &count));
  MICA_TRY(mica_profile_write_trace(r->engine, trace_path));
  if (wrong || !done || count != 1 || rows[0].count > 5)
    return mica__fail(MICA_E_NUMERIC, "small_run: a result is wrong");
  return MICA_OK;
}

/* What one queue uploads another one reads, without the host in between. */
static mica_status order_queues(run *r) {
  float got[10];
  for (int i = 0; i < 10; i++) r->host[i] = (float)(i - 5);
  MICA_TRY(mica_tensor_upload_async(r->second, r->row, r->host, sizeof got, &r->sent));
  MICA_TRY(mica_queue_mark(r->second, &r->marked));
  MICA_TRY(mica_queue_wait(r->queue, r->marked));
  MICA_TRY(mica_tensor_download(r->queue, r->row, got, sizeof got));
  for (int i = 0; i < 10; i++)
    if (got[i] != (float)(i - 5)) return mica__fail(MICA_E_NUMERIC, "small_run: a queue has not waited");
  return MICA_OK;
}

/* Needs no kernel, and so works on the null device. */
static mica_status fill(run *r) {
  const float element = 2.5f;
  float got[10] = {0};
  MICA_TRY(mica__tensor_fill(r->queue, r->row, &element));
  MICA_TRY(mica_tensor_download(r->queue, r->row, got, sizeof got));
  for (int i = 0; i < 10; i++)
    if (got[i] != element) return mica__fail(MICA_E_NUMERIC, "small_run: element %d is not filled", i);
  return MICA_OK;
}

/* An image over a buffer, on devices that have them. */
static mica_status make_image(run *r) {
  if (!mica__has_texture_line(mica_engine_device(r->engine))) return MICA_OK;
  return mica__texture_prepare(mica__tensor_buffer(r->x), mica__texture_slot(MICA__TEXTURE_LINE, MICA_F32));
}

/* A second recording that is given up half-way, as when a plan fails. */
static mica_status give_up_recording(run *r) {
  MICA_TRY(mica__recorder_create(r->engine, &r->recorder));
  return axpy(r, r->recorder, 1, r->x, r->y);
}

mica_status small_run(mica_engine *engine, bool computes, const char *trace_path) {
  run *r = calloc(1, sizeof *r);
  if (!r) return mica__fail_nomem("a small run");
  r->engine = engine;
  r->queue = mica_engine_queue(engine);
  mica_status status = make(r);
  if (status == MICA_OK) status = compute(r);
  if (status == MICA_OK) status = look(r, computes, trace_path);
  if (status == MICA_OK) status = order_queues(r);
  if (status == MICA_OK) status = fill(r);
  if (status == MICA_OK) status = make_image(r);
  if (status == MICA_OK) status = give_up_recording(r);
  if (status != MICA_OK) { /* the run's first failure is what it is judged by, not that of stopping */
    mica__attempt_begin();
    mica_status stopped = mica_profile_stop(engine);
    mica__attempt_end();
    (void)stopped;
  }
  mica_event_destroy(r->event);
  mica_event_destroy(r->sent);
  mica_event_destroy(r->marked);
  mica__recording_destroy(mica__recorder_end(r->recorder));
  mica__recording_destroy(r->recording);
  mica_tensor_destroy(r->row);
  mica_tensor_destroy(r->inside);
  mica_tensor_destroy(r->y);
  mica_tensor_destroy(r->x);
  mica_buffer_destroy(r->workspace);
  mica_queue_destroy(r->second);
  free(r);
  return status;
}
