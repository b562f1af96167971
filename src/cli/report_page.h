/* cli/report_page.h: writes a report as one page of HTML. */
#ifndef MICA_CLI_REPORT_PAGE_H
#define MICA_CLI_REPORT_PAGE_H

#include "cli/command.h"

#include <mica/report.h>

/* Writes a page that loads nothing else: a heading per section, and its items as tables, charts and pictures (pictures
 * only if the build has libpng). title NULL: "Training report". Returns an exit status, after a message on failure. */
int cli_report_page_write(const cli_command *self, const char *path, const char *title, const mica_report *report);

#endif
