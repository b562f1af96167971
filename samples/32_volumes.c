/* labels: device single
 *
 * Lesson 32: segmenting volumes. A small three-dimensional U-Net (Cicek et al. 2016) learns to mark a ball in noise,
 * from volumes that are made for each step. The command `mica train --task segment` does this with NIfTI files of
 * yours, as docs/tasks/segment_volumes.md says.
 *
 *   build/bin/samples/32_volumes
 *
 * Exit status 0 if it has learned, 1 if not, 77 without a device. */
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, SIDE = 16, VOXELS = SIDE * SIDE * SIDE, STEPS = 180 };

/* Volumes with a ball each that is brighter than the noise around it, and the class of each voxel. */
static void make_balls(float *volumes, int32_t *classes) {
  for (int i = 0; i < BATCH; i++) {
    const int radius = 3 + rand() % 3, room = SIDE - 2 * radius;
    const int x = radius + rand() % room, y = radius + rand() % room, z = radius + rand() % room;
    for (int at = 0; at < VOXELS; at++) {
      const int dx = at % SIDE - x, dy = at / SIDE % SIDE - y, dz = at / SIDE / SIDE - z;
      const int inside = dx * dx + dy * dy + dz * dz < radius * radius;
      classes[i * VOXELS + at] = inside;
      volumes[i * VOXELS + at] = (float)(rand() % 1000) / 500 - 1 + 2 * (float)inside;
    }
  }
}

/* The loss, and the share of the ball's voxels that are found: Dice. */
static mica_status build(mica_graph *g, mica_nn *nn, mica_value outputs[2]) {
  mica_value x = mica_input(g, "volumes", MICA_F32, MICA_SHAPE(BATCH, 1, SIDE, SIDE, SIDE));
  mica_value y = mica_input(g, "classes", MICA_I32, MICA_SHAPE(BATCH, SIDE, SIDE, SIDE));
  const mica_model_config unet = {.name = "unet", .classes = 2, .width = 4, .depth = 2, .norm = MICA_MODEL_NORM_GROUP};
  const mica_optimizer_config adam = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  mica_value z = mica_model_build(nn, x, &unet);
  outputs[0] = mica_add(mica_cross_entropy(z, y, NULL), mica_dice(z, y, NULL));
  mica_value found = mica_cast(mica_argmax(z, 1, false), MICA_F32), meant = mica_cast(y, MICA_F32);
  mica_value both = mica_sum(mica_mul(found, meant), MICA_ALL_AXES, false);
  mica_value all = mica_sum(mica_add(found, meant), MICA_ALL_AXES, false);
  outputs[1] = mica_div(mica_affine(both, 2, 0), all);
  mica_optimize(nn, outputs[0], &adam, NULL);
  return mica_graph_status(g);
}

/* *dice: of the last volumes, before they were trained on. */
static mica_status train(mica_engine *engine, mica_session *session, float *dice) {
  static float volumes[BATCH * VOXELS];
  static int32_t classes[BATCH * VOXELS];
  mica_queue *queue = mica_engine_queue(engine);
  const float rate = 0.02f;
  mica_tensor *x = NULL, *y = NULL, *r = NULL;
  mica_status status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(BATCH, 1, SIDE, SIDE, SIDE), &x);
  if (!status) status = mica_tensor_create(engine, MICA_I32, MICA_SHAPE(BATCH, SIDE, SIDE, SIDE), &y);
  for (int step = 1; !status && step <= STEPS; step++) {
    const mica_feed feeds[] = {{"volumes", x}, {"classes", y}, {MICA_LEARNING_RATE, r}};
    make_balls(volumes, classes);
    status = mica_tensor_upload(queue, x, volumes, sizeof volumes);
    if (!status) status = mica_tensor_upload(queue, y, classes, sizeof classes);
    if (!status) status = mica_session_run(session, queue, feeds, 3);
    if (status || step % 60) continue;
    float loss = 0;
    status = mica_tensor_download(queue, mica_session_output(session, 0), &loss, sizeof loss);
    if (!status) status = mica_tensor_download(queue, mica_session_output(session, 1), dice, sizeof *dice);
    if (!status)
      printf("step %3d  loss %.3f, Dice of volumes not seen before %.3f\n", step, (double)loss, (double)*dice);
  }
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_tensor_destroy(r);
  return status;
}

int main(void) {
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_value outputs[2];
  float dice = 0;
  srand(1);
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = mica_graph_create(&graph);
  if (!status) status = mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 1}, &nn);
  if (!status) status = build(graph, nn, outputs);
  if (!status) status = mica_session_create(engine, graph, outputs, 2, NULL, &session);
  if (!status) status = mica_nn_initialise(nn, session);
  if (!status) status = train(engine, session, &dice);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || !(dice > 0.8f);
}
