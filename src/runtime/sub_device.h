/* runtime/sub_device.h: parts of a device used as devices: "0:0/2:1" is the second half of 0:0. */
#ifndef MICA_RUNTIME_SUB_DEVICE_H
#define MICA_RUNTIME_SUB_DEVICE_H

#include "runtime/device.h"

/* Sets *is_part to true if the selector names a part of a device. Then also sets *whole to the number of bytes of the
 * selector that name the device, *parts to the number of parts it is divided into, and *part to the index of the part.
 * MICA_E_INVALID if the text after the slash is wrong. */
mica_status mica__sub_device_parse(const char *selector, size_t *whole, uint32_t *parts, uint32_t *part, bool *is_part);
/* Gets the part; all parts have the same number of compute units, and units that are left over stay unused. Parts are
 * made once per process and stay. MICA_E_INVALID if there are fewer units than parts, MICA_E_UNSUPPORTED if the driver
 * cannot divide the device. */
mica_status mica__sub_device_of(const mica__device *whole, uint32_t parts, uint32_t part, mica__device *device);

#endif
