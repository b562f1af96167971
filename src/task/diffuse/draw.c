/* Draws pictures from noise by DDIM (Song et al. 2021), with classifier-free guidance (Ho and Salimans 2022). One
 * session is a step for all pictures; its parameters hold the pictures, so that steps need nothing from the host. */
#include "nn/nn.h"
#include "ops/random/philox.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/composed.h"
#include "run/facts.h"
#include "run/network.h"
#include "task/diffuse/diffuse.h"

#include "base/arith.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most pictures that are drawn at once. */
#define AT_A_TIME 64
/* The number of pictures to draw by default; the number of classes in a report, and of pictures for each. */
#define USUAL_COUNT 10
#define SHOWN_CLASSES 10
#define SHOWN_OF_EACH 4
/* Makes these random numbers differ from others with the same seed: "draw". */
#define KEY UINT32_C(0x64726177)
#define TWO_PI 6.28318530717958647692

/* What to draw. */
typedef struct request {
  const int32_t *labels; /* of each picture: a class, or the number of classes for any */
  int64_t count, steps;
  uint64_t seed;
  double guidance;
} request;

/* A step of drawing `batch` pictures of `size` elements. */
typedef struct sampler {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_shape shape;
  int64_t batch, size;
} sampler;

static void free_sampler(sampler *s) {
  mica_session_destroy(s->session);
  mica_nn_destroy(s->nn);
  mica_graph_destroy(s->graph);
}

/* --- the graph of a step --- */

/* Column k of the row (1, 5) of a plan, as a scalar of pictures. */
static mica_value entry(mica_value row, int32_t k) {
  return mica_reshape(mica_slice(row, 1, k, k + 1, 1), MICA_SHAPE(1, 1, 1, 1));
}

/* The network's prediction, moved away from the one without a class by the factor of guidance. */
static mica_value guided(const sampler *s, const mica_run *run, double guidance, mica_value x, mica_value time,
                         mica_value label) {
  const int64_t n = s->batch, classes = mica__diffuse_classes(run);
  time = mica_reshape(time, MICA_SHAPE(1));
  if (!classes || guidance == 1) return mica__diffuse_network(s->nn, run, x, mica_expand(time, MICA_SHAPE(n)), label);
  mica_value none = mica_full_like(label, (double)classes);
  mica_value z =
      mica__diffuse_network(s->nn, run, mica_concat((mica_value[]){x, x}, 2, 0), mica_expand(time, MICA_SHAPE(2 * n)),
                            mica_concat((mica_value[]){label, none}, 2, 0));
  mica_value with = mica_slice(z, 0, 0, n, 1), without = mica_slice(z, 0, n, 2 * n, 1);
  return mica_add(mica_affine(with, guidance, 0), mica_affine(without, 1 - guidance, 0));
}

mica_value mica__diffuse_advance(mica_value x, mica_value z, mica_value row, bool velocity, mica_value *next) {
  mica_value a = entry(row, 1), n = entry(row, 2);
  mica_value picture = velocity ? mica_sub(mica_mul(a, x), mica_mul(n, z)) : mica_div(mica_sub(x, mica_mul(n, z)), a);
  picture = mica_clip(picture, -1, 1);
  mica_value noise = mica_div(mica_sub(x, mica_mul(a, picture)), n);
  *next = mica_add(mica_mul(entry(row, 3), picture), mica_mul(entry(row, 4), noise));
  return picture;
}

/* The pictures that follow from the predictions; the parameters receive the next noisy pictures. */
static mica_value build_step(const sampler *s, const mica_run *run, double guidance, const mica__diffuse_step *plan,
                             int64_t steps) {
  const bool velocity = mica__diffuse_settings_of(run).target == MICA__DIFFUSE_TARGET_VELOCITY;
  mica_value x = mica_parameter(s->graph, "diffuse.x", MICA_F32, s->shape), next = {0};
  mica_value at = mica_parameter(s->graph, "diffuse.step", MICA_I32, MICA_SHAPE(1));
  mica_value label = mica_parameter(s->graph, "diffuse.label", MICA_I32, MICA_SHAPE(s->batch));
  mica_value row = mica_gather(mica_constant(s->graph, MICA_F32, MICA_SHAPE(steps, 5), plan), at, 0);
  mica_value z = guided(s, run, guidance, x, entry(row, 0), label);
  mica_value picture = mica__diffuse_advance(x, z, row, velocity, &next);
  mica_assign(x, next);
  mica_assign(at, mica_add(at, mica_full_like(at, 1)));
  return picture;
}

static mica_status make_plan(const mica_run *run, int64_t steps, mica__diffuse_step **plan) {
  const mica__diffuse_settings s = mica__diffuse_settings_of(run);
  double *kept = malloc((size_t)s.noise_steps * sizeof *kept);
  *plan = malloc((size_t)steps * sizeof **plan);
  const bool made = kept && *plan;
  if (made) mica__diffuse_schedule((mica__diffuse_noise)s.noise, s.noise_steps, kept);
  if (made) mica__diffuse_plan(kept, s.noise_steps, steps, *plan);
  free(kept);
  return made ? MICA_OK : mica__fail_nomem("a schedule");
}

static mica_status make_sampler(mica_run *run, const request *r, sampler *s) {
  const mica_nn_config building = mica__run_building(run);
  const mica_session_config config = {.share = mica_trainer_test_session(run->trainer)};
  const double *input = mica__common_facts_of(run).input.list;
  mica__diffuse_step *plan = NULL;
  s->batch = mica__min(r->count, AT_A_TIME);
  s->shape = MICA_SHAPE(s->batch, (int64_t)input[0], (int64_t)input[1], (int64_t)input[2]);
  s->size = s->shape.dim[1] * s->shape.dim[2] * s->shape.dim[3];
  mica_status status = make_plan(run, r->steps, &plan);
  if (status == MICA_OK) status = mica_graph_create(&s->graph);
  if (status == MICA_OK) status = mica_nn_create(s->graph, &building, &s->nn);
  if (status == MICA_OK) {
    mica_value picture = build_step(s, run, r->guidance, plan, r->steps);
    status = mica_session_create(run->engine, s->graph, &picture, 1, &config, &s->session);
  }
  free(plan);
  return status;
}

/* --- drawing --- */

/* Normal numbers that depend only on seed, picture and element, and not on the device or the batch. */
static void fill_noise(uint64_t seed, int64_t picture, int64_t size, float *noise) {
  for (int64_t i = 0; i < size; i += 4) {
    uint32_t words[4] = {(uint32_t)(i / 4), KEY, (uint32_t)picture, (uint32_t)((uint64_t)picture >> 32)};
    mica__philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
    for (int64_t k = 0; k < 4 && i + k < size; k++) {
      const double radius = sqrt(-2 * log(((double)words[k & 2] + 0.5) * 0x1p-32));
      const double angle = TWO_PI * (double)words[(k & 2) + 1] * 0x1p-32;
      noise[i + k] = (float)(radius * (k & 1 ? sin(angle) : cos(angle)));
    }
  }
}

static uint8_t byte_of(float x) { return (uint8_t)fmin(fmax(floor(127.5 * ((double)x + 1) + 0.5), 0), 255); }

/* Draws as many pictures as the sampler's batch holds, beginning with `from`. buffer: the batch's elements. */
static mica_status draw_batch(mica_run *run, const sampler *s, const request *r, int64_t from, float *buffer,
                              uint8_t *pixels) {
  mica_queue *queue = mica_engine_queue(run->engine);
  const int64_t count = mica__min(s->batch, r->count - from);
  const size_t bytes = (size_t)(s->batch * s->size) * sizeof *buffer;
  const int32_t first = 0;
  int32_t labels[AT_A_TIME];
  for (int64_t i = 0; i < s->batch; i++) {
    labels[i] = r->labels[from + mica__min(i, count - 1)];
    fill_noise(r->seed, from + i, s->size, buffer + i * s->size);
  }
  MICA_TRY(mica_tensor_upload(queue, mica_session_parameter(s->session, "diffuse.x"), buffer, bytes));
  MICA_TRY(mica_tensor_upload(queue, mica_session_parameter(s->session, "diffuse.step"), &first, sizeof first));
  mica_tensor *label = mica_session_parameter(s->session, "diffuse.label");
  if (label) MICA_TRY(mica_tensor_upload(queue, label, labels, (size_t)s->batch * sizeof *labels));
  for (int64_t i = 0; i < r->steps; i++) MICA_TRY(mica_session_run(s->session, queue, NULL, 0));
  MICA_TRY(mica_tensor_download(queue, mica_session_output(s->session, 0), buffer, bytes));
  for (int64_t i = 0; i < count * s->size; i++) pixels[from * s->size + i] = byte_of(buffer[i]);
  return MICA_OK;
}

/* Draws planes (C, H, W) of all pictures; the caller frees them. */
static mica_status draw(mica_run *run, const request *r, uint8_t **pixels) {
  sampler s = {0};
  float *buffer = NULL;
  *pixels = NULL;
  mica_status status = make_sampler(run, r, &s);
  if (status == MICA_OK && (uint64_t)r->count > SIZE_MAX / 8 / (uint64_t)s.size)
    status = mica__fail(MICA_E_OVERFLOW, "%lld pictures are too many", (long long)r->count);
  if (status == MICA_OK) {
    buffer = malloc((size_t)(s.batch * s.size) * sizeof *buffer);
    *pixels = malloc((size_t)(r->count * s.size));
    if (!buffer || !*pixels) status = mica__fail_nomem("pictures");
  }
  for (int64_t from = 0; status == MICA_OK && from < r->count; from += s.batch)
    status = draw_batch(run, &s, r, from, buffer, *pixels);
  free(buffer);
  free_sampler(&s);
  return status;
}

/* --- predictions and the report --- */

static const char *class_name(const mica_run *run, int32_t label) {
  const mica__fact_texts names = mica__common_facts_of(run).classes;
  return label >= 0 && (size_t)label < names.count ? names.list[label] : "picture";
}

/* The picture itself as an item. */
static mica_status add_picture(const mica_run *run, const uint8_t *planes, const char *caption, mica_report *report) {
  const double *input = mica__common_facts_of(run).input.list;
  const mica_item item = {.kind = MICA_ITEM_KIND_PICTURE,
                          .name = "drawn",
                          .text = caption,
                          .planes = planes,
                          .shape = MICA_SHAPE((int64_t)input[0], (int64_t)input[1], (int64_t)input[2])};
  return mica_report_add(report, &item);
}

static int64_t size_of(const mica_run *run) {
  const double *input = mica__common_facts_of(run).input.list;
  return (int64_t)(input[0] * input[1] * input[2]);
}

/* Adds a section such as "sneaker 3" for each picture; pictures of a class are counted from 1. */
static mica_status add_sections(const mica_run *run, const request *r, const uint8_t *pixels, mica_report *report) {
  const int64_t every = r->count > 1 && r->labels[0] != r->labels[1] ? mica__diffuse_classes(run) : 1;
  for (int64_t i = 0; i < r->count; i++) {
    const char *name = class_name(run, r->labels[i]);
    mica__text title = {0};
    mica__text_addf(&title, "%s %lld", name, (long long)(i / every + 1));
    mica_status status = mica__text_status(&title);
    if (status == MICA_OK) status = mica_report_begin(report, title.data);
    if (status == MICA_OK) status = mica_report_add_text(report, "class", name);
    if (status == MICA_OK) status = add_picture(run, pixels + i * size_of(run), name, report);
    mica__text_free(&title);
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* The class of this name; without a name, the classes in turn. */
static mica_status choose_labels(const mica_run *run, const char *name, int64_t count, int32_t *labels) {
  const mica__fact_texts names = mica__common_facts_of(run).classes;
  const size_t found = name ? mica__run_find_name(names.list, names.count, name) : 0;
  mica__text list = {0};
  if (name && found == names.count) {
    for (size_t i = 0; i < names.count; i++) mica__text_addf(&list, "%s%s", i ? ", " : "", names.list[i]);
    mica_status status =
        mica__fail(MICA_E_NOT_FOUND, "the run has no class \"%s\"; choose from %s", name, list.data ? list.data : "");
    mica__text_free(&list);
    return status;
  }
  for (int64_t i = 0; i < count; i++) labels[i] = (int32_t)(name ? found : (size_t)i % names.count);
  return MICA_OK;
}

mica_status mica__diffuse_predict(mica_run *run, const mica_run_input *given, mica_report *prediction) {
  const mica__diffuse_settings s = mica__diffuse_settings_of(run);
  request r = {.count = given->count > 0 ? given->count : USUAL_COUNT,
               .steps = given->steps > 0 ? given->steps : s.sample_steps,
               .seed = given->seed,
               .guidance = mica__or_default(given->guidance, s.guidance)};
  uint8_t *pixels = NULL;
  if (r.steps > s.noise_steps)
    return mica__fail(MICA_E_INVALID, "%lld steps of drawing are more than the %lld of training (noise-steps)",
                      (long long)r.steps, (long long)s.noise_steps);
  int32_t *labels = (uint64_t)r.count <= SIZE_MAX / 8 ? calloc((size_t)r.count, sizeof *labels) : NULL;
  mica_status status = labels ? MICA_OK : mica__fail_nomem("pictures");
  if (status == MICA_OK) status = choose_labels(run, given->of_class, r.count, labels);
  r.labels = labels;
  if (status == MICA_OK) status = draw(run, &r, &pixels);
  if (status == MICA_OK) status = add_sections(run, &r, pixels, prediction);
  free(pixels);
  free(labels);
  return status;
}

mica_status mica__diffuse_report(mica_run *run, mica_report *report) {
  const mica__diffuse_settings s = mica__diffuse_settings_of(run);
  const int64_t classes = mica__diffuse_classes(run),
                columns = classes ? mica__min(classes, SHOWN_CLASSES) : SHOWN_CLASSES;
  int32_t labels[SHOWN_CLASSES * SHOWN_OF_EACH] = {0};
  uint8_t *pixels = NULL;
  request r = {.labels = labels, .count = columns * SHOWN_OF_EACH, .steps = s.sample_steps, .guidance = s.guidance};
  for (int64_t i = 0; i < r.count && classes; i++) labels[i] = (int32_t)(i % columns);
  mica_status status = draw(run, &r, &pixels);
  if (status == MICA_OK) status = mica_report_begin(report, "Drawn");
  for (int64_t i = 0; status == MICA_OK && i < r.count; i++)
    status = add_picture(run, pixels + i * size_of(run), class_name(run, labels[i]), report);
  free(pixels);
  return status;
}
