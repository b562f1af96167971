/* labels: null
 *
 * Communicators among some of the ranks: what they sum, what goes on beside them, and what is refused. */
#include "support/check_main.h"
#include "support/members.h"

#include <mica/dist.h>
#include <mica/status.h>
#include <string.h>

static void sum(mica_communicator *c, int32_t channel, double *value) {
  const mica_transfer t = {.channel = channel, .dtype = MICA_F64, .data = value, .count = 1};
  member_ok(mica_communicator_run(c, &t));
}

/* Rows and columns of 2 x 3 ranks, in flight at once with a sum of all. */
static void in_a_grid(mica_communicator *whole) {
  const int32_t row = whole->rank / 3, column = whole->rank % 3;
  const int32_t along[] = {3 * row, 3 * row + 1, 3 * row + 2}, across[] = {column, column + 3};
  mica_communicator *rows = NULL, *columns = NULL;
  member_ok(mica_communicator_group(whole, along, 3, &rows));
  member_ok(mica_communicator_group(whole, across, 2, &columns));
  member_check(rows->rank == column && rows->ranks == 3 && columns->rank == row && rows->whole == whole, "ranks");
  for (int i = 0; i < 20; i++) {
    double a = whole->rank + i, b = a, all = a;
    const mica_transfer first = {.channel = 1, .dtype = MICA_F64, .data = &a, .count = 1};
    void *request = NULL;
    member_ok(mica_communicator_begin(rows, &first, &request));
    sum(columns, 1, &b);
    sum(whole, 2, &all);
    member_ok(mica_communicator_wait(rows, request));
    member_check(a == 9.0 * row + 3 + 3 * i, "row %d: %g", (int)row, a);
    member_check(b == 2.0 * column + 3 + 2 * i, "column %d: %g", (int)column, b);
    member_check(all == 15 + 6 * i, "all: %g", all);
  }
  mica_communicator_destroy(columns);
  mica_communicator_destroy(rows);
}

/* The sums of a group that is gone are not another's, wherever its memory is. */
static void one_after_another(mica_communicator *whole) {
  static const int32_t both[] = {0, 1};
  for (int i = 0; i < 4; i++) {
    float x[300];
    mica_communicator *group = NULL;
    member_ok(mica_communicator_group(whole, both, 2, &group));
    for (int k = 0; k < 2; k++) {
      for (int j = 0; j < 300; j++) x[j] = k ? 0.1f * (float)j : 0;
      const mica_transfer t = {.data = x, .count = 300, .compression = MICA_COMPRESSION_U8, .feedback = true};
      member_ok(mica_communicator_run(group, &t));
      for (int j = 0; !k && j < 300; j++) member_check(x[j] == 0, "group %d: a sum of zeros is %g", i, (double)x[j]);
    }
    mica_communicator_destroy(group);
  }
}

START_TEST(a_group_begins_without_residuals) { test_members(2, NULL, one_after_another); }
END_TEST

START_TEST(groups_sum_beside_each_other) {
  test_members(6, NULL, in_a_grid);
  test_members(6, &(test_faults){.delay = 2e-3, .seed = 5}, in_a_grid);
}
END_TEST

static void refuse(mica_communicator *whole) {
  mica_communicator *group = NULL, *inner = NULL;
  const int32_t falling[] = {1, 0}, beyond[] = {0, 3}, all[] = {0, 1, 2}, other[] = {whole->rank ? 0 : 1};
  member_check(mica_communicator_group(whole, falling, 2, &group) == MICA_E_INVALID, "falling");
  member_check(mica_communicator_group(whole, beyond, 2, &group) == MICA_E_INVALID, "beyond");
  member_check(mica_communicator_group(whole, other, 1, &group) == MICA_E_INVALID, "is not in the list of ranks");
  member_check(strstr(mica_error_message(), "is not in the list") != NULL, "%s", mica_error_message());
  member_ok(mica_communicator_group(whole, all, 3, &group));
  member_check(mica_communicator_group(group, all, 3, &inner) == MICA_E_UNSUPPORTED, "a group of a group");
  mica_communicator_destroy(group);
}

START_TEST(what_is_wrong_is_refused) { test_members(3, NULL, refuse); }
END_TEST

static void end_all(mica_communicator *whole) {
  const int32_t two[] = {0, 1}, last[] = {2};
  mica_communicator *group = NULL;
  double value = 1;
  member_ok(mica_communicator_group(whole, whole->rank < 2 ? two : last, whole->rank < 2 ? 2 : 1, &group));
  const mica_transfer t = {.channel = 3, .dtype = MICA_F64, .data = &value, .count = 1};
  if (whole->rank == 0)
    mica_communicator_abort(group, "it has had enough");
  else
    member_check(mica_communicator_run(whole, &t) == MICA_E_STATE &&
                     strstr(mica_error_message(), "rank 0: it has had enough"),
                 "%s", mica_error_message());
  mica_communicator_destroy(group);
}

START_TEST(what_ends_a_group_ends_all) { test_members(3, NULL, end_all); }
END_TEST

TESTS(ANYWHERE, NULL, NULL, groups_sum_beside_each_other, a_group_begins_without_residuals, what_is_wrong_is_refused,
      what_ends_a_group_ends_all)
