/* run/ranks.h: a run on several ranks. */
#ifndef MICA_RUN_RANKS_H
#define MICA_RUN_RANKS_H

#include "base/error.h"

#include <mica/run.h>

/* Takes the layout of the configuration. */
mica_status mica__run_take_layout(mica_run *run);
/* Sets what the layout says of a trainer; MICA_E_UNSUPPORTED names a setting that cannot be had with it. */
mica_status mica__run_configure_layout(mica_run *run, mica_trainer_config *config);
/* 0 on the rank that writes. */
int32_t mica__run_rank(const mica_run *run);
/* True if one network lies on several ranks: in stages, or in shares of its tensors. */
bool mica__run_is_divided(const mica_run *run);
/* The rank's share of batches. MICA_E_INVALID where they cannot be divided evenly. */
mica_status mica__run_share_batch(mica_run *run, mica_loader_config *config);
/* Fails on all ranks, naming one, where they differ in what they must have in common. */
mica_status mica__run_check_ranks(mica_run *run);
/* True if all ranks refused alike, so that none needs to be told. */
bool mica__run_is_refused(const mica_run *run);
/* True if sample or batch `number` of a test is the rank's to decode, each being one rank's: nothing else of a test is
 * repeated by all. */
bool mica__run_decodes(const mica_run *run, uint64_t number);
/* Sums the ranks' counts of decoded samples. */
mica_status mica__run_add_ranks(const mica_run *run, int64_t *counts, size_t count);
/* Remarks on settings that need several ranks if there is only one. */
mica_status mica__run_remark_alone(mica_run *run);
/* Adds a section on where the ranks' time went, if there were several. */
mica_status mica__run_report_ranks(const mica_run *run, mica_report *report);
/* What rank 0 has, on all; status is how the caller fared: where that is a failure all fail, and it is returned. */
mica_status mica__run_join(mica_run *run, mica_status status);

#endif
