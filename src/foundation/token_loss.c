/* The loss of the next token, computed in pieces of a sequence. The f32 logits for a vocabulary of 49,152 take 192 KiB
 * per token. With their gradient and its operands, they would need more memory than everything else in training an
 * adapter.
 *
 * So the gradient of a piece's loss with respect to its features, g = d loss / d x, is computed right after the loss.
 * After that the piece's logits are not needed any more, and nothing is computed twice. The backward pass sees only the
 * term sum(x stop(g)), whose gradient is g. The reported loss is the sum of the pieces' losses, divided by the number
 * of labels. */
#include "foundation/build.h"

#include "ir/graph.h"

#include <mica/nodes.h>
#include <string.h>

#define PIECE_ROWS 256 /* tokens */
#define MOST_PIECES 64

typedef struct piece {
  mica_value loss;     /* sum */
  mica_value gradient; /* (B, steps, C), of x; null unless training */
} piece;

static mica_value sum_of(mica_value logits, mica_value labels) {
  const mica_cross_entropy_config only = {.reduction = MICA_LOSS_REDUCTION_SUM, .ignore = true, .ignored = -1};
  return mica_cross_entropy(logits, mica_reshape(labels, MICA_SHAPE(MICA_DYNAMIC)), &only);
}

static piece build_piece(mica_nn *nn, const mica_foundation *model, mica_value x, mica_value labels, int64_t first,
                         int64_t end) {
  const int64_t width = mica_value_shape(x).dim[2];
  piece p = {.gradient = {0}};
  mica_value rows = mica_flatten(mica_slice(x, 1, first, end, 1), 2);
  p.loss = sum_of(mica__build_logits(nn, &model->info, rows, true), mica_slice(labels, 1, first, end, 1));
  if (!mica_nn_is_training(nn) || mica_gradients(p.loss, &rows, 1, &p.gradient) != MICA_OK) return p;
  p.gradient = mica_reshape(p.gradient, MICA_SHAPE(MICA_DYNAMIC, end - first, width));
  return p;
}

/* True if the output layer has weights to train, which then need a gradient too. */
static bool trains_head(const mica_nn *nn) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++)
    if (!strncmp(mica_nn_parameter_at(nn, i)->own_name, "head.lora_", 10)) return true;
  return false;
}

static mica_value in_pieces(mica_nn *nn, const mica_foundation *model, mica_value x, mica_value labels, int64_t steps,
                            int64_t pieces) {
  const int64_t length = mica_value_shape(x).dim[1];
  mica_value loss = {0}, gradients[MOST_PIECES];
  for (int64_t i = 0; i < pieces; i++) {
    const int64_t first = i * steps, end = first + steps < length ? first + steps : length;
    const piece p = build_piece(nn, model, x, labels, first, end);
    loss = i ? mica_add(loss, p.loss) : p.loss;
    gradients[i] = p.gradient;
  }
  if (!mica_nn_is_training(nn)) return loss;
  mica_value g = mica_stop_gradient(mica_concat(gradients, (size_t)pieces, 1));
  mica_value term = mica_sum(mica_cast(mica_mul(x, g), MICA_F32), MICA_ALL_AXES, false);
  return mica_add(mica_stop_gradient(loss), mica_sub(term, mica_stop_gradient(term)));
}

/* Replaces x and labels by `most` positions of each sequence: those that have a label, in order, then others. */
static void take_counted(mica_graph *graph, int64_t most, mica_value *x, mica_value *labels) {
  const mica_shape shape = mica_value_shape(*x);
  mica_value counts = mica_cast(mica_greater_equal(*labels, mica_scalar(graph, MICA_I32, 0)), MICA_F32);
  mica_value at = mica_top_k(counts, most, 1, false).indices;
  mica_value rows = mica_expand(mica_unsqueeze(at, MICA_AXES(-1)), MICA_SHAPE(MICA_DYNAMIC, most, shape.dim[2]));
  *labels = mica_gather_elements(*labels, at, 1);
  *x = mica_gather_elements(*x, rows, 1);
}

mica_value mica__build_token_loss(mica_nn *nn, const mica_foundation *model, mica_value x, mica_value labels,
                                  int64_t batch, int64_t most, mica_value *counted) {
  const mica_shape shape = mica_value_shape(x);
  mica_graph *graph = mica_nn_graph(nn);
  *counted = (mica_value){0};
  if (mica_graph_status(graph) != MICA_OK || shape.rank != 3) return *counted;
  if (most < shape.dim[1]) take_counted(graph, most, &x, &labels);
  /* Creates the output layer, whose weight the pieces share. If these logits are not used, the compiler removes
   * them. */
  mica_value whole = mica__build_logits(nn, &model->info, x, false), loss;
  const int64_t length = mica_value_shape(x).dim[1], fit = PIECE_ROWS / (batch > 0 ? batch : 1);
  const int64_t least = (length + MOST_PIECES - 1) / MOST_PIECES, steps = fit > least ? fit : least;
  const int64_t pieces = (length + steps - 1) / steps;
  *counted =
      mica_sum(mica_cast(mica_greater_equal(labels, mica_scalar(graph, MICA_I32, 0)), MICA_F32), MICA_ALL_AXES, false);
  if (pieces < 2 || trains_head(nn))
    loss = sum_of(mica_flatten(whole, 2), labels);
  else
    loss = in_pieces(nn, model, x, labels, steps, pieces);
  /* A rank's part of a batch may have no labels: the loss is then 0, not 0 / 0. */
  return mica_div(loss, mica_maximum(*counted, mica_scalar(graph, MICA_F32, 1)));
}
