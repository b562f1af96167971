#include "run/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most ranks, and the most micro-batches. */
#define MOST 1024

static mica_status wrong(const char *text, const char *word, int length) {
  return mica__fail(
      MICA_E_INVALID,
      "parallel: '%.*s' in \"%.80s\" is not one of data=N, pipe=N, tensor=N, micro=N (each once, N from 1 to %d), "
      "order=1f1b and order=gpipe",
      length, word, text, MOST);
}

static mica_status take_order(const char *text, const char *word, size_t length, mica__layout *l) {
  const char *value = word + strlen("order=");
  for (int k = 0; k <= MICA_PIPELINE_SCHEDULE_GPIPE; k++) {
    const char *name = mica_pipeline_schedule_name((mica_pipeline_schedule)k);
    if (strlen(name) != length - strlen("order=") || strncmp(value, name, strlen(name)) != 0) continue;
    l->schedule = (mica_pipeline_schedule)k;
    return MICA_OK;
  }
  return wrong(text, word, (int)length);
}

static mica_status take_word(const char *text, const char *word, size_t length, mica__layout *l) {
  const struct {
    const char *name;
    int32_t *number;
  } numbers[] = {{"data=", &l->data}, {"pipe=", &l->pipe}, {"tensor=", &l->tensor}, {"micro=", &l->micro}};
  if (!strncmp(word, "order=", strlen("order=")) && length > strlen("order=")) return take_order(text, word, length, l);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    const size_t n = strlen(numbers[i].name);
    char *end = NULL;
    if (length <= n || strncmp(word, numbers[i].name, n) != 0 || word[n] < '1' || word[n] > '9') continue;
    const long value = strtol(word + n, &end, 10);
    if (end != word + length || value > MOST || *numbers[i].number) break;
    *numbers[i].number = (int32_t)value;
    return MICA_OK;
  }
  return wrong(text, word, (int)length);
}

mica_status mica__layout_parse(const char *text, int32_t ranks, mica__layout *layout) {
  mica__layout l = {0};
  for (const char *word = text; word && *text; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL)
    MICA_TRY(take_word(text, word, strcspn(word, ","), &l));
  if (!l.pipe) l.pipe = 1;
  if (!l.tensor) l.tensor = 1;
  const int64_t inner = (int64_t)l.pipe * l.tensor;
  if (!l.data && ranks % inner == 0) l.data = (int32_t)(ranks / inner);
  if (l.data * inner != ranks)
    return mica__fail(
        MICA_E_INVALID,
        "parallel: \"%.80s\" needs %s%lld ranks, but there %s %d; start as many as it needs with mpirun or --devices",
        text ? text : "", l.data ? "" : "a multiple of ", (long long)(l.data ? l.data * inner : inner),
        ranks == 1 ? "is" : "are", (int)ranks);
  *layout = l;
  return MICA_OK;
}
