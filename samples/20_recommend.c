/* labels: device
 *
 * Lesson 20: recommendations for a new user from five ratings. A run of the task recommend learns features of users and
 * items from a table of ratings; a user whom it has not seen gets the features that fit his ratings best. Without an
 * argument the table is made up: there are readers of crime and readers of romance, and books of both kinds. An
 * argument names a table or folder of your own (movielens_small, say), the others are items and ratings.
 *
 *   build/bin/samples/20_recommend [DATA ITEM=RATING...]
 *
 * Exit status 0 when the first books are of the new reader's kind, 1 when not, 77 where there is no device. */
#define _DEFAULT_SOURCE /* mkstemp, with -std=c11 too */

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READERS = 60, BOOKS = 24, MOST = 16 };

/* Every reader has read half of the books, and likes those of one kind. */
static bool write_table(const char *path) {
  FILE *file = fopen(path, "w");
  if (!file) return false;
  fprintf(file, "user,item,rating\n");
  for (int user = 0; user < READERS; user++)
    for (int book = user % 3; book < BOOKS; book += 1 + (user + book) % 3)
      fprintf(file, "reader%d,%s%d,%d\n", user, book % 2 ? "crime" : "romance", book,
              user % 2 == book % 2 ? 4 + book % 3 % 2 : 1 + book % 5 % 2);
  return fclose(file) == 0;
}

/* Cuts "ITEM=RATING" at its last sign. */
static bool read_rating(char *text, mica_run_rating *rating) {
  char *mark = strrchr(text, '=');
  if (!mark) return false;
  *mark = '\0';
  *rating = (mica_run_rating){text, strtod(mark + 1, NULL)};
  return true;
}

/* Trains without a folder and asks; *answer is the caller's. The made-up table, which is small, takes settings. */
static mica_status recommend(mica_engine *engine, const char *data, bool made_up, const mica_run_rating *rated,
                             size_t count, mica_report **answer) {
  const mica_setting settings[] = {{"epochs", "20"}, {"width", "8"}, {"batch", "32"}, {"lr", "0.02"}, {"test", "0"}};
  const mica_run_config config = {
      .task = "recommend", .data = data, .settings = settings, .setting_count = made_up ? 5 : 0};
  mica_run *run = NULL;
  mica_status status = mica_run_create(engine, &config, &run);
  if (!status) status = mica_run_fit(run);
  if (!status)
    status = mica_run_recommend(run, &(mica_run_query){.rated = rated, .rated_count = count, .top = 6}, answer);
  mica_run_destroy(run);
  return status;
}

/* Prints the items; true if the first three are of the kind. */
static bool print_items(const mica_report *answer, const char *kind) {
  const mica_item *items = mica_report_find(answer, 0, "items");
  bool good = items && items->rows >= 3;
  for (size_t i = 0; items && i < items->rows; i++) {
    const char *const *row = items->texts + 3 * i;
    printf("%8s  %s %s\n", row[2], row[0], row[1]);
    if (kind && i < 3) good = good && !strncmp(row[0], kind, strlen(kind));
  }
  return good;
}

int main(int count, char **words) {
  mica_run_rating rated[MOST] = {{"crime1", 5}, {"crime3", 4}, {"romance4", 1}, {"crime7", 5}, {"romance10", 2}};
  char path[] = "/tmp/mica-20-XXXXXX";
  size_t ratings = 5;
  mica_engine *engine = NULL;
  mica_report *answer = NULL;
  const bool own = count > 2;
  for (int i = 2; own && i < count && i - 2 < MOST; i++, ratings = (size_t)i - 2)
    if (!read_rating(words[i], &rated[i - 2])) return fprintf(stderr, "%s is not ITEM=RATING\n", words[i]), 1;
  mica_status status = mica_engine_create(NULL, &engine);
  if (status == MICA_E_NO_DEVICE) return puts("SKIP: no device"), 77;
  if (status) return fprintf(stderr, "%s\n", mica_error_message()), 1;
  const int file = own ? -1 : mkstemp(path);
  bool good = own || (file >= 0 && close(file) == 0 && write_table(path));
  if (good) status = recommend(engine, own ? words[1] : path, !own, rated, ratings, &answer);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  good = good && !status && print_items(answer, own ? NULL : "crime");
  if (!own) unlink(path);
  mica_report_destroy(answer);
  mica_engine_destroy(engine);
  return good ? 0 : 1;
}
