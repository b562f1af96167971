/* mica/adapter.h: low-rank adapters: train a small addition to a network whose own weights do not change.
 *
 *   mica_adapter *adapter;
 *   mica_adapter_create(&(mica_adapter_config){.rank = 16}, &adapter);
 *   mica_nn_config config = {.hook = mica_adapter_hook, .hook_user = adapter, .training = true};
 *   mica_foundation_hold(model, &config); mica_nn_create(graph, &config, &nn);
 *   mica_value loss = build(nn);
 *   mica_adapter_freeze_base(adapter, nn);
 *   mica_optimize(nn, loss, &optimizer, NULL);
 *
 * An adapted dense layer computes y + scale B (A drop(x)) instead of y, with A (rank, inputs) and B (outputs, rank) in
 * f32 (LoRA; Hu et al. 2021). B starts as zeros, so that training starts from the network's own answers. The network
 * may hold its weights in blocks or in 16 bits (mica_nn_config.hold): gradients pass through them to x, and no gradient
 * of them is computed (QLoRA; Dettmers et al. 2023).
 *
 * The parameters of the layer "layers.0.self_attn.q_proj" are "layers.0.self_attn.q_proj.lora_A.weight" and
 * "layers.0.self_attn.q_proj.lora_B.weight". mica/finetune.h reads and writes files of adapters.
 *
 * Threads: use an adapter from one thread at a time. */
#ifndef MICA_ADAPTER_H
#define MICA_ADAPTER_H

#include <mica/nn.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

typedef struct mica_adapter mica_adapter;

#define MICA_ADAPTER_MAX_RANK 1024

typedef struct mica_adapter_config {
  int32_t rank;   /* 0: 8 */
  double alpha;   /* scale = alpha / rank; 0: 2 rank */
  double dropout; /* probability of setting an element of x to 0; only in networks that are built for training */
  bool rslora;    /* scale = alpha / sqrt(rank) (Kalajdzievski 2023) */
  /* Layers to adapt, separated by commas: full names, last parts of names, or patterns with * and ?: "q_proj,v_proj",
   * "layers.0.*". "o_proj" also means "out_proj". NULL, "all" and "all-linear": all dense layers except the output
   * layer, "head" or "*.head". */
  const char *targets;
} mica_adapter_config;

/* Creates an adapter without layers; a network adds them as it is built. config may be NULL. MICA_E_INVALID: a rank
 * outside 1 to 1,024, an alpha that is negative or not finite, a dropout outside [0, 1), or an empty name among the
 * targets. */
MICA_API MICA_CHECKED mica_status mica_adapter_create(const mica_adapter_config *config, mica_adapter **adapter);
/* Destroys an adapter. Networks that are already built with it stay valid. NULL is a no-op. */
MICA_API void mica_adapter_destroy(mica_adapter *adapter);

/* Returns the configuration with defaults filled in. The adapter owns `targets`; NULL stands for all dense layers
 * except the output layer. After mica_adapter_add, `targets` no longer counts. */
MICA_API const mica_adapter_config *mica_adapter_describe(const mica_adapter *adapter);

/* An adapted layer. */
typedef struct mica_adapter_layer {
  const char *name;        /* the layer's name, for example "layers.0.self_attn.q_proj" */
  int64_t inputs, outputs; /* the layer's sizes */
  int32_t rank;
  double scale;
  const float *a, *b; /* (rank, inputs) and (outputs, rank); NULL: not yet read from a session or a file */
} mica_adapter_layer;

/* Number of layers, and layer number `index`, from 0; NULL if index is too large. The pointer is valid until the
 * adapter changes. */
MICA_API size_t mica_adapter_count(const mica_adapter *adapter);
MICA_API const mica_adapter_layer *mica_adapter_at(const mica_adapter *adapter, size_t index);
/* Adds a copy of a layer with its values, for example from a file. After the first call the adapter ignores `targets`,
 * and networks no longer add layers to it. MICA_E_INVALID: adapter, layer, name, a or b is NULL; the rank is not 1 to
 * 1,024; inputs or outputs are not 1 to 2^30; scale is not finite; or the adapter already has the layer. */
MICA_API MICA_CHECKED mica_status mica_adapter_add(mica_adapter *adapter, const mica_adapter_layer *layer);

/* The hook for networks (mica_nn_config.hook); hook_user is the adapter. It reports errors in the graph.
 * MICA_E_UNSUPPORTED: a target is not a dense layer, for example an embedding. MICA_E_SHAPE: the sizes of a layer
 * differ from those in the adapter; the message shows both. */
MICA_API mica_value mica_adapter_hook(void *adapter, mica_nn *nn, mica_nn_point point, const char *layer,
                                      mica_value value);

/* Freezes all weights of a network except the adapter's. Call it after the network is built and before mica_optimize.
 * MICA_E_NOT_FOUND: a target or a layer of the adapter matched no adapted layer of the network (the message names it),
 * or no layer is adapted. */
MICA_API MICA_CHECKED mica_status mica_adapter_freeze_base(const mica_adapter *adapter, mica_nn *nn);
/* True for parameters that an adapter adds to a network, by their name. */
MICA_API bool mica_adapter_is_parameter(const char *own_name);

/* Uploads values of the adapter into a session made from nn's graph. If the adapter has no values for a layer, the
 * session keeps its own. Blocks. MICA_E_NOT_FOUND: the session lacks one of the layers. MICA_E_SHAPE: the layer has
 * other sizes in the session. */
MICA_API MICA_CHECKED mica_status mica_adapter_write_to(const mica_adapter *adapter, const mica_nn *nn,
                                                        mica_session *session);
/* Downloads the values of all layers of the adapter from a session. Blocks. It fails in the same cases as
 * mica_adapter_write_to. */
MICA_API MICA_CHECKED mica_status mica_adapter_read_from(mica_adapter *adapter, const mica_nn *nn,
                                                         mica_session *session);

/* --- several hooks --- */

typedef struct mica_nn_hook_entry {
  mica_nn_hook *hook;
  void *user;
} mica_nn_hook_entry;

/* Hooks to call in order, each with the result of the one before. */
typedef struct mica_nn_hooks {
  const mica_nn_hook_entry *list;
  size_t count;
} mica_nn_hooks;

/* A hook that calls the hooks of a mica_nn_hooks, given as hook_user. */
MICA_API mica_value mica_nn_hook_list(void *hooks, mica_nn *nn, mica_nn_point point, const char *layer,
                                      mica_value value);

MICA_END_DECLS

#endif
