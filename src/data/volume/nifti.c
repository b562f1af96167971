#include "data/volume/nifti.h"
#include "base/byte_order.h"
#include "base/element.h"
#include "data/dataset.h"
#include "data/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A field of the header: its offset, and the bytes of each of its numbers, in NIfTI-1 and in NIfTI-2. */
typedef struct field {
  uint16_t at[2], bytes[2];
} field;

static const field dim = {{40, 16}, {2, 8}}, datatype = {{70, 12}, {2, 2}}, bitpix = {{72, 14}, {2, 2}},
                   pixdim = {{76, 104}, {4, 8}}, vox_offset = {{108, 168}, {4, 8}}, slope = {{112, 176}, {4, 8}},
                   inter = {{116, 184}, {4, 8}}, cal_max = {{124, 192}, {4, 8}}, cal_min = {{128, 200}, {4, 8}},
                   intent = {{68, 504}, {2, 4}};

/* Codes of element types; those left out are bits, complex numbers, colours and long doubles. */
static const struct {
  int32_t code;
  mica_dtype dtype;
} types[] = {{2, MICA_U8},   {4, MICA_I16},   {8, MICA_I32},   {16, MICA_F32},   {64, MICA_F64},
             {256, MICA_I8}, {512, MICA_U16}, {768, MICA_U32}, {1024, MICA_I64}, {1280, MICA_U64}};
#define TYPES (sizeof types / sizeof *types)
enum { CODE_U8 = 2 };

static int64_t header_bytes(const mica__nifti *n) { return n->second ? 540 : 348; }

/* Number k of a field that holds integers. */
static int64_t get_integer(const mica__nifti *n, const field *f, int k) {
  const size_t bytes = f->bytes[n->second];
  uint8_t raw[8];
  memcpy(raw, n->header + f->at[n->second] + (size_t)k * bytes, bytes);
  mica__bytes_from_file(n->big_endian, raw, 1, bytes);
  const mica_dtype dtype = bytes == 2 ? MICA_I16 : bytes == 4 ? MICA_I32 : MICA_I64;
  int64_t whole = 0;
  if (dtype != MICA_I64) return (int64_t)mica__element_get(dtype, raw, 0);
  memcpy(&whole, raw, sizeof whole);
  return whole;
}

static double get_real(const mica__nifti *n, const field *f, int k) {
  const size_t bytes = f->bytes[n->second];
  uint8_t raw[8];
  memcpy(raw, n->header + f->at[n->second] + (size_t)k * bytes, bytes);
  mica__bytes_from_file(n->big_endian, raw, 1, bytes);
  return mica__element_get(bytes == 4 ? MICA_F32 : MICA_F64, raw, 0);
}

static void set_number(mica__nifti *n, const field *f, int k, double value, bool real) {
  const size_t bytes = f->bytes[n->second];
  uint8_t raw[8];
  const mica_dtype whole = bytes == 2 ? MICA_I16 : bytes == 4 ? MICA_I32 : MICA_I64;
  mica__element_set(!real ? whole : bytes == 4 ? MICA_F32 : MICA_F64, raw, 0, value);
  mica__bytes_from_file(n->big_endian, raw, 1, bytes);
  memcpy(n->header + f->at[n->second] + (size_t)k * bytes, raw, bytes);
}

bool mica__nifti_is_named(const char *name) { return mica__name_ends(name, ".nii"); }

/* --- reading --- */

/* Finds the version and the byte order from the size of the header. */
static mica_status find_version(const char *name, const uint8_t *bytes, size_t size, mica__nifti *n) {
  static const uint8_t sizes[4][4] = {{0x5c, 1, 0, 0}, {0, 0, 1, 0x5c}, {0x1c, 2, 0, 0}, {0, 0, 2, 0x1c}};
  int k = 0;
  while (k < 4 && (size < 4 || memcmp(bytes, sizes[k], 4) != 0)) k++;
  if (k == 4) return mica__fail(MICA_E_FORMAT, "%s is not a NIfTI file", name);
  n->second = k >= 2;
  n->big_endian = k % 2;
  if (size < (size_t)header_bytes(n)) return mica__fail(MICA_E_FORMAT, "%s is truncated: its header ends early", name);
  memcpy(n->header, bytes, (size_t)header_bytes(n));
  const uint8_t *magic = n->header + (n->second ? 4 : 344);
  if (!memcmp(magic, n->second ? "ni2" : "ni1", 4))
    return mica__fail(MICA_E_FORMAT, "%s is half of a pair of .hdr and .img; convert the pair to one .nii file", name);
  if (!memcmp(magic, n->second ? "n+2" : "n+1", 4)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s is not a NIfTI file: it lacks the header's magic number", name);
}

static mica_status take_sides(const char *name, mica__nifti *n) {
  const int64_t rank = get_integer(n, &dim, 0);
  int64_t sides[7] = {1, 1, 1, 1, 1, 1, 1}, voxels = 1;
  if (rank < 1 || rank > 7)
    return mica__fail(MICA_E_FORMAT, "%s has %lld axes, but must have 1 to 7", name, (long long)rank);
  for (int k = 0; k < rank; k++) {
    sides[k] = get_integer(n, &dim, k + 1);
    if (sides[k] < 1 || sides[k] > MICA__NIFTI_VOXELS)
      return mica__fail(MICA_E_FORMAT, "%s: axis %d has %lld elements, but must have 1 to %lld", name, k + 1,
                        (long long)sides[k], (long long)MICA__NIFTI_VOXELS);
    if (k < 3 && (voxels *= sides[k]) > MICA__NIFTI_VOXELS)
      return mica__fail(MICA_E_FORMAT, "%s has more than %lld voxels, the most that can be read", name,
                        (long long)MICA__NIFTI_VOXELS);
  }
  /* Channels are the fourth axis, or the fifth one if elements are vectors. */
  n->channels = sides[3] > 1 ? sides[3] : sides[4];
  if ((sides[3] > 1 && sides[4] > 1) || sides[5] > 1 || sides[6] > 1 || n->channels > MICA__NIFTI_CHANNELS)
    return mica__fail(
        MICA_E_FORMAT,
        "%s has axes 4 to 7 of sizes %lld, %lld, %lld and %lld; a file may have one axis of channels, with at most %d, "
        "which is axis 4 or 5",
        name, (long long)sides[3], (long long)sides[4], (long long)sides[5], (long long)sides[6], MICA__NIFTI_CHANNELS);
  for (int i = 0; i < 3; i++) {
    const double apart = fabs(get_real(n, &pixdim, 3 - i));
    n->sides[i] = sides[2 - i];
    n->spacing[i] = isfinite(apart) && apart > 0 ? apart : 1;
  }
  return MICA_OK;
}

static mica_status take_type(const char *name, mica__nifti *n) {
  const int64_t code = get_integer(n, &datatype, 0), bits = get_integer(n, &bitpix, 0);
  size_t k = 0;
  while (k < TYPES && types[k].code != code) k++;
  if (k == TYPES)
    return mica__fail(MICA_E_FORMAT, "%s has elements of type %lld, but only integers, f32 and f64 can be read", name,
                      (long long)code);
  n->dtype = types[k].dtype;
  if (bits == 8 * (int64_t)mica_dtype_size(n->dtype)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has elements of type %s, but its header states %lld bits for each", name,
                    mica_dtype_name(n->dtype), (long long)bits);
}

/* Finds the position of the elements. If the header states 0, they begin four bytes after it. */
static mica_status take_offset(const char *name, mica__nifti *n) {
  const int64_t least = header_bytes(n) + 4;
  const double real = n->second ? (double)get_integer(n, &vox_offset, 0) : get_real(n, &vox_offset, 0);
  n->offset = (uint64_t)least;
  if (real == 0) return MICA_OK;
  if (!(real >= (double)least && real <= 0x1p40) || real != floor(real))
    return mica__fail(
        MICA_E_FORMAT,
        "%s: the header states that elements begin at byte %g, but this byte must be a whole number from %lld to 2^40",
        name, real, (long long)least);
  n->offset = (uint64_t)real;
  return MICA_OK;
}

mica_status mica__nifti_parse(const char *name, const uint8_t *bytes, size_t size, mica__nifti *n) {
  *n = (mica__nifti){0};
  MICA_TRY(find_version(name, bytes, size, n));
  MICA_TRY(take_sides(name, n));
  MICA_TRY(take_type(name, n));
  MICA_TRY(take_offset(name, n));
  n->slope = get_real(n, &slope, 0);
  n->inter = get_real(n, &inter, 0);
  if (!isfinite(n->slope) || n->slope == 0) n->slope = 1, n->inter = 0;
  if (!isfinite(n->inter)) n->inter = 0;
  return MICA_OK;
}

int64_t mica__nifti_voxels(const mica__nifti *n) { return n->sides[0] * n->sides[1] * n->sides[2]; }

uint64_t mica__nifti_bytes(const mica__nifti *n) {
  return n->offset + (uint64_t)(mica__nifti_voxels(n) * n->channels) * mica_dtype_size(n->dtype);
}

void mica__nifti_values(const mica__nifti *n, uint8_t *stored, size_t count, float *values) {
  mica__bytes_from_file(n->big_endian, stored, count, mica_dtype_size(n->dtype));
  for (size_t i = 0; i < count; i++)
    values[i] = (float)(n->slope * mica__element_get(n->dtype, stored, (int64_t)i) + n->inter);
}

uint8_t *mica__nifti_cut(const mica__nifti *h, const uint8_t *classes, int axis) {
  const int64_t *n = h->sides, steps[3] = {n[1] * n[2], n[2], 1};
  const int down = axis == 0 ? 1 : 0, across = axis == 2 ? 1 : 2;
  uint8_t *slice = malloc((size_t)(n[down] * n[across]));
  for (int64_t i = 0; slice && i < n[down] * n[across]; i++)
    slice[i] = classes[n[axis] / 2 * steps[axis] + i / n[across] * steps[down] + i % n[across] * steps[across]];
  return slice;
}

/* --- writing --- */

/* The header of a file with one u8 value per voxel, in the space of `like`. */
static mica__nifti mask_header(const mica__nifti *like) {
  mica__nifti n = *like;
  for (int k = 0; k < 8; k++) set_number(&n, &dim, k, k == 0 ? 3 : k <= 3 ? (double)like->sides[3 - k] : 1, false);
  set_number(&n, &datatype, 0, CODE_U8, false);
  set_number(&n, &bitpix, 0, 8, false);
  set_number(&n, &vox_offset, 0, (double)header_bytes(&n) + 4, !n.second);
  set_number(&n, &slope, 0, 1, true);
  set_number(&n, &inter, 0, 0, true);
  set_number(&n, &cal_max, 0, 0, true);
  set_number(&n, &cal_min, 0, 0, true);
  set_number(&n, &intent, 0, 0, false);
  return n;
}

mica_status mica__nifti_encode(const mica__nifti *like, const uint8_t *voxels, bool packed, uint8_t **bytes,
                               size_t *size) {
  const mica__nifti n = mask_header(like);
  const size_t begin = (size_t)header_bytes(&n) + 4, count = (size_t)mica__nifti_voxels(like);
  uint8_t *made = calloc(1, begin + count);
  if (!made) return mica__fail_nomem("a volume");
  memcpy(made, n.header, (size_t)header_bytes(&n));
  memcpy(made + begin, voxels, count);
  *bytes = made;
  *size = begin + count;
  return packed ? mica__content_deflate(bytes, size) : MICA_OK;
}
