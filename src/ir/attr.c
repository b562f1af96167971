#include "ir/attr.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const size_t field_bytes[] = {
    [MICA__ATTR_INT] = sizeof(int64_t),
    [MICA__ATTR_BOOL] = sizeof(bool),
    [MICA__ATTR_REAL] = sizeof(double),
    [MICA__ATTR_ENUM] = sizeof(int32_t),
    [MICA__ATTR_DTYPE] = sizeof(mica_dtype),
    [MICA__ATTR_AXES] = sizeof(uint32_t),
    [MICA__ATTR_PER_AXIS] = MICA_MAX_RANK * sizeof(int64_t),
    [MICA__ATTR_SPATIAL] = MICA__MAX_SPATIAL * sizeof(int64_t),
    [MICA__ATTR_SHAPE] = sizeof(mica_shape),
    [MICA__ATTR_POINTER] = sizeof(const void *),
};

static const void *field(const mica__attr *attr, const void *attrs) { return (const char *)attrs + attr->offset; }

static bool is_list(const mica__attr *attr) {
  return attr->kind == MICA__ATTR_PER_AXIS || attr->kind == MICA__ATTR_SPATIAL;
}

static void set_default(const mica__attr *attr, void *attrs) {
  void *to = (char *)attrs + attr->offset;
  switch (attr->kind) {
  case MICA__ATTR_INT: *(int64_t *)to = (int64_t)attr->standard; break;
  case MICA__ATTR_BOOL: *(bool *)to = attr->standard != 0; break;
  case MICA__ATTR_REAL: *(double *)to = attr->standard; break;
  case MICA__ATTR_ENUM: *(int32_t *)to = (int32_t)attr->standard; break;
  case MICA__ATTR_DTYPE: *(mica_dtype *)to = (mica_dtype)attr->standard; break;
  case MICA__ATTR_AXES: *(uint32_t *)to = (uint32_t)attr->standard; break;
  case MICA__ATTR_SHAPE: *(mica_shape *)to = MICA_SCALAR; break;
  case MICA__ATTR_POINTER: *(const void **)to = NULL; break;
  case MICA__ATTR_PER_AXIS:
  case MICA__ATTR_SPATIAL:
    for (size_t i = 0; i < field_bytes[attr->kind] / sizeof(int64_t); i++) ((int64_t *)to)[i] = (int64_t)attr->standard;
    break;
  }
}

void mica__attrs_set_defaults(const mica__attr_list *list, void *attrs) {
  if (!list) return;
  memset(attrs, 0, list->bytes);
  for (int32_t i = 0; i < list->count; i++) set_default(&list->rows[i], attrs);
}

mica_status mica__attrs_copy(const mica__attr_list *list, const void *attrs, void **out) {
  *out = NULL;
  if (!list) return MICA_OK;
  *out = malloc(list->bytes);
  if (!*out) return mica__fail_nomem("attributes");
  if (attrs)
    memcpy(*out, attrs, list->bytes);
  else
    mica__attrs_set_defaults(list, *out);
  return MICA_OK;
}

bool mica__attrs_equal(const mica__attr_list *list, const void *a, const void *b) {
  for (int32_t i = 0; list && i < list->count; i++) {
    const mica__attr *attr = &list->rows[i];
    const void *x = field(attr, a), *y = field(attr, b);
    /* Shapes are not compared as bytes, because they have padding between their fields. */
    if (attr->kind == MICA__ATTR_SHAPE ? !mica_shape_equal(*(const mica_shape *)x, *(const mica_shape *)y)
                                       : memcmp(x, y, field_bytes[attr->kind]) != 0)
      return false;
  }
  return true;
}

mica__hash mica__attrs_hash(mica__hash seed, const mica__attr_list *list, const void *attrs) {
  for (int32_t i = 0; list && i < list->count; i++) {
    const mica__attr *attr = &list->rows[i];
    const mica_shape *shape = field(attr, attrs);
    seed = attr->kind == MICA__ATTR_SHAPE ? mica__hash_bytes(seed, shape->dim, (size_t)shape->rank * sizeof *shape->dim)
                                          : mica__hash_bytes(seed, field(attr, attrs), field_bytes[attr->kind]);
  }
  return seed;
}

const mica__attr *mica__attr_find(const mica__attr_list *list, const char *name, size_t n) {
  for (int32_t i = 0; list && i < list->count; i++)
    if (!strncmp(list->rows[i].name, name, n) && list->rows[i].name[n] == '\0') return &list->rows[i];
  return NULL;
}

double mica__attr_number(const mica__attr *attr, const void *attrs) {
  const void *at = field(attr, attrs);
  switch (attr->kind) {
  case MICA__ATTR_INT: return (double)*(const int64_t *)at;
  case MICA__ATTR_BOOL: return *(const bool *)at;
  case MICA__ATTR_REAL: return *(const double *)at;
  case MICA__ATTR_ENUM: return *(const int32_t *)at;
  case MICA__ATTR_DTYPE: return *(const mica_dtype *)at;
  default: return 0;
  }
}

/* --- as text --- */

/* A list has room for the maximum number of axes. Returns how many of its elements an operand of this rank uses. */
static int32_t list_count(const mica__attr *attr, int32_t rank) {
  return attr->kind == MICA__ATTR_PER_AXIS ? rank : rank > 2 ? rank - 2 : 0;
}

static bool is_default(const mica__attr *attr, const void *attrs, int32_t rank) {
  const int64_t *list = field(attr, attrs);
  if (attr->kind == MICA__ATTR_SHAPE) return ((const mica_shape *)field(attr, attrs))->rank == 0;
  if (attr->kind == MICA__ATTR_POINTER) return *(const void *const *)field(attr, attrs) == NULL;
  if (attr->kind == MICA__ATTR_AXES) return *(const uint32_t *)field(attr, attrs) == (uint32_t)attr->standard;
  if (!is_list(attr)) return mica__attr_number(attr, attrs) == attr->standard;
  for (int32_t i = 0; i < list_count(attr, rank); i++)
    if (list[i] != (int64_t)attr->standard) return false;
  return true;
}

static void add_axes(mica__text *text, uint32_t axes) {
  const char *before = "";
  mica__text_add(text, "[");
  for (int k = 0; k < MICA_MAX_RANK; k++) {
    if (!(axes >> k & 1)) continue;
    mica__text_addf(text, "%s%d", before, k);
    before = ", ";
  }
  mica__text_add(text, "]");
}

static void add_value(mica__text *text, const mica__attr *attr, const void *attrs, int32_t rank) {
  const void *at = field(attr, attrs);
  char shape[MICA_SHAPE_TEXT];
  switch (attr->kind) {
  case MICA__ATTR_INT: mica__text_addf(text, "%" PRId64, *(const int64_t *)at); break;
  case MICA__ATTR_BOOL: mica__text_add(text, *(const bool *)at ? "true" : "false"); break;
  case MICA__ATTR_REAL: mica__text_addf(text, "%.9g", *(const double *)at); break;
  case MICA__ATTR_ENUM: mica__text_add(text, attr->names[*(const int32_t *)at]); break;
  case MICA__ATTR_DTYPE: mica__text_add(text, mica_dtype_name(*(const mica_dtype *)at)); break;
  case MICA__ATTR_AXES: add_axes(text, *(const uint32_t *)at); break;
  case MICA__ATTR_SHAPE: mica__text_add(text, mica_shape_format(*(const mica_shape *)at, shape)); break;
  case MICA__ATTR_POINTER: mica__text_add(text, "set"); break;
  case MICA__ATTR_PER_AXIS:
  case MICA__ATTR_SPATIAL:
    for (int32_t i = 0; i < list_count(attr, rank); i++)
      mica__text_addf(text, "%s%" PRId64, i ? ", " : "[", ((const int64_t *)at)[i]);
    mica__text_add(text, "]");
    break;
  }
}

void mica__attrs_format(mica__text *text, const mica__attr_list *list, const void *attrs, int32_t rank) {
  const char *before = "(";
  for (int32_t i = 0; list && i < list->count; i++) {
    const mica__attr *attr = &list->rows[i];
    if (is_default(attr, attrs, rank)) continue;
    mica__text_addf(text, "%s%s=", before, attr->name);
    add_value(text, attr, attrs, rank);
    before = ", ";
  }
  mica__text_add(text, *before == ',' ? ")" : "");
}
