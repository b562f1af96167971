/* mica/compress.h: quantise and prune networks. Hooks of layers (mica/nn.h) do the work, so code that builds networks
 * stays unchanged. The result is an ordinary file of weights.
 *
 * To quantise a trained network, first measure the inputs of its layers:
 *
 *   mica_calibration_create(&calibration);
 *   mica_nn_create(graph, &(mica_nn_config){.hook = mica_calibration_hook, .hook_user = calibration}, &nn);
 *   mica_value z = network(nn, x);                                  the network with float weights
 *   mica_calibration_values(calibration, &values, &count);          further outputs of the session, after z
 *   ... after each of several runs: mica_calibration_note(calibration, session, 1);
 *
 * Then write integer weights:
 *
 *   mica_quantize_weights(calibration, NULL, weights, "small.safetensors", NULL);
 *
 * Then build the network on them:
 *
 *   mica_quantizer_open(small, &quantizer);
 *   mica_nn_create(graph, &(mica_nn_config){.hook = mica_quantize_hook, .hook_user = quantizer}, &nn);
 *   mica_value z = network(nn, x);                                  the same function; mica_nn_load fills it
 *
 * mica_run_quantize does all this for a run, and mica_onnx_quantize for an ONNX model (mica/run_convert.h).
 *
 * Threads: use an object from one thread at a time. */
#ifndef MICA_COMPRESS_H
#define MICA_COMPRESS_H

#include <mica/nn.h>
#include <mica/report.h>
#include <mica/safetensors.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* --- calibration --- */

/* Measures the inputs of layers over runs of the float network. For each layer with a weight, except embeddings, it
 * keeps a histogram of the input and the mean of each input channel. If only a batch norm reads the layer's result, it
 * also notes which. */
typedef struct mica_calibration mica_calibration;

/* name, text: how to choose a range from a histogram.
 *
 *   mse         least squared error from rounding and clipping
 *   minmax      all values seen
 *   percentile  all values but a small share at each end
 *   entropy     least divergence of the quantised from the measured distribution (Migacz 2017) */
#define MICA_CALIBRATION_METHOD_LIST(X)                                                                                \
  X(MSE, "mse")                                                                                                        \
  X(MINMAX, "minmax")                                                                                                  \
  X(PERCENTILE, "percentile")                                                                                          \
  X(ENTROPY, "entropy")

typedef enum mica_calibration_method {
#define MICA_CALIBRATION_METHOD_ENUM(name, text) MICA_CALIBRATION_METHOD_##name,
  MICA_CALIBRATION_METHOD_LIST(MICA_CALIBRATION_METHOD_ENUM)
#undef MICA_CALIBRATION_METHOD_ENUM
} mica_calibration_method;

/* "mse", "minmax", ...; NULL for any other value, so that counting from 0 lists them. */
MICA_API const char *mica_calibration_method_name(size_t method);

/* Creates an empty calibration. Runs of a network fill it. */
MICA_API MICA_CHECKED mica_status mica_calibration_create(mica_calibration **calibration);
/* NULL is a no-op. */
MICA_API void mica_calibration_destroy(mica_calibration *calibration);

/* A mica_nn_hook for one inference network. It returns every value unchanged. */
MICA_API mica_value mica_calibration_hook(void *calibration, mica_nn *nn, mica_nn_point point, const char *layer,
                                          mica_value value);
/* Returns the values (f32) that a session must compute for the calibration. Call it after building the network, and
 * append the values to the outputs of the session that you create then. The calibration owns the array. MICA_E_STATE:
 * the hook was never called. */
MICA_API MICA_CHECKED mica_status mica_calibration_values(mica_calibration *calibration, const mica_value **values,
                                                          size_t *count);
/* Adds the values of the session's last run to the calibration. `first` is the index of the first value of
 * mica_calibration_values among the session's outputs. Waits for the run. */
MICA_API MICA_CHECKED mica_status mica_calibration_note(mica_calibration *calibration, mica_session *session,
                                                        size_t first);

typedef struct mica_calibration_layer {
  const char *name; /* the layer's name with its scopes, without name_prefix */
  mica_shape weight;
  const char *norm;    /* batch norm that takes the layer's result, if nothing else does; NULL: none */
  bool has_input;      /* false for embeddings */
  bool finite;         /* every value seen was finite */
  double count;        /* number of input elements seen */
  double low, high;    /* range of the input elements seen */
  bool never_negative; /* guaranteed, because a ReLU makes the input */
} mica_calibration_layer;

/* Layers with a weight, in the order in which the network built them. NULL after the last one, and before
 * mica_calibration_values. */
MICA_API const mica_calibration_layer *mica_calibration_layer_at(const mica_calibration *calibration, size_t index);
/* Chooses the range of a layer's input for integers of 2 to 8 bits with the given method. The range includes 0.
 * *decibel (may be NULL) receives the expected signal-to-noise ratio. percentile: at most the share 1 - percentile of
 * all values is clipped at each end; 0: 0.9999. MICA_E_INVALID: an argument is out of range, or the layer has no input
 * (embeddings). MICA_E_STATE: no values were seen. MICA_E_NUMERIC: a value seen was not finite, or all were 0. */
MICA_API MICA_CHECKED mica_status mica_calibration_range(const mica_calibration *calibration, size_t layer,
                                                         mica_calibration_method method, double percentile,
                                                         int32_t bits, double *low, double *high, double *decibel);

/* --- quantisation --- */

typedef struct mica_quantize_settings {
  int32_t bits;      /* bits per weight: 8 or 4; 0: 8. Inputs always have 8. */
  bool weights_only; /* inputs of layers stay float */
  mica_calibration_method method;
  double percentile; /* see mica_calibration_range */
  /* With weights_only: number of inputs of a dense layer that share a scale: 32, 64 or 128. 0: one scale for all at 8
   * bits, 32 at 4 bits. If the number does not divide the layer's inputs, they share one scale. */
  int64_t group;
  bool no_correction; /* do not correct biases for the mean error of rounded weights */
  const char *keep;   /* pattern of layers that stay float, such as "head.*"; NULL: no layer */
} mica_quantize_settings;

/* Writes the given weights as integers into a file for mica_quantizer_open. settings NULL: all zeros. report (may be
 * NULL) receives a section with a table of layers. For a layer L the file holds:
 *
 *   L.weight_q        8 bits: I8 in -127 to 127; 4 bits: U8 (outputs, row / 2), two in a byte as in mica/quant.h
 *   L.weight_scale    one per output, or (outputs, groups); BF16, or F32 if BF16 is not exact (learned scales)
 *   L.input_scale     scalar; missing if inputs stay float, or if another layer's is used
 *   L.input_zero      scalar, U8; missing if L.input_scale is
 *
 * A row is all weights of one output. Layers that read the same input share the scale and zero of the first of these
 * layers, whose name is in the file's metadata, unless steps are learned. The factors of a batch norm after a layer are
 * folded into its weight and L.bias.
 *
 * With 4 bits, some layers keep 8 bits: embeddings, transposed convolutions, layers with rows of odd length and, unless
 * weights_only is set, the first and the last of more than two layers. Embeddings, transposed convolutions and
 * convolutions in three dimensions only have their weights quantised. All other tensors are copied. Learned steps
 * (mica_quantizer_create) are used if the file has them.
 *
 * MICA_E_STATE: the file is quantised already, or inputs need ranges and no run was noted. MICA_E_INVALID: a setting is
 * out of range, group is set without weights_only, or no layer remains to quantise. MICA_E_NOT_FOUND: `keep` matches no
 * layer. MICA_E_NUMERIC: a weight is not finite, or the range of an input is unusable; the message names the layer.
 * MICA_E_FORMAT: the file belongs to another network. */
MICA_API MICA_CHECKED mica_status mica_quantize_weights(const mica_calibration *calibration,
                                                        const mica_quantize_settings *settings,
                                                        const mica_safetensors *weights, const char *path,
                                                        mica_report *report);

/* Writes a copy of the weights to `path`, without metadata. For each pair of convolutions or dense layers with nothing
 * but a batch norm, a ReLU or both between them, it scales the weights of both layers so that the channels between them
 * have similar ranges. The network's function does not change. Do this before measuring inputs. *pairs (may be NULL)
 * receives the number of such pairs. MICA_E_STATE: mica_calibration_values was not called, or the weights are quantised
 * already. */
MICA_API MICA_CHECKED mica_status mica_equalize_weights(const mica_calibration *calibration,
                                                        const mica_safetensors *weights, const char *path,
                                                        size_t *pairs);

typedef struct mica_quantizer mica_quantizer;

/* Creates a quantizer with which networks compute on the integer weights of a file. The file may be closed afterwards.
 * MICA_E_FORMAT: the file is not quantised. */
MICA_API MICA_CHECKED mica_status mica_quantizer_open(const mica_safetensors *file, mica_quantizer **quantizer);
/* Creates a quantizer for quantisation-aware training. Weights and inputs are rounded with learned steps (LSQ, Esser et
 * al. 2020). Each convolution and dense layer L gets the parameters L.weight_step (outputs) and L.input_step (f32),
 * which hold logarithms of steps; other layers stay float during training. The calibration and settings (NULL: all
 * zeros) select layers and bits as in mica_quantize_weights; the calibration may be empty. Weight steps are per output,
 * so folding a norm afterwards does not change what was learned. */
MICA_API MICA_CHECKED mica_status mica_quantizer_create(const mica_calibration *calibration,
                                                        const mica_quantize_settings *settings,
                                                        mica_quantizer **quantizer);
/* NULL is a no-op. */
MICA_API void mica_quantizer_destroy(mica_quantizer *quantizer);

/* A mica_nn_hook for any number of networks. A quantizer from mica_quantizer_open does not change networks that train.
 */
MICA_API mica_value mica_quantize_hook(void *quantizer, mica_nn *nn, mica_nn_point point, const char *layer,
                                       mica_value value);
/* Sets the initial steps in the session of a network to train, from its weights and the measured inputs. MICA_E_STATE:
 * the quantizer is from mica_quantizer_open. */
MICA_API MICA_CHECKED mica_status mica_quantizer_begin(const mica_quantizer *quantizer,
                                                       const mica_calibration *calibration, mica_session *session);

/* --- pruning --- */

/* Structured pruning. A pruning knows which parts of weights must be removed together (DepGraph, Fang et al. 2023). To
 * remove a channel is to remove a filter with its bias and norm and all uses of its result in later layers. Residuals,
 * concatenations and depthwise convolutions add further filters. The following are treated as channels too:
 *
 * - a head of attention: its columns of queries, keys and values, and of the projection after it. If queries share keys
 *   and values, all heads of such a group are one channel.
 * - a unit between the two dense layers of a transformer block; a gated unit has two columns.
 * - a unit of a recurrent layer, with all gates and both directions.
 *
 * Some channels cannot be removed: those that a group norm or layer norm mixes, and heads that ALiBi or another mask
 * distinguishes. The last head, vocabularies, positions, inputs and outputs of the network cannot be removed either.
 * The groups are found in the network's graph, which must be an inference graph and outlive the object. */
typedef struct mica_pruning mica_pruning;

/* One axis of a parameter. The name has no name_prefix; the network owns it. */
typedef struct mica_prune_member {
  const char *name;
  int32_t axis;
} mica_prune_member;

/* A set of channels that lie along the same axes of the same parameters. Channels are numbered from 0, in the order of
 * their lowest indices in the first member. */
typedef struct mica_prune_group {
  const mica_prune_member *members;
  size_t member_count;
  int64_t channels, left; /* channels in total, and not yet removed; a head or a group of heads is one channel */
} mica_prune_group;

/* Metadata key of files whose weights lack channels. Files with masks do not have it. */
#define MICA_PRUNED_KEY "mica.pruned"

/* Creates a pruning. Every value that no other node of the graph reads counts as an output of the network. This
 * includes all states of a recurrent layer, even if only the last one is used. */
MICA_API MICA_CHECKED mica_status mica_pruning_create(const mica_nn *nn, mica_pruning **pruning);
/* Works as mica_pruning_create does, but only the given values of the network's graph, and values that are assigned to
 * parameters, count as outputs. */
MICA_API MICA_CHECKED mica_status mica_pruning_create_of(const mica_nn *nn, const mica_value *outputs, size_t count,
                                                         mica_pruning **pruning);
/* NULL is a no-op. */
MICA_API void mica_pruning_destroy(mica_pruning *pruning);
/* Returns group number `index`; NULL after the last one. The pointer is valid as long as the pruning exists; `left`
 * changes when channels are removed. */
MICA_API const mica_prune_group *mica_pruning_group_at(const mica_pruning *pruning, size_t index);

/* Adds to the scores of the channels that the parameter `name` is a member of, for each index of the channel along the
 * axis. If gradient is NULL, it adds the sum of w^2 over the elements w at this index. Otherwise gradient is the
 * gradient g of one batch, and it adds the square of the sum of w g over these elements (Molchanov et al. 2019). Pass
 * gradients for all weights or for none. */
MICA_API MICA_CHECKED mica_status mica_pruning_note(mica_pruning *pruning, const char *name, const float *values,
                                                    const float *gradient);
/* Removes one channel; does nothing if it is removed already. */
MICA_API MICA_CHECKED mica_status mica_pruning_remove(mica_pruning *pruning, size_t group, int64_t channel);
/* Removes channels until products and convolutions need at most `share` of the original FLOPs. Channels with the lowest
 * score, relative to the mean of their group, go first. They are removed 8 at a time from groups of 64 or more, 4 at a
 * time from groups of 16 or more. At least a tenth of the channels that a group has before the call stays.
 * MICA_E_STATE: too few channels can be removed; the removable ones have then been removed. */
MICA_API MICA_CHECKED mica_status mica_pruning_cut(mica_pruning *pruning, double share);
/* Remaining share of the FLOPs of products and convolutions. */
MICA_API double mica_pruning_flops(const mica_pruning *pruning);
/* Writes a file of the network's weights without the removed channels. A network whose mica_nn_config.like is this file
 * has the smaller widths. With `masks`, the shapes stay and the removed channels are zeros; this saves space only if
 * the file is then compressed. */
MICA_API MICA_CHECKED mica_status mica_pruning_write(const mica_pruning *pruning, const mica_safetensors *from,
                                                     bool masks, const char *path);

MICA_END_DECLS

#endif
