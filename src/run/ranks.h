/* run/ranks.h: a run on several ranks. */
#ifndef MICA_RUN_RANKS_H
#define MICA_RUN_RANKS_H

#include "base/error.h"

#include <mica/run.h>

/* Reads the layout from the configuration (mica_run_config.parallel). */
mica_status mica__run_take_layout(mica_run *run);
/* Applies the layout to a trainer's configuration. If a setting or the network does not work with the layout,
 * MICA_E_UNSUPPORTED with a message that names it. MICA_E_INVALID if the micro-batches do not divide the batch. */
mica_status mica__run_configure_layout(mica_run *run, mica_trainer_config *config);
/* The number of this rank; rank 0 writes files. */
int32_t mica__run_rank(const mica_run *run);
/* True if one network is divided among several ranks, in stages or in shares of its tensors. */
bool mica__run_is_divided(const mica_run *run);
/* The number of ranks, or groups of ranks, that divide each batch among them; at least 1. */
int32_t mica__run_replicas(const mica_run *run);
/* Sets this rank's share of each batch. Shares are in proportion to the ranks' speeds if those are given. Otherwise
 * they are equal; if the batch cannot be divided equally and mica_run_config.uneven allows it, they differ by at most
 * one sample. MICA_E_INVALID if the batch cannot be divided like that. */
mica_status mica__run_share_batch(mica_run *run, mica_loader_config *config);
/* Compares what must be the same on all ranks: version of Mica, seed, settings, data and network. If there is a
 * difference, fails on all ranks, with a message that names a rank that differs. */
mica_status mica__run_check_ranks(mica_run *run);
/* True if mica__run_check_ranks found a difference between ranks. All ranks find the same one and fail by themselves,
 * so no rank has to tell the others. */
bool mica__run_is_refused(const mica_run *run);
/* True if this rank decodes sample or batch `number` of a test. Each is decoded by one rank. */
bool mica__run_decodes(const mica_run *run, uint64_t number);
/* Sums the ranks' counts of decoded samples. */
mica_status mica__run_add_ranks(const mica_run *run, int64_t *counts, size_t count);
/* If there is only one rank, adds a remark on the settings that have an effect only with several ranks. */
mica_status mica__run_remark_alone(mica_run *run);
/* Adds a section on how the ranks spent their time, if there were several. */
mica_status mica__run_report_ranks(const mica_run *run, mica_report *report);
/* Call this after training, with the status so far. If `status` is a failure, ends the run on all ranks and returns
 * `status`. Otherwise gives all ranks rank 0's weights for tests. */
mica_status mica__run_join(mica_run *run, mica_status status);

#endif
