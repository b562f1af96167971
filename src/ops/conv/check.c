/* Checks the implementations of every pass against the reference in double. The comment of mica__conv_check_impl says
 * which variants run. */
#include "ops/select/check.h"
#include "base/error.h"
#include "ops/common/tolerance.h"
#include "ops/conv/conv.h"
#include "ops/select/mma.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Sizes in the tensors' order. spatial is the number of spatial dimensions; 0 stands for 2. */
typedef struct geometry {
  int64_t n, c, k;
  int64_t in[3], filter[3];
  mica_conv_config config;
  int32_t spatial;
} geometry;

#define ALL(v)                                                                                                         \
  { v, v, v }
static const geometry quick[] = {
    {2, 5, 9, {9, 11}, {3, 3}, {.stride = ALL(1), .pad = ALL(1)}, 0},
    {2, 6, 4, {10, 7}, {3, 2}, {.stride = {2, 1}, .pad = {1, 0}, .pad_more = {-1, 1}, .groups = 2}, 0},
    {1, 17, 17, {8, 8}, {3, 3}, {.stride = ALL(1), .pad = ALL(1), .groups = 17}, 0},
    {17, 5, 9, {2, 2}, {3, 3}, {.stride = ALL(1), .pad = ALL(1)}, 0},
    {1, 18, 20, {5, 6}, {1, 1}, {.groups = 1}, 0},
    {2, 20, 37, {6, 31}, {3, 3}, {.stride = {2, 1}, .pad = ALL(1)}, 0},
    {1, 6, 82, {5, 4}, {3, 3}, {.stride = ALL(2), .pad = ALL(1)}, 0},
};
/* Each case stresses the division of work in its own way: planes that do not fill a vector, channel counts just below
 * and above a tile, all options of a config. */
static const geometry full[] = {
    {2, 5, 9, {9, 11}, {3, 3}, {.pad = ALL(1)}, 0},
    {2, 6, 4, {10, 7}, {3, 2}, {.stride = {2, 1}, .pad = {1, 0}, .pad_more = {-1, 1}, .groups = 2}, 0},
    {1, 17, 17, {8, 8}, {3, 3}, {.pad = ALL(1), .groups = 17}, 0},
    {1, 1, 1, {1, 1}, {1, 1}, {.groups = 1}, 0},
    {0, 5, 9, {9, 11}, {3, 3}, {.pad = ALL(1)}, 0},
    {0, 3, 3, {9, 11}, {3, 3}, {.pad = ALL(1), .groups = 3}, 0},
    {3, 67, 33, {1, 1}, {3, 3}, {.pad = ALL(1)}, 0},
    {1, 14, 146, {5, 5}, {3, 3}, {.stride = ALL(2), .groups = 2}, 0},
    {1, 7, 70, {2, 3}, {2, 2}, {.dilation = ALL(1)}, 0},
    {2, 16, 8, {4, 4}, {3, 3}, {.pad = ALL(1)}, 0},
    {19, 9, 16, {2, 2}, {3, 3}, {.stride = ALL(2), .pad = ALL(1)}, 0},
    {1, 67, 67, {5, 6}, {1, 1}, {.groups = 1}, 0},
    {2, 12, 24, {7, 7}, {1, 1}, {.stride = ALL(2)}, 0},
    {2, 12, 9, {12, 14}, {1, 1}, {.stride = ALL(2)}, 0},
    {2, 16, 24, {6, 5}, {1, 1}, {.stride = ALL(2), .groups = 2}, 0},
    {2, 5, 7, {9, 6}, {1, 3}, {.stride = {2, 1}, .pad = {0, 1}}, 0},
    {1, 3, 5, {4, 6, 7}, {1, 1, 1}, {.stride = ALL(2)}, 3},
    {2, 3, 5, {1, 6, 7}, {1, 3, 3}, {.pad = {0, 1, 1}, .pad_more = {1, 0, 0}}, 3},
    {5, 18, 20, {9, 8}, {1, 1}, {.groups = 1}, 0},
    {1, 3, 8, {23, 21}, {7, 7}, {.stride = ALL(2), .pad = ALL(3)}, 0},
    {2, 1, 6, {28, 28}, {5, 5}, {.pad = ALL(2)}, 0},
    {1, 3, 10, {32, 35}, {3, 3}, {.pad = ALL(1)}, 0},
    {1, 8, 16, {30, 37}, {3, 3}, {.pad = ALL(1)}, 0},
    {2, 16, 17, {13, 18}, {3, 3}, {.pad = {0, 2}}, 0},
    {1, 18, 34, {5, 70}, {3, 3}, {.pad = ALL(1)}, 0},
    {1, 4, 6, {17, 19}, {3, 3}, {.stride = ALL(2), .pad = ALL(1)}, 0},
    {1, 8, 3, {9, 9}, {2, 2}, {.stride = ALL(3), .pad_more = {1, 0}}, 0},
    {1, 4, 4, {12, 9}, {3, 3}, {.pad = ALL(2), .dilation = {2, 3}}, 0},
    {1, 2, 3, {11, 12}, {4, 3}, {.stride = {3, 2}, .pad = {3, 1}, .dilation = {2, 2}}, 0},
    {2, 67, 67, {9, 7}, {3, 3}, {.pad = ALL(1), .groups = 67}, 0},
    {1, 20, 20, {15, 22}, {3, 3}, {.stride = ALL(2), .pad = ALL(1), .groups = 20}, 0},
    {2, 3, 3, {21, 37}, {5, 5}, {.stride = ALL(2), .pad = {2, 1}, .groups = 3}, 0},
    {1, 3, 4, {5, 5}, {5, 5}, {.groups = 1}, 0},
    {1, 12, 18, {6, 5}, {3, 3}, {.pad = ALL(1), .groups = 3}, 0},
    {2, 4, 5, {3, 2}, {3, 3}, {.pad = ALL(4)}, 0},
    {1, 3, 3, {19, 40}, {5, 5}, {.pad = ALL(2), .groups = 3}, 0},
    {2, 5, 7, {40}, {4}, {.stride = ALL(2), .pad = ALL(1)}, 1},
    {1, 4, 5, {1100}, {3}, {.stride = ALL(2), .pad = ALL(1)}, 1},
    {1, 2, 9, {3, 6, 7}, {2, 3, 3}, {.stride = {1, 2, 1}, .pad = {1, 1, 0}, .dilation = {1, 1, 2}}, 3},
    {19, 17, 17, {3, 9}, {3, 3}, {.pad = ALL(1), .groups = 17}, 0},
    {23, 9, 9, {6, 27}, {5, 5}, {.stride = ALL(2), .pad = ALL(2), .groups = 9}, 0},
    {12, 11, 11, {7, 7}, {3, 3}, {.pad = ALL(1), .groups = 11}, 0},
    {2, 5, 5, {6, 6}, {3, 3}, {.pad = ALL(2), .groups = 5}, 0},
    {12, 11, 11, {14, 14}, {3, 3}, {.stride = ALL(2), .pad = ALL(1), .groups = 11}, 0},
    {3, 3, 3, {15, 15}, {3, 3}, {.stride = ALL(2), .groups = 3}, 0},
    {5, 6, 6, {16, 16}, {3, 3}, {.pad = ALL(1), .groups = 6}, 0},
    {3, 4, 4, {14, 14}, {5, 5}, {.pad = ALL(2), .groups = 4}, 0},
    {3, 4, 4, {14, 14}, {5, 5}, {.stride = ALL(2), .pad = ALL(2), .groups = 4}, 0},
    {2, 3, 3, {28, 28}, {3, 3}, {.pad = ALL(1), .groups = 3}, 0},
    {7, 3, 3, {20, 20}, {3, 3}, {.stride = ALL(2), .pad = ALL(1), .groups = 3}, 0},
    {2, 17, 17, {11, 48}, {3, 3}, {.pad = ALL(1), .groups = 17}, 0},
    {3, 5, 5, {9, 36}, {3, 3}, {.pad = ALL(1), .groups = 5}, 0},
    {2, 17, 17, {33, 35}, {3, 3}, {.pad = ALL(1), .groups = 17}, 0},
    {2, 3, 3, {37, 56}, {3, 3}, {.pad = ALL(1), .groups = 3}, 0},
    {1, 16, 16, {20, 112}, {3, 3}, {.pad = ALL(1), .groups = 16}, 0},
    {2, 4, 4, {36, 58}, {3, 3}, {.stride = ALL(2), .pad = ALL(1), .groups = 4}, 0},
    {2, 35, 37, {13, 22}, {3, 3}, {.stride = ALL(2), .pad = ALL(1)}, 0},
    {2, 20, 37, {6, 31}, {3, 3}, {.stride = {2, 1}, .pad = ALL(1)}, 0},
    {1, 64, 70, {16, 16}, {3, 3}, {.pad = ALL(2), .dilation = ALL(2)}, 0},
    {1, 66, 33, {17, 19}, {1, 1}, {.stride = ALL(2)}, 0},
    {3, 33, 40, {9, 7}, {5, 3}, {.stride = {3, 1}, .pad = {2, 1}}, 0},
    {35, 33, 34, {5, 7}, {3, 3}, {.stride = {1, 2}, .pad = {1, 2}, .dilation = {1, 2}}, 0},
    {32, 66, 32, {6, 3}, {1, 1}, {.groups = 1}, 0},
    {70, 20, 36, {2, 2}, {3, 3}, {.pad = ALL(1)}, 0},
    {1, 18, 50, {30, 31}, {1, 1}, {.groups = 1}, 0},
    {1, 20, 67, {29, 30}, {3, 3}, {.stride = ALL(2), .pad = ALL(1)}, 0},
};

/* What the cases of a group have in common: their type, their operands, and whether the filters are constant, so that
 * they are packed in advance. Kernels are compiled anew for each type and set of operands. If the filters are constant,
 * the results are also written by stores that bypass the caches, to check these stores. Filter gradients do neither. */
typedef struct setting {
  const char *name;
  mica_dtype dtype;
  bool bias, addend, constant;
  size_t every; /* in the full grid this setting takes every n-th case */
} setting;
static const setting settings[] = {
    {"f32, bias, addend and leaky_relu", MICA_F32, true, true, false, 1},
    {"f32, bias and leaky_relu", MICA_F32, true, false, false, 2},
    {"f32, constant filters", MICA_F32, false, false, true, 1},
    {"f16", MICA_F16, true, true, false, 4},
    {"bf16", MICA_BF16, false, false, false, 4},
    {"bf16, bias, addend and constant filters", MICA_BF16, true, true, true, 2},
    {"f64", MICA_F64, false, false, false, 4},
};

#define SLOPE 0.25

typedef struct operands {
  mica__check_tensor x, w, y; /* the one that is the pass's result is filled with poison */
  mica__check_tensor bias, addend;
} operands;

static void operands_free(operands *o) {
  mica__check_tensor *const all[] = {&o->x, &o->w, &o->y, &o->bias, &o->addend};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica__check_free(all[i]);
}

static mica_shape shape_of(int64_t first, int64_t second, const int64_t *extent, int32_t spatial) {
  mica_shape shape = {.rank = spatial + 2, .dim = {first, second}};
  for (int32_t i = 0; i < spatial; i++) shape.dim[2 + i] = extent[i];
  return shape;
}

static mica_status make(mica__check *check, const setting *s, mica_shape shape, bool result, mica__check_tensor *t) {
  return result ? mica__check_output(check, s->dtype, shape, t) : mica__check_input(check, s->dtype, shape, 1, t);
}

static mica_status make_operands(mica__check *check, mica__conv_pass pass, const setting *s, const geometry *z,
                                 operands *o) {
  mica__conv_dims dims;
  int32_t spatial = z->spatial ? z->spatial : 2;
  int64_t groups = z->config.groups ? z->config.groups : 1;
  mica_shape x = shape_of(z->n, z->c, z->in, spatial), w = shape_of(z->k, z->c / groups, z->filter, spatial);
  MICA_TRY(mica__conv_dims_of(&z->config, x, w, NULL, &dims));
  mica_shape y = shape_of(z->n, z->k, dims.out + 3 - spatial, spatial);
  MICA_TRY(make(check, s, x, pass == MICA__CONV_BWD_DATA, &o->x));
  MICA_TRY(make(check, s, w, pass == MICA__CONV_BWD_FILTER, &o->w));
  MICA_TRY(make(check, s, y, pass == MICA__CONV_FWD, &o->y));
  if (!s->bias || pass == MICA__CONV_BWD_FILTER) return MICA_OK;
  bool forward = pass == MICA__CONV_FWD;
  MICA_TRY(make(check, s, MICA_SHAPE(forward ? z->k : z->c), false, &o->bias));
  return s->addend ? make(check, s, forward ? y : x, false, &o->addend) : MICA_OK;
}

/* Sets want to the result in double, and bound to how far each element that a kernel computes may be from it. */
static mica_status reference(const mica__impl *impl, const mica__variant *variant, const setting *s,
                             const mica__conv *conv, const operands *o, double *want, double *bound, int64_t count) {
  const mica__check_tensor *a = conv->pass == MICA__CONV_BWD_DATA ? &o->w : &o->x;
  const mica__check_tensor *b = conv->pass == MICA__CONV_FWD ? &o->w : &o->y;
  /* NVIDIA's matrix units round f32 to tf32, whose unit roundoff is the same as f16's. */
  const bool rounds =
      (impl == &mica__conv_gpu_mma || impl == &mica__conv_gpu_wgrad_mma) && mica__mma_rounds(impl->kernel, variant);
  const mica_dtype compute = rounds && s->dtype == MICA_F32 ? MICA_F16 : conv->epilogue.acc;
  double *absolute = malloc(((size_t)(a->count + b->count) + 1) * sizeof *absolute);
  if (!absolute) return mica__fail_nomem("a reference");
  for (int64_t i = 0; i < a->count; i++) absolute[i] = fabs(a->values[i]);
  for (int64_t i = 0; i < b->count; i++) absolute[a->count + i] = fabs(b->values[i]);
  mica__conv_reference(&conv->dims, conv->pass, a->values, b->values, want);
  mica__conv_reference(&conv->dims, conv->pass, absolute, absolute + a->count, bound);
  free(absolute);
  if (impl->magnitude) impl->magnitude(conv, variant, a->values, b->values, NULL, count, bound);
  for (int64_t i = 0; i < count; i++) {
    if (o->bias.values) {
      double addend = o->addend.values ? o->addend.values[i] : 0, bias = o->bias.values[i / conv->columns % conv->rows];
      want[i] += bias + addend;
      bound[i] += fabs(bias) + fabs(addend);
      want[i] = want[i] < 0 ? want[i] * SLOPE : want[i];
    }
    bound[i] = mica__tolerance_sum(compute, s->dtype, (double)conv->depth, bound[i], want[i]);
  }
  return MICA_OK;
}

static mica_status run_made(mica__check_group *group, const mica__impl *impl, const mica__variant *variant,
                            const setting *s, const geometry *z, mica__conv_pass pass, const operands *o) {
  mica__check *check = group->check;
  mica__conv conv;
  mica_conv_epilogue epilogue = {.bias = o->bias.tensor, .addend = o->addend.tensor};
  if (epilogue.bias) epilogue.activation = MICA_ACTIVATION_LEAKY_RELU;
  epilogue.activation_arg = (float)SLOPE;
  MICA_TRY(mica__conv_problem(check->queue, pass, &z->config, o->x.tensor, o->w.tensor, o->y.tensor, &epilogue, &conv));
  if (impl->unable && impl->unable(&conv)) {
    group->case_count--;
    return MICA_OK;
  }
  if (check->dry_run) return MICA_OK;
  if (s->constant && pass != MICA__CONV_BWD_FILTER) {
    conv.prologue = check->queue;
    conv.nontemporal = true;
  }
  const mica__check_tensor *result = pass == MICA__CONV_FWD ? &o->y : pass == MICA__CONV_BWD_DATA ? &o->x : &o->w;
  double *want = calloc((size_t)result->count + 1, 2 * sizeof *want);
  if (!want) return mica__fail_nomem("a reference");
  mica_status status = mica__impl_launch(check->queue, impl, &conv, variant);
  if (status == MICA_OK) status = reference(impl, variant, s, &conv, o, want, want + result->count, result->count);
  if (status == MICA_OK) status = mica__check_compare(group, result, want, want + result->count);
  free(want);
  return status;
}

static mica_status run_case(mica__check_group *group, const mica__impl *impl, const mica__variant *variant,
                            const setting *s, const geometry *z, mica__conv_pass pass) {
  operands o = {0};
  mica_status status = make_operands(group->check, pass, s, z, &o);
  if (status == MICA_OK) status = run_made(group, impl, variant, s, z, pass, &o);
  operands_free(&o);
  return status;
}

static const char *const passes[] = {"forward", "backward data", "backward filter"};

/* Checks a variant in one setting, as a group: over the quick grid, or over every `every`-th case of the full grid.
 * Ends at the first wrong case. */
static mica_status check_setting(mica__check *check, const mica__impl *impl, const mica__variant *variant,
                                 const setting *s, mica__conv_pass pass, size_t every) {
  bool all = check->level == MICA__CHECK_FULL;
  const geometry *list = all ? full : quick;
  size_t count = all ? sizeof full / sizeof *full : sizeof quick / sizeof *quick;
  char cases[96];
  snprintf(cases, sizeof cases, "%s, %s", passes[pass], s->name);
  mica__check_group group = mica__check_begin(check, impl->name, variant->name, cases);
  for (size_t i = 0; i < count; i += all ? every : 1) {
    const geometry *z = &list[i];
    if (z->n == 0 && pass != MICA__CONV_BWD_FILTER) continue; /* empty results reach no implementation */
    if (!mica__check_note(&group, run_case(&group, impl, variant, s, z, pass),
                          "%s n=%lld c=%lld k=%lld %lldx%lldx%lld, case %zu", cases, (long long)z->n, (long long)z->c,
                          (long long)z->k, (long long)z->in[0], (long long)z->in[1], (long long)z->in[2], i))
      break;
  }
  return mica__check_end(&group);
}

static bool takes(const mica__check *check, const mica__impl *impl, const mica__variant *variant, const setting *s) {
  return mica__check_has_dtype(check, s->dtype) && mica__mma_takes(impl->kernel, variant, s->dtype) &&
         mica__kernel_choice(impl->kernel, "D_T", (int32_t)s->dtype) >= 0;
}

/* The last variant that fits the device; the last of all if none fits. */
static const mica__variant *last_variant(const mica__kernel_desc *kernel, const mica_device_info *device) {
  for (int at = kernel->variant_count - 1; at >= 0; at--)
    if (mica__variant_fits(kernel, &kernel->variants[at], device)) return &kernel->variants[at];
  return &kernel->variants[kernel->variant_count - 1];
}

/* The index of the first setting whose type the variant takes; the number of settings if it takes no type. */
static size_t first_setting(const mica__check *check, const mica__impl *impl, const mica__variant *variant) {
  size_t s = 0;
  while (s < sizeof settings / sizeof *settings && !takes(check, impl, variant, &settings[s])) s++;
  return s;
}

/* Runs each variant that fits the device.
 *
 * - Each runs in one setting: the first whose type the last of them takes. A variant that does not take this type does
 *   not run.
 * - At the level full, the last of them also runs in all other settings whose type it takes.
 * - If none fits, the last variant of all still runs in one setting in dry runs, and on CPUs at the levels small and
 *   full, so that these check the GPU kernels. Building more would take longer than all other checks together.
 * - A GPU runs no kernels of CPUs: their vectors are not aligned there, and NVIDIA's driver loses the device on
 *   conv_cpu_direct_n. */
mica_status mica__conv_check_impl(mica__check *check, const mica__impl *impl, mica__conv_pass pass) {
  const mica__kernel_desc *kernel = impl->kernel;
  const mica_device_info *device = mica_engine_device(check->engine);
  const mica__variant *last = last_variant(kernel, device);
  bool all = check->level == MICA__CHECK_FULL,
       foreign = check->dry_run || (check->level >= MICA__CHECK_SMALL && mica__needs_gpu(device));
  bool tried = false;
  size_t cases = check->cases, first = first_setting(check, impl, last);
  for (const mica__variant *variant = kernel->variants; variant <= last; variant++) {
    bool fits = mica__variant_fits(kernel, variant, device);
    if (!fits && !(foreign && variant == last)) continue;
    tried = true;
    for (size_t s = 0; s < sizeof settings / sizeof *settings; s++)
      if ((s == first || (fits && all && variant == last)) && takes(check, impl, variant, &settings[s]))
        MICA_TRY(check_setting(check, impl, variant, &settings[s], pass, settings[s].every));
  }
  if (check->cases == cases) mica__check_skip(check, impl->name, kernel, NULL, passes[pass], tried);
  return MICA_OK;
}

mica_status mica__conv_check_variant(mica__check *check, const mica__impl *impl, const mica__variant *variant,
                                     mica__conv_pass pass, bool once) {
  unsigned seen = 0;
  for (size_t s = 0; s < sizeof settings / sizeof *settings; s++) {
    const unsigned type = 1u << settings[s].dtype;
    if (!takes(check, impl, variant, &settings[s]) || (once && seen & type)) continue;
    seen |= type;
    MICA_TRY(check_setting(check, impl, variant, &settings[s], pass, 1));
  }
  return MICA_OK;
}

mica_status mica__conv_check(mica__check *check) {
  for (int pass = 0; pass < MICA__CONV_PASSES; pass++)
    for (const mica__impl *const *impl = mica__conv_impls[pass]; *impl; impl++)
      MICA_TRY(mica__conv_check_impl(check, *impl, (mica__conv_pass)pass));
  return MICA_OK;
}
