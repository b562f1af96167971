/* mica/run_convert.h: converts the network of a run: exports it to ONNX, quantises it, prunes channels, sets small
 * weights to 0. Also quantises ONNX models.
 *
 * Threads: as in mica/run.h. */
#ifndef MICA_RUN_CONVERT_H
#define MICA_RUN_CONVERT_H

#include <mica/compress.h>
#include <mica/report.h>
#include <mica/run.h>
#include <mica/task.h>

MICA_BEGIN_DECLS

/* --- export --- */

typedef struct mica_run_export_config {
  int64_t opset;           /* see mica_onnx_write_config */
  uint64_t external_bytes; /* see mica_onnx_write_config */
} mica_run_export_config;

/* Exports the run's network as an ONNX model with mica_onnx_write. config may be NULL.
 *
 * Inputs have the names of the data's columns and a dynamic batch dimension; outputs have names chosen by the task.
 * Numbers are f32, whatever type was used in training; tokens, ids and classes are i32. Values of layers have the
 * layers' names. Sounds are inputs (N, T) of any T.
 *
 * Searches such as beam search are not exported; the program that runs the model must do them. The outputs are
 * therefore:
 *
 *   detect      all boxes and scores
 *   speech      log probabilities (N, steps, 1 + letters)
 *   translate   logits of the token after `read`
 *   ranking     scores of all items; score k is for item k of "items", counted from 1, and score 0 for other items
 *
 * For user and item, ids are positions in "users" and "items", counted from 1; 0 means an unknown one. history holds
 * item ids, oldest first, padded with zeros on the right; history_length says how many are valid.
 *
 * Metadata (JSON values, present if the run has a stored value of the name, see mica_run_fact):
 *
 *   mica.config                                          config.json without the data's path; mica_run_open needs it
 *   task, classes, input                                 as stored with the run
 *   mean, deviation                                      picture: (u8 / 255 - mean) / deviation per channel;
 *                                                        table: (number - mean) / deviation per column
 *   columns                                              names of the table's numbers, in order
 *   categories, category_classes, category_names         as stored with the run
 *   rate, alphabet                                       recordings
 *   mask_values, tile                                    masks
 *   series, targets, window, horizon, season, scale,     time series
 *   level_mean, level_deviation
 *   vocabulary, from, to                                 texts
 *   users, items, rating_mean, rating_range              recommendations
 *
 * Some tasks add further stored values of the run under their own names. Doc strings describe inputs and outputs; the
 * doc string of the graph repeats these descriptions.
 *
 * MICA_E_UNSUPPORTED: an op has no ONNX form (the message names it, and no file is written), or the run's task defines
 * no outputs for one pass of its network. MICA_E_STATE: the run is an opened ONNX model. */
MICA_API MICA_CHECKED mica_status mica_run_export(mica_run *run, const char *path,
                                                  const mica_run_export_config *config);

/* --- quantisation --- */

typedef struct mica_run_quantize_config {
  const char *data; /* dataset whose training part calibrates; NULL: the run's own */
  int64_t samples;  /* maximum number of samples; 0: 512 */
  mica_quantize_settings how;
  bool equalize;      /* call mica_equalize_weights first (Nagel et al. 2019) */
  const char *folder; /* folder for the new run */
} mica_run_quantize_config;

/* Writes a quantised copy of a run. The copy evaluates and predicts like any run, but cannot be trained. `bits` of the
 * settings is 4, 8 or 0; 0 means the bits with which the run was trained, and 8 if it was trained without quantisation.
 * The caller frees *report with mica_report_destroy; report may be NULL. Blocks.
 *
 *   MICA_E_STATE         the run is quantised already, has no folder, or was trained for quantisation with other
 *                        settings than `how` and equalize; or the folder already holds a file of a run
 *   MICA_E_INVALID       bits has another value, there are no samples, or folder and data lie one inside the other
 *   MICA_E_UNSUPPORTED   no layer of the network can have 4 bits
 *   MICA_E_FORMAT        the data do not match the run's
 *   MICA_E_NOT_FOUND     there are no data */
MICA_API MICA_CHECKED mica_status mica_run_quantize(mica_run *run, const mica_run_quantize_config *config,
                                                    mica_report **report);

typedef struct mica_onnx_quantize_config {
  /* Calibration data: a dataset of numbers or pictures, if the model has one input of f32; or a folder with NAME.npy
   * for each input. A dataset without a training part is calibrated with its test part. Samples are on the first axis;
   * if the model fixes the batch size, it must be the same for all inputs. NULL: only with how.weights_only. */
  const char *data;
  int64_t samples; /* maximum number of samples; 0: 512 */
  /* For a dataset: the model's input is (x - mean) / deviation, where x is the dataset's number; u8 numbers are divided
   * by 255 first. mean and deviation have `channels` values each: one per channel, or one for all channels. channels 0:
   * the values in the model's metadata, which `mica export` writes; without them, mean 0 and deviation 1. */
  const double *mean, *deviation;
  size_t channels;
  mica_quantize_settings how; /* bits must be 0 or 8, group 0 */
  const char *path;           /* file for the new model; it is overwritten */
} mica_onnx_quantize_config;

/* Writes an ONNX model with pairs of QuantizeLinear and DequantizeLinear around weights and, unless how.weights_only is
 * set, inputs of Conv, Gemm and MatMul. Weights are i8 with one scale per output; inputs are u8 with one scale. Batch
 * norms after a convolution are folded into it. Operator set, names and all other nodes stay. External tensors are
 * stored in the new file. *report lists for each Conv, Gemm and MatMul how it was quantised, or why it stays float. The
 * caller frees *report with mica_report_destroy; report may be NULL.
 *
 * MICA_E_STATE: the model is quantised already. MICA_E_UNSUPPORTED: operator set below 13, 4 bits, groups, or an
 * operator that Mica lacks. MICA_E_FORMAT: the data do not match the model. MICA_E_INVALID: data is missing, or a
 * deviation is not above 0. Otherwise the errors of mica_quantize_weights. Blocks. */
MICA_API MICA_CHECKED mica_status mica_onnx_quantize(mica_engine *engine, const char *model,
                                                     const mica_onnx_quantize_config *config, mica_report **report);

/* --- pruning and masks --- */

/* Enumerator, name. How the importance of a channel is estimated:
 *
 *   magnitude   from the magnitude of its weights
 *   taylor      from weights and gradients: the change of the loss if the channel were removed */
#define MICA_PRUNE_METHOD_LIST(X)                                                                                      \
  X(MAGNITUDE, "magnitude")                                                                                            \
  X(TAYLOR, "taylor")

typedef enum mica_prune_method {
#define MICA_PRUNE_METHOD_ENUM(name, text) MICA_PRUNE_METHOD_##name,
  MICA_PRUNE_METHOD_LIST(MICA_PRUNE_METHOD_ENUM)
#undef MICA_PRUNE_METHOD_ENUM
} mica_prune_method;

/* "magnitude", "taylor"; NULL for any other value. */
MICA_API const char *mica_prune_method_name(size_t method);

typedef struct mica_prune_config {
  const char *run;    /* folder of a trained run */
  const char *data;   /* training data; NULL: the run's */
  const char *folder; /* folder for the new run */
  double flops;       /* share of the FLOPs to remove, between 0 and 1 */
  mica_prune_method method;
  int64_t steps; /* number of removal steps, with one epoch of training between two steps; 0: 3 */
  /* Settings that replace the run's. Unless given, `epochs` is half of the run's (1 if it had at most 3) and the
   * learning rate 0.3 times the run's. */
  const mica_setting *settings;
  size_t setting_count;
  mica_train_fn *report;
  void *user;
  const volatile int *stop;
} mica_prune_config;

/* Removes channels from a run's network in several steps (see mica_pruning in mica/compress.h). *run is an ordinary run
 * in the new folder, with its weights in pruned.safetensors. Fine-tune it with mica_run_fit, which can be resumed.
 * `quantize` applies to that fine-tuning, not to the steps here. If data or settings hold out other samples than the
 * original run did, that run may have trained on held-out samples; a remark warns of this. Blocks for steps - 1 epochs.
 *
 *   MICA_E_STATE         too little or nothing can be removed (checked before any training), the run's own data have
 *                        changed, so validation samples may be among those it was trained on, or the call was stopped
 *                        (pruned.safetensors holds the weights so far; the message says so)
 *   MICA_E_FORMAT        the data have other classes or tokens than the run
 *   MICA_E_UNSUPPORTED   the run is quantised or was trained for quantisation, or its network comes from a published
 *                        model or an ONNX model, whose layer widths are fixed
 *   MICA_E_INVALID       settings change the network
 *
 * Otherwise the errors of mica_run_create. */
MICA_API MICA_CHECKED mica_status mica_run_prune(mica_engine *engine, const mica_prune_config *config, mica_run **run);

typedef struct mica_mask_config {
  double share;       /* share of the weights of each layer to set to 0, between 0 and 1 */
  const char *folder; /* folder for the new run */
} mica_mask_config;

/* Writes a copy of the run in which the smallest weights of each trained matrix (of a dense or recurrent layer, an
 * attention or an embedding) and of each convolution are 0. The network computes as much as before; the zeros only let
 * the file compress better. The copy is not trained, because training would change the zeros again.
 *
 * *zeros and *weights (both may be NULL) receive the number of zeros and of all these weights. MICA_E_STATE: the run is
 * quantised, has no folder or has no such weights of f32; or the new folder already holds a file of a run.
 * MICA_E_INVALID: share is not between 0 and 1, or folder and data lie one inside the other. */
MICA_API MICA_CHECKED mica_status mica_run_mask(mica_run *run, const mica_mask_config *config, int64_t *zeros,
                                                int64_t *weights);

MICA_END_DECLS

#endif
