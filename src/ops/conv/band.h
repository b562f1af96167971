/* ops/conv/band.h: how kernels that take a band of an image with a copy of what it meets cut their work; the terms are
 * those of cl/conv/band.clh. */
#ifndef MICA_OPS_CONV_BAND_H
#define MICA_OPS_CONV_BAND_H

#include "ops/conv/conv.h"

typedef struct mica__conv_band {
  mica__conv_dims dims; /* c, k, in and out are those of the source and of the result */
  bool back;
  int64_t grid[3], low[3], high[3]; /* what taps reach from a place's own: from low, no more than 0, to high */
  int64_t rows, lines, pitch;
} mica__conv_band;

/* Why a problem cannot be cut into bands; NULL where it can. */
const char *mica__conv_band_unable(const mica__conv *conv);

/* The problem, with rows of the copy for at least so many places of the grid; rows are to be set yet. */
mica__conv_band mica__conv_band_of(const mica__conv *conv, int64_t places);
void mica__conv_band_set_rows(mica__conv_band *band, int64_t rows);
/* Rows for the fewest bands that make so many groups of work, where there are rows enough. */
int64_t mica__conv_band_most_rows(const mica__conv_band *band, int64_t groups);

/* Floats of the copy, and places of D in a band. */
int64_t mica__conv_band_copied(const mica__conv_band *band);
int64_t mica__conv_band_places(const mica__conv_band *band);
/* Bytes of local memory: the copy, what taps meet, and `floats` more. */
size_t mica__conv_band_scratch(const mica__conv_band *band, int64_t floats);

/* Bytes of all weights for register tiles of so many channels of the result. */
size_t mica__conv_band_packed(const mica__conv *conv, int64_t channels);
/* Packs them and launches a kernel of (CONV_PARAMS, cut, S, P, scratch, EPILOGUE_PARAMS). */
mica_status mica__conv_band_launch(mica_queue *queue, const mica__conv *conv, const mica__conv_band *band,
                                   const mica__kernel_desc *desc, int32_t *values, int64_t channels, size_t scratch);

#endif
