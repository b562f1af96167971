/* Compares 8-bit products with their references, bit by bit: both signs of both operands, every result type, sizes on
 * both sides of tiles, zero points and scales (one, or one per row or column), windows of every kind. */
#include "ops/quant/int8.h"

/* Flags of a case: which operands are present, which have one number per row, column or filter, and how it runs. */
enum {
  SCALES = 1 << MICA__INT8_FIRST_SCALE | 1 << MICA__INT8_SECOND_SCALE,
  FIRST_ZERO = 1 << MICA__INT8_FIRST_ZERO,
  SECOND_ZERO = 1 << MICA__INT8_SECOND_ZERO,
  ZEROS = FIRST_ZERO | SECOND_ZERO,
  BIAS = 1 << MICA__INT8_BIAS,
  Y = 1 << MICA__INT8_Y_SCALE | 1 << MICA__INT8_Y_ZERO,
  FOR_SIGNED_FILTERS = SCALES | FIRST_ZERO | Y,
  PER_ROW = 1 << 20,
  PER_COLUMN = 1 << 21,
  RELU = 1 << 22,
  STANDARD = 1 << 23, /* on the variants that use no special instructions for 8-bit products: cpu, cpu512, gpu */
  I32_ZEROS = 1 << 24,
  TILES = 1 << 25, /* on emulations of matrix units */
  SUM = 1 << 27,   /* other bytes are added to the result */
  TIES = 1 << 26,  /* sums take few values, so that many quotients lie halfway between two steps */
};

typedef struct int8_case {
  mica_dtype first, second, to;
  mica_shape a, b;
  int with;
  mica__int8_attrs window; /* only stride, padding, dilation, groups and `transposed` are set */
} int8_case;

#define MOST_CASES 64

/* The shape of a convolution's result. */
static mica_shape result_of(const int8_case *c, const mica__int8_attrs *attrs) {
  mica_shape y = c->a;
  y.dim[1] = c->b.dim[0];
  for (int32_t i = 2; i < y.rank; i++) {
    const int64_t padded = c->a.dim[i] + 2 * attrs->pad[i - 2] + attrs->pad_more[i - 2];
    y.dim[i] = (padded - (c->b.dim[i] - 1) * attrs->dilation[i - 2] - 1) / attrs->stride[i - 2] + 1;
  }
  return y;
}

/* The variants for CPUs that use no special instructions for 8-bit products. */
static const char *const standard[] = {"cpu", "cpu512"};
enum { STANDARDS = sizeof standard / sizeof *standard };

/* Converts a case for mica__check_launches; the result points to *attrs. cpu: the variant on CPUs of a case with
 * STANDARD. */
static mica__launch_case case_of(const int8_case *c, bool conv, size_t number, const char *cpu,
                                 mica__int8_attrs *attrs) {
  /* Cases with TILES emulate these units in turn. */
  static const char *const emulations[] = {"emulation", "emulated_mfma", "emulation_tall"};
  static const double bounds[MICA__INT8_OPERANDS] = {250, 250, 0.1, 90, 0.1, 90, 20, 3, 50, 250, 2, 90, 3, 50};
  mica__launch_case made = {.attrs = attrs};
  if (c->with & STANDARD) made.variants[0] = cpu, made.variants[1] = "gpu";
  if (c->with & TILES) made.variants[0] = "emulated_amx", made.variants[1] = emulations[number % 3];
  int64_t rows = c->a.dim[c->a.rank - 2];
  int64_t columns = conv ? c->b.dim[0] : c->b.dim[c->b.rank - 1 - c->window.transposed];
  mica_dtype zeros = c->with & I32_ZEROS ? MICA_I32 : MICA_F32;
  *attrs = c->window;
  attrs->to = c->to;
  attrs->low = c->with & RELU ? 0 : -INFINITY;
  attrs->high = c->with & RELU ? 6 : INFINITY;
  for (int i = 0; i < 3; i++) {
    if (!attrs->stride[i]) attrs->stride[i] = 1;
    if (!attrs->dilation[i]) attrs->dilation[i] = 1;
  }
  if (!attrs->groups) attrs->groups = 1;
  attrs->present = 3 | (c->with & ((1 << MICA__INT8_OTHER) - 1));
  if (c->with & SUM) attrs->present |= (1 << MICA__INT8_OPERANDS) - (1 << MICA__INT8_OTHER);
  attrs->sum_to = c->first;
  attrs->sum_low = c->with & RELU ? 0 : -INFINITY;
  for (int32_t i = 0; i < MICA__INT8_OPERANDS; i++) {
    if (!(attrs->present >> i & 1)) continue;
    bool of_first = i == MICA__INT8_FIRST_SCALE || i == MICA__INT8_FIRST_ZERO;
    bool of_second = i == MICA__INT8_SECOND_SCALE || i == MICA__INT8_SECOND_ZERO;
    bool zero = i == MICA__INT8_FIRST_ZERO || i == MICA__INT8_SECOND_ZERO;
    mica_shape shape = i == MICA__INT8_BIAS || (of_second && c->with & PER_COLUMN) ? MICA_SHAPE(columns)
                       : of_first && c->with & PER_ROW                             ? MICA_SHAPE(rows)
                                                                                   : MICA_SCALAR;
    if (i <= MICA__INT8_SECOND) shape = i ? c->b : c->a;
    if (i == MICA__INT8_OTHER) shape = result_of(c, attrs);
    const mica_dtype bytes = i == MICA__INT8_SECOND ? c->second : c->first;
    const bool is_bytes = i <= MICA__INT8_SECOND || i == MICA__INT8_OTHER;
    made.inputs[made.input_count].dtype = is_bytes ? bytes : zero ? zeros : MICA_F32;
    made.inputs[made.input_count].shape = shape;
    const bool ties = c->with & TIES,
               whole_zero = zero || i == MICA__INT8_Y_ZERO || i == MICA__INT8_OTHER_ZERO || i == MICA__INT8_SUM_ZERO;
    const bool whole = whole_zero || (ties && (i == MICA__INT8_Y_SCALE || i > MICA__INT8_OTHER));
    double bound = is_bytes && bytes == MICA_I8 ? 128 : bounds[i];
    if (ties && i == MICA__INT8_SECOND) bound = 2;
    if (ties && i == MICA__INT8_Y_SCALE) bound = 9;
    made.whole |= (uint32_t)whole << made.input_count;
    made.bound[made.input_count++] = bound;
  }
  return made;
}

/* Checks a list of cases; on: as in mica__check_launches_on. variant: the variant of CPUs for cases that name none, or
 * NULL. */
static mica_status check_on(mica__check *check, const mica__op *op, bool conv, unsigned on, const char *variant,
                            const int8_case *list, size_t count) {
  mica__launch_case cases[MOST_CASES];
  mica__int8_attrs attrs[MOST_CASES];
  size_t made = 0;
  for (size_t i = 0; i < count; i++)
    for (int v = 0; v < (list[i].with & STANDARD ? STANDARDS : 1); v++, made++) {
      if (made == MOST_CASES)
        return mica__fail(MICA_E_STATE, "there are more than %d cases of 8-bit products to check", MOST_CASES);
      cases[made] = case_of(&list[i], conv, i, standard[v], &attrs[made]);
      if (!cases[made].variants[0]) cases[made].variants[0] = variant;
    }
  return mica__check_launches_on(check, op, op->name, on, cases, made);
}

static mica_status check_cases(mica__check *check, const mica__op *op, bool conv, const int8_case *list, size_t count) {
  return check_on(check, op, conv, MICA__ON_ANY, NULL, list, count);
}

/* Checks a list of cases with the kernels of CPUs, once for each variant of desc that fits the device. */
static mica_status check_variants(mica__check *check, const mica__op *op, bool conv, const mica__kernel_desc *desc,
                                  const int8_case *list, size_t count) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(check->queue));
  for (int v = 0; v < desc->variant_count; v++)
    if (mica__variant_fits(desc, &desc->variants[v], device))
      MICA_TRY(check_on(check, op, conv, MICA__ON_CPU, desc->variants[v].name, list, count));
  return MICA_OK;
}

#define S(...) MICA_SHAPE(__VA_ARGS__)
#define TRANSPOSED                                                                                                     \
  { .transposed = true }

mica_status mica__int8_matmul_check(mica__check *check, const mica__op *op) {
  static const int8_case list[] = {
      {MICA_U8, MICA_I8, MICA_I32, {2, {3, 5}}, {2, {5, 7}}, 0, {0}},
      {MICA_U8, MICA_I8, MICA_I32, {2, {13, 64}}, {2, {64, 33}}, ZEROS | I32_ZEROS, {0}},
      {MICA_I8, MICA_U8, MICA_I32, {2, {70, 37}}, {2, {37, 65}}, ZEROS | PER_ROW | PER_COLUMN, {0}},
      {MICA_I8, MICA_I8, MICA_F32, {2, {1, 130}}, {2, {130, 40}}, SCALES | ZEROS | PER_COLUMN | BIAS, {0}},
      {MICA_U8, MICA_U8, MICA_F32, {3, {2, 5, 9}}, {2, {9, 31}}, SCALES | ZEROS | RELU, {0}},
      {MICA_U8, MICA_I8, MICA_U8, {2, {25, 66}}, {2, {66, 64}}, SCALES | FIRST_ZERO | Y | BIAS | RELU, {0}},
      {MICA_I8, MICA_U8, MICA_I8, {3, {3, 7, 20}}, {3, {3, 20, 34}}, SCALES | ZEROS | Y, {0}},
      {MICA_U8, MICA_I8, MICA_I8, {2, {4, 21}}, {2, {45, 21}}, SCALES | ZEROS | Y | PER_COLUMN, TRANSPOSED},
      {MICA_U8, MICA_U8, MICA_I32, {2, {33, 100}}, {2, {100, 34}}, ZEROS, {0}},
      {MICA_U8, MICA_I8, MICA_I32, {2, {9, 64}}, {2, {64, 33}}, ZEROS | STANDARD, {0}},
      {MICA_I8, MICA_I8, MICA_F32, {2, {1, 131}}, {2, {131, 70}}, SCALES | SECOND_ZERO | BIAS | STANDARD, {0}},
      {MICA_I8, MICA_U8, MICA_U8, {2, {4, 20}}, {2, {34, 20}}, SCALES | Y | STANDARD, TRANSPOSED},
      {MICA_U8, MICA_I8, MICA_I32, {2, {35, 65}}, {2, {65, 33}}, ZEROS | TILES, {0}},
      {MICA_I8, MICA_I8, MICA_F32, {2, {16, 130}}, {2, {130, 40}}, SCALES | ZEROS | PER_COLUMN | BIAS | TILES, {0}},
      {MICA_I8, MICA_U8, MICA_U8, {3, {2, 70, 20}}, {3, {2, 20, 34}}, SCALES | ZEROS | Y | TILES, {0}},
      {MICA_U8, MICA_U8, MICA_I8, {2, {40, 21}}, {2, {45, 21}}, SCALES | ZEROS | Y | TILES, TRANSPOSED},
      {MICA_U8, MICA_I8, MICA_U8, {2, {19, 3}}, {2, {3, 37}}, Y | TIES, {0}},
      {MICA_U8, MICA_I8, MICA_I8, {2, {19, 4}}, {2, {4, 64}}, BIAS | Y | TIES | STANDARD, {0}},
  };
  static const int8_case vnni[] = {
      {MICA_U8, MICA_I8, MICA_I32, {2, {9, 64}}, {2, {64, 33}}, ZEROS, {0}},
      {MICA_I8, MICA_U8, MICA_U8, {3, {2, 70, 21}}, {3, {2, 21, 34}}, SCALES | ZEROS | Y, {0}},
  };
  enum { VNNI = sizeof vnni / sizeof *vnni };
  MICA_TRY(check_cases(check, op, false, list, sizeof list / sizeof *list));
  MICA_TRY(check_variants(check, op, false, &mica__int8_cpu_vnni_kernel, vnni, VNNI));
  return check_on(check, op, false, MICA__ON_GPU, NULL, vnni, VNNI);
}

/* Filters of one channel. */
static mica_status check_channels(mica__check *check, const mica__op *op) {
  static const int8_case list[] = {
      {MICA_U8,
       MICA_I8,
       MICA_U8,
       {4, {2, 3, 9, 40}},
       {4, {3, 1, 3, 3}},
       SCALES | ZEROS | Y | BIAS | PER_COLUMN,
       {.groups = 3, .pad = {1, 1}}},
      {MICA_I8,
       MICA_U8,
       MICA_F32,
       {4, {1, 2, 7, 50}},
       {4, {6, 1, 5, 3}},
       SCALES | ZEROS | RELU,
       {.groups = 2, .pad = {2, 1}, .stride = {1, 2}, .dilation = {1, 2}}},
      {MICA_I8, MICA_I8, MICA_I32, {4, {1, 4, 8, 5}}, {4, {4, 1, 2, 2}}, I32_ZEROS | ZEROS, {.groups = 4}},
      /* Strips of an image with different numbers of rows. */
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 1, 9, 600}}, {4, {1, 1, 3, 3}}, ZEROS, {.groups = 1, .pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 2, 28, 601}}, {4, {2, 1, 3, 3}}, ZEROS, {.groups = 2, .stride = {2, 2}}},
      /* Lines shorter than a vector, so that elements adjacent in memory belong to different lines. */
      {MICA_U8,
       MICA_I8,
       MICA_U8,
       {4, {2, 5, 14, 14}},
       {4, {5, 1, 3, 3}},
       SCALES | ZEROS | Y | BIAS | PER_COLUMN,
       {.groups = 5, .pad = {1, 1}}},
      {MICA_I8,
       MICA_U8,
       MICA_I32,
       {4, {1, 6, 15, 15}},
       {4, {6, 1, 3, 3}},
       ZEROS,
       {.groups = 6, .stride = {2, 2}, .pad = {1, 1}}},
      /* Images of one pixel. */
      {MICA_U8, MICA_I8, MICA_U8, {4, {3, 37, 1, 1}}, {4, {41, 37, 1, 1}}, SCALES | ZEROS | Y | BIAS | PER_COLUMN, {0}},
      /* Planes smaller than a vector, several per group, and fewer in the last group. */
      {MICA_U8,
       MICA_I8,
       MICA_U8,
       {4, {3, 7, 2, 2}},
       {4, {7, 1, 3, 3}},
       SCALES | ZEROS | Y | BIAS | PER_COLUMN,
       {.groups = 7, .pad = {1, 1}}},
      {MICA_U8,
       MICA_I8,
       MICA_I8,
       {4, {2, 19, 1, 1}},
       {4, {19, 1, 3, 3}},
       SCALES | ZEROS | Y | BIAS | PER_COLUMN,
       {.groups = 19, .pad = {1, 1}}},
      {MICA_I8,
       MICA_U8,
       MICA_F32,
       {4, {2, 5, 6, 5}},
       {4, {5, 1, 3, 3}},
       SCALES | ZEROS | PER_COLUMN | BIAS,
       {.groups = 5, .stride = {2, 2}, .pad = {1, 1}}},
      {MICA_U8,
       MICA_I8,
       MICA_I32,
       {4, {3, 1, 3, 5}},
       {4, {1, 1, 3, 3}},
       ZEROS | I32_ZEROS,
       {.groups = 1, .pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_I32, {4, {2, 3, 5, 7}}, {4, {6, 1, 5, 3}}, ZEROS, {.groups = 3, .pad = {2, 1}}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 5, 8, 41}}, {4, {5, 1, 3, 3}}, Y | TIES, {.groups = 5, .pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_I8, {4, {1, 5, 6, 6}}, {4, {5, 1, 3, 3}}, Y | TIES, {.groups = 5, .pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 3, 9, 20}}, {4, {3, 1, 2, 2}}, Y | TIES, {.groups = 3}},
      {MICA_U8,
       MICA_U8,
       MICA_I32,
       {4, {1, 2, 20, 37}},
       {4, {4, 1, 5, 5}},
       ZEROS,
       {.groups = 2, .stride = {3, 3}, .pad = {4, 4}}},
  };
  return check_cases(check, op, true, list, sizeof list / sizeof *list);
}

/* Checks kernels with instructions for 8-bit products: fewer taps than a step, several panels, groups, more taps than
 * the kernel keeps, pixels that its groups pack; words of filters that are split and that are not. */
static mica_status check_instructions(mica__check *check, const mica__op *op) {
  static const int8_case kinds[] = {
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 3, 9, 33}}, {4, {3, 3, 3, 3}}, ZEROS, {.pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_I32, {4, {2, 34, 9, 7}}, {4, {13, 34, 3, 3}}, ZEROS | PER_COLUMN, {0}},
      {MICA_I8, MICA_U8, MICA_I8, {4, {1, 38, 6, 11}}, {4, {36, 19, 3, 2}}, SCALES | Y | BIAS, {.groups = 2}},
      {MICA_I8, MICA_I8, MICA_I32, {4, {1, 5, 9, 12}}, {4, {3, 5, 8, 7}}, ZEROS, {.pad = {3, 3}}},
      {MICA_U8, MICA_U8, MICA_I32, {4, {1, 9, 7, 10}}, {4, {5, 9, 2, 2}}, ZEROS | PER_COLUMN, {0}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 70, 5, 9}}, {4, {9, 70, 1, 1}}, SCALES | ZEROS | Y | SUM, {0}},
      {MICA_U8, MICA_I8, MICA_I8, {4, {2, 3, 6, 11}}, {4, {35, 3, 1, 1}}, Y | TIES | RELU, {0}},
      /* Addition of other bytes in vectors that also have pixels whose results are dropped, because lines have 3, 7 or
       * 20 pixels. */
      {MICA_U8, MICA_I8, MICA_I8, {4, {2, 5, 9, 3}}, {4, {13, 5, 3, 3}}, Y | SUM | TIES, {.pad = {1, 1}}},
      {MICA_I8, MICA_I8, MICA_I8, {4, {1, 6, 7, 7}}, {4, {9, 6, 3, 3}}, SCALES | ZEROS | Y | SUM, {.pad = {1, 1}}},
      {MICA_U8,
       MICA_I8,
       MICA_U8,
       {4, {2, 4, 5, 20}},
       {4, {8, 2, 1, 3}},
       SCALES | Y | SUM,
       {.groups = 2, .pad = {0, 1}}},
  };
  /* Filters as lanes: lines of several, full, partial and few tiles; filters that leave lanes empty. */
  static const int8_case lanes[] = {
      {MICA_U8,
       MICA_I8,
       MICA_U8,
       {4, {1, 3, 9, 14}},
       {4, {40, 3, 3, 3}},
       FOR_SIGNED_FILTERS | BIAS | PER_COLUMN,
       {.pad = {1, 1}}},
      {MICA_I8, MICA_I8, MICA_I8, {4, {2, 6, 7, 7}}, {4, {33, 6, 3, 3}}, FOR_SIGNED_FILTERS | SUM, {.pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_I8, {4, {2, 38, 5, 8}}, {4, {36, 19, 3, 2}}, Y | TIES, {.groups = 2}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 5, 9, 31}}, {4, {7, 5, 3, 3}}, Y | SUM | TIES | RELU, {.stride = {2, 2}}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 3, 12, 29}}, {4, {32, 3, 8, 7}}, SCALES | Y | BIAS, {.pad = {3, 3}}},
      {MICA_I8,
       MICA_I8,
       MICA_U8,
       {4, {3, 4, 5, 3}},
       {4, {5, 4, 3, 3}},
       FOR_SIGNED_FILTERS | SUM | TIES,
       {.pad = {1, 1}}},
      {MICA_U8,
       MICA_I8,
       MICA_U8,
       {4, {1, 9, 17, 17}},
       {4, {35, 9, 1, 1}},
       FOR_SIGNED_FILTERS | SUM,
       {.stride = {2, 2}}},
  };
  /* Filters of 3 x 3 by tiles of 2 x 2: odd and even images, one line, one column, vectors of tiles that hold several
   * lines and parts of lines, an odd number of channels, groups, padding wider than a filter, panels of 6, 4 and 1. */
  static const int8_case tiles[] = {
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 2, 4, 4}}, {4, {1, 2, 3, 3}}, 0, {0}},
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 3, 9, 33}}, {4, {3, 3, 3, 3}}, FIRST_ZERO, {.pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {2, 9, 14, 14}}, {4, {13, 9, 3, 3}}, FOR_SIGNED_FILTERS | BIAS, {.pad = {1, 1}}},
      {MICA_I8, MICA_I8, MICA_I8, {4, {3, 6, 7, 7}}, {4, {12, 6, 3, 3}}, FOR_SIGNED_FILTERS | SUM, {.pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_I8, {4, {2, 38, 5, 8}}, {4, {36, 19, 3, 3}}, Y | TIES, {.groups = 2}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 5, 3, 71}}, {4, {7, 5, 3, 3}}, Y | SUM | TIES | RELU, {0}},
      {MICA_I8, MICA_I8, MICA_F32, {4, {1, 4, 37, 3}}, {4, {5, 4, 3, 3}}, SCALES | FIRST_ZERO | BIAS, {0}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 3, 6, 5}}, {4, {6, 3, 3, 3}}, SCALES | Y | BIAS, {.pad = {4, 3}}},
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 7, 8, 40}}, {4, {4, 7, 3, 3}}, FIRST_ZERO, {.pad = {1, 0}}},
      {MICA_I8, MICA_I8, MICA_U8, {4, {1, 64, 4, 6}}, {4, {8, 64, 3, 3}}, FOR_SIGNED_FILTERS | SUM, {.pad = {1, 1}}},
  };
  enum { TILED = sizeof tiles / sizeof *tiles };
  MICA_TRY(check_variants(check, op, true, &mica__int8_winograd_kernel, tiles, TILED));
  enum { KINDS = sizeof kinds / sizeof *kinds, WITH_LANES = sizeof lanes / sizeof *lanes };
  MICA_TRY(check_variants(check, op, true, &mica__int8_filters_kernel, lanes, WITH_LANES));
  MICA_TRY(check_variants(check, op, true, &mica__int8_cpu_vnni_kernel, kinds, KINDS));
  MICA_TRY(check_variants(check, op, true, &mica__int8_cpu_bytes_kernel, kinds, KINDS));
  return check_on(check, op, true, MICA__ON_GPU, NULL, kinds, KINDS);
}

mica_status mica__int8_conv_check(mica__check *check, const mica__op *op) {
  static const int8_case list[] = {
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 3, 6, 7}}, {4, {5, 3, 3, 3}}, FIRST_ZERO, {.pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {2, 9, 8, 34}}, {4, {13, 9, 1, 1}}, SCALES | ZEROS | Y | BIAS | PER_COLUMN, {0}},
      {MICA_U8,
       MICA_I8,
       MICA_U8,
       {4, {2, 1, 70, 1}},
       {4, {9, 1, 40, 1}},
       SCALES | ZEROS | Y,
       {.stride = {3, 1}, .pad = {20, 0}}},
      {MICA_I8,
       MICA_I8,
       MICA_I8,
       {4, {1, 4, 11, 13}},
       {4, {8, 4, 3, 2}},
       SCALES | ZEROS | Y | RELU,
       {.stride = {2, 3}, .pad = {1, 0}, .pad_more = {1, 2}}},
      {MICA_U8,
       MICA_U8,
       MICA_F32,
       {4, {2, 6, 12, 9}},
       {4, {4, 3, 3, 3}},
       SCALES | ZEROS | BIAS,
       {.groups = 2, .dilation = {2, 1}, .pad = {2, 2}}},
      {MICA_I8, MICA_U8, MICA_I32, {3, {2, 5, 40}}, {3, {7, 5, 5}}, ZEROS | PER_COLUMN, {.stride = {2}, .pad = {2}}},
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 5, 6, 7}}, {4, {5, 5, 3, 3}}, ZEROS | STANDARD, {.pad = {1, 1}}},
      {MICA_I8, MICA_U8, MICA_I8, {4, {1, 4, 9, 70}}, {4, {7, 4, 2, 3}}, SCALES | Y | STANDARD, {.stride = {2, 2}}},
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 66, 6, 7}}, {4, {33, 66, 3, 3}}, ZEROS | TILES, {.pad = {1, 1}}},
      {MICA_I8,
       MICA_I8,
       MICA_U8,
       {4, {2, 34, 9, 12}},
       {4, {34, 17, 2, 3}},
       SCALES | Y | BIAS | PER_COLUMN | TILES,
       {.groups = 2, .stride = {2, 1}}},
      /* Filters of one pixel, without and with tiles, changed signs, more channels than a group packs. */
      {MICA_I8, MICA_I8, MICA_U8, {4, {2, 7, 5, 9}}, {4, {9, 7, 1, 1}}, SCALES | ZEROS | Y | BIAS | STANDARD, {0}},
      {MICA_I8, MICA_U8, MICA_I8, {4, {2, 38, 6, 11}}, {4, {36, 19, 1, 1}}, SCALES | ZEROS | Y | TILES, {.groups = 2}},
      {MICA_I8, MICA_I8, MICA_F32, {4, {1, 41, 3, 14}}, {4, {14, 41, 1, 1}}, SCALES | ZEROS | PER_COLUMN | BIAS, {0}},
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 1030, 2, 3}}, {4, {5, 1030, 1, 1}}, ZEROS, {0}},
      /* Shapes that suit tiles, whatever the processor has. */
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 40, 5, 9}}, {4, {40, 40, 3, 3}}, SCALES | ZEROS | Y, {.pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 3, 6, 11}}, {4, {17, 3, 1, 1}}, Y | TIES, {0}},
      /* Addition of other bytes: in the kernel, past the last column, in a separate launch, with ties. */
      {MICA_U8, MICA_I8, MICA_U8, {4, {2, 9, 8, 34}}, {4, {13, 9, 1, 1}}, SCALES | ZEROS | Y | BIAS | SUM, {0}},
      {MICA_I8, MICA_I8, MICA_I8, {4, {1, 38, 6, 11}}, {4, {36, 19, 1, 1}}, SCALES | Y | SUM | TILES, {.groups = 2}},
      {MICA_U8, MICA_I8, MICA_I8, {4, {1, 7, 5, 9}}, {4, {9, 7, 1, 1}}, SCALES | Y | SUM | RELU | STANDARD, {0}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 6, 9, 13}}, {4, {7, 6, 3, 3}}, SCALES | Y | SUM, {.pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 4, 9, 13}}, {4, {4, 1, 3, 3}}, SCALES | Y | SUM, {.groups = 4}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {3, 21, 1, 1}}, {4, {18, 21, 1, 1}}, SCALES | Y | SUM, {0}},
      {MICA_U8, MICA_I8, MICA_U8, {4, {1, 3, 6, 11}}, {4, {17, 3, 1, 1}}, Y | SUM | TIES, {0}},
      /* Rows of several vectors with stride 2, and a filter with more taps than MOST_KNOWN of cl/quant/cpu/walk.clh. */
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 3, 5, 71}}, {4, {4, 3, 3, 3}}, ZEROS, {.stride = {2, 2}, .pad = {1, 1}}},
      {MICA_I8, MICA_I8, MICA_I32, {4, {1, 2, 9, 12}}, {4, {3, 2, 8, 7}}, ZEROS, {.stride = {1, 2}, .pad = {3, 3}}},
      {MICA_U8, MICA_I8, MICA_I8, {4, {2, 3, 6, 11}}, {4, {35, 3, 1, 1}}, Y | TIES | TILES | RELU, {0}},
      /* Lines of 3, 7, 14 and 33 pixels, with strides of 1 and 2, and padding that is wider than the image. */
      {MICA_U8, MICA_I8, MICA_I32, {4, {2, 5, 4, 3}}, {4, {2, 5, 3, 3}}, ZEROS, {.pad = {4, 4}}},
      {MICA_I8, MICA_I8, MICA_I32, {4, {2, 6, 5, 7}}, {4, {3, 6, 3, 3}}, ZEROS | STANDARD, {.pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 5, 14, 14}}, {4, {3, 5, 3, 3}}, ZEROS, {.stride = {2, 2}, .pad = {1, 1}}},
      {MICA_U8, MICA_I8, MICA_I32, {4, {1, 3, 9, 33}}, {4, {3, 3, 3, 3}}, ZEROS | STANDARD, {.stride = {2, 2}}},
  };
  MICA_TRY(check_cases(check, op, true, list, sizeof list / sizeof *list));
  MICA_TRY(check_instructions(check, op));
  return check_channels(check, op);
}
