/* run/guard.h: guards a run's folder against other processes, and a resumed run against other data. */
#ifndef MICA_RUN_GUARD_H
#define MICA_RUN_GUARD_H

#include "base/error.h"

#include <mica/run.h>

/* The fact by which data are known again, all but a test part beside the training's. */
#define MICA__DATA_PRINT "parts_print"
/* The fact of how many samples the test part beside the training's had. */
#define MICA__TESTED "test_samples"
/* Keeps other processes from training in the folder, until the run is destroyed: MICA_E_STATE where one does. */
mica_status mica__run_lock(mica_run *run);
void mica__run_unlock(mica_run *run);
/* False if the path does not name the locked folder any more. */
bool mica__run_is_held(const mica_run *run);
/* Lets the trainer write the weights of each best epoch to model.safetensors, and look after the folder. */
mica_status mica__run_begin_keeping(mica_run *run);
/* Checks that the folder is the one that is held, and has what a run is opened by. What is missing is written again,
 * with a warning. If another run lies there, this one goes to a folder beside it (`left`), and ends with its next
 * checkpoint. */
mica_status mica__run_check_folder(mica_run *run);
/* MICA_E_IO where the training went to such a folder, for which it ends. */
mica_status mica__run_say_left(const mica_run *run);
/* True if the training went to another folder. */
bool mica__run_has_left(const mica_run *run);
/* Notes how the data look: MICA_E_STATE where a run that is resumed began with others, and none are named now. */
mica_status mica__run_check_data(mica_run *run);
/* True if mica__run_check_data found other data than those that a resumed run began with. */
bool mica__run_has_other_data(const mica_run *run);
/* True if they look otherwise now. */
bool mica__run_data_changed(const mica_run *run);
/* Remarks that data, which are open, are not what the run in the folder was trained on, unless they have a validation
 * part of their own. */
mica_status mica__run_remark_other(mica_run *run, const char *folder);
/* Removes what a run is made of that is not trained, and its folder where it was made. */
void mica__run_clear(const mica_run *target);
/* Copies tokenizer.json, if it exists, from one run's folder to another's: texts need the run's own tokens. */
mica_status mica__run_copy_tokenizer(const mica_run *from, const mica_run *to);
/* MICA_E_STATE for a folder with a run, or with a file that a run would write over. */
mica_status mica__run_check_free(const char *folder);
/* MICA_E_INVALID if a run's folder is the folder of its data, lies in it or holds it. */
mica_status mica__run_check_apart(const char *folder, const char *data);
/* Makes the folder if it is missing, and checks that it can be written. */
mica_status mica__run_make_folder(mica_run *run);
/* folder/name, the caller's to free; NULL when memory is short. */
char *mica__run_path(const mica_run *run, const char *name);

#endif
