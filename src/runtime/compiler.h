/* runtime/compiler.h: what the compilers of platforms take beyond OpenCL C 1.2, and what they get wrong. */
#ifndef MICA_RUNTIME_COMPILER_H
#define MICA_RUNTIME_COMPILER_H

#include "runtime/kernel_desc.h"

/* The options with which every program is built on the device: the MICA_HAS_ macros behind which kernels use an
 * extension (cl/common), each of which has a form in OpenCL C 1.2 too. Never NULL. */
const char *mica__compiler_options(const mica_device_info *device);

/* A file of cl/ that declares built-in functions, with which programs made of cl/ begin, and in *option what keeps the
 * platform's own declarations out, beginning with a space. NULL and "" where those are used. */
const char *mica__compiler_builtins(const mica_device_info *device, const char **option);

/* NULL, or why a variant of a kernel (NULL: every one that it has) is declined on the device: its platform's compiler
 * makes it wrong or too slowly, and no form of it is known that it makes well. Such a variant does not fit the device
 * (mica__variant_fits): another variant, another implementation or the op's reference is taken. */
const char *mica__compiler_fault(const mica_device_info *device, const mica__kernel_desc *kernel,
                                 const mica__variant *variant);

/* True of a CPU whose platform makes vectors of work-items alone: all kernels for CPUs are declined there, and those of
 * GPUs are taken. */
bool mica__compiler_joins_items(const mica_device_info *device);

/* False if the platform's compiler ends the process on some kernels that it is not to optimise. */
bool mica__compiler_takes_unoptimised(const mica_device_info *device);

#endif
