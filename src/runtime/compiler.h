/* runtime/compiler.h: what the compilers of platforms accept beyond OpenCL C 1.2, and what they get wrong. */
#ifndef MICA_RUNTIME_COMPILER_H
#define MICA_RUNTIME_COMPILER_H

#include "runtime/kernel_desc.h"

/* The options that every program is built with on the device: the MICA_HAS_ macros that let kernels use an extension
 * (cl/common). Each extension has a replacement in OpenCL C 1.2. Never NULL. */
const char *mica__compiler_options(const mica_device_info *device);

/* Returns the name of a file of cl/ that declares built-in functions; programs made from cl/ begin with it. Sets
 * *option to the build option that suppresses the platform's own declarations, with a space before it. If the
 * platform's own declarations are used, returns NULL and sets *option to "". */
const char *mica__compiler_builtins(const mica_device_info *device, const char **option);

/* If the device must not use a variant of a kernel, returns the reason, otherwise NULL. With variant NULL, returns a
 * reason only if the device must use none of the kernel's variants.
 *
 * The reason is that the platform's compiler compiles the variant wrongly or too slowly, and no form of it is known
 * that it compiles well. Such a variant does not fit the device (mica__variant_fits), which then uses another variant,
 * another implementation or the op's reference. */
const char *mica__compiler_fault(const mica_device_info *device, const mica__kernel_desc *kernel,
                                 const mica__variant *variant);

/* True for a CPU whose platform forms vectors only from work-items. Such a CPU gets only kernels for GPUs. */
bool mica__compiler_joins_items(const mica_device_info *device);

/* False if the platform's compiler ends the process on some kernels when told not to optimise them. */
bool mica__compiler_takes_unoptimised(const mica_device_info *device);

#endif
