/* The report of a recommending run: how far recommendations reach into the long tail of items, and a map of the
 * items. */
#include "networks/tables.h"
#include "task/head/ranking.h"

#include "base/number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many users get recommendations, and how many items each. */
#define USERS 200
#define TOP 10
/* The most pairs scored if each takes a run of the network: about a second (2026-11-25, Zen 4). */
#define PAIRS 100000
/* How many items the components are computed from, how many are shown, and how many letters of their titles. */
#define COMPONENT_ITEMS 2000
#define SHOWN 200
#define TITLE 28

/* Ids of items, the most popular first; ties in the order of their ids. */
typedef struct popular {
  int32_t item;
  double count;
} popular;

static int compare(const void *a, const void *b) {
  const popular *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return (x->item > y->item) - (x->item < y->item);
}

static mica_status sort_items(const mica_run *run, popular **list, size_t *count) {
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  const double *numbers = facts.popularity.list;
  *count = facts.items.count;
  if (!numbers || facts.popularity.count != *count + 1)
    return mica__fail(MICA_E_FORMAT, "the run is damaged: \"popularity\" must have a number per item");
  *list = malloc((*count + 1) * sizeof **list);
  if (!*list) return mica__fail_nomem("a report");
  for (size_t i = 0; i < *count; i++) (*list)[i] = (popular){(int32_t)i + 1, numbers[i + 1]};
  qsort(*list, *count, sizeof **list, compare);
  return MICA_OK;
}

/* --- the long tail --- */

/* How often each item is recommended, by id; *users counts the users. */
static mica_status count_recommended(mica_run *run, size_t items, double *recommended, size_t *users) {
  const mica__recommender network = mica__recommend_network(run);
  const size_t all = mica__recommend_facts_of(run).users.count;
  size_t asked = USERS;
  if (mica__recommender_has_features(&network) && asked > PAIRS / (items + 1)) asked = PAIRS / (items + 1) + 1;
  if (asked > all) asked = all;
  for (size_t i = 0; i < asked; i++) {
    int32_t found[TOP];
    int64_t count = 0;
    MICA_TRY(mica__recommend_items(run, (int32_t)(i * all / asked) + 1, TOP, found, &count));
    for (int64_t k = 0; k < count; k++) recommended[found[k]]++;
  }
  *users = asked;
  return MICA_OK;
}

/* The shares, in percent, that the items of ranks `from` to `to` have of all interactions and of all
 * recommendations. */
typedef struct shares {
  double interactions, recommendations;
} shares;

static shares shares_of(const popular *list, const double *recommended, size_t from, size_t to, shares all) {
  shares s = {0};
  for (size_t i = from; i < to; i++) {
    s.interactions += list[i].count;
    s.recommendations += recommended[list[i].item];
  }
  return (shares){all.interactions > 0 ? 100 * s.interactions / all.interactions : 0,
                  all.recommendations > 0 ? 100 * s.recommendations / all.recommendations : 0};
}

static mica_status add_groups(const popular *list, size_t count, const double *recommended, shares all,
                              mica_report *report) {
  static const char *const names[] = {"most popular 1 %", "to 5 %", "to 20 %", "to 50 %", "the others"};
  static const char *const columns[] = {"items", "history, %", "top 10, %", "in a top 10"};
  static const double ends[] = {0.01, 0.05, 0.2, 0.5, 1};
  enum { GROUPS = sizeof ends / sizeof *ends };
  double numbers[GROUPS][4];
  size_t from = 0;
  for (size_t g = 0; g < GROUPS; g++) {
    const size_t to = (size_t)ceil(ends[g] * (double)count);
    const shares s = shares_of(list, recommended, from, to, all);
    double reached = 0;
    for (size_t i = from; i < to; i++) reached += recommended[list[i].item] > 0;
    const double row[] = {(double)(to - from), s.interactions, s.recommendations, reached};
    memcpy(numbers[g], row, sizeof row);
    from = to;
  }
  return mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_TABLE,
                                              .name = "items by popularity",
                                              .rows = GROUPS,
                                              .columns = 4,
                                              .row_names = names,
                                              .column_names = columns,
                                              .numbers = numbers[0]});
}

static mica_status add_curve(const popular *list, size_t count, const double *recommended, shares all,
                             mica_report *report) {
  static const char *const columns[] = {"items, %", "interactions", "recommendations"};
  enum { STEPS = 10 };
  double numbers[STEPS + 1][3];
  for (size_t i = 0; i <= STEPS; i++) {
    const shares s = shares_of(list, recommended, 0, i * count / STEPS, all);
    const double row[] = {100 * (double)i / STEPS, s.interactions, s.recommendations};
    memcpy(numbers[i], row, sizeof row);
  }
  return mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_CURVE,
                                              .name = "cumulative share, %",
                                              .rows = STEPS + 1,
                                              .columns = 3,
                                              .column_names = columns,
                                              .numbers = numbers[0]});
}

static mica_status add_tail(mica_run *run, const popular *list, size_t count, mica_report *report) {
  double *recommended = calloc(count + 1, sizeof *recommended);
  size_t users = 0;
  shares all = {0};
  mica_status status = recommended ? count_recommended(run, count, recommended, &users) : mica__fail_nomem("a report");
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    all.interactions += list[i].count;
    all.recommendations += recommended[list[i].item];
  }
  if (status == MICA_OK) status = mica_report_begin(report, "Long tail");
  if (status == MICA_OK) status = mica_report_add_number(report, "users asked for", (double)users);
  if (status == MICA_OK) status = mica_report_add_number(report, "recommendations", all.recommendations);
  if (status == MICA_OK) status = add_groups(list, count, recommended, all, report);
  if (status == MICA_OK) status = add_curve(list, count, recommended, all, report);
  free(recommended);
  return status;
}

/* --- two dimensions --- */

/* The rows of the most popular items of the training. */
static mica_status read_rows(mica_run *run, const popular *list, size_t count, mica__cloud *c) {
  float *values = NULL;
  mica_shape shape = MICA_SCALAR;
  mica_status status = mica__table_take(mica_engine_queue(run->engine), mica_trainer_test_session(run->trainer),
                                        "items", &values, &shape);
  if (status == MICA_OK) {
    c->width = (size_t)shape.dim[1];
    while (c->rows < count && c->rows < COMPONENT_ITEMS && list[c->rows].count > 0) c->rows++;
    c->x = calloc(c->rows * c->width + 1, sizeof *c->x);
    c->at = calloc(2 * c->rows + 1, sizeof *c->at);
    if (!c->x || !c->at) status = mica__fail_nomem("a report");
  }
  for (size_t i = 0; status == MICA_OK && i < c->rows; i++)
    for (size_t d = 0; d < c->width; d++) c->x[i * c->width + d] = (double)values[(size_t)list[i].item * c->width + d];
  free(values);
  return status;
}

/* The first letters of a title, cut between characters. */
static void name_item(const mica_run *run, int32_t item, char *name) {
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  const char *const *titles = facts.titles.list, *const *items = facts.items.list;
  const char *text = titles && *titles[item - 1] ? titles[item - 1] : items[item - 1];
  size_t end = strlen(text);
  if (end > TITLE)
    for (end = TITLE - 1; end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80;) end--;
  snprintf(name, TITLE + 4, "%.*s%s", (int)end, text, text[end] ? "\xe2\x80\xa6" : "");
}

static mica_status add_points(mica_run *run, const popular *list, const mica__cloud *c, mica_report *report) {
  char names[SHOWN][TITLE + 4], heads[2][64];
  const char *row_names[SHOWN], *columns[2] = {heads[0], heads[1]};
  const size_t rows = c->rows < SHOWN ? c->rows : SHOWN;
  for (size_t i = 0; i < rows; i++) {
    name_item(run, list[i].item, names[i]);
    row_names[i] = names[i];
  }
  for (int k = 0; k < 2; k++)
    mica__snprintf(heads[k], sizeof heads[k], "%s component, %.0f %% of variance", k ? "second" : "first",
                   100 * c->along[k] / c->variance);
  MICA_TRY(mica_report_begin(report, "Items in two dimensions"));
  MICA_TRY(mica_report_add_number(report, "items, the most popular ones", (double)c->rows));
  MICA_TRY(mica_report_add_number(report, "shown", (double)rows));
  return mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_POINTS,
                                              .name = "principal components of the table of items",
                                              .rows = rows,
                                              .columns = 2,
                                              .row_names = row_names,
                                              .column_names = columns,
                                              .numbers = c->at});
}

/* Does nothing if there are not two dimensions to show. */
static mica_status add_map(mica_run *run, const popular *list, size_t count, mica_report *report) {
  mica__cloud c = {0};
  mica_status status = read_rows(run, list, count, &c);
  if (status == MICA_OK && c.width >= 2 && c.rows >= 3) {
    status = mica__cloud_components(&c);
    if (status == MICA_OK && c.variance > 0) status = add_points(run, list, &c, report);
  }
  free(c.x);
  free(c.at);
  return status;
}

mica_status mica__recommend_report(mica_run *run, mica_report *report) {
  popular *list = NULL;
  size_t count = 0;
  mica_status status = sort_items(run, &list, &count);
  if (status == MICA_OK) status = add_tail(run, list, count, report);
  if (status == MICA_OK) status = add_map(run, list, count, report);
  free(list);
  return status;
}
