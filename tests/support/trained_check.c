#include "support/trained_check.h"

#include "compile/without.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sums of many terms round more often than values, whose roundings the bound is made of. */
#define TIMES_ROUNDED 16
/* The least bound, in roundings of the tensor's largest element. */
#define LEAST_ROUNDINGS 32
/* The bound is made of so many roundings of all values: a tensor of one element may be hit by a single one as little as
 * never (seed 311: 1000 times less than by others). */
#define ROUNDINGS 4
/* What lies on a kink of one data set does not on the kinks of others. */
#define DATA_SETS 3

typedef struct verdict {
  double worst; /* of error / bound */
  char text[300];
} verdict;

static double unit_of(const random_network *n, mica_dtype dtype) {
  if (n->dtype == MICA_F16) return 0x1p-11;
  if (n->dtype == MICA_BF16) return 0x1p-8;
  return dtype == MICA_F32 ? 0x1p-24 : 0;
}

/* What is right, and what roundings make of it. */
typedef struct wanted {
  trained exact, rounded[ROUNDINGS];
} wanted;

static wanted wanted_of(const random_network *n, uint32_t data) {
  wanted w = {.exact = trained_on_host(n, data, 0)};
  for (uint32_t k = 0; k < ROUNDINGS; k++) w.rounded[k] = trained_on_host(n, data, k + 1);
  return w;
}

static void wanted_free(wanted *w) {
  trained_free(&w->exact);
  for (int k = 0; k < ROUNDINGS; k++) trained_free(&w->rounded[k]);
}

/* True for an optimiser's mean of squares. */
static bool is_square(const char *name) {
  const size_t length = strlen(name);
  return strstr(name, "optimizer.") && length > 2 && !strcmp(name + length - 2, ".v");
}

/* How far an element may lie from what is right. A mean of squares of gradients g that move by m does so by
 * 2 g m + m^2: where they may move TIMES_ROUNDED times as far, the second term grows by the square of that, and it is
 * all there is where a gradient is 0 but for rounding (a bias before a batch norm). */
static double bound_of(const random_network *n, const wanted *w, const trained_tensor *exact) {
  double moved = 0, root = 0, largest = 0;
  for (int k = 0; k < ROUNDINGS; k++) {
    const trained_tensor *rounded = trained_find(&w->rounded[k], exact->name);
    for (int64_t i = 0; i < exact->count; i++) {
      if (!isfinite(exact->values[i])) continue;
      moved = fmax(moved, fabs(rounded->values[i] - exact->values[i]));
      root = fmax(root, fabs(sqrt(fabs(rounded->values[i])) - sqrt(fabs(exact->values[i]))));
      largest = fmax(largest, fabs(exact->values[i]));
    }
  }
  const double squares = is_square(exact->name) ? TIMES_ROUNDED * (TIMES_ROUNDED - 1) * root * root : 0;
  return TIMES_ROUNDED * moved + squares + LEAST_ROUNDINGS * unit_of(n, exact->dtype) * largest;
}

/* Adds a tensor's errors to the verdict. */
static void compare(const random_network *n, const char *way, const trained_tensor *got, const trained_tensor *exact,
                    const wanted *w, verdict *v) {
  const double bound = bound_of(n, w, exact);
  for (int64_t i = 0; i < exact->count; i++) {
    double error = fabs(got->values[i] - exact->values[i]), share = error > 0 ? error / bound : 0;
    if (isnan(got->values[i])) share = (double)INFINITY;
    if (!isfinite(exact->values[i])) share = isfinite(got->values[i]) ? (double)INFINITY : 0;
    if (!(share > v->worst)) continue;
    v->worst = share;
    snprintf(v->text, sizeof v->text, "seed %u, %s: step %s, element %lld of %lld, is %.9g, should be %.9g within %.3g",
             n->seed, way, got->name, (long long)i, (long long)exact->count, got->values[i], exact->values[i], bound);
  }
}

/* True for a gradient of infinite numbers: which of them are, and which are none, depends on the order of sums. */
static bool is_of_fault(const random_network *n, const char *name) {
  return n->fault && name[0] - '0' == n->fault && !strncmp(name + 1, " d ", 3);
}

static verdict compare_all(const random_network *n, const char *way, const trained *got, const wanted *w) {
  verdict v = {0};
  size_t compared = 0;
  for (size_t i = 0; i < got->count; i++) {
    const trained_tensor *is = &got->tensors[i], *want = trained_find(&w->exact, is->name);
    ck_assert_msg(want, "%s", is->name);
    if (is_of_fault(n, is->name)) continue;
    ck_assert_int_eq(is->count, want->count);
    compare(n, way, is, want, w, &v);
    compared++;
  }
  ck_assert_uint_ge(compared, 3 * (size_t)n->steps);
  return v;
}

/* True for what is there before the first step. */
static bool is_parameter(const trained *run, const char *name) {
  char full[80];
  snprintf(full, sizeof full, "0 %s", name);
  return trained_find(run, full) != NULL;
}

/* True for what a step changes that is left out: statistics of the batch, counts of runs. */
static bool goes_on(const char *name) {
  static const char *const names[] = {"*running_*", "step", "optimizer.loss_scale", "optimizer.good_runs"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!fnmatch(names[i], name, 0)) return true;
  return false;
}

/* Weights and the optimiser's state stay finite, also where the step that is left out is one of several runs. */
static void check_finite(const random_network *n, const trained *run) {
  for (size_t i = 0; n->fault && i < run->count; i++) {
    const trained_tensor *t = &run->tensors[i];
    bool finite = true, kept = is_parameter(run, t->name + 2) && !goes_on(t->name + 2);
    for (int64_t k = 0; kept && k < t->count; k++) finite = finite && isfinite(t->values[k]);
    ck_assert_msg(finite, "seed %u: step %s is not finite", n->seed, t->name);
  }
}

/* The graph that all ways carry out leaves a step with infinite gradients out: weights, averages and the optimiser's
 * state stay to the last bit, and the factor of the loss is halved. */
static void check_left_out(const random_network *n, const trained *run) {
  size_t compared = 0;
  char name[80], factor[] = "0 optimizer.loss_scale";
  for (size_t i = 0; n->fault && n->how.accumulate < 2 && i < run->count; i++) {
    const trained_tensor *before = &run->tensors[i], *after;
    if (before->name[0] - '0' != n->fault - 1 || goes_on(before->name + 2)) continue;
    snprintf(name, sizeof name, "%d %s", (int)n->fault, before->name + 2);
    after = trained_find(run, name);
    if (!after || !is_parameter(run, before->name + 2)) continue;
    ck_assert_msg(!memcmp(before->values, after->values, (size_t)after->count * sizeof *after->values),
                  "seed %u: %s changes in a step that is left out", n->seed, before->name + 2);
    compared++;
  }
  if (!n->fault || n->how.accumulate > 1) return;
  ck_assert_uint_gt(compared, 0);
  factor[0] = (char)('0' + n->fault - 1);
  double was = trained_find(run, factor)->values[0];
  factor[0] = (char)('0' + n->fault);
  ck_assert_double_eq(trained_find(run, factor)->values[0], was / 2);
}

/* The ways to be compared, by number. */
#define WAYS 3
static const char *way_of(const random_network *n, int number, trained_way *way) {
  uint64_t state = n->seed ^ 0x5eed;
  *way = (trained_way){0};
  if (number == 1) way->without = random_next(&state) & ((1u << MICA__WITHOUT_COUNT) - 1);
  if (number == 2) *way = (trained_way){true, true, (1u << MICA__WITHOUT_COUNT) - 1};
  return (const char *const[]){"as planned", "with parts left out", "with all left out"}[number];
}

/* The smallest verdict of the way on several data sets. */
static verdict judge(trained_fn *run, const random_network *n, const char *name, const trained_way *way) {
  verdict least = {.worst = (double)INFINITY};
  for (uint32_t data = 0; data < DATA_SETS && least.worst > 1; data++) {
    trained got = run(n, data, way);
    wanted w = wanted_of(n, data);
    verdict v = compare_all(n, name, &got, &w);
    if (data == 0 || v.worst < least.worst) least = v;
    if (!got.kinks) data = DATA_SETS;
    trained_free(&got);
    wanted_free(&w);
  }
  return least;
}

static bool fails(trained_fn *run, const random_network *n, const trained_way *way) {
  return judge(run, n, "smaller", way).worst > 1;
}

/* A network with one thing less; false when there is no such. */
static bool smaller(const random_network *n, int what, random_network *out) {
  *out = *n;
  if (what < n->layer_count) {
    memmove(&out->layers[what], &out->layers[what + 1], (size_t)(n->layer_count - what - 1) * sizeof *n->layers);
    out->layer_count--;
    return true;
  }
  switch (what - n->layer_count) {
  case 0: out->steps = 1; return n->steps > 1;
  case 1: out->gradients = false; return n->gradients;
  case 2: out->open = false; return n->open;
  case 3: out->dtype = MICA_F32; return n->dtype != MICA_F32;
  case 4:
    out->how = mica_optimizer_config_default(MICA_OPTIMIZER_SGD);
    out->how.loss_scale = n->fault ? n->how.loss_scale : 0;
    out->averages = false;
    return memcmp(&out->how, &n->how, sizeof n->how);
  case 5: out->head = 0; return n->head != 0;
  case 6:
    for (int i = 0; i < RANDOM_STEPS; i++) out->batch[i] = 1;
    return n->batch[0] != 1 || n->batch[1] != 1;
  case 7: out->dims[1] = (n->dims[1] + 1) / 2; return n->spatial > 0 && n->dims[1] > 1;
  case 8: out->dims[0] = (n->dims[0] + 1) / 2; return n->spatial >= 0 && n->dims[0] > 1;
  case 9: out->fault = 0; return n->fault;
  case 10: out->frozen = out->decay = NULL; return n->frozen || n->decay;
  default: return false;
  }
}

static random_network shrink(trained_fn *run, random_network n, const trained_way *way) {
  for (int what = 0; what < n.layer_count + 11; what++) {
    random_network less;
    if (!smaller(&n, what, &less) || !fails(run, &less, way)) continue;
    n = less;
    what = -1;
  }
  return n;
}

/* Shows the network, made smaller, and without what it is right. */
static void explain(trained_fn *run, const random_network *whole, const trained_way *way) {
  random_network_print(whole);
  random_network n = shrink(run, *whole, way);
  printf("smaller ");
  random_network_print(&n);
  puts(judge(run, &n, "smaller", way).text);
  static const char *const names[] = {
#define WITHOUT_NAME(name, text) text,
      MICA__WITHOUT_LIST(WITHOUT_NAME)
#undef WITHOUT_NAME
  };
  for (int k = 0; k < MICA__WITHOUT_COUNT; k++) {
    trained_way other = *way;
    other.without |= 1u << k;
    if (other.without != way->without && !fails(run, &n, &other)) printf("right without %s\n", names[k]);
  }
  if (!way->no_fusion && !fails(run, &n, &(trained_way){true, false, way->without})) puts("right without fusion");
  if (!way->no_simplify && !fails(run, &n, &(trained_way){false, true, way->without}))
    puts("right without simplifying");
  fflush(stdout);
}

void trained_check(uint32_t seed, trained_fn *run, bool small) {
  random_network n = random_network_of(seed, small);
  n.open = n.open || small;
  wanted w = wanted_of(&n, 0);
  check_left_out(&n, &w.exact);
  check_finite(&n, &w.exact);
  for (int k = 0; k < WAYS; k++) {
    trained_way way;
    const char *name = way_of(&n, k, &way);
    trained got = run(&n, 0, &way);
    verdict v = compare_all(&n, name, &got, &w);
    if (getenv("MICA_TEST_VERBOSE")) printf("%u %d %.3g %s\n", n.seed, k, v.worst, v.text), fflush(stdout);
    if (v.worst > 1 && got.kinks) v = judge(run, &n, name, &way);
    trained_free(&got);
    if (v.worst > 1) explain(run, &n, &way);
    ck_assert_msg(v.worst <= 1, "%s", v.text);
  }
  wanted_free(&w);
}
