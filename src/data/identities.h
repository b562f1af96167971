/* data/identities.h: datasets with a class for each sample; the samples of some classes are kept out of training. */
#ifndef MICA_DATA_IDENTITIES_H
#define MICA_DATA_IDENTITIES_H

#include "data/dataset.h"

/* The identity numbers behind the label column of a part, stored as its `user`. Classes in training come first, with
 * the same numbers in all parts; others follow in the order of the data. */
typedef struct mica__identities {
  int32_t *numbers; /* one per sample of the data that were opened */
  char **names;     /* by number */
  size_t count, trained;
} mica__identities;

/* The identities of a column; NULL: it was not opened by mica__identities_open. */
const mica__identities *mica__identities_of(const mica_dataset *data);

/* Which classes are kept for the test. `classes` is one of these:
 * - "ann,bob": these classes
 * - "5": this many, chosen at random
 * - "": those that only the test part has or, if these are fewer than two, 30 % of all but at least two, chosen at
 *   random */
typedef struct mica__unseen {
  const char *task; /* the task's name in messages */
  const char *classes;
  uint64_t seed;            /* of the random choice */
  const char *const *known; /* names of the classes in training, unless config->like has them; NULL: not known yet */
  size_t known_count;
} mica__unseen;

/* Opens a part; its column "label" has numbers of identities. MICA_E_FORMAT if it has no column of classes. If the
 * classes in training are not known yet: MICA_E_FORMAT if there are too few classes or no class to train on has two
 * samples, MICA_E_INVALID if how->classes names a class that the part lacks or keeps only one. */
mica_status mica__identities_open(const char *path, const mica_dataset_config *config, const mica__unseen *how,
                                  mica_part part, mica_dataset **out);
/* Sets *has to whether the data have this part in a file or folder of its own. Opens the part to find out. */
mica_status mica__identities_has(const char *path, const mica_dataset_config *config, const mica__unseen *how,
                                 mica_part part, bool *has);
/* Makes a dataset of the samples whose classes are in training or, if `unseen`, of the others. Samples without a
 * class are in neither. */
mica_status mica__identities_pick(mica_dataset *whole, bool unseen, mica_dataset **out);

#endif
