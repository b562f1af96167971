/* cnn_gru: a convolution along time, a bidirectional GRU, attention; one answer per position or one for all. */
#include "nn/zoo/sequence.h"

/* Sets the positions of x (B, T, C) after each sequence's length to zero, so that the convolution reads zeros there, as
 * it does beyond the ends of x. */
static mica_value cut(mica_value x, mica_value lengths) {
  if (mica_value_is_null(lengths)) return x;
  mica_value inside = mica_less(mica_unsqueeze(mica_positions(x, (mica_value){0}), MICA_AXES(0)),
                                mica_unsqueeze(lengths, MICA_AXES(1)));
  return mica_where(mica_unsqueeze(inside, MICA_AXES(2)), x, mica_full_like(x, 0));
}

/* Joins the last states (2, B, H) of both directions: (B, 1, 2 H). */
static mica_value last_states(mica_value h, int64_t width) {
  const int64_t units = mica_value_is_null(h) ? width : mica_value_shape(h).dim[2];
  return mica_reshape(mica_transpose(h, MICA_AXES(1, 0, 2)), MICA_SHAPE(MICA__COPY_DIM(0), 1, 2 * units));
}

mica_value mica__zoo_cnn_gru(mica_nn *nn, mica_value x, const mica_model_config *config) {
  const mica_model_config c = mica__sequence_config(config, (mica__sequence_defaults){128, 0, 1, 4});
  const mica_sequence_sizes *s = &c.sequence;
  const int64_t kernel = s->kernel ? s->kernel : 3;
  const mica_nn_conv_config conv = {.how = {.pad = {kernel / 2}, .pad_more = {kernel % 2 - 1}}};
  const mica_nn_rnn_config gru = {.kind = MICA_RNN_KIND_GRU,
                                  .layers = s->layers,
                                  .direction = MICA_RNN_DIRECTION_BOTH,
                                  .dropout = c.dropout,
                                  .lengths = s->lengths};
  const mica_nn_attention_config attention = {.heads = s->heads, .key_lengths = s->lengths};
  if (mica_dtype_kind_of(mica_value_dtype(x)) != MICA_DTYPE_KIND_FLOAT) x = mica__sequence_embed(nn, x, &c, 1);
  x = mica_transpose(cut(x, s->lengths), MICA_AXES(0, 2, 1));
  x = mica_transpose(mica_relu(mica_nn_conv(nn, "conv", x, c.width, kernel, &conv)), MICA_AXES(0, 2, 1));
  const mica_rnn_results r = mica_nn_rnn(nn, "gru", mica_nn_dropout(nn, x, c.dropout), c.width, &gru);
  /* The queries are the last states, or every position. */
  mica_value asked = s->pooled ? last_states(r.h, c.width) : r.y;
  x = mica_nn_attention(nn, "attention", asked, s->pooled ? r.y : (mica_value){0}, &attention);
  x = mica_nn_dropout(nn, mica_add(asked, x), c.dropout);
  if (s->pooled) x = mica_squeeze(x, MICA_AXES(1));
  return mica_nn_dense(nn, "head", x, c.classes, NULL);
}
