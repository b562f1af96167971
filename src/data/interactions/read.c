/* Tables of interactions: users, items, ratings and times. */
#include "base/file.h"
#include "data/dataset.h"
#include "data/interactions/interactions.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- columns --- */

enum { USER = MICA__USER, ITEM, RATING, TIME, COLUMNS };
static const char *const what[] = {"user", "item", "rating", "time"};
/* Usual names, in lower case and without _ and -. */
static const char *const usual[COLUMNS][12] = {
    {"user", "userid", "uid", "customer", "customerid", "member", "memberid", "visitorid", "reviewerid"},
    {"item", "itemid", "iid", "movie", "movieid", "product", "productid", "book", "bookid", "isbn", "asin"},
    {"rating", "score", "stars", "value", "overall", "bookrating", "click", "clicked", "label"},
    {"time", "timestamp", "date", "datetime", "unixreviewtime", "ts"},
};

/* A table that is being read, and the position of each column; SIZE_MAX: missing. */
typedef struct table {
  mica__records *records;
  size_t at[COLUMNS];
  bool header;
  char *text; /* the text of the current cell; grows when needed */
  size_t capacity;
} table;

/* Copies a cell to t->text, without quotes and with a NUL at the end. */
static mica_status cell_text(table *t, mica__cell cell) {
  if (cell.length + 1 > t->capacity) {
    char *grown = realloc(t->text, 2 * cell.length + 64);
    if (!grown) return mica__fail_nomem(t->records->name);
    t->text = grown;
    t->capacity = 2 * cell.length + 64;
  }
  t->text[mica__cell_unquote(cell, t->text)] = '\0';
  return MICA_OK;
}

static void plain(char *name) {
  char *to = name;
  for (const char *c = name; *c; c++)
    if (*c != '_' && *c != '-' && *c != ' ') *to++ = (char)tolower((unsigned char)*c);
  *to = '\0';
}

static mica_status find_column(table *t, int k, const char *asked) {
  const mica__records *r = t->records;
  for (size_t i = 0; i < r->count; i++) {
    MICA_TRY(cell_text(t, r->cells[i]));
    if (asked && !strcmp(t->text, asked)) t->at[k] = i;
    if (!asked) plain(t->text);
    for (size_t n = 0; !asked && t->at[k] == SIZE_MAX && n < 12 && usual[k][n]; n++)
      if (!strcmp(t->text, usual[k][n])) t->at[k] = i;
  }
  if (asked && t->at[k] == SIZE_MAX)
    return mica__fail(MICA_E_FORMAT, "%s line %zu: there is no column '%s', which --%s-column names", r->name, r->line,
                      asked, what[k]);
  return MICA_OK;
}

/* True if the first line has only numbers, so that it is not a header: the columns are user, item, rating and time. */
static bool has_no_names(const table *t) {
  double value;
  for (size_t i = 0; i < t->records->count; i++)
    if (!mica__cell_is_numeric(t->records->cells[i], &value)) return false;
  return t->records->count >= 2;
}

static mica_status find_columns(table *t, const mica__interaction_columns *columns) {
  const char *const asked[] = {columns->user, columns->item, columns->rating, columns->time};
  const mica__records *r = t->records;
  t->header = asked[USER] || asked[ITEM] || !has_no_names(t);
  for (int k = 0; k < COLUMNS; k++) t->at[k] = !t->header && (size_t)k < r->count ? (size_t)k : SIZE_MAX;
  for (int k = 0; t->header && k < COLUMNS; k++) MICA_TRY(find_column(t, k, asked[k] && *asked[k] ? asked[k] : NULL));
  for (int k = USER; k <= ITEM; k++)
    if (t->at[k] == SIZE_MAX)
      return mica__fail(MICA_E_FORMAT,
                        "%s line %zu: there is no column of %ss, such as '%s' or '%s'; --%s-column names it", r->name,
                        r->line, what[k], usual[k][0], usual[k][1], what[k]);
  return MICA_OK;
}

/* --- lines --- */

static mica_status bad_cell(const table *t, int k, const char *why) {
  const mica__records *r = t->records;
  return mica__fail(MICA_E_FORMAT, "%s line %zu, column %zu: the %s %s", r->name, r->line, t->at[k] + 1, what[k], why);
}

static mica_status read_id(table *t, int k, mica__id_names *ids, int32_t *id) {
  const mica__cell cell = t->records->cells[t->at[k]];
  if (mica__cell_is_missing(cell)) return bad_cell(t, k, "is missing");
  MICA_TRY(cell_text(t, cell));
  return mica__id_names_add(ids, t->text, id);
}

static mica_status read_rating(const table *t, float *rating) {
  const mica__cell cell = t->records->cells[t->at[RATING]];
  double value = 0;
  if (mica__cell_is_missing(cell)) return bad_cell(t, RATING, "is missing");
  if (!mica__cell_number(cell, &value)) return bad_cell(t, RATING, "is not a number from -3.4e38 to 3.4e38");
  *rating = (float)value;
  return MICA_OK;
}

static mica_status read_time(const table *t, double *time) {
  const mica__cell cell = t->records->cells[t->at[TIME]];
  int64_t seconds = 0;
  if (mica__cell_is_missing(cell)) return bad_cell(t, TIME, "is missing");
  if (mica__cell_is_numeric(cell, time) && isfinite(*time)) return MICA_OK;
  if (!mica__cell_time(cell, &seconds)) return bad_cell(t, TIME, "must be a number or a date such as 2026-01-31 23:59");
  *time = (double)seconds;
  return MICA_OK;
}

static mica_status add_line(table *t, mica__interactions *x) {
  const mica__records *r = t->records;
  for (int k = 0; k < COLUMNS; k++)
    if (t->at[k] != SIZE_MAX && t->at[k] >= r->count)
      return mica__fail(MICA_E_FORMAT, "%s line %zu: the %s is missing; cells in the line: %zu", r->name, r->line,
                        what[k], r->count);
  if (x->count == INT32_MAX) return mica__fail(MICA_E_OVERFLOW, "%s has 2^31 lines or more", r->name);
  if (x->count == x->capacity) {
    const size_t capacity = x->capacity ? x->capacity + x->capacity / 2 : 4096;
    mica__interaction *grown = realloc(x->list, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem(r->name);
    x->list = grown;
    x->capacity = capacity;
  }
  mica__interaction *i = &x->list[x->count];
  *i = (mica__interaction){.rating = 1, .line = r->line, .rows = {{(int32_t)x->count, -1, -1}}};
  MICA_TRY(read_id(t, USER, &x->users, &i->user));
  MICA_TRY(read_id(t, ITEM, &x->items, &i->item));
  if (x->rated) MICA_TRY(read_rating(t, &i->rating));
  if (x->timed) MICA_TRY(read_time(t, &i->time));
  x->count++;
  return MICA_OK;
}

/* --- pairs that occur twice --- */

typedef struct pair {
  uint64_t key;
  size_t index;
} pair;

static int compare_pairs(const void *a, const void *b) {
  const pair *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

/* Removes all but the last line of each pair of a user and an item. Without `last`, a repeated pair is an error. */
static mica_status check_pairs(const char *name, mica__interactions *x, bool last) {
  pair *pairs = malloc((x->count + 1) * sizeof *pairs);
  bool *dropped = calloc(x->count + 1, 1);
  mica_status status = pairs && dropped ? MICA_OK : mica__fail_nomem(name);
  size_t kept = 0;
  for (size_t i = 0; status == MICA_OK && i < x->count; i++)
    pairs[i] = (pair){(uint64_t)x->list[i].user << 32 | (uint32_t)x->list[i].item, i};
  if (status == MICA_OK) qsort(pairs, x->count, sizeof *pairs, compare_pairs);
  for (size_t i = 1; status == MICA_OK && i < x->count; i++) {
    if (pairs[i].key != pairs[i - 1].key) continue;
    const mica__interaction *first = &x->list[pairs[i - 1].index], *second = &x->list[pairs[i].index];
    dropped[pairs[i - 1].index] = true;
    if (!last)
      status = mica__fail(MICA_E_FORMAT,
                          "%s line %zu: the pair of user '%s' and item '%s' is already in line %zu; --duplicates last "
                          "keeps the last line of each pair",
                          name, second->line, x->users.names[second->user - 1], x->items.names[second->item - 1],
                          first->line);
  }
  for (size_t i = 0; status == MICA_OK && i < x->count; i++)
    if (!dropped[i]) x->list[kept++] = x->list[i];
  if (status == MICA_OK) x->count = kept;
  free(pairs);
  free(dropped);
  return status;
}

void mica__interactions_free(void *interactions) {
  mica__interactions *x = interactions;
  mica__id_names_free(&x->users);
  mica__id_names_free(&x->items);
  mica__features_free(&x->features);
  free(x->list);
  free(x);
}

/* Reads the first line. *more tells whether there is a line to read as an interaction. */
static mica_status read_head(table *t, const mica__interaction_columns *columns, mica__interactions *x, bool *more) {
  bool found = false;
  MICA_TRY(mica__records_find_delimiter(t->records));
  MICA_TRY(mica__records_next(t->records, &found));
  if (!found)
    return mica__fail(MICA_E_FORMAT, "%s is empty, or has only blank lines and comments (#)", t->records->name);
  MICA_TRY(find_columns(t, columns));
  x->rated = t->at[RATING] != SIZE_MAX;
  x->timed = t->at[TIME] != SIZE_MAX;
  x->header = t->header;
  memcpy(x->at, t->at, sizeof x->at);
  *more = true;
  return t->header ? mica__records_next(t->records, more) : MICA_OK;
}

/* Adds up to `most` lines, with the features of pairs if they are to be read. */
static mica_status read_lines(table *t, size_t most, const mica__feature_config *features, mica__interactions *x,
                              bool *more) {
  while (*more && x->count < most) {
    MICA_TRY(add_line(t, x));
    if (features) MICA_TRY(mica__features_take(t->records, MICA__SIDE_PAIR, features, x->count - 1, &x->features));
    MICA_TRY(mica__records_next(t->records, more));
  }
  x->passed = t->records->passed;
  return x->count ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s has no line after the first one", t->records->name);
}

mica_status mica__interactions_read(mica__records *records, const mica__interaction_columns *columns,
                                    mica__duplicates duplicates, mica__interactions *out) {
  table t = {.records = records};
  bool more = false;
  mica_status status = read_head(&t, columns, out, &more);
  if (status == MICA_OK) status = read_lines(&t, SIZE_MAX, NULL, out, &more);
  free(t.text);
  if (status != MICA_OK || duplicates == MICA__DUPLICATES_KEEP) return status;
  return check_pairs(records->name, out, duplicates == MICA__DUPLICATES_LAST);
}

/* --- files --- */

typedef mica_status read_fn(void *user, mica__records *records);

/* Reads a table whose columns are separated by "::" into memory, replaces each "::" by a tab, and calls `each` with its
 * records. */
static mica_status walk_colons(const char *path, read_fn *each, void *user) {
  uint8_t *content = NULL;
  size_t size = 0, to = 0;
  MICA_TRY(mica__content_read(path, &content, &size));
  for (size_t i = 0; i < size; i++) {
    const bool colons = content[i] == ':' && content[i + 1] == ':';
    content[to++] = colons ? '\t' : content[i];
    i += colons;
  }
  content[to] = '\0';
  mica__records records = mica__records_in(path, (char *)content, to);
  mica_status status = each(user, &records);
  mica__records_free(&records);
  free(content);
  return status;
}

static mica_status walk(const char *path, read_fn *each, void *user) {
  if (mica__lines_between(path) == MICA__BETWEEN_COLONS) return walk_colons(path, each, user);
  const int file = open(path, O_RDONLY);
  if (file < 0) return mica__fail(MICA_E_NOT_FOUND, "cannot read %s: %s", path, strerror(errno));
  mica__records records = mica__records_of(path, file);
  mica_status status = each(user, &records);
  mica__records_free(&records);
  close(file);
  return status;
}

/* A file to read: a table of interactions or, with side USER or ITEM, a table of users or items. */
typedef struct reading {
  const mica__interactions_config *config;
  const mica__feature_config *features;
  mica__interactions *out;
  mica__side side;
  mica__interactions_fn *each; /* receives the lines in parts; NULL: they are read at once */
  void *user;
} reading;

/* Reads a table of users or items. Ids are in the column with a usual name, else in the first; a column "title" or
 * "name" is not a feature. */
static mica_status read_side(void *user, mica__records *records) {
  const reading *r = user;
  const int k = r->side == MICA__SIDE_USER ? USER : ITEM;
  mica__feature_config config = *r->features;
  table t = {.records = records, .at = {SIZE_MAX, SIZE_MAX}};
  bool found = false;
  mica_status status = mica__records_find_delimiter(records);
  if (status == MICA_OK) status = mica__records_next(records, &found);
  if (status == MICA_OK && !found)
    status = mica__fail(MICA_E_FORMAT, "%s is empty, or has only blank lines and comments (#)", records->name);
  if (status == MICA_OK) status = find_column(&t, k, NULL);
  free(t.text);
  MICA_TRY(status);
  config.header = true;
  config.key = t.at[k] == SIZE_MAX ? 0 : t.at[k];
  for (size_t i = 0; i < records->count; i++)
    if (mica__cell_is(records->cells[i], "title", true) || mica__cell_is(records->cells[i], "name", true))
      config.title = i;
  return mica__features_read(records, r->side, &config, &r->out->features);
}

/* If config->clicks_from is set, replaces each rating by 1 if it is at least that, else by 0. Then checks that all
 * ratings are 0 or 1. */
static mica_status make_clicks(const mica__interactions_config *config, mica__interactions *x, const char *name) {
  for (size_t i = 0; i < x->count && !isnan(config->clicks_from); i++)
    x->list[i].rating = x->list[i].rating >= (float)config->clicks_from ? 1 : 0;
  for (size_t i = 0; i < x->count; i++)
    if (x->list[i].rating != 0 && x->list[i].rating != 1)
      return mica__fail(
          MICA_E_FORMAT,
          "%s line %zu, column %zu: a click must be 0 or 1, not %g; --clicks-from makes clicks of ratings", name,
          x->list[i].line, x->at[MICA__RATING] + 1, (double)x->list[i].rating);
  return MICA_OK;
}

/* How columns of features are read from the table of interactions; no features if the configuration has none. */
static mica__feature_config of_pairs(const mica__interactions_config *config, const mica__interactions *x) {
  mica__feature_config own = config->features ? *config->features : (mica__feature_config){0};
  own.taken = x->at;
  own.taken_count = COLUMNS;
  own.header = x->header;
  return own;
}

/* How many lines are read at a time. */
#define PART 65536

static mica_status read_parts(const reading *r, const mica__interaction_columns *columns, mica__records *records) {
  table t = {.records = records};
  mica__interactions *x = r->out;
  bool more = false;
  mica_status status = read_head(&t, columns, x, &more);
  const mica__feature_config config = of_pairs(r->config, x);
  const mica__feature_config *features = r->config->features ? &config : NULL;
  if (status == MICA_OK && more && features)
    status = mica__features_begin(records, MICA__SIDE_PAIR, features, PART, &x->features);
  do {
    x->count = 0;
    mica__id_names_free(&x->users);
    mica__id_names_free(&x->items);
    if (status == MICA_OK) status = read_lines(&t, PART, features, x, &more);
    if (status == MICA_OK && r->config->clicks && x->rated) status = make_clicks(r->config, x, records->name);
    if (status == MICA_OK) status = r->each(r->user, x);
  } while (status == MICA_OK && more);
  free(t.text);
  return status;
}

static mica_status read_interactions(void *user, mica__records *records) {
  const reading *r = user;
  const mica__interactions_config *c = r->config;
  if (r->each) return read_parts(r, &c->columns, records);
  MICA_TRY(mica__interactions_read(records, &c->columns, c->duplicates, r->out));
  if (c->clicks && r->out->rated) MICA_TRY(make_clicks(c, r->out, records->name));
  if (!c->features) return MICA_OK;
  const mica__feature_config config = of_pairs(c, r->out);
  return mica__features_read(records, MICA__SIDE_PAIR, &config, &r->out->features);
}

mica_status mica__interactions_open(const char *path, const mica__interactions_config *config,
                                    mica__interactions_fn *each, void *user, mica__interactions *out) {
  static const char *const names[] = {"ratings.csv", "ratings.tsv", "interactions.csv", "interactions.tsv", "u.data",
                                      "ratings.dat", NULL};
  reading r = {.config = config, .out = out, .each = each, .user = user};
  struct stat about;
  mica__text file = {0};
  if (stat(path, &about) != 0) return mica__fail(MICA_E_NOT_FOUND, "cannot read %s: %s", path, strerror(errno));
  if (!S_ISDIR(about.st_mode)) return walk(path, read_interactions, &r);
  if (!mica__file_find(path, names, &file)) {
    mica__text_free(&file);
    return mica__fail(MICA_E_NOT_FOUND,
                      "%s holds neither ratings.csv nor interactions.csv (or .tsv), nor u.data or ratings.dat", path);
  }
  mica_status status = mica__text_status(&file);
  if (status == MICA_OK) status = walk(file.data, read_interactions, &r);
  mica__text_free(&file);
  return status;
}

bool mica__interactions_find_side(const char *folder, mica__side side, mica__text *path) {
  static const char *const users[] = {"users.csv", "users.tsv", NULL};
  static const char *const items[] = {"movies.csv", "items.csv", "items.tsv", NULL};
  struct stat about;
  return !stat(folder, &about) && S_ISDIR(about.st_mode) &&
         mica__file_find(folder, side == MICA__SIDE_USER ? users : items, path);
}

mica_status mica__interactions_add_side(const char *path, mica__side side, const mica__feature_config *config,
                                        mica__interactions *x) {
  reading r = {.features = config, .out = x, .side = side};
  if (path) MICA_TRY(walk(path, read_side, &r));
  const mica__id_names *ids = side == MICA__SIDE_USER ? &x->users : &x->items;
  int32_t *rows = calloc((size_t)ids->count + 1, sizeof *rows);
  if (!rows) return mica__fail_nomem("features");
  for (int32_t i = 0; i < ids->count; i++) rows[i + 1] = mica__id_names_find(&x->features.keys[side], ids->names[i]);
  for (size_t i = 0; i < x->count; i++)
    x->list[i].rows.at[side] = rows[side == MICA__SIDE_USER ? x->list[i].user : x->list[i].item] - 1;
  free(rows);
  return MICA_OK;
}

/* --- titles --- */

/* The column of titles: "title" or "name", else the second. */
static size_t title_column(const mica__records *r, size_t item) {
  for (size_t i = 0; i < r->count; i++)
    if (i != item && (mica__cell_is(r->cells[i], "title", true) || mica__cell_is(r->cells[i], "name", true))) return i;
  return item == 1 ? 0 : 1;
}

static mica_status read_title_lines(mica__titles *titles, table *t) {
  bool found = false;
  MICA_TRY(mica__records_find_delimiter(t->records));
  MICA_TRY(mica__records_next(t->records, &found));
  if (!found) return MICA_OK;
  t->at[ITEM] = SIZE_MAX;
  MICA_TRY(find_column(t, ITEM, NULL));
  const size_t item = t->at[ITEM] == SIZE_MAX ? 0 : t->at[ITEM], title = title_column(t->records, item);
  MICA_TRY(mica__records_next(t->records, &found));
  while (found) {
    const mica__records *r = t->records;
    if (item < r->count && title < r->count) {
      MICA_TRY(cell_text(t, r->cells[item]));
      const int32_t id = mica__id_names_find(titles->items, t->text);
      MICA_TRY(cell_text(t, r->cells[title]));
      MICA_TRY(mica__titles_take(titles, r->name, r->line, id, t->text));
    }
    MICA_TRY(mica__records_next(t->records, &found));
  }
  return MICA_OK;
}

static mica_status read_titles(void *user, mica__records *records) {
  table t = {.records = records};
  mica_status status = read_title_lines(user, &t);
  free(t.text);
  return status;
}

mica_status mica__titles_open(const char *given, const char *folder, const mica__id_names *items, char ***out) {
  static const char *const names[] = {"movies.csv", "items.csv",  "titles.csv", "items.tsv",
                                      "u.item",     "movies.dat", NULL};
  mica__text path = {0};
  if (given)
    mica__text_add(&path, given);
  else if (!mica__file_find(folder, names, &path)) {
    mica__text_free(&path);
    return MICA_OK;
  }
  mica__titles t = {items, calloc((size_t)items->count + 1, sizeof(char *))};
  mica_status status = t.list ? mica__text_status(&path) : mica__fail_nomem("titles");
  const mica__between between = status == MICA_OK ? mica__lines_between(path.data) : MICA__BETWEEN_CELLS;
  if (status == MICA_OK && between != MICA__BETWEEN_CELLS)
    status = mica__titles_read_lines(path.data, between, &t);
  else if (status == MICA_OK)
    status = walk(path.data, read_titles, &t);
  for (int32_t i = 0; status == MICA_OK && i < items->count; i++)
    if (!t.list[i] && !(t.list[i] = mica__strdup(""))) status = mica__fail_nomem("titles");
  mica__text_free(&path);
  if (status == MICA_OK) {
    *out = t.list;
    return MICA_OK;
  }
  for (int32_t i = 0; t.list && i < items->count; i++) free(t.list[i]);
  free(t.list);
  return status;
}

/* --- ratings of a new user --- */

void mica__rated_free(mica__rated *rated) {
  for (size_t i = 0; i < rated->count; i++) free(rated->items[i]);
  free(rated->items);
  free(rated->ratings);
  mica__id_names_free(&rated->users);
  *rated = (mica__rated){0};
}

static mica_status add_rated(table *t, mica__rated *out) {
  const mica__records *r = t->records;
  float rating = 0;
  for (int k = ITEM; k <= RATING; k++)
    if (t->at[k] >= r->count)
      return mica__fail(MICA_E_FORMAT, "%s line %zu: the %s is missing", r->name, r->line, what[k]);
  if (mica__cell_is_missing(r->cells[t->at[ITEM]])) return bad_cell(t, ITEM, "is missing");
  MICA_TRY(read_rating(t, &rating));
  if (t->at[USER] < r->count) {
    int32_t user = 0;
    MICA_TRY(read_id(t, USER, &out->users, &user));
    if (user > 1) return bad_cell(t, USER, "differs from that of the lines before; all ratings must be of one user");
  }
  MICA_TRY(cell_text(t, r->cells[t->at[ITEM]]));
  if (out->count == out->capacity) {
    const size_t capacity = 2 * out->capacity + 16;
    char **items = realloc(out->items, capacity * sizeof *items);
    if (items) out->items = items;
    double *ratings = items ? realloc(out->ratings, capacity * sizeof *ratings) : NULL;
    if (!ratings) return mica__fail_nomem(r->name);
    out->ratings = ratings;
    out->capacity = capacity;
  }
  out->items[out->count] = mica__strdup(t->text);
  if (!out->items[out->count]) return mica__fail_nomem(r->name);
  out->ratings[out->count++] = (double)rating;
  return MICA_OK;
}

static mica_status read_rated_lines(table *t, mica__rated *out) {
  bool found = false;
  double value;
  MICA_TRY(mica__records_find_delimiter(t->records));
  MICA_TRY(mica__records_next(t->records, &found));
  for (int k = 0; k < COLUMNS; k++) t->at[k] = SIZE_MAX;
  for (int k = USER; found && k <= RATING; k++) MICA_TRY(find_column(t, k, NULL));
  const bool named = t->at[ITEM] != SIZE_MAX && t->at[RATING] != SIZE_MAX;
  /* A table of three or more numbers per line has the columns user, item and rating, as in training. */
  const size_t first = found && !named && t->records->count > 2 && has_no_names(t) ? USER : ITEM;
  for (int k = USER; k <= RATING && !named; k++) t->at[k] = (size_t)k >= first ? (size_t)k - first : SIZE_MAX;
  if (found && (named || (t->records->count > 1 && !mica__cell_is_numeric(t->records->cells[1], &value))))
    MICA_TRY(mica__records_next(t->records, &found));
  while (found) {
    MICA_TRY(add_rated(t, out));
    MICA_TRY(mica__records_next(t->records, &found));
  }
  return out->count ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s holds no ratings", t->records->name);
}

mica_status mica__rated_read(mica__records *records, mica__rated *out) {
  table t = {.records = records};
  mica_status status = read_rated_lines(&t, out);
  free(t.text);
  return status;
}

static mica_status read_rated(void *user, mica__records *records) { return mica__rated_read(records, user); }

mica_status mica__rated_open(const char *path, mica__rated *out) { return walk(path, read_rated, out); }
