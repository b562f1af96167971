/* Predictions that are delivered in parts. */
#include "run/predict/take.h"
#include "report/report.h"

mica_status mica__run_take(const mica_run_input *input, mica_report *prediction) {
  if (!input->take || !mica_report_count(prediction)) return MICA_OK;
  MICA_TRY(input->take(input->user, prediction));
  mica__report_clear(prediction);
  return MICA_OK;
}
