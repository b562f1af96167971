/* labels: device
 *
 * Runs that begin with a published model: texts by BERT, pictures by ViT. Weights are the model's, a new head learns,
 * the folder is complete without the model, and wrong models are refused. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_CJSON

enum { TEXTS = 120, PICTURES = 96, SIDE = 20, PIXELS = 3 * SIDE * SIDE };

static const char *model_path(const char *name) {
  static char path[600];
  const char *root = getenv("MICA_SOURCE_DIR");
  snprintf(path, sizeof path, "%s/tests/golden/foundation/%s", root ? root : ".", name);
  return path;
}

static char data[512], folder[512];

/* Words of the letters a to h are one class, of i to p the other. */
static void write_texts(void) {
  uint32_t state = 7;
  snprintf(data, sizeof data, "%s", files_path("texts.csv"));
  snprintf(folder, sizeof folder, "%s", files_path("run"));
  FILE *file = fopen(data, "wb");
  ck_assert_ptr_nonnull(file);
  fputs("text,kind\n", file);
  for (int i = 0; i < TEXTS; i++) {
    for (int k = 0; k < 9; k++) {
      state = state * 1664525u + 1013904223u;
      fputc(k % 3 == 2 ? ' ' : (i % 2 ? 'i' : 'a') + (int)(state >> 24) % 8, file);
    }
    fprintf(file, ",%s\n", i % 2 ? "late" : "early");
  }
  fclose(file);
}

/* Brightness of the second channel tells classes, or the numbers 10 and 30, apart. */
static mica_dataset *make_pictures(int side, bool numbers) {
  static uint8_t pixels[PICTURES * PIXELS * 4];
  static int32_t labels[PICTURES];
  static float targets[PICTURES];
  uint32_t state = 3;
  const size_t values = 3 * (size_t)(side * side);
  mica_dataset *made = NULL;
  for (int i = 0; i < PICTURES; i++) {
    labels[i] = i % 2;
    targets[i] = i % 2 ? 30 : 10;
    for (size_t p = 0; p < values; p++) {
      state = state * 1664525u + 1013904223u;
      const uint32_t noise = state >> 25;
      const bool second = p / (values / 3) == 1;
      pixels[(size_t)i * values + p] = (uint8_t)(noise + (second && labels[i] ? 128 : 0));
    }
  }
  const mica_column_data columns[] = {
      {.column = {.name = "x", .kind = MICA_COLUMN_KIND_IMAGE, .dtype = MICA_U8, .shape = {3, {3, side, side}}},
       .data = pixels},
      numbers ? (mica_column_data){.column = {.name = "label", .kind = MICA_COLUMN_KIND_NUMBER, .dtype = MICA_F32},
                                   .data = targets}
              : (mica_column_data){
                    .column = {.name = "label", .kind = MICA_COLUMN_KIND_CLASS, .dtype = MICA_I32, .classes = 2},
                    .data = labels}};
  ck_ok(mica_dataset_create("pictures", PICTURES, columns, 2, &made));
  return made;
}

static bool has_remark(const mica_run *run, const char *text) {
  for (size_t i = 0; mica_run_remark(run, i); i++)
    if (strstr(mica_run_remark(run, i), text)) return true;
  return false;
}

/* A tensor of the run's model.safetensors equals one of the model's. */
static void check_same(const char *own, const char *model, const char *theirs) {
  char path[600];
  mica_safetensors *run_file = NULL;
  mica_weights *weights = NULL;
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  ck_ok(mica_safetensors_open(path, &run_file));
  ck_ok(mica_weights_open(model, &weights));
  const mica_safetensors_entry *a = mica_safetensors_find(run_file, own);
  const mica_weight_entry *b = mica_weights_find(weights, theirs);
  ck_assert(a && b && a->bytes == b->bytes);
  ck_assert_int_eq(memcmp(a->data, b->data, a->bytes), 0);
  mica_safetensors_close(run_file);
  mica_weights_close(weights);
}

/* --- texts --- */

START_TEST(texts_are_told_apart_by_bert) {
  mica_run *run = NULL;
  mica_metrics m;
  write_texts();
  const mica_setting settings[] = {
      {"init", model_path("embed")}, {"epochs", "8"}, {"batch", "16"}, {"lr", "0.01"}, {"seed", "3"}};
  const mica_run_config config = {
      .task = "text", .data = data, .folder = folder, .settings = settings, .setting_count = 5};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_assert_str_eq(mica_run_setting(run, "model"), "published");
  ck_assert_double_eq_tol(mica_run_number(run, "length"), 64, 1e-9);
  ck_assert(has_remark(run, "weights are taken from"));
  ck_ok(mica_run_fit(run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_msg(mica_metrics_get(&m, "accuracy") >= 0.9, "accuracy %g", mica_metrics_get(&m, "accuracy"));
  const double loss = mica_metrics_get(&m, "loss");
  mica_run_destroy(run);
  /* The folder opens without the model. */
  ck_ok(mica_run_open(test_engine(), folder, &run));
  ck_ok(mica_run_evaluate(run, data, MICA_PART_TRAIN, &m));
  ck_assert(mica_metrics_get(&m, "accuracy") >= 0.9 && isfinite(loss));
  mica_run_destroy(run);
  /* A copy with weights set to 0 opens too. */
  char masked[600];
  int64_t zeros = 0, weights = 0;
  snprintf(masked, sizeof masked, "%s", files_path("masked"));
  ck_ok(mica_run_open(test_engine(), folder, &run));
  ck_ok(mica_run_mask(run, &(mica_mask_config){.folder = masked, .share = 0.1}, &zeros, &weights));
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), masked, &run));
  mica_run_destroy(run);
  files_remove();
}
END_TEST

START_TEST(frozen_weights_stay_those_of_the_model) {
  mica_run *run = NULL;
  char model[600];
  write_texts();
  snprintf(model, sizeof model, "%s", model_path("embed"));
  const mica_setting settings[] = {
      {"init", model}, {"epochs", "1"}, {"batch", "16"}, {"lr", "0.01"}, {"freeze", "layers.*"}};
  const mica_run_config config = {
      .task = "text", .data = data, .folder = folder, .settings = settings, .setting_count = 5};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_ok(mica_run_fit(run));
  mica_run_destroy(run);
  check_same("layers.0.self_attn.q_proj.weight", model, "encoder.layer.0.attention.self.query.weight");
  check_same("layers.1.norm2.bias", model, "encoder.layer.1.output.LayerNorm.bias");
  files_remove();
}
END_TEST

/* --- pictures --- */

static const char *const vision[] = {"vit", "clip"};

START_TEST(pictures_are_told_apart) {
  mica_run *run = NULL;
  mica_metrics m;
  mica_dataset *pictures = make_pictures(SIDE, false);
  snprintf(folder, sizeof folder, "%s", files_path("run"));
  const mica_setting settings[] = {
      {"init", model_path(vision[_i])}, {"epochs", "6"}, {"batch", "16"}, {"lr", "0.003"}, {"seed", "3"}};
  const mica_run_config config = {
      .task = "classify", .dataset = pictures, .folder = folder, .settings = settings, .setting_count = 5};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  /* Inputs are scaled as the model's file says. */
  ck_assert_msg(!strncmp(mica_run_setting(run, "mean"), _i ? "0.48145466," : "0.5,0.5,0.5", 11), "%s",
                mica_run_setting(run, "mean"));
  ck_ok(mica_run_fit(run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_msg(mica_metrics_get(&m, "accuracy") >= 0.9, "accuracy %g", mica_metrics_get(&m, "accuracy"));
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), folder, &run));
  ck_assert_str_eq(mica_run_setting(run, "model"), "published");
  mica_run_destroy(run);
  mica_dataset_destroy(pictures);
  files_remove();
}
END_TEST

START_TEST(pictures_get_numbers) {
  mica_run *run = NULL;
  mica_metrics m;
  mica_dataset *pictures = make_pictures(SIDE, true);
  snprintf(folder, sizeof folder, "%s", files_path("run"));
  const mica_setting settings[] = {
      {"init", model_path("vit")}, {"epochs", "6"}, {"batch", "16"}, {"lr", "0.003"}, {"seed", "3"}};
  const mica_run_config config = {
      .task = "regress", .dataset = pictures, .folder = folder, .settings = settings, .setting_count = 5};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_assert_str_eq(mica_run_setting(run, "model"), "published");
  ck_ok(mica_run_fit(run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_msg(mica_metrics_get(&m, "r2") >= 0.8, "R2 %g", mica_metrics_get(&m, "r2"));
  mica_run_destroy(run);
  mica_dataset_destroy(pictures);
  files_remove();
}
END_TEST

/* --- faults --- */

static const struct {
  const char *task, *init, *name, *value, *text;
  mica_status status;
} faults[] = {
    {"text", "vit", "seed", "1", "reads no texts", MICA_E_INVALID},
    {"text", "embed", "model", "tcn", "leave model out", MICA_E_INVALID},
    {"text", "embed", "length", "65", "64 positions", MICA_E_INVALID},
    {"text", "bert", "seed", "1", "tokenizer.json", MICA_E_NOT_FOUND},
    {"text", "llama-gguf/model.gguf", "seed", "1", "is a GGUF file", MICA_E_UNSUPPORTED},
    {"text", NULL, "model", "published", "--init FOLDER", MICA_E_INVALID},
    {"classify", "embed", "seed", "1", "reads no pictures", MICA_E_INVALID},
    {"classify", "vit", "seed", "1", "--size 20", MICA_E_FORMAT},
    {"language", "embed", "seed", "1", "but the task language cannot start from one", MICA_E_UNSUPPORTED},
};

START_TEST(wrong_models_are_refused) {
  mica_run *run = NULL;
  write_texts();
  const bool texts = strcmp(faults[_i].task, "classify") != 0;
  mica_dataset *pictures = texts ? NULL : make_pictures(SIDE + 2, false);
  const mica_setting settings[] = {{faults[_i].name, faults[_i].value},
                                   {"init", faults[_i].init ? model_path(faults[_i].init) : ""}};
  const mica_run_config config = {.task = faults[_i].task,
                                  .data = texts ? data : NULL,
                                  .dataset = pictures,
                                  .settings = settings,
                                  .setting_count = faults[_i].init ? 2 : 1};
  ck_assert_int_eq(mica_run_create(test_engine(), &config, &run), faults[_i].status);
  ck_assert_msg(strstr(mica_error_message(), faults[_i].text) != NULL, "%s", mica_error_message());
  mica_dataset_destroy(pictures);
  files_remove();
}
END_TEST

/* A folder that lost its copy of the description says so. */
START_TEST(a_damaged_copy_is_named) {
  mica_run *run = NULL;
  char path[600];
  write_texts();
  const mica_setting settings[] = {{"init", model_path("embed")}, {"epochs", "1"}};
  const mica_run_config config = {
      .task = "text", .data = data, .folder = folder, .settings = settings, .setting_count = 2};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_ok(mica_run_fit(run));
  mica_run_destroy(run);
  snprintf(path, sizeof path, "%s/network.json", folder);
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  fputs("{\"model_type\": \"bert\"", file);
  fclose(file);
  ck_assert_int_eq(mica_run_open(test_engine(), folder, &run), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "network.json") != NULL, "%s", mica_error_message());
  ck_assert_int_eq(remove(path), 0);
  ck_assert_int_eq(mica_run_open(test_engine(), folder, &run), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "network.json") != NULL, "%s", mica_error_message());
  files_remove();
}
END_TEST

TESTS(DEVICE, NULL, NULL, texts_are_told_apart_by_bert, frozen_weights_stay_those_of_the_model,
      LOOP(pictures_are_told_apart, 0, 2), pictures_get_numbers,
      LOOP(wrong_models_are_refused, 0, (int)(sizeof faults / sizeof *faults)), a_damaged_copy_is_named)

#else
SKIPS("built without cJSON")
#endif
