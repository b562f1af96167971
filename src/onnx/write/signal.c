/* Writes frames of signals and their spectra. */
#include "onnx/write/writer.h"

#include "base/element.h"
#include "ops/signal/signal.h"

#include <stdlib.h>

/* Adds `pad` samples before and `more` samples after x (N, T). A negative number removes samples instead. */
static const char *padded(mica__onnx_writer *w, int32_t x, int64_t pad, int64_t more, int64_t how) {
  static const char *const modes[] = {"constant", "reflect", "edge", "constant"};
  const int64_t pads[] = {0, pad, 0, more};
  const char *name = mica__write_operand(w, x);
  if (!pad && !more) return name;
  const char *longer = mica__write_node(w, "Pad", NULL, MICA__OPERANDS(name, mica__write_integers(w, pads, 4)));
  mica__write_text(w, "mode", modes[how]);
  return longer;
}

static const char *scalar(mica__onnx_writer *w, int64_t value) {
  return mica__write_scalar(w, MICA_I64, (double)value);
}

/* The sample indices (frames, length) of each frame of a signal. extent: the signal's length, (1) i64. */
static const char *positions(mica__onnx_writer *w, const char *extent, int64_t length, int64_t hop) {
  const int64_t last = 1;
  int64_t *within = mica__write_room(w, (size_t)length * sizeof *within);
  for (int64_t i = 0; within && i < length; i++) within[i] = i;
  const char *whole = mica__write_node(w, "Squeeze", NULL, MICA__OPERANDS(extent));
  const char *room = mica__write_node(w, "Sub", NULL, MICA__OPERANDS(whole, scalar(w, length - 1)));
  const char *begins = mica__write_node(w, "Range", NULL, MICA__OPERANDS(scalar(w, 0), room, scalar(w, hop)));
  const char *column =
      mica__write_node(w, "Unsqueeze", NULL, MICA__OPERANDS(begins, mica__write_integers(w, &last, 1)));
  return mica__write_node(w, "Add", NULL, MICA__OPERANDS(column, mica__write_integers(w, within, (size_t)length)));
}

MICA__WRITE(frames) {
  const int64_t length = mica__node_int(node, "length"), axis = 1;
  const char *x = padded(w, node->inputs[0], mica__node_int(node, "pad"), mica__node_int(node, "more"),
                         mica__node_int(node, "how"));
  const char *shape = mica__write_node(w, "Shape", NULL, MICA__OPERANDS(x));
  const char *extent = mica__write_node(w, "Gather", NULL, MICA__OPERANDS(shape, mica__write_integers(w, &axis, 1)));
  const char *at = positions(w, extent, length, mica__node_int(node, "hop"));
  mica__write_node(w, "Gather", mica__write_own(w, id), MICA__OPERANDS(x, at));
  mica__write_int(w, "axis", 1);
}

/* The window, centred in a frame: (length). */
static const char *window_of(mica__onnx_writer *w, const mica_stft_config *c, mica_dtype dtype) {
  double *values = mica__stft_window(c);
  char *whole = mica__write_room(w, (size_t)c->length * mica_dtype_size(dtype));
  if (!values && w->status == MICA_OK) w->status = mica__fail_nomem("a window");
  for (int64_t i = 0; values && whole && i < c->width; i++)
    mica__element_set(dtype, whole, (c->length - c->width) / 2 + i, values[i]);
  free(values);
  return mica__write_tensor(w, "window", dtype, MICA_SHAPE(c->length), whole);
}

/* Operand: x (N, T); numbers: length, hop, width, pad, window, flags (1: symmetric, 2: normalized). */
MICA__WRITE_MARK(stft) {
  const double *n = node->mark->numbers;
  const mica_stft_config c = {.length = (int64_t)n[0],
                              .hop = (int64_t)n[1],
                              .width = (int64_t)n[2],
                              .pad = (mica_signal_pad)n[3],
                              .window = (mica_signal_window)n[4],
                              .symmetric = (int)n[5] & 1,
                              .normalized = (int)n[5] & 2};
  const int64_t pad = c.pad == MICA_SIGNAL_PAD_NONE ? 0 : c.length / 2, last = 2;
  const char *x = padded(w, node->mark->inputs[0], pad, pad, (int64_t)c.pad);
  const char *column = mica__write_node(w, "Unsqueeze", NULL, MICA__OPERANDS(x, mica__write_integers(w, &last, 1)));
  const char *window = window_of(w, &c, node->type.dtype);
  mica__write_node(w, "STFT", mica__write_own(w, id),
                   MICA__OPERANDS(column, scalar(w, c.hop), window, scalar(w, c.length)));
  mica__write_int(w, "onesided", 1);
  return true;
}
