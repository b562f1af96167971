/* mica-kernels: prints every kernel of the library with the options it is shipped with, for tests/vendor/run.sh:
 *
 *   NAME <tab> FILE <tab> OPTIONS <tab> VENDORS <tab> default
 *
 * A line for each variant of the GPU class; and, since types and cases (layouts and the like) are decided by the
 * problem and not by a device, a line for each other value of each of them. VENDORS are of nvidia,amd,intel, or targets
 * of run.sh. With --all: the same of both classes, whatever a vendor's device takes, for tests/vendor/digest.sh. With
 * --platform nvidia|amd|intel: the macros that the vendor's platform gets beside them. */
#include "ops/matmul/gemm.h"
#include "ops/select/mma.h"
#include "ops/select/registry.h"
#include "runtime/compiler.h"
#include "runtime/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set by --all. */
static bool every_class;

/* True if the table has the parameter and it has this value. */
static bool is_set(const mica__kernel_desc *desc, const int32_t *values, const char *macro, int32_t value) {
  int index = mica__kernel_param_index(desc, macro);
  return index >= 0 && values[index] == value;
}

static bool uses_f64(const mica__kernel_desc *desc, const int32_t *values) {
  for (int i = 0; i < desc->param_count; i++)
    if (desc->params[i].kind == MICA__PARAM_DTYPE && values[i] == MICA_F64) return true;
  return false;
}

/* The targets that have a matrix unit; NULL for a kernel that uses none. */
static const char *unit_targets(const mica__kernel_desc *desc, const int32_t *values) {
  static const char *const targets[] = {[MICA__MMA_PTX] = "sm_80,sm_90",
                                        [MICA__MMA_MFMA] = "gfx908,gfx90a,gfx942",
                                        [MICA__MMA_WMMA] = "gfx1100",
                                        [MICA__MMA_DPAS8] = "dg2",
                                        [MICA__MMA_DPAS16] = "pvc"};
  return is_set(desc, values, "MMA_NATIVE", 1) ? targets[mica__kernel_value(desc, values, "MMA_UNIT")] : NULL;
}

/* Which vendors' compilers get to see a variant; Intel's newer GPUs have no f64. */
static void vendors_of(const mica__kernel_desc *desc, const mica__variant *variant, const int32_t *values,
                       char text[64]) {
  static const struct {
    mica_vendor vendor;
    uint32_t features;
    const char *name;
  } known[] = {
      {MICA_VENDOR_NVIDIA, MICA_FEATURE_INLINE_PTX, "nvidia"},
      {MICA_VENDOR_AMD, MICA_FEATURE_SUBGROUPS, "amd"},
      {MICA_VENDOR_INTEL, MICA_FEATURE_INTEL_SUBGROUPS | MICA_FEATURE_SUBGROUPS, "intel"},
  };
  const uint32_t everywhere = MICA_FEATURE_FP64 | MICA_FEATURE_FP16;
  const char *units = unit_targets(desc, values);
  text[0] = '\0';
  if (units) strcpy(text, units);
  for (size_t i = 0; !units && i < sizeof known / sizeof *known; i++) {
    if (variant->vendors && !(variant->vendors & 1u << known[i].vendor)) continue;
    if (variant->features & ~(known[i].features | everywhere)) continue;
    if (known[i].vendor == MICA_VENDOR_INTEL && uses_f64(desc, values)) continue;
    if (text[0]) strcat(text, ",");
    strcat(text, known[i].name);
  }
}

/* True for what is slower than others and declined, but right: products on matrix units of floats that are read one by
 * one (decline_pieces of matmul/mma/tile.c). */
static bool is_declined(const mica__kernel_desc *desc, const int32_t *values) {
  if (!is_set(desc, values, "MMA_NATIVE", 1) || mica__kernel_param_index(desc, "B_LAYOUT") < 0) return false;
  return !is_set(desc, values, "A_T", MICA_I8) &&
         (is_set(desc, values, "A_LAYOUT", MICA__LAYOUT_ANY) || is_set(desc, values, "B_LAYOUT", MICA__LAYOUT_ANY) ||
          is_set(desc, values, "A_ALIGNED", 0) || is_set(desc, values, "B_ALIGNED", 0));
}

/* Returns whether the line could be printed. */
static bool print_line(const mica__kernel_desc *desc, const int32_t *values, const char *vendors) {
  char *options = mica__kernel_options(desc, values, false);
  const char *use = is_declined(desc, values) ? "variant" : "default";
  bool printed = options && printf("%s\t%s\t%s\t%s\t%s\n", desc->name, desc->file, options, vendors, use) > 0;
  free(options);
  return printed;
}

/* True if the matrix is read from an image. Only GPUs whose compilers run on a device alone do so. */
static bool reads_texture(const mica__kernel_desc *desc, const int32_t *values) {
  return mica__kernel_param_index(desc, "TEXTURE") >= 0 && !is_set(desc, values, "TEXTURE", 0);
}

/* True for an image of other elements than f32 and f16, which there is not. */
static bool is_impossible(const mica__kernel_desc *desc, const int32_t *values) {
  static const char *const operands[] = {"A_T", "B_T"};
  bool possible = is_set(desc, values, "ACC_T", MICA_F32);
  for (int i = 0; i < 2; i++)
    possible = possible && (is_set(desc, values, operands[i], MICA_F32) || is_set(desc, values, operands[i], MICA_F16));
  return reads_texture(desc, values) && !possible;
}

/* True for what no launch takes: attention's two chunks of sums are too many registers for a thread of Intel's, and so
 * are its heads on matrix units from a size on. */
static bool is_never(const mica__kernel_desc *desc, const int32_t *values) {
  const mica_device_info roomy = {.max_group = 1024, .local_bytes = 65536};
  if (mica__kernel_param_index(desc, "HEAD") >= 0 && !desc->has_room(values, &roomy)) return true;
  int demanded = mica__kernel_param_index(desc, "REQD_SUBGROUP");
  return demanded >= 0 && values[demanded] != 0 && is_set(desc, values, "CHUNKS", 2);
}

/* A kernel that demands a subgroup size demands each device's smallest: 16 on pvc, 8 before. */
#define OLD_INTEL "skl,tgllp,dg2"
#define NEW_INTEL "pvc"

static bool print_values(const mica__kernel_desc *desc, const mica__variant *variant, int32_t *values) {
  char vendors[64];
  if (is_impossible(desc, values) || (reads_texture(desc, values) && !every_class)) return true;
  if (every_class) return print_line(desc, values, "any");
  vendors_of(desc, variant, values, vendors);
  if (!*vendors || is_never(desc, values)) return true;
  if (is_set(desc, values, "MICA_SUBGROUPS", 2))
    return print_line(desc, values, is_set(desc, values, "SUBGROUP", 8) ? OLD_INTEL : NEW_INTEL);
  int demanded = mica__kernel_param_index(desc, "REQD_SUBGROUP");
  if (demanded < 0 || values[demanded] == 0) return print_line(desc, values, vendors);
  values[demanded] = 8;
  if (!print_line(desc, values, OLD_INTEL)) return false;
  values[demanded] = 16;
  return print_line(desc, values, NEW_INTEL);
}

/* True if the parameter's types are whole numbers: of lengths, indices, steps. */
static bool counts(const mica__kernel_param *param) {
  for (int c = 0; c < param->choice_count; c++)
    if (mica_dtype_kind_of((mica_dtype)param->choices[c]) == MICA_DTYPE_KIND_FLOAT) return false;
  return true;
}

/* Gives all type parameters of the kernel the type, which they must be able to take together; of those that cannot be
 * i8, i32 goes with it, sums of halves are f32, and with a floating-point type what counts stays as it is. */
static bool set_types(const mica__kernel_desc *desc, mica_dtype type, int32_t *values) {
  bool taken = false;
  for (int i = 0; i < desc->param_count; i++) {
    const mica__kernel_param *param = &desc->params[i];
    if (param->kind != MICA__PARAM_DTYPE) continue;
    if (mica_dtype_kind_of(type) == MICA_DTYPE_KIND_FLOAT && counts(param)) continue;
    bool takes = mica__kernel_choice(desc, param->macro, (int32_t)type) >= 0;
    const bool half = type == MICA_F16 || type == MICA_BF16;
    const mica_dtype sums = half ? MICA_F32 : MICA_I32;
    bool widens = (type == MICA_I8 || (half && !strcmp(param->macro, "ACC_T"))) &&
                  mica__kernel_choice(desc, param->macro, (int32_t)sums) >= 0;
    if (!takes && !widens) return false;
    values[i] = (int32_t)(takes ? type : sums);
    taken = taken || takes;
  }
  return taken;
}

/* The variant's values, in bf16 where they are of a type that its matrix unit does not multiply. */
static void first_values(const mica__kernel_desc *desc, const mica__variant *variant, int32_t *values) {
  mica__kernel_values(desc, variant, values);
  if (!mica__mma_takes(desc, variant, MICA_F32)) set_types(desc, MICA_BF16, values);
}

static bool print_types(const mica__kernel_desc *desc, const mica__variant *variant) {
  static const mica_dtype types[] = {MICA_F16, MICA_BF16, MICA_F64, MICA_I8, MICA_I32, MICA_I64};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    int32_t values[MICA__MAX_PARAMS];
    if (!mica__mma_takes(desc, variant, types[t])) continue;
    mica__kernel_values(desc, variant, values);
    if (set_types(desc, types[t], values) && !print_values(desc, variant, values)) return false;
  }
  return true;
}

/* Matrix units read 16 and 32 bits that lie along k or across it in ways of their own: each type in each pair of the
 * two. */
static bool print_layouts(const mica__kernel_desc *desc, const mica__variant *variant) {
  static const mica_dtype types[] = {MICA_F32, MICA_F16, MICA_BF16};
  if (!is_set(desc, variant->values, "MMA_NATIVE", 1) || mica__kernel_param_index(desc, "B_LAYOUT") < 0) return true;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int layouts = 0; layouts < 4 && mica__mma_takes(desc, variant, types[t]); layouts++) {
      int32_t values[MICA__MAX_PARAMS];
      mica__kernel_values(desc, variant, values);
      mica__kernel_set(desc, values, "A_LAYOUT", 1 + layouts / 2);
      mica__kernel_set(desc, values, "B_LAYOUT", 1 + layouts % 2);
      if (set_types(desc, types[t], values) && !print_values(desc, variant, values)) return false;
    }
  return true;
}

/* Cases that the device decides: shipped variants have them right for theirs. */
static bool is_of_device(const mica__kernel_param *param) {
  return !strncmp(param->macro, "MMA_", 4) || !strcmp(param->macro, "MICA_HAS_DP4A") ||
         !strcmp(param->macro, "MICA_SUBGROUPS");
}

static bool print_cases(const mica__kernel_desc *desc, const mica__variant *variant) {
  for (int i = 0; i < desc->param_count; i++)
    for (int c = 0; desc->params[i].kind == MICA__PARAM_CASE && c < desc->params[i].choice_count; c++) {
      int32_t values[MICA__MAX_PARAMS];
      first_values(desc, variant, values);
      if (values[i] == desc->params[i].choices[c] || is_of_device(&desc->params[i])) continue;
      values[i] = desc->params[i].choices[c];
      if (!print_values(desc, variant, values)) return false;
    }
  return true;
}

static bool print_kernel(const mica__kernel_desc *desc) {
  for (int v = 0; v < desc->variant_count; v++) {
    const mica__variant *variant = &desc->variants[v];
    int32_t values[MICA__MAX_PARAMS];
    if (!every_class && !(variant->classes & MICA__ON_GPU)) continue;
    first_values(desc, variant, values);
    if (!print_values(desc, variant, values) || !print_types(desc, variant) || !print_cases(desc, variant) ||
        !print_layouts(desc, variant))
      return false;
  }
  return true;
}

static int print_platform(const char *vendor) {
  static const struct {
    const char *vendor, *platform;
  } known[] = {
      {"nvidia", "NVIDIA CUDA"}, {"amd", "AMD Accelerated Parallel Processing"}, {"intel", "Intel(R) OpenCL Graphics"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    mica_device_info device = {.device_class = MICA_DEVICE_CLASS_GPU};
    if (strcmp(vendor, known[i].vendor) != 0) continue;
    strcpy(device.platform, known[i].platform);
    return puts(mica__compiler_options(&device)) < 0;
  }
  return 2;
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "--platform")) return print_platform(argv[2]);
  every_class = argc == 2 && !strcmp(argv[1], "--all");
  if (argc > 1 && !every_class) return 2;
  for (size_t i = 0; i < mica__op_count; i++)
    for (const mica__kernel_desc *const *kernel = mica__ops[i]->kernels; kernel && *kernel; kernel++)
      if (!print_kernel(*kernel)) {
        fprintf(stderr, "mica-kernels: the list cannot be written\n");
        return 1;
      }
  return 0;
}
