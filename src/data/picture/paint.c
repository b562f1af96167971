/* Draws over pictures. */
#include "data/picture/paint.h"

#include <math.h>
#include <stdlib.h>

/* --- classes --- */

/* The colour of a class; overlays leave the first class clear. */
static void class_colour(int32_t class_index, uint8_t colour[3]) {
  static const uint8_t colours[8][3] = {{0, 0, 0},     {255, 176, 0},  {30, 136, 229}, {216, 27, 96},
                                        {0, 168, 120}, {126, 87, 194}, {240, 228, 66}, {0, 188, 212}};
  const uint32_t mixed = (uint32_t)class_index * UINT32_C(2654435761);
  for (int k = 0; k < 3; k++)
    colour[k] = class_index < 8 ? colours[class_index][k] : (uint8_t)(64 + (mixed >> (8 * k + 4)) % 192);
}

uint8_t *mica__paint_classes(const uint8_t *planes, mica_shape shape, const uint8_t *classes, const uint8_t *marked) {
  const size_t pixels = (size_t)(shape.dim[1] * shape.dim[2]);
  uint8_t *out = malloc(3 * pixels);
  for (size_t i = 0; out && i < pixels; i++) {
    uint8_t colour[3] = {230, 0, 0};
    const bool wrong = marked && marked[i] != 255 && marked[i] != classes[i];
    const bool tinted = marked ? wrong : classes[i] != 0 && classes[i] != 255;
    if (!marked && tinted) class_colour(classes[i], colour);
    for (size_t k = 0; k < 3; k++) {
      const unsigned grey = planes[(shape.dim[0] == 3 ? k * pixels : 0) + i];
      out[k * pixels + i] =
          (uint8_t)(tinted ? (grey * (wrong ? 1 : 3) + colour[k] * (wrong ? 3u : 2u)) / (wrong ? 4 : 5) : grey);
    }
  }
  return out;
}

mica_shape mica__paint_thin(uint8_t *planes, mica_shape shape, int64_t most) {
  const int64_t side = shape.dim[1] > shape.dim[2] ? shape.dim[1] : shape.dim[2], step = (side + most - 1) / most;
  uint8_t *to = planes;
  for (int64_t c = 0; c < shape.dim[0] && step > 1; c++)
    for (int64_t r = 0; r < shape.dim[1]; r += step)
      for (int64_t q = 0; q < shape.dim[2]; q += step) *to++ = planes[(c * shape.dim[1] + r) * shape.dim[2] + q];
  return MICA_SHAPE(shape.dim[0], (shape.dim[1] + step - 1) / step, (shape.dim[2] + step - 1) / step);
}

/* --- boxes --- */

/* Colours that people with colour blindness can tell apart too (Okabe and Ito 2008). */
static const uint8_t colours[][3] = {{230, 159, 0}, {86, 180, 233}, {0, 158, 115},  {240, 228, 66},
                                     {0, 114, 178}, {213, 94, 0},   {204, 121, 167}};

const uint8_t *mica__paint_colour(size_t index) { return colours[index % (sizeof colours / sizeof *colours)]; }

void mica__paint_box(uint8_t *planes, int64_t height, int64_t width, const double box[4], const uint8_t colour[3],
                     int64_t thick) {
  int64_t at[4];
  for (int k = 0; k < 4; k++) {
    const double most = (double)(k & 1 ? height : width) - 1;
    at[k] = (int64_t)fmin(fmax(k < 2 ? box[k] : box[k] - 1, 0), most);
  }
  for (int64_t y = at[1]; y <= at[3]; y++)
    for (int64_t x = at[0]; x <= at[2]; x++) {
      const bool edge = y < at[1] + thick || y > at[3] - thick || x < at[0] + thick || x > at[2] - thick;
      for (int c = 0; edge && c < 3; c++) planes[(c * height + y) * width + x] = colour[c];
    }
}

/* --- depths --- */

/* Near pixels are yellow and far ones dark violet, by the logarithm of the depth; unknown ones are black. */
static void depth_colour(float depth, const double range[2], uint8_t colour[3]) {
  static const double stops[5][3] = {{253, 231, 37}, {94, 201, 98}, {33, 145, 140}, {59, 82, 139}, {68, 1, 84}};
  const double wide = log(range[1] / range[0]);
  const double at = wide > 0 ? fmin(fmax(4 * log((double)depth / range[0]) / wide, 0), 4) : 0;
  const int below = at < 3 ? (int)at : 3;
  for (int k = 0; k < 3; k++)
    colour[k] =
        depth > 0 ? (uint8_t)(stops[below][k] + (stops[below + 1][k] - stops[below][k]) * (at - below) + 0.5) : 0;
}

uint8_t *mica__paint_depths(const float *depths, mica_shape *shape, const double range[2], int64_t most) {
  const int64_t height = shape->dim[1], width = shape->dim[2], side = height > width ? height : width;
  const int64_t step = (side + most - 1) / most, rows = (height + step - 1) / step, columns = (width + step - 1) / step;
  uint8_t *planes = malloc(3 * (size_t)(rows * columns));
  for (int64_t r = 0; planes && r < rows; r++)
    for (int64_t q = 0; q < columns; q++) {
      uint8_t colour[3];
      depth_colour(depths[r * step * width + q * step], range, colour);
      for (int64_t k = 0; k < 3; k++) planes[(k * rows + r) * columns + q] = colour[k];
    }
  *shape = MICA_SHAPE(3, rows, columns);
  return planes;
}

/* --- spectra --- */

uint8_t *mica__paint_spectrum(const float *spectrum, int64_t bins, int64_t frames) {
  uint8_t *planes = malloc((size_t)(2 * bins * frames));
  float most = 1e-6f;
  if (!planes) return NULL;
  for (int64_t i = 0; i < bins * frames; i++) most = fmaxf(most, spectrum[i]);
  for (int64_t i = 0; i < 2 * bins * frames; i++) {
    const double share = (double)spectrum[(bins - 1 - i / frames / 2) * frames + i % frames] / (double)most;
    planes[i] = (uint8_t)(255 * fmax(1 + log10(fmax(share, 1e-3)) / 3, 0));
  }
  return planes;
}

void mica__paint_mels(const float *spectra, int64_t mels, int64_t frames, int64_t row, uint8_t *planes) {
  float low = INFINITY, top = -INFINITY;
  for (int64_t i = 0; i < mels * frames; i++) {
    const float value = spectra[i / frames * row + i % frames];
    if (value > top) top = value;
    if (value < low) low = value;
  }
  if (low < top - 12) low = top - 12;
  for (int64_t i = 0; i < 2 * mels * frames; i++) {
    const float value = spectra[(mels - 1 - i / frames / 2) * row + i % frames];
    planes[i] = (uint8_t)(value > low ? 220 * (value - low) / (top > low ? top - low : 1) : 0);
  }
}
