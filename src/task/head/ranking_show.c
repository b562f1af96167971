/* The report of a recommending run: how far recommendations reach into the long tail of items, and a map of the
 * items. */
#include "data/interactions/tail.h"
#include "networks/tables.h"
#include "task/head/ranking.h"

#include "base/number.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of users who get recommendations, and number of items per user. */
#define USERS 200
#define TOP 10
/* If the network must run once for each pair of user and item, fewer users are asked, so that about this many pairs are
 * scored, which takes about a second (2026-11-25, Zen 4). At least one user is asked. */
#define PAIRS 100000
/* COMPONENT_ITEMS: the most items from which the principal components are computed. SHOWN: the most items in the map.
 * TITLE: the most bytes of a title there. */
#define COMPONENT_ITEMS 2000
#define SHOWN 200
#define TITLE 28

typedef mica__popular popular;

static mica_status sort_items(const mica_run *run, popular **list, size_t *count) {
  const mica__recommend_facts facts = mica__recommend_facts_of(run);
  const double *numbers = facts.popularity.list;
  *count = facts.items.count;
  if (!numbers || facts.popularity.count != *count + 1)
    return mica__fail(MICA_E_FORMAT, "the run is damaged: \"popularity\" has %zu numbers, but must have %zu",
                      facts.popularity.count, *count + 1);
  *list = malloc((*count + 1) * sizeof **list);
  if (!*list) return mica__fail_nomem("a report");
  mica__popular_sort(numbers, *count, *list);
  return MICA_OK;
}

/* --- the long tail --- */

/* Asks for the top items of up to USERS users, evenly spaced. Adds to recommended[id] how often item id is among them;
 * *users receives the number of users. */
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

static mica_status add_groups(const popular *list, size_t count, const double *recommended, mica_report *report) {
  static const char *const names[] = {"most popular 1 %", "to 5 %", "to 20 %", "to 50 %", "the others"};
  static const char *const columns[] = {"items", "history, %", "top 10, %", "in a top 10"};
  double numbers[MICA__TAIL_GROUPS][4];
  mica__tail_groups(list, count, recommended, numbers);
  return mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_TABLE,
                                              .name = "items by popularity",
                                              .rows = MICA__TAIL_GROUPS,
                                              .columns = 4,
                                              .row_names = names,
                                              .column_names = columns,
                                              .numbers = numbers[0]});
}

static mica_status add_curve(const popular *list, size_t count, const double *recommended, mica_report *report) {
  static const char *const columns[] = {"items, %", "interactions", "recommendations"};
  double numbers[MICA__TAIL_STEPS + 1][3];
  mica__tail_curve(list, count, recommended, numbers);
  return mica_report_add(report, &(mica_item){.kind = MICA_ITEM_KIND_CURVE,
                                              .name = "cumulative share, %",
                                              .rows = MICA__TAIL_STEPS + 1,
                                              .columns = 3,
                                              .column_names = columns,
                                              .numbers = numbers[0]});
}

static mica_status add_tail(mica_run *run, const popular *list, size_t count, mica_report *report) {
  double *recommended = calloc(count + 1, sizeof *recommended);
  size_t users = 0;
  double given = 0;
  mica_status status = recommended ? count_recommended(run, count, recommended, &users) : mica__fail_nomem("a report");
  for (size_t i = 0; status == MICA_OK && i < count; i++) given += recommended[list[i].item];
  if (status == MICA_OK) status = mica_report_begin(report, "Long tail");
  if (status == MICA_OK) status = mica_report_add_number(report, "users asked for", (double)users);
  if (status == MICA_OK) status = mica_report_add_number(report, "recommendations", given);
  if (status == MICA_OK) status = add_groups(list, count, recommended, report);
  if (status == MICA_OK) status = add_curve(list, count, recommended, report);
  free(recommended);
  return status;
}

/* --- two dimensions --- */

/* Reads the network's vectors of the most popular items: at most COMPONENT_ITEMS that occur in the training data. */
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

/* Writes an item's title into name (TITLE + 4 bytes). A title that is too long is cut between two characters and ends
 * with an ellipsis. An item without a title has its id instead. */
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

/* Adds a map of the items in the plane of their first two principal components. Adds nothing if the vectors have fewer
 * than two numbers, there are fewer than three items, or all vectors are equal. */
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
