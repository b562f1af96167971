/* Pictures larger than the network's input: tiles whose shares are blended by a window. */
#include "data/dataset.h"
#include "run/columns/columns.h"
#include "run/facts.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"
#include "task/segment/segment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t mica__segment_classes(const mica_run *run) {
  size_t count = 0;
  mica_run_fact(run, "classes", &count);
  return (int64_t)count;
}

mica_tiling mica__segment_tiling(const mica_run *run) {
  size_t count = 0;
  const double *tile = mica_run_fact_numbers(run, "tile", &count);
  if (!tile || count != 3) return (mica_tiling){1, 1, 0};
  return (mica_tiling){(int64_t)tile[0], (int64_t)tile[1], (int64_t)tile[2]};
}

/* --- blending --- */

mica_status mica__blend_create(int64_t classes, int64_t height, int64_t width, mica__blend *b) {
  const size_t pixels = (size_t)height * (size_t)width;
  *b = (mica__blend){.classes = classes, .height = height, .width = width};
  b->sums = calloc(pixels * (size_t)classes, sizeof *b->sums);
  b->weights = calloc(pixels, sizeof *b->weights);
  if (b->sums && b->weights) return MICA_OK;
  mica__blend_free(b);
  return mica__fail_nomem("a picture's shares");
}

void mica__blend_free(mica__blend *b) {
  free(b->sums);
  free(b->weights);
  *b = (mica__blend){0};
}

/* 1 in the middle, and near 0 at both ends. */
static float weight_at(int64_t i, int64_t size) {
  const int64_t near = i < size - 1 - i ? i : size - 1 - i;
  return (float)(2 * near + 1) / (float)size;
}

void mica__blend_add(mica__blend *b, const mica_tiling *t, mica_tiling_tile tile, const float *shares) {
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

void mica__blend_decide(const mica__blend *b, uint8_t *classes) {
  const int64_t plane = b->height * b->width;
  for (int64_t at = 0; at < plane; at++) {
    int64_t best = 0;
    for (int64_t c = 1; c < b->classes; c++)
      if (b->sums[c * plane + at] > b->sums[best * plane + at]) best = c;
    classes[at] = (uint8_t)best;
  }
}

/* --- pictures --- */

/* Tiles on their way through the network. */
typedef struct passage {
  mica_run *run;
  mica_tiling tiling;
  int64_t channels, classes, most; /* tiles at once */
  float *inputs, *shares;
  uint8_t *cut;
  mica_tensor *x;
} passage;

static void free_passage(passage *p) {
  free(p->inputs);
  free(p->shares);
  free(p->cut);
  mica_tensor_destroy(p->x);
}

static mica_status make_passage(mica_run *run, passage *p) {
  const mica_tiling t = mica__segment_tiling(run);
  const size_t pixels = (size_t)(t.height * t.width);
  *p = (passage){.run = run,
                 .tiling = t,
                 .channels = (int64_t)mica__run_fact_number(run, "input", 1),
                 .classes = mica__segment_classes(run),
                 .most = 1};
  p->inputs = malloc(pixels * (size_t)p->channels * sizeof *p->inputs);
  p->shares = malloc(pixels * (size_t)p->classes * sizeof *p->shares);
  p->cut = malloc(pixels * (size_t)p->channels);
  if (!p->inputs || !p->shares || !p->cut) return mica__fail_nomem("tiles");
  return mica_tensor_create(run->engine, MICA_F32, MICA_SHAPE(1, p->channels, t.height, t.width), &p->x);
}

static mica_status take_shares(mica_run *run, float *shares, size_t bytes) {
  const mica_tensor *result = mica_trainer_output(run->trainer, "shares");
  if (!result || mica_tensor_bytes(result) != bytes)
    return mica__fail(MICA_E_STATE, "the network has no shares of %zu bytes", bytes);
  return mica_tensor_download(mica_engine_queue(run->engine), result, shares, bytes);
}

static mica_status infer_tile(passage *p, const uint8_t *planes, mica_shape shape, mica_tiling_tile tile) {
  mica_run *run = p->run;
  const int64_t plane = p->tiling.height * p->tiling.width;
  const double *mean = mica_run_fact_numbers(run, "mean", NULL);
  const double *deviation = mica_run_fact_numbers(run, "deviation", NULL);
  mica_tiling_cut(&p->tiling, planes, shape, tile, p->cut);
  for (int64_t i = 0; i < p->channels * plane; i++)
    p->inputs[i] = ((float)p->cut[i] / 255 - (float)mean[i / plane]) / (float)deviation[i / plane];
  MICA_TRY(mica_tensor_upload(mica_engine_queue(run->engine), p->x, p->inputs, mica_tensor_bytes(p->x)));
  const mica_feed feed = {mica__run_fact_text(run, "input_column"), p->x};
  MICA_TRY(mica_trainer_predict(run->trainer, &(mica_batch){.count = 1, .tensors = &feed, .tensor_count = 1}));
  return take_shares(run, p->shares, (size_t)(p->classes * plane) * sizeof *p->shares);
}

mica_status mica__segment_infer(mica_run *run, const uint8_t *planes, int64_t height, int64_t width, uint8_t *classes) {
  passage p;
  mica__blend blend = {0};
  mica_status status = make_passage(run, &p);
  if (status == MICA_OK) status = mica__blend_create(p.classes, height, width, &blend);
  const int64_t count = mica_tiling_count(&p.tiling, height, width);
  for (int64_t i = 0; status == MICA_OK && i < count; i++) {
    const mica_tiling_tile tile = mica_tiling_at(&p.tiling, height, width, i);
    status = infer_tile(&p, planes, MICA_SHAPE(p.channels, height, width), tile);
    if (status == MICA_OK) mica__blend_add(&blend, &p.tiling, tile, p.shares);
  }
  if (status == MICA_OK) mica__blend_decide(&blend, classes);
  mica__blend_free(&blend);
  free_passage(&p);
  return status;
}

/* --- a part of data --- */

/* Counts of a class: pixels said and meant to be of it, both, and in all. */
typedef struct counts {
  double both, said, meant;
} counts;

/* A picture that is put together from a source's tiles, and what was counted of those before. */
typedef struct judging {
  const mica_dataset *data;
  mica_tiling tiling;
  int64_t tiles, classes, height, width, at; /* at: tiles of it so far */
  bool several;                              /* there is a picture of more than a tile */
  mica__blend blend;
  uint8_t *decided, *truth;
  float *shares;
  int32_t *masks;
  counts *counts;
  double right, pixels;
  int64_t pictures;
} judging;

static void free_judging(judging *j) {
  mica__blend_free(&j->blend);
  free(j->decided);
  free(j->truth);
  free(j->shares);
  free(j->masks);
  free(j->counts);
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
  const mica_tiling t = mica__segment_tiling(run);
  const size_t pixels = mica__dataset_most_pixels(data), tile = (size_t)(t.height * t.width);
  const size_t batch = (size_t)mica_run_number(run, "batch");
  *j = (judging){.data = data, .tiling = t, .classes = mica__segment_classes(run), .several = has_several(data, &t)};
  if (!j->several) return MICA_OK;
  j->decided = malloc(pixels);
  j->truth = malloc(pixels);
  j->shares = malloc(batch * tile * (size_t)j->classes * sizeof *j->shares);
  j->masks = malloc(batch * tile * sizeof *j->masks);
  j->counts = calloc((size_t)j->classes, sizeof *j->counts);
  if (!j->decided || !j->truth || !j->shares || !j->masks || !j->counts) return mica__fail_nomem("tiles");
  return mica__blend_create(j->classes, (int64_t)pixels, 1, &j->blend);
}

/* The next picture, in memory for the largest one. */
static void begin_picture(judging *j) {
  mica__dataset_sides(j->data, (uint64_t)j->pictures, &j->height, &j->width);
  const size_t pixels = (size_t)(j->height * j->width);
  j->tiles = mica_tiling_count(&j->tiling, j->height, j->width);
  j->blend.height = j->height;
  j->blend.width = j->width;
  memset(j->truth, 255, pixels);
  memset(j->blend.weights, 0, pixels * sizeof *j->blend.weights);
  memset(j->blend.sums, 0, pixels * (size_t)j->classes * sizeof *j->blend.sums);
}

static void end_picture(judging *j) {
  const size_t pixels = (size_t)(j->height * j->width);
  mica__blend_decide(&j->blend, j->decided);
  for (size_t i = 0; i < pixels; i++) {
    if (j->truth[i] == 255) continue;
    j->counts[j->decided[i]].said++;
    j->counts[j->truth[i]].meant++;
    j->counts[j->truth[i]].both += j->decided[i] == j->truth[i];
    j->right += j->decided[i] == j->truth[i];
    j->pixels++;
  }
  j->pictures++;
  j->at = 0;
}

static void add_tile(judging *j, const float *shares, const int32_t *mask) {
  if (j->at == 0) begin_picture(j);
  const mica_tiling_tile tile = mica_tiling_at(&j->tiling, j->height, j->width, j->at);
  mica__blend_add(&j->blend, &j->tiling, tile, shares);
  for (int64_t r = tile.own_row; r < tile.own_row_end; r++)
    for (int64_t q = tile.own_column; q < tile.own_column_end; q++) {
      const int32_t label = mask[(r - tile.row) * j->tiling.width + q - tile.column];
      if (label >= 0 && label < j->classes) j->truth[r * j->width + q] = (uint8_t)label;
    }
  if (++j->at == j->tiles) end_picture(j);
}

static mica_status take_batch(mica_run *run, judging *j, const mica_batch *batch) {
  mica_feed *feeds = NULL;
  mica_batch blind;
  const char *label = mica__run_fact_text(run, "label_column");
  const size_t tile = (size_t)(j->tiling.height * j->tiling.width), all = (size_t)batch->count * tile;
  if ((double)batch->count > mica_run_number(run, "batch"))
    return mica__fail(MICA_E_STATE, "a source gave more samples than a batch has");
  for (size_t i = 0; i < batch->tensor_count; i++)
    if (!strcmp(batch->tensors[i].name, label))
      MICA_TRY(mica_tensor_download(mica_engine_queue(run->engine), batch->tensors[i].tensor, j->masks,
                                    all * sizeof *j->masks));
  mica_status status = mica__run_withhold(run, batch, &feeds, &blind);
  if (status == MICA_OK) status = mica_trainer_predict(run->trainer, &blind);
  free(feeds);
  MICA_TRY(status);
  MICA_TRY(take_shares(run, j->shares, all * (size_t)j->classes * sizeof *j->shares));
  for (size_t i = 0; i < (size_t)batch->count; i++)
    add_tile(j, j->shares + i * tile * (size_t)j->classes, j->masks + i * tile);
  return MICA_OK;
}

/* Quotients of each class, and their mean over classes that occur. */
static mica_status add_quotients(const mica_run *run, const judging *j, const char *name, bool dice, mica_metrics *m) {
  const char *const *names = mica_run_fact(run, "classes", NULL);
  double mean = 0;
  int64_t there = 0;
  for (int64_t c = 0; c < j->classes; c++) {
    const counts *n = &j->counts[c];
    const double sum = n->said + n->meant, over = dice ? sum : sum - n->both;
    const double value = over > 0 ? (dice ? 2 : 1) * n->both / over : NAN;
    char part[MICA_METRIC_NAME];
    snprintf(part, sizeof part, "%s_%s", name, names[c]);
    if (over > 0) mean += value, there++;
    if (!isnan(mica_metrics_get(m, part)) || m->count < MICA_METRICS_MAX) MICA_TRY(mica_metrics_add(m, part, value));
  }
  return mica_metrics_add(m, name, there ? mean / (double)there : (double)NAN);
}

/* The data that a source shows. */
static const mica_dataset *data_of(const mica_run *run, const mica_batch_source *source) {
  for (int i = 0; i < MICA__PARTS; i++)
    if (run->parts->at[i].loader && source->user == run->parts->at[i].loader) return run->parts->at[i].data;
  return run->evaluation->data;
}

/* Where pictures are one tile the sums of the test suffice; of larger ones the blended tiles are counted. */
mica_status mica__segment_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  const mica_dataset *data = data_of(run, source);
  judging j = {0};
  mica_batch batch = {0};
  mica_status status = data ? begin_judging(run, data, &j) : MICA_OK;
  if (status == MICA_OK && j.several) status = source->seek(source->user, 0, 0);
  while (status == MICA_OK && j.several) {
    status = source->next(source->user, mica_engine_queue(run->engine), &batch);
    if (status != MICA_OK || !batch.count) break;
    status = take_batch(run, &j, &batch);
  }
  if (status == MICA_OK && j.several) {
    m->samples = j.pictures;
    status = add_quotients(run, &j, "dice", true, m);
    if (status == MICA_OK) status = add_quotients(run, &j, "iou", false, m);
    if (status == MICA_OK) status = mica_metrics_add(m, "accuracy", j.pixels > 0 ? j.right / j.pixels : (double)NAN);
  }
  free_judging(&j);
  return status;
}
