/* run/record.h: what a run records about its training: remarks, history, the epoch of its weights. */
#ifndef MICA_RUN_RECORD_H
#define MICA_RUN_RECORD_H

#include "base/error.h"

#include <mica/run.h>
#include <mica/safetensors.h>

/* Adds a remark to those that mica_run_remark returns, unless it is among them. Remarks beyond MICA__REMARKS are
 * dropped. */
mica_status mica__run_remark(mica_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Removes the remarks that mention the path. */
void mica__run_forget_remarks(mica_run *run, const char *path);
/* Makes the trainer report to the run and, on rank 0, write checkpoints to its folder. */
void mica__run_configure_record(mica_run *run);
/* Call this when training has ended. Writes the weights of the best epoch to model.safetensors, in the form that was
 * tested: their moving averages if the trainer keeps those. If there is no best checkpoint, writes the present
 * weights. */
mica_status mica__run_keep_weights(mica_run *run);
/* Records the epoch of the weights and, if the run has not ended, a sentence that names it (mica_run_stopped). */
mica_status mica__run_note_weights_epoch(mica_run *run, const mica_safetensors *file);
/* Lets a resumed run end after the `done` epochs that it has, because the caller now asks for no more epochs than
 * these. */
mica_status mica__run_end_early(mica_run *run, int64_t done);
/* True if mica__run_end_early was called: the run ends with fewer epochs than it was begun with. */
bool mica__run_ended_early(const mica_run *run);

#endif
