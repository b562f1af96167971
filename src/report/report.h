/* report/report.h: functions on reports for the rest of the library. */
#ifndef MICA_REPORT_REPORT_H
#define MICA_REPORT_REPORT_H

#include "base/shared.h"

#include <mica/report.h>

/* Removes all sections; the report stays usable. */
MICA__SHARED void mica__report_clear(mica_report *report);

#endif
