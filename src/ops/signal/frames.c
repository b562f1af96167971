/* Cuts signals into frames; the adjoint op adds frames up into signals. */
#include "base/error.h"
#include "ops/select/launch_check.h"
#include "ops/signal/signal.h"
#include "runtime/launch.h"

#define MOST_LENGTH (INT32_MAX / 4)

static const char *const pads[] = {"zero", "reflect", "edge", "none"};

#define FRAMES_ATTRS(X, S)                                                                                             \
  X(S, INT, length, 1, "samples of a frame")                                                                           \
  X(S, INT, hop, 1, "from one frame to the next")                                                                      \
  X(S, INT, pad, 0, "samples before the first")                                                                        \
  X(S, INT, more, 0, "samples behind the last")                                                                        \
  X(S, ENUM, how, 0, "what these are", pads)
MICA__ATTR_STRUCT(frames, FRAMES_ATTRS);
static MICA__ATTR_TABLE(frames, FRAMES_ATTRS);

extern const mica__op mica__op_frames, mica__op_overlap_add;

static mica_status check_attrs(const mica__frames_attrs *how) {
  if (how->length < 1 || how->length > MOST_LENGTH)
    return mica__fail(MICA_E_INVALID, "length is %lld samples, but must be from 1 to 2^29 - 1", (long long)how->length);
  if (how->hop < 1 || how->hop > MOST_LENGTH)
    return mica__fail(MICA_E_INVALID, "hop is %lld samples, but must be from 1 to 2^29 - 1", (long long)how->hop);
  return MICA_OK;
}

/* Sets *count to the number of frames of x (signals, samples); MICA_DYNAMIC if the number of samples is open. */
static mica_status frame_count(const mica__frames_attrs *how, mica_shape x, int64_t *count) {
  char text[MICA_SHAPE_TEXT];
  if (x.rank != 2)
    return mica__fail(MICA_E_SHAPE, "x is %s, but must be (signals, samples)", mica_shape_format(x, text));
  int64_t t = x.dim[1];
  *count = MICA_DYNAMIC;
  if (t == MICA_DYNAMIC) return MICA_OK;
  if (t > MOST_LENGTH)
    return mica__fail(MICA_E_SHAPE, "x has %lld samples per signal, but may have at most 2^29 - 1", (long long)t);
  if (how->how == MICA_SIGNAL_PAD_REFLECT && (how->pad >= t || how->more >= t))
    return mica__fail(MICA_E_SHAPE,
                      "a signal of %lld samples cannot be padded with %lld reflected samples; it must be longer",
                      (long long)t, (long long)(how->pad > how->more ? how->pad : how->more));
  if (t + how->pad + how->more < how->length || t < 1)
    return mica__fail(MICA_E_SHAPE, "%lld samples are too few for a frame of %lld", (long long)t,
                      (long long)how->length);
  *count = 1 + (t + how->pad + how->more - how->length) / how->hop;
  return MICA_OK;
}

static mica_status infer_frames(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica__frames_attrs *how = attrs;
  int64_t count = 0;
  MICA_TRY(check_attrs(how));
  MICA_TRY(frame_count(how, inputs[0].shape, &count));
  out->shape = MICA_SHAPE(inputs[0].shape.dim[0], count, how->length);
  return MICA_OK;
}

static bool agree(int64_t a, int64_t b) { return a == b || a == MICA_DYNAMIC || b == MICA_DYNAMIC; }

static mica_status infer_overlap_add(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica__frames_attrs *how = attrs;
  const mica_shape x = inputs[0].shape, like = inputs[1].shape;
  char a[MICA_SHAPE_TEXT], b[MICA_SHAPE_TEXT];
  int64_t count = 0;
  MICA_TRY(check_attrs(how));
  MICA_TRY(frame_count(how, like, &count));
  if (x.rank != 3 || !agree(x.dim[0], like.dim[0]) || !agree(x.dim[1], count) || x.dim[2] != how->length)
    return mica__fail(MICA_E_SHAPE, "x is %s, but must hold frames of %lld samples, with a hop of %lld, for signals %s",
                      mica_shape_format(x, a), (long long)how->length, (long long)how->hop, mica_shape_format(like, b));
  *out = (mica__type){inputs[0].dtype, like};
  return MICA_OK;
}

/* Returns the index of the sample at position i, or -1 if a zero is read there. i counts from the signal's first sample
 * and may lie in the padding. */
static int64_t sample_at(const mica__frames_attrs *how, int64_t i, int64_t t) {
  if (i >= 0 && i < t) return i;
  if (how->how == MICA_SIGNAL_PAD_REFLECT) return i < 0 ? -i : 2 * (t - 1) - i;
  return how->how == MICA_SIGNAL_PAD_EDGE ? (i < 0 ? 0 : t - 1) : -1;
}

static mica_status evaluate(const mica__eval *eval, bool add) {
  const mica__frames_attrs *how = eval->attrs;
  const mica_shape signals = add ? eval->type->shape : eval->types[0].shape;
  const mica_shape framed = add ? eval->types[0].shape : eval->type->shape;
  int64_t t = signals.dim[1], count = framed.dim[1];
  for (int64_t i = 0; add && i < signals.dim[0] * t; i++) eval->output[i] = 0;
  for (int64_t n = 0, at = 0; n < framed.dim[0]; n++)
    for (int64_t f = 0; f < count; f++)
      for (int64_t i = 0; i < how->length; i++, at++) {
        int64_t from = sample_at(how, f * how->hop + i - how->pad, t);
        if (add && from >= 0) eval->output[n * t + from] += eval->inputs[0][at];
        if (!add) eval->output[at] = from < 0 ? 0 : eval->inputs[0][n * t + from];
      }
  return MICA_OK;
}
static mica_status evaluate_frames(const mica__eval *eval) { return evaluate(eval, false); }
static mica_status evaluate_overlap_add(const mica__eval *eval) { return evaluate(eval, true); }

/* --- launches --- */

static const mica__kernel_param frames_params[] = {
    MICA__DTYPE("X_T", "type of x and y", MICA__FLOATS),
    MICA__CASE("PAD", "0 zeros, 1 mirrored, 2 the ends", 0, 1, 2),
    MICA__INT("VW", "elements a work-item makes", 1, 2, 4, 8, 16),
};
static const mica__variant frames_variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 0, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, 0, 1),
};
static const mica__kernel_desc frames = {MICA__KERNEL("frames", "signal/frames.cl", frames_params, frames_variants)};

static const mica__kernel_param add_params[] = {
    MICA__DTYPE("X_T", "type of x and y", MICA__FLOATS),
    MICA__CASE("PAD", "0 zeros, 1 mirrored, 2 the ends", 0, 1, 2),
};
static const mica__variant add_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_F32, 0)};
static const mica__kernel_desc overlap_add = {
    MICA__KERNEL("overlap_add", "signal/overlap_add.cl", add_params, add_variants)};

static mica_status launch(const mica__exec *exec, bool add) {
  const mica__frames_attrs *how = exec->attrs;
  const mica__kernel_desc *desc = add ? &overlap_add : &frames;
  const mica_shape signals = mica_tensor_shape(add ? exec->output : exec->inputs[0]);
  const mica_shape framed = mica_tensor_shape(add ? exec->inputs[0] : exec->output);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(exec->output));
  mica__kernel_set(desc, values, "PAD", how->how == MICA_SIGNAL_PAD_NONE ? 0 : how->how);
  int64_t width = add ? 1 : mica__kernel_value(desc, values, "VW");
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, exec->inputs[0]);
  mica__launch_tensor(&launch, exec->output);
  const int64_t sizes[] = {signals.dim[0], signals.dim[1], framed.dim[1], how->length, how->hop, how->pad, how->more};
  for (int i = 0; i < (add ? 7 : 6); i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_range1(&launch,
                      add ? signals.dim[0] * signals.dim[1]
                          : framed.dim[0] * framed.dim[1] * ((how->length + width - 1) / width),
                      MICA__RANGE_GROUP);
  mica__launch_cost(&launch, add ? (double)mica_tensor_count(exec->inputs[0]) : 0,
                    (double)mica_tensor_bytes(exec->inputs[0]) + (double)mica_tensor_bytes(exec->output));
  return mica__queue_submit(exec->queue, &launch);
}
static mica_status launch_frames(const mica__exec *exec) { return launch(exec, false); }
static mica_status launch_overlap_add(const mica__exec *exec) { return launch(exec, true); }

/* --- gradients --- */

static mica_status grad_frames(const mica__grad *grad) {
  mica__frames_attrs attrs = *(const mica__frames_attrs *)mica__attrs_of(grad->y);
  mica_value operands[] = {grad->dy, grad->inputs[0]};
  grad->dinputs[0] = mica__graph_add(&mica__op_overlap_add, operands, 2, &attrs);
  return MICA_OK;
}
static mica_status grad_overlap_add(const mica__grad *grad) {
  mica__frames_attrs attrs = *(const mica__frames_attrs *)mica__attrs_of(grad->y);
  grad->dinputs[0] = mica__graph_add(&mica__op_frames, &grad->dy, 1, &attrs);
  return MICA_OK;
}

/* --- checks --- */

static const mica__frames_attrs short_ones = {7, 3, 0, 0, MICA_SIGNAL_PAD_NONE},
                                zeros = {20, 5, 10, 10, MICA_SIGNAL_PAD_ZERO},
                                mirrored = {33, 8, 16, 15, MICA_SIGNAL_PAD_REFLECT},
                                ends = {5, 1, 2, 2, MICA_SIGNAL_PAD_EDGE}, sparse = {2, 9, 0, 0, MICA_SIGNAL_PAD_ZERO};

static mica_status check_frames(mica__check *check) {
  const mica__launch_case list[] = {
      {.attrs = &short_ones, .inputs = {{MICA_F32, {2, {2, 40}}}}, .input_count = 1},
      {.attrs = &zeros, .inputs = {{MICA_F16, {2, {3, 41}}}}, .input_count = 1},
      {.attrs = &zeros, .inputs = {{MICA_F32, {2, {1, 1}}}}, .input_count = 1},
      {.attrs = &mirrored, .inputs = {{MICA_F32, {2, {2, 100}}}}, .input_count = 1},
      {.attrs = &mirrored, .inputs = {{MICA_BF16, {2, {1, 17}}}}, .input_count = 1},
      {.attrs = &ends, .inputs = {{MICA_F32, {2, {4, 3}}}}, .input_count = 1},
      {.attrs = &sparse, .inputs = {{MICA_F32, {2, {2, 30}}}}, .input_count = 1},
      {.attrs = &ends, .inputs = {{MICA_F32, {2, {0, 9}}}}, .input_count = 1},
  };
  return mica__check_launches(check, &mica__op_frames, "frames", list, sizeof list / sizeof *list);
}
static mica_status check_overlap_add(mica__check *check) {
  const mica__launch_case list[] = {
      {.attrs = &short_ones,
       .inputs = {{MICA_F32, {3, {2, 12, 7}}}, {MICA_F32, {2, {2, 40}}}},
       .input_count = 2,
       .terms = 3},
      {.attrs = &zeros,
       .inputs = {{MICA_F16, {3, {3, 9, 20}}}, {MICA_F16, {2, {3, 41}}}},
       .input_count = 2,
       .terms = 4},
      {.attrs = &mirrored,
       .inputs = {{MICA_F32, {3, {2, 13, 33}}}, {MICA_F32, {2, {2, 100}}}},
       .input_count = 2,
       .terms = 10},
      {.attrs = &mirrored,
       .inputs = {{MICA_BF16, {3, {1, 2, 33}}}, {MICA_BF16, {2, {1, 17}}}},
       .input_count = 2,
       .terms = 6},
      {.attrs = &ends, .inputs = {{MICA_F32, {3, {4, 3, 5}}}, {MICA_F32, {2, {4, 3}}}}, .input_count = 2, .terms = 10},
      {.attrs = &sparse, .inputs = {{MICA_F32, {3, {2, 4, 2}}}, {MICA_F32, {2, {2, 30}}}}, .input_count = 2},
  };
  return mica__check_launches(check, &mica__op_overlap_add, "overlap_add", list, sizeof list / sizeof *list);
}

static const mica__kernel_desc *const frames_kernels[] = {&frames, NULL}, *const add_kernels[] = {&overlap_add, NULL};
const mica__op mica__op_frames = {.name = "frames",
                                  .kernels = frames_kernels,
                                  .check = check_frames,
                                  .kind = MICA__OP_LAUNCH,
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .attrs = &mica__frames_attr_list,
                                  .dtypes = "f>0",
                                  .infer = infer_frames,
                                  .grad = grad_frames,
                                  .evaluate = evaluate_frames,
                                  .launch = launch_frames};
const mica__op mica__op_overlap_add = {.name = "overlap_add",
                                       .kernels = add_kernels,
                                       .check = check_overlap_add,
                                       .kind = MICA__OP_LAUNCH,
                                       .min_inputs = 2,
                                       .max_inputs = 2,
                                       .attrs = &mica__frames_attr_list,
                                       .dtypes = "f*>0",
                                       .infer = infer_overlap_add,
                                       .grad = grad_overlap_add,
                                       .evaluate = evaluate_overlap_add,
                                       .launch = launch_overlap_add,
                                       .shape_only = 1u << 1};

/* --- builders --- */

mica_value mica__frames(mica_value x, int64_t length, int64_t hop, mica_signal_pad how, int64_t pad, int64_t more) {
  return mica__graph_add(&mica__op_frames, &x, 1, &(mica__frames_attrs){length, hop, pad, more, (int32_t)how});
}

mica_value mica__overlap_add(mica_value frames_of, mica_value like, int64_t length, int64_t hop, int64_t pad,
                             int64_t more) {
  mica_value operands[] = {frames_of, like};
  return mica__graph_add(&mica__op_overlap_add, operands, 2,
                         &(mica__frames_attrs){length, hop, pad, more, MICA_SIGNAL_PAD_ZERO});
}

static bool padding(const char *op, mica_value x, int64_t length, mica_signal_pad how, int64_t *pad) {
  *pad = how == MICA_SIGNAL_PAD_NONE ? 0 : length / 2;
  return mica__builder_choice(op, x, "pad", (int64_t)how, MICA_SIGNAL_PAD_NONE + 1);
}

mica_value mica_frames(mica_value x, int64_t length, int64_t hop, mica_signal_pad how) {
  int64_t pad;
  if (!padding("frames", x, length, how, &pad)) return (mica_value){0};
  return mica__frames(x, length, hop, how, pad, pad);
}

mica_value mica_overlap_add(mica_value frames_of, mica_value like, int64_t hop, mica_signal_pad how) {
  const mica_shape shape = mica_value_shape(frames_of);
  int64_t pad, length = shape.rank == 3 ? shape.dim[2] : 1;
  if (!padding("overlap_add", frames_of, length, how, &pad)) return (mica_value){0};
  mica_value operands[] = {frames_of, like};
  return mica__graph_add(&mica__op_overlap_add, operands, 2,
                         &(mica__frames_attrs){length, hop, pad, pad, (int32_t)how});
}
