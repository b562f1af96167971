/* Draws pictures from noise by DDIM (Song et al. 2021), with classifier-free guidance (Ho and Salimans 2022). A run of
 * the session is one step for a batch of pictures; parameters hold the pictures, so that steps need nothing from the
 * host. */
#include "base/arith.h"
#include "base/error.h"
#include "networks/diffusion.h"
#include "ops/random/philox.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* The most pictures that are drawn at once. */
#define AT_A_TIME 64
/* Makes these random numbers differ from others with the same seed; its bytes spell "draw". */
#define KEY UINT32_C(0x64726177)
#define TWO_PI 6.28318530717958647692

typedef mica__diffusion_network network;

/* The session of one step for a batch of `batch` pictures with `size` elements each. */
typedef struct sampler {
  mica_queue *queue;
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

/* Element k of a row (1, 5) of a plan, as (1, 1, 1, 1), to be combined with pictures. */
static mica_value entry(mica_value row, int32_t k) {
  return mica_reshape(mica_slice(row, 1, k, k + 1, 1), MICA_SHAPE(1, 1, 1, 1));
}

/* The network's prediction. With guidance, the result is prediction without class + guidance * (prediction with class -
 * prediction without class). */
static mica_value guided(const sampler *s, const network *net, double guidance, mica_value x, mica_value time,
                         mica_value label) {
  const int64_t n = s->batch, classes = net->trained.classes;
  time = mica_reshape(time, MICA_SHAPE(1));
  if (!classes || guidance == 1) return net->build(s->nn, x, mica_expand(time, MICA_SHAPE(n)), label, net->user);
  mica_value none = mica_full_like(label, (double)classes);
  mica_value z = net->build(s->nn, mica_concat((mica_value[]){x, x}, 2, 0), mica_expand(time, MICA_SHAPE(2 * n)),
                            mica_concat((mica_value[]){label, none}, 2, 0), net->user);
  mica_value with = mica_slice(z, 0, 0, n, 1), without = mica_slice(z, 0, n, 2 * n, 1);
  return mica_add(mica_affine(with, guidance, 0), mica_affine(without, 1 - guidance, 0));
}

mica_value mica__diffusion_advance(mica_value x, mica_value z, mica_value row, bool velocity, mica_value *next) {
  mica_value a = entry(row, 1), n = entry(row, 2);
  mica_value picture = velocity ? mica_sub(mica_mul(a, x), mica_mul(n, z)) : mica_div(mica_sub(x, mica_mul(n, z)), a);
  picture = mica_clip(picture, -1, 1);
  mica_value noise = mica_div(mica_sub(x, mica_mul(a, picture)), n);
  *next = mica_add(mica_mul(entry(row, 3), picture), mica_mul(entry(row, 4), noise));
  return picture;
}

/* Builds one step: returns the pictures that the predictions imply, and assigns the next step's noisy pictures and its
 * number to the parameters that hold them. */
static mica_value build_step(const sampler *s, const network *net, double guidance, const mica__diffusion_step *plan,
                             int64_t steps) {
  mica_value x = mica_parameter(s->graph, "diffuse.x", MICA_F32, s->shape), next = {0};
  mica_value at = mica_parameter(s->graph, "diffuse.step", MICA_I32, MICA_SHAPE(1));
  mica_value label = mica_parameter(s->graph, "diffuse.label", MICA_I32, MICA_SHAPE(s->batch));
  mica_value row = mica_gather(mica_constant(s->graph, MICA_F32, MICA_SHAPE(steps, 5), plan), at, 0);
  mica_value z = guided(s, net, guidance, x, entry(row, 0), label);
  mica_value picture = mica__diffusion_advance(x, z, row, net->trained.velocity, &next);
  mica_assign(x, next);
  mica_assign(at, mica_add(at, mica_full_like(at, 1)));
  return picture;
}

static mica_status make_plan(const mica__diffusion *d, int64_t steps, mica__diffusion_step **plan) {
  double *kept = malloc((size_t)d->steps * sizeof *kept);
  *plan = malloc((size_t)steps * sizeof **plan);
  const bool made = kept && *plan;
  if (made) mica__diffusion_schedule(d->noise, d->steps, kept);
  if (made) mica__diffusion_plan(kept, d->steps, steps, *plan);
  free(kept);
  return made ? MICA_OK : mica__fail_nomem("a schedule");
}

static mica_status make_sampler(mica_engine *engine, const network *net, const mica__drawing *d, sampler *s) {
  const mica_session_config config = {.share = net->share};
  mica__diffusion_step *plan = NULL;
  s->queue = mica_engine_queue(engine);
  s->batch = mica__min(d->count, AT_A_TIME);
  s->shape = MICA_SHAPE(s->batch, d->shape.dim[0], d->shape.dim[1], d->shape.dim[2]);
  s->size = s->shape.dim[1] * s->shape.dim[2] * s->shape.dim[3];
  mica_status status = make_plan(&net->trained, d->steps, &plan);
  if (status == MICA_OK) status = mica_graph_create(&s->graph);
  if (status == MICA_OK) status = mica_nn_create(s->graph, &net->nn, &s->nn);
  if (status == MICA_OK) {
    mica_value picture = build_step(s, net, d->guidance, plan, d->steps);
    status = mica_session_create(engine, s->graph, &picture, 1, &config, &s->session);
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

/* Draws the pictures from number `from` on, at most s->batch of them. `buffer` has room for the elements of a batch. */
static mica_status draw_batch(const sampler *s, const mica__drawing *d, int64_t from, float *buffer, uint8_t *pixels) {
  const int64_t count = mica__min(s->batch, d->count - from);
  const size_t bytes = (size_t)(s->batch * s->size) * sizeof *buffer;
  const int32_t first = 0;
  int32_t labels[AT_A_TIME];
  for (int64_t i = 0; i < s->batch; i++) {
    labels[i] = d->labels[from + mica__min(i, count - 1)];
    fill_noise(d->seed, from + i, s->size, buffer + i * s->size);
  }
  MICA_TRY(mica_tensor_upload(s->queue, mica_session_parameter(s->session, "diffuse.x"), buffer, bytes));
  MICA_TRY(mica_tensor_upload(s->queue, mica_session_parameter(s->session, "diffuse.step"), &first, sizeof first));
  mica_tensor *label = mica_session_parameter(s->session, "diffuse.label");
  if (label) MICA_TRY(mica_tensor_upload(s->queue, label, labels, (size_t)s->batch * sizeof *labels));
  for (int64_t i = 0; i < d->steps; i++) MICA_TRY(mica_session_run(s->session, s->queue, NULL, 0));
  MICA_TRY(mica_tensor_download(s->queue, mica_session_output(s->session, 0), buffer, bytes));
  for (int64_t i = 0; i < count * s->size; i++) pixels[from * s->size + i] = byte_of(buffer[i]);
  return MICA_OK;
}

mica_status mica__diffusion_draw(mica_engine *engine, const network *net, const mica__drawing *d, uint8_t **pixels) {
  sampler s = {0};
  float *buffer = NULL;
  *pixels = NULL;
  mica_status status = make_sampler(engine, net, d, &s);
  if (status == MICA_OK && (uint64_t)d->count > SIZE_MAX / 8 / (uint64_t)s.size)
    status = mica__fail(MICA_E_OVERFLOW, "%lld pictures are too many to be held in memory", (long long)d->count);
  if (status == MICA_OK) {
    buffer = malloc((size_t)(s.batch * s.size) * sizeof *buffer);
    *pixels = malloc((size_t)(d->count * s.size));
    if (!buffer || !*pixels) status = mica__fail_nomem("pictures");
  }
  for (int64_t from = 0; status == MICA_OK && from < d->count; from += s.batch)
    status = draw_batch(&s, d, from, buffer, *pixels);
  free(buffer);
  free_sampler(&s);
  return status;
}
