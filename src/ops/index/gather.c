#include "base/error.h"
#include "ops/index/index.h"
#include "ops/select/launch_check.h"
#include "runtime/launch.h"

const char *const mica__scatter_joins[] = {"set", "add", "mul", "max", "min"};
MICA__ATTR_TABLE(index, MICA__INDEX_ATTRS);

mica__index_view mica__index_view_of(const mica__index_attrs *attrs, mica_shape indexed, mica_shape indices) {
  const mica__rows rows = mica__rows_of(indexed, attrs->axis);
  mica__index_view view = {.outer = rows.outer, .n = rows.n, .m = 1, .inner = rows.inner};
  for (int32_t i = 0; !attrs->elements && i < indices.rank; i++) view.m *= indices.dim[i];
  if (attrs->elements) view.m = indices.dim[attrs->axis];
  return view;
}

int64_t mica__index_resolve(double index, int64_t n) {
  int64_t at = (int64_t)index;
  if (at < 0) at += n;
  return at >= 0 && at < n ? at : -1;
}

mica_status mica__index_infer(mica__index_attrs *attrs, const mica__type *indexed, const mica__type *indices,
                              mica_shape *taken) {
  char tx[MICA_SHAPE_TEXT], ti[MICA_SHAPE_TEXT];
  int64_t *axis = &attrs->axis;
  MICA_TRY(mica__axis(axis, indexed->shape.rank));
  if (attrs->elements) {
    bool fits = indexed->shape.rank == indices->shape.rank;
    for (int32_t i = 0; fits && i < indexed->shape.rank; i++)
      fits = i == *axis || indexed->shape.dim[i] == indices->shape.dim[i] || indexed->shape.dim[i] == MICA_DYNAMIC ||
             indices->shape.dim[i] == MICA_DYNAMIC;
    *taken = indices->shape;
    if (fits) return MICA_OK;
    return mica__fail(MICA_E_SHAPE, "x %s and indices %s must have the same rank and may differ along axis %lld only",
                      mica_shape_format(indexed->shape, tx), mica_shape_format(indices->shape, ti), (long long)*axis);
  }
  *taken = (mica_shape){.rank = indexed->shape.rank - 1 + indices->shape.rank};
  if (taken->rank > MICA_MAX_RANK)
    return mica__fail(MICA_E_SHAPE, "x %s indexed by %s would have more than %d dimensions",
                      mica_shape_format(indexed->shape, tx), mica_shape_format(indices->shape, ti), MICA_MAX_RANK);
  for (int32_t i = 0; i < taken->rank; i++)
    taken->dim[i] = i < *axis                         ? indexed->shape.dim[i]
                    : i < *axis + indices->shape.rank ? indices->shape.dim[i - *axis]
                                                      : indexed->shape.dim[i - indices->shape.rank + 1];
  return MICA_OK;
}

static mica_status infer_gather(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  return mica__index_infer(attrs, &inputs[0], &inputs[1], &out->shape);
}

static mica_status evaluate_gather(const mica__eval *eval) {
  const mica__index_attrs *attrs = eval->attrs;
  const mica__index_view v = mica__index_view_of(attrs, eval->types[0].shape, eval->types[1].shape);
  for (int64_t o = 0, at = 0; o < v.outer; o++)
    for (int64_t j = 0; j < v.m; j++)
      for (int64_t i = 0; i < v.inner; i++, at++) {
        int64_t k = mica__index_resolve(eval->inputs[1][attrs->elements ? at : j], v.n);
        eval->output[at] = k < 0 ? 0 : eval->inputs[0][(o * v.n + k) * v.inner + i];
      }
  return MICA_OK;
}

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of x and y", MICA__DTYPES),
    MICA__DTYPE("I_T", "type of the indices", MICA_I64, MICA_I32),
    MICA__INT("ELEMENTS", "1: an index for every element", 0, 1),
    MICA__INT("VW", "elements a work-item makes", 1, 2, 4, 8, 16),
    MICA__INT("AHEAD", "rows ahead of which one is read", 0, 8, 16, 32),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA_I64, 0, 16, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA_I64, 0, 1, 0),
};
static const mica__kernel_desc gather = {MICA__KERNEL("gather", "index/gather.cl", params, variants)};

static mica_status launch_gather(const mica__exec *exec) {
  const mica_tensor *x = exec->inputs[0], *indices = exec->inputs[1];
  const mica__index_attrs *attrs = exec->attrs;
  const mica__index_view v = mica__index_view_of(attrs, mica_tensor_shape(x), mica_tensor_shape(indices));
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  MICA_TRY(mica__exec_values(exec, &gather, values));
  mica__kernel_set(&gather, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(&gather, values, "I_T", (int32_t)mica_tensor_dtype(indices));
  mica__kernel_set(&gather, values, "ELEMENTS", attrs->elements);
  int64_t width = values[mica__kernel_param_index(&gather, "VW")];
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &gather, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, indices);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_size(&launch, v.outer);
  mica__launch_size(&launch, v.n);
  mica__launch_size(&launch, v.m);
  mica__launch_size(&launch, v.inner);
  mica__launch_range1(&launch, v.outer * v.m * ((v.inner + width - 1) / width), MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, 2 * (double)mica_tensor_bytes(exec->output) + (double)mica_tensor_bytes(indices));
  return mica__queue_submit(exec->queue, &launch);
}

static mica_status grad_gather(const mica__grad *grad) {
  mica__index_attrs attrs = *(const mica__index_attrs *)mica__attrs_of(grad->y);
  attrs.join = MICA_SCATTER_ADD;
  mica_value operands[] = {grad->inputs[0], grad->inputs[1], grad->dy};
  grad->dinputs[0] = mica__graph_add(&mica__op_scatter_into_zeros, operands, 3, &attrs);
  return MICA_OK;
}

static mica_status check_gather(mica__check *check) {
  const mica__launch_case list[] = {
      {.inputs = {{MICA_F32, {2, {5, 7}}}, {MICA_I64, {1, {3}}}}, .input_count = 2, .bound = {2, 6}},
      {.inputs = {{MICA_F16, {2, {5, 33}}}, {MICA_I32, {2, {2, 3}}}}, .input_count = 2, .bound = {2, 6}},
      {.attrs = &(mica__index_attrs){.axis = 1},
       .inputs = {{MICA_I8, {3, {2, 4, 3}}}, {MICA_I64, {0, {0}}}},
       .input_count = 2},
      {.attrs = &(mica__index_attrs){.axis = -1},
       .inputs = {{MICA_I64, {2, {3, 9}}}, {MICA_I64, {1, {70}}}},
       .input_count = 2,
       .bound = {99, 9}},
      {.inputs = {{MICA_F32, {2, {5, 0}}}, {MICA_I64, {1, {3}}}}, .input_count = 2},
      {.inputs = {{MICA_F32, {2, {0, 5}}}, {MICA_I64, {1, {3}}}}, .input_count = 2},
      {.inputs = {{MICA_BF16, {2, {300, 64}}}, {MICA_I64, {1, {129}}}}, .input_count = 2, .bound = {2, 300}},
  };
  return mica__check_launches(check, &mica__op_gather, "gather", list, sizeof list / sizeof *list);
}

static mica_status check_gather_elements(mica__check *check) {
  const mica__launch_case list[] = {
      {.attrs = &(mica__index_attrs){.axis = 0, .elements = true},
       .inputs = {{MICA_F32, {2, {5, 7}}}, {MICA_I64, {2, {3, 7}}}},
       .input_count = 2,
       .bound = {2, 6}},
      {.attrs = &(mica__index_attrs){.axis = 1, .elements = true},
       .inputs = {{MICA_F64, {2, {5, 7}}}, {MICA_I32, {2, {5, 9}}}},
       .input_count = 2,
       .bound = {2, 8}},
      {.attrs = &(mica__index_attrs){.axis = 1, .elements = true},
       .inputs = {{MICA_F16, {3, {2, 70, 3}}}, {MICA_I64, {3, {2, 2, 3}}}},
       .input_count = 2,
       .bound = {2, 70}},
      {.attrs = &(mica__index_attrs){.axis = 1, .elements = true},
       .inputs = {{MICA_BOOL, {3, {2, 7, 35}}}, {MICA_I64, {3, {2, 2, 35}}}},
       .input_count = 2,
       .bound = {2, 7}},
  };
  return mica__check_launches(check, &mica__op_gather_elements, "gather_elements", list, sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {&gather, NULL};

#define GATHER(label)                                                                                                  \
  const mica__op mica__op_##label = {.name = #label,                                                                   \
                                     .kernels = kernels,                                                               \
                                     .check = check_##label,                                                           \
                                     .kind = MICA__OP_LAUNCH,                                                          \
                                     .min_inputs = 2,                                                                  \
                                     .max_inputs = 2,                                                                  \
                                     .attrs = &mica__index_attr_list,                                                  \
                                     .dtypes = "*x>0",                                                                 \
                                     .infer = infer_gather,                                                            \
                                     .grad = grad_gather,                                                              \
                                     .evaluate = evaluate_gather,                                                      \
                                     .launch = launch_gather};
GATHER(gather)
GATHER(gather_elements)

mica_value mica_gather(mica_value x, mica_value indices, int32_t axis) {
  return mica__graph_add(&mica__op_gather, (mica_value[]){x, indices}, 2, &(mica__index_attrs){.axis = axis});
}

mica_value mica_gather_elements(mica_value x, mica_value indices, int32_t axis) {
  const mica__index_attrs attrs = {.axis = axis, .elements = true};
  return mica__graph_add(&mica__op_gather_elements, (mica_value[]){x, indices}, 2, &attrs);
}

mica_value mica_embedding(mica_value table, mica_value indices) { return mica_gather(table, indices, 0); }
