/* run/ranks.h: a run on several ranks. */
#ifndef MICA_RUN_RANKS_H
#define MICA_RUN_RANKS_H

#include "base/error.h"

#include <mica/run.h>

/* Reads the layout from the configuration (mica_run_config.parallel). */
mica_status mica__run_take_layout(mica_run *run);
/* Applies the layout to a trainer's configuration; MICA_E_UNSUPPORTED names a setting that does not work with it. */
mica_status mica__run_configure_layout(mica_run *run, mica_trainer_config *config);
/* The number of this rank; rank 0 writes files. */
int32_t mica__run_rank(const mica_run *run);
/* True if one network is divided among several ranks, in stages or in shares of its tensors. */
bool mica__run_is_divided(const mica_run *run);
/* The number of ranks, or groups of ranks, that divide each batch among them; at least 1. */
int32_t mica__run_replicas(const mica_run *run);
/* Sets the rank's share of batches: equal ones or, if speeds are given or shares may be uneven, one by speed.
 * MICA_E_INVALID if batches cannot be divided like that. */
mica_status mica__run_share_batch(mica_run *run, mica_loader_config *config);
/* Fails on all ranks, naming one, if they differ in what they must agree on. */
mica_status mica__run_check_ranks(mica_run *run);
/* True if all ranks failed alike, so that none has to be informed. */
bool mica__run_is_refused(const mica_run *run);
/* True if this rank decodes sample or batch `number` of a test. Each is decoded by one rank; everything else in a test
 * is done by all. */
bool mica__run_decodes(const mica_run *run, uint64_t number);
/* Sums the ranks' counts of decoded samples. */
mica_status mica__run_add_ranks(const mica_run *run, int64_t *counts, size_t count);
/* Remarks on settings that have an effect only with several ranks, if there is only one. */
mica_status mica__run_remark_alone(mica_run *run);
/* Adds a section on how the ranks spent their time, if there were several. */
mica_status mica__run_report_ranks(const mica_run *run, mica_report *report);
/* Ends the run on all ranks if `status`, the caller's result so far, is a failure, which is returned. Else gives
 * all ranks the weights that tests use, from rank 0. */
mica_status mica__run_join(mica_run *run, mica_status status);

#endif
