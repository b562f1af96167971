/* runtime/fields.h: the host's side of cl/common/fields.clh, which lets a kernel take eight numbers as one argument.
 * MICA__FIELDS makes a type in which the host sets these numbers by the names that the kernel uses. Numbers that are
 * not named are 0.
 *
 *   #include "cl/conv/fields.clh"
 *   MICA__FIELDS(blocking, WINOGRAD_BLOCKING);
 *   mica__launch_sizes(&launch, (blocking){.TB = 32, .PANELS = 2}.values);      if the argument is an int8
 *   mica__launch_long8(&launch, (strides){.w_k = 27, .w_c = 9}.values);         if the argument is a long8
 *
 * This file is also the host's side of cl/common/packed.clh. MICA__PACKED makes a type for a list of packed arguments,
 * and a function that adds them to a launch in the order of the list.
 *
 *   MICA__PACKED(sizes, PRODUCT_SIZES);
 *   sizes_push(&launch, &(sizes){.m = 32, .steps = 2});
 *
 * The value of a BUFFER or FIRST is a tensor or NULL. The value of a REAL is a number with its dtype. An INT or a BYTE
 * that does not fit 32 bits makes the launch fail with MICA_E_OVERFLOW. */
#ifndef MICA_RUNTIME_FIELDS_H
#define MICA_RUNTIME_FIELDS_H

#include "cl/common/fields.clh"

#include "runtime/launch.h"

#include <stdint.h>

typedef struct mica__real {
  mica_dtype dtype;
  double value;
} mica__real;

#define MICA__FIELDS(type, fields)                                                                                     \
  typedef union type {                                                                                                 \
    struct {                                                                                                           \
      fields(MICA__FIELD, type)                                                                                        \
    };                                                                                                                 \
    int64_t values[8];                                                                                                 \
  } type
#define MICA__FIELD(type, s, name) int64_t name;

#define MICA__PACKED(type, fields)                                                                                     \
  struct type {                                                                                                        \
    fields(MICA__PACKED_MEMBER)                                                                                        \
  };                                                                                                                   \
  static inline void type##_push(mica__launch *launch, const struct type *values) { fields(MICA__PACKED_PUSH) }        \
  typedef struct type type
#define MICA__PACKED_MEMBER(kind, name) MICA__MEMBER_##kind name;
#define MICA__MEMBER_BUFFER const mica_tensor *
#define MICA__MEMBER_FIRST const mica_tensor *
#define MICA__MEMBER_LONG int64_t
#define MICA__MEMBER_INT int64_t
#define MICA__MEMBER_UINT uint32_t
#define MICA__MEMBER_BYTE int64_t
#define MICA__MEMBER_FLOAT float
#define MICA__MEMBER_REAL mica__real
#define MICA__PACKED_PUSH(kind, name) MICA__PUSH_##kind(launch, values->name);
#define MICA__PUSH_BUFFER mica__launch_optional
#define MICA__PUSH_FIRST mica__launch_optional
#define MICA__PUSH_LONG mica__launch_long
#define MICA__PUSH_INT mica__launch_size
#define MICA__PUSH_UINT(launch, value) mica__launch_int(launch, (int32_t)(value))
#define MICA__PUSH_BYTE mica__launch_size
#define MICA__PUSH_FLOAT mica__launch_float
#define MICA__PUSH_REAL(launch, real) mica__launch_scalar(launch, (real).dtype, (real).value)

#endif
