/* run/network.h: a run's network and its trainer. */
#ifndef MICA_RUN_NETWORK_H
#define MICA_RUN_NETWORK_H

#include "base/error.h"

#include <mica/run.h>

/* The network's input in a batch: the input column, followed by the categories in one-hot form. */
mica_value mica__run_inputs(const mica_run *run, const mica_batch_values *batch);
/* A network's result as f32. The graph fails with MICA_E_FORMAT if the widths come from a file with another number of
 * answers. */
mica_value mica__run_answers(const mica_run *run, mica_value z, int64_t outputs);
/* The i-th name of the networks that give one answer per picture; NULL after the last. */
const char *mica__run_picture_model_at(size_t i);
/* Builds the network of the setting "model": (N, outputs) f32. */
mica_value mica__run_network(const mica_run *run, mica_nn *nn, mica_value x, int64_t outputs);
/* The settings to build the run's network outside its trainer: precision, hook and widths. */
mica_nn_config mica__run_building(const mica_run *run);
/* Sets the part of the trainer's configuration that settings decide, and makes the trainer. */
mica_status mica__run_make_trainer(mica_run *run);
/* If the setting "init" names a run's folder, replaces it by the path of that run's weights. */
mica_status mica__run_take_init(mica_run *run);
/* Makes layers take their widths from the file at `path` if the run is pruned or the file holds a pruned network. */
mica_status mica__run_take_widths(mica_run *run, const char *path);
/* Gives the trainer its first weights: the task's, those of the setting "init" (matched by name and shape, with a
 * remark), and the quantisation steps. */
mica_status mica__run_set_out(mica_run *run);
/* Loads the kept weights into the network of tests. Damaged weights and numbers that are not finite are refused; the
 * message names the tensor. */
mica_status mica__run_load_weights(mica_run *run);
/* Sweeps the learning rate on a copy of the network that is discarded, and sets "lr". */
mica_status mica__run_find_rate(mica_run *run);

#endif
