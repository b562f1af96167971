/* labels: null single
 *
 * A run's config.json tells some quantities more than once: extents of samples and names of columns, classes and their
 * weights, items and their titles. What does not go together is refused when the run is opened. */
#include "run/run.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/run_configs.h"

#include <stdlib.h>
#include <string.h>

/* Opens the run of the text and looks at it; the sentence stays. */
static mica_status open_run(const char *text, void (*look)(const mica_run *run)) {
  mica_run *run = NULL;
  mica_engine *engine = NULL;
  mica_engine_config config = mica_engine_config_default();
  mica_tokenizer *tokenizer = run_config_tokenizer();
  config.device = "null";
  ck_ok(mica_engine_create(&config, &engine));
  files_write_text("run/config.json", text);
  if (tokenizer) ck_ok(mica_tokenizer_save(tokenizer, files_path("run/tokenizer.json")));
  mica_status status = mica__run_open_folder(engine, files_path("run"), NULL, mica__run_open_facts, &run);
  if (status == MICA_OK && look) look(run);
  if (status == MICA_OK) mica_run_destroy(run);
  mica_tokenizer_destroy(tokenizer);
  mica_engine_destroy(engine);
  return status;
}

/* The options of mica_run_takes that runs of a task have, besides those that depend on their classes. */
static const struct {
  const char *task;
  mica_run_option option;
} taken[] = {
    {"translate", MICA_RUN_OPTION_BEAMS},      {"speech", MICA_RUN_OPTION_SEARCH},
    {"diffuse", MICA_RUN_OPTION_DRAW},         {"verify", MICA_RUN_OPTION_GALLERY},
    {"sound_verify", MICA_RUN_OPTION_GALLERY}, {"language", MICA_RUN_OPTION_GENERATE},
    {"speak", MICA_RUN_OPTION_SPEAK},          {"detect", MICA_RUN_OPTION_TRACK},
};

static void takes_its_options(const mica_run *run) {
  for (int option = MICA_RUN_OPTION_BEAMS; option <= MICA_RUN_OPTION_TRACK; option++) {
    bool takes = false;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
      takes = takes || ((int)taken[i].option == option && !strcmp(taken[i].task, mica_run_task(run)));
    ck_assert_msg(mica_run_takes(run, (mica_run_option)option) == takes, "%s: option %d", mica_run_task(run), option);
  }
  if (!strcmp(mica_run_task(run), "detect")) ck_assert(mica_run_takes(run, MICA_RUN_OPTION_THRESHOLD));
  ck_assert(!mica_run_takes(run, (mica_run_option)(MICA_RUN_OPTION_TRACK + 1)));
}

START_TEST(runs_of_all_tasks_are_opened) {
  ck_assert_msg(open_run(run_config((size_t)_i), takes_its_options) == MICA_OK, "%s: %s", run_config_task((size_t)_i),
                mica_error_message());
}
END_TEST

/* In the config of the task, the n-th of it from 0, `is` becomes `lie`. */
static const struct {
  const char *task;
  size_t n;
  const char *is, *lie, *sentence;
} lies[] = {
    {"classify", 0, "\"input\": [2]", "\"input\": [2, 300, 300]",
     "\"input\" has 3 dimensions, but must have one for rows of a table"},
    {"classify", 0, "\"input\": [2]", "\"input\": [2, 3]", "\"input\" has 2 dimensions"},
    {"classify", 0, "\"input\": [2]", "\"input\": [3]", "\"numbers\" names 2 columns, but \"input\" has 3"},
    {"classify", 0, "[\"a\", \"b\"]", "[\"a\"]", "\"numbers\" names 1 columns, but \"input\" has 2"},
    {"classify", 0, "[\"a\", \"b\"]", "[1, 2]", "\"numbers\" must hold texts"},
    {"classify", 0, "\"category_classes\": [2]", "\"category_classes\": [3]", "\"categories\" and their classes"},
    {"classify", 0, "[1, 2]", "[1]", "\"class_weights\" holds 1 values, but must hold 2"},
    {"classify", 0, "\"mean\": [3, 2]", "\"mean\": [3]", "\"mean\" holds 1 values, but must hold 2"},
    {"classify", 0, "x f32 -1 2", "x f32 -1 3", "\"columns\" has 'x' as (?, 3)"},
    {"classify", 0, "x f32 -1 2", "x f32 -1 2 2", "\"columns\" has 'x' as (?, 2, 2)"},
    {"classify", 1, "\"input\": [1, 16, 16]", "\"input\": [1, 16]", "\"columns\" has 'image' as (?, 1, 16, 16)"},
    {"classify", 1, "\"several\": [1]", "\"several\": [1e30]", "\"several\" holds 1e+30"},
    {"regress", 0, "\"input\": [2]", "\"input\": [2, 2]",
     "\"input\" has 2 dimensions, but must have one for rows of a table"},
    {"regress", 0, "\"header\": [1]", "\"header\": [-1e300]", "\"header\" holds"},
    {"detect", 0, "\"input\": [1, 64, 64]", "\"input\": [1]",
     "\"input\" has 1 dimensions, but must have 3 for the task detect"},
    {"detect", 0, "\"deviation\": [0.25]", "\"deviation\": [0.25, 1]", "\"deviation\" holds 2 values, but must hold 1"},
    {"segment", 0, "\"input\": [1, 16, 16]", "\"input\": [1, 16]", "must have 3 for the task segment"},
    {"segment", 0, "\"window\": [16, 16]", "\"window\": [16, 1e20]", "\"window\" holds 1e+20"},
    {"segment", 0, "\"cut\": [16, 16]", "\"cut\": [16]", "\"cut\" holds 1 values, but must hold 2"},
    {"segment", 0, "\"tile\": [16, 16, 4]", "\"tile\": [16, 16.5, 4]", "\"tile\" holds 16.5"},
    {"segment", 0, "\"tile\": [16, 16, 4]", "\"tile\": [16, 16, 16]", "\"tile\" must hold a height and a width"},
    {"depth", 0, "\"usual_depth\": [5]", "\"usual_depth\": [0]", "\"usual_depth\" holds 0"},
    {"depth", 0, "\"usual_depth\": [5]", "\"usual_depth\": [5, 5]", "\"usual_depth\" holds 2 values, but must hold 1"},
    {"text", 0, "\"vocabulary\": [2", "\"vocabulary\": [12", "is not the run's own tokeniser"},
    {"forecast", 0, "\"scale\": [1, 2]", "\"scale\": [1]", "\"scale\" holds 1 values, but must hold 2"},
    {"forecast", 0, "\"targets\": [2]", "\"targets\": [3]", "\"targets\" holds 3"},
    {"forecast", 0, "\"window\": [3]", "\"window\": [1e12]", "\"window\" holds 1e+12"},
    {"fuse", 0, "\"rows\"]", "\"shapes\"]", "\"parts\" is empty, or names an unknown part of a sample"},
    {"fuse", 0, "\"parts\": [\"tokens\", \"series\", \"picture\", \"sound\", \"rows\"]", "\"parts\": [\"none\"]",
     "\"parts\" is empty, or names an unknown part of a sample"},
    {"fuse", 0, "\"text_column\": [\"note\"], ", "", "\"parts\" has \"tokens\", but there is no \"text_column\""},
    {"fuse", 0, "\"rate\": [2000], ", "", "\"parts\" has \"sound\", but there is no \"rate\""},
    {"fuse", 0, "\"picture\": [1, 8, 8], ", "", "\"picture_mean\" must have one number per channel"},
    {"fuse", 0, "\"picture\": [1, 8, 8]", "\"picture\": [3, 8, 8]",
     "\"picture_mean\" must have one number per channel"},
    {"fuse", 0, "\"picture\": [1, 8, 8]", "\"picture\": [1, 0, 8]", "\"picture\" holds"},
    {"fuse", 0, "\"picture\": [1, 8, 8]", "\"picture\": [1, 8]", "\"picture\" holds 2 values, but must hold 3"},
    {"fuse", 0, "\"picture_deviation\": [0.25]", "\"picture_deviation\": [0]", "\"picture_deviation\" holds 0"},
    {"fuse", 0, "\"series_mean\": [1], ", "", "\"parts\" has \"series\", but there is no \"series_mean\""},
    {"fuse", 0, "\"series_deviation\": [2]", "\"series_deviation\": [0]", "\"series_deviation\" holds 0"},
    {"fuse", 0, "\"series_length\": [9]", "\"series_length\": [0]", "\"series_length\" holds 0"},
    {"fuse", 0, "\"series_length\": [9]", "\"series_length\": [1e30]", "\"series_length\" holds 1e+30"},
    {"fuse", 0, "\"row_mean\": [30]", "\"row_mean\": [30, 1]", "\"row_mean\" holds 2 values, but must hold 1"},
    {"language", 0, "\"vocabulary\": [256]", "\"vocabulary\": [1e30]", "\"vocabulary\" holds 1e+30"},
    {"translate", 0, "\"vocabulary\": [2", "\"vocabulary\": [1.2", "\"vocabulary\" holds 1.2"},
    {"keyword", 0, "\"input\": [1, 1000]", "\"input\": [1]", "must have 2 for the task keyword"},
    {"keyword", 0, "\"rate\": [2000]", "\"rate\": [2e9]", "\"rate\" holds 2e+09"},
    {"speech", 0, "\"rate\": [2000]", "\"rate\": [2000.5]", "\"rate\" holds 2000.5"},
    {"recommend", 0, "[\"I\", \"J\", \"K\"]", "[\"I\"]", "\"titles\" holds 1 values, but must hold 3"},
    {"recommend", 0, "\"histories\": [\"1 2\", \"3\"]", "\"histories\": [\"1\"]",
     "\"histories\" holds 1 values, but must hold 2"},
    {"recommend", 0, "\"popularity\": [0, 1, 1, 1]", "\"popularity\": [0, 1]",
     "\"popularity\" holds 2 values, but must hold 4"},
    {"recommend", 0, "\"rating_range\": [1, 5]", "\"rating_range\": [1]",
     "\"rating_range\" holds 1 values, but must hold 2"},
    {"recommend", 0, "\"user_bias\": [0, 0, 1]", "\"user_bias\": [0]", "\"user_bias\" holds 1 values, but must hold 3"},
    {"recommend", 1, "\"feature_numbers\": [0,", "\"feature_numbers\": [",
     "\"feature_numbers\" holds 7 values, but must hold 8"},
    {"recommend", 1, "[0, 0, 30, 5, 1,", "[0, 0, 30, 5, 1e30,",
     "\"feature_numbers\"[4] is 1e+30, but must be a whole number"},
    {"graph", 0, "\"features\": [35]", "\"features\": [1e30]", "\"features\" holds 1e+30"},
    {"graph", 0, "\"features\": [35]", "\"features\": [3.5]", "\"features\" holds 3.5"},
};

static size_t find_config(const char *task, size_t n) {
  size_t at = 0;
  for (; run_config_task(at); at++)
    if (!strcmp(run_config_task(at), task) && n-- == 0) break;
  return at;
}

START_TEST(facts_that_do_not_go_together_are_refused) {
  const char *text = run_config(find_config(lies[_i].task, lies[_i].n));
  const char *at = strstr(text, lies[_i].is);
  mica__text lie = {0};
  ck_assert_msg(at != NULL, "%s has no %s", lies[_i].task, lies[_i].is);
  mica__text_add_bytes(&lie, text, (size_t)(at - text));
  mica__text_add(&lie, lies[_i].lie);
  mica__text_add(&lie, at + strlen(lies[_i].is));
  ck_ok(mica__text_status(&lie));
  const mica_status status = open_run(lie.data, NULL);
  ck_assert_msg(status == MICA_E_FORMAT, "%s %s: %d %s", lies[_i].task, lies[_i].lie, (int)status,
                mica_error_message());
  ck_assert_msg(strstr(mica_error_message(), "is damaged: ") && strstr(mica_error_message(), lies[_i].sentence),
                "%s %s: %s", lies[_i].task, lies[_i].lie, mica_error_message());
  mica__text_free(&lie);
}
END_TEST

static int config_count(void) {
  int count = 0;
  while (run_config_task((size_t)count)) count++;
  return count;
}

TESTS(NEEDS(CJSON), NULL, NULL, LOOP(runs_of_all_tasks_are_opened, 0, config_count()),
      LOOP(facts_that_do_not_go_together_are_refused, 0, sizeof lies / sizeof *lies))
