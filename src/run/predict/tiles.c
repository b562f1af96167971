/* Pictures larger than the network's input are cut into tiles. The tiles' answers are blended with a window: shares
 * (class probabilities), or one number, per pixel. */
#include "run/predict/tiles.h"
#include "data/dataset.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/composed.h"
#include "run/fields.h"
#include "run/predict/batches.h"
#include "run/predict/samples.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILES_FACTS(X, S) X(S, NUMBERS, tile, .needed = true)

MICA__FACTS(tiles, TILES_FACTS, 3);

mica_tiling mica__picture_tiling(const mica_run *run) {
  const mica__fact_numbers tile = facts_of(run).tile;
  if (tile.count != 3) return (mica_tiling){1, 1, 0};
  return (mica_tiling){(int64_t)tile.list[0], (int64_t)tile.list[1], (int64_t)tile.list[2]};
}

/* --- blending --- */

/* Accumulates the network's answer for a picture: `sums` (K, H, W) holds weighted sums of its tiles' shares, and
 * `weights` (H, W) the sums of the weights. A tile's weight falls from its middle to its edges, so that no seams are
 * visible. */
typedef struct blend {
  int64_t classes, height, width;
  float *sums, *weights;
} blend;

static void free_blend(blend *b) {
  free(b->sums);
  free(b->weights);
  *b = (blend){0};
}

static mica_status make_blend(int64_t classes, int64_t height, int64_t width, blend *b) {
  const size_t pixels = (size_t)height * (size_t)width;
  *b = (blend){.classes = classes, .height = height, .width = width};
  b->sums = calloc(pixels * (size_t)classes, sizeof *b->sums);
  b->weights = calloc(pixels, sizeof *b->weights);
  if (b->sums && b->weights) return MICA_OK;
  free_blend(b);
  return mica__fail_nomem("a picture's shares");
}

/* The weight of position i in a side of `size` pixels: 1 in the middle, close to 0 at both ends. */
static float weight_at(int64_t i, int64_t size) {
  const int64_t near = i < size - 1 - i ? i : size - 1 - i;
  return (float)(2 * near + 1) / (float)size;
}

/* Adds the shares of a tile, (K, tiling->height, tiling->width). */
static void add_shares(blend *b, const mica_tiling *t, mica_tiling_tile tile, const float *shares) {
  const int64_t plane = b->height * b->width;
  for (int64_t r = 0; r < t->height && tile.row + r < b->height; r++)
    for (int64_t q = 0; q < t->width && tile.column + q < b->width; q++) {
      const float weight = weight_at(r, t->height) * weight_at(q, t->width);
      const int64_t at = (tile.row + r) * b->width + tile.column + q;
      b->weights[at] += weight;
      for (int64_t c = 0; c < b->classes; c++)
        b->sums[c * plane + at] += weight * shares[(c * t->height + r) * t->width + q];
    }
}

/* If the answer is one number per pixel, divides the weighted sums by the sums of weights, which gives means. Shares of
 * classes need no division, because only their ratios matter. */
static void divide_numbers(blend *b) {
  for (int64_t i = 0; b->classes == 1 && i < b->height * b->width; i++) b->sums[i] /= b->weights[i];
}

/* --- pictures --- */

/* Buffers with which tiles are run through the network, one at a time. */
typedef struct passage {
  mica_run *run;
  mica_tiling tiling;
  int64_t channels, classes;
  float *inputs;
  uint8_t *cut;
  mica_tensor *x;
} passage;

static void free_passage(passage *p) {
  free(p->inputs);
  free(p->cut);
  mica_tensor_destroy(p->x);
}

static mica_status make_passage(mica_run *run, passage *p) {
  const mica_tiling t = mica__picture_tiling(run);
  const size_t pixels = (size_t)(t.height * t.width);
  *p = (passage){.run = run,
                 .tiling = t,
                 .channels = (int64_t)mica__common_facts_of(run).input.list[0],
                 .classes = run->task->head->outputs(run)};
  p->inputs = malloc(pixels * (size_t)p->channels * sizeof *p->inputs);
  p->cut = malloc(pixels * (size_t)p->channels);
  if (!p->inputs || !p->cut) return mica__fail_nomem("tiles");
  return mica_tensor_create(run->engine, MICA_F32, MICA_SHAPE(1, p->channels, t.height, t.width), &p->x);
}

/* Runs a tile of a picture through the network and adds its shares to the picture's. */
static mica_status add_tile_of(passage *p, const uint8_t *planes, mica_shape shape, mica_tiling_tile tile, blend *to) {
  mica_run *run = p->run;
  const int64_t plane = p->tiling.height * p->tiling.width;
  mica_tiling_cut(&p->tiling, planes, shape, tile, p->cut);
  mica__normalise(run, p->channels * plane, NULL, p->cut, p->inputs);
  MICA_TRY(mica_tensor_upload(mica_engine_queue(run->engine), p->x, p->inputs, mica_tensor_bytes(p->x)));
  const mica_feed feed = {mica__common_facts_of(run).input_column, p->x};
  const mica_batch batch = {.count = 1, .tensors = &feed, .tensor_count = 1};
  float *shares = NULL;
  mica_status status = mica__batch_infer(run, &batch, p->classes * plane, &shares);
  if (status == MICA_OK) add_shares(to, &p->tiling, tile, shares);
  free(shares);
  return status;
}

mica_status mica__picture_infer(mica_run *run, const uint8_t *planes, int64_t height, int64_t width, float **shares) {
  passage p;
  blend joined = {0};
  mica_status status = make_passage(run, &p);
  if (status == MICA_OK) status = make_blend(p.classes, height, width, &joined);
  const int64_t count = mica_tiling_count(&p.tiling, height, width);
  for (int64_t i = 0; status == MICA_OK && i < count; i++) {
    const mica_tiling_tile tile = mica_tiling_at(&p.tiling, height, width, i);
    status = add_tile_of(&p, planes, MICA_SHAPE(p.channels, height, width), tile, &joined);
  }
  if (status == MICA_OK) divide_numbers(&joined);
  *shares = status == MICA_OK ? joined.sums : NULL;
  if (status == MICA_OK) joined.sums = NULL;
  free_blend(&joined);
  free_passage(&p);
  return status;
}

/* --- a part of data --- */

/* A picture that is assembled from a source's tiles. */
typedef struct judging {
  const mica_dataset *data;
  mica_tiling tiling;
  int64_t tiles, classes, height, width, at; /* at is how many of its tiles have been added */
  bool several;                              /* some picture has more than one tile */
  blend blend;
  uint8_t *truth; /* true classes; NULL if the truth is depths */
  float *depths;
  int32_t *masks; /* the true classes of a batch's pixels or, if the truth is depths, their f32 bits */
  int64_t pictures;
  mica__sample_fn *fn;
  void *user;
} judging;

static void free_judging(judging *j) {
  free_blend(&j->blend);
  free(j->truth);
  free(j->depths);
  free(j->masks);
}

static bool has_several(const mica_dataset *data, const mica_tiling *t) {
  bool several = false;
  for (uint64_t i = 0; !several && i < mica_dataset_count(data); i++) {
    int64_t height = 0, width = 0;
    mica__dataset_sides(data, i, &height, &width);
    several = mica_tiling_count(t, height, width) > 1;
  }
  return several;
}

static mica_status begin_judging(const mica_run *run, const mica_dataset *data, judging *j) {
  const mica_tiling t = mica__picture_tiling(run);
  const size_t pixels = mica__dataset_most_pixels(data), tile = (size_t)(t.height * t.width);
  const size_t batch = (size_t)mica__common_settings_of(run).batch;
  *j = (judging){.data = data, .tiling = t, .classes = run->task->head->outputs(run), .several = has_several(data, &t)};
  if (!j->several) return MICA_OK;
  if (mica__dataset_find(data, MICA_COLUMN_KIND_MAP))
    j->depths = malloc(pixels * sizeof *j->depths);
  else
    j->truth = malloc(pixels);
  j->masks = malloc(batch * tile * sizeof *j->masks);
  if ((!j->truth && !j->depths) || !j->masks) return mica__fail_nomem("tiles");
  return make_blend(j->classes, (int64_t)pixels, 1, &j->blend);
}

/* Begins the next picture, in memory large enough for any of them. */
static void begin_picture(judging *j) {
  mica__dataset_sides(j->data, (uint64_t)j->pictures, &j->height, &j->width);
  const size_t pixels = (size_t)(j->height * j->width);
  j->tiles = mica_tiling_count(&j->tiling, j->height, j->width);
  j->blend.height = j->height;
  j->blend.width = j->width;
  if (j->truth) memset(j->truth, 255, pixels);
  if (j->depths) memset(j->depths, 0, pixels * sizeof *j->depths);
  memset(j->blend.weights, 0, pixels * sizeof *j->blend.weights);
  memset(j->blend.sums, 0, pixels * (size_t)j->classes * sizeof *j->blend.sums);
}

static mica_status end_picture(mica_run *run, judging *j) {
  const mica__sample sample = {.mask = j->truth, .depths = j->depths, .shape = {3, {1, j->height, j->width}}};
  divide_numbers(&j->blend);
  j->pictures++;
  j->at = 0;
  return j->fn(run, &sample, j->blend.sums, j->user);
}

static mica_status add_tile(mica_run *run, judging *j, const float *shares, const int32_t *mask) {
  if (j->at == 0) begin_picture(j);
  const mica_tiling_tile tile = mica_tiling_at(&j->tiling, j->height, j->width, j->at);
  add_shares(&j->blend, &j->tiling, tile, shares);
  for (int64_t r = tile.own_row; r < tile.own_row_end; r++)
    for (int64_t q = tile.own_column; q < tile.own_column_end; q++) {
      const int32_t *label = &mask[(r - tile.row) * j->tiling.width + q - tile.column];
      if (j->depths)
        memcpy(&j->depths[r * j->width + q], label, sizeof *label);
      else if (*label >= 0 && *label < j->classes)
        j->truth[r * j->width + q] = (uint8_t)*label;
    }
  return ++j->at == j->tiles ? end_picture(run, j) : MICA_OK;
}

static mica_status take_batch(mica_run *run, const mica_batch *batch, const float *shares, void *user) {
  judging *j = user;
  const size_t tile = (size_t)(j->tiling.height * j->tiling.width), all = (size_t)batch->count * tile;
  if (batch->count > mica__common_settings_of(run).batch)
    return mica__fail(MICA_E_STATE, "the source of batches gave more samples than the setting batch allows");
  MICA_TRY(mica__batch_read(run, batch, mica__common_facts_of(run).label_column, j->masks, all * sizeof *j->masks));
  for (size_t i = 0; i < (size_t)batch->count; i++)
    MICA_TRY(add_tile(run, j, shares + i * tile * (size_t)j->classes, j->masks + i * tile));
  return MICA_OK;
}

mica_status mica__picture_join(mica_run *run, const mica_batch_source *source, mica__sample_fn *fn, void *user,
                               bool *joined) {
  const mica_dataset *data = mica__source_data(run, source);
  judging j = {0};
  mica_status status = data ? begin_judging(run, data, &j) : MICA_OK;
  j.fn = fn;
  j.user = user;
  if (status == MICA_OK && j.several)
    status = mica__test_batches(run, source, j.classes * j.tiling.height * j.tiling.width, take_batch, &j);
  *joined = j.several;
  free_judging(&j);
  return status;
}
