/* labels: device single
 *
 * Lesson 16: the next values of a series. A run of the task forecast sees windows of rows and learns what comes behind
 * them; what it is worth is said by what the last value and the season would have said. Without an argument the series
 * is made up here (a trend, a season, noise); an argument names a table: a row a step, columns of numbers.
 *
 *   build/bin/samples/16_forecast [TABLE]
 *
 * Exit status 0 when it is better than both, 1 when not, 77 where there is no device. */
#define _DEFAULT_SOURCE /* mkstemp, with -std=c11 too */

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Ten years of sales, a row a month. */
static int write_table(const char *path) {
  FILE *file = fopen(path, "w");
  if (!file) return 0;
  fputs("month,sales\n", file);
  for (unsigned i = 0, state = 1; i < 180; i++) {
    state = state * 1664525u + 1013904223u;
    const double sales = 100 + 0.8 * i + 20 * sin(6.2831853 * i / 12) + (state >> 8) * 0x1p-22;
    fprintf(file, "%u-%02u,%.2f\n", 2010 + i / 12, i % 12 + 1, sales);
  }
  return fclose(file) == 0;
}

/* The values behind the table's end. */
static mica_status show_next(mica_run *run, const char *table) {
  mica_report *answer = NULL;
  mica_status status = mica_run_predict(run, &(mica_run_input){.files = &table, .file_count = 1}, &answer);
  const mica_item *next = status ? NULL : mica_report_find(answer, 0, "forecast");
  for (size_t i = 0; next && i < next->rows; i++)
    printf("%s  %.2f\n", next->row_names[i], next->numbers[i * next->columns]);
  mica_report_destroy(answer);
  return status;
}

int main(int count, char **words) {
  static const mica_setting settings[] = {
      {"horizon", "6"}, {"epochs", "20"}, {"width", "16"}, {"batch", "16"}, {"lr", "0.01"}};
  char table[] = "/tmp/mica-sales-XXXXXX";
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  mica_metrics m = {0};
  const int made = count > 1 ? -1 : mkstemp(table);
  if (mica_engine_create(NULL, &engine)) return fprintf(stderr, "no device: %s\n", mica_error_message()), 77;
  if (count < 2 && (made < 0 || close(made) || !write_table(table))) return perror(table), 1;
  const char *data = count > 1 ? words[1] : table;
  const mica_run_config config = {.task = "forecast", .data = data, .settings = settings, .setting_count = 5};
  mica_status status = mica_run_create(engine, &config, &run);
  if (!status) status = mica_run_fit(run);
  if (!status) status = mica_run_evaluate(run, NULL, MICA_PART_TEST, &m);
  const double network = mica_metrics_get(&m, "mae"), last = mica_metrics_get(&m, "mae_last");
  const double season = mica_metrics_get(&m, "mae_season");
  if (!status) printf("mean error %.3f; of the last value %.3f, of the season %.3f\n", network, last, season);
  if (!status) status = show_next(run, data);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  mica_run_destroy(run);
  mica_engine_destroy(engine);
  if (count < 2) unlink(table);
  return status || !(network < last && network < season);
}
