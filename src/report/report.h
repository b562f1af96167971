/* report/report.h: what the library does with reports beside their public functions. */
#ifndef MICA_REPORT_REPORT_H
#define MICA_REPORT_REPORT_H

#include "base/shared.h"

#include <mica/report.h>

/* Drops all sections; the report stays usable. */
MICA__SHARED void mica__report_clear(mica_report *report);

#endif
