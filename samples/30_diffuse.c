/* labels: device single
 *
 * Lesson 30: pictures from noise. A small U-Net learns to remove noise from pictures of two classes (DDPM, Ho et al.
 * 2020), in a training loop of its own. Then pictures are drawn step by step from pure noise (DDIM, Song et al. 2021).
 * The command `mica train --task diffuse` does this with pictures of yours.
 *
 *   build/bin/samples/30_diffuse
 *
 * Exit status 0 if it has learned, 1 if not, 77 without a device. */
#include <math.h>
#include <mica/mica.h>
#include <stdint.h>
#include <stdio.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, CLASSES = 2, BATCH = 16, STEPS = 50, UPDATES = 250, DRAWN = 8 };

/* Share of the picture's variance that is left at a step (Nichol and Dhariwal 2021). */
static double kept(int step) {
  const double c = cos(((step + 1.0) / (STEPS + 1) + 0.008) / 1.008 * 1.5707963267948966);
  return c * c;
}

typedef struct network {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
} network;

static void drop(network *n) {
  mica_session_destroy(n->session);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
}

/* The noise that the network finds in x. */
static mica_value predict(mica_nn *nn, mica_value x, mica_value time, mica_value label) {
  const mica_denoiser_config config = {.width = 8, .depth = 1, .classes = CLASSES};
  return mica_denoiser_build(nn, x, time, label, &config);
}

/* A training step: noise is added to pictures at random times, and the network is to find it. */
static mica_status make_training(mica_engine *engine, network *n) {
  const mica_optimizer_config adam = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  float shares[2][STEPS];
  for (int t = 0; t < STEPS; t++) shares[0][t] = (float)sqrt(kept(t)), shares[1][t] = (float)sqrt(1 - kept(t));
  mica_status status = mica_graph_create(&n->graph);
  if (status == MICA_OK) status = mica_nn_create(n->graph, &(mica_nn_config){.training = true, .seed = 1}, &n->nn);
  if (status != MICA_OK) return status;
  mica_value picture = mica_input(n->graph, "picture", MICA_F32, MICA_SHAPE(BATCH, 1, SIDE, SIDE));
  mica_value label = mica_input(n->graph, "label", MICA_I32, MICA_SHAPE(BATCH));
  mica_value step = mica_nn_step(n->nn);
  mica_value like = mica_full(n->graph, MICA_F32, MICA_SHAPE(BATCH), 0);
  mica_value time = mica_cast(mica_floor(mica_random_uniform(step, like, 1, 0, STEPS - 0.01)), MICA_I32);
  mica_value noise = mica_random_normal(step, picture, 2, 0, 1), share[2];
  for (int k = 0; k < 2; k++) {
    mica_value table = mica_constant(n->graph, MICA_F32, MICA_SHAPE(STEPS), shares[k]);
    share[k] = mica_unsqueeze(mica_gather(table, time, 0), MICA_AXES(1, 2, 3));
  }
  mica_value x = mica_add(mica_mul(share[0], picture), mica_mul(share[1], noise));
  mica_value loss = mica_mse(predict(n->nn, x, time, label), noise, MICA_LOSS_REDUCTION_MEAN);
  mica_optimize(n->nn, loss, &adam, NULL);
  status = mica_session_create(engine, n->graph, &loss, 1, NULL, &n->session);
  return status == MICA_OK ? mica_nn_initialise(n->nn, n->session) : status;
}

/* A step of drawing, which replaces the parameter "x" by a picture with less noise. */
static mica_status make_drawing(mica_engine *engine, const network *trained, network *n) {
  mica_status status = mica_graph_create(&n->graph);
  if (status == MICA_OK) status = mica_nn_create(n->graph, NULL, &n->nn);
  if (status != MICA_OK) return status;
  mica_value x = mica_parameter(n->graph, "x", MICA_F32, MICA_SHAPE(DRAWN, 1, SIDE, SIDE));
  mica_value label = mica_parameter(n->graph, "label", MICA_I32, MICA_SHAPE(DRAWN));
  mica_value row = mica_input(n->graph, "row", MICA_F32, MICA_SHAPE(5)), part[5];
  for (int k = 0; k < 5; k++) part[k] = mica_slice(row, 0, k, k + 1, 1);
  mica_value z = predict(n->nn, x, mica_expand(part[0], MICA_SHAPE(DRAWN)), label);
  mica_value picture = mica_clip(mica_div(mica_sub(x, mica_mul(part[2], z)), part[1]), -1, 1);
  mica_value noise = mica_div(mica_sub(x, mica_mul(part[1], picture)), part[2]);
  mica_assign(x, mica_add(mica_mul(part[3], picture), mica_mul(part[4], noise)));
  return mica_session_create(engine, n->graph, &picture, 1, &(mica_session_config){.share = trained->session},
                             &n->session);
}

static uint32_t state = 7;
static double uniform(void) {
  state = state * 1664525u + 1013904223u;
  return (state + 0.5) / 4294967296.0;
}

/* Class 0 is light on the left, class 1 above, with a border somewhere in the middle. */
static void paint(int32_t class_index, float *pixels) {
  const int border = 3 + (int)(3 * uniform());
  for (int i = 0; i < PIXELS; i++) pixels[i] = (class_index ? i / SIDE : i % SIDE) < border ? 0.8f : -0.8f;
}

static mica_status train(mica_engine *engine, const network *n, double *first, double *last) {
  mica_queue *queue = mica_engine_queue(engine);
  float pictures[BATCH * PIXELS], loss = 0;
  const float rate = 0.005f;
  int32_t labels[BATCH];
  *first = *last = 0;
  for (int update = 0; update < UPDATES; update++) {
    mica_tensor *x = NULL, *y = NULL, *r = NULL;
    for (int i = 0; i < BATCH; i++) paint(labels[i] = i % CLASSES, pictures + i * PIXELS);
    mica_status status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(BATCH, 1, SIDE, SIDE), pictures, &x);
    if (status == MICA_OK) status = mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(BATCH), labels, &y);
    if (status == MICA_OK) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &rate, &r);
    const mica_feed feeds[] = {{"picture", x}, {"label", y}, {MICA_LEARNING_RATE, r}};
    if (status == MICA_OK) status = mica_session_run(n->session, queue, feeds, 3);
    if (status == MICA_OK) status = mica_tensor_download(queue, mica_session_output(n->session, 0), &loss, sizeof loss);
    mica_tensor_destroy(x);
    mica_tensor_destroy(y);
    mica_tensor_destroy(r);
    if (status != MICA_OK) return status;
    if (update < 50) *first += (double)loss / 50;
    if (update >= UPDATES - 50) *last += (double)loss / 50;
  }
  return MICA_OK;
}

static mica_status draw(mica_engine *engine, const network *n, float *pictures) {
  mica_queue *queue = mica_engine_queue(engine);
  const size_t bytes = DRAWN * PIXELS * sizeof *pictures;
  int32_t labels[DRAWN];
  for (int i = 0; i < DRAWN; i++) labels[i] = i % CLASSES;
  for (int i = 0; i < DRAWN * PIXELS; i++)
    pictures[i] = (float)(sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()));
  mica_status status = mica_tensor_upload(queue, mica_session_parameter(n->session, "x"), pictures, bytes);
  if (status == MICA_OK)
    status = mica_tensor_upload(queue, mica_session_parameter(n->session, "label"), labels, sizeof labels);
  for (int t = STEPS - 1; t >= 0 && status == MICA_OK; t--) {
    const double now = kept(t), next = t ? kept(t - 1) : 1;
    const float row[5] = {(float)t, (float)sqrt(now), (float)sqrt(1 - now), (float)sqrt(next), (float)sqrt(1 - next)};
    mica_tensor *tensor = NULL;
    status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(5), row, &tensor);
    if (status == MICA_OK) status = mica_session_run(n->session, queue, &(mica_feed){"row", tensor}, 1);
    mica_tensor_destroy(tensor);
  }
  return status == MICA_OK ? mica_tensor_download(queue, mica_session_parameter(n->session, "x"), pictures, bytes)
                           : status;
}

/* Prints the pictures beside each other; returns how many have the light side of their class. */
static int show(const float *pictures) {
  int right = 0;
  for (int y = 0; y < SIDE; y++, puts(""))
    for (int i = 0; i < DRAWN; i++, printf("  "))
      for (int x = 0; x < SIDE; x++) putchar(pictures[i * PIXELS + y * SIDE + x] > 0 ? '#' : '.');
  for (int i = 0; i < DRAWN; i++) {
    double left = 0, above = 0;
    for (int p = 0; p < PIXELS; p++) {
      left += p % SIDE < SIDE / 2 ? (double)pictures[i * PIXELS + p] : -(double)pictures[i * PIXELS + p];
      above += p / SIDE < SIDE / 2 ? (double)pictures[i * PIXELS + p] : -(double)pictures[i * PIXELS + p];
    }
    right += i % CLASSES ? above > left : left > above;
  }
  return right;
}

int main(void) {
  mica_engine *engine = NULL;
  network training = {0}, drawing = {0};
  float pictures[DRAWN * PIXELS];
  double first = 0, last = 0;
  mica_status status = mica_engine_create(NULL, &engine);
  if (status == MICA_OK) status = make_training(engine, &training);
  if (status == MICA_OK) status = train(engine, &training, &first, &last);
  if (status == MICA_OK) status = make_drawing(engine, &training, &drawing);
  if (status == MICA_OK) status = draw(engine, &drawing, pictures);
  int right = 0;
  if (status == MICA_OK) {
    printf("loss %.3f at first, then %.3f\n", first, last);
    right = show(pictures);
    printf("%d of %d pictures have their class\n", right, DRAWN);
  } else {
    fprintf(stderr, "%s\n", mica_error_message());
  }
  drop(&drawing);
  drop(&training);
  mica_engine_destroy(engine);
  if (status == MICA_E_NO_DEVICE) return 77;
  return status == MICA_OK && right >= DRAWN - 1 && last < 0.7 * first ? 0 : 1;
}
