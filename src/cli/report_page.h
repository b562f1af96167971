/* cli/report_page.h: a report as one page of HTML. */
#ifndef MICA_CLI_REPORT_PAGE_H
#define MICA_CLI_REPORT_PAGE_H

#include "cli/command.h"

#include <mica/report.h>

/* Writes one page that loads nothing else: a heading for each section, and its items by their kinds (pictures where the
 * build has libpng). title NULL: "Training report". Returns an exit status; what failed has been said. */
int cli_report_page_write(const cli_command *self, const char *path, const char *title, const mica_report *report);

#endif
