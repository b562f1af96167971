/* mica/compress.h: smaller networks that answer alike. All of it works through the hooks of layers (mica/nn.h): no
 * graph is changed, and what comes out is an ordinary file of weights.
 *
 * Quantising a trained network takes three steps:
 *
 *   mica_calibration_create(&calibration);
 *   mica_nn_create(graph, &(mica_nn_config){.hook = mica_calibration_hook, .hook_user = calibration}, &nn);
 *   mica_value z = network(nn, x);                                  the network with its float weights
 *   mica_calibration_values(calibration, &values, &count);          outputs of the session, behind z
 *   ... after each of some runs: mica_calibration_note(calibration, session, 1);
 *
 *   mica_quantize_weights(calibration, NULL, weights, "small.safetensors", NULL);
 *
 *   mica_quantizer_open(small, &quantizer);
 *   mica_nn_create(graph, &(mica_nn_config){.hook = mica_quantize_hook, .hook_user = quantizer}, &nn);
 *   mica_value z = network(nn, x);                                  the same function; mica_nn_load fills it
 *
 * mica_run_quantize does this for a run of any task. What has no layers needs neither hooks nor a network: a model in
 * ONNX, or a graph that mica_onnx_write writes as one, is quantised by mica_onnx_quantize.
 *
 * Threads: an object here is used by one thread at a time. */
#ifndef MICA_COMPRESS_H
#define MICA_COMPRESS_H

#include <mica/nn.h>
#include <mica/run.h>
#include <mica/safetensors.h>

MICA_BEGIN_DECLS

/* --- calibration --- */

/* What layers are given, measured over runs of the float network: for each layer with a weight a histogram of its
 * input, means of the input's channels, and which batch norm follows it alone. */
typedef struct mica_calibration mica_calibration;

/* name, text: how a range is chosen from a histogram.
 *
 * mse         least squared error of what is rounded and cut off
 * minmax      all that was seen
 * percentile  all but a share at each end
 * entropy     least divergence of the quantised from the measured distribution (Migacz 2017) */
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

/* "mse"; NULL for a value that is none, so that a count from 0 lists them. */
MICA_API const char *mica_calibration_method_name(size_t method);

/* An empty calibration, to be filled by runs of a network. */
MICA_API MICA_CHECKED mica_status mica_calibration_create(mica_calibration **calibration);
/* NULL is a no-op. */
MICA_API void mica_calibration_destroy(mica_calibration *calibration);

/* A mica_nn_hook, of one network that infers. It returns every value as it is. */
MICA_API mica_value mica_calibration_hook(void *calibration, mica_nn *nn, mica_nn_point point, const char *layer,
                                          mica_value value);
/* What a session has to compute for the calibration, f32, once the network is built and before its session: outputs
 * behind the caller's own. They are the calibration's. MICA_E_STATE: the hook was not called. */
MICA_API MICA_CHECKED mica_status mica_calibration_values(mica_calibration *calibration, const mica_value **values,
                                                          size_t *count);
/* Adds the run that the session did last; its outputs from `first` on are the values. Waits for the run. */
MICA_API MICA_CHECKED mica_status mica_calibration_note(mica_calibration *calibration, mica_session *session,
                                                        size_t first);

typedef struct mica_calibration_layer {
  const char *name; /* with its scopes, without name_prefix */
  mica_shape weight;
  const char *norm;    /* the batch norm that takes the layer's result and nothing else does; NULL: none */
  bool has_input;      /* embeddings have none */
  bool finite;         /* all that was seen */
  double count;        /* elements of the input that were seen */
  double low, high;    /* of these */
  bool never_negative; /* by what makes it, a ReLU, whatever was seen */
} mica_calibration_layer;

/* In the order in which the network was built. NULL behind the last. */
MICA_API const mica_calibration_layer *mica_calibration_layer_at(const mica_calibration *calibration, size_t index);
/* The range for 2^bits steps that the method chooses for a layer's input, 0 included, and the ratio of signal to noise
 * to be expected, in decibel. percentile: the share kept, 0: 0.9999. MICA_E_STATE: nothing was seen; MICA_E_NUMERIC:
 * what was seen is not finite. */
MICA_API MICA_CHECKED mica_status mica_calibration_range(const mica_calibration *calibration, size_t layer,
                                                         mica_calibration_method method, double percentile,
                                                         int32_t bits, double *low, double *high, double *decibel);

/* --- quantisation --- */

typedef struct mica_quantize_settings {
  int32_t bits;      /* of weights, 8 or 4; 0: 8. Inputs of layers have 8. */
  bool weights_only; /* inputs stay float */
  mica_calibration_method method;
  double percentile; /* as in mica_calibration_range */
  /* Inputs of a dense layer that share a scale, with weights_only: 32, 64 or 128 where they divide its inputs. 0: all
   * at 8 bits, 32 at 4. */
  int64_t group;
  bool no_correction; /* leave biases as they are, and not less what rounded weights add to the mean */
  const char *keep;   /* a pattern of layers that stay float, as in "head.*"; NULL: none */
} mica_quantize_settings;

/* Writes the weights that `weights` holds as integers to a file for mica_quantizer_open. A layer L gets L.weight_q (I8
 * in -127 to 127; at 4 bits U8, (outputs, half of the rest), packed as mica/quant.h says), L.weight_scale (one an
 * output, or (outputs, groups); BF16, or F32 where it was learned), and unless its input stays float L.input_scale and
 * L.input_zero (U8), scalars. The factors of a batch norm behind a layer go into its weight and L.bias. At 4 bits the
 * first layer and the last keep 8 where there are more than two, and so do embeddings and rows of an odd length.
 * Transposed convolutions and embeddings are quantised in their weights alone. Everything else is copied. Steps that
 * were learned (mica_quantizer_create) are taken over. report (may be NULL) gets a section with a table of the layers.
 * MICA_E_STATE: the file is quantised already, or nothing was noted and inputs are to be quantised; MICA_E_INVALID:
 * bits or groups that there are not, or no layer is left to quantise; MICA_E_NOT_FOUND: `keep` matches no layer;
 * MICA_E_NUMERIC names a layer whose range is 0 or not finite; MICA_E_FORMAT: the file is of another network. */
MICA_API MICA_CHECKED mica_status mica_quantize_weights(const mica_calibration *calibration,
                                                        const mica_quantize_settings *settings,
                                                        const mica_safetensors *weights, const char *path,
                                                        mica_report *report);

/* Writes the weights anew so that channels between a layer and the next one have ranges alike, where nothing but a ReLU
 * stands between them; the network computes what it did. To be done before inputs are measured. *pairs (may be NULL)
 * gets the number of such pairs. */
MICA_API MICA_CHECKED mica_status mica_equalize_weights(const mica_calibration *calibration,
                                                        const mica_safetensors *weights, const char *path,
                                                        size_t *pairs);

typedef struct mica_quantizer mica_quantizer;

/* For networks on the integers of such a file, which may be closed afterwards. MICA_E_FORMAT: it is none. */
MICA_API MICA_CHECKED mica_status mica_quantizer_open(const mica_safetensors *file, mica_quantizer **quantizer);
/* For training: weights and inputs are rounded, with steps that are learned (LSQ, Esser et al. 2020; their logarithms):
 * parameters L.weight_step (outputs) and L.input_step, f32. Which layers, and with how many bits, follows from the
 * calibration, which need have noted nothing, as in mica_quantize_weights. Steps of weights are those of outputs, so
 * that the factors of a norm behind them change nothing of what was learned. */
MICA_API MICA_CHECKED mica_status mica_quantizer_create(const mica_calibration *calibration,
                                                        const mica_quantize_settings *settings,
                                                        mica_quantizer **quantizer);
/* NULL is a no-op. */
MICA_API void mica_quantizer_destroy(mica_quantizer *quantizer);

/* A mica_nn_hook, of any number of networks. One of mica_quantizer_open leaves networks that train as they are. */
MICA_API mica_value mica_quantize_hook(void *quantizer, mica_nn *nn, mica_nn_point point, const char *layer,
                                       mica_value value);
/* Sets the steps in a session of a network to be trained to what suits its weights and the inputs that were seen. */
MICA_API MICA_CHECKED mica_status mica_quantizer_begin(const mica_quantizer *quantizer,
                                                       const mica_calibration *calibration, mica_session *session);

typedef struct mica_run_quantize_config {
  const char *data; /* to calibrate with, its training part; NULL: the run's own */
  int64_t samples;  /* of these at most; 0: 512 */
  mica_quantize_settings how;
  bool equalize;      /* mica_equalize_weights first (Nagel et al. 2019) */
  const char *folder; /* to be made: a run */
} mica_run_quantize_config;

/* Writes a quantised run, which evaluates and predicts as any other; it cannot be trained. *report (report may be
 * NULL) is the caller's. MICA_E_STATE: the run is quantised already, or the folder holds one; MICA_E_FORMAT: the data
 * do not fit the run's; MICA_E_NOT_FOUND: there are none. Blocks. */
MICA_API MICA_CHECKED mica_status mica_run_quantize(mica_run *run, const mica_run_quantize_config *config,
                                                    mica_report **report);

typedef struct mica_onnx_quantize_config {
  /* To calibrate with: a dataset of numbers or pictures for a model's one input of f32, its training part; or a folder
   * with NAME.npy for each input, samples along the first axis, whose batch of a fixed size must be the same in all.
   * NULL for weights alone. */
  const char *data;
  int64_t samples; /* of these at most; 0: 512 */
  /* A dataset's numbers are (x - mean) / deviation, of u8 in units of 255; one for each channel, or one for all. 0
   * channels: what the model's metadata say as mica export writes them, else 0 and 1. */
  const double *mean, *deviation;
  size_t channels;
  mica_quantize_settings how; /* of 8 bits, without groups */
  const char *path;           /* of the model to be made, which is written over */
} mica_onnx_quantize_config;

/* Writes a model in ONNX with pairs of QuantizeLinear and DequantizeLinear around inputs and weights of Conv, Gemm and
 * MatMul: weights i8 with a scale an output, inputs u8 with one scale. Batch norms behind a convolution go into it;
 * everything else stays as it is, in operator set and names too, and *report (report may be NULL) says of each product
 * what it became, or why it stays float. Tensors beside the model come into the file. MICA_E_STATE: it is quantised
 * already; MICA_E_UNSUPPORTED: operator sets before 13, 4 bits, groups, operators that Mica lacks; MICA_E_FORMAT: data
 * that do not fit; else as mica_quantize_weights. Blocks. */
MICA_API MICA_CHECKED mica_status mica_onnx_quantize(mica_engine *engine, const char *model,
                                                     const mica_onnx_quantize_config *config, mica_report **report);

/* --- pruning --- */

/* Which channels of a network go together: a filter with its bias, its norm, what every later layer does with it, and
 * through residuals, concatenations and depthwise convolutions the filters that it is added to (DepGraph, Fang et al.
 * 2023). A head of attention is a channel too, with its columns of queries, keys and values and those of the projection
 * behind it; where queries share keys and values, all heads of a group are one. So is a unit between the two dense
 * layers of a transformer, gated ones with both its columns, and a unit of a recurrent layer, with all gates and in
 * both directions. Found in the network's graph, which must be one that infers, and outlives the object. What no rule
 * knows stays: channels that a group norm shares out or a layer norm sums, heads that ALiBi or another mask tells
 * apart, the last head, vocabularies and positions, inputs, and what the network says. */
typedef struct mica_pruning mica_pruning;

/* An axis of a parameter: its name without name_prefix, the network's. */
typedef struct mica_prune_member {
  const char *name;
  int32_t axis;
} mica_prune_member;

/* Channels of the same members, in the order of the first member's indices. */
typedef struct mica_prune_group {
  const mica_prune_member *members;
  size_t member_count;
  int64_t channels, left; /* in all; not removed yet. Heads, or groups of them, count as one each */
} mica_prune_group;

/* What files of pruned weights have in their metadata. */
#define MICA_PRUNED_KEY "mica.pruned"

/* What the network says is taken to be what nobody reads: all states of a recurrent layer, too, of which the last alone
 * is read. */
MICA_API MICA_CHECKED mica_status mica_pruning_create(const mica_nn *nn, mica_pruning **pruning);
/* Does so where it is known: these values of the network's graph, and what parameters are assigned. */
MICA_API MICA_CHECKED mica_status mica_pruning_create_of(const mica_nn *nn, const mica_value *outputs, size_t count,
                                                         mica_pruning **pruning);
/* NULL is a no-op. */
MICA_API void mica_pruning_destroy(mica_pruning *pruning);
/* NULL behind the last. Valid as long as the pruning; `left` changes. */
MICA_API const mica_prune_group *mica_pruning_group_at(const mica_pruning *pruning, size_t index);

/* Adds to the scores of channels what a weight's elements say: w^2, summed over all that goes with a channel, or with a
 * gradient (of a batch, g) the square of sum w g of each weight (Molchanov et al. 2019). One of both for all. */
MICA_API MICA_CHECKED mica_status mica_pruning_note(mica_pruning *pruning, const char *name, const float *values,
                                                    const float *gradient);
/* Removes one channel. */
MICA_API MICA_CHECKED mica_status mica_pruning_remove(mica_pruning *pruning, size_t group, int64_t channel);
/* Removes channels, those of the least score in the mean of their group first, until products and convolutions need no
 * more than this share of the FLOPs that the whole network needs. Of groups of 64 channels eight go at once, of 16
 * four, and a tenth of those that there are stays. MICA_E_STATE: there is nothing to remove, or not enough. */
MICA_API MICA_CHECKED mica_status mica_pruning_cut(mica_pruning *pruning, double share);
/* The share of the FLOPs of products and convolutions that is left. */
MICA_API double mica_pruning_flops(const mica_pruning *pruning);
/* Writes the tensors of a file of the network's weights without what was removed: a network that is built with
 * mica_nn_config.like of this file has these widths. masks: with zeros in the place of what was removed, in their old
 * shapes, which saves nothing but what a packed file saves. */
MICA_API MICA_CHECKED mica_status mica_pruning_write(const mica_pruning *pruning, const mica_safetensors *from,
                                                     bool masks, const char *path);

MICA_END_DECLS

#endif
