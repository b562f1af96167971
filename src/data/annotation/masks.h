/* data/annotation/masks.h: the meaning of values in mask files, and masks read accordingly. */
#ifndef MICA_DATA_ANNOTATION_MASKS_H
#define MICA_DATA_ANNOTATION_MASKS_H

#include "base/text.h"
#include "data/picture/image.h"

/* The most classes in a mask: 255 in a byte means none. */
#define MICA__MASK_CLASSES 255
/* The most different values that are guessed to be classes. */
#define MICA__MASK_VALUES 64

/* A value is a grey level or an index of a palette, 0 to 255, or a colour: MICA__MASK_COLOUR + red, green, blue. */
#define MICA__MASK_COLOUR UINT32_C(0x1000000)

/* What a value that the table does not have means: an error, no class, or the class whose value is nearest. */
typedef enum mica__mask_rest { MICA__MASK_REST_FAILS, MICA__MASK_REST_VOID, MICA__MASK_REST_NEAREST } mica__mask_rest;

typedef struct mica__mask_table {
  uint32_t values[MICA__MASK_CLASSES]; /* of each class */
  char *names[MICA__MASK_CLASSES];     /* of each class */
  int32_t classes;
  uint32_t voids[MICA__MASK_CLASSES];
  int32_t void_count;
  mica__mask_rest rest;
} mica__mask_table;

/* Reads mica_dataset_config.mask_values. MICA_E_INVALID says what is wrong; then the table is empty. */
mica_status mica__mask_table_parse(const char *text, mica__mask_table *table);
/* Writes a table in the form that mica__mask_table_parse reads. */
mica_status mica__mask_table_write(const mica__mask_table *table, mica__text *text);
void mica__mask_table_free(mica__mask_table *table);
/* The most likely class of each pixel, from shares (K, pixels); ties go to the first. */
void mica__mask_decide(const float *shares, int64_t classes, size_t pixels, uint8_t *decided);
/* Paints each pixel with the table's value for its class or, if the table has no such class, with the class number.
 * Makes one plane, or three if some values are colours. The caller frees them; NULL: out of memory. */
uint8_t *mica__mask_paint(const mica__mask_table *table, const uint8_t *classes, size_t pixels, int64_t *channels);

/* Counts of values in masks. */
typedef struct mica__mask_census {
  struct {
    uint32_t value;
    uint64_t pixels;
    size_t first; /* the number of the first mask with the value */
  } found[MICA__MASK_VALUES + 1];
  size_t count; /* MICA__MASK_VALUES + 1: there are more than fit */
  uint64_t pixels;
} mica__mask_census;

/* Counts the values of a mask; `number` is the caller's number of the mask. */
void mica__mask_count(const mica__image *mask, size_t number, mica__mask_census *census);
/* The table that applies if mica_dataset_config.mask_values is not set; names[k] is the file of mask number k.
 * MICA_E_FORMAT if there is only one value, or values that are not classes; the message names a file. */
mica_status mica__mask_guess(const mica__mask_census *census, const char *const *names, mica__mask_table *table);

/* Checks that the table covers all values of the census. MICA_E_FORMAT names a file with a value that it does not
 * cover. */
mica_status mica__mask_check(const mica__mask_census *census, const char *const *names, const mica__mask_table *table);

/* Decodes a file: 1 channel of grey levels or palette indices as stored, or 3 channels of colours; opacity is ignored.
 * MICA_E_FORMAT for 16 bits per channel. */
mica_status mica__mask_decode(const char *name, const uint8_t *content, size_t size, mica__image *mask);
/* Writes the class of each of height x width pixels, 255 for none. If the mask is scaled, as mica__image_fit scales
 * pictures, the nearest pixel is taken. MICA_E_FORMAT names a value that is not a class. */
mica_status mica__mask_classes(const char *name, const mica__image *mask, const mica__mask_table *table, int32_t height,
                               int32_t width, uint8_t *classes);

#endif
