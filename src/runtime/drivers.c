/* What drivers for CPUs are told by the environment. */
#define _GNU_SOURCE /* sched_getaffinity; NOLINT(bugprone-reserved-identifier): the system's own switch */
#include <mica/device.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* Whether the process may run on every core that there is. */
static bool has_all_cores(void) {
#ifdef CPU_COUNT
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
         (long)CPU_COUNT(&allowed) == sysconf(_SC_NPROCESSORS_ONLN);
#else
  return false;
#endif
}

void mica_device_prepare_drivers(void) {
  if (has_all_cores()) setenv("POCL_AFFINITY", "1", 0);
  setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 0);
}
