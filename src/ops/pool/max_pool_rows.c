/* Max pooling without positions, in windows with stride 2 along rows, on CPUs (cl/pool/max_pool_rows.cl). */
#include "base/arith.h"
#include "cl/pool/fields.clh"
#include "ops/pool/max_pool.h"
#include "runtime/fields.h"
#include "runtime/launch.h"
#include "runtime/tensor.h"

/* UNIT: the elements of x that make a work-item worthwhile. TOGETHER: the rows of outputs that a work-item computes
 * together. A work-item first finds the largest element of each column of their windows, and then of each window. It
 * takes at least so many rows. */
#define UNIT 16384
#define TOGETHER 4
/* LEAST: the fewest columns and outputs; with fewer, most lanes of a vector are empty. LEAST_SIZE: the fewest columns
 * of a window; windows of two columns with stride 2 do not overlap. */
#define LEAST 4
#define LEAST_SIZE 3
/* The columns and the outputs of a vector if elements are bytes. */
#define BYTE_COLUMNS 16
#define BYTE_OUTPUTS 8

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of x", MICA_F32, MICA_F16, MICA_BF16, MICA_I8, MICA_U8),
    MICA__INT("CW", "columns that are taken as one vector", 4, 8, 16),
    MICA__INT("VW", "outputs that are taken as one vector", 4, 8, 16)};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 16, 8)};
const mica__kernel_desc mica__kernel_max_pool_rows = {
    MICA__KERNEL("max_pool_rows", "pool/max_pool_rows.cl", params, variants)};

MICA__FIELDS(rows_fields, POOL_ROWS);
MICA__FIELDS(rows_window_fields, POOL_ROWS_WINDOW);

static const mica__pool_planes *planes_of_task(const mica__task *task) {
  return &((const mica__pool_problem *)task->problem)->p;
}

/* Returns the number of columns from the first one of the padding to the last one that a window reaches. The kernel
 * reads one more. */
static int64_t reach(const mica__pool_planes *p) { return 2 * (p->m[2] - 1) + p->windows[2].size; }

/* Returns the number of columns in the plane, without padding, that windows reach. */
static int64_t columns(const mica__pool_planes *p) { return mica__min(p->n[2], reach(p) - p->windows[2].pad); }

static int64_t pitch(const mica__pool_planes *p) { return mica__ceil_div(reach(p) + 1, 16) * 16; }

static bool is_byte(mica_dtype dtype) { return dtype == MICA_I8 || dtype == MICA_U8; }

static size_t scratch_bytes(const mica__pool_planes *p, mica_dtype dtype) {
  return (size_t)(TOGETHER * pitch(p)) * (is_byte(dtype) ? 1 : sizeof(float));
}

static const char *decline(const mica__task *task) {
  const mica__exec *exec = ((const mica__pool_problem *)task->problem)->exec;
  const mica__pool_planes *p = planes_of_task(task);
  const mica__resample_window *h = &p->windows[1], *w = &p->windows[2];
  if (exec->outputs[MICA__POOL_INDICES]) return "positions are wanted";
  const mica_dtype dtype = mica_tensor_dtype(exec->inputs[0]);
  if (mica__kernel_choice(&mica__kernel_max_pool_rows, "X_T", (int32_t)dtype) < 0)
    return "the type is not f32, f16, bf16, i8 or u8";
  if (p->n[0] != 1 || p->m[0] != 1 || p->windows[0].pad || p->windows[0].outputs)
    return "the windows have three dimensions";
  if (h->outputs || w->outputs || h->dilation != 1 || w->dilation != 1) return "the windows are adaptive or dilated";
  if (w->stride != 2 || w->size < LEAST_SIZE) return "the stride is not 2 or the windows do not overlap";
  if (columns(p) < (is_byte(dtype) ? BYTE_COLUMNS : LEAST) || p->m[2] < (is_byte(dtype) ? BYTE_OUTPUTS : LEAST))
    return "rows are too short";
  if (scratch_bytes(p, dtype) > task->device->local_bytes) return "rows do not fit in local memory";
  return mica__exec_declines(exec, task, &mica__kernel_max_pool_rows);
}

/* Returns the largest power of two that is at most `most`, itself a power of two, and at most `elements`. */
static int32_t lanes_for(int64_t elements, int32_t most) {
  while (most > elements) most /= 2;
  return most;
}

static mica_status launch(mica_queue *queue, const mica__task *task) {
  const mica__kernel_desc *desc = &mica__kernel_max_pool_rows;
  const mica__exec *exec = ((const mica__pool_problem *)task->problem)->exec;
  const mica__pool_planes *p = planes_of_task(task);
  const mica__resample_window *h = &p->windows[1], *w = &p->windows[2];
  const mica_tensor *x = exec->inputs[0], *y = exec->outputs[MICA__POOL_VALUES];
  const int64_t rows = p->count * p->m[1], per = mica__max(TOGETHER, UNIT / (h->stride * p->n[2]));
  mica_engine *engine = mica__queue_engine(queue);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(desc, values, "CW", lanes_for(columns(p), BYTE_COLUMNS));
  mica__kernel_set(desc, values, "VW", lanes_for(p->m[2], BYTE_OUTPUTS));
  MICA_TRY(mica__kernel_get(engine, desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  const rows_fields plane = {
      .height = p->n[1], .width = p->n[2], .p_count = p->m[1], .q_count = p->m[2], .PITCH = pitch(p)};
  const rows_window_fields window = {
      .SIZE1 = h->size, .SIZE2 = w->size, .STRIDE1 = h->stride, .PAD1 = h->pad, .PAD2 = w->pad};
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, y);
  mica__launch_long(&launch, rows);
  mica__launch_size(&launch, per);
  mica__launch_sizes(&launch, plane.values);
  mica__launch_sizes(&launch, window.values);
  mica__launch_local(&launch, scratch_bytes(p, mica_tensor_dtype(x)));
  mica__launch_range1(&launch, mica__ceil_div(rows, per), 1);
  mica__launch_cost(&launch, 0, (double)(mica_tensor_bytes(x) + mica_tensor_bytes(y)));
  return mica__queue_submit(queue, &launch);
}

const mica__impl mica__max_pool_rows = {
    .name = "max_pool_rows", .kernel = &mica__kernel_max_pool_rows, .decline = decline, .launch = launch};
