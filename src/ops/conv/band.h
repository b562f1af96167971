/* ops/conv/band.h: how kernels cut their work that take a strip of rows of an image and pack its input tile with halo;
 * the terms are those of cl/conv/input_tile.clh, `lines` being the rows of the input tile. */
#ifndef MICA_OPS_CONV_BAND_H
#define MICA_OPS_CONV_BAND_H

#include "ops/conv/conv.h"

typedef struct mica__conv_band {
  mica__conv_dims dims; /* c, k, in and out are those of the source and of the result */
  bool back;
  int64_t grid[3], low[3], high[3]; /* the halo: taps read from low, at most 0, to high beside a pixel */
  int64_t rows, lines, pitch;
} mica__conv_band;

/* The reason why a problem cannot be cut into strips; NULL where it can. */
const char *mica__conv_band_unable(const mica__conv *conv);

/* The problem, with rows of the input tile for at least so many pixels of the grid; `rows` is yet to be set. */
mica__conv_band mica__conv_band_of(const mica__conv *conv, int64_t places);
void mica__conv_band_set_rows(mica__conv_band *band, int64_t rows);
/* Rows for the fewest strips that make so many groups of work, where there are rows enough. */
int64_t mica__conv_band_most_rows(const mica__conv_band *band, int64_t groups);

/* Floats of the input tile, and pixels of D in a strip. */
int64_t mica__conv_band_copied(const mica__conv_band *band);
int64_t mica__conv_band_places(const mica__conv_band *band);
/* Bytes of local memory: the input tile, the list of taps, and `floats` more. */
size_t mica__conv_band_scratch(const mica__conv_band *band, int64_t floats);

/* Bytes of all weights for register tiles of so many channels of the result. */
size_t mica__conv_band_packed(const mica__conv *conv, int64_t channels);
/* Packs them and launches a kernel of (CONV_PARAMS, tile, S, P, scratch, EPILOGUE_PARAMS). */
mica_status mica__conv_band_launch(mica_queue *queue, const mica__conv *conv, const mica__conv_band *band,
                                   const mica__kernel_desc *desc, int32_t *values, int64_t channels, size_t scratch);

#endif
