/* runtime/kernel.h: kernels as data: what a kernel is called, where it stands, which parameters it takes.
 *
 * A kernel's parameter table is the one place that knows its parameters: the -D options, the cache key, the tuner's
 * space, the validation, the doctor's and the vendor compilers' lists and the help text all come from it. */
#ifndef MICA_RUNTIME_KERNEL_H
#define MICA_RUNTIME_KERNEL_H

#include "base/hash.h"
#include "base/text.h"

#include <mica/device.h>
#include <mica/dtype.h>

#define MICA__MAX_PARAMS 24
#define MICA__MAX_CHOICES 12

typedef enum mica__param_kind {
  MICA__PARAM_INT,   /* -DMR=8; the value is the number */
  MICA__PARAM_CASE,  /* likewise, but decided by the problem, as a type is: nothing to tune */
  MICA__PARAM_DTYPE, /* -DX_T=f16; the value is a mica_dtype */
} mica__param_kind;

/* One parameter: a macro, its legal values (the first `choice_count` of choices) and what it means. */
typedef struct mica__kernel_param {
  const char *macro;
  const char *help;
  mica__param_kind kind;
  int choice_count;
  int32_t choices[MICA__MAX_CHOICES];
} mica__kernel_param;

/* Rows of a parameter table: MICA__INT("MR", "rows of a tile", 4, 8, 12), MICA__DTYPE("X_T", "type of x", MICA_F32). */
#define MICA__COUNT_OF(...) ((int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))
#define MICA__INT(macro, help, ...)                                                                                    \
  {                                                                                                                    \
    macro, help, MICA__PARAM_INT, MICA__COUNT_OF(__VA_ARGS__), { __VA_ARGS__ }                                         \
  }
#define MICA__CASE(macro, help, ...)                                                                                   \
  {                                                                                                                    \
    macro, help, MICA__PARAM_CASE, MICA__COUNT_OF(__VA_ARGS__), { __VA_ARGS__ }                                        \
  }
#define MICA__DTYPE(macro, help, ...)                                                                                  \
  {                                                                                                                    \
    macro, help, MICA__PARAM_DTYPE, MICA__COUNT_OF(__VA_ARGS__), { __VA_ARGS__ }                                       \
  }

/* Bits for mica__variant.classes. An accelerator gets GPU-class kernels, the null device CPU-class ones. */
#define MICA__ON_CPU 1u
#define MICA__ON_GPU 2u
#define MICA__ON_ANY (MICA__ON_CPU | MICA__ON_GPU)

/* A set of parameter values with a name: a default that is shipped. Values stand in the table's order. A device takes
 * the first variant of the kernel that fits it. */
typedef struct mica__variant {
  const char *name;      /* "cpu", "gpu", "gpu.nvidia" */
  unsigned classes;      /* MICA__ON_... */
  uint32_t features;     /* mica_feature bits the device must have */
  unsigned vendors;      /* 1u << mica_vendor bits; 0 for any */
  uint32_t vector_bytes; /* its vector registers are at least so large; 0 for any */
  int32_t values[MICA__MAX_PARAMS];
} mica__variant;

typedef struct mica__kernel_desc {
  const char *name;    /* the __kernel function, which is also the profiler's label */
  const char *file;    /* "reduce/reduce.cl" */
  const char *options; /* build options beyond the parameters, as its contract allows; may be NULL */
  const mica__kernel_param *params;
  int param_count;
  const mica__variant *variants;
  int variant_count;
  /* Whether groups and local memory of a kernel with these values are within the device's limits; NULL where any
   * device has room (groups of at most 64 work-items, no local memory to speak of). */
  bool (*has_room)(const int32_t *values, const mica_device_info *device);
} mica__kernel_desc;

/* A variant without demands beyond its class: MICA__VARIANT("cpu", MICA__ON_CPU, values...). */
#define MICA__VARIANT(label, on, ...)                                                                                  \
  {                                                                                                                    \
    .name = label, .classes = on, .values = { __VA_ARGS__ }                                                            \
  }

/* One of a CPU's whose vector registers have so many bytes at least. */
#define MICA__VECTOR_VARIANT(label, bytes, ...)                                                                        \
  {                                                                                                                    \
    .name = label, .classes = MICA__ON_CPU, .vector_bytes = bytes, .values = { __VA_ARGS__ }                           \
  }
/* Of which there are 32, twice as many as of shorter ones on most CPUs: tiles of 16 vectors of 16 floats are for these,
 * tiles of 6 for the others. */
#define MICA__LONG_VECTOR 64

/* The initialiser of a kernel's description from its two tables; further fields may follow it. */
#define MICA__KERNEL(function, path, param_table, variant_table)                                                       \
  .name = function, .file = path, .params = param_table, .param_count = sizeof param_table / sizeof *param_table,      \
  .variants = variant_table, .variant_count = sizeof variant_table / sizeof *variant_table

typedef struct mica_kernel mica__kernel;

/* Characters a kernel's name may have; a profile's row holds as many. */
#define MICA__MAX_KERNEL_NAME 63

/* MICA__ON_CPU or MICA__ON_GPU for a device. */
unsigned mica__kernel_class(const mica_device_info *device);
/* Whether a variant of the kernel may run on a device. */
bool mica__variant_fits(const mica__kernel_desc *desc, const mica__variant *variant, const mica_device_info *device);
/* Whether it is made for vector registers of so many bytes: for long ones, or for shorter ones. */
bool mica__variant_suits_vectors(const mica__variant *variant, uint32_t vector_bytes);
/* The first variant that is; of a kernel with variants for either. */
const mica__variant *mica__kernel_suited(const mica__kernel_desc *desc, uint32_t vector_bytes);
/* The first variant that fits; NULL when none does. */
const mica__variant *mica__kernel_variant(const mica__kernel_desc *desc, const mica_device_info *device);

/* Whether the doctor or the tuner found the variant wrong on the engine's device. */
bool mica__variant_is_bad(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant *variant);

/* The variant to use on the engine's device: the first that fits and is not in quarantine, else one of the other class.
 * MICA_E_UNSUPPORTED when none is left. */
mica_status mica__kernel_choose(mica_engine *engine, const mica__kernel_desc *desc, const mica__variant **variant);

/* MICA_E_INVALID, naming kernel and parameter, when a value is not among its choices. */
mica_status mica__kernel_check_values(const mica__kernel_desc *desc, const int32_t *values);

/* The place of a macro in the table; -1 when it has none. */
int mica__kernel_param_index(const mica__kernel_desc *desc, const char *macro);
/* The place of a value among the choices of a parameter; -1 when it is none. */
int mica__kernel_choice(const mica__kernel_desc *desc, const char *macro, int32_t value);

/* Copies a variant's values, to be changed by mica__kernel_set. */
void mica__kernel_values(const mica__kernel_desc *desc, const mica__variant *variant, int32_t values[MICA__MAX_PARAMS]);
/* Reads and sets the parameter `macro`, which must be in the table. */
int32_t mica__kernel_value(const mica__kernel_desc *desc, const int32_t *values, const char *macro);
void mica__kernel_set(const mica__kernel_desc *desc, int32_t *values, const char *macro, int32_t value);

/* Writes the build options of a parameter assignment, "-DMR=8 -DX_T=f16"; the result belongs to the caller (free). NULL
 * when memory is short. */
char *mica__kernel_options(const mica__kernel_desc *desc, const int32_t *values);

/* The compiled kernel for these values, from the engine's table, the disk cache or the compiler. prelude is source text
 * put before the file (macro definitions of a fused expression); NULL for none. The kernel belongs to the engine.
 * Blocks while compiling. MICA_E_BUILD carries the driver's log, the kernel's name and the options. */
mica_status mica__kernel_get(mica_engine *engine, const mica__kernel_desc *desc, const int32_t *values,
                             const char *prelude, mica__kernel **kernel);

/* The same for a text that is no file of cl/: generated kernels and kernels of the user's. */
mica_status mica__kernel_get_source(mica_engine *engine, const char *name, const char *source, const char *options,
                                    mica__kernel **kernel);

/* Generated kernels that are built as one program. Each text is OpenCL C of one kernel of that name and may include
 * files of cl/, every one of which the program has once; a macro that another text may define otherwise is undefined
 * before it is defined, and nothing else outside of the kernel is defined. */
typedef struct mica__kernel_member {
  char *name, *text;
  mica__hash key; /* of both */
} mica__kernel_member;
typedef struct mica__kernel_bundle {
  mica__kernel_member *members;
  size_t count;
} mica__kernel_bundle;

/* Adds a copy; what is in it already is not added again. */
mica_status mica__kernel_bundle_add(mica__kernel_bundle *bundle, const char *name, const char *text);
void mica__kernel_bundle_free(mica__kernel_bundle *bundle);

/* Sees to it that the engine has all kernels of the bundle. Where it lacks one, all of them become a program: what that
 * holds, and so whether the disk cache has it, is up to the bundle alone and not to what was built before. Blocks while
 * compiling. MICA_E_BUILD carries the driver's log. */
mica_status mica__kernel_bundle_build(mica_engine *engine, const mica__kernel_bundle *bundle);

/* The kernel of such a text: of a bundle that was built, else of a program of its own. */
mica_status mica__kernel_get_generated(mica_engine *engine, const char *name, const char *text, mica__kernel **kernel);

/* Writes the text the kernel was compiled from, its options in a comment before it. */
mica_status mica__kernel_text(const mica__kernel *kernel, mica__text *text);

/* The largest work-group the driver allows for this kernel on this device. */
size_t mica__kernel_max_group(const mica__kernel *kernel);
const char *mica__kernel_name(const mica__kernel *kernel);

#endif
