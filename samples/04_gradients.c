/* labels: device single
 *
 * Lesson 4: automatic gradients. A graph is built like a formula; mica_gradients adds the values of its derivatives,
 * which may be differentiated again. Newton's method finds the x at which f(x) = x^4 / 4 + e^-x is least, from f' and
 * f'': ten runs of one session, on a hundred starting points at once.
 *
 *   build/bin/samples/04_gradients
 *
 * Exit status 0 when right, 1 when not, 77 where there is no device. */
#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS 100
#define STEPS 10

/* x is a parameter: it lives in the session from run to run, and each run assigns it a step of Newton's. */
static mica_status build(mica_graph *graph, mica_value outputs[2]) {
  const mica_axes all = MICA_ALL_AXES;
  mica_value x = mica_parameter(graph, "x", MICA_F32, MICA_SHAPE(POINTS)), slope, curvature;
  mica_value f = mica_add(mica_affine(mica_pow(x, mica_full_like(x, 4)), 0.25, 0), mica_exp(mica_neg(x)));
  /* A gradient is that of a single number. Each point's f depends on that point alone, so their sum will do. */
  mica_status status = mica_gradients(mica_sum(f, all, false), &x, 1, &slope);
  if (!status) status = mica_gradients(mica_sum(slope, all, false), &x, 1, &curvature);
  if (status) return status;
  mica_assign(x, mica_sub(x, mica_div(slope, curvature)));
  outputs[0] = x;
  outputs[1] = mica_sum(mica_abs(slope), all, false);
  /* The first error of any builder. */
  return mica_graph_status(graph);
}

static mica_status minimise(mica_session *session, mica_queue *queue, float points[POINTS]) {
  mica_status status = MICA_OK;
  for (int step = 0; !status && step < STEPS; step++) {
    float slopes = 0;
    status = mica_session_run(session, queue, NULL, 0);
    if (!status) status = mica_tensor_download(queue, mica_session_output(session, 1), &slopes, sizeof slopes);
    if (!status) printf("step %2d: the slopes of all points together %.6f\n", step, (double)slopes);
  }
  if (!status)
    status = mica_tensor_download(queue, mica_session_parameter(session, "x"), points, POINTS * sizeof *points);
  return status;
}

int main(void) {
  float points[POINTS];
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_value outputs[2];
  char *text = NULL;
  for (int i = 0; i < POINTS; i++) points[i] = -1.5f + 0.02f * (float)i;

  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = mica_graph_create(&graph);
  if (!status) status = build(graph, outputs);
  if (!status) status = mica_session_create(engine, graph, outputs, 2, NULL, &session);
  if (!status)
    status = mica_tensor_upload(mica_engine_queue(engine), mica_session_parameter(session, "x"), points, sizeof points);
  if (!status) status = minimise(session, mica_engine_queue(engine), points);
  if (!status) status = mica_session_dump(session, &text);

  bool right = !status;
  if (status) {
    fprintf(stderr, "%s\n", mica_error_message());
  } else {
    /* Where the slope is 0, x^3 = e^-x. */
    for (int i = 0; i < POINTS; i++) right = right && fabs((double)points[i] - 0.7728829591492101) < 1e-5;
    printf("%s: every point came to %.6f\n%s", right ? "right" : "WRONG", (double)points[0], text);
  }
  mica_free(text);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : !right;
}
