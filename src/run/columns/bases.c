/* The base that is subtracted from each number of a table or an array before it is rounded to f32. It is stored with
 * the run, so that other data are read with the same base. */
#include "base/json.h"
#include "base/number.h"
#include "base/text.h"
#include "data/table/table.h"
#include "run/columns/columns.h"
#include "run/columns/kinds.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/run.h"
#include "run/state/facts.h"
#include "run/state/parts.h"

#if MICA_WITH_CJSON
#include <cjson/cJSON.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACT "bases"
#define ELEMENTS "elements" /* the name of the stored value (run/facts.h) with the type of an array's inputs */

/* A column of numbers of a table, or a number of an array's rows, with its least and greatest value. */
typedef struct numbers {
  const char *name; /* the column, or the index of the number within an array's row */
  mica__extent extent;
  bool label;
} numbers;

/* Calls `take` for each of the numbers in the run's data, in order. */
static mica_status each_numbers(const mica_run *run, mica_status (*take)(void *user, const numbers *n), void *user) {
  const mica__store *store = run->parts->whole ? run->parts->whole->store : NULL;
  const mica__schema *schema = store ? store->schema : NULL;
  for (size_t i = 0; schema && i < schema->count; i++) {
    const mica__field *f = &schema->fields[i];
    const numbers n = {.name = f->name, .extent = {f->least, f->most, f->base, f->coarse}, .label = f->label};
    if (f->kind == MICA_COLUMN_KIND_NUMBER && !f->unused) MICA_TRY(take(user, &n));
  }
  for (size_t i = 0; store && i < store->column_count; i++) {
    const mica__column *column = &store->columns[i];
    for (size_t k = 0; column->extents && k < column->extent_count; k++) {
      char index[24];
      numbers n = {.name = index, .extent = column->extents[k], .label = !strcmp(column->about.name, "label")};
      snprintf(index, sizeof index, "%zu", k);
      if (n.label || column->about.shape.rank != 1) n.name = column->about.name;
      MICA_TRY(take(user, &n));
    }
  }
  return MICA_OK;
}

/* Texts that grow. */
typedef struct texts {
  char **list;
  size_t count;
} texts;

static mica_status add_base(void *user, const numbers *n) {
  texts *t = user;
  mica__text text = {0};
  if (n->extent.base == 0) return MICA_OK;
  char **grown = realloc(t->list, (t->count + 1) * sizeof *grown);
  if (!grown) return mica__fail_nomem("a run");
  t->list = grown;
  mica__text_addf(&text, "%s=%.17g", n->name, n->extent.base);
  t->list[t->count++] = text.data;
  return mica__text_status(&text);
}

mica_status mica__run_note_bases(mica_run *run) {
  texts t = {0};
  const mica__column *input = run->parts->whole ? mica__store_input(run->parts->whole->store) : NULL;
  mica_status status = each_numbers(run, add_base, &t);
  if (status == MICA_OK && t.count) status = mica__run_note(run, FACT, (const char *const *)t.list, t.count);
  for (size_t i = 0; i < t.count; i++) free(t.list[i]);
  free(t.list);
  if (status == MICA_OK && input && input->extents)
    status = mica__run_note_text(run, ELEMENTS, mica_dtype_name(input->from));
  return status == MICA_OK ? mica__run_take_bases(run) : status;
}

mica_status mica__run_take_bases(mica_run *run) {
  size_t count = 0;
  const char *const *list = mica_run_fact(run, FACT, &count);
  mica__text text = {0};
  for (size_t i = 0; i < count; i++) mica__text_addf(&text, i ? "\n%s" : "%s", list[i]);
  free(run->facts->bases);
  run->facts->bases = NULL;
  MICA_TRY(mica__text_status(&text));
  run->facts->bases = text.data;
  return MICA_OK;
}

double mica__run_base(const mica_run *run, const char *name) {
  const mica__field field = {.name = (char *)(uintptr_t)name};
  return *name ? mica__field_base(run->facts->bases, &field) : 0;
}

/* Returns name k, counted from 0, of those names in the stored list "table" that begin with `begin`. The result lacks
 * this beginning. Returns "" if there are not that many names. */
static const char *table_name(const mica_run *run, const char *begin, size_t k) {
  const mica__fact_texts table = mica__common_facts_of(run).table;
  for (size_t i = 0; i < table.count; i++)
    if (!strncmp(table.list[i], begin, strlen(begin)) && k-- == 0) return table.list[i] + strlen(begin);
  return "";
}

double mica__run_number_base(const mica_run *run, size_t k) {
  const mica__fact_texts names = mica__common_facts_of(run).numbers;
  if (!run->facts->bases) return 0;
  return mica__run_base(run, k < names.count ? names.list[k] : names.list ? "" : table_name(run, "number ", k));
}

const char *mica__run_label_name(const mica_run *run) {
  const char *name = mica__common_facts_of(run).label_name;
  return *name ? name : table_name(run, "label ", 0);
}

double mica__run_label_base(const mica_run *run) {
  return run->facts->bases ? mica__run_base(run, mica__run_label_name(run)) : 0;
}

/* --- in the metadata of models --- */

void mica__run_bases_text(const mica_run *run, mica__text *json) {
  size_t count = 0;
  const char *const *list = mica_run_fact(run, FACT, &count);
  mica__text_add(json, "{");
  for (size_t i = 0; i < count; i++) {
    /* The name may contain '=', the number cannot. */
    const char *end = strrchr(list[i], '=');
    mica__text name = {0};
    if (!end) continue;
    mica__text_add_bytes(&name, list[i], (size_t)(end - list[i]));
    mica__text_add(json, i ? ", " : "");
    mica__json_string(json, name.data ? name.data : "");
    mica__text_addf(json, ": %s", end + 1);
    json->failed = json->failed || name.failed;
    mica__text_free(&name);
  }
  mica__text_add(json, "}");
}

#if MICA_WITH_CJSON
static bool is_number(const char *name) { return *name && strspn(name, "0123456789") == strlen(name); }

/* Writes the bases of a JSON object as lines NAME=BASE, and again as lines POSITION=BASE by the positions of the names
 * in `columns`, because arrays know only positions. Nothing is repeated if a name is itself a number. */
static void add_lines(const cJSON *object, const cJSON *columns, mica__text *lines) {
  const cJSON *item;
  bool numbered = false;
  int k = 0;
  cJSON_ArrayForEach(item, object) if (cJSON_IsNumber(item))
      mica__text_addf(lines, "%s=%.17g\n", item->string, item->valuedouble);
  cJSON_ArrayForEach(item, columns) numbered = numbered || !cJSON_IsString(item) || is_number(item->valuestring);
  if (numbered) return;
  cJSON_ArrayForEach(item, columns) {
    const cJSON *base = cJSON_GetObjectItemCaseSensitive(object, item->valuestring);
    if (cJSON_IsNumber(base)) mica__text_addf(lines, "%d=%.17g\n", k, base->valuedouble);
    k++;
  }
}
#endif

mica_status mica__bases_parse(const char *bases, const char *columns, mica__text *lines) {
  if (!bases) return MICA_OK;
  /* Models written before 2026-11-27 have lines NAME=BASE, not JSON. */
  if (*bases != '{') {
    mica__text_add(lines, bases);
    return mica__text_status(lines);
  }
#if MICA_WITH_CJSON
  cJSON *object = cJSON_Parse(bases), *list = columns ? cJSON_Parse(columns) : NULL;
  mica_status status =
      cJSON_IsObject(object) ? MICA_OK : mica__fail(MICA_E_FORMAT, "the metadata \"bases\" is damaged");
  if (status == MICA_OK) add_lines(object, list, lines);
  cJSON_Delete(object);
  cJSON_Delete(list);
  return status == MICA_OK ? mica__text_status(lines) : status;
#else
  (void)columns;
  return mica__fail_lacks("the metadata \"bases\"", "cJSON");
#endif
}

static mica_status remark(void *user, const numbers *n) {
  mica_run *run = user;
  const mica__extent *e = &n->extent;
  int exponent = 0;
  if (!e->coarse) return MICA_OK;
  frexp(fmax(fabs(e->least), fabs(e->most)), &exponent);
  if (e->base != 0)
    return mica__run_remark(run,
                            "the numbers of column '%s' are %.15g to %.15g, where f32 has steps of %g: %.15g is "
                            "subtracted from them%s",
                            n->name, e->least, e->most, ldexp(1, exponent - 24), e->base,
                            n->label ? ", and added to what is predicted" : "");
  return mica__run_remark(run,
                          "the numbers of column '%s' are %.15g to %.15g, where f32 has steps of %g, so smaller "
                          "differences are lost: subtract a number from the column",
                          n->name, e->least, e->most, ldexp(1, exponent - 24));
}

mica_status mica__run_remark_coarse(mica_run *run) { return each_numbers(run, remark, run); }

mica_status mica__run_check_elements(mica_run *run, const mica_dataset *data) {
  const char *was = mica__common_facts_of(run).elements;
  const mica__column *input = mica__store_input(data->store);
  if (!*was || !input || !input->extents) return MICA_OK;
  const char *is = mica_dtype_name(input->from);
  const bool bytes = input->from == MICA_U8, wants_bytes = !strcmp(was, mica_dtype_name(MICA_U8));
  const mica__extent *e = input->extents;
  double least = INFINITY, most = -INFINITY;
  for (size_t k = 0; !bytes && k < input->extent_count; k++)
    least = fmin(least, e[k].least), most = fmax(most, e[k].most);
  if (bytes == wants_bytes) return MICA_OK;
  if (bytes)
    return mica__fail(
        MICA_E_FORMAT,
        "%s holds u8, which is divided by 255, but the network was trained on unscaled %s; convert the data to %s",
        mica_dataset_name(data), was, was);
  if (mica_dtype_kind_of(input->from) == MICA_DTYPE_KIND_FLOAT && least >= 0 && most <= 1) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s holds %s from %g to %g, which is read unscaled, but the network was trained on u8 divided by "
                    "255; give u8, or floats from 0 to 1",
                    mica_dataset_name(data), is, least, most);
}

double mica__run_above_base(float number, double base) {
  const double sum = (double)number + base;
  /* Half a unit in the last place of f32, and the rounding error of the difference in 64 bits. */
  const double room = fabs((double)number) * 0x1p-24 + fabs(sum) * 0x1p-52;
  for (int digits = 0; base != 0 && digits < 17; digits++) {
    char text[400];
    mica__snprintf(text, sizeof text, "%.*f", digits, sum);
    const double shorter = mica__strtod(text, NULL);
    if (fabs(shorter - sum) <= room) return shorter;
  }
  return sum;
}
