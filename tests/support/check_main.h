/* tests/support/check_main.h: the main function of every test program.
 *
 *   build/bin/tests/test_x          runs all cases
 *   build/bin/tests/test_x CASE     runs the case of that name: of a START_TEST, or of a row of its BY_NAME
 *   build/bin/tests/test_x --shard 2/4    runs the second of four parts, where the program divides itself
 *   build/bin/tests/test_x --sample 2/4   runs the second of each four cases
 *   build/bin/tests/test_x --list         prints names of cases, one per line
 *
 * Exit status: 0 all passed, 1 a test failed, 77 skipped. Each failing case ends in a line "reproduce: PROGRAM CASE".
 * Tests run in the program's own process, which is fast and lets a debugger in; CK_FORK=yes gives each one its own. */
#ifndef MICA_TESTS_SUPPORT_CHECK_MAIN_H
#define MICA_TESTS_SUPPORT_CHECK_MAIN_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Check writes a record into a file at every check that holds, which some tests make millions of. Those that fail name
 * their own line. */
#define _mark_point(file, line) ((void)0)

/* Defines the program's tests, at the end of its file:
 *
 *   TESTS(DEVICE, setup, teardown, a_pool_is_shared, LOOP(every_size, 0, 8), blocks_come_back)
 *
 * The first argument says why the program cannot run here, such as "no device"; NULL (ANYWHERE): it can. BOTH checks
 * two such conditions. setup and teardown run before and after each test, and each round of a LOOP; NULL: nothing.
 *
 * If tests differ in these, they stand in groups: EACH, or ONCE, whose setup and teardown run once for all its tests.
 *
 *   TEST_GROUPS(ANYWHERE, EACH(setup, teardown, a, b), ONCE(NULL, files_remove, c, d)) */
#define TESTS(lacks, setup, teardown, ...) TEST_GROUPS(lacks, EACH(setup, teardown, __VA_ARGS__))
#define TEST_GROUPS(lacks, ...)                                                                                        \
  Suite *test_suite(void) {                                                                                            \
    const char *missing = test_is_listed() ? NULL : (lacks);                                                           \
    return test_groups(missing, (const test_group[]){__VA_ARGS__, {0}});                                               \
  }
/* A program that this build cannot run: why. */
#define SKIPS(reason) TESTS(reason, NULL, NULL, &test_none)
#define EACH(setup, teardown, ...)                                                                                     \
  {                                                                                                                    \
    setup, teardown, false, (const TTest *const[]) { __VA_ARGS__, NULL }                                               \
  }
#define ONCE(setup, teardown, ...)                                                                                     \
  {                                                                                                                    \
    setup, teardown, true, (const TTest *const[]) { __VA_ARGS__, NULL }                                                \
  }
/* The test with _i = first to end - 1. */
#define LOOP(test, first, end) test_loop(test, first, end, NULL)
/* The test with seeds _i = 1 to count, or MICA_TEST_FIRST to MICA_TEST_LAST. */
#define SEEDS(test, count) LOOP(test, test_seed("MICA_TEST_FIRST", 1), 1 + test_seed("MICA_TEST_LAST", count))
/* The test with _i = 0 to count - 1, in EACH alone: a case of its own, called name_of(_i). NULL: it is left out. */
#define BY_NAME(test, name_of, count) test_loop(test, 0, (int)(count), name_of)
/* The test, or none if the condition does not hold here. */
#define WHERE(condition, test) ((condition) ? (test) : &test_none)
/* The test, or none in a build without MICA_WITH_<feature>: IF(PNG, pictures_are_read). */
#define IF(feature, test) TEST_IF_BUILT(MICA_WITH_##feature, test, &test_none)

/* What a program may lack. */
#define ANYWHERE NULL
#define DEVICE test_lacks_device()
#define NEEDS(feature) TEST_IF_BUILT(MICA_WITH_##feature, NULL, "built without MICA_WITH_" #feature)
#define BOTH(a, b) ((a) ? (a) : (b))
const char *test_lacks_device(void);

/* The second argument if the first is a macro that stands for 1, else the third. */
#define TEST_IF_BUILT(feature, yes, no) TEST_IF_BUILT_(feature, yes, no)
#define TEST_IF_BUILT_(value, yes, no) TEST_SECOND(TEST_COMMA_##value yes, no, unused)
#define TEST_SECOND(...) TEST_SECOND_(__VA_ARGS__)
#define TEST_SECOND_(first, second, ...) second
#define TEST_COMMA_1 unused,

typedef struct test_group {
  SFun setup, teardown;
  bool once;
  const TTest *const *tests; /* ends with NULL */
} test_group;

Suite *test_groups(const char *lacks, const test_group *groups);
extern const TTest test_none;
const TTest *test_loop(const TTest *test, int first, int end, const char *(*name_of)(int i));
int test_seed(const char *variable, int otherwise);
bool test_is_listed(void);

/* TESTS and TEST_GROUPS define it. */
Suite *test_suite(void);

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

/* True under a sanitizer of addresses or threads, which looks for faults of the host's code. Another build compares
 * the results of kernels: fewer sizes of the same will do. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define TEST_FAULTS_ALONE true
#else
#define TEST_FAULTS_ALONE false
#endif

/* Adds to the program's count of kernel launches, beside those of test_engine. The test device.ran fails when all
 * programs' counts are 0. */
void test_count_launches(uint64_t launches);

#endif
