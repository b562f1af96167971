/* run/predict/windows.h: volumes larger than the network's input, in windows. */
#ifndef MICA_RUN_PREDICT_WINDOWS_H
#define MICA_RUN_PREDICT_WINDOWS_H

#include "data/volume/slab.h"

#include <mica/run.h>

/* Sets *decided to the class of each voxel (D, H, W), joined from the network's shares for the windows of a grid; the
 * caller frees it. If the volume has another number of channels than the run's, MICA_E_FORMAT with a message that
 * contains `name`. */
mica_status mica__windows_decide(mica_run *run, const mica__grid *grid, int64_t classes, const char *name,
                                 const mica__volume_reader *reader, uint8_t **decided);

#endif
