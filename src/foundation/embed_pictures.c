/* Vectors of pictures: ViT's features, or CLIP's projected class token. */
#include "foundation/embed.h"

#include <mica/device.h>
#include <mica/nodes.h>

#include <stdlib.h>
#include <string.h>

/* Number of pictures per run. */
#define BATCH 8

static const mica_foundation_info *vision_of(const mica_embedder *e) {
  return e->model->info.vision ? e->model->info.vision : &e->model->info;
}

static mica_status make(mica_embedder *e) {
  const mica_foundation_info *i = vision_of(e);
  MICA_TRY(mica__processor_open(e->model, &e->processor));
  MICA_TRY(mica__embed_network_begin(e, &e->pictures));
  const mica_foundation_build how = {
      .pixels = mica_input(e->pictures.graph, "pixels", MICA_F32,
                           MICA_SHAPE(MICA_DYNAMIC, i->channels, i->picture, i->picture)),
      .hidden = i->projection == 0,
  };
  mica_value x = mica_foundation_network(e->pictures.nn, e->model, &how);
  if (how.hidden && e->form.pooling == MICA_EMBED_POOLING_MEAN)
    x = mica_mean_rows(x, (mica_value){0});
  else if (how.hidden)
    x = mica_squeeze(mica_slice(x, 1, 0, 1, 1), MICA_AXES(1));
  return mica__embed_network_finish(e, &e->pictures, x);
}

static mica_status run(mica_embedder *e, const char *const *paths, size_t count, float *pixels, float *out) {
  const mica_foundation_info *i = vision_of(e);
  const int64_t numbers = i->channels * i->picture * i->picture;
  mica_queue *queue = mica_engine_queue(e->engine);
  mica_tensor *tensor = NULL;
  for (size_t p = 0; p < count; p++)
    MICA_TRY(mica__processor_apply(&e->processor, paths[p], i->picture, pixels + (int64_t)p * numbers));
  mica_status status = mica_tensor_create_from(
      e->engine, MICA_F32, MICA_SHAPE((int64_t)count, i->channels, i->picture, i->picture), pixels, &tensor);
  if (status == MICA_OK) status = mica_session_run(e->pictures.session, queue, &(mica_feed){"pixels", tensor}, 1);
  if (status == MICA_OK)
    status = mica_tensor_download(queue, mica_session_output(e->pictures.session, 0), out,
                                  count * (size_t)e->width * sizeof *out);
  mica_tensor_destroy(tensor);
  return status;
}

mica_status mica_embedder_pictures(mica_embedder *e, const char *const *paths, size_t count, float *out) {
  if (!e || (count && (!paths || !out))) return mica__fail(MICA_E_INVALID, "mica_embedder_pictures: a pointer is NULL");
  for (size_t p = 0; p < count; p++)
    if (!paths[p]) return mica__fail(MICA_E_INVALID, "picture %zu is NULL", p);
  if (count == 0) return MICA_OK;
  if (!e->pictures.session) MICA_TRY(make(e));
  const mica_foundation_info *i = vision_of(e);
  float *pixels = calloc(BATCH * (size_t)i->channels, (size_t)(i->picture * i->picture) * sizeof *pixels);
  mica_status status = pixels ? MICA_OK : mica__fail_nomem("pictures");
  for (size_t at = 0, rows = BATCH; at < count && status == MICA_OK; at += rows) {
    while (rows > count - at) rows /= 2;
    status = run(e, paths + at, rows, pixels, out + (int64_t)at * e->width);
  }
  if (status == MICA_OK && e->form.unit) mica__embed_to_unit(out, count, e->width);
  free(pixels);
  return status;
}
