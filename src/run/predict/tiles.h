/* run/predict/tiles.h: pictures larger than the network's input, in tiles. */
#ifndef MICA_RUN_PREDICT_TILES_H
#define MICA_RUN_PREDICT_TILES_H

#include "run/sample.h"

#include <mica/run.h>

/* How pictures are cut for the network. */
mica_tiling mica__picture_tiling(const mica_run *run);
/* The network's shares (K, height, width) for a picture with planes (C, height, width), joined from its tiles; the
 * caller frees them. At each pixel they add up to the weights of its tiles. If the network gives one number per
 * pixel (K = 1), these are means. */
mica_status mica__picture_infer(mica_run *run, const uint8_t *planes, int64_t height, int64_t width, float **shares);
/* Visits the pictures of a source of tiles, with the shares of their tiles joined (mica__input.samples.join). If every
 * picture is one tile, *joined is false and none is visited. */
mica_status mica__picture_join(mica_run *run, const mica_batch_source *source, mica__sample_fn *fn, void *user,
                               bool *joined);

#endif
