/* runtime/fields.h: the host's side of cl/common/fields.clh: eight numbers of a kernel that travel together, filled by
 * the names under which the kernel has them. Those that are not named are 0.
 *
 *   #include "cl/conv/fields.clh"
 *   MICA__FIELDS(blocking, WINOGRAD_BLOCKING);
 *   mica__launch_sizes(&launch, (blocking){.TB = 32, .PANELS = 2}.values);      of an int8
 *   mica__launch_long8(&launch, (strides){.w_k = 27, .w_c = 9}.values);         of a long8 */
#ifndef MICA_RUNTIME_FIELDS_H
#define MICA_RUNTIME_FIELDS_H

#include "cl/common/fields.clh"

#include <stdint.h>

#define MICA__FIELDS(type, fields)                                                                                     \
  typedef union type {                                                                                                 \
    struct {                                                                                                           \
      fields(MICA__FIELD, type)                                                                                        \
    };                                                                                                                 \
    int64_t values[8];                                                                                                 \
  } type
#define MICA__FIELD(type, s, name) int64_t name;

#endif
