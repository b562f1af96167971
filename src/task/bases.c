/* What is subtracted from the numbers of a table's columns before they become f32: a fact, by which others are read. */
#include "base/text.h"
#include "data/table.h"
#include "task/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FACT "bases"

mica_status mica__run_note_bases(mica_run *run) {
  const mica__schema *schema = run->whole ? run->whole->store->schema : NULL;
  char **list = calloc((schema ? schema->count : 0) + 1, sizeof *list);
  mica_status status = list ? MICA_OK : mica__fail_nomem("a run");
  size_t count = 0;
  for (size_t i = 0; status == MICA_OK && schema && i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    mica__text text = {0};
    if (field->kind != MICA_COLUMN_KIND_NUMBER || field->base == 0) continue;
    mica__text_addf(&text, "%s=%.17g", field->name, field->base);
    status = mica__text_status(&text);
    list[count++] = text.data;
  }
  if (status == MICA_OK && count) status = mica__run_note(run, FACT, (const char *const *)list, count);
  for (size_t i = 0; i < count; i++) free(list[i]);
  free(list);
  return status == MICA_OK ? mica__run_take_bases(run) : status;
}

mica_status mica__run_take_bases(mica_run *run) {
  size_t count = 0;
  const char *const *list = mica_run_fact(run, FACT, &count);
  mica__text text = {0};
  for (size_t i = 0; i < count; i++) mica__text_addf(&text, i ? "\n%s" : "%s", list[i]);
  free(run->bases);
  run->bases = NULL;
  MICA_TRY(mica__text_status(&text));
  run->bases = text.data;
  return MICA_OK;
}

double mica__run_base(const mica_run *run, const char *name) {
  const mica__field field = {.name = (char *)(uintptr_t)name};
  return *name ? mica__field_base(run->bases, &field) : 0;
}

/* The k-th name of the fact "table" among those that begin so; "" where there is none. */
static const char *table_name(const mica_run *run, const char *begin, size_t k) {
  size_t count = 0;
  const char *const *table = mica_run_fact(run, "table", &count);
  for (size_t i = 0; i < count; i++)
    if (!strncmp(table[i], begin, strlen(begin)) && k-- == 0) return table[i] + strlen(begin);
  return "";
}

double mica__run_number_base(const mica_run *run, size_t k) {
  size_t count = 0;
  const char *const *names = mica_run_fact(run, "numbers", &count);
  if (!run->bases) return 0;
  return mica__run_base(run, k < count ? names[k] : names ? "" : table_name(run, "number ", k));
}

double mica__run_label_base(const mica_run *run) {
  const char *name = mica__run_fact_text(run, "label_name");
  return run->bases ? mica__run_base(run, *name ? name : table_name(run, "label ", 0)) : 0;
}

mica_status mica__run_remark_coarse(mica_run *run) {
  const mica__schema *schema = run->whole ? run->whole->store->schema : NULL;
  for (size_t i = 0; schema && i < schema->count; i++) {
    const mica__field *f = &schema->fields[i];
    int exponent = 0;
    if (!f->coarse || f->kind != MICA_COLUMN_KIND_NUMBER || f->unused) continue;
    frexp(fmax(-f->least, f->most), &exponent);
    if (f->base != 0)
      MICA_TRY(mica__run_remark(run,
                                "column '%s' lies between %.15g and %.15g, where 32 bits make steps of %g: %.15g is "
                                "subtracted from it%s",
                                f->name, f->least, f->most, ldexp(1, exponent - 24), f->base,
                                f->label ? ", and added to what is predicted" : ""));
    else
      MICA_TRY(mica__run_remark(run,
                                "column '%s' lies between %.15g and %.15g, and is read in 32 bits, in steps of %g: "
                                "subtract a number from it, or what it says is lost",
                                f->name, f->least, f->most, ldexp(1, exponent - 24)));
  }
  return MICA_OK;
}
