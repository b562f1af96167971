/* data/volume/nifti.h: headers of NIfTI-1 and NIfTI-2 files (Cox et al. 2004; nifti.nimh.nih.gov), and masks in the
 * space of another file. Elements are stored with x fastest, then y, z and channels: (C, D, H, W) in C order. */
#ifndef MICA_DATA_VOLUME_NIFTI_H
#define MICA_DATA_VOLUME_NIFTI_H

#include "base/error.h"

#include <mica/dtype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size of the longest header with the four bytes that follow it. */
#define MICA__NIFTI_HEADER 544
/* The most channels and voxels of a volume. */
#define MICA__NIFTI_CHANNELS 64
#define MICA__NIFTI_VOXELS ((int64_t)INT32_MAX)

typedef struct mica__nifti {
  bool second, big_endian;    /* the file is NIfTI-2; its numbers are big-endian */
  mica_dtype dtype;           /* of stored elements */
  int64_t channels, sides[3]; /* sides: depth (z), height (y), width (x) */
  double spacing[3];          /* distance of neighbours along depth, height, width; 1 if the file gives none */
  double slope, inter;        /* value = slope * stored + inter */
  uint64_t offset;            /* of the first element */
  uint8_t header[MICA__NIFTI_HEADER - 4];
} mica__nifti;

/* True for names that end in .nii or .nii.gz. */
bool mica__nifti_is_named(const char *name);

/* Reads the header at the beginning of bytes; `name` appears in messages. MICA_E_FORMAT says what is wrong or not
 * supported, for example pairs of .hdr and .img, complex numbers and colours, 2^31 or more voxels, more than 64
 * channels. */
mica_status mica__nifti_parse(const char *name, const uint8_t *bytes, size_t size, mica__nifti *nifti);
int64_t mica__nifti_voxels(const mica__nifti *nifti); /* of a channel */
/* Bytes of the whole file. */
uint64_t mica__nifti_bytes(const mica__nifti *nifti);
/* The values of `count` stored elements, which are converted in place to the host's byte order. */
void mica__nifti_values(const mica__nifti *nifti, uint8_t *stored, size_t count, float *values);

/* The middle slice of classes (D, H, W) across an axis, freed by the caller; NULL: memory is short. */
uint8_t *mica__nifti_cut(const mica__nifti *nifti, const uint8_t *classes, int axis);

/* Encodes one u8 value per voxel as a NIfTI file in memory, in the space of the file `like`: its orientation, spacing,
 * version and byte order. Gzipped if `packed`. The caller frees *bytes. */
mica_status mica__nifti_encode(const mica__nifti *like, const uint8_t *voxels, bool packed, uint8_t **bytes,
                               size_t *size);

#endif
