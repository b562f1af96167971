/* Winograd's convolution of bytes, for CPUs with AVX2 (cl/quant/cpu/winograd.cl). */
#include "base/arith.h"
#include "cl/quant/fields.clh"
#include "ops/quant/int8.h"
#include "runtime/device.h"
#include "runtime/fields.h"
#include "runtime/host_cpu.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {
    MICA__INT8_PARAMS,
    MICA__CASE("MICA_HAS_VPMADDWD", "1: vpmaddwd, 0: an emulation", 0, 1),
    MICA__CASE("OTHER", "1: others are added to results", 0, 1),
    MICA__INT("NR", "pixels of a vector of tiles", 64),
    MICA__INT("MR", "filters of a panel", 6, 4, 1),
};
/* Sums of 6 filters by 16 tiles take 12 of AVX2's 16 registers. Only checks run the emulation. */
static const mica__variant variants[] = {
    {.name = "avx2",
     .classes = MICA__ON_CPU,
     .has_instruction = mica__host_has_avx2,
     .values = {MICA__INT8_VALUES, 1, 0, 64, 6}},
    {.name = "emulated_avx2", .classes = MICA__ON_CPU, .values = {MICA__INT8_VALUES, 0, 0, 64, 6}},
};
const mica__kernel_desc mica__int8_winograd_kernel = {
    MICA__KERNEL("int8_winograd", "quant/cpu/winograd.cl", params, variants)};

static const mica__variant pack_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, 0)};
const mica__kernel_desc mica__int8_winograd_image_kernel = {.name = "int8_winograd_image",
                                                            .file = "quant/cpu/winograd_image.cl",
                                                            .variants = pack_variants,
                                                            .variant_count = 1};
const mica__kernel_desc mica__int8_winograd_filters_kernel = {.name = "int8_winograd_filters",
                                                              .file = "quant/cpu/winograd_filters.cl",
                                                              .variants = pack_variants,
                                                              .variant_count = 1};

MICA__PACKED(operand_fields, PRODUCT_OPERANDS);
MICA__PACKED(size_fields, WINOGRAD_SIZES);

/* Tiles of a vector, and the positions of a transformed tile. */
enum { TILES = 16, POSITIONS = 16 };
/* The panels of filters that a group multiplies together (cl/quant/cpu/panels.clh). */
enum { PANELS = 4 };

/* The packed operands, as int8.h describes them: unsigned pixels, signed filters, two channels per step. */
static mica__int8_form form_of(int64_t height) {
  return (mica__int8_form){
      .rows = MICA_I8, .columns = MICA_U8, .per = 2, .row_width = height, .column_width = TILES, .run = 1};
}

/* How results are cut into tiles of 2 x 2. */
typedef struct tiling {
  int64_t down, across, count, blocks; /* count: tiles of an image, in blocks of TILES */
} tiling;
static tiling tiling_of(const mica__conv_dims *d) {
  tiling t = {.down = mica__ceil_div(d->out[1], 2), .across = mica__ceil_div(d->out[2], 2)};
  t.count = t.down * t.across;
  t.blocks = mica__ceil_div(t.count, TILES);
  return t;
}

/* The elements of one of the POSITIONS in a block; the last TILES are unused (winograd_image.cl: position). */
static int64_t position_of(int64_t steps) { return (steps + 1) * TILES; }

/* The most channels. 4 times a result must fit an int: 4 * 255 * 128 * 9 * 1824 < 2^31. */
#define MOST_DEPTH 1824
#define MOST_WIDTH 512 /* cl/quant/cpu/winograd_image.cl */
/* The most memory for transformed images, which take at least 8 bytes for each byte of an image. */
#define MOST_BYTES ((int64_t)32 << 20)

static int64_t bytes_of_images(const mica__int8 *p) {
  return p->batches * tiling_of(&p->dims).blocks * POSITIONS * position_of(mica__ceil_div(p->depth, 2)) * 4;
}

static const char *unable(const void *problem) {
  const mica__int8 *p = problem;
  const mica__conv_dims *d = &p->dims;
  if (!p->conv) return "the product is one of matrices";
  for (int i = 1; i <= 2; i++)
    if (d->filter[i] != 3 || d->stride[i] != 1 || d->dilation[i] != 1)
      return "filters are not 3 x 3 with stride and dilation 1";
  if (mica_tensor_dtype(p->in[MICA__INT8_SECOND]) != MICA_I8 || p->in[MICA__INT8_SECOND_ZERO])
    return "filters are unsigned or have a zero point";
  if (!mica__int8_columns_are_alike(p)) return "the image has several scales or zero points";
  /* Padding after the last pixel may exceed pad. */
  if (mica__max(d->in[2] + d->pad[2], d->out[2] + 2) > MOST_WIDTH) return "images are wider than 512 pixels";
  if (p->depth > MOST_DEPTH) return "sums over so many channels do not fit 32 bits times 4";
  return NULL;
}

static const char *decline(const mica__task *task) {
  const mica__int8 *p = task->problem;
  const char *reason = mica__exec_declines(p->exec, task, &mica__int8_winograd_kernel);
  if (!reason) reason = mica__exec_declines(p->exec, task, &mica__int8_winograd_image_kernel);
  if (!reason) reason = mica__exec_declines(p->exec, task, &mica__int8_winograd_filters_kernel);
  if (!reason) reason = unable(p);
  if (reason) return reason;
  /* If the variant with the instruction is in quarantine, the task has the emulation. */
  const mica__variant *own =
      task->variant ? task->variant : mica__kernel_variant(&mica__int8_winograd_kernel, task->device);
  if (!own || !own->has_instruction) return "the processor lacks vpmaddwd on vectors of 32 bytes (AVX2)";
  if (mica__host_has_avx512bw(task->device)) return "the processor multiplies bytes on vectors of 64 bytes";
  /* Checks have no prologue. */
  if (p->exec && !p->exec->classes && !mica__int8_is_constant(p, MICA__INT8_SECOND))
    return "the filters are not constant and would be transformed in each run";
  if (p->m < 16 || p->depth < 16) return "transforms cost more than they save with fewer than 16 channels or filters";
  if (bytes_of_images(p) > MOST_BYTES) return "the transformed images would take more than 32 MiB";
  return NULL;
}

/* Transforms the filters. If want_sums is true, also sums the values of each filter. */
static mica_status pack_filters(const mica__int8 *p, const mica__int8_form *form, bool want_sums,
                                mica__int8_packed *packed) {
  const mica__kernel_desc *desc = &mica__int8_winograd_filters_kernel;
  mica_queue *queue = mica__int8_packer(p, MICA__INT8_SECOND);
  const int64_t steps = mica__int8_steps(p, form), width = form->row_width;
  const int64_t lanes = p->row_batches * mica__ceil_div(p->m, width) * width;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__workspace_tensor(queue, MICA_U32, MICA_SHAPE(lanes * POSITIONS * steps), &packed->rows));
  if (want_sums) MICA_TRY(mica__workspace_tensor(queue, MICA_I32, MICA_SHAPE(p->row_batches, p->m), &packed->sums));
  MICA_TRY(mica__exec_values(p->exec, desc, values));
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, p->in[MICA__INT8_SECOND]);
  mica__launch_tensor(&launch, packed->rows);
  mica__launch_optional(&launch, packed->sums);
  const int64_t sizes[] = {p->row_batches, p->m, p->depth, steps, width};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_int(&launch, want_sums);
  mica__launch_range1(&launch, lanes * steps, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(packed->rows));
  return mica__queue_submit(queue, &launch);
}

static mica_status pack_images(const mica__int8 *p, const mica__int8_form *form, mica__int8_packed *packed) {
  const mica__kernel_desc *desc = &mica__int8_winograd_image_kernel;
  const mica__conv_dims *d = &p->dims;
  const tiling t = tiling_of(d);
  mica_queue *queue = mica__int8_packer(p, MICA__INT8_FIRST);
  const mica_tensor *x = p->in[MICA__INT8_FIRST], *zero = p->in[MICA__INT8_FIRST_ZERO];
  const int64_t steps = mica__int8_steps(p, form);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  /* If the zero point changes between runs, the launch cannot be in the prologue. */
  if (zero && mica__int8_packer(p, MICA__INT8_FIRST_ZERO) != queue) queue = p->exec->queue;
  MICA_TRY(mica__workspace_tensor(queue, MICA_U32, MICA_SHAPE(p->batches * t.blocks * POSITIONS * position_of(steps)),
                                  &packed->columns));
  MICA_TRY(mica__exec_values(p->exec, desc, values));
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_optional(&launch, zero);
  mica__launch_tensor(&launch, packed->columns);
  /* Parts of an image, so that each core gets several groups. */
  const int64_t wanted = 4 * (int64_t)mica_engine_device(mica__queue_engine(queue))->compute_units;
  const int64_t parts = mica__ceil_div(wanted, p->batches * steps), run = mica__ceil_div(t.blocks, parts);
  const int64_t sizes[] = {p->depth, steps, d->in[1],           d->in[2],  t.down,   t.across,
                           t.blocks, run,   position_of(steps), d->pad[1], d->pad[2]};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_int(&launch, mica__int8_mask(x, form->columns));
  mica__launch_int(&launch, zero != NULL);
  mica__launch_int(&launch, mica__int8_int_zeros(p));
  mica__launch_range3(&launch, (int64_t[]){p->batches, steps, mica__ceil_div(t.blocks, run)}, (size_t[]){1, 1, 1});
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(x) + (double)mica_tensor_bytes(packed->columns));
  return mica__queue_submit(queue, &launch);
}

static mica_status submit(const mica__int8 *p, const mica__int8_form *form, int32_t *values,
                          const mica__int8_packed *packed) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(p->exec->queue));
  const mica__conv_dims *d = &p->dims;
  const tiling t = tiling_of(d);
  mica__launch launch;
  MICA_TRY(mica__int8_begin(p, &mica__int8_winograd_kernel, values, &launch));
  /* A group computes all filters for its tiles, so that the tiles stay in its cache, unless cores would idle. */
  const int64_t panels = mica__ceil_div(p->m, form->row_width);
  const int64_t parts = mica__ceil_div(4 * (int64_t)device->compute_units, t.blocks * p->batches);
  const int64_t passes = mica__ceil_div(panels, PANELS), block = mica__ceil_div(passes, parts) * PANELS;
  const size_fields sizes = {
      .m = p->m,
      .tiles = t.count,
      .across = t.across,
      .steps = mica__int8_steps(p, form),
      .position = position_of(mica__int8_steps(p, form)),
      .block = block,
      .a_count = p->row_batches,
      .p = d->out[1],
      .q = d->out[2],
      .row_batch = p->m,
      .columns_are_offset = packed->sums != NULL,
  };
  operand_fields_push(&launch, &(operand_fields){.A = packed->rows, .B = packed->columns, .row_sums = packed->sums});
  mica__int8_push_finish(p, form, &launch);
  size_fields_push(&launch, &sizes);
  if (p->in[MICA__INT8_OTHER]) mica__int8_push_sum(p, &launch);
  mica__launch_range3(&launch, (int64_t[]){t.blocks, mica__ceil_div(panels, block), p->batches}, (size_t[]){1, 1, 1});
  return mica__int8_end(p, &launch);
}

static mica_status launch(mica_queue *queue, const mica__task *task) {
  const mica__kernel_desc *desc = &mica__int8_winograd_kernel;
  const mica__int8 *p = task->problem;
  const bool offset = mica_tensor_dtype(p->in[MICA__INT8_FIRST]) != MICA_U8 || p->in[MICA__INT8_FIRST_ZERO];
  int32_t values[MICA__MAX_PARAMS];
  mica__int8_packed packed = {0};
  (void)queue;
  if (task->variant)
    MICA_TRY(mica__exec_variant(p->exec, desc, task->variant, values));
  else
    MICA_TRY(mica__exec_values(p->exec, desc, values));
  const int64_t height = mica__int8_height_of(p->m, false);
  const mica__int8_form form = form_of(height);
  mica__kernel_set(desc, values, "MR", (int32_t)height);
  mica__kernel_set(desc, values, "OTHER", p->in[MICA__INT8_OTHER] != NULL);
  mica_status status = pack_filters(p, &form, offset, &packed);
  if (status == MICA_OK) status = pack_images(p, &form, &packed);
  if (status == MICA_OK) status = submit(p, &form, values, &packed);
  mica__int8_packed_free(&packed);
  return status;
}

const mica__impl mica__int8_winograd = {.name = "int8_winograd",
                                        .kernel = &mica__int8_winograd_kernel,
                                        .unable = unable,
                                        .decline = decline,
                                        .launch = launch};
