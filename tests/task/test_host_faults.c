/* labels: null
 *
 * Runs on the null device with memory, files and threads failing: created, trained, reported, opened and asked. Each
 * ends in a status and leaks nothing. */
#include "run/run.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_libc.h"
#include "support/files.h"
#include "support/run_configs.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct scenario {
  const char *task, *data;
  mica_setting settings[4];
  size_t setting_count;
} scenario;

static mica_status null_engine(mica_engine **engine) {
  return mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, engine);
}

static mica_status show(mica_run *run, const char *rows) {
  mica_report *prediction = NULL, *report = NULL;
  mica_metrics metrics;
  char *json = NULL;
  mica_status status = mica_run_evaluate(run, NULL, MICA_PART_TRAIN, &metrics);
  if (status == MICA_E_NUMERIC) status = MICA_OK; /* the null device computes nothing */
  if (status == MICA_OK) status = mica_run_report(run, &report);
  if (status == MICA_OK) status = mica_run_predict(run, &(mica_run_input){.text = rows}, &prediction);
  if (status == MICA_OK) status = mica_report_json(prediction, "predictions", "", &json);
  mica_free(json);
  mica_report_destroy(prediction);
  mica_report_destroy(report);
  return status;
}

/* Trains in memory alone. */
static mica_status train(void *user) {
  const scenario *s = user;
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  const mica_run_config config = {
      .task = s->task, .data = files_path(s->data), .settings = s->settings, .setting_count = s->setting_count};
  mica_status status = null_engine(&engine);
  if (status == MICA_OK) status = mica_run_create(engine, &config, &run);
  if (status == MICA_OK) status = mica_run_fit(run);
  if (status == MICA_E_NUMERIC) status = MICA_OK;
  if (status == MICA_OK) status = show(run, "1,2\n3,4\n");
  mica_run_destroy(run);
  mica_engine_destroy(engine);
  return status;
}

/* Opens the run of Mica 0.2 that lies beside this test. */
static mica_status open_old(void *user) {
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  mica_report *prediction = NULL;
  mica_status status = null_engine(&engine);
  if (status == MICA_OK) status = mica_run_open(engine, user, &run);
  if (status == MICA_OK) status = mica_run_predict(run, &(mica_run_input){.text = "1,2,3,4,5\n"}, &prediction);
  mica_report_destroy(prediction);
  mica_run_destroy(run);
  mica_engine_destroy(engine);
  return status;
}

/* Opens a run without its weights. A shortage of memory does not make it a damaged run. */
static mica_status open_facts(void *user) {
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  (void)user;
  mica_status status = null_engine(&engine);
  if (status == MICA_OK) status = mica__run_open_folder(engine, files_path("run"), NULL, mica__run_open_facts, &run);
  if (status == MICA_OK) mica_run_destroy(run);
  mica_engine_destroy(engine);
  return status;
}

START_TEST(memory_of_facts) {
  mica_tokenizer *tokenizer = run_config_tokenizer();
  if (tokenizer) ck_ok(mica_tokenizer_save(tokenizer, files_path("run/tokenizer.json")));
  mica_tokenizer_destroy(tokenizer);
  for (size_t i = 0; run_config_task(i); i++) {
    const bool tokens = strstr(run_config(i), "\"tokenizer\"") != NULL;
    files_write_text("run/config.json", run_config(i));
    fault_libc_some(FAULT_MEMORY, 1 + (unsigned)i % 7, tokens ? 7 : 3, open_facts, NULL);
  }
}
END_TEST

START_TEST(memory_of_runs) {
  scenario classes = {NULL, "classes.csv", {{"epochs", "1"}, {"batch", "4"}, {"class-weights", "balanced"}}, 3};
  scenario numbers = {"regress", "numbers.csv", {{"epochs", "1"}, {"batch", "4"}, {"loss", "huber"}}, 3};
  fault_libc_some(FAULT_MEMORY, 1, 5, train, &classes);
  fault_libc_some(FAULT_MEMORY, 3, 7, train, &numbers);
}
END_TEST

START_TEST(memory_of_opened_runs) {
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/tests/task/run-0.2", getenv("MICA_SOURCE_DIR"));
  fault_libc_some(FAULT_MEMORY, 1, 3, open_old, folder);
  fault_libc_each(FAULT_FILES, open_old, folder, 0);
}
END_TEST

static void setup(void) {
  files_write_text("run/config.json", "");
  files_write_text("classes.csv", "a,b,kind\n1,2,x\n2,1,y\n3,1,x\n1,4,y\n2,2,x\n3,3,y\n4,1,x\n1,1,y\n");
  files_write_text("numbers.csv",
                   "a,b,target\n1,2,0.5\n2,1,1.5\n3,1,2.5\n1,4,3.5\n2,2,0.25\n3,3,1.25\n4,1,7.5\n1,1,8.5\n");
}

TEST_GROUPS(ANYWHERE,
            ONCE(setup, files_remove, memory_of_runs, IF(CJSON, memory_of_opened_runs), IF(CJSON, memory_of_facts)))
