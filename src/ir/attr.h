/* ir/attr.h: attributes of ops. One macro lists an op's attributes with kind, name, default and meaning. From the list
 * come a struct with one field per attribute and a table with one row per attribute. The op's code reads the struct;
 * code that shows, compares or copies attributes of any op reads the table.
 *
 *   #define SLICE_ATTRS(X, S)                                          \
 *     X(S, PER_AXIS, start, 0, "first element along the axis")         \
 *     X(S, PER_AXIS, step, 1, "from one element to the next")
 *   MICA__ATTR_STRUCT(slice, SLICE_ATTRS);                    the type mica__slice_attrs
 *   static MICA__ATTR_TABLE(slice, SLICE_ATTRS);              the table mica__slice_attr_list, for mica__op.attrs
 *
 * A row may end in further fields of mica__attr, such as the names of an ENUM. */
#ifndef MICA_IR_ATTR_H
#define MICA_IR_ATTR_H

#include "base/hash.h"
#include "base/text.h"

#include <mica/dtype.h>
#include <mica/shape.h>
#include <stddef.h>

/* Maximum number of spatial axes of an image: axes 2, 3 and 4. */
#define MICA__MAX_SPATIAL 3

/* MICA__ATTR_<kind>_FIELD declares the field of the struct for an attribute of this kind. */
#define MICA__ATTR_INT_FIELD(name) int64_t name;
#define MICA__ATTR_BOOL_FIELD(name) bool name;
#define MICA__ATTR_REAL_FIELD(name) double name;
#define MICA__ATTR_ENUM_FIELD(name) int32_t name;
#define MICA__ATTR_DTYPE_FIELD(name) mica_dtype name;
#define MICA__ATTR_AXES_FIELD(name) uint32_t name;                   /* bit k: axis k */
#define MICA__ATTR_PER_AXIS_FIELD(name) int64_t name[MICA_MAX_RANK]; /* one per axis of operand 0 */
/* one per axis of operand 0 except the first two */
#define MICA__ATTR_SPATIAL_FIELD(name) int64_t name[MICA__MAX_SPATIAL];
#define MICA__ATTR_SHAPE_FIELD(name) mica_shape name;
#define MICA__ATTR_POINTER_FIELD(name) const void *name; /* its target must outlive every graph that has it */
typedef enum mica__attr_kind {
  MICA__ATTR_INT,
  MICA__ATTR_BOOL,
  MICA__ATTR_REAL,
  MICA__ATTR_ENUM,
  MICA__ATTR_DTYPE,
  MICA__ATTR_AXES,
  MICA__ATTR_PER_AXIS,
  MICA__ATTR_SPATIAL,
  MICA__ATTR_SHAPE,
  MICA__ATTR_POINTER,
} mica__attr_kind;

typedef struct mica__attr {
  const char *name;
  mica__attr_kind kind;
  size_t offset;   /* in the struct */
  double standard; /* the default; for a list, each element's; a SHAPE defaults to rank 0, a POINTER to NULL */
  const char *doc;
  const char *const *names; /* ENUM: the names of its values, from 0 */
} mica__attr;

typedef struct mica__attr_list {
  const mica__attr *rows;
  int32_t count;
  size_t bytes; /* of the struct */
} mica__attr_list;

/* Maximum size of an attribute struct. */
#define MICA__ATTRS_MOST 256

#define MICA__ATTR_FIELD(owner, kind, name, ...) MICA__ATTR_##kind##_FIELD(name)
#define MICA__ATTR_STRUCT(label, list)                                                                                 \
  typedef struct mica__##label##_attrs {                                                                               \
    list(MICA__ATTR_FIELD, )                                                                                           \
  } mica__##label##_attrs;                                                                                             \
  _Static_assert(sizeof(mica__##label##_attrs) <= MICA__ATTRS_MOST, "too many attributes")
#define MICA__ATTR_ROW(owner, tag, field, ...)                                                                         \
  {.name = #field, .kind = MICA__ATTR_##tag, .offset = offsetof(mica__##owner##_attrs, field), .standard = __VA_ARGS__},
#define MICA__ATTR_TABLE(label, list)                                                                                  \
  const mica__attr_list mica__##label##_attr_list = {                                                                  \
      .rows = (const mica__attr[]){list(MICA__ATTR_ROW, label)},                                                       \
      .count = sizeof((const mica__attr[]){list(MICA__ATTR_ROW, label)}) / sizeof(mica__attr),                         \
      .bytes = sizeof(mica__##label##_attrs)}

/* For an op without attributes, `list` and its attributes are NULL in the functions below. */

/* *out receives a copy of the attributes, or of the defaults if attrs is NULL; the caller frees it. */
mica_status mica__attrs_copy(const mica__attr_list *list, const void *attrs, void **out);
void mica__attrs_set_defaults(const mica__attr_list *list, void *attrs);

/* Compares two structs of attributes. Shapes are compared by their dimensions, attributes of all other kinds by their
 * bytes: a NaN equals a NaN with the same bits, 0 differs from -0, and pointers are equal only for equal addresses. */
bool mica__attrs_equal(const mica__attr_list *list, const void *a, const void *b);
mica__hash mica__attrs_hash(mica__hash seed, const mica__attr_list *list, const void *attrs);

/* Adds the attributes to the text, such as "(stride=[2, 2], pad=[1, 1])". Leaves out attributes that have their
 * defaults; adds nothing if all have. A pointer is shown as "set". rank is the rank of operand 0, which gives the
 * lengths of lists. */
void mica__attrs_format(mica__text *text, const mica__attr_list *list, const void *attrs, int32_t rank);

/* Returns the row of the attribute whose name is the n bytes at `name`; NULL if the list lacks it. */
const mica__attr *mica__attr_find(const mica__attr_list *list, const char *name, size_t n);
/* The value of an attribute as a double: a number, truth value, dtype or entry of an enumeration. 0 for other kinds. */
double mica__attr_number(const mica__attr *attr, const void *attrs);

#endif
