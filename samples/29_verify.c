/* labels: device single
 *
 * Lesson 29: embeddings. A network learns to place pictures of the same class close together, with the ArcFace loss. It
 * then compares pictures of classes that it has never seen: waves of other directions. The command `mica train --task
 * verify` does this with pictures and recordings of yours.
 *
 *   build/bin/samples/29_verify
 *
 * Exit status 0 if it has learned, 1 if not, 77 without a device. */
#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 16, PIXELS = SIDE * SIDE, CLASSES = 9, TRAINED = 6, EACH = 40, WIDTH = 32 };
enum { COUNT = TRAINED * EACH, OTHERS = (CLASSES - TRAINED) * EACH, PAIRS = OTHERS * (OTHERS - 1) / 2 };

/* Rows of length 1. */
static mica_value normed(mica_value x) {
  mica_value squares = mica_sum(mica_square(x), MICA_AXES(1), true);
  return mica_div(x, mica_sqrt(mica_affine(squares, 1, 1e-12)));
}

/* In training, each class has weights of length 1; ArcFace compares their cosines with the embedding. Tests need no
 * weights of classes: they have the triplet loss. */
static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  (void)config;
  mica_value x = mica_batch_value(batch, "image");
  x = mica_relu(mica_nn_conv(nn, "conv1", x, 16, 5, &(mica_nn_conv_config){.how = {.stride = {2, 2}, .pad = {2, 2}}}));
  x = mica_relu(mica_nn_conv(nn, "conv2", x, 32, 3, &(mica_nn_conv_config){.how = {.stride = {2, 2}, .pad = {1, 1}}}));
  mica_value e = normed(mica_nn_dense(nn, "embedding", mica_mean(x, MICA_AXES(2, 3), false), WIDTH, NULL));
  out->outputs[0] = e, out->output_names[0] = "embedding";
  if (!mica_batch_has(batch, "label")) return;
  mica_value label = mica_batch_value(batch, "label");
  if (!mica_nn_is_training(nn)) {
    out->loss = mica_mean(mica_triplet(e, label, 0.2, NULL), MICA_ALL_AXES, false);
    return;
  }
  const mica_init_config init = {.kind = MICA_INIT_NORMAL, .value = 0.1};
  mica_value w = normed(mica_nn_parameter(nn, "classes", MICA_SHAPE(TRAINED, WIDTH), &init));
  mica_value cosines = mica_matmul(e, mica_transpose(w, MICA_AXES(1, 0)));
  out->loss = mica_arcface(cosines, label, &(mica_arcface_config){.scale = 8, .margin = 0.1});
}

static double uniform(void) { return (double)rand() / (double)RAND_MAX; }

/* A wave in the direction of its class, of any phase, with noise. Every third direction is not trained on. */
static void paint(int32_t class_index, float *pixels) {
  const int direction = class_index < TRAINED ? class_index / 2 * 3 + class_index % 2 : (class_index - TRAINED) * 3 + 2;
  const double angle = 3.14159265 * direction / CLASSES, phase = 3 * uniform();
  for (int i = 0; i < PIXELS; i++)
    pixels[i] = (float)(sin(1.2 * (i % SIDE * cos(angle) + i / SIDE * sin(angle)) + phase) + uniform() - 0.5);
}

static mica_status train(mica_engine *engine, const mica_batch_source *source, mica_trainer **trainer) {
  const mica_trainer_config config = {.step = step,
                                      .columns = source->columns,
                                      .column_count = source->column_count,
                                      .optimizer = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM),
                                      .schedule = {.kind = MICA_SCHEDULE_COSINE, .rate = 0.003},
                                      .epochs = 15};
  mica_status status = mica_trainer_create(engine, &config, trainer);
  return status ? status : mica_trainer_fit(*trainer, source, NULL);
}

static mica_status embed(mica_engine *engine, mica_trainer *trainer, const float *pixels, float *embeddings) {
  mica_tensor *x = NULL;
  mica_status status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(OTHERS, 1, SIDE, SIDE), pixels, &x);
  const mica_feed feed = {"image", x};
  const mica_batch batch = {.count = OTHERS, .tensors = &feed, .tensor_count = 1};
  if (!status) status = mica_trainer_predict(trainer, &batch);
  if (!status)
    status = mica_tensor_download(mica_engine_queue(engine), mica_trainer_output(trainer, "embedding"), embeddings,
                                  (size_t)OTHERS * WIDTH * sizeof *embeddings);
  mica_tensor_destroy(x);
  return status;
}

/* Compares all pairs of the pictures. */
static mica_status compare(const float *embeddings, const int32_t *classes, mica_roc_scores *scores) {
  static float cosines[PAIRS];
  static uint8_t same[PAIRS];
  size_t pairs = 0;
  for (int i = 0; i < OTHERS; i++)
    for (int j = 0; j < i; j++, pairs++) {
      same[pairs] = classes[i] == classes[j];
      for (int k = 0; k < WIDTH; k++) cosines[pairs] += embeddings[i * WIDTH + k] * embeddings[j * WIDTH + k];
    }
  return mica_roc(cosines, same, pairs, NULL, NULL, scores);
}

int main(void) {
  static float pixels[COUNT][PIXELS], others[OTHERS][PIXELS], embeddings[OTHERS * WIDTH];
  static int32_t labels[COUNT], classes[OTHERS];
  static const float zero, one = 1; /* the pixels are used as they are */
  mica_roc_scores scores = {.eer = 1};
  mica_engine *engine = NULL;
  mica_dataset *data = NULL;
  mica_loader *loader = NULL;
  mica_trainer *trainer = NULL;
  srand(1);
  for (int i = 0; i < COUNT; i++) paint(labels[i] = i % TRAINED, pixels[i]);
  for (int i = 0; i < OTHERS; i++) paint(classes[i] = TRAINED + i % (CLASSES - TRAINED), others[i]);
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_F32, {3, {1, SIDE, SIDE}}, 0}, .data = pixels},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, {0}, TRAINED}, .data = labels}};
  const mica_loader_config how = {.batch = 32, .shuffle = true, .mean = &zero, .deviation = &one};
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = mica_dataset_create("waves", COUNT, columns, 2, &data);
  if (!status) status = mica_loader_create(engine, data, &how, &loader);
  if (!status) {
    const mica_batch_source source = mica_loader_source(loader);
    status = train(engine, &source, &trainer);
  }
  if (!status) status = embed(engine, trainer, others[0], embeddings);
  if (!status) status = compare(embeddings, classes, &scores);
  if (status)
    fprintf(stderr, "%s\n", mica_error_message());
  else
    printf("%d pairs of classes that were not trained on: equal error rate %.1f %% at a similarity of %.2f\n", PAIRS,
           100 * scores.eer, scores.threshold);
  mica_trainer_destroy(trainer);
  mica_loader_destroy(loader);
  mica_dataset_destroy(data);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || scores.eer > 0.15;
}
