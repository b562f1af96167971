/* labels: device
 *
 * Lesson 10: where the time goes. A small network is run a few times under the profiler: a table of its kernels, the
 * memory it needs, what was fused into which kernel, and a trace to open in a browser's tracing page or in Perfetto.
 *
 *   build/bin/samples/10_profile [TRACE.json]
 *
 * Exit status 0 when all went well, 1 when not, 77 where there is no device. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH 64
#define WIDTH 512
#define LAYERS 4
#define RUNS 20
#define ROWS 16

/* Layers of gelu(x w + b), and a softmax at the end. */
static mica_value build(mica_graph *graph) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(BATCH, WIDTH));
  for (int layer = 0; layer < LAYERS; layer++) {
    char name[16];
    snprintf(name, sizeof name, "w%d", layer);
    mica_value w = mica_parameter(graph, name, MICA_F32, MICA_SHAPE(WIDTH, WIDTH));
    snprintf(name, sizeof name, "b%d", layer);
    x = mica_gelu(mica_add(mica_matmul(x, w), mica_parameter(graph, name, MICA_F32, MICA_SHAPE(WIDTH))));
  }
  return mica_softmax(x, -1);
}

static mica_status profile(mica_engine *engine, mica_session *session, mica_tensor *x) {
  mica_queue *queue = mica_engine_queue(engine);
  /* The first run compiles kernels or loads them from disk, so it is left out of the profile. */
  mica_status status = mica_session_run(session, queue, &(mica_feed){"x", x}, 1);
  if (!status) status = mica_profile_start(engine);
  for (int i = 0; !status && i < RUNS; i++) status = mica_session_run(session, queue, &(mica_feed){"x", x}, 1);
  return status ? status : mica_profile_stop(engine); /* which waits for the device */
}

static mica_status print_rows(mica_engine *engine) {
  mica_profile_row rows[ROWS];
  size_t count = 0;
  mica_status status = mica_profile_rows(engine, rows, ROWS, &count);
  if (status) return status;
  printf("%-44s %8s %10s %9s %8s\n", "kernel", "launches", "us a run", "GFLOP/s", "GB/s");
  for (size_t i = 0; i < count && i < ROWS; i++)
    printf("%-44.44s %8llu %10.1f %9.1f %8.1f\n", rows[i].kernel, (unsigned long long)rows[i].count,
           1e6 * rows[i].seconds / RUNS, 1e-9 * rows[i].flops / rows[i].seconds,
           1e-9 * rows[i].bytes / rows[i].seconds);
  return count ? MICA_OK : MICA_E_STATE;
}

static mica_status print_plan(mica_session *session) {
  mica_session_report report;
  char *text = NULL;
  mica_status status = mica_session_describe(session, &report);
  if (!status) status = mica_session_dump(session, &text);
  if (!status)
    printf("\n%zu launches a run; temporaries %.0f KiB, without sharing %.0f KiB; parameters %.0f KiB\n%s",
           report.launches, (double)report.planned_bytes / 1024, (double)report.unplanned_bytes / 1024,
           (double)report.parameter_bytes / 1024, text);
  mica_free(text);
  return status;
}

int main(int argc, char **argv) {
  static float data[BATCH * WIDTH];
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL;
  mica_value out;
  for (int i = 0; i < BATCH * WIDTH; i++) data[i] = (float)(i % 17) / 8 - 1;

  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(BATCH, WIDTH), data, &x);
  if (!status) status = mica_graph_create(&graph);
  if (!status) {
    out = build(graph);
    status = mica_session_create(engine, graph, &out, 1, NULL, &session);
  }
  if (!status) status = profile(engine, session, x);
  if (!status) status = print_rows(engine);
  if (!status) status = print_plan(session);
  if (!status && argc > 1) status = mica_profile_write_trace(engine, argv[1]);
  if (status) fprintf(stderr, "%s: %s\n", mica_status_name(status), mica_error_message());

  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_tensor_destroy(x);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status != MICA_OK;
}
