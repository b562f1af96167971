/* labels: device
 *
 * Runs of several ranks through the library alone: an evaluation that fails on one of them ends all. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/members.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

static char data[512];
static const mica_setting *settings;
static size_t setting_count;

static void write_points(const char *name, int rows) {
  FILE *file = fopen(files_path(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs("a,b,kind\n", file);
  for (int i = 0; i < rows; i++) fprintf(file, "%d,%d,%d\n", i % 7 + 9 * (i % 2), i % 5, i % 2);
  fclose(file);
  snprintf(data, sizeof data, "%s", files_path(name));
}

static mica_run *create(mica_communicator *c) {
  const mica_run_config config = {
      .task = "classify", .data = data, .settings = settings, .setting_count = setting_count, .communicator = c};
  mica_run *run = NULL;
  member_ok(mica_run_create(NULL, &config, &run));
  member_ok(mica_run_fit(run));
  member_check(mica_run_is_complete(run), "the run is not complete");
  return run;
}

/* Rank 1 fails when both have trained; the other one waits for its share, or is about to. */
static void evaluate_what_one_lacks(mica_communicator *c) {
  mica_run *run = create(c);
  mica_metrics metrics;
  float one = 1;
  mica_status status = mica_communicator_run(c, &(mica_transfer){.data = &one, .count = 1});
  if (status == MICA_OK) status = mica_run_evaluate(run, c->rank == 1 ? "/nowhere" : data, MICA_PART_TRAIN, &metrics);
  member_check(status != MICA_OK, "rank %d has evaluated", (int)c->rank);
  member_check(strstr(mica_error_message(), "there is no dataset /nowhere"), "%s", mica_error_message());
  mica_run_destroy(run);
}

START_TEST(an_evaluation_that_fails_ends_all) {
  static const mica_setting list[] = {{"epochs", "1"}, {"batch", "16"}};
  write_points("points.csv", 64);
  settings = list;
  setting_count = sizeof list / sizeof *list;
  test_members(2, &(test_faults){.timeout = 30}, evaluate_what_one_lacks);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, an_evaluation_that_fails_ends_all)
