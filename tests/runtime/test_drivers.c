/* labels: null
 *
 * What drivers are told: threads are bound to cores where the process may use them all; nothing that somebody has said
 * otherwise. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "support/check_main.h"

#include <mica/device.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

START_TEST(what_is_said_already_stays) {
  setenv("POCL_AFFINITY", "0", 1);
  setenv("POCL_WORK_GROUP_SPECIALIZATION", "1", 1);
  mica_device_prepare_drivers();
  ck_assert_str_eq(getenv("POCL_AFFINITY"), "0");
  ck_assert_str_eq(getenv("POCL_WORK_GROUP_SPECIALIZATION"), "1");
}
END_TEST

START_TEST(kernels_are_compiled_once) {
  unsetenv("POCL_WORK_GROUP_SPECIALIZATION");
  mica_device_prepare_drivers();
  ck_assert_str_eq(getenv("POCL_WORK_GROUP_SPECIALIZATION"), "0");
}
END_TEST

#ifdef CPU_COUNT
static void allow_only(cpu_set_t set) { ck_assert_int_eq(sched_setaffinity(0, sizeof set, &set), 0); }

START_TEST(all_cores_are_asked_for_and_some_are_not) {
  cpu_set_t before, one;
  ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
  bool all = CPU_COUNT(&before) == sysconf(_SC_NPROCESSORS_ONLN);
  unsetenv("POCL_AFFINITY");
  mica_device_prepare_drivers();
  ck_assert_int_eq(getenv("POCL_AFFINITY") != NULL, all);
  if (CPU_COUNT(&before) == 1) return;
  CPU_ZERO(&one);
  for (size_t core = 0; CPU_COUNT(&one) == 0; core++)
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  allow_only(one);
  unsetenv("POCL_AFFINITY");
  mica_device_prepare_drivers();
  ck_assert_ptr_null(getenv("POCL_AFFINITY"));
  allow_only(before);
}
END_TEST
#else
#define all_cores_are_asked_for_and_some_are_not (&test_none)
#endif

TESTS(ANYWHERE, NULL, NULL, what_is_said_already_stays, kernels_are_compiled_once,
      all_cores_are_asked_for_and_some_are_not)
