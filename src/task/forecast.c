/* forecast: the next values of time series. */
#include "task/head/horizon.h"
#include "task/input/series.h"

MICA__SETTINGS_STRUCT(forecast, SERIES_SETTINGS);
static MICA__SETTINGS_TABLE(forecast, SERIES_SETTINGS);
MICA__FACTS_STRUCT(forecast, SERIES_FACTS);
static MICA__FACTS_TABLE(forecast, SERIES_FACTS, 0);

/* Found on four series of 300 to 2,300 rows. */
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
    .facts = &mica__forecast_fact_list,
    .settings = &mica__forecast_setting_list,
    .defaults = defaults,
    .export_docs = export_docs,
};
