/* runtime/kernel.h: compiled kernels, from a description or a source text. */
#ifndef MICA_RUNTIME_KERNEL_H
#define MICA_RUNTIME_KERNEL_H

#include "base/text.h"
#include "runtime/kernel_desc.h"

typedef struct mica_kernel mica__kernel;

/* True if an entry (runtime/tuning.h) says that the variant is bad on the engine's device: it was found wrong, or could
 * not be built. */
bool mica__variant_is_bad(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant *variant);

/* The variant to use on the engine's device: the first that fits and was not found to be wrong (mica__variant_is_bad).
 * If there is none, the first such variant for the other class of devices. Variants that are marked as unmeasured are
 * passed over. MICA_E_UNSUPPORTED if no variant is left. */
mica_status mica__kernel_choose(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant **variant);

/* While `on`, a CPU compiles variants made for GPUs without optimisation. This is for checks of such variants: a check
 * runs a kernel for milliseconds, but PoCL would take seconds to optimise it. Has no effect on other devices, or if the
 * platform's compiler fails without optimisation. */
void mica__kernels_imitate_gpu(mica_engine *engine, bool on);

/* Gets the compiled kernel for these values from the engine's table, the disk cache or the compiler. prelude is source
 * text put before the file (macro definitions of a fused expression), or NULL. The engine owns the kernel. The call
 * blocks while the kernel is compiled. If it fails with MICA_E_BUILD, the message has the driver's log, the kernel's
 * name and the options. */
mica_status mica__kernel_get(mica_engine *engine, const mica__kernel_desc *desc, const int32_t *values,
                             const char *prelude, mica__kernel **kernel);

/* Gets a compiled kernel from a text that is not a file of cl/, such as a user's own. */
mica_status mica__kernel_get_source(mica_engine *engine, const char *name, const char *source, const char *options,
                                    mica__kernel **kernel);

/* Appends a comment with the kernel's options, and then the text that the kernel was compiled from. */
mica_status mica__kernel_text(const mica__kernel *kernel, mica__text *text);

/* The largest work-group that the driver allows for this kernel on this device. */
size_t mica__kernel_max_group(const mica__kernel *kernel);
const char *mica__kernel_name(const mica__kernel *kernel);

#endif
