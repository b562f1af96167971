/* run/verbs/quantizer.h: runs with rounded weights, and the calibration of their layers. */
#ifndef MICA_RUN_VERBS_QUANTIZER_H
#define MICA_RUN_VERBS_QUANTIZER_H

#include "base/error.h"

#include <mica/compress.h>
#include <mica/run.h>

/* The stored value (run/facts.h) of a quantised run: the bits of its weights. */
#define MICA__FACT_QUANTIZED "quantized"
bool mica__run_is_quantized(const mica_run *run);
/* Returns the setting "quantize" as settings of a quantisation. */
mica_quantize_settings mica__run_learned_settings(const mica_run *run);
/* Gives the trainer's layers their quantizer, in a quantised run or by the setting "quantize". MICA_E_STATE if a
 * quantised run is resumed, because it cannot be trained. */
mica_status mica__run_add_quantizer(mica_run *run, mica_trainer_config *config);
/* Finds the initial quantisation steps (scales) for training with the setting "quantize", from the network's weights
 * and the inputs of its layers in some training batches. Does nothing without that setting. */
mica_status mica__run_begin_steps(mica_run *run);
/* Makes an observer that records the inputs of a network's layers in `calibration`. */
mica_observer mica__calibration_observer(mica_calibration *calibration);

#endif
