/* foundation/processor.h: prepares pictures for a model as preprocessor_config.json says. */
#ifndef MICA_FOUNDATION_PROCESSOR_H
#define MICA_FOUNDATION_PROCESSOR_H

#include <mica/foundation.h>

#define MICA__MOST_CHANNELS 4

/* Resampling filters, with the numbers that PIL and preprocessor_config.json use. */
typedef enum mica__picture_filter {
  MICA__PICTURE_FILTER_LANCZOS = 1,
  MICA__PICTURE_FILTER_BILINEAR = 2,
  MICA__PICTURE_FILTER_BICUBIC = 3,
} mica__picture_filter;

/* The steps in order: resize, crop the centre, multiply, subtract the mean, divide by the deviation. */
typedef struct mica__processor {
  mica__picture_filter filter;
  int64_t shortest;                /* length of the shorter side after resizing; 0: by height and width */
  int64_t height, width;           /* after resizing; 0: not resized */
  int64_t crop_height, crop_width; /* 0: not cropped */
  int64_t channels;
  double factor, mean[MICA__MOST_CHANNELS], deviation[MICA__MOST_CHANNELS];
} mica__processor;

/* Reads preprocessor_config.json from memory. `path` is for messages. MICA_E_FORMAT: the text is not valid JSON, or a
 * value is missing or out of range. MICA_E_UNSUPPORTED: it asks for a filter or a step that Mica does not have, or the
 * model's pictures have neither 1 nor 3 channels. */
mica_status mica__processor_read(const char *path, const char *text, size_t bytes, const mica_foundation *model,
                                 mica__processor *processor);
/* Reads preprocessor_config.json from the model's folder. MICA_E_NOT_FOUND: the folder has none. MICA_E_INVALID: the
 * model does not read pictures. */
mica_status mica__processor_open(const mica_foundation *model, mica__processor *processor);

/* Prepares a picture file as pixels (channels, side, side). MICA_E_FORMAT: the steps produce another shape. */
mica_status mica__processor_apply(const mica__processor *processor, const char *path, int64_t side, float *pixels);

/* Resizes (channels, height, width) to (channels, to_height, to_width) as PIL does: first along the width, then along
 * the height. Both results are rounded to bytes. The weights have 22 fraction bits. If a side becomes smaller, the
 * filter is wider by the same ratio. The caller frees *out. */
mica_status mica__picture_resize(const uint8_t *planes, int64_t channels, int64_t height, int64_t width,
                                 mica__picture_filter filter, int64_t to_height, int64_t to_width, uint8_t **out);

#endif
