/* nn/message.h: message passing networks on graphs (mica/sparse.h has the patterns). */
#ifndef MICA_NN_MESSAGE_H
#define MICA_NN_MESSAGE_H

#include "base/shared.h"

#include <mica/nn.h>
#include <mica/sparse.h>

/* gcn: a dense layer, then the weighted sum over each vertex's entries (Kipf and Welling 2017).
 * gat: attention over the entries (Velickovic et al. 2018), heads joined.
 * gin: the weighted sum over the entries, then two dense layers (Xu et al. 2019, with epsilon 0). */
#define MICA__MESSAGE_LIST(X) X(GCN, "gcn") X(GAT, "gat") X(GIN, "gin")
typedef enum mica__message_kind {
#define MICA__MESSAGE_ENUM(name, text) MICA__MESSAGE_##name,
  MICA__MESSAGE_LIST(MICA__MESSAGE_ENUM)
#undef MICA__MESSAGE_ENUM
} mica__message_kind;

typedef struct mica__message_config {
  mica__message_kind kind;
  int64_t layers, width, heads; /* heads: of gat */
  double dropout;               /* after all layers except the last */
} mica__message_config;

/* One layer. x (N, V, F), weights (N, E, 1) of the entries (gat ignores them), result (N, V, width). Parameters are
 * named as in PyTorch Geometric's GCNConv, GATConv and GINConv; GINConv's network is Linear, ReLU, Linear. */
mica_value mica__nn_message(mica_nn *nn, const char *name, mica_value x, mica_value weights,
                            const mica_pattern *pattern, const mica__message_config *config);
/* Layers "conv1", "conv2", ... with ReLU after each: (N, V, width). */
MICA__SHARED mica_value mica__nn_messages(mica_nn *nn, mica_value x, mica_value weights, const mica_pattern *pattern,
                                          const mica__message_config *config);
/* Pools the vertices of each sample that have entries in the pattern. The result (N, F) is their mean, or their sum if
 * `sum` is true. */
MICA__SHARED mica_value mica__nn_pool_vertices(mica_value x, const mica_pattern *pattern, bool sum);
/* A dense layer "out" on pooled vertices, (N, F) to (N, outputs), or on each vertex, (N, V, F) to (N, V, outputs). */
MICA__SHARED mica_value mica__nn_message_answers(mica_nn *nn, mica_value x, int64_t outputs);

#endif
