/* labels: null single
 *
 * Settings and facts as typed structs: each kind is read from what a run holds, and facts are refused that do not have
 * the kind, count or range of their row. */
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/setting_fields.h"
#include "run/settings.h"
#include "run/state/settings.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <string.h>

static const char *colour_at(size_t i) {
  static const char *const names[] = {"red", "green", NULL};
  return names[i];
}

#define PAINT_SETTINGS(X, S)                                                                                           \
  X(S, FLAG, wet, "wet", "false", "", "whether it is wet")                                                             \
  X(S, INT, coats, "coats", "2", "N", "layers of paint", .low = 1, .high = 0x1p53)                                     \
  X(S, INT, hours, "hours", "", "N", "hours to dry (default: found)", .low = 1, .high = 100)                           \
  X(S, REAL, share, "share-of-oil", "0.10", "SHARE", "oil in the paint", .low = 0, .high = 1)                          \
  X(S, REAL, gloss, "gloss", "", "G", "gloss (default: found)", .low = 0, .high = 1)                                   \
  X(S, CHOICE, colour, "colour", "green", "NAME", "colour", .names = colour_at)                                        \
  X(S, CHOICE, second, "second", "", "NAME", "second colour (default: none)", .names = colour_at)                      \
  X(S, TEXT, name, "name", "plain", "NAME", "name of the paint", .fixed = true)
MICA__SETTINGS_STRUCT(paint, PAINT_SETTINGS);
static MICA__SETTINGS_TABLE(paint, PAINT_SETTINGS);

#define PAINT_FACTS(X, S)                                                                                              \
  X(S, TEXTS, tones, .needed = true)                                                                                   \
  X(S, TEXT, maker, .needed = false)                                                                                   \
  X(S, NUMBER, price, .needed = true)                                                                                  \
  X(S, NUMBER, size, .above = -1, .most = 100)                                                                         \
  X(S, NUMBERS, mix, .of = "tones", .each = 2, .more = 1, .above = -INFINITY)                                          \
  X(S, NUMBERS, sides, .count = 2)
MICA__FACTS_STRUCT(paint, PAINT_FACTS);
static MICA__FACTS_TABLE(paint, PAINT_FACTS, 0);

static mica_run *run;

static void make_run(void) {
  run = mica__run_new();
  ck_assert_ptr_nonnull(run);
  for (const mica_setting_row *row = mica__paint_setting_list.rows; row->name; row++)
    run->settings->rows[run->settings->count++] = row;
}

static void drop_run(void) { mica_run_destroy(run); }

START_TEST(settings_are_read_by_kind) {
  mica__paint_settings s;
  mica__settings_read(run, &mica__paint_setting_list, &s);
  ck_assert(!s.wet);
  ck_assert_int_eq(s.coats, 2);
  ck_assert_int_eq(s.hours, 0);
  ck_assert_double_eq(s.share, 0.1);
  ck_assert(isnan(s.gloss));
  ck_assert_int_eq(s.colour, 1);
  ck_assert_int_eq(s.second, -1);
  ck_assert_str_eq(s.name, "plain");
  ck_ok(mica__run_set(run, "wet", "true"));
  ck_ok(mica__run_set(run, "coats", "9007199254740992"));
  ck_ok(mica__run_set(run, "share-of-oil", "0.50"));
  ck_ok(mica__run_set(run, "colour", "red"));
  ck_ok(mica__run_set(run, "name", ""));
  mica__settings_read(run, &mica__paint_setting_list, &s);
  ck_assert(s.wet);
  ck_assert_int_eq(s.coats, 9007199254740992);
  ck_assert_double_eq(s.share, 0.5);
  ck_assert_int_eq(s.colour, 0);
  ck_assert_str_eq(s.name, "");
  ck_assert_str_eq(mica_run_setting(run, "share-of-oil"), "0.50"); /* as it was typed */
}
END_TEST

START_TEST(a_list_is_a_table_of_rows) {
  const mica_setting_row *rows = mica__paint_setting_list.rows;
  ck_assert_str_eq(rows[3].name, "share-of-oil");
  ck_assert_int_eq(rows[3].kind, MICA_SETTING_KIND_REAL);
  ck_assert_str_eq(rows[3].text, "oil in the paint");
  ck_assert_double_eq(rows[3].high, 1);
  ck_assert(rows[7].fixed && !rows[6].fixed);
  ck_assert_ptr_null(rows[8].name);
}
END_TEST

/* Facts that fit. */
static void note_facts(void) {
  const double price = 2.5, size = 40, mix[] = {1, 2, -3, 4, 5}, sides[] = {3, 4};
  ck_ok(mica__run_note(run, "tones", (const char *const[]){"dark", "light"}, 2));
  ck_ok(mica__run_note_numbers(run, "price", &price, 1));
  ck_ok(mica__run_note_numbers(run, "size", &size, 1));
  ck_ok(mica__run_note_numbers(run, "mix", mix, 5));
  ck_ok(mica__run_note_numbers(run, "sides", sides, 2));
}

/* The first failure of the list's checks. */
static mica_status check(bool all) {
  mica_status status = mica__facts_check_whole(run, &mica__paint_fact_list);
  for (size_t i = 0; status == MICA_OK && i < mica__paint_fact_list.count; i++)
    status = mica__fact_check(run, &mica__paint_fact_list.rows[i], all);
  return status;
}

START_TEST(facts_are_read_by_kind) {
  mica__paint_facts f;
  mica__facts_read(run, &mica__paint_fact_list, &f);
  ck_assert(!f.tones.list && !f.tones.count && !f.mix.list && !f.mix.count);
  ck_assert_double_eq(f.price, 0);
  ck_assert_str_eq(f.maker, "");
  note_facts();
  ck_ok(mica__run_note_text(run, "maker", "us"));
  mica__facts_read(run, &mica__paint_fact_list, &f);
  ck_assert_uint_eq(f.tones.count, 2);
  ck_assert_str_eq(f.tones.list[1], "light");
  ck_assert_str_eq(f.maker, "us");
  ck_assert_double_eq(f.price, 2.5);
  ck_assert_uint_eq(f.mix.count, 5);
  ck_assert_double_eq(f.mix.list[2], -3);
}
END_TEST

START_TEST(facts_that_fit_pass) {
  note_facts();
  ck_ok(check(true));
}
END_TEST

/* One fact is replaced by numbers, or by a text if `count` is 0. */
static const struct {
  const char *name;
  size_t count;
  double numbers[3];
  const char *sentence;
} wrong[] = {
    {"tones", 2, {1, 2}, "\"tones\" must hold texts"},
    {"price", 0, {0}, "\"price\" must hold numbers"},
    {"price", 2, {1, 2}, "\"price\" holds 2 values, but must hold 1"},
    {"price", 1, {0}, "\"price\" holds 0"},
    {"price", 1, {1e300}, "\"price\" holds 1e+300"},
    {"price", 1, {NAN}, "\"price\" holds"},
    {"size", 1, {0.5}, "\"size\" holds 0.5"},
    {"size", 1, {101}, "\"size\" holds 101"},
    {"size", 1, {-1}, "\"size\" holds -1"},
    {"mix", 3, {1, 2, 3}, "\"mix\" holds 3 values, but must hold 5"},
    {"sides", 1, {1}, "\"sides\" holds 1 values, but must hold 2"},
    {"sides", 2, {1, 0}, "\"sides\" holds 0"},
    {"maker", 1, {1}, "\"maker\" must hold texts"},
};

START_TEST(facts_that_do_not_fit_are_named) {
  note_facts();
  if (wrong[_i].count)
    ck_ok(mica__run_note_numbers(run, wrong[_i].name, wrong[_i].numbers, wrong[_i].count));
  else
    ck_ok(mica__run_note_text(run, wrong[_i].name, "a"));
  ck_assert_int_eq(check(true), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), wrong[_i].sentence) != NULL, "%s", mica_error_message());
}
END_TEST

START_TEST(needed_facts_may_lack_in_old_runs_alone) {
  ck_ok(check(false));
  ck_assert_int_eq(check(true), MICA_E_FORMAT);
  ck_assert_str_eq(mica_error_message(), "\"tones\" is missing");
}
END_TEST

TESTS(ANYWHERE, make_run, drop_run, settings_are_read_by_kind, a_list_is_a_table_of_rows, facts_are_read_by_kind,
      facts_that_fit_pass, LOOP(facts_that_do_not_fit_are_named, 0, sizeof wrong / sizeof *wrong),
      needed_facts_may_lack_in_old_runs_alone)
