/* Volumes larger than the network's input are cut into windows. The windows are computed in order of depth and blended
 * in a slab, which holds the voxels that later windows may still change. */
#include "run/predict/windows.h"
#include "run/common_facts.h"
#include "run/predict/batches.h"
#include "run/run.h"

#include <stdlib.h>

/* Reads a window, runs it through the network, and adds the answer to the slab. */
static mica_status infer(mica_run *run, const mica__volume_reader *reader, const mica__window *w, float *values,
                         mica_tensor *x, mica__slab *s) {
  const mica_feed feed = {mica__common_facts_of(run).input_column, x};
  const mica_batch batch = {.count = 1, .tensors = &feed, .tensor_count = 1};
  const mica__fact_numbers mean = mica__common_facts_of(run).mean, deviation = mica__common_facts_of(run).deviation;
  const int64_t voxels = mica__window_voxels(w);
  float *shares = NULL;
  MICA_TRY(reader->read(reader->user, w, values));
  for (int64_t i = 0; i < reader->header->channels * voxels; i++)
    values[i] = (values[i] - (float)mean.list[i / voxels]) / (float)deviation.list[i / voxels];
  MICA_TRY(mica_tensor_upload(mica_engine_queue(run->engine), x, values, mica_tensor_bytes(x)));
  mica_status status = mica__batch_infer(run, &batch, s->classes * voxels, &shares);
  if (status == MICA_OK) mica__slab_add(s, w, shares);
  free(shares);
  return status;
}

static mica_status pass(mica_run *run, const mica__grid *grid, const mica__volume_reader *reader, float *values,
                        mica_tensor *x, mica__slab *s, uint8_t *decided) {
  const int64_t *sides = reader->header->sides, count = mica__grid_count(grid, sides);
  for (int64_t i = 0; i < count; i++) {
    const mica__window w = mica__grid_at(grid, sides, i);
    if (w.at[0] > s->first) mica__slab_finish(s, w.at[0] - s->first, decided);
    MICA_TRY(infer(run, reader, &w, values, x, s));
  }
  mica__slab_finish(s, sides[0] - s->first, decided);
  return MICA_OK;
}

mica_status mica__windows_decide(mica_run *run, const mica__grid *grid, int64_t classes, const char *name,
                                 const mica__volume_reader *reader, uint8_t **decided) {
  const int64_t *sides = reader->header->sides, channels = reader->header->channels;
  const mica__common_facts facts = mica__common_facts_of(run);
  mica__slab s = {classes, grid->sides[0], sides[1], sides[2], 0, NULL};
  mica_tensor *x = NULL;
  if (facts.mean.count != (size_t)channels || facts.deviation.count != (size_t)channels)
    return mica__fail(MICA_E_FORMAT, "%s has %lld channel%s, but the run was trained on %zu", name, (long long)channels,
                      channels == 1 ? "" : "s",
                      facts.mean.count != (size_t)channels ? facts.mean.count : facts.deviation.count);
  float *values = malloc((size_t)(channels * grid->sides[0] * grid->sides[1] * grid->sides[2]) * sizeof *values);
  s.sums = calloc((size_t)(s.classes * s.depth * s.height * s.width), sizeof *s.sums);
  *decided = malloc((size_t)(sides[0] * sides[1] * sides[2]));
  mica_status status = values && s.sums && *decided ? MICA_OK : mica__fail_nomem("a volume's shares");
  const mica_shape shape = MICA_SHAPE(1, channels, grid->sides[0] * grid->sides[1], grid->sides[2]);
  if (status == MICA_OK) status = mica_tensor_create(run->engine, MICA_F32, shape, &x);
  if (status == MICA_OK) status = pass(run, grid, reader, values, x, &s, *decided);
  mica_tensor_destroy(x);
  free(values);
  free(s.sums);
  return status;
}
