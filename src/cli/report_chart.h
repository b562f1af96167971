/* cli/report_chart.h: writes the curves and points of a report as SVG, or a curve of one point as a table row. */
#ifndef MICA_CLI_REPORT_CHART_H
#define MICA_CLI_REPORT_CHART_H

#include <mica/report.h>
#include <stdio.h>

/* Writes text escaped, for use between tags and in attributes. */
void cli_report_escape(FILE *out, const char *text);

/* Draws the series of a curve over its column 0; writes nothing if no value is finite. */
void cli_report_add_curve(FILE *out, const mica_item *item);
/* Writes a curve of one point as a table row: "loss, epoch 1 | training 0.5, validation 0.4". */
void cli_report_add_values(FILE *out, const mica_item *item);
/* Draws points: column 0 across, column 1 up, with up to 40 names where there is room for them. */
void cli_report_add_points(FILE *out, const mica_item *item);

#endif
