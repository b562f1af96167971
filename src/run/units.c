/* A run scales its inputs and answers by numbers that are stored with it (run/facts.h): mean and deviation, and a base
 * that was subtracted in double precision. */
#include "run/units.h"
#include "run/columns/kinds.h"
#include "run/common_facts.h"
#include "run/facts.h"

#include "ir/graph.h"
#include "run/run.h"

#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* A scale: a scaled number is (number - mean) / deviation. `mean` and `deviation` are names of stored values with one
 * number per element along `axis`. If `mean` is NULL, the mean is 0. */
typedef struct unit {
  const char *mean, *deviation;
  int32_t axis;
} unit;

/* Columns that loaders scale. The first row is for the column that the stored value "input_column" names. */
static const struct {
  const char *column;
  unit unit;
} inputs[] = {
    {NULL, {"mean", "deviation", 1}}, {"level", {"level_mean", "level_deviation", 2}}, {"window", {NULL, "scale", 2}}};

static const unit answers[] = {{"target_mean", "target_deviation", 1}, {NULL, "scale", 2}};

static mica_value fail_nomem(mica_graph *graph) {
  return mica_graph_fail(graph, MICA_E_NOMEM, "out of memory for the units of a run");
}

/* A constant (1, ..., C, 1, ...) with one number per element of x along the axis. */
static mica_value along(mica_value x, int32_t axis, const double *numbers) {
  const mica_shape shape = mica_value_shape(x);
  const size_t count = (size_t)shape.dim[axis];
  mica_shape flat = {.rank = shape.rank};
  float *copy = malloc((count + 1) * sizeof *copy);
  for (int32_t i = 0; i < shape.rank; i++) flat.dim[i] = i == axis ? (int64_t)count : 1;
  for (size_t i = 0; copy && i < count; i++) copy[i] = (float)numbers[i];
  mica_value value = copy ? mica_constant(x.graph, MICA_F32, flat, copy) : fail_nomem(x.graph);
  free(copy);
  return value;
}

/* A run and the units of its numbers. If `plain`, the run's targets are not scaled. Input k is number order[k] of the
 * run's inputs; if `order` is NULL, it is number k. */
typedef struct side {
  const mica_run *run;
  bool plain;
  const int32_t *order;
} side;

/* Makes a list of `count` numbers of the stored value `fact`; means are converted to the user's units. If `fact` is
 * NULL, each number is `otherwise`. Returns NULL if the run lacks the stored value, or if memory is short and the graph
 * has failed. The caller frees the list. */
static double *numbers_of(mica_graph *graph, side s, const char *fact, size_t count, double otherwise) {
  size_t known = 0;
  const double *is = fact ? mica_run_fact_numbers(s.run, fact, &known) : NULL;
  const bool own = !fact || (s.plain && !strncmp(fact, "target_", 7));
  if (!own && (!is || known < count)) return NULL;
  double *numbers = malloc((count + 1) * sizeof *numbers);
  if (!numbers) fail_nomem(graph);
  for (size_t i = 0; numbers && i < count; i++) {
    const size_t at = s.order ? (size_t)s.order[i] : i;
    numbers[i] = own ? otherwise : is[at];
    if (fact && !strcmp(fact, "mean")) numbers[i] += mica__run_number_base(s.run, at);
    if (fact && !strcmp(fact, "target_mean")) numbers[i] += mica__run_label_base(s.run);
  }
  return numbers;
}

/* Converts x from one side's units to the other's: (x d + m - n) / e with means m and n, deviations d and e. Returns x
 * if one of the scales is not known. */
static mica_value convert(side from, side to, const unit *u, mica_value x) {
  const mica_shape shape = mica_value_shape(x);
  const size_t count = shape.rank > u->axis && shape.dim[u->axis] > 0 ? (size_t)shape.dim[u->axis] : 0;
  double *m = numbers_of(x.graph, from, u->mean, count, 0), *d = numbers_of(x.graph, from, u->deviation, count, 1);
  double *n = numbers_of(x.graph, to, u->mean, count, 0), *e = numbers_of(x.graph, to, u->deviation, count, 1);
  const size_t bytes = count * sizeof *m;
  if (m && d && n && e && (memcmp(m, n, bytes) != 0 || memcmp(d, e, bytes) != 0)) {
    for (size_t i = 0; i < count; i++) {
      d[i] /= e[i];
      m[i] = (m[i] - n[i]) / e[i];
    }
    x = mica_add(mica_mul(x, along(x, u->axis, d)), along(x, u->axis, m));
  }
  free(m);
  free(d);
  free(n);
  free(e);
  return x;
}

/* --- columns of tables --- */

const char *mica__units_number_name(const mica_run *run, size_t k) {
  static const char number[] = "number ";
  const mica__common_facts facts = mica__common_facts_of(run);
  const mica__fact_texts names = facts.numbers, table = facts.table;
  if (names.list) return k < names.count ? names.list[k] : NULL;
  if (!(facts.header > 0)) return NULL;
  for (size_t i = 0; i < table.count; i++)
    if (!strncmp(table.list[i], number, sizeof number - 1) && k-- == 0) return table.list[i] + sizeof number - 1;
  return NULL;
}

/* Finds the index of the run's number that has this name; false if there is no such number. */
static bool find_number(const mica_run *run, const char *name, int32_t *at) {
  const char *own;
  for (*at = 0; (own = mica__units_number_name(run, (size_t)*at)); ++*at)
    if (!strcmp(own, name)) return true;
  return false;
}

const char *mica__units_lacking(const mica_run *run, const mica_run *other) {
  const char *name;
  int32_t at;
  for (size_t k = 0; mica__units_number_name(run, 0) && (name = mica__units_number_name(other, k)); k++)
    if (!find_number(run, name, &at)) return name;
  return NULL;
}

/* Compares the names in the stored value `fact` of both runs. True if both have the same names in the same order, or if
 * one run lacks the value. */
static bool have_same(const mica_run *run, const mica_run *other, const char *fact) {
  size_t own = 0, others = 0;
  const char *const *a = mica_run_fact(run, fact, &own), *const *b = mica_run_fact(other, fact, &others);
  bool same = own == others;
  for (size_t i = 0; same && i < own; i++) same = !strcmp(a[i], b[i]);
  return same || !a || !b;
}

mica_status mica__units_check_columns(const mica_run *run, const mica_run *other, const char *path) {
  const char *own, *name;
  for (size_t k = 0; (own = mica__units_number_name(run, k)) && (name = mica__units_number_name(other, k)); k++)
    if (strcmp(own, name) != 0)
      return mica__fail(
          MICA_E_FORMAT,
          "init: the weights in %s read '%s' as numeric input %zu, but %s has '%s' there; give it the columns "
          "of %s in the same order",
          path, name, k + 1, run->data, own, other->data ? other->data : "its table");
  if (have_same(run, other, "categories") && have_same(run, other, "category_names")) return MICA_OK;
  return mica__fail(
      MICA_E_FORMAT,
      "init: the weights in %s were trained on other columns of classes, or other classes, than %s has; use data with "
      "the columns and classes of %s",
      path, run->data, other->data ? other->data : "its table");
}

/* Puts the run's numbers into the order that the other run has, and stores this order in `order`. Nothing is moved if a
 * table has no names. */
static mica_value in_order(const mica_run *run, const mica_run *other, mica_value x, int32_t *order, size_t count) {
  bool moved = false;
  for (size_t k = 0; k < count; k++) {
    const char *name = mica__units_number_name(other, k);
    order[k] = (int32_t)k;
    if (name && mica__units_number_name(run, 0) && (!find_number(run, name, &order[k]) || (size_t)order[k] >= count))
      order[k] = (int32_t)k;
    moved = moved || order[k] != (int32_t)k;
  }
  if (!moved) return x;
  return mica_gather(x, mica_constant(x.graph, MICA_I32, MICA_SHAPE((int64_t)count), order), 1);
}

static mica_value convert_rows(const mica_run *run, const mica_run *other, const unit *u, mica_value x) {
  const mica_shape shape = mica_value_shape(x);
  const size_t count = shape.rank == 2 && shape.dim[1] > 0 ? (size_t)shape.dim[1] : 0;
  int32_t *order = count ? malloc(count * sizeof *order) : NULL;
  if (count && !order) return mica__graph_fail_with(x.graph, mica__fail_nomem("columns"));
  if (order) x = in_order(run, other, x, order, count);
  if (x.graph) x = convert((side){run, false, order}, (side){other, false, NULL}, u, x);
  free(order);
  return x;
}

mica_value mica__units_of_input(const mica_run *run, const mica_run *other, const char *name, mica_value x) {
  for (size_t i = 0; x.graph && i < sizeof inputs / sizeof *inputs; i++) {
    const char *column = inputs[i].column ? inputs[i].column : mica__common_facts_of(run).input_column;
    if (!strcmp(name, column) && !mica__units_lacking(run, other)) x = convert_rows(run, other, &inputs[i].unit, x);
  }
  return x;
}

mica_value mica__units_of_answer(const mica_run *from, bool plain, const mica_run *to, mica_value y) {
  for (size_t i = 0; y.graph && i < sizeof answers / sizeof *answers; i++)
    y = convert((side){from, plain, NULL}, (side){to, false, NULL}, &answers[i], y);
  return y;
}
