/* Volumes that are predicted, tested and reported on. */
#include "run/common_facts.h"
#include "run/fields.h"
#include "run/predict/batches.h"
#include "run/predict/samples.h"
#include "run/predict/visits.h"
#include "run/predict/windows.h"
#include "run/run.h"
#include "task/head/pixels.h"
#include "task/input/volume.h"

#include <math.h>
#include <stdlib.h>

/* Maximum number of volumes that a report shows. */
#define LOOKED_AT 3

MICA__FIELDS(volume, VOLUME_SETTINGS, VOLUME_FACTS);

mica__grid mica__volume_grid(const mica_run *run) {
  const mica__fact_numbers window = mica__volume_facts_of(run).window;
  mica__grid grid = {{1, 1, 1}, mica__volume_settings_of(run).overlap};
  for (size_t i = 0; i < 3 && window.count == 3; i++) grid.sides[i] = (int64_t)window.list[i];
  return grid;
}

/* A volume in a file or, if data is not NULL, a sample of a dataset. */
typedef struct source {
  mica__volume *volume;
  mica__intensity intensity;
  const mica_dataset *data;
  uint64_t sample;
} source;

static mica_status read_window(void *user, const mica__window *w, float *values) {
  const source *s = user;
  if (s->data) return mica__volumes_read(s->data, s->sample, w, values, NULL);
  const int64_t channels = mica__volume_header(s->volume)->channels;
  MICA_TRY(mica__volume_read(s->volume, w, NAN, values));
  mica__intensity_apply(&s->intensity, channels, mica__window_voxels(w), values);
  return MICA_OK;
}

/* Predicts a volume and visits it. If `whole`, also reads the slices through its middle, which evaluations do not
 * need. */
static mica_status show(mica_run *run, const char *name, source *s, const mica__nifti *header, bool whole,
                        mica__sample_fn *fn, void *user) {
  const mica__volume_reader reader = {read_window, s, header};
  uint8_t *decided = NULL, *truth = NULL, *slices[3] = {NULL, NULL, NULL};
  const mica__window all = {{0}, {header->sides[0], header->sides[1], header->sides[2]}};
  const mica__grid grid = mica__volume_grid(run);
  mica_status status = mica__windows_decide(run, &grid, mica__pixels_classes(run), name, &reader, &decided);
  if (status == MICA_OK && s->data) {
    truth = malloc((size_t)mica__window_voxels(&all));
    status = truth ? mica__volumes_read(s->data, s->sample, &all, NULL, truth) : mica__fail_nomem("a mask");
  }
  for (int i = 0; status == MICA_OK && whole && i < 3; i++) status = mica__volume_slice(&reader, i, &slices[i]);
  const mica__scan scan = {header, decided, truth, {slices[0], slices[1], slices[2]}};
  const mica__sample sample = {.name = name, .scan = &scan};
  if (status == MICA_OK) status = fn(run, &sample, NULL, user);
  for (int i = 0; i < 3; i++) free(slices[i]);
  free(decided);
  free(truth);
  return status;
}

static mica_status visit_file(mica_run *run, const char *path, mica__sample_fn *fn, void *user) {
  source s = {.data = NULL};
  mica_status status = mica__volume_open(path, &s.volume);
  if (status == MICA_OK) status = mica__volume_measure(s.volume, &s.intensity);
  if (status == MICA_OK) status = show(run, path, &s, mica__volume_header(s.volume), true, fn, user);
  mica__volume_close(s.volume);
  return status;
}

static mica_status visit_some(mica_run *run, const mica_dataset *data, uint64_t count, bool whole, mica__sample_fn *fn,
                              void *user) {
  mica_status status = MICA_OK;
  for (uint64_t i = 0; status == MICA_OK && i < count && i < mica_dataset_count(data); i++) {
    source s = {.data = data, .sample = i};
    char *name = mica__sample_name(data, i);
    status = name ? show(run, name, &s, mica__volumes_header(data, i), whole, fn, user) : mica__fail_nomem("a volume");
    free(name);
  }
  return status;
}

static mica_status visit_first(mica_run *run, const mica_dataset *data, uint64_t count, mica__sample_fn *fn,
                               void *user) {
  return visit_some(run, data, count, true, fn, user);
}

mica_status mica__volume_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  if (given->data) return mica__visit_data(run, given, visit_first, fn, user);
  if (!given->file_count)
    return mica__fail(MICA_E_INVALID,
                      "the network was trained on volumes; give files of volumes (not a text or standard input)");
  return mica__visit_files(run, given, visit_file, fn, user);
}

mica_status mica__volume_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  return visit_some(run, data, LOOKED_AT, true, fn, user);
}

mica_status mica__volume_join(mica_run *run, const mica_batch_source *from, mica__sample_fn *fn, void *user,
                              bool *joined) {
  const mica_dataset *data = mica__source_data(run, from);
  *joined = data != NULL;
  return data ? visit_some(run, data, mica_dataset_count(data), false, fn, user) : MICA_OK;
}
