/* run/predict/tiles.h: pictures larger than the network's input, in tiles. */
#ifndef MICA_RUN_PREDICT_TILES_H
#define MICA_RUN_PREDICT_TILES_H

#include "run/sample.h"

#include <mica/run.h>

/* The size and overlap of the tiles into which pictures are cut for the network, as stored with the run. If nothing is
 * stored, tiles have one pixel. */
mica_tiling mica__picture_tiling(const mica_run *run);
/* Runs the tiles of a picture with planes (C, height, width) through the network and blends them to *shares (K, height,
 * width), which the caller frees. At each pixel, the shares of the K classes add up to the sum of the weights of the
 * tiles that cover it. If the network gives one number per pixel (K = 1), *shares holds weighted means. */
mica_status mica__picture_infer(mica_run *run, const uint8_t *planes, int64_t height, int64_t width, float **shares);
/* Visits the pictures of a source of tiles, with the shares of their tiles joined (mica__input.samples.join). If every
 * picture is one tile, *joined is false and none is visited. */
mica_status mica__picture_join(mica_run *run, const mica_batch_source *source, mica__sample_fn *fn, void *user,
                               bool *joined);

#endif
