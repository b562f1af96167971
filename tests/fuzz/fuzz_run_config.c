/* The reader of a run's config.json, of this version and of 0.2. */
#include "fuzz/fuzz.h"
#include "run/columns/batch_columns.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/predict/samples.h"
#include "run/run.h"
#include "run/state/parts.h"
#include "run/state/settings.h"
#include "support/run_configs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_run *run = mica__run_new();
  char *text = malloc(size + 1);
  if (run && text) {
    memcpy(text, data, size);
    text[size] = '\0';
    run->folder = mica__strdup("fuzz");
    if (mica__run_parse_config(run, "fuzz", text) == MICA_OK) {
      if (!run->task || !run->data) abort();
      for (size_t i = 0; i < run->settings->count; i++) {
        const mica_setting_row *row = run->settings->rows[i];
        const bool number = row->kind == MICA_SETTING_KIND_INT || row->kind == MICA_SETTING_KIND_REAL;
        if (number && *row->value && isnan(mica_run_number(run, row->name))) abort();
      }
      mica__samples samples = {0};
      if (mica__run_find_fact(run, "input") && mica_run_fact_numbers(run, "input", NULL)[0] <= 64 &&
          mica__samples_read(run, &(mica_run_input){.text = "1,2,3,4,5\n"}, &samples) == MICA_OK && samples.size != 5)
        abort();
      mica__samples_free(&samples);
      if (run->task->prepare(run) == MICA_OK && mica__run_recall_columns(run) == MICA_OK && !run->parts->column_count &&
          mica__run_find_fact(run, "columns") && mica__run_find_fact(run, "columns")->count)
        abort();
    }
  }
  free(text);
  mica_run_destroy(run);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "{\"mica\":\"0.3.0\",\"task\":\"classify\",\"data\":\"a.csv\",\"settings\":{\"model\":\"mlp\",\"lr\":\"0.1\"},"
      "\"facts\":{\"classes\":[\"a\",\"b\"],\"input\":[5],\"columns\":[\"x f32 -1 5\",\"label i32 -1\"]}}",
      "{\"mica\":\"0.2.0\",\"data\":\"a\",\"model\":\"mlp\",\"epochs\":3,\"lr\":0.003,\"optimizer\":\"adamw\","
      "\"input\":[1,8,8],\"mean\":[2.5],\"deviation\":[1.5],\"classes\":[]}",
      /* A number without a value. */
      "{\"mica\":\"0.5.0\",\"task\":\"translate\",\"data\":\"a\",\"settings\":{\"width\":\"\",\"layers\":\"1\"},"
      "\"facts\":{\"from\":[\"en\"],\"to\":[\"de\"],\"tokenizer\":[\"byte\",\"cdafa81b30760d975030a66a57c8883d\"],"
      "\"vocabulary\":[260],\"columns\":[\"source -1\"]}}"};
  const size_t own = sizeof seeds / sizeof *seeds;
  const char *text = index < own ? seeds[index] : run_config(index - own);
  if (text) mica__text_add(seed, text);
  return text != NULL;
}
