#include "cli/number.h"
#include "cli/result.h"
#include "cli/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct values {
  cli_words rated, context;
  const char *model, *user, *like, *ratings, *top, *device;
  bool exclude_seen, json;
};

static const cli_option options[] = {
    CLI_ROW("model", struct values, model, .value = "DIR", .help = "folder of a recommend run (required)"),
    CLI_ROW("user", struct values, user, .value = "ID", .help = "id of a user in the training data"),
    CLI_ROW("rate", struct values, rated, .value = "ITEM=RATING",
            .help = "a new user's rating of an item; repeat it for several items"),
    CLI_ROW("ratings", struct values, ratings, .value = "FILE",
            .help = "table of a new user's items and ratings; its first column may name the user"),
    CLI_ROW("like", struct values, like, .value = "ITEM", .help = "id of an item: find similar items"),
    CLI_ROW("context", struct values, context, .value = "NAME=VALUE",
            .help =
                "dlrm: value of another column of the training table, as in hour=17; repeat it for several columns"),
    CLI_ROW("top", struct values, top, .value = "N", .help = "number of items to recommend (default 10)"),
    CLI_ROW("exclude-seen", struct values, exclude_seen,
            .help = "with --user: leave out the items that the user has in the training data"),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write a JSON object: task and recommendations"),
    {0},
};

/* Parses the words ITEM=RATING of --rate. Splits each word in place at its last "=", so an item may contain "=". */
static int read_rated(const cli_command *self, const struct values *v, mica_run_rating *rated) {
  for (size_t i = 0; i < v->rated.count; i++) {
    char *word = v->rated.words[i], *mark = strrchr(word, '='), *end = NULL;
    const double rating = mark ? strtod(mark + 1, &end) : NAN;
    if (!mark || mark == word || end == mark + 1 || *end || !cli_is_plain(mark + 1) || !isfinite(rating)) {
      cli_fail(self, "--rate wants an item and a number, as 318=4.5, not \"%s\"", word);
      return CLI_USAGE;
    }
    *mark = '\0';
    rated[i] = (mica_run_rating){word, rating};
  }
  return CLI_OK;
}

/* Parses the words COLUMN=VALUE of --context. Splits each word in place at its first "="; a value may contain "=". */
static int read_context(const cli_command *self, const struct values *v, mica_setting *context) {
  for (size_t i = 0; i < v->context.count; i++) {
    char *word = v->context.words[i], *mark = strchr(word, '=');
    if (!mark || mark == word) {
      cli_fail(self, "--context wants a column and a value, as hour=17, not \"%s\"", word);
      return CLI_USAGE;
    }
    *mark = '\0';
    context[i] = (mica_setting){word, mark + 1};
  }
  return CLI_OK;
}

/* Prints the title of each section and a line per item. */
static void print_items(const mica_report *p) {
  for (size_t s = 0; s < mica_report_count(p); s++) {
    const mica_item *items = mica_report_find(p, s, "items");
    printf("%s%s%s\n", s ? "\n" : "", cli_colour_code(CLI_BOLD), cli_clean(mica_report_title(p, s)));
    fputs(cli_colour_code(CLI_PLAIN), stdout);
    for (size_t i = 0; items && i < items->rows; i++) {
      const char *const *row = items->texts + 3 * i;
      printf("%3zu  %8s  %-12s %s\n", i + 1, row[2], cli_clean(row[0]), cli_clean(row[1]));
    }
    if (!items || !items->rows) puts("  nothing is left to recommend");
  }
}

static int answer(const cli_command *self, const struct values *v, mica_run *run, const mica_run_query *query) {
  mica_report *found = NULL;
  char head[64], *text = NULL;
  if (mica_run_recommend(run, query, &found) != MICA_OK) return cli_fail_library(self);
  int status = CLI_OK;
  snprintf(head, sizeof head, "\"task\": \"%s\", ", mica_run_task(run));
  if (!v->json)
    print_items(found);
  else if (mica_report_json(found, "recommendations", head, &text) == MICA_OK)
    puts(text);
  else
    status = cli_fail_library(self);
  mica_free(text);
  mica_report_destroy(found);
  return status;
}

static int check(const cli_command *self, const struct values *v) {
  const int asked = (v->user != NULL) + (v->like != NULL) + (v->rated.count || v->ratings);
  if (v->model && asked == 1 && !(v->rated.count && v->ratings)) {
    if (v->like && v->context.count) {
      cli_fail(self, "--context has no effect with --like, which compares items only");
      return CLI_USAGE;
    }
    if (!v->exclude_seen || v->user) return CLI_OK;
    cli_fail(self, "--exclude-seen is for --user: %s",
             v->like ? "--like names no user who has seen items" : "items that a new user rated are always left out");
    return CLI_USAGE;
  }
  cli_fail(self, !v->model ? "--model is missing: the folder that mica train --task recommend wrote"
                 : asked   ? "give only one of --user, --like, --rate and --ratings"
                           : "--user is missing; or give --like for an item, --rate or --ratings for a new user");
  return CLI_USAGE;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  mica_run_query query = {.users = &v->user,
                          .user_count = v->user != NULL,
                          .like = &v->like,
                          .like_count = v->like != NULL,
                          .rated_count = v->rated.count,
                          .rated_file = v->ratings,
                          .exclude_seen = v->exclude_seen};
  mica_engine *engine = NULL;
  mica_run *trained = NULL;
  int status = check(self, v);
  if (status == CLI_OK) status = cli_integer(self, "top", v->top, 1, 256, &query.top);
  mica_run_rating *rated = calloc(v->rated.count + 1, sizeof *rated);
  mica_setting *context = calloc(v->context.count + 1, sizeof *context);
  query.rated = rated;
  query.context = context;
  query.context_count = v->context.count;
  if (!rated || !context) status = cli_fail(self, "there is not enough memory");
  if (status == CLI_OK) status = read_rated(self, v, rated);
  if (status == CLI_OK) status = read_context(self, v, context);
  if (status == CLI_OK) status = cli_open_run(self, v->model, v->device, &engine, &trained);
  if (status == CLI_OK) status = answer(self, v, trained, &query);
  mica_run_destroy(trained);
  mica_engine_destroy(engine);
  free(rated);
  free(context);
  return status;
}

const cli_command cli_command_recommend = {
    .name = "recommend",
    .summary = "recommend items for a user, for a new user, or like another item",
    .details = "\nUsers and items are named by their ids in the training table, and by titles if\n"
               "the run has them. A new user's own items are not recommended. If the run has\n"
               "learned ratings, scores are predicted ratings. Scores of --like are cosines.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
