/* labels: null
 *
 * Dates and times: which texts are some, which have the form of one and are none, and how far apart they are. */
#include "data/table/date.h"
#include "support/check_main.h"

#include <string.h>

static mica__date_form form_of(const char *text, mica__moment *m) { return mica__date_parse(text, strlen(text), m); }

/* Seconds since 1970 as GNU date has them: date -u -d TEXT +%s. */
START_TEST(dates_are_moments) {
  static const struct {
    const char *text;
    long long seconds;
  } good[] = {{"1970-01-01", 0},
              {"2000-02-29", 951782400},
              {"2024/2/9", 1707436800},
              {"1969-12-31 23:59:59", -1},
              {"2024-10-27T02:30:00+02:00", 1729989000},
              {"2024-10-27T02:30:00+01:00", 1729992600},
              {"2024-10-27 01:30:00Z", 1729992600},
              {"2024-10-27 01:30 -0530", 1730012400},
              {"2024-10-27T01:30:00.000+05", 1729974600},
              {"2016-12-31 23:59:60", 1483228800},
              {"1600-03-01", -11670912000},
              {"2026-07", 1782864000}};
  mica__moment m;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    ck_assert_msg(form_of(good[i].text, &m) == MICA__DATE_GOOD, "%s", good[i].text);
    ck_assert_msg(mica__date_seconds(&m) == good[i].seconds, "%s: %lld", good[i].text,
                  (long long)mica__date_seconds(&m));
  }
}
END_TEST

START_TEST(impossible_dates_are_told_from_other_texts) {
  static const char *const impossible[] = {
      "2024-02-30", "2023-02-29", "1900-02-29", "2024-04-31",       "2024-13-01",       "2024-00-10",
      "2024-01-00", "2024-01-32", "2024/2/30",  "2024-01-01 24:00", "2024-01-01 23:60", "2024-01-01T10:00+19:00"};
  static const char *const others[] = {"",
                                       "2024",
                                       "2024-",
                                       "2024-13",
                                       "2024-01/01",
                                       "24-01-01",
                                       "2024-01-01x",
                                       "2024-001-01",
                                       "2024-01-01 1",
                                       "2024-01-01 10:0",
                                       "2024-01-01+02:00",
                                       "2024-01-01 10:00:00.5",
                                       "2024-01-01 10:00+2",
                                       "20240101"};
  mica__moment m;
  for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++)
    ck_assert_msg(form_of(impossible[i], &m) == MICA__DATE_IMPOSSIBLE, "%s", impossible[i]);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    ck_assert_msg(form_of(others[i], &m) == MICA__DATE_NONE, "%s", others[i]);
}
END_TEST

START_TEST(digits_are_days) {
  mica__moment m;
  ck_assert(mica__date_parse_digits("20011229", 8, &m));
  ck_assert_int_eq(mica__date_seconds(&m), 1009584000);
  ck_assert(!mica__date_parse_digits("20010229", 8, &m));
  ck_assert(!mica__date_parse_digits("2001122", 7, &m));
  ck_assert(!mica__date_parse_digits("200112290", 9, &m));
  ck_assert(!mica__date_parse_digits("99991229", 8, &m));
  ck_assert(!mica__date_parse_digits("2001-229", 8, &m));
}
END_TEST

/* Every day of 800 years comes back as itself. */
START_TEST(days_are_counted_without_gaps) {
  int64_t months, day, last = 0, last_day = 0;
  for (int64_t days = -146097; days < 146097; days++) {
    mica__date_of_days(days, &months, &day);
    ck_assert_int_eq(mica__date_days(months, day), days);
    ck_assert(day == last_day + 1 || days == -146097 || (day == 1 && months == last + 1));
    ck_assert(day >= 1 && day <= mica__date_month_length(months));
    last = months;
    last_day = day;
  }
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, dates_are_moments, impossible_dates_are_told_from_other_texts, digits_are_days,
      days_are_counted_without_gaps)
