/* labels: null single
 *
 * Tables of interactions and of features: what is read, what is refused with its line, how they are parted, numbered
 * and ordered. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "task/head/ranking.h"

#include <math.h>
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
  mica_status status =
      mica__interactions_read(&records, &columns, last ? MICA__DUPLICATES_LAST : MICA__DUPLICATES_FAIL, *out);
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
      {"user,item,rating\n", "no line after"},
      {"who,item\na,b\n", "line 1: there is no column of users"},
      {"user,rating\na,3\n", "line 1: there is no column of items"},
      {"user,item,rating\na,,3\n", "line 2, column 2: the item is missing"},
      {"user,item,rating\na,b,3\n?,b,3\n", "line 3, column 1: the user is missing"},
      {"user,item,rating\na,b,\n", "line 2, column 3: the rating is missing"},
      {"user,item,rating\na,b,good\n", "line 2, column 3: the rating is not a number"},
      {"user,item,rating\na,b\n", "line 2: the rating is missing; cells in the line: 2"},
      {"user,item,time\na,b,soon\n", "line 2, column 3: the time must be a number or a date"},
      {"user,item\na,b\nc,b\na,b\n", "line 4: the pair of user 'a' and item 'b' is already in line 2"},
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

static mica_status read_features(const char *text, const mica__feature_config *config, mica__features *f) {
  static char content[4096];
  ck_assert(strlen(text) < sizeof content);
  strcpy(content, text);
  mica__records records = mica__records_in("f.csv", content, strlen(content));
  mica_status status = mica__features_read(&records, MICA__SIDE_ITEM, config, f);
  mica__records_free(&records);
  return status;
}

static const mica__feature_config plain = {.separator = '|', .key = 0, .title = 1, .header = true};

/* Kinds by what cells hold; values that are rare in training, new or missing are 0, numbers that are missing the mean.
 */
START_TEST(features) {
  static const char text[] = "item,title,tags,price,zip,shop\n"
                             "a,A,x|y,1,10,s\n"
                             "b,B, y | z |,5,10,t\n"
                             "c,C,,?,20,\n"
                             "d,D,w,9,30,s\n";
  mica__feature_config config = plain;
  mica__features f = {0};
  config.categorical = "zip";
  ck_ok(read_features(text, &config, &f));
  ck_ok(mica__features_check(&f, &config));
  ck_assert_uint_eq(f.count, 4);
  ck_assert_int_eq(f.rows[MICA__SIDE_ITEM], 4);
  static const mica__feature_kind kinds[] = {MICA__FEATURE_SET, MICA__FEATURE_NUMBER, MICA__FEATURE_CATEGORY,
                                             MICA__FEATURE_CATEGORY};
  for (size_t k = 0; k < 4; k++) ck_assert_int_eq(f.list[k].kind, kinds[k]);
  /* Rows 1, 0, 1 and 2 are trained on: y, z and x are known, w is not. */
  const mica__feature_rows samples[] = {{{-1, -1, 1}}, {{-1, -1, 0}}, {{-1, -1, 1}}, {{-1, -1, 2}}};
  ck_ok(mica__features_number(&f, samples, 4, 1));
  ck_assert_int_eq(f.list[0].values.count, 3);
  ck_assert_str_eq(f.list[0].values.names[0], "y");
  ck_assert_double_eq_tol(f.list[1].mean, 11.0 / 3, 1e-9);
  const mica__feature_sizes sizes = mica__features_size(&f);
  ck_assert_int_eq(sizes.values, 1 + 3 + 2 + 2);
  ck_assert(sizes.numbers == 1 && sizes.categories == 2 && sizes.sets == 1 && sizes.width == 2);
  float number;
  int32_t categories[2], set[2], length;
  mica__features_encode(&f, &samples[1], &number, categories, set, &length);
  ck_assert_double_eq_tol((double)number, (1 - f.list[1].mean) / f.list[1].deviation, 1e-6);
  ck_assert(set[0] == 3 && set[1] == 1 && length == 2);
  ck_assert(categories[0] == 4 && categories[1] == 7);
  mica__features_encode(&f, &samples[3], &number, categories, set, &length);
  ck_assert(number == 0 && length == 0 && categories[0] == 5 && categories[1] == 0); /* the third row */
  mica__features_encode(&f, &(mica__feature_rows){{-1, -1, 3}}, &number, categories, set, &length);
  ck_assert(set[0] == 0 && length == 1 && categories[0] == 0 && categories[1] == 7);
  mica__features_encode(&f, &(mica__feature_rows){{-1, -1, -1}}, &number, categories, set, &length);
  ck_assert(number == 0 && length == 0 && categories[0] == 0 && categories[1] == 0);
  /* Other data are read by what is known: new values are 0, in any order of columns. */
  config.known = true;
  ck_ok(read_features("shop,title,item,zip,tags,price\nnew,E,e,20,q|x,3\n",
                      &(mica__feature_config){.separator = '|', .key = 2, .title = 1, .header = true, .known = true},
                      &f));
  mica__features_encode(&f, &(mica__feature_rows){{-1, -1, 0}}, &number, categories, set, &length);
  ck_assert(set[0] == 0 && set[1] == 3 && length == 2 && categories[0] == 5 && categories[1] == 0);
  mica__features_free(&f);
}
END_TEST

START_TEST(features_refused) {
  static const char *const wrong[][2] = {
      {"", "f.csv is empty"},
      {"item,title,x\na,A\n", "line 2: the column 'x' is missing; cells in the line: 2"},
      {"item,title,x\na,A,1\n?,B,2\n", "line 3, column 1: the id is missing"},
      {"item,title,x\na,A,1\na,B,2\n", "line 3: 'a' is already in an earlier line"},
  };
  mica__features f = {0};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_msg(read_features(wrong[i][0], &plain, &f) == MICA_E_FORMAT, "%s", wrong[i][0]);
    ck_assert_msg(strstr(mica_error_message(), wrong[i][1]) != NULL, "%s: %s", wrong[i][1], mica_error_message());
    mica__features_free(&f);
  }
  mica__feature_config config = plain;
  config.ignored = "x,y";
  ck_ok(read_features("item,title,x,z\na,A,1,p|q\n", &config, &f));
  ck_assert_int_eq(mica__features_check(&f, &config), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), "ignore: no table has a column 'y'") != NULL, "%s", mica_error_message());
  config.ignored = "";
  config.categorical = "z";
  ck_assert_int_eq(mica__features_check(&f, &config), MICA_E_INVALID);
  config.known = true;
  ck_assert_int_eq(read_features("item,title\na,A\n", &config, &f), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "there is no column 'z'") != NULL, "%s", mica_error_message());
  ck_assert_int_eq(read_features("item,title,z\na,A,p|q|p\n", &config, &f), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "column 3: 'z' holds 3 values, but may hold at most 2") != NULL, "%s",
                mica_error_message());
  mica__features_free(&f);
}
END_TEST

START_TEST(areas) {
  mica__clicked list[] = {{0.1f, 0}, {0.4f, 0}, {0.35f, 1}, {0.8f, 1}};
  ck_assert_double_eq(mica__auc(list, 4), 0.75);
  mica__clicked equal[] = {{0.5f, 0}, {0.5f, 1}, {0.5f, 1}, {0.2f, 0}};
  ck_assert_double_eq(mica__auc(equal, 4), 0.75);
  ck_assert(isnan(mica__auc(equal, 1)));
}
END_TEST

/* Cells of a table may begin with what parts lines of MovieLens's files: the name tells them apart. */
START_TEST(lines_are_known_by_names) {
  static const struct {
    const char *name, *text;
    mica__between between;
  } files[] = {{"ratings.csv", "us::er,item,rating\na,b,1\n", MICA__BETWEEN_CELLS},
               {"items.tsv", "a|b\tOne\n", MICA__BETWEEN_CELLS},
               {"dat", "1::2::3\n", MICA__BETWEEN_CELLS},
               {"ratings.dat", "1::2::3\n", MICA__BETWEEN_COLONS},
               {"u.item", "1|One|1995\n", MICA__BETWEEN_BARS},
               {"table.dat", "1\t2::3\n", MICA__BETWEEN_CELLS}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    files_write(files[i].name, files[i].text, strlen(files[i].text));
    ck_assert_int_eq(mica__lines_between(files_path(files[i].name)), files[i].between);
  }
  files_remove();
}
END_TEST

START_TEST(a_mark_before_titles_is_none_of_the_item) {
  char text[] = "\xef\xbb\xbf"
                "7|Sept|1995\n8|Huit\n";
  mica__id_names items = {0};
  int32_t id = 0;
  ck_ok(mica__id_names_add(&items, "7", &id));
  ck_ok(mica__id_names_add(&items, "8", &id));
  char *list[3] = {NULL};
  mica__titles titles = {&items, list};
  ck_ok(mica__titles_parse("u.item", text, sizeof text - 1, MICA__BETWEEN_BARS, &titles));
  ck_assert_ptr_nonnull(list[0]);
  ck_assert_str_eq(list[0], "Sept");
  ck_assert_str_eq(list[1], "Huit");
  free(list[0]);
  free(list[1]);
  mica__id_names_free(&items);
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

TESTS(ANYWHERE, NULL, NULL, reads, refuses, parts, features, features_refused, areas, lines_are_known_by_names,
      a_mark_before_titles_is_none_of_the_item, rankings)
