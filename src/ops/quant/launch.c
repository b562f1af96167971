/* Arguments that the kernels of 8-bit products share: operands' numbers, and how sums are finished. */
#include "base/arith.h"
#include "cl/quant/fields.clh"
#include "ops/quant/int8.h"
#include "runtime/fields.h"

int32_t mica__int8_step(const mica_tensor *tensor) { return tensor && mica_tensor_count(tensor) > 1; }

/* Bit i: operand list[i] is present. */
static int32_t bits_of(const mica__int8 *p, const mica__int8_operand *list, size_t count) {
  int32_t bits = 0;
  for (size_t i = 0; i < count; i++) bits |= (p->in[list[i]] != NULL) << i;
  return bits;
}

/* Returns what a conversion to this type adds to the tensor's bytes, and so to their zero point: 128, -128, or 0 if the
 * tensor has this type. */
static int32_t flip_of(const mica_tensor *tensor, mica_dtype to) {
  return to == MICA_U8 ? mica__int8_mask(tensor, to) : -mica__int8_mask(tensor, to);
}

mica_status mica__int8_begin(const mica__int8 *p, const mica__kernel_desc *desc, int32_t *values,
                             mica__launch *launch) {
  const mica_dtype to = p->attrs->to;
  mica__kernel *kernel = NULL;
  mica__kernel_set(desc, values, "Y_T", (int32_t)(to == MICA_I8 ? MICA_U8 : to));
  MICA_TRY(mica__kernel_get(mica__queue_engine(p->exec->queue), desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  mica__launch_pack(launch);
  return MICA_OK;
}

MICA__PACKED(finish_fields, FINISH_FIELDS);

void mica__int8_push_finish(const mica__int8 *p, const mica__int8_form *form, mica__launch *launch) {
  const mica__int8_operand row = p->conv ? MICA__INT8_SECOND_SCALE : MICA__INT8_FIRST_SCALE;
  const mica__int8_operand column = p->conv ? MICA__INT8_FIRST_SCALE : MICA__INT8_SECOND_SCALE;
  const mica__int8_operand bits[] = {
      row, row + 1, column, column + 1, MICA__INT8_BIAS, MICA__INT8_Y_SCALE, MICA__INT8_Y_ZERO};
  const finish_fields f = {
      .row_scale = p->in[row],
      .row_zero = p->in[row + 1],
      .col_scale = p->in[column],
      .col_zero = p->in[column + 1],
      .bias = p->in[MICA__INT8_BIAS],
      .y_scale = p->in[MICA__INT8_Y_SCALE],
      .y_zero = p->in[MICA__INT8_Y_ZERO],
      .y = p->exec->output,
      .has = bits_of(p, bits, sizeof bits / sizeof *bits),
      .row_scale_step = mica__int8_step(p->in[row]),
      .row_zero_step = mica__int8_step(p->in[row + 1]),
      .col_scale_step = mica__int8_step(p->in[column]),
      .col_zero_step = mica__int8_step(p->in[column + 1]),
      .bias_by_row = p->conv,
      .int_zeros = mica__int8_int_zeros(p),
      .row_flip = flip_of(p->in[p->conv ? MICA__INT8_SECOND : MICA__INT8_FIRST], form->rows),
      .col_flip = flip_of(p->in[p->conv ? MICA__INT8_FIRST : MICA__INT8_SECOND], form->columns),
      .is_signed = p->attrs->to == MICA_I8,
      .least_result = (float)p->attrs->low,
      .most_result = (float)p->attrs->high,
  };
  finish_fields_push(launch, &f);
}

mica_status mica__int8_end(const mica__int8 *p, mica__launch *launch) {
  double taps = p->conv ? (double)mica__product3(p->dims.filter) : 1;
  double bytes = (double)mica_tensor_bytes(p->exec->output);
  for (int i = 0; i <= MICA__INT8_SECOND; i++) bytes += (double)mica_tensor_bytes(p->in[i]);
  mica__launch_cost(launch, 2 * (double)mica_tensor_count(p->exec->output) * (double)p->depth * taps, bytes);
  return mica__queue_submit(p->exec->queue, launch);
}

bool mica__int8_columns_are_alike(const mica__int8 *p) {
  const mica__int8_operand scale = p->conv ? MICA__INT8_FIRST_SCALE : MICA__INT8_SECOND_SCALE;
  return !mica__int8_step(p->in[scale]) && !mica__int8_step(p->in[scale + 1]) && (p->conv || !p->in[MICA__INT8_BIAS]);
}

int32_t mica__int8_height_of(int64_t m, bool tall) {
  static const struct {
    int32_t rows;
    double cost;
    bool tall;
  } heights[] = {{12, 1, true}, {8, 1.05, true}, {4, 1.35, true}, {1, 3, true},
                 {6, 1, false}, {4, 1.2, false}, {1, 2.5, false}};
  int32_t best = 1;
  double least = 0;
  for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
    double cost = (double)(mica__ceil_div(m, heights[i].rows) * heights[i].rows) * heights[i].cost;
    if (heights[i].tall != tall || (least > 0 && cost >= least)) continue;
    least = cost;
    best = heights[i].rows;
  }
  return best;
}
