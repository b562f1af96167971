/* A run scales its inputs and answers by facts: mean and deviation, and what was subtracted from them in double. */
#include "task/units.h"

#include "task/run.h"

#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* What numbers are in deviations of, about a mean: facts of an element along `axis` each; mean NULL: 0. */
typedef struct unit {
  const char *mean, *deviation;
  int32_t axis;
} unit;

/* Columns that loaders scale; the first one is what the fact "input_column" names. */
static const struct {
  const char *column;
  unit unit;
} inputs[] = {
    {NULL, {"mean", "deviation", 1}}, {"level", {"level_mean", "level_deviation", 2}}, {"window", {NULL, "scale", 2}}};

static const unit answers[] = {{"target_mean", "target_deviation", 1}, {NULL, "scale", 2}};

/* A constant (1, ..., C, 1, ...) of one number an element of x along the axis. */
static mica_value along(mica_value x, int32_t axis, const double *numbers) {
  const mica_shape shape = mica_value_shape(x);
  const size_t count = (size_t)shape.dim[axis];
  mica_shape flat = {.rank = shape.rank};
  float *copy = malloc((count + 1) * sizeof *copy);
  for (int32_t i = 0; i < shape.rank; i++) flat.dim[i] = i == axis ? (int64_t)count : 1;
  for (size_t i = 0; copy && i < count; i++) copy[i] = (float)numbers[i];
  mica_value value = copy ? mica_constant(x.graph, MICA_F32, flat, copy) : (mica_value){0};
  free(copy);
  return value;
}

/* Whose units they are; plain: the targets are in their own. */
typedef struct side {
  const mica_run *run;
  bool plain;
} side;

/* `count` numbers of a fact, means in the user's units; without the fact's name `otherwise` as often. NULL: there are
 * none. */
static double *numbers_of(side s, const char *fact, size_t count, double otherwise) {
  size_t known = 0;
  const double *is = fact ? mica_run_fact_numbers(s.run, fact, &known) : NULL;
  const bool own = !fact || (s.plain && !strncmp(fact, "target_", 7));
  if (!own && (!is || known < count)) return NULL;
  double *numbers = malloc((count + 1) * sizeof *numbers);
  for (size_t i = 0; numbers && i < count; i++) numbers[i] = own ? otherwise : is[i];
  for (size_t i = 0; numbers && fact && i < count; i++)
    numbers[i] += !strcmp(fact, "mean")          ? mica__run_number_base(s.run, i)
                  : !strcmp(fact, "target_mean") ? mica__run_label_base(s.run)
                                                 : 0;
  return numbers;
}

/* x in units of the one side, in those of the other: (x d + m - n) / e with means m and n, deviations d and e. As it is
 * where one of them is not known. */
static mica_value convert(side from, side to, const unit *u, mica_value x) {
  const mica_shape shape = mica_value_shape(x);
  const size_t count = shape.rank > u->axis && shape.dim[u->axis] > 0 ? (size_t)shape.dim[u->axis] : 0;
  double *m = numbers_of(from, u->mean, count, 0), *d = numbers_of(from, u->deviation, count, 1);
  double *n = numbers_of(to, u->mean, count, 0), *e = numbers_of(to, u->deviation, count, 1);
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

mica_value mica__units_of_input(const mica_run *run, const mica_run *other, const char *name, mica_value x) {
  for (size_t i = 0; x.graph && i < sizeof inputs / sizeof *inputs; i++) {
    const char *column = inputs[i].column ? inputs[i].column : mica__run_fact_text(run, "input_column");
    if (!strcmp(name, column)) x = convert((side){run, false}, (side){other, false}, &inputs[i].unit, x);
  }
  return x;
}

mica_value mica__units_of_answer(const mica_run *from, bool plain, const mica_run *to, mica_value y) {
  for (size_t i = 0; y.graph && i < sizeof answers / sizeof *answers; i++)
    y = convert((side){from, plain}, (side){to, false}, &answers[i], y);
  return y;
}
