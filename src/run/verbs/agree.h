/* run/verbs/agree.h: how far two predictions of the same samples agree. */
#ifndef MICA_RUN_VERBS_AGREE_H
#define MICA_RUN_VERBS_AGREE_H

#include <mica/report.h>

/* The agreement that mica_compared describes, by what kind of items the sections hold; *count gets the number of
 * sections with answers. NaN if there are none. */
double mica__agreement(const mica_report *a, const mica_report *b, int64_t *count);

#endif
