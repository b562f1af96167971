/* ir/attr.h: attributes of ops: a struct with a field for each, made of a table that also says kind, default and
 * meaning. The op's own code reads the struct; whoever shows, compares or copies attributes of any op reads the table.
 *
 *   #define SLICE_ATTRS(X, S)                                          \
 *     X(S, PER_AXIS, start, 0, "first element along the axis")         \
 *     X(S, PER_AXIS, step, 1, "from one element to the next")
 *   MICA__ATTR_STRUCT(slice, SLICE_ATTRS);                    the type mica__slice_attrs
 *   static MICA__ATTR_TABLE(slice, SLICE_ATTRS);              the table mica__slice_attr_list, for mica__op.attrs
 *
 * A row may end in further fields of mica__attr: the names of an ENUM. */
#ifndef MICA_IR_ATTR_H
#define MICA_IR_ATTR_H

#include "base/hash.h"
#include "base/text.h"

#include <mica/dtype.h>
#include <mica/shape.h>
#include <stddef.h>

/* Axes 2 to 4 of images, at most. */
#define MICA__MAX_SPATIAL 3

/* MICA__ATTR_<kind>, and what the struct's field is. */
#define MICA__ATTR_INT_FIELD(name) int64_t name;
#define MICA__ATTR_BOOL_FIELD(name) bool name;
#define MICA__ATTR_REAL_FIELD(name) double name;
#define MICA__ATTR_ENUM_FIELD(name) int32_t name;
#define MICA__ATTR_DTYPE_FIELD(name) mica_dtype name;
#define MICA__ATTR_AXES_FIELD(name) uint32_t name;                      /* bit k: axis k */
#define MICA__ATTR_PER_AXIS_FIELD(name) int64_t name[MICA_MAX_RANK];    /* one for each axis of operand 0 */
#define MICA__ATTR_SPATIAL_FIELD(name) int64_t name[MICA__MAX_SPATIAL]; /* one for each axis of operand 0 but two */
#define MICA__ATTR_SHAPE_FIELD(name) mica_shape name;
#define MICA__ATTR_POINTER_FIELD(name) const void *name; /* what it points to outlives every graph that has it */
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
  double standard; /* the default, of a list that of each element; of a SHAPE always the empty one, of a POINTER NULL */
  const char *doc;
  const char *const *names; /* of the values of an ENUM, which begin at 0 */
} mica__attr;

typedef struct mica__attr_list {
  const mica__attr *rows;
  int32_t count;
  size_t bytes; /* of the struct */
} mica__attr_list;

/* The largest struct that an op may have. */
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

/* In what follows a list may be NULL, for an op without attributes, and attributes are NULL then. */

/* *out is a copy of the attributes on the heap, the defaults where attrs is NULL; free() it. */
mica_status mica__attrs_copy(const mica__attr_list *list, const void *attrs, void **out);
void mica__attrs_set_defaults(const mica__attr_list *list, void *attrs);

/* Equality is that of bytes: a NaN equals itself, 0 differs from -0, a pointer equals the same address alone. */
bool mica__attrs_equal(const mica__attr_list *list, const void *a, const void *b);
mica__hash mica__attrs_hash(mica__hash seed, const mica__attr_list *list, const void *attrs);

/* Adds "(stride=[2, 2], pad=[1, 1])" without what is as by default; nothing where everything is. A pointer is "set".
 * rank is that of operand 0, which says how long lists are. */
void mica__attrs_format(mica__text *text, const mica__attr_list *list, const void *attrs, int32_t rank);

/* The row of that name, of n bytes; NULL for none. */
const mica__attr *mica__attr_find(const mica__attr_list *list, const char *name, size_t n);
/* A number, truth value, dtype or entry of an enumeration, as a double. */
double mica__attr_number(const mica__attr *attr, const void *attrs);

#endif
