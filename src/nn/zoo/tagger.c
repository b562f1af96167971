/* tagger: a bidirectional LSTM; one answer per position or one for all. */
#include "nn/zoo/sequence.h"

mica_value mica__zoo_tagger(mica_nn *nn, mica_value x, const mica_model_config *config) {
  const mica_model_config c = mica__sequence_config(config, (mica__sequence_defaults){256, 0, 2, 1});
  const mica_nn_rnn_config lstm = {.kind = MICA_RNN_KIND_LSTM,
                                   .layers = c.sequence.layers,
                                   .direction = MICA_RNN_DIRECTION_BOTH,
                                   .dropout = c.dropout,
                                   .lengths = c.sequence.lengths};
  if (mica_dtype_kind_of(mica_value_dtype(x)) != MICA_DTYPE_KIND_FLOAT) x = mica__sequence_embed(nn, x, &c, 1);
  mica_rnn_results r = mica_nn_rnn(nn, "lstm", mica_nn_dropout(nn, x, c.dropout), c.width, &lstm);
  mica_value y = r.y;
  if (c.sequence.pooled) {
    /* Each direction's last state has seen the whole sequence. */
    y = mica_transpose(r.h, MICA_AXES(1, 0, 2));
    const int64_t units = mica_value_is_null(y) ? c.width : mica_value_shape(y).dim[2];
    y = mica_reshape(y, MICA_SHAPE(MICA__COPY_DIM(0), 2 * units));
  }
  return mica_nn_dense(nn, "head", mica_nn_dropout(nn, y, c.dropout), c.classes, NULL);
}
