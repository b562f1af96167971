/* runtime/compiler.h: what the compilers of platforms take beyond OpenCL C 1.2, and what they get wrong. */
#ifndef MICA_RUNTIME_COMPILER_H
#define MICA_RUNTIME_COMPILER_H

#include <mica/device.h>

/* The options with which every program is built on the device: the MICA_HAS_ macros behind which kernels use an
 * extension (cl/common), each of which has a form in OpenCL C 1.2 too. Never NULL. */
const char *mica__compiler_options(const mica_device_info *device);

/* NULL, or why a variant of a kernel is declined on the device: its platform's compiler makes it wrong, and no form of
 * it is known that it makes right. Such a variant does not fit the device (mica__variant_fits): another variant,
 * another implementation or the op's reference is taken. */
const char *mica__compiler_fault(const mica_device_info *device, const char *kernel, const char *variant);

#endif
