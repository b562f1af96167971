#include "cli/report.h"

#include "cli/report_page.h"
#include "cli/samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_AT 2000
#define AT_A_TIME 250
#define SHOWN 24
#define FACTS 12

/* The mistakes made with the most confidence, in falling order; pixels are copies. */
typedef struct mistakes {
  cli_report_mistake list[SHOWN];
  size_t count;
} mistakes;

static void add_mistake(mistakes *m, const cli_samples *s, const cli_run *run, int64_t i, int32_t guess) {
  double confidence = (double)s->outputs[i * s->width + guess];
  size_t at = m->count;
  while (at > 0 && m->list[at - 1].confidence < confidence) at--;
  if (at == SHOWN) return;
  uint8_t *pixels = s->pixels[i] ? malloc((size_t)s->size) : NULL;
  if (s->pixels[i] && !pixels) return;
  if (pixels) memcpy(pixels, s->pixels[i], (size_t)s->size);
  if (m->count == SHOWN) free((void *)m->list[--m->count].pixels);
  memmove(m->list + at + 1, m->list + at, (m->count - at) * sizeof *m->list);
  /* NOLINTBEGIN(clang-analyzer-unix.Malloc): the list keeps the pixels. */
  m->list[at] = (cli_report_mistake){
      .pixels = pixels, .shape = run->input, .label = s->truth[i], .predicted = guess, .confidence = confidence};
  /* NOLINTEND(clang-analyzer-unix.Malloc) */
  m->count++;
}

static int find_mistakes(const cli_command *self, const cli_report *report, mica_engine *engine, mica_trainer *trainer,
                         mistakes *m) {
  int64_t count = (int64_t)mica_dataset_count(report->judged), size = count < AT_A_TIME ? count : AT_A_TIME;
  cli_samples s = {0};
  int status = cli_samples_create(&s, self, report->run, size);
  for (int64_t from = 0; status == CLI_OK && from + size <= count && from < LOOKED_AT; from += size) {
    status = cli_samples_read(&s, self, report->run, report->judged, (uint64_t)from);
    if (status == CLI_OK) status = cli_samples_infer(&s, self, report->run, engine, trainer);
    for (int64_t i = 0; status == CLI_OK && i < size; i++) {
      int32_t guess = cli_samples_class(&s, i, 0);
      if (guess != s.truth[i]) add_mistake(m, &s, report->run, i, guess);
    }
  }
  cli_samples_free(&s);
  return status;
}

static size_t list_facts(const cli_report *report, char texts[FACTS][128], cli_report_fact facts[FACTS]) {
  const cli_run *run = report->run;
  size_t n = 0;
#define FACT(label, ...)                                                                                               \
  do {                                                                                                                 \
    snprintf(texts[n], sizeof texts[n], __VA_ARGS__);                                                                  \
    facts[n] = (cli_report_fact){label, texts[n]};                                                                     \
    n++;                                                                                                               \
  } while (0)
  FACT("data", "%.120s", run->data);
  FACT("device", "%.120s", report->device);
  FACT("optimizer", "%.40s at %g, %.40s, weight decay %g", run->optimizer, run->lr, run->schedule, run->weight_decay);
  FACT("batch", "%" PRId64, run->batch);
  FACT("augmentation", "%.120s", run->augment);
  FACT("precision", "%.16s", run->precision);
  FACT("seed", "%" PRId64, run->seed);
  FACT("energy", "%.120s", report->energy);
  if (report->score && run->classes)
    FACT("accuracy", "%.2f %%", 100 * mica_metrics_get(&report->score->metrics, "accuracy"));
#undef FACT
  return n;
}

int cli_report_write(const cli_report *report, const cli_command *self, mica_engine *engine, mica_trainer *trainer,
                     const char *folder) {
  char path[CLI_PATH], texts[FACTS][128];
  cli_report_fact facts[FACTS];
  mistakes m = {0};
  const cli_run *run = report->run;
  if (!cli_run_path(path, folder, "report.html")) return cli_fail(self, "the path %s is too long", folder);
  int status = report->judged && run->classes ? find_mistakes(self, report, engine, trainer, &m) : CLI_OK;
  const cli_report_page page = {
      .title = run->model,
      .facts = facts,
      .fact_count = list_facts(report, texts, facts),
      .history = report->progress->rows,
      .epochs = report->progress->row_count,
      .classes = run->classes,
      .class_names = (const char *const *)run->class_names,
      .confusion = report->score ? report->score->confusion : NULL,
      .mistakes = m.list,
      .mistake_count = m.count,
  };
  if (status == CLI_OK) status = cli_report_page_write(self, path, &page);
  for (size_t i = 0; i < m.count; i++) free((void *)m.list[i].pixels);
  return status;
}
