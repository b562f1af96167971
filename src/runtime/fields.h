/* runtime/fields.h: the host's side of cl/common/fields.clh: eight numbers of a kernel that travel together, filled by
 * the names under which the kernel has them. Those that are not named are 0.
 *
 *   #include "cl/conv/fields.clh"
 *   MICA__FIELDS(blocking, WINOGRAD_BLOCKING);
 *   mica__launch_sizes(&launch, (blocking){.TB = 32, .KB = 2}.values);      of an int8
 *   mica__launch_long8(&launch, (strides){.K = 9, .C = 3}.values);          of a long8 */
#ifndef MICA_RUNTIME_FIELDS_H
#define MICA_RUNTIME_FIELDS_H

#include <stddef.h>
#include <stdint.h>

typedef struct mica__lanes {
  int64_t s0, s1, s2, s3, s4, s5, s6, s7;
} mica__lanes;

/* The list names its fields in the order of their lanes, or this does not compile. */
#define MICA__FIELDS(type, fields)                                                                                     \
  typedef union type {                                                                                                 \
    struct {                                                                                                           \
      fields(MICA__FIELD, type)                                                                                        \
    };                                                                                                                 \
    int64_t values[8];                                                                                                 \
  } type;                                                                                                              \
  fields(MICA__FIELD_IN_PLACE, type) _Static_assert(sizeof(type) == sizeof(mica__lanes), "at most eight")
#define MICA__FIELD(type, s, name) int64_t name;
#define MICA__FIELD_IN_PLACE(type, s, name)                                                                            \
  _Static_assert(offsetof(type, name) == offsetof(mica__lanes, s), "fields out of order");

#endif
