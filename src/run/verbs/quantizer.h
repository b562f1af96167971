/* run/verbs/quantizer.h: runs with rounded weights, and the calibration of their layers. */
#ifndef MICA_RUN_VERBS_QUANTIZER_H
#define MICA_RUN_VERBS_QUANTIZER_H

#include "base/error.h"

#include <mica/compress.h>
#include <mica/run.h>

/* The fact of a quantised run: the bits of its weights. */
#define MICA__FACT_QUANTIZED "quantized"
bool mica__run_is_quantized(const mica_run *run);
/* The meaning of the setting "quantize". */
mica_quantize_settings mica__run_learned_settings(const mica_run *run);
/* Gives the trainer's layers their quantizer, in a quantised run or by the setting "quantize". */
mica_status mica__run_add_quantizer(mica_run *run, mica_trainer_config *config);
/* Sets the initial steps for the setting "quantize", from the network's weights and some training batches. */
mica_status mica__run_begin_steps(mica_run *run);
/* Makes an observer that records the inputs of another network's layers. */
mica_observer mica__calibration_observer(mica_calibration *calibration);

#endif
