/* runtime/sub_device.h: parts of a device as devices: "0:0/2:1" is the second half of 0:0. */
#ifndef MICA_RUNTIME_SUB_DEVICE_H
#define MICA_RUNTIME_SUB_DEVICE_H

#include "runtime/device.h"

/* True if the selector names a part; then *whole is how many bytes name the device, which is cut in `parts`, of which
 * `part` is meant, from 0. MICA_E_INVALID where what follows the slash is no such thing. */
mica_status mica__sub_device_parse(const char *selector, size_t *whole, uint32_t *parts, uint32_t *part, bool *is_part);
/* The part, with as many compute units as each other one. Parts are made once a process and stay. */
mica_status mica__sub_device_of(const mica__device *whole, uint32_t parts, uint32_t part, mica__device *device);

#endif
