/* labels: device
 *
 * Published classifiers of texts (BERT, RoBERTa, DistilBERT) against transformers (classes_oracle.py). */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/golden.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

enum { TEXTS = 7, MOST_CLASSES = 4 };

static const struct {
  const char *folder;
  int64_t classes;
  const char *first; /* name of class 0 */
} models[] = {{"foundation/bert-classes", 3, "negative"},
              {"foundation/roberta-classes", 3, "negative"},
              {"foundation/distilbert-classes", 4, "LABEL_0"}};

static void read_texts(const char *folder, char lines[TEXTS][200], const char *texts[TEXTS]) {
  FILE *file = fopen(golden_path(folder, "texts.txt"), "r");
  ck_assert(file != NULL);
  for (int i = 0; i < TEXTS; i++) {
    ck_assert(fgets(lines[i], 200, file) != NULL);
    lines[i][strcspn(lines[i], "\n")] = '\0';
    texts[i] = lines[i];
  }
  fclose(file);
}

START_TEST(logits_are_those_of_transformers) {
  char lines[TEXTS][200];
  const char *texts[TEXTS];
  float want[TEXTS * MOST_CLASSES], got[TEXTS * MOST_CLASSES];
  const size_t count = TEXTS * (size_t)models[_i].classes;
  mica_foundation *model = NULL;
  mica_embedder *e = NULL;
  read_texts(models[_i].folder, lines, texts);
  FILE *file = fopen(golden_path(models[_i].folder, "classes.f32"), "rb");
  ck_assert(file != NULL);
  ck_assert_uint_eq(fread(want, sizeof *want, count, file), count);
  fclose(file);
  ck_ok(mica_foundation_open(golden_path(models[_i].folder, ""), NULL, &model));
  const mica_foundation_info *info = mica_foundation_describe(model);
  ck_assert_int_eq(info->task, MICA_FOUNDATION_TASK_CLASSIFY);
  ck_assert_int_eq(info->classes, models[_i].classes);
  ck_assert(info->class_names != NULL);
  ck_assert_str_eq(info->class_names[0], models[_i].first);
  ck_ok(mica_embedder_create(test_engine(), model, &(mica_embedder_config){.classes = true}, &e));
  ck_assert_int_eq(mica_embedder_width(e), models[_i].classes);
  ck_ok(mica_embedder_texts(e, texts, TEXTS, got));
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(fabsf(got[i] - want[i]) <= 1e-4f, "logit %zu: %g, not %g", i, (double)got[i], (double)want[i]);
  mica_embedder_destroy(e);
  /* A classifier still makes vectors. */
  e = NULL;
  ck_ok(mica_embedder_create(test_engine(), model, NULL, &e));
  ck_assert_int_eq(mica_embedder_width(e), 16);
  mica_embedder_destroy(e);
  mica_foundation_close(model);
}
END_TEST

START_TEST(models_without_classes_are_refused) {
  mica_foundation *model = NULL;
  mica_embedder *e = NULL;
  ck_ok(mica_foundation_open(golden_path("foundation/embed", ""), NULL, &model));
  ck_assert_int_eq(mica_embedder_create(test_engine(), model, &(mica_embedder_config){.classes = true}, &e),
                   MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), "no classes") != NULL, "%s", mica_error_message());
  mica_foundation_close(model);
  model = NULL;
  ck_ok(mica_foundation_open(golden_path("foundation/bert-classes", ""), NULL, &model));
  const mica_embedder_config wrong = {.classes = true, .pooling = MICA_EMBED_POOLING_MEAN};
  ck_assert_int_eq(mica_embedder_create(test_engine(), model, &wrong, &e), MICA_E_INVALID);
  ck_assert(e == NULL);
  mica_foundation_close(model);
}
END_TEST

TESTS(BOTH(NEEDS(CJSON), DEVICE), NULL, NULL,
      LOOP(logits_are_those_of_transformers, 0, (int)(sizeof models / sizeof *models)),
      models_without_classes_are_refused)
