/* Weights in blocks as floats: all rows of a matrix, or the rows that ids name. */
#include "base/error.h"
#include "cl/blocks/fields.clh"
#include "ops/blocks/blocks.h"
#include "ops/common/build.h"
#include "ops/index/index.h"
#include "ops/select/launch_check.h"
#include "runtime/launch.h"

#include <math.h>

enum { TABLE, IDS };

static MICA__ATTR_TABLE(unblock, MICA__UNBLOCK_ATTRS);

const char *const mica__block_names[] = {
#define BLOCK_NAME(name, text, elements, bytes, number) text,
    MICA_BLOCK_LIST(BLOCK_NAME)
#undef BLOCK_NAME
};

/* --- types --- */

mica_status mica__unblock_check(const mica__unblock_attrs *attrs, const mica__type *table) {
  const mica__block_layout *layout = mica__block_layout_of((mica_block)attrs->block);
  char text[MICA_SHAPE_TEXT];
  if (!layout) return mica__fail(MICA_E_INVALID, "%d is not a block type", attrs->block);
  if (attrs->to != MICA_F32 && attrs->to != MICA_F16 && attrs->to != MICA_BF16)
    return mica__fail(MICA_E_DTYPE, "the result's type is %s, but must be f32, f16 or bf16",
                      mica_dtype_name(attrs->to));
  if (table->dtype != MICA_U8)
    return mica__fail(MICA_E_DTYPE, "blocks are %s, but must be u8", mica_dtype_name(table->dtype));
  if (attrs->columns < 0 || attrs->columns > INT32_MAX || attrs->columns % layout->elements != 0)
    return mica__fail(
        MICA_E_SHAPE,
        "the number of columns (%lld) must be from 0 to 2^31 - 1, and a multiple of a %s block's elements (%d)",
        (long long)attrs->columns, mica_block_name((mica_block)attrs->block), layout->elements);
  const int64_t bytes = attrs->columns / layout->elements * layout->bytes;
  if (table->shape.rank < 1 || table->shape.dim[table->shape.rank - 1] != bytes)
    return mica__fail(MICA_E_SHAPE, "blocks are %s, but rows of %lld columns in %s must have %lld bytes",
                      mica_shape_format(table->shape, text), (long long)attrs->columns,
                      mica_block_name((mica_block)attrs->block), (long long)bytes);
  return MICA_OK;
}

static mica_status infer_unblock(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  const mica__unblock_attrs *attrs = attributes;
  (void)input_count;
  MICA_TRY(mica__unblock_check(attrs, &inputs[TABLE]));
  *out = (mica__type){attrs->to, inputs[TABLE].shape};
  out->shape.dim[out->shape.rank - 1] = attrs->columns;
  return MICA_OK;
}

static mica_status infer_block_rows(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  const mica__unblock_attrs *attrs = attributes;
  const mica_shape table = inputs[TABLE].shape, ids = inputs[IDS].shape;
  char text[MICA_SHAPE_TEXT];
  (void)input_count;
  MICA_TRY(mica__unblock_check(attrs, &inputs[TABLE]));
  if (table.rank != 2)
    return mica__fail(MICA_E_SHAPE, "blocks are %s, but a table of rows must have two dimensions",
                      mica_shape_format(table, text));
  if (ids.rank >= MICA_MAX_RANK)
    return mica__fail(MICA_E_SHAPE, "ids are %s, so the result would have more than %d dimensions, the limit",
                      mica_shape_format(ids, text), MICA_MAX_RANK);
  *out = (mica__type){attrs->to, ids};
  out->shape.dim[out->shape.rank++] = attrs->columns;
  return MICA_OK;
}

/* --- the reference --- */

static void evaluate_row(const mica__unblock_attrs *attrs, const double *row, double *y) {
  const mica__block_layout *layout = mica__block_layout_of((mica_block)attrs->block);
  for (int64_t c = 0; c < attrs->columns; c += layout->elements, row += layout->bytes) {
    uint8_t block[MICA__BLOCK_MOST];
    float x[MICA__BLOCK_MOST];
    for (int32_t i = 0; i < layout->bytes; i++) block[i] = (uint8_t)row[i];
    mica__block_values((mica_block)attrs->block, block, x);
    for (int32_t i = 0; i < layout->elements; i++) y[c + i] = x[i];
  }
}

static int64_t row_bytes(mica_shape table) { return table.dim[table.rank - 1]; }

static mica_status evaluate_unblock(const mica__eval *eval) {
  const mica__unblock_attrs *attrs = eval->attrs;
  int64_t rows = 0;
  mica_shape lead = eval->types[TABLE].shape;
  lead.rank--;
  MICA_TRY(mica_shape_count(lead, &rows));
  for (int64_t r = 0; r < rows; r++)
    evaluate_row(attrs, eval->inputs[TABLE] + r * row_bytes(eval->types[TABLE].shape),
                 eval->output + r * attrs->columns);
  return MICA_OK;
}

static mica_status evaluate_block_rows(const mica__eval *eval) {
  const mica__unblock_attrs *attrs = eval->attrs;
  const mica_shape table = eval->types[TABLE].shape;
  int64_t rows = 0;
  MICA_TRY(mica_shape_count(eval->types[IDS].shape, &rows));
  for (int64_t r = 0; r < rows; r++) {
    const int64_t k = mica__index_resolve(eval->inputs[IDS][r], table.dim[0]);
    double *y = eval->output + r * attrs->columns;
    for (int64_t c = 0; k < 0 && c < attrs->columns; c++) y[c] = 0;
    if (k >= 0) evaluate_row(attrs, eval->inputs[TABLE] + k * row_bytes(table), y);
  }
  return MICA_OK;
}

/* --- the launch --- */

static const mica__kernel_param params[] = {
    MICA__CASE("BLOCK", "block type", MICA__BLOCK_TYPES),
    MICA__DTYPE("Y_T", "type of y", MICA_F32, MICA_F16, MICA_BF16),
    MICA__DTYPE("I_T", "type of the ids", MICA_I64, MICA_I32),
    MICA__CASE("INDEXED", "rows by ids", 0, 1),
    MICA__INT("VW", "elements a work-item makes", 16, 8, 4),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_BLOCK_Q4_0, MICA_F32, MICA_I64, 0, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_BLOCK_Q4_0, MICA_F32, MICA_I64, 0, 4),
};
static const mica__kernel_desc block_rows = {MICA__KERNEL("block_rows", "blocks/rows.cl", params, variants)};

static mica_status launch_rows(const mica__exec *exec, const mica_tensor *ids) {
  const mica__unblock_attrs *attrs = exec->attrs;
  const mica__block_layout *layout = mica__block_layout_of((mica_block)attrs->block);
  const mica_tensor *table = exec->inputs[TABLE];
  const mica_shape shape = mica_tensor_shape(table);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  const int64_t count = mica_tensor_count(exec->output);
  if (count == 0) return MICA_OK;
  const int64_t rows = count / attrs->columns;
  MICA_TRY(mica__exec_values(exec, &block_rows, values));
  mica__kernel_set(&block_rows, values, "BLOCK", attrs->block);
  mica__kernel_set(&block_rows, values, "Y_T", (int32_t)attrs->to);
  if (ids) mica__kernel_set(&block_rows, values, "I_T", (int32_t)mica_tensor_dtype(ids));
  mica__kernel_set(&block_rows, values, "INDEXED", ids != NULL);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &block_rows, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, table);
  mica__launch_optional(&launch, ids);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_long(&launch, rows);
  mica__launch_size(&launch, ids ? shape.dim[0] : rows);
  mica__launch_size(&launch, attrs->columns / layout->elements);
  mica__launch_range1(&launch, count / mica__kernel_value(&block_rows, values, "VW"), MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0,
                    (double)mica_tensor_bytes(exec->output) +
                        (double)rows * (double)(attrs->columns / layout->elements) * layout->bytes);
  return mica__queue_submit(exec->queue, &launch);
}

static mica_status launch_unblock(const mica__exec *exec) { return launch_rows(exec, NULL); }
static mica_status launch_block_rows(const mica__exec *exec) { return launch_rows(exec, exec->inputs[IDS]); }

/* --- the checks --- */

/* If the result is f32, fills the table with random bytes, so that any value of any field may occur, including
 * scales that are not finite. In f16 such elements would overflow, so f16 and bf16 take blocks with small scales. */
static void fill_table(mica__check *check, const mica__launch_case *c, int32_t input, double *values, int64_t count) {
  const mica__unblock_attrs *attrs = c->attrs;
  (void)input;
  if (attrs->to != MICA_F32) {
    mica__block_fill(check, (mica_block)attrs->block, values, count);
    return;
  }
  for (int64_t i = 0; i < count; i++) values[i] = floor(128 + 128 * mica__check_random(check));
}

void mica__block_fill(mica__check *check, mica_block type, double *values, int64_t count) {
  const mica__block_layout *layout = mica__block_layout_of(type);
  for (int64_t i = 0; i < count; i++) {
    const int64_t at = i % layout->bytes;
    uint8_t byte = (uint8_t)floor(128 + 128 * mica__check_random(check));
    if (layout->scales == BLOCK_POWERS && at == layout->d) byte = (uint8_t)(120 + byte % 8);
    if (layout->scales != BLOCK_POWERS && at == layout->d + 1) byte &= 0xbf;
    if (layout->minimum >= 0 && at == layout->minimum + 1) byte &= 0xbf;
    values[i] = byte;
  }
}

#define CASES (MICA_BLOCK_COUNT + 2)

/* Makes a case for each type, then cases for other dtypes, ranks and empty tables. */
static size_t make_cases(bool indexed, mica__unblock_attrs *attrs, mica__launch_case *list) {
  size_t count = 0;
  for (int type = MICA_BLOCK_NONE + 1; type < MICA_BLOCK_COUNT; type++) {
    attrs[count] = (mica__unblock_attrs){type, 3 * mica_block_elements((mica_block)type), MICA_F32};
    list[count++].inputs[TABLE].shape = MICA_SHAPE(7, 3 * (int64_t)mica_block_bytes((mica_block)type));
  }
  attrs[count] = (mica__unblock_attrs){MICA_BLOCK_Q8_0, 64, MICA_BF16};
  list[count++].inputs[TABLE].shape = indexed ? MICA_SHAPE(6, 68) : MICA_SHAPE(2, 3, 68);
  attrs[count] = (mica__unblock_attrs){MICA_BLOCK_Q5_K, 256, MICA_F16};
  list[count++].inputs[TABLE].shape = MICA_SHAPE(5, 176);
  attrs[count] = (mica__unblock_attrs){MICA_BLOCK_Q4_1, 32, MICA_F32};
  list[count++].inputs[TABLE].shape = MICA_SHAPE(0, 20);
  for (size_t i = 0; i < count; i++) {
    list[i].attrs = &attrs[i];
    list[i].inputs[TABLE].dtype = MICA_U8;
    list[i].input_count = indexed ? 2 : 1;
    list[i].filled = 1u << TABLE;
    list[i].fill = fill_table;
    list[i].terms = attrs[i].to != MICA_F32;
    list[i].inputs[IDS] = (mica__type){i % 2 ? MICA_I32 : MICA_I64, i % 3 ? MICA_SHAPE(5) : MICA_SHAPE(2, 9)};
    list[i].bound[IDS] = 10;
  }
  return count;
}

static mica_status check_unblock(mica__check *check) {
  mica__unblock_attrs attrs[CASES];
  mica__launch_case list[CASES] = {{0}};
  return mica__check_launches(check, &mica__op_unblock, "unblock", list, make_cases(false, attrs, list));
}

static mica_status check_block_rows(mica__check *check) {
  mica__unblock_attrs attrs[CASES];
  mica__launch_case list[CASES] = {{0}};
  return mica__check_launches(check, &mica__op_block_rows, "block_rows", list, make_cases(true, attrs, list));
}

/* --- in graphs --- */

static const mica__kernel_desc *const kernels[] = {&block_rows, NULL};
const mica__op mica__op_unblock = {.name = "unblock",
                                   .kernels = kernels,
                                   .check = check_unblock,
                                   .kind = MICA__OP_LAUNCH,
                                   .min_inputs = 1,
                                   .max_inputs = 1,
                                   .attrs = &mica__unblock_attr_list,
                                   .infer = infer_unblock,
                                   .evaluate = evaluate_unblock,
                                   .launch = launch_unblock,
                                   .transient = true,
                                   .kept = true};
const mica__op mica__op_block_rows = {.name = "block_rows",
                                      .kernels = kernels,
                                      .check = check_block_rows,
                                      .kind = MICA__OP_LAUNCH,
                                      .min_inputs = 2,
                                      .max_inputs = 2,
                                      .attrs = &mica__unblock_attr_list,
                                      .dtypes = "*x",
                                      .infer = infer_block_rows,
                                      .evaluate = evaluate_block_rows,
                                      .launch = launch_block_rows,
                                      .kept = true};

mica_value mica_unblock(mica_value blocks, mica_block type, int64_t columns, mica_dtype dtype) {
  return mica__graph_add(&mica__op_unblock, &blocks, 1, &(mica__unblock_attrs){(int32_t)type, columns, dtype});
}

mica_value mica_block_rows(mica_value blocks, mica_value ids, mica_block type, int64_t columns, mica_dtype dtype) {
  return mica__graph_add(&mica__op_block_rows, (mica_value[]){blocks, ids}, 2,
                         &(mica__unblock_attrs){(int32_t)type, columns, dtype});
}
