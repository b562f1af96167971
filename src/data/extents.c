/* Ranges of the numbers in arrays, and the bases to subtract if f32 could not distinguish them. */
#include "base/element.h"
#include "data/source.h"
#include "data/table/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A column of numbers is too coarse for f32 if f32 has fewer than about this many steps between its smallest and its
 * largest number. For example, times in seconds since 1970 are too coarse if all of them lie within eleven days. */
#define FEWEST_STEPS 10000
#define F32_STEP 0x1p-24

bool mica__is_coarse(double least, double most) {
  return most > least && (most - least) / FEWEST_STEPS < fmax(fabs(least), fabs(most)) * F32_STEP;
}

mica_status mica__extents_create(mica__store *store, size_t parts, mica__extent **out) {
  mica__extent *extents = calloc(parts, sizeof *extents);
  if (!extents) return mica__fail_nomem(store->name);
  for (size_t k = 0; k < parts; k++) extents[k] = (mica__extent){.least = INFINITY, .most = -INFINITY};
  *out = extents;
  return mica__store_own(store, extents, free);
}

/* NaN does not widen an extent, because comparisons with it are false. */
static void widen(mica__extent *e, double x) {
  if (x < e->least) e->least = x;
  if (x > e->most) e->most = x;
}

void mica__extents_measure(mica__extent *extents, size_t parts, mica_dtype dtype, const void *elements, int64_t count) {
  const float *floats = elements;
  size_t k = 0;
  for (int64_t i = 0; i < count; i++) {
    widen(&extents[k], dtype == MICA_F32 ? (double)floats[i] : mica__element_get(dtype, elements, i));
    if (++k == parts) k = 0;
  }
}

static bool is_floating(mica_dtype dtype) { return mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT; }

static int digits_of(mica_dtype dtype) {
  return dtype == MICA_F64 ? 53 : dtype == MICA_F32 ? 24 : dtype == MICA_F16 ? 11 : 8;
}

/* True if the type holds the base, and the whole numbers near it, exactly. Integer types and f64 are always
 * accepted. */
static bool holds(mica_dtype dtype, double base) {
  if (!is_floating(dtype) || dtype == MICA_F64) return true;
  return base == floor(base) && fabs(base) < ldexp(1, digits_of(dtype));
}

/* The base of number k of a row: from config->like, or else from config->bases, where the number is called `name`; 0:
 * none. */
static double find_base(const mica_dataset_config *config, const char *column, size_t k, const char *name,
                        const mica__extent *e, mica_dtype dtype) {
  const mica_dataset *like = config->like;
  const double known = like ? mica_dataset_base(like, mica_dataset_column_index(like, column), (int64_t)k) : 0;
  const bool found = config->bases && !strcmp(config->bases, MICA_BASES_AUTO);
  const mica__field field = {.name = (char *)(uintptr_t)name, .coarse = e->coarse, .least = e->least};
  if (known != 0) return known;
  /* No base can restore digits that the file itself has lost. */
  if (found && (like || (is_floating(dtype) && dtype != MICA_F64))) return 0;
  return mica__field_base(config->bases, &field);
}

mica_status mica__extents_find_bases(const mica__store *store, const mica__column *column,
                                     const mica_dataset_config *config, mica__extent *extents, size_t parts,
                                     mica_dtype dtype) {
  const char *is = column->about.name;
  const bool label = !strcmp(is, "label");
  for (size_t k = 0; k < parts; k++) {
    mica__extent *e = &extents[k];
    char name[24];
    snprintf(name, sizeof name, "%zu", k);
    if (e->least > e->most) e->least = e->most = 0;
    /* f32 holds types of one or two bytes exactly. */
    e->coarse = mica_dtype_size(dtype) > 2 && mica__is_coarse(e->least, e->most);
    if (!label && column->about.shape.rank != 1) continue;
    e->base = find_base(config, is, k, label ? is : name, e, dtype);
    if (e->base == 0 || holds(dtype, e->base)) continue;
    int exponent = 0;
    frexp(e->base, &exponent);
    return mica__fail(
        MICA_E_FORMAT,
        "%s holds %s, whose steps are %g at %.15g, the base that is subtracted from column '%s'; such steps are too "
        "coarse, so save the data as f64",
        store->name, mica_dtype_name(dtype), ldexp(1, exponent - digits_of(dtype)), e->base, label ? is : name);
  }
  return MICA_OK;
}

bool mica__extents_have_bases(const mica__extent *extents, size_t parts) {
  for (size_t k = 0; extents && k < parts; k++)
    if (extents[k].base != 0) return true;
  return false;
}

void mica__extents_convert(const mica__extent *extents, size_t parts, mica_dtype dtype, const void *elements,
                           int64_t count, float *out) {
  size_t k = 0;
  for (int64_t i = 0; i < count; i++) {
    out[i] = (float)(mica__element_get(dtype, elements, i) - extents[k].base);
    if (++k == parts) k = 0;
  }
}
