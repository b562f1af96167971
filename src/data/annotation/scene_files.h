/* data/annotation/scene_files.h: the pictures of scenes in files, each with a file that has a value for every pixel. */
#ifndef MICA_DATA_ANNOTATION_SCENE_FILES_H
#define MICA_DATA_ANNOTATION_SCENE_FILES_H

#include "data/annotation/pairs.h"
#include "data/picture/image.h"
#include "data/source.h"

/* Pairings (pairs.h) of pictures with masks, and of pictures with depth maps. */
extern const mica__pairing mica__mask_pairing, mica__depth_pairing;

typedef struct mica__scene_files {
  mica__pairs files;
  int32_t channels, height, width; /* of samples that have one size */
  int32_t (*sides)[2];             /* height and width of each picture in its file */
} mica__scene_files;

/* Finds the height and width of the values in a file. `bytes` has room for MICA__SCENE_BEGIN bytes. */
#define MICA__SCENE_BEGIN ((size_t)1 << 18)
typedef mica_status mica__scene_sides_fn(const char *path, uint8_t *bytes, int32_t sides[2]);
/* The height and width of a picture after it is rotated as its EXIF data say. They are read from the header if
 * possible. */
mica__scene_sides_fn mica__picture_find_sides;

/* Fills zeroed files, which must be freed, also after a failure. MICA_E_FORMAT: as mica__pairs_find, or the header of a
 * picture has an impossible size, or a picture and its file of values differ in size. The message names the file. */
mica_status mica__scene_files_find(const char *path, const mica__pairing *pairing, mica__scene_sides_fn *sides_of,
                                   mica__scene_files *files);
/* Sets channels, height and width from config->like or else from the configuration. Values that the configuration does
 * not set come from the first picture. */
mica_status mica__scene_files_shape(const mica_dataset_config *config, mica__scene_files *files);
void mica__scene_files_free(mica__scene_files *files);

/* Sets the number of samples and adds the column of pictures. If the pictures differ in size, and neither the
 * configuration nor config->like sets a size, the store also gets the sizes. An object that the store owns must own
 * `files`. */
mica_status mica__scene_files_add(mica__store *store, const mica_dataset_config *config, mica__scene_files *files);
/* Adds a text such as "80 pictures of 64 x 64 pixels". */
void mica__scene_files_describe(const mica__scene_files *files, const mica__store *store, mica__text *text);

/* MICA_E_FORMAT for a file that has changed since it was inspected and no longer fits the memory made for it. */
mica_status mica__scene_file_fail_changed(const char *path);

#endif
