#include "support/rule.h"

#include "support/engine.h"
#include "support/files.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

uint32_t rule_seed;

uint32_t rule_draw(uint32_t below) {
  rule_seed = rule_seed * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)rule_seed * below) >> 32);
}

FILE *rule_table(const char *name, const char *header) {
  FILE *file = fopen(files_path(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs(header, file);
  return file;
}

void rule_picture(const char *name, const uint8_t *planes, int side) {
  uint8_t *png = NULL;
  size_t bytes = 0;
  ck_ok(mica_png_encode(planes, MICA_SHAPE(1, side, side), &png, &bytes));
  files_write(name, png, bytes);
  mica_free(png);
}

static void put32(uint8_t *to, uint32_t value) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> 8 * i);
}

void rule_sound(const char *name, uint32_t rate, const float *samples, uint32_t count) {
  static const uint8_t format[] = {16, 0, 0, 0, 1, 0, 1, 0};
  uint8_t *wav = malloc(44 + 2 * count);
  ck_assert_ptr_nonnull(wav);
  memcpy(wav, "RIFF", 4);
  put32(wav + 4, 36 + 2 * count);
  memcpy(wav + 8, "WAVEfmt ", 8);
  memcpy(wav + 16, format, sizeof format);
  put32(wav + 24, rate);
  put32(wav + 28, 2 * rate);
  put32(wav + 32, 2 | 16 << 16);
  memcpy(wav + 36, "data", 4);
  put32(wav + 40, 2 * count);
  for (uint32_t t = 0; t < count; t++) {
    const uint16_t value = (uint16_t)(int16_t)(32767 * samples[t]);
    wav[44 + 2 * t] = (uint8_t)(value & 255);
    wav[45 + 2 * t] = (uint8_t)(value >> 8);
  }
  files_write(name, wav, 44 + 2 * count);
  free(wav);
}

mica_run *rule_train(const mica_run_config *config) {
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), config, &run));
  ck_ok(mica_run_fit(run));
  return run;
}

mica_run *rule_learn(const char *task, const char *data, const char *folder, const mica_setting *settings,
                     size_t count) {
  char data_path[512], folder_path[512];
  snprintf(data_path, sizeof data_path, "%s", files_path(data));
  snprintf(folder_path, sizeof folder_path, "%s", files_path(folder));
  mica_run *run = rule_train(&(mica_run_config){
      .task = task, .data = data_path, .folder = folder_path, .settings = settings, .setting_count = count});
  ck_assert_ptr_null(mica_run_stopped(run));
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), folder_path, &run));
  return run;
}

double rule_measure(mica_run *run, const char *metric) {
  mica_metrics m;
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  printf("%s: %s %.4f\n", mica_run_task(run), metric, mica_metrics_get(&m, metric));
  return mica_metrics_get(&m, metric);
}

mica_report *rule_predict(mica_run *run, const mica_run_input *input) {
  mica_report *report = NULL;
  ck_ok(mica_run_predict(run, input, &report));
  return report;
}

void rule_refuses(mica_run *run, const char *text, const char *sentence) {
  mica_report *report = NULL;
  ck_assert_int_ne(mica_run_predict(run, &(mica_run_input){.text = text, .name = "a.csv"}, &report), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), sentence), "%s", mica_error_message());
}
