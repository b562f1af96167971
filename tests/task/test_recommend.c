/* labels: null single
 *
 * Tables of interactions: what is read, what is refused with its line, how they are parted, numbered and ordered. */
#include "support/check_main.h"
#include "support/engine.h"
#include "task/recommend.h"

#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

static mica_status read_table(const char *text, bool last, mica__interactions **out) {
  static char content[4096];
  const mica__interaction_columns columns = {0};
  ck_assert(strlen(text) < sizeof content);
  strcpy(content, text);
  mica__records records = mica__records_in("t.csv", content, strlen(content));
  *out = calloc(1, sizeof **out);
  ck_assert_ptr_nonnull(*out);
  mica_status status = mica__interactions_read(&records, &columns, last, *out);
  mica__records_free(&records);
  if (status == MICA_OK) return status;
  mica__interactions_free(*out);
  *out = NULL;
  return status;
}

static const char table[] = "movieId,User_ID,stars,timestamp\n"
                            "9223372036854775808,ann,4.5,30\n"
                            "7,ann,2,10\n"
                            "07,bob,3,2020-01-01\n"
                            "\"a, b\",bob,1e0,5\n"
                            "7,bob,5,20\n"
                            "7,carl,5,1\n";

START_TEST(reads) {
  mica__interactions *x = NULL;
  ck_ok(read_table(table, false, &x));
  ck_assert_uint_eq(x->count, 6);
  ck_assert(x->rated && x->timed);
  ck_assert_int_eq(x->users.count, 3);
  ck_assert_int_eq(x->items.count, 4); /* 7 and 07 are two texts */
  ck_assert_str_eq(x->items.names[0], "9223372036854775808");
  ck_assert_str_eq(x->items.names[3], "a, b");
  ck_assert_double_eq((double)x->list[0].rating, 4.5);
  ck_assert_double_eq(x->list[2].time, 1577836800);
  ck_assert_uint_eq(x->list[3].line, 5);
  mica__interactions_free(x);
  /* Without names the columns come in the usual order. */
  ck_ok(read_table("1\t2\t3\n1\t4\t5\n", false, &x));
  ck_assert_uint_eq(x->count, 2);
  ck_assert(x->rated && !x->timed);
  mica__interactions_free(x);
}
END_TEST

START_TEST(refuses) {
  static const char *const wrong[][2] = {
      {"", "t.csv is empty"},
      {"user,item,rating\n", "no line below"},
      {"who,item\na,b\n", "line 1: there is no column of users"},
      {"user,rating\na,3\n", "line 1: there is no column of items"},
      {"user,item,rating\na,,3\n", "line 2, column 2: the item is missing"},
      {"user,item,rating\na,b,3\n?,b,3\n", "line 3, column 1: the user is missing"},
      {"user,item,rating\na,b,\n", "line 2, column 3: the rating is missing"},
      {"user,item,rating\na,b,good\n", "line 2, column 3: the rating is no number"},
      {"user,item,rating\na,b\n", "line 2 has 2 columns: the rating is missing"},
      {"user,item,time\na,b,soon\n", "line 2, column 3: the time is neither"},
      {"user,item\na,b\nc,b\na,b\n", "line 4: user 'a' and item 'b' came together in line 2"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mica__interactions *x = NULL;
    ck_assert_msg(read_table(wrong[i][0], false, &x) == MICA_E_FORMAT, "%s", wrong[i][0]);
    ck_assert_msg(strstr(mica_error_message(), wrong[i][1]) != NULL, "%s: %s", wrong[i][1], mica_error_message());
  }
  mica__interactions *x = NULL;
  ck_ok(read_table("user,item,rating\na,b,1\nc,b,2\na,b,3\n", true, &x));
  ck_assert_uint_eq(x->count, 2);
  ck_assert_double_eq((double)x->list[1].rating, 3);
  mica__interactions_free(x);
}
END_TEST

static size_t count_part(const mica__interactions *x, mica_part part) {
  size_t count = 0;
  for (size_t i = 0; i < x->count; i++) count += x->list[i].part == part;
  return count;
}

START_TEST(parts) {
  mica__interactions *x = NULL;
  ck_ok(read_table(table, false, &x));
  ck_ok(mica__interactions_part(x, MICA__HOLDOUT_RANDOM, 0.34, 0.17, 3));
  ck_assert_uint_eq(count_part(x, MICA_PART_TEST), 2);
  ck_assert_uint_eq(count_part(x, MICA_PART_VALIDATION), 1);
  ck_ok(mica__interactions_part(x, MICA__HOLDOUT_TIME, 0.34, 0.17, 3));
  ck_assert_int_eq(x->list[2].part, MICA_PART_TEST);
  ck_assert_int_eq(x->list[0].part, MICA_PART_TEST);
  ck_assert_int_eq(x->list[4].part, MICA_PART_VALIDATION);
  /* The last of each user tests, the one before validates, and who has one item keeps it. */
  ck_ok(mica__interactions_part(x, MICA__HOLDOUT_LAST, 0, 0.1, 3));
  ck_assert_int_eq(x->list[0].part, MICA_PART_TEST);
  ck_assert_int_eq(x->list[1].part, MICA_PART_TRAIN);
  ck_assert_int_eq(x->list[2].part, MICA_PART_TEST);
  ck_assert_int_eq(x->list[4].part, MICA_PART_VALIDATION);
  ck_assert_int_eq(x->list[3].part, MICA_PART_TRAIN);
  ck_assert_int_eq(x->list[5].part, MICA_PART_TRAIN);
  /* Only ids of the training part have numbers. */
  ck_ok(mica__interactions_number(x, 1));
  ck_assert_int_eq(x->items.count, 2);
  ck_assert_str_eq(x->items.names[0], "7");
  ck_assert_int_eq(x->list[0].item, 0);
  ck_assert_int_eq(x->list[4].item, 1);
  mica__histories h = {0};
  ck_ok(mica__histories_make(x, MICA_PART_VALIDATION, &h));
  ck_assert_int_eq(h.offsets[1], 0);
  ck_assert_int_eq(h.offsets[2], 1); /* ann: 7 */
  ck_assert_int_eq(h.offsets[3], 3); /* bob: "a, b", then 7 */
  ck_assert_int_eq(h.items[1], 2);
  ck_assert_int_eq(h.items[2], 1);
  mica__histories_free(&h);
  mica__interactions_free(x);
}
END_TEST

START_TEST(rankings) {
  const int32_t ranked[] = {4, 9, 2}, held[] = {2, 0, 4};
  mica__ranking sums = {0};
  mica__ranking_add(&sums, ranked, 3, held, 3);
  ck_assert_double_eq(sums.hits, 1);
  ck_assert_double_eq_tol(sums.recall, 2.0 / 3, 1e-12);
  ck_assert_double_eq_tol(sums.gain, (1 + 0.5) / (1 + 0.63092975357145743 + 0.5), 1e-12);
  mica__ranking_add(&sums, ranked, 3, (const int32_t[]){7}, 1);
  ck_assert_double_eq(sums.users, 2);
  ck_assert_double_eq(sums.hits, 1);
}
END_TEST

Suite *test_suite(void) {
  Suite *suite = suite_create("recommend");
  TCase *all = tcase_create("recommend");
  tcase_add_test(all, reads);
  tcase_add_test(all, refuses);
  tcase_add_test(all, parts);
  tcase_add_test(all, rankings);
  suite_add_tcase(suite, all);
  return suite;
}
