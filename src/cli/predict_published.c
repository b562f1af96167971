/* mica predict with a published model that classifies texts. */
#include "cli/predict_published.h"

#include "cli/json.h"
#include "cli/model.h"
#include "cli/result.h"

#include <mica/embed.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct texts {
  char *owned;       /* the lines of standard input */
  const char **list; /* lines that are not empty */
  size_t count;
} texts;

static int split(const cli_command *self, texts *t) {
  size_t lines = 1;
  for (const char *c = t->owned; *c; c++) lines += *c == '\n';
  t->list = calloc(lines, sizeof *t->list);
  if (!t->list) return cli_fail(self, "there is not enough memory for %zu texts", lines);
  for (char *line = t->owned, *next; line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    const size_t n = strlen(line);
    if (n && line[n - 1] == '\r') line[n - 1] = '\0';
    if (*line) t->list[t->count++] = line;
  }
  return t->count ? CLI_OK : cli_fail(self, "standard input has no text");
}

/* Turns logits into probabilities, and sets order to the indices of the classes in descending order of probability. */
static void rank(float *x, int64_t classes, int64_t *order) {
  double most = -INFINITY, sum = 0;
  for (int64_t c = 0; c < classes; c++) most = fmax(most, (double)x[c]);
  for (int64_t c = 0; c < classes; c++) sum += exp((double)x[c] - most);
  for (int64_t c = 0; c < classes; c++) {
    int64_t at = c;
    x[c] = (float)(exp((double)x[c] - most) / sum);
    for (; at > 0 && x[order[at - 1]] < x[c]; at--) order[at] = order[at - 1];
    order[at] = c;
  }
}

static void name_of(const mica_foundation_info *info, int64_t c, char name[CLASS_NAME]) {
  if (info->class_names)
    snprintf(name, CLASS_NAME, "%s", info->class_names[c]);
  else
    snprintf(name, CLASS_NAME, "LABEL_%" PRId64, c);
}

static void print_one(const cli_published *p, const mica_foundation_info *info, const char *text, const float *x,
                      const int64_t *order, cli_json *json, cJSON *list) {
  const int64_t shown = p->top < info->classes ? p->top : info->classes;
  char name[CLASS_NAME];
  cJSON *one = p->json ? cli_json_object(json, list, NULL) : NULL, *classes = NULL;
  if (p->json) {
    cli_json_text(json, one, "text", text);
    name_of(info, order[0], name);
    cli_json_text(json, one, "class", name);
    classes = cli_json_array(json, one, "classes");
  }
  for (int64_t k = 0; k < shown; k++) {
    name_of(info, order[k], name);
    if (p->json) {
      cJSON *each = cli_json_object(json, classes, NULL);
      cli_json_text(json, each, "name", name);
      cli_json_real(json, each, "probability", (double)x[order[k]]);
    } else {
      printf("%s%s %.1f %%", k ? ", " : "", cli_clean(name), 100 * (double)x[order[k]]);
    }
  }
  if (p->json) return;
  printf("  ");
  cli_print_clean(text, strlen(text));
  putchar('\n');
}

static int classify(const cli_command *self, const cli_published *p, const cli_model *opened, mica_embedder *embedder,
                    const texts *t) {
  const mica_foundation_info *info = mica_foundation_describe(opened->model);
  const int64_t classes = info->classes;
  float *x = calloc(t->count, (size_t)classes * sizeof *x);
  int64_t *order = calloc((size_t)classes, sizeof *order);
  cli_json json = {0};
  cJSON *list = NULL;
  int status = x && order ? CLI_OK : cli_fail(self, "there is not enough memory for %zu texts", t->count);
  if (status == CLI_OK && mica_embedder_texts(embedder, t->list, t->count, x) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK && p->json) {
    cli_json_begin(&json);
    cli_json_text(&json, json.root, "task", "classify");
    list = cli_json_array(&json, json.root, "predictions");
  }
  for (size_t i = 0; i < t->count && status == CLI_OK; i++) {
    rank(x + (int64_t)i * classes, classes, order);
    print_one(p, info, t->list[i], x + (int64_t)i * classes, order, &json, list);
  }
  if (status == CLI_OK && p->json) status = cli_json_print_line(&json, self);
  free(x);
  free(order);
  return status;
}

int cli_predict_published(const cli_command *self, const cli_published *p) {
  cli_model opened = {0};
  mica_embedder *embedder = NULL;
  texts t = {.owned = p->lines};
  int status = CLI_OK;
  if (p->lines)
    status = split(self, &t);
  else if ((t.list = calloc(1, sizeof *t.list)))
    t.list[t.count++] = p->text;
  else
    status = cli_fail(self, "there is not enough memory");
  if (status == CLI_OK) status = cli_model_open(self, p->model, NULL, p->device, 0, &opened);
  if (status == CLI_OK &&
      mica_embedder_create(opened.engine, opened.model, &(mica_embedder_config){.classes = true}, &embedder) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK) status = classify(self, p, &opened, embedder, &t);
  mica_embedder_destroy(embedder);
  cli_model_close(&opened);
  free(t.list);
  return status;
}
