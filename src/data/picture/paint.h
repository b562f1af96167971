/* data/picture/paint.h: draws over pictures (C, H, W) of bytes: classes, boxes; and depths and spectra as pictures. */
#ifndef MICA_DATA_PICTURE_PAINT_H
#define MICA_DATA_PICTURE_PAINT_H

#include <mica/data.h>

/* Tints a grey or coloured picture by the classes of its pixels. The first class and class 255 stay clear. If `marked`
 * is not NULL, it holds the true class of each pixel. Then only pixels whose class differs from the true one are
 * tinted, in red; pixels of true class 255 stay clear. Returns (3, H, W), which the caller frees; NULL: out of
 * memory. */
uint8_t *mica__paint_classes(const uint8_t *planes, mica_shape shape, const uint8_t *classes, const uint8_t *marked);
/* Keeps only every k-th pixel if a side is longer than `most`; returns the shape that is left. */
mica_shape mica__paint_thin(uint8_t *planes, mica_shape shape, int64_t most);

/* One of a few colours that most people can tell apart. */
const uint8_t *mica__paint_colour(size_t index);
/* Draws the outline of a box (left, top, right, bottom), `thick` pixels wide and inside its edges; planes (3, H, W). */
void mica__paint_box(uint8_t *planes, int64_t height, int64_t width, const double box[4], const uint8_t colour[3],
                     int64_t thick);

/* Draws depths (H, W), 0 where unknown, as (3, H, W). range[0] and range[1] are the depths that get the colours of the
 * nearest and of the farthest pixels. Keeps only every k-th pixel if a side is longer than `most`. *shape becomes the
 * shape of the picture. The caller frees the picture; NULL: out of memory. */
uint8_t *mica__paint_depths(const float *depths, mica_shape *shape, const double range[2], int64_t most);

/* Draws magnitudes (bins, frames) as (1, 2 bins, frames), low frequencies at the bottom, by their logarithms. The
 * caller frees it; NULL: out of memory. */
uint8_t *mica__paint_spectrum(const float *spectrum, int64_t bins, int64_t frames);
/* Draws logarithms of powers (mels, row), the first `frames` of each row, as (1, 2 mels, frames), in the same way. */
void mica__paint_mels(const float *spectra, int64_t mels, int64_t frames, int64_t row, uint8_t *planes);

#endif
