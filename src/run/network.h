/* run/network.h: a run's network and its trainer. */
#ifndef MICA_RUN_NETWORK_H
#define MICA_RUN_NETWORK_H

#include "base/error.h"

#include <mica/run.h>

/* The network's input in a batch: the input column, then the categories in one-hot form. */
mica_value mica__run_inputs(const mica_run *run, const mica_batch_values *batch);
/* A network's result in f32. MICA_E_FORMAT in the graph: the widths come from a file with fewer answers. */
mica_value mica__run_answers(const mica_run *run, mica_value z, int64_t outputs);
/* Builds the network of the setting "model": (N, outputs) f32. */
mica_value mica__run_network(const mica_run *run, mica_nn *nn, mica_value x, int64_t outputs);
/* Settings for building the run's network outside its trainer: precision, hook and widths. */
mica_nn_config mica__run_building(const mica_run *run);
/* Fills what settings decide of the trainer's configuration and makes the trainer. */
mica_status mica__run_make_trainer(mica_run *run);
/* Lets the setting "init" name the weights of a run if it names the run's folder. */
mica_status mica__run_take_init(mica_run *run);
/* Lets layers have the widths of the file at `path`, where the run is pruned or the file says that its weights are. */
mica_status mica__run_take_widths(mica_run *run, const char *path);
/* Gives the trainer the weights that training begins with: those of the task, of the setting "init" (of a file by name
 * and shape, which is remarked), and steps of quantisation. */
mica_status mica__run_set_out(mica_run *run);
/* Reads the weights that are kept into the network of tests; damaged ones, and numbers that are not finite, are refused
 * by the tensor's name. */
mica_status mica__run_load_weights(mica_run *run);
/* Sweeps the learning rate on a network that is thrown away, and sets "lr". */
mica_status mica__run_find_rate(mica_run *run);

#endif
