/* forecast: the next values of time series. */
#include "task/head/horizon.h"
#include "task/input/series.h"

MICA__TASK_FIELDS(forecast, SERIES_SETTINGS, SERIES_FACTS, 0);

/* These defaults were found by experiments on four series of 300 to 2,300 rows. */
static const mica_setting defaults[] = {{"model", "lstm"},
                                        {"epochs", "60"},
                                        {"batch", "32"},
                                        {"lr", "0.003"},
                                        {"optimizer", "adamw"},
                                        {"weight-decay", "0.01"},
                                        {0}};

static const mica_task_metric metrics[] = HORIZON_METRICS;
static const char *const answers[] = HORIZON_ANSWERS;

static const mica_onnx_text export_docs[] = {
    {"window",
     "the last \"window\" rows, the oldest first, of the \"series\": (number - last) / \"scale\", of the last row"},
    {"level", "of the \"series\": (last - \"level_mean\") / \"level_deviation\""},
    {"forecast", "\"horizon\" rows of the first \"targets\" of the \"series\": number = last + answer * \"scale\""},
    {0}};

const mica__task_row mica__task_forecast = {
    .name = "forecast",
    .text = "the next values of time series, of the rows before them",
    MICA__COMPOSED(series, horizon),
    .open = mica__series_open,
    .named_columns = true,
    .answer_columns = answers,
    .metrics = metrics,
    MICA__TASK_LISTS(forecast),
    .defaults = defaults,
    .export_docs = export_docs,
};
