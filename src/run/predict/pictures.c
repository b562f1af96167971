/* The pictures of predictions and reports, in their own sizes. */
#include "run/predict/pictures.h"
#include "data/dataset.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/predict/samples.h"
#include "run/predict/tiles.h"
#include "run/predict/visits.h"
#include "run/run.h"

#include <stdlib.h>

/* How many pictures a report shows. */
#define LOOKED_AT 6

/* A picture with its mask or depths. */
typedef struct scene {
  uint8_t *planes, *truth; /* planes (C, H, W); truth (H, W), 255 where unknown, or NULL */
  float *depths;           /* (H, W), 0 where unknown; may be NULL */
  mica_shape shape;
} scene;

static void free_scene(scene *s) {
  free(s->planes);
  free(s->truth);
  free(s->depths);
  *s = (scene){0};
}

static mica_status show(mica_run *run, const char *name, const scene *s, mica__sample_fn *fn, void *user) {
  const mica__sample sample = {
      .name = name, .pixels = s->planes, .mask = s->truth, .depths = s->depths, .shape = s->shape};
  float *shares = NULL;
  mica_status status = mica__picture_infer(run, s->planes, s->shape.dim[1], s->shape.dim[2], &shares);
  if (status == MICA_OK) status = fn(run, &sample, shares, user);
  free(shares);
  return status;
}

static mica_status visit_file(mica_run *run, const char *path, mica__sample_fn *fn, void *user) {
  const int64_t channels = (int64_t)mica__common_facts_of(run).input.list[0];
  scene s = {0};
  mica_status status = mica_image_read(path, MICA_SHAPE(channels, 0, 0), &s.planes, &s.shape);
  if (status == MICA_OK) status = show(run, path, &s, fn, user);
  free_scene(&s);
  return status;
}

/* Reads a sample of a dataset with its mask or depths, in its own size. */
static mica_status read_scene(const mica_dataset *data, uint64_t sample, scene *s) {
  s->shape = mica_dataset_shape(data);
  mica__dataset_sides(data, sample, &s->shape.dim[1], &s->shape.dim[2]);
  for (size_t k = 0; k < mica_dataset_column_count(data); k++) {
    const mica_column_kind kind = mica_dataset_column(data, k)->kind;
    const bool picture = kind == MICA_COLUMN_KIND_IMAGE && !s->planes,
               mask = kind == MICA_COLUMN_KIND_MASK && !s->truth;
    const bool map = kind == MICA_COLUMN_KIND_MAP && !s->depths;
    const size_t each = picture ? (size_t)s->shape.dim[0] : map ? sizeof *s->depths : 1;
    const size_t bytes = (size_t)(s->shape.dim[1] * s->shape.dim[2]) * each;
    if (!picture && !mask && !map) continue;
    void *to = malloc(bytes);
    if (!to) return mica__fail_nomem("a picture");
    if (picture)
      s->planes = to;
    else if (mask)
      s->truth = to;
    else
      s->depths = to;
    MICA_TRY(mica__dataset_read_own(data, k, sample, to, bytes));
  }
  return MICA_OK;
}

static mica_status visit_first(mica_run *run, const mica_dataset *data, uint64_t count, mica__sample_fn *fn,
                               void *user) {
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < count && i < mica_dataset_count(data); i++) {
    char *name = mica__sample_name(data, i);
    scene s = {0};
    status = name ? read_scene(data, i, &s) : mica__fail_nomem("a picture");
    if (status == MICA_OK) status = show(run, name, &s, fn, user);
    free_scene(&s);
    free(name);
  }
  return status;
}

mica_status mica__pictures_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  if (given->data) return mica__visit_data(run, given, visit_first, fn, user);
  if (!given->file_count)
    return mica__fail(MICA_E_INVALID,
                      "the network was trained on pictures; give files of pictures (not a text or standard input)");
  return mica__visit_files(run, given, visit_file, fn, user);
}

mica_status mica__pictures_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  return visit_first(run, data, LOOKED_AT, fn, user);
}
