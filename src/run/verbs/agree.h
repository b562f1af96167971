/* run/verbs/agree.h: how far two predictions of the same samples agree. */
#ifndef MICA_RUN_VERBS_AGREE_H
#define MICA_RUN_VERBS_AGREE_H

#include <mica/report.h>

/* Agreement of two predictions as defined at mica_compared; the kind of items decides the measure. Sets *count to the
 * number of sections with answers. NaN if no section has answers. */
double mica__agreement(const mica_report *a, const mica_report *b, int64_t *count);

#endif
