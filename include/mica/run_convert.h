/* mica/run_convert.h: other networks made from a run: export it to ONNX, prune channels, mask small weights.
 *
 * Threads: as in mica/run.h. */
#ifndef MICA_RUN_CONVERT_H
#define MICA_RUN_CONVERT_H

#include <mica/run.h>
#include <mica/task.h>

MICA_BEGIN_DECLS

typedef struct mica_run_export_config {
  int64_t opset;           /* as in mica_onnx_write_config */
  uint64_t external_bytes; /* likewise */
} mica_run_export_config;

/* Writes what the run predicts by as a model in ONNX (mica_onnx_write): inputs are called as the columns are, open in
 * the number of samples, outputs as the task calls them, in f32 whatever it was trained in. Values of layers have the
 * layers' names. Metadata: "mica.config" is config.json without the data's place, by which mica_run_open takes the file
 * for a run; "task", "classes", "input", "mean" and "deviation" as JSON, where the run has them: a picture's element is
 * (u8 / 255 - mean) / deviation of its channel, a number of a table (number - mean) / deviation of its column, of which
 * "columns" has the names in order; "categories", "category_classes" and "category_names" as the facts; so are "rate"
 * and "alphabet" of recordings, "mask_values" and "tile" of masks, "series", "targets", "window", "horizon", "season",
 * "scale", "level_mean" and "level_deviation" of series, "vocabulary", "from" and "to" of texts, "users", "items",
 * "rating_mean" and "rating_range" of recommendations. user and item are numbers in "users" and "items" counted from 1,
 * 0 standing for those that training had not; history has such numbers of items, the oldest first, from the left on,
 * zeros behind, and history_length says how many they are. Doc strings of inputs and outputs say so, and that of the
 * graph has them all. What is found by a search is the searcher's: a model of
 * "detect" gives all boxes and scores, of "speech" log probabilities (N, steps, 1 + letters), of "translate" the logits
 * of each next token of "read", of a ranking the scores of all items, the k-th of "items" being k from 1. Sounds go in
 * whole, (N, T) of any T. config may be NULL. MICA_E_UNSUPPORTED names the op that has no form in ONNX; nothing is
 * written then. */
MICA_API MICA_CHECKED mica_status mica_run_export(mica_run *run, const char *path,
                                                  const mica_run_export_config *config);

/* --- pruning --- */

/* name, text: how it is decided which channels go: those of small weights, or those by whose weights and gradients the
 * loss changes least. */
#define MICA_PRUNE_METHOD_LIST(X)                                                                                      \
  X(MAGNITUDE, "magnitude")                                                                                            \
  X(TAYLOR, "taylor")

typedef enum mica_prune_method {
#define MICA_PRUNE_METHOD_ENUM(name, text) MICA_PRUNE_METHOD_##name,
  MICA_PRUNE_METHOD_LIST(MICA_PRUNE_METHOD_ENUM)
#undef MICA_PRUNE_METHOD_ENUM
} mica_prune_method;

/* "taylor"; NULL for a value that is none. */
MICA_API const char *mica_prune_method_name(size_t method);

typedef struct mica_prune_config {
  const char *run;    /* the folder of a trained run */
  const char *data;   /* to train on; NULL: the run's */
  const char *folder; /* of the run that is made */
  double flops;       /* the share of the FLOPs that is removed, between 0 and 1 */
  mica_prune_method method;
  int64_t steps; /* in which channels are removed, with an epoch of training between; 0: 3 */
  /* Settings in place of the run's own. Epochs are half of the run's and the rate 0.3 of it unless given. */
  const mica_setting *settings;
  size_t setting_count;
  mica_train_fn *report;
  void *user;
  const volatile int *stop;
} mica_prune_config;

/* Removes channels of a run's network (mica_pruning of mica/compress.h) in steps. *run is what is left, an ordinary
 * run in the folder with its weights in pruned.safetensors, to be fitted by mica_run_fit, which may be resumed; it is
 * opened and used as any other. MICA_E_STATE: nothing, or not enough, can be removed, which is said before any
 * training and leaves nothing, or it was stopped: pruned.safetensors has the weights so far, and the message says so;
 * else as mica_run_create. `quantize` holds for the fit, not for the steps. A remark says where data or settings hold
 * out other samples than the run's, which it may have been trained on. Blocks for steps - 1 epochs. */
MICA_API MICA_CHECKED mica_status mica_run_prune(mica_engine *engine, const mica_prune_config *config, mica_run **run);

typedef struct mica_mask_config {
  double share;       /* of each product's weights, between 0 and 1 */
  const char *folder; /* to be made: a run */
} mica_mask_config;

/* Writes a copy of a run in which the weights of least magnitude are 0, a share of those of each layer with a matrix or
 * filters. It is what a packed file of it saves: the network computes as much as before, and nothing is trained, which
 * would fill the zeros. *zeros and *weights (both may be NULL): how many there are, of how many. MICA_E_STATE: the run
 * is quantised, or the folder holds one. */
MICA_API MICA_CHECKED mica_status mica_run_mask(mica_run *run, const mica_mask_config *config, int64_t *zeros,
                                                int64_t *weights);

MICA_END_DECLS

#endif
