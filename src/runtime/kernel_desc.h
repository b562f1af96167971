/* runtime/kernel_desc.h: descriptions of kernels as data: a kernel's name, file, parameters and variants.
 *
 * A kernel's parameters are listed only in its parameter table. Everything else is made from the table: the -D options,
 * the cache key, the tuner's search space, the validation, the lists of the doctor and of the vendors' compilers, and
 * the help text. */
#ifndef MICA_RUNTIME_KERNEL_DESC_H
#define MICA_RUNTIME_KERNEL_DESC_H

#include <mica/device.h>
#include <mica/dtype.h>

/* The most characters of a kernel's name. A row of a profile has the same limit. */
#define MICA__MAX_KERNEL_NAME 63

#define MICA__MAX_PARAMS 24
#define MICA__MAX_CHOICES 16

typedef enum mica__param_kind {
  MICA__PARAM_INT,   /* -DMR=8; the value is the number */
  MICA__PARAM_CASE,  /* like INT, but the problem determines the value, so it is not tuned */
  MICA__PARAM_DTYPE, /* -DX_T=f16; the value is a mica_dtype */
  /* Like CASE. If the value is 0, the kernel emulates instructions and is compiled without optimisation: PoCL takes
   * longer to optimise an emulated product on matrix units than to run all that checks need. */
  MICA__PARAM_EMULATED,
} mica__param_kind;

/* One parameter: its macro, its legal values (the first `choice_count` of choices) and its meaning. */
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
#define MICA__EMULATED(macro, help, ...)                                                                               \
  {                                                                                                                    \
    macro, help, MICA__PARAM_EMULATED, MICA__COUNT_OF(__VA_ARGS__), { __VA_ARGS__ }                                    \
  }
#define MICA__DTYPE(macro, help, ...)                                                                                  \
  {                                                                                                                    \
    macro, help, MICA__PARAM_DTYPE, MICA__COUNT_OF(__VA_ARGS__), { __VA_ARGS__ }                                       \
  }
/* Lists of dtypes for MICA__DTYPE. */
#define MICA__FLOATS MICA_F32, MICA_F16, MICA_BF16, MICA_F64
#define MICA__INTEGERS MICA_I8, MICA_U8, MICA_I16, MICA_I32, MICA_I64, MICA_U16, MICA_U32, MICA_U64
#define MICA__NUMBERS MICA__FLOATS, MICA__INTEGERS
#define MICA__DTYPES MICA__NUMBERS, MICA_BOOL

/* Bits for mica__variant.classes. An accelerator gets GPU-class kernels, the null device CPU-class ones. */
#define MICA__ON_CPU 1u
#define MICA__ON_GPU 2u
#define MICA__ON_ANY (MICA__ON_CPU | MICA__ON_GPU)

/* A named set of parameter values, shipped as a default. The values are in the order of the table. Unless other values
 * were chosen or tuned, a device takes the first variant that fits it, is measured and was not found wrong on it
 * (mica__kernel_choose). */
typedef struct mica__variant {
  const char *name;      /* "cpu", "gpu", "gpu.nvidia" */
  unsigned classes;      /* MICA__ON_... */
  uint32_t features;     /* mica_feature bits that the device must have */
  unsigned vendors;      /* 1u << mica_vendor bits; 0 for any */
  uint32_t vector_bytes; /* the least bytes of the device's vector registers; 0 for any */
  /* A further condition on the device, for an instruction that no extension announces; may be NULL. */
  bool (*has_instruction)(const mica_device_info *device);
  bool unmeasured; /* not measured on any device yet: only a tuner chooses it */
  int32_t values[MICA__MAX_PARAMS];
} mica__variant;

typedef struct mica__kernel_desc {
  const char *name;    /* the __kernel function, which is also the profiler's label */
  const char *file;    /* "reduce/reduce.cl" */
  const char *options; /* further build options, such as "-DEACH"; may be NULL */
  const mica__kernel_param *params;
  int param_count;
  const mica__variant *variants;
  int variant_count;
  /* True if the groups and the local memory of a kernel with these values are within the device's limits. NULL if that
   * is true of every device, because groups have at most 64 work-items and hardly any local memory. */
  bool (*has_room)(const int32_t *values, const mica_device_info *device);
} mica__kernel_desc;

/* A variant that requires only its class: MICA__VARIANT("cpu", MICA__ON_CPU, values...). */
#define MICA__VARIANT(label, on, ...)                                                                                  \
  {                                                                                                                    \
    .name = label, .classes = on, .values = { __VA_ARGS__ }                                                            \
  }

/* A variant for CPUs whose vector registers have at least this many bytes. */
#define MICA__VECTOR_VARIANT(label, bytes, ...)                                                                        \
  {                                                                                                                    \
    .name = label, .classes = MICA__ON_CPU, .vector_bytes = bytes, .values = { __VA_ARGS__ }                           \
  }
/* Bytes of a vector register of AVX-512, which has 32 of them; most CPUs with shorter registers have 16. So variants
 * for long vectors keep larger tiles in registers: for example 8 rows of 2 vectors, where others keep 6 rows of 2. */
#define MICA__LONG_VECTOR 64

/* Initialises a kernel's description from its two tables; further fields may follow. */
#define MICA__KERNEL(function, path, param_table, variant_table)                                                       \
  .name = function, .file = path, .params = param_table, .param_count = sizeof param_table / sizeof *param_table,      \
  .variants = variant_table, .variant_count = sizeof variant_table / sizeof *variant_table

/* The class of kernels that the device gets: MICA__ON_CPU or MICA__ON_GPU. Accelerators get kernels for GPUs, and so do
 * CPUs for which mica__compiler_joins_items is true. */
unsigned mica__kernel_class(const mica_device_info *device);
/* True if the variant of the kernel may run on the device. */
bool mica__variant_fits(const mica__kernel_desc *desc, const mica__variant *variant, const mica_device_info *device);
/* True if the variant is for long vectors and vector_bytes is at least MICA__LONG_VECTOR, or if it is for shorter
 * vectors and vector_bytes is smaller. */
bool mica__variant_suits_vectors(const mica__variant *variant, uint32_t vector_bytes);
/* The first variant for which mica__variant_suits_vectors is true. The kernel must have variants for long and for short
 * vectors. */
const mica__variant *mica__kernel_suited(const mica__kernel_desc *desc, uint32_t vector_bytes);
/* The first variant that fits the device, or NULL. */
const mica__variant *mica__kernel_variant(const mica__kernel_desc *desc, const mica_device_info *device);

/* Checks that each value is one of its parameter's choices. If one is not, MICA_E_INVALID with a message that names the
 * kernel and the parameter. */
mica_status mica__kernel_check_values(const mica__kernel_desc *desc, const int32_t *values);

/* The index of the parameter with this macro in the kernel's table, or -1. */
int mica__kernel_param_index(const mica__kernel_desc *desc, const char *macro);
/* The index of a value in a parameter's choices; -1 if it is missing. */
int mica__kernel_choice(const mica__kernel_desc *desc, const char *macro, int32_t value);

/* Copies the variant's values to `values`, where mica__kernel_set can change them. */
void mica__kernel_values(const mica__kernel_desc *desc, const mica__variant *variant, int32_t values[MICA__MAX_PARAMS]);
/* Read and set the value of the parameter `macro`, which must be in the kernel's table. */
int32_t mica__kernel_value(const mica__kernel_desc *desc, const int32_t *values, const char *macro);
void mica__kernel_set(const mica__kernel_desc *desc, int32_t *values, const char *macro, int32_t value);

#define MICA__UNOPTIMISED " -cl-opt-disable"
/* The kernel's build options with these values, such as "-DMR=8 -DX_T=f16". MICA__UNOPTIMISED is added if `unoptimised`
 * is true or the value of a MICA__PARAM_EMULATED is 0. The caller frees the text. NULL if memory is short. */
char *mica__kernel_options(const mica__kernel_desc *desc, const int32_t *values, bool unoptimised);

#endif
