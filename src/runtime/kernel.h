/* runtime/kernel.h: compiled kernels, from a description or a text. */
#ifndef MICA_RUNTIME_KERNEL_H
#define MICA_RUNTIME_KERNEL_H

#include "base/text.h"
#include "runtime/kernel_desc.h"

typedef struct mica_kernel mica__kernel;

/* True when the doctor or the tuner found the variant wrong on the engine's device. */
bool mica__variant_is_bad(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant *variant);

/* The variant to use on the engine's device: the first that fits and is not in quarantine, else one of the other class.
 * MICA_E_UNSUPPORTED when none is left. */
mica_status mica__kernel_choose(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant **variant);

/* While it is on, a CPU compiles variants that are for GPUs alone without optimisation: a check does as on a GPU then,
 * and PoCL takes seconds to optimise what the check runs for milliseconds. Nothing on other devices. */
void mica__kernels_imitate_gpu(mica_engine *engine, bool on);

/* The compiled kernel for these values, from the engine's table, the disk cache or the compiler. prelude is source text
 * put before the file (macro definitions of a fused expression); NULL for none. The kernel belongs to the engine.
 * Blocks while compiling. MICA_E_BUILD carries the driver's log, the kernel's name and the options. */
mica_status mica__kernel_get(mica_engine *engine, const mica__kernel_desc *desc, const int32_t *values,
                             const char *prelude, mica__kernel **kernel);

/* A compiled kernel of a text that is not a file of cl/, such as one of the user's. */
mica_status mica__kernel_get_source(mica_engine *engine, const char *name, const char *source, const char *options,
                                    mica__kernel **kernel);

/* Writes the text the kernel was compiled from, its options in a comment before it. */
mica_status mica__kernel_text(const mica__kernel *kernel, mica__text *text);

/* The largest work-group the driver allows for this kernel on this device. */
size_t mica__kernel_max_group(const mica__kernel *kernel);
const char *mica__kernel_name(const mica__kernel *kernel);

#endif
