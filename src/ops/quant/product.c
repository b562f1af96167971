/* Products of packed 8-bit operands: chooses the kernel and the form of its operands, and launches it. */
#include "base/arith.h"
#include "base/error.h"
#include "cl/quant/fields.clh"
#include "ops/quant/int8.h"
#include "ops/select/mma.h"
#include "runtime/build_list.h"
#include "runtime/device.h"
#include "runtime/fields.h"
#include "runtime/host_cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* dp4a requires compute capability 6.1. */
static bool has_dp4a(const mica_device_info *device) { return device->compute_capability >= 61; }

static const mica__kernel_param cpu_params[] = {
    MICA__INT8_PARAMS,
    MICA__CASE("MICA_HAS_VPDPBUSD", "1: vpdpbusd, 0: pairs", 0, 1),
    MICA__CASE("MICA_HAS_VPMADDUBSW", "1: vpmaddubsw", 0, 1),
    MICA__CASE("COLUMNS_U", "1: columns are the unsigned ones", 0, 1),
    MICA__CASE("ROWS_U", "1, with tiles: rows are unsigned", 0, 1),
    MICA__CASE("TILES", "1: a matrix unit", 0, 1),
    MICA__CASE("MICA_HAS_AMX", "its instructions, 0: an emulation", 0, 1),
    MICA__CASE("RAW", "1: columns are packed by their group", 0, 1),
    MICA__CASE("ALIKE", "1: columns have no numbers of their own", 0, 1),
    MICA__CASE("OTHER", "1: others are added to results", 0, 1),
    MICA__INT("NR", "columns of a tile", 16, 32),
    MICA__INT("MR", "rows of a tile", 1, 4, 6, 8, 12, 16, 32),
};
/* The sums of 6 rows by 32 columns take 24 registers of 32 bytes. Processors without AVX-512 have 16 of them, so their
 * tiles have 16 columns. */
static const mica__variant cpu_variants[] = {
    MICA__VECTOR_VARIANT("cpu512", MICA__LONG_VECTOR, MICA__INT8_VALUES, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 6),
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA__INT8_VALUES, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 6),
};
static const mica__variant vnni_variants[] = {
    {.name = "vnni",
     .classes = MICA__ON_CPU,
     .vector_bytes = MICA__LONG_VECTOR,
     .has_instruction = mica__host_has_vnni,
     .values = {MICA__INT8_VALUES, 1, 0, 0, 0, 0, 0, 0, 0, 0, 32, 12}},
    {.name = "avx_vnni",
     .classes = MICA__ON_CPU,
     .has_instruction = mica__host_has_avx_vnni,
     .values = {MICA__INT8_VALUES, 1, 0, 0, 0, 0, 0, 0, 0, 0, 16, 6}},
};
static const mica__variant bytes_variants[] = {
    {.name = "bytes512",
     .classes = MICA__ON_CPU,
     .vector_bytes = MICA__LONG_VECTOR,
     .has_instruction = mica__host_has_avx512bw,
     .values = {MICA__INT8_VALUES, 0, 1, 1, 0, 0, 0, 0, 0, 0, 32, 6}},
    {.name = "bytes",
     .classes = MICA__ON_CPU,
     .has_instruction = mica__host_has_avx2,
     .values = {MICA__INT8_VALUES, 0, 1, 1, 0, 0, 0, 0, 0, 0, 16, 6}},
};
/* emulated_amx runs only in checks; no device chooses it. */
static const mica__variant amx_variants[] = {
    {.name = "amx",
     .classes = MICA__ON_CPU,
     .vector_bytes = MICA__LONG_VECTOR,
     .has_instruction = mica__host_has_tiles,
     .values = {MICA__INT8_VALUES, 0, 0, 0, 0, 1, 1, 0, 0, 0, 32, 32}},
    {.name = "emulated_amx", .values = {MICA__INT8_VALUES, 0, 0, 0, 0, 1, 0, 0, 0, 0, 32, 32}},
};
/* One kernel source with four descriptors, one per instruction set, so that each can be declined, or marked as wrong
 * (runtime/tuning.h), separately. */
const mica__kernel_desc mica__int8_cpu_kernel = {
    MICA__KERNEL("int8_cpu", "quant/cpu/product.cl", cpu_params, cpu_variants)};
const mica__kernel_desc mica__int8_cpu_vnni_kernel = {
    MICA__KERNEL("int8_cpu", "quant/cpu/product.cl", cpu_params, vnni_variants)};
const mica__kernel_desc mica__int8_cpu_bytes_kernel = {
    MICA__KERNEL("int8_cpu", "quant/cpu/product.cl", cpu_params, bytes_variants)};
const mica__kernel_desc mica__int8_cpu_amx_kernel = {
    MICA__KERNEL("int8_cpu", "quant/cpu/product.cl", cpu_params, amx_variants)};

static const mica__kernel_param gpu_params[] = {
    MICA__INT8_PARAMS,
    MICA__CASE("MICA_HAS_DP4A", "1: dp4a by inline PTX", 0, 1),
};
static const mica__variant gpu_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA__INT8_VALUES, 0)};
static const mica__variant ptx_variants[] = {
    {.name = "ptx",
     .classes = MICA__ON_GPU,
     .features = MICA_FEATURE_INLINE_PTX,
     .has_instruction = has_dp4a,
     .values = {MICA__INT8_VALUES, 1}},
};
const mica__kernel_desc mica__int8_gpu_kernel = {
    MICA__KERNEL("int8_gpu", "quant/gpu/product.cl", gpu_params, gpu_variants)};
const mica__kernel_desc mica__int8_gpu_ptx_kernel = {
    MICA__KERNEL("int8_gpu", "quant/gpu/product.cl", gpu_params, ptx_variants)};

static const mica__kernel_param mma_params[] = {
    MICA__INT8_PARAMS,
    MICA__CASE("ALIGNED", "1: four columns begin at a multiple of 16 bytes", 0, 1),
    MICA__MMA_PARAMS(MICA__EMULATED),
};
#define MMA_VALUES MICA__INT8_VALUES, 1
/* The kernel suits only units that read words of row-major operands, so WMMA and DPAS have no variants. */
static const mica__variant mma_variants[] = {
    MICA__MMA_PTX_128X64(MMA_VALUES),
    MICA__MMA_PTX_64X64(MMA_VALUES),
    MICA__MMA_MFMA_64X64(MMA_VALUES),
    MICA__MMA_EMULATION("emulated_mfma", MMA_VALUES, MICA__MMA_MFMA, 0, 1, 1, 32, 32, 2),
    MICA__MMA_EMULATION("emulation_tall", MMA_VALUES, MICA__MMA_PTX, 0, 2, 1, 32, 32, 3),
    MICA__MMA_EMULATION("emulation", MMA_VALUES, MICA__MMA_PTX, 0, 2, 1, 16, 32, 3),
};
static bool mma_has_room(const int32_t *values, const mica_device_info *device) {
  return mica__mma_has_room(&mica__int8_mma_kernel, values, device);
}
const mica__kernel_desc mica__int8_mma_kernel = {
    MICA__KERNEL("int8_mma", "quant/mma/product.cl", mma_params, mma_variants), .has_room = mma_has_room};

#define GPU_TILE 64
#define GPU_SIDE 8

static bool has(const mica__int8 *p, mica__int8_operand operand) { return p->in[operand] != NULL; }

/* --- forms --- */

static mica_dtype rows_type(const mica__int8 *p) {
  return mica_tensor_dtype(p->in[p->conv ? MICA__INT8_SECOND : MICA__INT8_FIRST]);
}
static mica_dtype columns_type(const mica__int8 *p) {
  return mica_tensor_dtype(p->in[p->conv ? MICA__INT8_FIRST : MICA__INT8_SECOND]);
}

/* True if packed rows (columns) have a zero point: either it is an operand, or packing converts between i8 and u8,
 * which moves it by 128. */
static bool rows_are_offset(const mica__int8 *p, const mica__int8_form *form) {
  return rows_type(p) != form->rows || has(p, p->conv ? MICA__INT8_SECOND_ZERO : MICA__INT8_FIRST_ZERO);
}
static bool columns_are_offset(const mica__int8 *p, const mica__int8_form *form) {
  return columns_type(p) != form->columns || has(p, p->conv ? MICA__INT8_FIRST_ZERO : MICA__INT8_SECOND_ZERO);
}

/* Returns the number of steps (elements of 4 values) per tile along k: at most 16, chosen so that the last tile is as
 * full as possible. */
static int64_t words_of(int64_t depth) {
  int64_t steps = mica__ceil_div(depth, 4);
  return mica__ceil_div(steps, mica__ceil_div(steps, 16));
}

/* An instruction on AMX tiles multiplies 16 rows of 64 values at a time. With few rows or a short depth, most of its
 * work would be wasted. */
static bool suits_tiles(const mica__int8 *p) { return p->m >= 16 && words_of(p->depth) >= 8; }

/* --- the launch --- */

MICA__PACKED(operand_fields, PRODUCT_OPERANDS);
MICA__PACKED(size_fields, PRODUCT_SIZES);
MICA__PACKED(mask_fields, PRODUCT_MASK);

static void push_sizes(const mica__int8 *p, const mica__int8_form *form, const mica__int8_packed *packed,
                       int64_t columns, int64_t block, mica__launch *launch) {
  static const mica__conv_dims one = {.filter = {1, 1, 1}, .dilation = {1, 1, 1}, .stride = {1, 1, 1}};
  const mica__conv_dims *d = p->conv ? &p->dims : &one;
  const size_fields f = {
      .m = p->m,
      .columns = columns,
      .steps = mica__int8_steps(p, form),
      .block = block,
      .a_count = p->row_batches,
      .b_batch = packed->b_batch,
      .tile_step = packed->tile_step,
      .step_step = packed->step_step,
      .plane = packed->plane,
      MICA__INT8_WINDOW(d),
      .wq = packed->wide,
      .q = p->conv ? d->out[2] : p->n,
      /* The number of values that are summed per result. All taps count, because padding consists of the zero point and
       * needs the same correction as pixels. */
      .depth = (int32_t)(uint32_t)(uint64_t)(p->depth * (p->conv ? mica__product3(d->filter) : 1)),
      .row_batch = p->conv ? p->m : 0,
      .rows_are_offset = rows_are_offset(p, form),
      .columns_are_offset = columns_are_offset(p, form),
      .words = form->run,
      .pixels = p->conv ? d->out[1] * d->out[2] : p->n,
  };
  size_fields_push(launch, &f);
}

/* The most channels for which a work-group of quant/cpu/product.cl can pack the columns that it multiplies. */
#define MOST_DEPTH 1024

/* True if no launch needs to pack the columns, because each work-group can pack its own from the images: filters have
 * one pixel, the stride is 1, there is no padding, the height of images is 1, and there are at most MOST_DEPTH
 * channels. */
static bool is_raw(const mica__int8 *p, const mica__int8_form *form) {
  const mica__conv_dims *d = &p->dims;
  if (!p->conv || mica__int8_steps(p, form) * form->per > MOST_DEPTH) return false;
  for (int i = 1; i <= 2; i++)
    if (d->filter[i] != 1 || d->stride[i] != 1 || d->pad[i] != 0 || d->out[i] != d->in[i]) return false;
  return d->out[1] == 1;
}

/* Sets the strides for work-groups that pack their own columns (is_raw). b_batch and wide are strides of the images.
 * step_step is the stride in the private memory into which a group of quant/cpu/product.cl packs its columns. */
static void lie_raw(const mica__int8 *p, const mica__int8_form *form, mica__int8_packed *packed) {
  packed->step_step = form->column_width;
  packed->wide = p->dims.out[2];
  packed->b_batch = p->depth * packed->wide;
}

/* True if groups of four words of columns begin at multiples of 16 bytes, in every batch, step and tap. */
static bool are_aligned(const mica__int8 *p, const mica__int8_packed *packed) {
  return packed->step_step % 4 == 0 && packed->b_batch % 4 == 0 && (!p->conv || mica__product3(p->dims.filter) == 1);
}

/* Packs the operands and launches the product with a kernel. height is the number of rows of a tile on a CPU, where the
 * variant sets the number of columns; it is 0 on a GPU. If variant is NULL, the default variant is used. */
static mica_status run(const mica__int8 *p, const mica__kernel_desc *desc, const mica__variant *variant,
                       const mica__int8_form *asked, int32_t height) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(p->exec->queue));
  const mica__conv_dims *d = &p->dims;
  bool cpu = height > 0;
  int32_t values[MICA__MAX_PARAMS];
  mica__int8_form shape = *asked, *form = &shape;
  mica__int8_packed packed = {0};
  mica__launch launch;
  if (variant)
    MICA_TRY(mica__exec_variant(p->exec, desc, variant, values));
  else
    MICA_TRY(mica__exec_values(p->exec, desc, values));
  if (cpu) mica__kernel_set(desc, values, "MR", height);
  if (cpu) shape.column_width = mica__kernel_value(desc, values, "NR");
  if (cpu) mica__kernel_set(desc, values, "COLUMNS_U", form->columns == MICA_U8);
  if (cpu && mica__kernel_value(desc, values, "TILES")) mica__kernel_set(desc, values, "ROWS_U", form->rows == MICA_U8);
  const bool raw = cpu && is_raw(p, form), offset = columns_are_offset(p, form);
  if (cpu) mica__kernel_set(desc, values, "RAW", raw);
  if (cpu) mica__kernel_set(desc, values, "ALIKE", mica__int8_columns_are_alike(p));
  if (cpu) mica__kernel_set(desc, values, "OTHER", has(p, MICA__INT8_OTHER));
  if (raw) lie_raw(p, form, &packed);
  mica_status status = raw ? mica__int8_pack_rows(p, form, offset, &packed) : mica__int8_pack(p, form, offset, &packed);
  const bool units = desc == &mica__int8_mma_kernel;
  if (units) mica__kernel_set(desc, values, "ALIGNED", are_aligned(p, &packed));
  const size_t side = cpu ? 1 : GPU_SIDE, threads = units ? mica__mma_tile_of(desc, values).threads : 0;
  const size_t group[] = {units ? threads : side, units ? 1 : side, 1};
  if (status == MICA_OK) status = mica__int8_begin(p, desc, values, &launch);
  int64_t columns = p->conv ? (d->out[1] - 1) * packed.wide + d->out[2] : p->n;
  int64_t tiles = mica__ceil_div(columns, form->column_width), panels = mica__ceil_div(p->m, form->row_width);
  /* On a CPU, a group computes all rows for its tile of columns, so that the columns stay in its cache. If that would
   * give fewer than 4 groups per core, several groups share the rows. */
  int64_t wanted = 4 * (int64_t)device->compute_units, parts = mica__ceil_div(wanted, tiles * p->batches);
  int64_t block = mica__ceil_div(panels, parts < panels ? parts : panels);
  if (status == MICA_OK) {
    const int64_t groups[] = {tiles * (int64_t)group[0],
                              (cpu ? mica__ceil_div(panels, block) : panels) * (int64_t)group[1], p->batches};
    const mica_tensor *second = raw ? p->in[MICA__INT8_FIRST] : packed.columns;
    operand_fields_push(&launch, &(operand_fields){.A = packed.rows, .B = second, .row_sums = packed.sums});
    mica__int8_push_finish(p, form, &launch);
    push_sizes(p, form, &packed, columns, block, &launch);
    const mask_fields mask = {.mask = mica__int8_mask(p->in[MICA__INT8_FIRST], form->columns)};
    if (cpu) mask_fields_push(&launch, &mask);
    if (cpu && has(p, MICA__INT8_OTHER)) mica__int8_push_sum(p, &launch);
    mica__launch_range3(&launch, groups, group);
    status = mica__int8_end(p, &launch);
  }
  mica__int8_packed_free(&packed);
  return status;
}

/* --- processors --- */

static const mica__int8 *problem_of(const mica__task *task) { return task->problem; }

static const char *decline_amx(const mica__task *task) {
  const mica__int8 *p = task->problem;
  const char *reason = mica__exec_declines(p->exec, task, &mica__int8_cpu_amx_kernel);
  if (!reason && !mica__kernel_variant(&mica__int8_cpu_amx_kernel, task->device))
    reason = "the processor has no AMX tiles";
  return reason ? reason : suits_tiles(p) ? NULL : "there are too few rows, or the rows are too short";
}

static mica_status launch_amx(mica_queue *queue, const mica__task *task) {
  const mica__int8 *p = task->problem;
  mica__int8_form form = {.rows = rows_type(p), .columns = columns_type(p), .per = 4};
  (void)queue;
  form.row_width = p->m > 16 ? 32 : 16;
  form.run = words_of(p->depth);
  return run(p, &mica__int8_cpu_amx_kernel, task->variant, &form, (int32_t)form.row_width);
}

static const char *decline_vnni(const mica__task *task) {
  const char *reason = mica__exec_declines(problem_of(task)->exec, task, &mica__int8_cpu_vnni_kernel);
  if (reason || mica__kernel_variant(&mica__int8_cpu_vnni_kernel, task->device)) return reason;
  return "the processor lacks the instruction vpdpbusd (VNNI)";
}

/* vpdpbusd multiplies an unsigned operand by a signed one. Activations are mostly unsigned and weights signed, so
 * activations are packed as u8 and weights as i8. */
static mica_status launch_vnni(mica_queue *queue, const mica__task *task) {
  const mica__int8 *p = task->problem;
  mica__int8_form form = {
      .rows = p->conv ? MICA_I8 : MICA_U8, .columns = p->conv ? MICA_U8 : MICA_I8, .per = 4, .run = 1};
  const mica__variant *first = mica__kernel_variant(&mica__int8_cpu_vnni_kernel, task->device),
                      *variant = task->variant ? task->variant : first;
  (void)queue;
  form.row_width = mica__int8_height_of(p->m, variant && variant->vector_bytes == MICA__LONG_VECTOR);
  return run(p, &mica__int8_cpu_vnni_kernel, task->variant, &form, (int32_t)form.row_width);
}

static const char *decline_bytes(const mica__task *task) {
  const mica__int8 *p = task->problem;
  const char *reason = mica__exec_declines(p->exec, task, &mica__int8_cpu_bytes_kernel);
  if (!reason && !mica__kernel_variant(&mica__int8_cpu_bytes_kernel, task->device))
    reason = "the processor lacks vpmaddubsw on vectors of 32 bytes (AVX2)";
  if (reason) return reason;
  if (!p->conv) return "rows of a matrix change with every run and would be split each time";
  /* Filters are split in the prologue, the launches that run once before the first run. Without a launch (exec is NULL)
   * and in checks (classes is set) there is no prologue, but the kernel must not be declined for that reason. */
  const bool once = !p->exec || p->exec->classes || mica__int8_is_constant(p, MICA__INT8_SECOND);
  return once ? NULL : "the filters are not constant and would be split in each run";
}

/* vpmaddubsw takes unsigned pixels and signed filters, which are split in the prologue (quant/cpu/split.cl). */
static mica_status launch_bytes(mica_queue *queue, const mica__task *task) {
  const mica__int8 *p = task->problem;
  mica__int8_form form = {.rows = MICA_I8, .columns = MICA_U8, .per = 4, .run = 1, .split = true};
  (void)queue;
  form.row_width = mica__int8_height_of(p->m, false);
  return run(p, &mica__int8_cpu_bytes_kernel, task->variant, &form, (int32_t)form.row_width);
}

static const char *decline_cpu(const mica__task *task) {
  return mica__exec_declines(problem_of(task)->exec, task, &mica__int8_cpu_kernel);
}

static mica_status launch_cpu(mica_queue *queue, const mica__task *task) {
  const mica__int8 *p = task->problem;
  mica__int8_form form = {.rows = MICA_U8, .columns = MICA_U8, .per = 2, .run = 1};
  (void)queue;
  form.row_width = mica__int8_height_of(p->m, false);
  return run(p, &mica__int8_cpu_kernel, task->variant, &form, (int32_t)form.row_width);
}

/* --- matrix units --- */

static mica_status run_on_units(const mica__int8 *p, const mica__variant *variant) {
  const mica__mma_tile tile = mica__mma_tile_of(&mica__int8_mma_kernel, variant->values);
  const mica__int8_form form = {
      .rows = MICA_I8, .columns = MICA_I8, .per = 4, .row_width = tile.m, .column_width = tile.n, .run = 1};
  return run(p, &mica__int8_mma_kernel, variant, &form, 0);
}

/* The trial multiplies a (TRIAL_M, TRIAL_K) by b (TRIAL_K, TRIAL_N). These sizes leave partial tiles and steps. */
enum { TRIAL_M = 70, TRIAL_K = 133, TRIAL_N = 75 };
static int8_t trial_a(int i, int k) { return (int8_t)((i * 37 + k * 11 + i * k) % 256 - 128); }
static int8_t trial_b(int k, int j) { return (int8_t)((j * 53 + k * 29 + j * k) % 256 - 128); }

static mica_status compare_trial(const int32_t *y) {
  for (int i = 0; i < TRIAL_M; i++)
    for (int j = 0; j < TRIAL_N; j++) {
      int32_t sum = 0;
      for (int k = 0; k < TRIAL_K; k++) sum += trial_a(i, k) * trial_b(k, j);
      if (sum != y[i * TRIAL_N + j])
        return mica__fail(MICA_E_NUMERIC, "element (%d, %d) of a trial product of bytes is %ld, but must be %ld", i, j,
                          (long)y[i * TRIAL_N + j], (long)sum);
    }
  return MICA_OK;
}

static mica_status run_trial(mica_queue *queue, const mica__variant *variant, mica_tensor *const *t) {
  int8_t a[TRIAL_M * TRIAL_K], b[TRIAL_K * TRIAL_N];
  static const mica__int8_attrs attrs = {.present = 3, .to = MICA_I32, .low = -INFINITY, .high = INFINITY};
  for (int n = 0; n < TRIAL_M * TRIAL_K; n++) a[n] = trial_a(n / TRIAL_K, n % TRIAL_K);
  for (int n = 0; n < TRIAL_K * TRIAL_N; n++) b[n] = trial_b(n / TRIAL_N, n % TRIAL_N);
  const mica_tensor *const in[] = {t[0], t[1]};
  const mica__exec exec = {
      .queue = queue, .attrs = &attrs, .inputs = in, .input_count = 2, .output = t[2], .classes = MICA__ON_GPU};
  const mica__int8 p = {.exec = &exec,
                        .attrs = &attrs,
                        .in = {t[0], t[1]},
                        .batches = 1,
                        .row_batches = 1,
                        .m = TRIAL_M,
                        .n = TRIAL_N,
                        .depth = TRIAL_K};
  int32_t *y = malloc(mica_tensor_bytes(t[2]));
  if (!y) return mica__fail_nomem("a trial product");
  mica_status status = mica_tensor_upload(queue, t[0], a, sizeof a);
  if (status == MICA_OK) status = mica_tensor_upload(queue, t[1], b, sizeof b);
  if (status == MICA_OK) status = run_on_units(&p, variant);
  if (status == MICA_OK) status = mica_tensor_download(queue, t[2], y, mica_tensor_bytes(t[2]));
  if (status == MICA_OK) status = compare_trial(y);
  free(y);
  return status;
}

static mica_status try_units(mica_engine *engine, const mica__variant *variant, mica_dtype type) {
  mica_queue *queue = NULL;
  mica_tensor *t[3] = {NULL};
  mica_status status = mica_queue_create(engine, &queue);
  if (status == MICA_OK) status = mica_tensor_create(engine, type, MICA_SHAPE(TRIAL_M, TRIAL_K), &t[0]);
  if (status == MICA_OK) status = mica_tensor_create(engine, type, MICA_SHAPE(TRIAL_K, TRIAL_N), &t[1]);
  if (status == MICA_OK) status = mica_tensor_create(engine, MICA_I32, MICA_SHAPE(TRIAL_M, TRIAL_N), &t[2]);
  if (status == MICA_OK) status = run_trial(queue, variant, t);
  for (int k = 0; k < 3; k++) mica_tensor_destroy(t[k]);
  mica_queue_destroy(queue);
  return status;
}

/* Returns the task's variant, or the one that is estimated to be the fastest; NULL if none fits the device. */
static const mica__variant *variant_for(const mica__task *task) {
  const mica__kernel_desc *desc = &mica__int8_mma_kernel;
  const mica__int8 *p = task->problem;
  const mica__conv_dims *d = &p->dims;
  if (task->variant || !mica__kernel_variant(desc, task->device)) return task->variant;
  const int64_t depth = p->depth * (p->conv ? mica__product3(d->filter) : 1);
  const mica__tiled product = {.m = p->m,
                               .n = p->conv ? d->out[1] * d->out[2] : p->n,
                               .k = mica__ceil_div(depth, MICA__MMA_STEP * 16),
                               .batches = p->batches};
  return mica__mma_choose(desc, task, &product, 1).variant;
}

static const char *decline_mma(const mica__task *task) {
  const mica__kernel_desc *desc = &mica__int8_mma_kernel;
  const mica__int8 *p = task->problem;
  const mica__variant *variant = variant_for(task);
  const char *reason = mica__exec_declines(p->exec, task, desc);
  if (!reason) reason = mica__mma_missing(desc, MICA_I8, task->device, task->engine);
  if (!reason && variant) reason = mica__mma_failed(task->device, task->engine, desc, variant, MICA_I8);
  return reason ? reason : p->m < 16 ? "there are too few rows" : NULL;
}

/* Kernels for GPUs cannot add other bytes (OTHER) to the result. If there is such an operand, launches the convolution
 * without it, adds it in a second launch, sets *status and returns true. Otherwise returns false. */
static bool added_apart(const mica__int8 *p, mica_status *status) {
  const bool apart = has(p, MICA__INT8_OTHER);
  if (apart) *status = mica__int8_conv_then_add(p, p->launch);
  return apart;
}

static mica_status launch_mma(mica_queue *queue, const mica__task *task) {
  const mica__kernel_desc *desc = &mica__int8_mma_kernel;
  const mica__int8 *p = task->problem;
  mica_engine *engine = mica__queue_engine(queue);
  const mica__variant *variant = variant_for(task);
  mica_status status = MICA_OK;
  if (added_apart(p, &status)) return status;
  if (!variant) return mica__fail(MICA_E_UNSUPPORTED, "int8_mma: the device has no matrix units for this product");
  MICA_TRY(mica__mma_check(engine, desc, variant, MICA_I8));
  /* A dry run builds no kernels. The trial runs when launches are recorded. */
  if (variant->has_instruction && !mica__build_list_open())
    MICA_TRY(mica__mma_prove_by(engine, desc, variant, MICA_I8, try_units));
  return run_on_units(p, variant);
}

/* --- other GPUs --- */

static mica_status run_on_gpu(const mica__int8 *p, const mica__kernel_desc *desc, const mica__variant *variant) {
  const mica__int8_form form = {
      .rows = MICA_I8, .columns = MICA_I8, .per = 4, .row_width = GPU_TILE, .column_width = GPU_TILE, .run = 1};
  mica_status status = MICA_OK;
  return added_apart(p, &status) ? status : run(p, desc, variant, &form, 0);
}

static const char *decline_ptx(const mica__task *task) {
  const char *reason = mica__exec_declines(problem_of(task)->exec, task, &mica__int8_gpu_ptx_kernel);
  if (reason || mica__kernel_variant(&mica__int8_gpu_ptx_kernel, task->device)) return reason;
  return "the device lacks the instruction dp4a";
}

static mica_status launch_ptx(mica_queue *queue, const mica__task *task) {
  (void)queue;
  return run_on_gpu(task->problem, &mica__int8_gpu_ptx_kernel, task->variant);
}

static mica_status launch_gpu(mica_queue *queue, const mica__task *task) {
  (void)queue;
  return run_on_gpu(task->problem, &mica__int8_gpu_kernel, task->variant);
}

/* --- the choice --- */

static const mica__impl cpu_amx = {
    .name = "int8_cpu_amx", .kernel = &mica__int8_cpu_amx_kernel, .decline = decline_amx, .launch = launch_amx};
static const mica__impl cpu_vnni = {
    .name = "int8_cpu_vnni", .kernel = &mica__int8_cpu_vnni_kernel, .decline = decline_vnni, .launch = launch_vnni};
static const mica__impl cpu_bytes = {
    .name = "int8_cpu_bytes", .kernel = &mica__int8_cpu_bytes_kernel, .decline = decline_bytes, .launch = launch_bytes};
static const mica__impl cpu = {
    .name = "int8_cpu", .kernel = &mica__int8_cpu_kernel, .decline = decline_cpu, .launch = launch_cpu};
static const mica__impl mma = {
    .name = "int8_mma", .kernel = &mica__int8_mma_kernel, .decline = decline_mma, .launch = launch_mma};
static const mica__impl gpu_ptx = {
    .name = "int8_gpu_ptx", .kernel = &mica__int8_gpu_ptx_kernel, .decline = decline_ptx, .launch = launch_ptx};
static const mica__impl gpu = {.name = "int8_gpu", .kernel = &mica__int8_gpu_kernel, .launch = launch_gpu};

const mica__impl *const mica__int8_impls[] = {
    &cpu_amx, &mica__int8_filters, &cpu_vnni, &mica__int8_winograd, &cpu_bytes, &cpu, &mma, &gpu_ptx, &gpu, NULL};

static bool runs_on_cpu(const mica__int8 *p) {
  unsigned classes = p->exec->classes;
  if (!classes) classes = mica__kernel_class(mica_engine_device(mica__queue_engine(p->exec->queue)));
  return classes & MICA__ON_CPU && (p->exec->classes || mica__exec_takes(p->exec, &mica__int8_cpu_kernel));
}

bool mica__int8_product_adds(const mica__int8 *p) { return p->conv && runs_on_cpu(p); }

void mica__int8_key(const mica__int8 *p, char key[MICA__TUNING_TEXT]) {
  const char *first = mica_dtype_name(mica_tensor_dtype(p->in[MICA__INT8_FIRST]));
  const char *second = mica_dtype_name(mica_tensor_dtype(p->in[MICA__INT8_SECOND]));
  char problem[64];
  snprintf(problem, sizeof problem, "int8 %s %s*%s", p->conv ? "conv" : "matmul", first, second);
  if (p->conv)
    mica__conv_dims_key(&p->dims, problem, key);
  else
    snprintf(key, MICA__TUNING_TEXT, "%s m%" PRId64 " n%" PRId64 " k%" PRId64 " %s b%" PRId64, problem, p->m, p->n,
             p->depth, p->transposed ? "nt" : "nn", p->batches);
}

mica_status mica__int8_product(const mica__int8 *p) {
  char key[MICA__TUNING_TEXT];
  mica__int8_key(p, key);
  return mica__exec_choose(p->exec, mica__int8_impls, p, key);
}
