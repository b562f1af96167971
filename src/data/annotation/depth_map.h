/* data/annotation/depth_map.h: files that hold the depth of every pixel: PNG with grey levels, NumPy's npy, PFM. */
#ifndef MICA_DATA_ANNOTATION_DEPTH_MAP_H
#define MICA_DATA_ANNOTATION_DEPTH_MAP_H

#include "base/error.h"

#include <mica/data.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of one unit of depth in files of whole numbers, unless a setting says otherwise: KITTI's PNG files have 256
 * levels per metre. */
#define MICA__DEPTH_SCALE 256

/* A depth map. `depths` holds the rows of pixels from the top down; a depth is 0 where it is not known. */
typedef struct mica__depth_map {
  int32_t height, width;
  int bits; /* of a whole number in a PNG or npy file, 8 or more; 0: the file has floating numbers */
  float *depths;
} mica__depth_map;

/* True for names of files that may be depth maps: .png, .npy, .pfm. */
bool mica__depth_map_is_named(const char *name);

/* Decodes the content of a file, which may be changed; the caller frees map->depths. Whole numbers, in PNG or npy, are
 * divided by `scale` (0: MICA__DEPTH_SCALE); floating ones are depths. Depths that are NaN, not above 0, or above 2^100
 * are unknown. A PNG file is rotated upright as its EXIF says. MICA_E_FORMAT names the file. */
mica_status mica__depth_map_decode(const char *name, uint8_t *content, size_t size, double scale, mica__depth_map *map);
/* Finds a map's height and width, which are at the beginning of a PNG, npy or PFM file. `bytes` has room for
 * MICA__SCENE_BEGIN bytes. */
mica_status mica__depth_map_find_sides(const char *path, uint8_t *bytes, int32_t sides[2]);
/* Finds mica__depth_map.bits in the same way. *bits is 0 after a failure. */
mica_status mica__depth_map_find_bits(const char *path, uint8_t *bytes, int *bits);
/* True if the samples have depth maps in files, and no map holds whole numbers. */
bool mica__depth_maps_are_floating(const mica_dataset *data);
/* Writes the depths of height x width pixels, scaled as mica__image_fit scales pictures; the nearest pixel is taken. */
void mica__depth_map_fit(const mica__depth_map *map, int32_t height, int32_t width, float *depths);

/* Encodes depths as a PNG file with 16 bits, `scale` levels per unit, or as an npy file. In a PNG file a depth above
 * 0 has at least level 1; one that is too large, or not above 0, gets level 0, which means unknown. The caller frees
 * *file. */
mica_status mica__depth_map_encode(const float *depths, int64_t height, int64_t width, double scale, uint8_t **file,
                                   size_t *size);
mica_status mica__depth_map_encode_npy(const float *depths, int64_t height, int64_t width, uint8_t **file,
                                       size_t *size);

#endif
