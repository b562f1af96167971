#include "cli/tally.h"
#include "cli/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most classes that are printed. */
#define NAMED 20

static void count_class(cli_tally *t, const char *name) {
  for (size_t k = 0; k < t->class_count; k++)
    if (!strcmp(t->classes[k], name)) {
      t->counts[k]++;
      return;
    }
  char **classes = realloc(t->classes, (t->class_count + 1) * sizeof *classes);
  if (classes) t->classes = classes;
  size_t *counts = realloc(t->counts, (t->class_count + 1) * sizeof *counts);
  if (counts) t->counts = counts;
  char *copy = malloc(strlen(name) + 1);
  t->failed = t->failed || !classes || !counts || !copy;
  if (!classes || !counts || !copy) {
    free(copy);
    return;
  }
  t->classes[t->class_count] = strcpy(copy, name);
  t->counts[t->class_count++] = 1;
}

/* True for the number "value", or the table "values" of several numbers, if one of them is not finite. */
static bool is_infinite(const mica_item *item) {
  if (item->kind == MICA_ITEM_KIND_NUMBER) return !strcmp(item->name, "value") && !isfinite(item->number);
  if (item->kind != MICA_ITEM_KIND_TABLE || strcmp(item->name, "values") != 0 || !item->numbers) return false;
  for (size_t i = 0; i < item->rows * item->columns; i++)
    if (!isfinite(item->numbers[i])) return true;
  return false;
}

void cli_tally_add(cli_tally *t, const mica_report *prediction) {
  for (size_t s = 0; s < mica_report_count(prediction); s++) {
    const char *is = NULL, *truth = NULL;
    bool infinite = false;
    for (size_t i = 0; i < mica_report_item_count(prediction, s); i++) {
      const mica_item *item = mica_report_item(prediction, s, i);
      if (item->kind == MICA_ITEM_KIND_CHOICES && !strcmp(item->name, "classes") && item->rows) is = item->row_names[0];
      if (item->kind == MICA_ITEM_KIND_TEXT && !strcmp(item->name, "truth")) truth = item->text;
      infinite = infinite || is_infinite(item);
    }
    t->infinite += infinite;
    t->samples++;
    if (is) count_class(t, is);
    t->judged += is && truth;
    t->right += is && truth && !strcmp(is, truth);
  }
}

/* The class with the largest count, the first one of equals. cli_tally_print sets the counts of printed classes to 0.
 */
static size_t most_frequent(const cli_tally *t) {
  size_t most = 0;
  for (size_t k = 1; k < t->class_count; k++)
    if (t->counts[k] > t->counts[most]) most = k;
  return most;
}

bool cli_tally_print(const cli_command *self, cli_tally *t) {
  if (!t->samples || t->failed) return false;
  fprintf(stderr, "mica %s: %zu sample%s %s predicted", self->name, t->samples, t->samples == 1 ? "" : "s",
          t->samples == 1 ? "was" : "were");
  for (size_t n = 0; n < t->class_count && n < NAMED; n++) {
    const size_t k = most_frequent(t);
    fprintf(stderr, "%s%s %zu", n ? ", " : ": ", cli_clean(t->classes[k]), t->counts[k]);
    t->counts[k] = 0;
  }
  if (t->class_count > NAMED) fprintf(stderr, " and %zu more classes", t->class_count - NAMED);
  if (t->judged) fprintf(stderr, "; %zu of %zu are right", t->right, t->judged);
  fputc('\n', stderr);
  return true;
}

void cli_tally_say_infinite(const cli_command *self, const cli_tally *t) {
  if (!t->infinite) return;
  fprintf(stderr,
          "mica %s: %zu of %zu predictions %s; the inputs may be far from those that the network was trained on\n",
          self->name, t->infinite, t->samples, t->infinite == 1 ? "is not a finite number" : "are not finite numbers");
}

void cli_tally_free(cli_tally *t) {
  for (size_t k = 0; k < t->class_count; k++) free(t->classes[k]);
  free(t->classes);
  free(t->counts);
}
