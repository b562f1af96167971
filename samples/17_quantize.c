/* labels: device single
 *
 * Lesson 17: a trained network on integers. Points in a ring and outside of it are told apart by a small network, whose
 * weights and inputs of layers become bytes, and whose weights become nibbles. All three are put side by side.
 *
 *   build/bin/samples/17_quantize [FOLDER]        FOLDER keeps the runs float, bytes and nibbles
 *
 * Exit status 0 when the bytes answer as well, 1 when not, 77 where there is no device. */
#define _DEFAULT_SOURCE /* mkdtemp, with -std=c11 too */

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT, BYTES, NIBBLES, RUNS };
static const char *const names[RUNS] = {"float", "bytes", "nibbles"};
static char table[600], folders[RUNS][600];

/* A table of points and their classes. */
static mica_status write_points(void) {
  FILE *file = fopen(table, "w");
  if (!file) return MICA_E_IO;
  fprintf(file, "x,y,where\n");
  srand(1);
  for (int i = 0; i < 2000; i++) {
    const double x = rand() % 2001 / 1000.0 - 1, y = rand() % 2001 / 1000.0 - 1, distance = x * x + y * y;
    fprintf(file, "%.3f,%.3f,%s\n", x, y, distance > 0.2 && distance < 0.7 ? "ring" : "outside");
  }
  return fclose(file) ? MICA_E_IO : MICA_OK;
}

static mica_status train(mica_engine *engine) {
  static const mica_setting settings[] = {{"epochs", "10"}};
  const mica_run_config config = {.data = table, .folder = folders[FLOAT], .settings = settings, .setting_count = 1};
  mica_run *run = NULL;
  mica_status status = mica_run_create(engine, &config, &run);
  if (!status) status = mica_run_fit(run);
  mica_run_destroy(run);
  return status;
}

/* Inputs of layers are measured on samples of the training; weights alone need none. */
static mica_status quantize(mica_run *run) {
  const mica_run_quantize_config bytes = {.folder = folders[BYTES]};
  const mica_run_quantize_config nibbles = {.folder = folders[NIBBLES], .how = {.bits = 4, .weights_only = true}};
  mica_status status = mica_run_quantize(run, &bytes, NULL);
  return status ? status : mica_run_quantize(run, &nibbles, NULL);
}

static mica_status compare(mica_engine *engine, mica_run **runs, mica_compared *results) {
  mica_status status = mica_run_open(engine, folders[FLOAT], &runs[FLOAT]);
  if (!status) status = quantize(runs[FLOAT]);
  for (int i = BYTES; i < RUNS && !status; i++) status = mica_run_open(engine, folders[i], &runs[i]);
  if (!status)
    status = mica_runs_compare(
        runs, RUNS,
        &(mica_compare_config){.data = table, .part = MICA_PART_TEST, .samples = 100, .repeats = 20, .seconds = 0.1},
        results);
  return status;
}

static void show(const mica_compared *results) {
  for (int i = 0; i < RUNS; i++)
    printf("%-8s accuracy %6.2f %%, %6llu bytes, %.0f us a prediction, %.1f %% of the answers are the same\n", names[i],
           100 * mica_metrics_get(&results[i].metrics, "accuracy"), (unsigned long long)results[i].file_bytes,
           1e6 * results[i].median, 100 * results[i].agreement);
}

/* A folder of its own goes again. */
static void clean(const char *folder) {
  static const char *const files[] = {"config.json", "model.safetensors", "last.safetensors", "best.safetensors",
                                      "history.csv"};
  char path[2048];
  for (int i = 0; i < RUNS; i++) {
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
      snprintf(path, sizeof path, "%s/%s", folders[i], files[k]);
      remove(path);
    }
    remove(folders[i]);
  }
  remove(table);
  remove(folder);
}

int main(int argc, char **argv) {
  char own[] = "quantize-XXXXXX";
  const char *folder = argc > 1 ? argv[1] : mkdtemp(own);
  mica_engine *engine = NULL;
  mica_run *runs[RUNS] = {0};
  mica_compared results[RUNS];
  snprintf(table, sizeof table, "%s/points.csv", folder ? folder : ".");
  for (int i = 0; i < RUNS; i++) snprintf(folders[i], sizeof folders[i], "%s/%s", folder ? folder : ".", names[i]);
  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = write_points();
  if (!status) status = train(engine);
  if (!status) status = compare(engine, runs, results);
  if (status)
    fprintf(stderr, "%s: %s\n", table, mica_error_message());
  else
    show(results);
  for (int i = 0; i < RUNS; i++) mica_run_destroy(runs[i]);
  mica_engine_destroy(engine);
  if (argc < 2) clean(folder);
  if (status) return status == MICA_E_NO_DEVICE ? 77 : 1;
  return mica_metrics_get(&results[BYTES].metrics, "accuracy") <
         mica_metrics_get(&results[FLOAT].metrics, "accuracy") - 0.02;
}
