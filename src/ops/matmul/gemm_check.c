/* Checks every implementation of the matrix product, with each of its variants that fits the device, against the
 * product in double precision. */
#include "base/error.h"
#include "ir/op.h"
#include "ops/common/tolerance.h"
#include "ops/matmul/gemm.h"
#include "ops/select/check.h"
#include "ops/select/mma.h"
#include "runtime/texture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct sizes {
  int64_t m, n, k, batches;
} sizes;

/* Sizes below, at and above the edges of most tiles: 8, 16, 32, 64 and 128 rows and columns, 8 to 32 steps of k. */
static const sizes quick_matrices[] = {{33, 65, 17, 2}};
static const sizes full_matrices[] = {
    {1, 1, 1, 1},    {2, 3, 0, 1},      {7, 9, 5, 3},     {16, 16, 16, 1}, {31, 33, 8, 2},    {64, 64, 32, 1},
    {65, 63, 33, 2}, {129, 127, 18, 1}, {20, 200, 70, 1}, {5, 4, 600, 1},  {128, 128, 16, 1},
};
static const sizes vectors[] = {
    {1, 1, 1, 1}, {1, 130, 77, 2}, {200, 1, 131, 2}, {1, 5, 0, 1}, {3, 1, 300, 1},
};
/* A matrix times a vector, for variants that read the matrix from an image: its rows are whole pixels of the image. */
static const sizes pixels[] = {{1, 132, 76, 2}, {200, 1, 132, 2}, {4, 1, 300, 1}};

/* Types of a, b and d. */
typedef struct types {
  mica_dtype a, b, d;
} types;
static const types all_types[] = {
    {MICA_F32, MICA_F32, MICA_F32}, {MICA_F16, MICA_F16, MICA_F16}, {MICA_BF16, MICA_BF16, MICA_BF16},
    {MICA_I8, MICA_I8, MICA_I32},   {MICA_F64, MICA_F64, MICA_F64}, {MICA_BF16, MICA_F32, MICA_F16},
    {MICA_U8, MICA_I8, MICA_I32},
};

#define MAX_VARIANTS 16 /* the most variants of a kernel for GPUs */
#define LAYOUT_K_OUTER (MICA__LAYOUT_K * 3 + MICA__LAYOUT_OUTER)

/* What else a case may vary. Properties that become part of the kernel's source are the same in all cases of a
 * group, so that a group needs one compilation; successive groups differ in them. */
typedef struct setting {
  int a_layout, b_layout; /* MICA__LAYOUT_... */
  int64_t offset;         /* elements before a and b */
  int64_t gap;            /* elements between rows of all matrices */
  mica_gemm_config config;
  bool has_bias, in_place;
  bool constant;
} setting;

/* What the cases of a group have in common. constant: a and b are constant, so that they are packed in advance where
 * the implementation does so. one_case: the group has only full_matrices[ONE_CASE]. */
typedef struct group_of {
  const types *types;
  int a_layout, b_layout;
  bool constant, one_case;
  size_t number; /* decides the epilogue, offset and gap; 0: the number of groups checked so far does */
} group_of;

#define ONE_CASE 5    /* an index of full_matrices */
#define NO_EPILOGUE 0 /* for implementations without a kernel of ours: no bias, no activation */

static setting group_setting(int group, const group_of *g) {
  static const mica_activation activations[] = {MICA_ACTIVATION_NONE, MICA_ACTIVATION_RELU, MICA_ACTIVATION_TANH,
                                                MICA_ACTIVATION_LEAKY_RELU};
  bool integers = g->types->d == MICA_I32;
  setting s = {.a_layout = g->a_layout, .b_layout = g->b_layout, .constant = g->constant};
  s.offset = group % 2 ? 3 : 0;
  s.gap = group % 2 ? 1 : 16;
  s.has_bias = group % 4 != 0;
  s.config = (mica_gemm_config){.alpha = group % 3 == 1 ? 1
                                         : integers     ? 2
                                                        : 0.75,
                                .bias_axis = group % 4 == 1 ? MICA_BIAS_AXIS_ROW : MICA_BIAS_AXIS_COLUMN,
                                .activation = activations[integers ? group % 2 : group % 4],
                                .activation_arg = 0.25f,
                                .allow_tf32 = true};
  return s;
}

static setting case_setting(const setting *group, int number, const types *t) {
  setting s = *group;
  s.config.beta = number % 3 == 0 ? 0 : t->d == MICA_I32 ? -3 : 0.5;
  s.in_place = number % 3 == 2;
  return s;
}

static double activate(const mica_gemm_config *config, double x) {
  switch (config->activation) {
  case MICA_ACTIVATION_RELU: return x < 0 ? 0 : x;
  case MICA_ACTIVATION_LEAKY_RELU: return x < 0 ? x * (double)config->activation_arg : x;
  case MICA_ACTIVATION_TANH: return tanh(x);
  default: return x;
  }
}

/* The matrices of an operand, one per batch, inside a longer tensor (whole). Elements between them must not change. */
typedef struct matrices {
  mica__check_tensor whole;
  mica_tensor *view;
  int64_t first, row, col, batch;
} matrices;

static void matrices_free(matrices *x) {
  mica_tensor_destroy(x->view);
  mica__check_free(&x->whole);
}

/* Where the elements of an operand lie, rows x cols per batch: adjacent along the columns, along the rows
 * (`transposed`), or along neither (`strided`: every other element). poison: the operand is an output, filled with
 * values that a kernel must not read. */
typedef struct placing {
  bool transposed, strided, poison;
  int64_t offset, gap;
} placing;

static mica_status make_matrices(mica__check *check, mica_dtype dtype, int64_t batches, int64_t rows, int64_t cols,
                                 const placing *p, matrices *out) {
  int64_t unit = p->strided ? 2 : 1, long_side = (p->transposed ? rows : cols) * unit + p->gap;
  int64_t lines = p->transposed ? cols : rows;
  matrices x = {.first = p->offset, .batch = batches == 1 ? 0 : lines * long_side};
  x.row = p->transposed ? unit : long_side;
  x.col = p->transposed ? long_side : unit;
  mica_shape all = MICA_SHAPE(p->offset + batches * lines * long_side + 1);
  double bound = mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT ? 1 : 100;
  mica_status status = p->poison ? mica__check_output(check, dtype, all, &x.whole)
                                 : mica__check_input(check, dtype, all, bound, &x.whole);
  const int64_t strides[] = {x.batch, x.row, x.col};
  if (status == MICA_OK)
    status = batches == 1
                 ? mica_tensor_view(x.whole.tensor, MICA_SHAPE(rows, cols), strides + 1, x.first, &x.view)
                 : mica_tensor_view(x.whole.tensor, MICA_SHAPE(batches, rows, cols), strides, x.first, &x.view);
  *out = x;
  return status;
}

static double element(const matrices *x, int64_t batch, int64_t row, int64_t col) {
  return x->whole.values[x->first + batch * x->batch + row * x->row + col * x->col];
}

/* One case's operands. All batches share one matrix b. If the case works in place, d also is the addend C, and c is
 * not used. */
typedef struct operands {
  matrices a, b, c, d;
  mica__check_tensor bias;
} operands;

static void operands_free(operands *o) {
  matrices_free(&o->a);
  matrices_free(&o->b);
  matrices_free(&o->c);
  matrices_free(&o->d);
  mica__check_free(&o->bias);
}

static mica_status make_operands(mica__check *check, const types *t, const sizes *z, const setting *s, operands *o) {
  placing a = {.transposed = s->a_layout == MICA__LAYOUT_OUTER, .strided = s->a_layout == MICA__LAYOUT_ANY};
  placing b = {.transposed = s->b_layout == MICA__LAYOUT_K, .strided = s->b_layout == MICA__LAYOUT_ANY};
  placing d = {.gap = s->gap, .poison = s->config.beta == 0 || !s->in_place}, c = {.gap = 1};
  a.offset = b.offset = s->offset;
  a.gap = b.gap = s->gap;
  MICA_TRY(make_matrices(check, t->a, z->batches, z->m, z->k, &a, &o->a));
  MICA_TRY(make_matrices(check, t->b, 1, z->k, z->n, &b, &o->b));
  MICA_TRY(make_matrices(check, t->d, z->batches, z->m, z->n, &d, &o->d));
  if (s->config.beta != 0 && !s->in_place) MICA_TRY(make_matrices(check, t->d, z->batches, z->m, z->n, &c, &o->c));
  if (!s->has_bias) return MICA_OK;
  int64_t count = s->config.bias_axis == MICA_BIAS_AXIS_COLUMN ? z->n : z->m;
  return mica__check_input(check, t->d, MICA_SHAPE(count), t->d == MICA_I32 ? 50 : 1, &o->bias);
}

/* Returns element at = {batch, row, column} of D by the definition of the product; *bound: the error that a kernel
 * may have there. */
static double reference(const operands *o, const types *t, const sizes *z, const setting *s, mica_dtype compute,
                        const int64_t at[3], double *bound) {
  double sum = 0, magnitude = 0;
  for (int64_t k = 0; k < z->k; k++) {
    double product = element(&o->a, at[0], at[1], k) * element(&o->b, 0, k, at[2]);
    sum += product;
    magnitude += fabs(product);
  }
  const matrices *c = s->in_place ? &o->d : &o->c;
  double value = s->config.alpha * sum;
  magnitude *= fabs(s->config.alpha);
  if (s->config.beta != 0) {
    double addend = s->config.beta * element(c, at[0], at[1], at[2]);
    value += addend;
    magnitude += fabs(addend);
  }
  if (s->has_bias) {
    double addend = o->bias.values[s->config.bias_axis == MICA_BIAS_AXIS_COLUMN ? at[2] : at[1]];
    value += addend;
    magnitude += fabs(addend);
  }
  value = activate(&s->config, value);
  *bound = mica__tolerance_sum(compute, t->d, (double)z->k, magnitude, value);
  /* tanh: 5 units in the last place (OpenCL 1.2, table 7.4). */
  if (s->config.activation == MICA_ACTIVATION_TANH) *bound += mica__tolerance_ulps(compute, t->d, 5, value);
  return value;
}

/* The expected content of d's whole memory: the product, and between the rows the previous content. */
static mica_status references(const operands *o, const types *t, const sizes *z, const setting *s, mica_dtype compute,
                              double **want) {
  int64_t count = o->d.whole.count;
  double untouched = t->d == MICA_I32 ? (double)0x5a5a5a5a : (double)NAN;
  *want = calloc((size_t)count + 1, 2 * sizeof **want);
  if (!*want) return mica__fail_nomem("a reference");
  double *bound = *want + count;
  for (int64_t i = 0; i < count; i++) (*want)[i] = o->d.whole.values ? o->d.whole.values[i] : untouched;
  for (int64_t b = 0; b < z->batches; b++)
    for (int64_t i = 0; i < z->m; i++)
      for (int64_t j = 0; j < z->n; j++) {
        int64_t at = o->d.first + b * o->d.batch + i * o->d.row + j;
        (*want)[at] = reference(o, t, z, s, compute, (int64_t[]){b, i, j}, &bound[at]);
      }
  return MICA_OK;
}

static mica_status run_case(mica__check_group *group, const mica__impl *impl, const mica__variant *variant,
                            const types *t, const sizes *z, const setting *s) {
  mica__check *check = group->check;
  operands o = {0};
  mica__gemm gemm = {0};
  double *want = NULL;
  mica_status status = make_operands(check, t, z, s, &o);
  const mica_tensor *c = s->in_place ? o.d.view : o.c.view;
  if (status == MICA_OK)
    status = mica__gemm_problem(check->queue, &s->config, o.a.view, o.b.view, c, o.bias.tensor, o.d.view, &gemm);
  if (status == MICA_OK && s->constant) {
    gemm.constant = 3;
    gemm.prologue = check->queue;
  }
  bool unable = status == MICA_OK && impl->unable && impl->unable(&gemm);
  if (unable) group->case_count--;
  if (unable || (status == MICA_OK && check->dry_run)) {
    operands_free(&o);
    return MICA_OK;
  }
  if (status == MICA_OK) status = mica__impl_launch(check->queue, impl, &gemm, variant);
  /* NVIDIA's matrix units round f32 to tf32, whose unit roundoff is that of f16. */
  const bool rounds = t->a == MICA_F32 && impl == &mica__gemm_mma && mica__mma_rounds(impl->kernel, variant);
  mica_dtype compute = rounds ? MICA_F16 : gemm.epilogue.acc;
  if (status == MICA_OK) status = references(&o, t, z, s, compute, &want);
  if (status == MICA_OK) status = mica__check_compare(group, &o.d.whole, want, want + o.d.whole.count);
  operands_free(&o);
  free(want);
  return status;
}

static bool reads_texture(const mica__impl *impl, const mica__variant *variant) {
  return mica__kernel_param_index(impl->kernel, "TEXTURE") >= 0 &&
         mica__kernel_value(impl->kernel, variant->values, "TEXTURE") != MICA__TEXTURE_NONE;
}

static mica_status check_group(mica__check *check, const mica__impl *impl, const mica__variant *variant,
                               const group_of *g) {
  static const char *const layouts[] = {"any", "k", "outer"};
  bool full = check->level == MICA__CHECK_FULL, only_vectors = impl == &mica__gemv_gpu;
  const types *t = g->types;
  const bool textures = variant && reads_texture(impl, variant);
  const sizes *list = textures ? pixels : only_vectors ? vectors : full ? full_matrices : quick_matrices;
  size_t count = textures       ? sizeof pixels / sizeof *pixels
                 : only_vectors ? sizeof vectors / sizeof *vectors
                 : full         ? sizeof full_matrices / sizeof *full_matrices
                                : sizeof quick_matrices / sizeof *quick_matrices;
  if (g->one_case) list = &full_matrices[ONE_CASE], count = 1;
  char cases[96];
  snprintf(cases, sizeof cases, "%s%s%s %s %s, a %s, b %s", impl == &mica__gemm_splitk ? "split, " : "",
           g->constant ? "constant, " : "", mica_dtype_name(t->a), mica_dtype_name(t->b), mica_dtype_name(t->d),
           layouts[g->a_layout], layouts[g->b_layout]);
  size_t number = g->number ? g->number : check->groups;
  setting group_wide = group_setting(impl->kernel ? (int)number : NO_EPILOGUE, g);
  mica__check_group group = mica__check_begin(check, impl->name, variant ? variant->name : "library", cases);
  for (size_t i = 0; i < count; i++) {
    const sizes *z = &list[i];
    setting s = case_setting(&group_wide, (int)i, t);
    if (!mica__check_note(&group, run_case(&group, impl, variant, t, z, &s), "%s m=%lld n=%lld k=%lld batches=%lld",
                          cases, (long long)z->m, (long long)z->n, (long long)z->k, (long long)z->batches))
      break;
  }
  return mica__check_end(&group);
}

static bool takes(const mica__impl *impl, const mica__variant *variant, const types *t) {
  bool known = mica__kernel_choice(impl->kernel, "A_T", (int32_t)t->a) >= 0 &&
               mica__kernel_choice(impl->kernel, "B_T", (int32_t)t->b) >= 0;
  return known && (impl != &mica__gemm_mma || (t->a == t->b && mica__mma_takes(impl->kernel, variant, t->a)));
}

/* The types for checks of layouts and sizes: f32, or bf16 if the variant does not take f32. */
static const types *plain_types(const mica__impl *impl, const mica__variant *variant) {
  return takes(impl, variant, &all_types[0]) ? &all_types[0] : &all_types[2];
}

/* Checks a variant that reads the matrix from an image, in f32 and f16, with both operands adjacent along their outer
 * index, then along k. The groups get an even number, because group_setting aligns matrices only then. */
static mica_status check_texture(mica__check *check, const mica__impl *impl, const mica__variant *variant) {
  for (size_t t = 0; t < 2; t++)
    for (int by_k = 0; by_k < 2; by_k++)
      MICA_TRY(check_group(check, impl, variant,
                           &(group_of){.types = &all_types[t],
                                       .a_layout = by_k ? MICA__LAYOUT_K : MICA__LAYOUT_OUTER,
                                       .b_layout = by_k ? MICA__LAYOUT_K : MICA__LAYOUT_OUTER,
                                       .number = 2}));
  return MICA_OK;
}

/* Checks one variant that fits the device. last: it is the kernel's last one that fits. Only this one is checked with
 * all types and, in a full check, with all layouts: it usually has the smallest tiles, and the others differ only in
 * their tiles. */
static mica_status check_variant(mica__check *check, const mica__impl *impl, const mica__variant *variant, bool last) {
  bool full = check->level == MICA__CHECK_FULL;
  group_of g = {.a_layout = MICA__LAYOUT_K, .b_layout = MICA__LAYOUT_OUTER};
  if (reads_texture(impl, variant)) return check_texture(check, impl, variant);
  for (size_t t = 0; last && t < sizeof all_types / sizeof *all_types; t++) {
    g.types = &all_types[t];
    if (mica__check_has_dtype(check, g.types->a) && takes(impl, variant, g.types))
      MICA_TRY(check_group(check, impl, variant, &g));
  }
  g.types = plain_types(impl, variant);
  for (int l = 0; l < 9; l++) {
    g.a_layout = l / 3, g.b_layout = l % 3;
    bool ordinary = g.a_layout == MICA__LAYOUT_OUTER && g.b_layout == MICA__LAYOUT_K;
    if (ordinary || (last && full)) MICA_TRY(check_group(check, impl, variant, &g));
  }
  g.constant = true;
  return last && impl == &mica__gemm_tile ? check_group(check, impl, variant, &g) : MICA_OK;
}

/* Checks a kernel none of whose variants fits the device, such as a GPU's kernel on a CPU. Only its last variant runs,
 * in one layout of a and b for gemm_mma and two for other kernels; gemm_amx also runs with bytes. More would take a
 * CPU's compiler longer than all other checks together. tests/vendor/run.sh compiles every variant, and on a GPU all
 * variants for GPUs run. */
static mica_status check_foreign(mica__check *check, const mica__impl *impl, const mica__variant *variant) {
  MICA_TRY(check_group(check, impl, variant,
                       &(group_of){plain_types(impl, variant), MICA__LAYOUT_K, MICA__LAYOUT_OUTER, false, false, 0}));
  if (impl == &mica__gemm_mma) return MICA_OK;
  for (size_t t = 0; impl == &mica__gemm_amx && t < sizeof all_types / sizeof *all_types; t++)
    if (takes(impl, variant, &all_types[t]) && all_types[t].d == MICA_I32)
      MICA_TRY(check_group(check, impl, variant,
                           &(group_of){&all_types[t], MICA__LAYOUT_K, MICA__LAYOUT_OUTER, false, false, 0}));
  return check_group(check, impl, variant,
                     &(group_of){plain_types(impl, variant), MICA__LAYOUT_OUTER, MICA__LAYOUT_K, false, false, 0});
}

/* Checks another library's kernels: on a GPU all types and layouts that they take. A CPU's compiler needs many seconds
 * for them, so there only one case runs. */
static mica_status check_library(mica__check *check, const mica__impl *impl) {
  static const types real[] = {{MICA_F32, MICA_F32, MICA_F32}, {MICA_F64, MICA_F64, MICA_F64}};
  bool gpu = !mica__needs_gpu(mica_engine_device(check->engine));
  for (int t = 0; t < (gpu ? 2 : 1); t++)
    for (int l = 0; l < (gpu ? 4 : 1) && mica__check_has_dtype(check, real[t].a); l++)
      MICA_TRY(check_group(check, impl, NULL,
                           &(group_of){&real[t], MICA__LAYOUT_OUTER - l / 2, MICA__LAYOUT_K + l % 2, false, !gpu, 0}));
  return MICA_OK;
}

mica_status mica__gemm_check_grid(mica__check *check, size_t first, size_t step, size_t *groups) {
  static const mica__impl *const impls[] = {&mica__gemv_gpu,      &mica__gemm_mma,    &mica__gemm_direct,
                                            &mica__gemm_subgroup, &mica__gemm_splitk, &mica__gemm_gpu};
  const size_t impl_count = sizeof impls / sizeof *impls, type_count = sizeof all_types / sizeof *all_types;
  const mica_device_info *device = mica_engine_device(check->engine);
  size_t count = 0;
  for (size_t i = 0; i < impl_count * MAX_VARIANTS * type_count * 9; i++) {
    const mica__impl *impl = impls[i % impl_count];
    size_t v = i / impl_count % MAX_VARIANTS, l = i / impl_count / MAX_VARIANTS % 9;
    const types *t = &all_types[i / impl_count / MAX_VARIANTS / 9];
    if (v >= (size_t)impl->kernel->variant_count) continue;
    const mica__variant *variant = &impl->kernel->variants[v];
    if (variant->features & ~device->features || (variant->has_instruction && !variant->has_instruction(device)))
      continue;
    if (!takes(impl, variant, t) || !mica__check_has_dtype(check, t->a)) continue;
    /* How the sum over k is split depends on the types and on the layouts, but not on combinations of both. */
    if (impl == &mica__gemm_splitk && t != all_types && l != LAYOUT_K_OUTER) continue;
    group_of g = {.types = t, .a_layout = (int)l / 3, .b_layout = (int)l % 3, .number = ++count};
    if (step && (count - 1) % step == first) MICA_TRY(check_group(check, impl, variant, &g));
  }
  *groups = count;
  return MICA_OK;
}

/* True if these types are to be checked in this group's layouts. f32 and bf16, one type of 4 bytes and one of 2: both
 * operands have arbitrary strides, or neither has. Other types: only the two layouts in which one operand is adjacent
 * along k and the other along its outer index. */
static bool is_worth_checking(const types *t, const group_of *g) {
  const bool any_a = g->a_layout == MICA__LAYOUT_ANY, any_b = g->b_layout == MICA__LAYOUT_ANY;
  if (t->a == MICA_F32 || t->a == MICA_BF16) return any_a == any_b;
  return !any_a && !any_b && g->a_layout != g->b_layout;
}

mica_status mica__gemm_check_variant(mica__check *check, const mica__impl *impl, const mica__variant *variant) {
  if (reads_texture(impl, variant)) return check_texture(check, impl, variant);
  for (size_t t = 0; t < sizeof all_types / sizeof *all_types; t++)
    for (int l = 0; l < 9; l++) {
      const group_of g = {.types = &all_types[t], .a_layout = l / 3, .b_layout = l % 3};
      if (mica__check_has_dtype(check, g.types->a) && takes(impl, variant, g.types) && is_worth_checking(g.types, &g))
        MICA_TRY(check_group(check, impl, variant, &g));
    }
  return MICA_OK;
}

/* Checks an implementation's variants on this device. *tried: true if any could run here. */
static mica_status check_impl(mica__check *check, const mica__impl *impl, bool *tried) {
  const mica_device_info *device = mica_engine_device(check->engine);
  const mica__kernel_desc *kernel = impl->kernel;
  bool foreign = check->level >= MICA__CHECK_SMALL || check->dry_run;
  if (!kernel) {
    *tried = check->level == MICA__CHECK_FULL || check->dry_run || !mica__needs_gpu(device);
    return *tried ? check_library(check, impl) : MICA_OK;
  }
  const mica__variant *last = NULL, *smallest = &kernel->variants[kernel->variant_count - 1];
  for (int v = 0; v < kernel->variant_count; v++)
    if (mica__variant_fits(kernel, &kernel->variants[v], device)) last = &kernel->variants[v];
  *tried = last || foreign;
  mica__kernels_imitate_gpu(check->engine, true);
  mica_status status = !last && foreign ? check_foreign(check, impl, smallest) : MICA_OK;
  mica__kernels_imitate_gpu(check->engine, false);
  MICA_TRY(status);
  for (const mica__variant *variant = kernel->variants; last && variant <= last; variant++)
    if (mica__variant_fits(kernel, variant, device)) MICA_TRY(check_variant(check, impl, variant, variant == last));
  return MICA_OK;
}

static mica_status check_gemm(mica__check *check) {
  for (const mica__impl *const *impl = mica__gemm_impls; *impl; impl++) {
    size_t cases = check->cases;
    bool tried = false;
    MICA_TRY(check_impl(check, *impl, &tried));
    if (check->cases == cases) mica__check_skip(check, (*impl)->name, (*impl)->kernel, NULL, "", tried);
  }
  return MICA_OK;
}

static const mica__kernel_desc *const kernels[] = {
    &mica__gemv_gpu_kernel,
    &mica__gemm_mma_kernel,
    &mica__gemm_direct_kernel,
    &mica__gemm_subgroup_kernel,
    &mica__gemm_splitk_kernel,
    &mica__gemm_gpu_kernel,
    &mica__gemm_tile_kernel,
    &mica__gemm_naive_kernel,
    &mica__gemm_pack_kernel,
    &mica__gemm_amx_kernel,
    &mica__gemm_amx_pack_kernel,
    &mica__mma_trial_kernel,
    NULL,
};
const mica__op mica__op_gemm = {
    .name = "gemm", .kernels = kernels, .check = check_gemm, .tunable = &mica__gemm_tunable};
