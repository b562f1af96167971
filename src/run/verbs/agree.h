/* run/verbs/agree.h: how far two predictions of the same samples agree. */
#ifndef MICA_RUN_VERBS_AGREE_H
#define MICA_RUN_VERBS_AGREE_H

#include <mica/report.h>

/* The agreement described at mica_compared, chosen by the kind of items in the sections; *count receives the number of
 * sections with answers. NaN if there are none. */
double mica__agreement(const mica_report *a, const mica_report *b, int64_t *count);

#endif
