/* Packs the operands of 8-bit products for their kernels: matrices and filters into panels (cl/quant/pack.cl), and
 * images into planes that are grouped by stride (cl/quant/image.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/quant/int8.h"
#include "runtime/workspace.h"

static const mica__kernel_param pack_params[] = {
    MICA__CASE("PER", "values an element", 4, 2),
    MICA__CASE("WIDE", "1: pairs of shorts", 0, 1),
};
static const mica__variant pack_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, 4, 0)};
const mica__kernel_desc mica__int8_pack_kernel = {
    MICA__KERNEL("int8_pack", "quant/pack.cl", pack_params, pack_variants)};

static const mica__kernel_param image_params[] = {
    MICA__CASE("PER", "channels an element", 4, 2),
    MICA__INT("VW", "pixels of a vector", 1, 16),
};
static const mica__variant image_variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, 4, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, 4, 1),
};
const mica__kernel_desc mica__int8_image_kernel = {
    MICA__KERNEL("int8_image", "quant/image.cl", image_params, image_variants)};

static const mica__variant split_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, 0)};
const mica__kernel_desc mica__int8_split_kernel = {
    .name = "int8_split", .file = "quant/cpu/split.cl", .variants = split_variants, .variant_count = 1};

int32_t mica__int8_input(const mica__int8_attrs *attrs, mica__int8_operand operand) {
  return mica__present_index(attrs->present, (int32_t)operand);
}

bool mica__int8_int_zeros(const mica__int8 *p) {
  const mica_tensor *first = p->in[MICA__INT8_FIRST_ZERO], *second = p->in[MICA__INT8_SECOND_ZERO];
  return (first && mica_tensor_dtype(first) == MICA_I32) || (second && mica_tensor_dtype(second) == MICA_I32);
}

int64_t mica__int8_steps(const mica__int8 *p, const mica__int8_form *form) {
  return mica__ceil_div(mica__ceil_div(p->depth, form->per), form->run) * form->run;
}

int32_t mica__int8_mask(const mica_tensor *tensor, mica_dtype to) { return mica_tensor_dtype(tensor) == to ? 0 : 128; }

/* Elements that are allocated after the images. The last tile of a product may read past the images by less than a
 * tile, and a GPU's tile has 64 columns. */
#define SLACK 64
/* The number of steps (elements of `per` values) that a work-item packs if sums are not requested. If they are
 * requested, one work-item packs all steps of a row or column. */
#define CHUNK 32

bool mica__int8_is_constant(const mica__int8 *p, mica__int8_operand operand) {
  return p->exec->prologue && p->exec->constant >> mica__int8_input(p->attrs, operand) & 1;
}

mica_queue *mica__int8_packer(const mica__int8 *p, mica__int8_operand operand) {
  return mica__int8_is_constant(p, operand) ? p->exec->prologue : p->exec->queue;
}

static mica_status element_tensor(mica_queue *queue, bool shorts, int64_t count, mica_tensor **tensor) {
  return mica__workspace_tensor(queue, shorts ? MICA_U16 : MICA_U32, MICA_SHAPE(count), tensor);
}

mica_status mica__int8_pack_matrix(const mica__exec *exec, mica_queue *queue, const mica__int8_matrix *m,
                                   mica_tensor *packed, mica_tensor *sums) {
  const mica__kernel_desc *desc = &mica__int8_pack_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  int64_t run = m->run ? m->run : 1, steps = m->steps ? m->steps : mica__ceil_div(m->depth, m->per);
  int64_t all = m->taps * steps, chunk = sums ? all : CHUNK;
  int64_t chunks = mica__ceil_div(all, chunk);
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "PER", (int32_t)m->per);
  mica__kernel_set(desc, values, "WIDE", m->per == 2 && m->wide);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, m->x);
  mica__launch_tensor(&launch, packed);
  mica__launch_optional(&launch, sums);
  const int64_t sizes[] = {m->batches, m->outer, m->taps, m->depth, steps, run};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_long(&launch, m->batch_step);
  mica__launch_long(&launch, m->outer_step);
  mica__launch_long(&launch, m->depth_step);
  mica__launch_size(&launch, chunk);
  mica__launch_size(&launch, chunks);
  mica__launch_size(&launch, m->width);
  mica__launch_int(&launch, mica__int8_mask(m->x, m->to));
  mica__launch_int(&launch, m->to == MICA_I8);
  mica__launch_int(&launch, sums != NULL);
  mica__launch_range1(&launch, m->batches * mica__ceil_div(m->outer, m->width) * m->width * chunks, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(m->x) + (double)mica_tensor_bytes(packed));
  return mica__queue_submit(queue, &launch);
}

/* Splits packed rows of filters so that vpmaddubsw does not saturate (cl/quant/cpu/split.cl). The strides of the
 * columns (wide, step_step and plane of `packed`) must be set already, because the kernel stores positions of
 * columns. */
static mica_status split_rows(const mica__int8 *p, mica_queue *queue, const mica__int8_form *form,
                              const mica__int8_packed *packed) {
  const mica__kernel_desc *desc = &mica__int8_split_kernel;
  const mica__conv_dims *d = &p->dims;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(p->exec, desc, values));
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, packed->rows);
  const int64_t sizes[] = {p->row_batches, p->m,           form->row_width,          d->filter[1],
                           d->filter[2],   d->dilation[1], d->dilation[2],           d->stride[1],
                           d->stride[2],   packed->wide,   mica__int8_steps(p, form)};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_long(&launch, packed->step_step);
  mica__launch_long(&launch, packed->plane);
  mica__launch_range1(&launch, p->row_batches * p->m, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(packed->rows));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__int8_pack_rows(const mica__int8 *p, const mica__int8_form *form, bool want_sums,
                                 mica__int8_packed *packed) {
  mica__int8_operand operand = p->conv ? MICA__INT8_SECOND : MICA__INT8_FIRST;
  mica_queue *queue = mica__int8_packer(p, operand);
  int64_t taps = p->conv ? mica__product3(p->dims.filter) : 1;
  const mica__int8_matrix m = {.x = p->in[operand],
                               .to = form->rows,
                               .per = form->per,
                               .batches = p->row_batches,
                               .outer = p->m,
                               .taps = taps,
                               .depth = p->depth,
                               .batch_step = p->m * p->depth * taps,
                               .outer_step = p->depth * taps,
                               .depth_step = taps,
                               .width = form->row_width,
                               .steps = mica__int8_steps(p, form),
                               .run = form->run,
                               .wide = true};
  const int64_t words = taps * m.steps, halves = form->split ? p->row_batches * p->m * (1 + 2 * words) : 0;
  int64_t count = p->row_batches * mica__ceil_div(p->m, m.width) * m.width * words;
  MICA_TRY(element_tensor(queue, false, count + halves, &packed->rows));
  if (want_sums) MICA_TRY(mica__workspace_tensor(queue, MICA_I32, MICA_SHAPE(p->row_batches, p->m), &packed->sums));
  MICA_TRY(mica__int8_pack_matrix(p->exec, queue, &m, packed->rows, packed->sums));
  return form->split ? split_rows(p, queue, form, packed) : MICA_OK;
}

static mica_status pack_columns(const mica__int8 *p, const mica__int8_form *form, mica__int8_packed *packed) {
  mica_queue *queue = mica__int8_packer(p, MICA__INT8_SECOND);
  const mica_tensor *b = p->in[MICA__INT8_SECOND];
  int64_t steps = mica__int8_steps(p, form), tiles = mica__ceil_div(p->n, form->column_width);
  int64_t batches = mica_tensor_shape(b).rank > 2 ? p->batches : 1;
  const mica__int8_matrix m = {.x = b,
                               .to = form->columns,
                               .per = form->per,
                               .batches = batches,
                               .outer = p->n,
                               .taps = 1,
                               .depth = p->depth,
                               .batch_step = p->n * p->depth,
                               .outer_step = p->transposed ? p->depth : 1,
                               .depth_step = p->transposed ? 1 : p->n,
                               .width = form->column_width,
                               .steps = steps};
  packed->step_step = form->column_width;
  packed->tile_step = steps * form->column_width;
  packed->b_batch = batches > 1 ? tiles * packed->tile_step : 0;
  packed->wide = p->n;
  MICA_TRY(element_tensor(queue, form->per == 2, batches * tiles * packed->tile_step, &packed->columns));
  return mica__int8_pack_matrix(p->exec, queue, &m, packed->columns, NULL);
}

/* The number of rows that a work-group packs on a CPU, small enough that each core gets several groups. */
static int64_t lines_of(const mica__int8 *p, int64_t all, int64_t of_plane) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(p->exec->queue));
  const int64_t lines = all / (8 * (int64_t)device->compute_units);
  return lines < 1 ? 1 : lines < of_plane ? lines : of_plane;
}

/* The number of groups (phases) of a packed image. A group holds the rows and columns with the same indices modulo the
 * stride (cl/quant/image.cl). A filter of one pixel reads the first group only. */
static int64_t phases_of(const mica__conv_dims *d) {
  return d->filter[1] * d->filter[2] == 1 ? 1 : d->stride[1] * d->stride[2];
}

/* Sets the strides of packed images; cl/quant/image.cl describes their layout. */
static void lay_images(const mica__int8 *p, const mica__int8_form *form, mica__int8_packed *packed) {
  const mica__conv_dims *d = &p->dims;
  packed->wide = d->out[2] + (d->filter[2] - 1) * d->dilation[2] / d->stride[2];
  packed->plane = (d->out[1] + (d->filter[1] - 1) * d->dilation[1] / d->stride[1]) * packed->wide;
  packed->step_step = phases_of(d) * packed->plane;
  packed->tile_step = form->column_width;
  packed->b_batch = mica__int8_steps(p, form) * packed->step_step;
}

static mica_status pack_images(const mica__int8 *p, const mica__int8_form *form, mica__int8_packed *packed) {
  const mica__kernel_desc *desc = &mica__int8_image_kernel;
  const mica__conv_dims *d = &p->dims;
  mica_queue *queue = mica__int8_packer(p, MICA__INT8_FIRST);
  const mica_tensor *x = p->in[MICA__INT8_FIRST], *zero = p->in[MICA__INT8_FIRST_ZERO];
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  /* If the zero point changes between runs, the launch cannot be in the prologue. */
  if (zero && mica__int8_packer(p, MICA__INT8_FIRST_ZERO) != queue) queue = p->exec->queue;
  int64_t steps = mica__int8_steps(p, form), phases = phases_of(d);
  const int64_t wide = packed->wide, rows = packed->plane / wide;
  MICA_TRY(element_tensor(queue, form->per == 2, p->batches * packed->b_batch + SLACK, &packed->columns));
  MICA_TRY(mica__exec_values(p->exec, desc, values));
  mica__kernel_set(desc, values, "PER", (int32_t)form->per);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_optional(&launch, zero);
  mica__launch_tensor(&launch, packed->columns);
  const int64_t sizes[] = {p->batches, p->depth,     steps,        d->in[1],  d->in[2], rows,
                           wide,       d->stride[1], d->stride[2], d->pad[1], d->pad[2]};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_int(&launch, mica__int8_mask(x, form->columns));
  mica__launch_int(&launch, zero != NULL);
  mica__launch_int(&launch, mica__int8_int_zeros(p));
  mica__launch_int(&launch, SLACK);
  const bool by_lines = mica__kernel_value(desc, values, "VW") > 1;
  const int64_t planes = p->batches * steps * phases, lines = lines_of(p, planes * rows, rows);
  mica__launch_size(&launch, lines);
  mica__launch_size(&launch, phases);
  if (by_lines)
    mica__launch_range1(&launch, planes * mica__ceil_div(rows, lines), 1);
  else
    mica__launch_range1(&launch, planes * packed->plane, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(x) + (double)mica_tensor_bytes(packed->columns));
  return mica__queue_submit(queue, &launch);
}

mica_status mica__int8_pack(const mica__int8 *p, const mica__int8_form *form, bool want_sums,
                            mica__int8_packed *packed) {
  if (p->conv) lay_images(p, form, packed);
  MICA_TRY(mica__int8_pack_rows(p, form, want_sums, packed));
  return p->conv ? pack_images(p, form, packed) : pack_columns(p, form, packed);
}

void mica__int8_packed_free(mica__int8_packed *packed) {
  mica_tensor_destroy(packed->rows);
  mica_tensor_destroy(packed->columns);
  mica_tensor_destroy(packed->sums);
}
