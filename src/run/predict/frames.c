/* Pictures in which boxes are found: files in their own sizes, and samples of data. */
#include "run/predict/frames.h"
#include "base/text.h"
#include "data/annotation/boxed.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/predict/samples.h"
#include "run/predict/visits.h"
#include "run/record.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* How many pictures a report shows. */
#define LOOKED_AT 12

/* The size of the frame, (C, H, W). */
static mica_shape frame_of(const mica_run *run) {
  const double *input = mica__common_facts_of(run).input.list;
  return MICA_SHAPE((int64_t)input[0], (int64_t)input[1], (int64_t)input[2]);
}

static size_t bytes_of(mica_shape frame) { return (size_t)(frame.dim[0] * frame.dim[1] * frame.dim[2]); }

/* Visits a picture, given by its pixels after scaling into the frame; sample->shape is its own size. */
static mica_status visit_one(mica_run *run, const uint8_t *framed, const mica__sample *sample, mica__sample_fn *fn,
                             void *user) {
  const mica_shape frame = frame_of(run), batch = {4, {1, frame.dim[0], frame.dim[1], frame.dim[2]}};
  const int32_t size[2] = {(int32_t)sample->shape.dim[2], (int32_t)sample->shape.dim[1]};
  float *input = malloc(bytes_of(frame) * sizeof *input);
  mica_tensor *x = NULL, *sizes = NULL;
  if (!input) return mica__fail_nomem("a picture");
  mica__normalise(run, (int64_t)bytes_of(frame), NULL, framed, input);
  mica_status status = mica_tensor_create_from(run->engine, MICA_F32, batch, input, &x);
  if (status == MICA_OK) status = mica_tensor_create_from(run->engine, MICA_I32, MICA_SHAPE(1, 2), size, &sizes);
  const mica_feed feeds[] = {{mica__common_facts_of(run).input_column, x}, {"size", sizes}};
  if (status == MICA_OK) status = mica__visit_fed(run, sample, feeds, 2, 0, fn, user);
  mica_tensor_destroy(x);
  mica_tensor_destroy(sizes);
  free(input);
  return status;
}

static mica_status visit_file(mica_run *run, const char *path, mica__sample_fn *fn, void *user) {
  const mica_shape frame = frame_of(run);
  mica__sample sample = {.name = path};
  int32_t width = 0, height = 0;
  uint8_t *planes = NULL, *framed = malloc(bytes_of(frame));
  mica_status status = framed ? mica__boxed_read(path, (int32_t)frame.dim[0], (int32_t)frame.dim[1],
                                                 (int32_t)frame.dim[2], framed, &width, &height)
                              : mica__fail_nomem("a picture");
  if (status == MICA_OK) status = mica_image_read(path, MICA_SHAPE(3, 0, 0), &planes, &sample.shape);
  sample.pixels = planes;
  if (status == MICA_OK) status = visit_one(run, framed, &sample, fn, user);
  mica_free(planes);
  free(framed);
  return status;
}

/* Visits a picture of data, which already has the frame's size. */
static mica_status visit_framed(mica_run *run, const mica_dataset *data, uint64_t at, mica__sample_fn *fn, void *user) {
  const mica_shape frame = frame_of(run);
  const size_t bytes = bytes_of(frame), plane = bytes / (size_t)frame.dim[0];
  if (mica_dataset_dtype(data) != MICA_U8)
    return mica__fail(MICA_E_UNSUPPORTED, "%s holds pictures of %s, which cannot be drawn; they must be u8",
                      mica_dataset_name(data), mica_dtype_name(mica_dataset_dtype(data)));
  uint8_t *framed = malloc(bytes + 1), *planes = malloc(3 * plane);
  char *name = mica__sample_name(data, at);
  const mica__sample sample = {.name = name, .pixels = planes, .shape = {3, {3, frame.dim[1], frame.dim[2]}}};
  mica_status status =
      framed && planes && name ? mica_dataset_input(data, at, framed, bytes) : mica__fail_nomem("a picture");
  for (size_t c = 0; status == MICA_OK && c < 3; c++)
    memcpy(planes + c * plane, framed + (frame.dim[0] == 3 ? c : 0) * plane, plane);
  if (status == MICA_OK) status = visit_one(run, framed, &sample, fn, user);
  free(framed);
  free(planes);
  free(name);
  return status;
}

/* Visits the first samples. If one comes from a file, the file is read, so that boxes are in its pixels. */
static mica_status visit_first(mica_run *run, const mica_dataset *data, uint64_t count, mica__sample_fn *fn,
                               void *user) {
  for (uint64_t i = 0; i < count && i < mica_dataset_count(data); i++) {
    const char *file = mica_dataset_file(data, i);
    MICA_TRY(file ? visit_file(run, file, fn, user) : visit_framed(run, data, i, fn, user));
  }
  return MICA_OK;
}

/* Frames of a video. Boxes are tracked in pixels, and are not scaled if the size of the frames changes. */
typedef struct video {
  mica__sample_fn *fn;
  void *user;
  mica_shape first;
  size_t count, others;
  char *name; /* the first frame of another size */
  mica_shape other;
} video;

static mica_status visit_frame(mica_run *run, const mica__sample *sample, const float *outputs, void *user) {
  video *v = user;
  if (!v->count++) v->first = sample->shape;
  const bool differs = sample->shape.dim[1] != v->first.dim[1] || sample->shape.dim[2] != v->first.dim[2];
  if (differs && !v->others++) {
    v->other = sample->shape;
    if (!(v->name = mica__strdup(sample->name))) return mica__fail_nomem("the name of a frame");
  }
  return v->fn(run, sample, outputs, v->user);
}

static mica_status visit_video(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  video v = {.fn = fn, .user = user};
  mica_status status = mica__visit_files(run, given, visit_file, visit_frame, &v);
  if (status == MICA_OK && v.others)
    status = mica__run_remark(run,
                              "%zu of %zu frames differ in size from the first (%lldx%lld): %s (%lldx%lld)%s; tracks "
                              "may break where the size changes",
                              v.others, v.count, (long long)v.first.dim[2], (long long)v.first.dim[1], v.name,
                              (long long)v.other.dim[2], (long long)v.other.dim[1], v.others > 1 ? ", ..." : "");
  free(v.name);
  return status;
}

mica_status mica__frames_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  if (given->text)
    return mica__fail(MICA_E_INVALID,
                      "the network was trained on pictures; give files of pictures (not a text or standard input)");
  if (given->tracker && !given->data) return visit_video(run, given, fn, user);
  return given->data ? mica__visit_data(run, given, visit_first, fn, user)
                     : mica__visit_files(run, given, visit_file, fn, user);
}

mica_status mica__frames_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  return visit_first(run, data, LOOKED_AT, fn, user);
}
