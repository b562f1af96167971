/* run/guard.h: guards a run's folder against other processes, and a resumed run against other data. */
#ifndef MICA_RUN_GUARD_H
#define MICA_RUN_GUARD_H

#include "base/error.h"

#include <mica/run.h>

/* Name of the stored value (run/facts.h) that holds the fingerprint of the data. A test part that lies beside the
 * training part is not included in the fingerprint. */
#define MICA__DATA_PRINT "parts_print"
/* Name of the stored value that holds the number of samples in the test part beside the training part. */
#define MICA__TESTED "test_samples"
/* Locks the folder against training by other processes until the run is destroyed; MICA_E_STATE if another one holds
 * it. Locks nothing if the folder cannot be opened, or its file system has no locks. */
mica_status mica__run_lock(mica_run *run);
void mica__run_unlock(mica_run *run);
/* False if the path no longer leads to the locked folder. */
bool mica__run_is_held(const mica_run *run);
/* Makes the trainer write the weights of each best epoch to model.safetensors, and watch over the folder. */
mica_status mica__run_begin_keeping(mica_run *run);
/* Checks that the folder is still the locked one and has the files that open a run. Missing files are written again
 * with a warning. If another run lies there, this run moves to a folder beside it, sets run->kept->left, and ends with
 * its next checkpoint. */
mica_status mica__run_check_folder(mica_run *run);
/* MICA_E_IO if the training had to move to a folder beside its own and ends for that reason. */
mica_status mica__run_say_left(const mica_run *run);
/* True if the training moved to another folder. */
bool mica__run_has_left(const mica_run *run);
/* Records a fingerprint of the data. MICA_E_STATE if the data differ from those with which a resumed run began, and the
 * caller does not name them. */
mica_status mica__run_check_data(mica_run *run);
/* True if mica__run_check_data found data that differ from those that a resumed run began with. */
bool mica__run_has_other_data(const mica_run *run);
/* True if the data look different from when training began. */
bool mica__run_data_changed(const mica_run *run);
/* Warns that open data are not the run's training data, unless they have a validation part of their own. */
mica_status mica__run_remark_other(mica_run *run, const char *folder);
/* Removes the files of a run that has not trained, and its folder if the run made it. */
void mica__run_clear(const mica_run *target);
/* Copies tokenizer.json, if there is one, from one run's folder to another's, because texts need the tokens of their
 * run. */
mica_status mica__run_copy_tokenizer(const mica_run *from, const mica_run *to);
/* MICA_E_STATE if the folder holds a run, or a file that a run would overwrite; MICA_E_IO if a file has the name of the
 * folder or of one above it. */
mica_status mica__run_check_free(const char *folder);
/* MICA_E_INVALID if a run's folder is the folder of its data, lies in it or contains it. */
mica_status mica__run_check_apart(const char *folder, const char *data);
/* Makes the folder if it is missing, and checks that it can be written. */
mica_status mica__run_make_folder(mica_run *run);
/* folder/name, freed by the caller; NULL if memory is short. */
char *mica__run_path(const mica_run *run, const char *name);

#endif
