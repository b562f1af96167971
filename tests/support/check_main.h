/* tests/support/check_main.h: the main function of every test program.
 *
 *   build/bin/tests/test_x          runs all cases
 *   build/bin/tests/test_x CASE     runs the case of that name
 *   build/bin/tests/test_x --shard 2/4    runs the second of four parts, where the program divides itself
 *   build/bin/tests/test_x --sample 2/4   runs the second of each four cases
 *   build/bin/tests/test_x --list         prints names of cases, a line each, where the program defines test_list
 *
 * Exit status: 0 all passed, 1 a test failed, 77 skipped. Each failing case ends in a line "reproduce: PROGRAM CASE".
 * Tests run in the program's own process, which is fast and lets a debugger in; CK_FORK=yes gives each one its own. */
#ifndef MICA_TESTS_SUPPORT_CHECK_MAIN_H
#define MICA_TESTS_SUPPORT_CHECK_MAIN_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every test program defines it: its cases, or what test_skip returned. */
Suite *test_suite(void);

/* Prints the names of cases for --list; most programs have none. */
void test_list(void) __attribute__((weak));

/* Says why the program cannot run here, such as "no device". Returns NULL, to be returned from test_suite. */
Suite *test_skip(const char *reason);

/* True when the index-th of a program's many cases belongs to the part that --shard names; without --shard all do. */
bool test_in_shard(size_t index);

/* test_in_shard for cases of which neighbours have kernels in common: a shard is a range of them, so that two shards
 * side by side do not build the same kernels. With --sample it is every so-many-th case, as of test_in_shard. */
bool test_in_range(size_t index, size_t count);

/* True under ThreadSanitizer, which is ten times slower and looks for races alone: fewer sizes of the same will do. */
#ifdef __SANITIZE_THREAD__
#define TEST_RACES_ALONE true
#else
#define TEST_RACES_ALONE false
#endif

/* Adds to the program's count of kernel launches, beside those of test_engine. The test device.ran fails when all
 * programs' counts are 0. */
void test_count_launches(uint64_t launches);

#endif
