/* What drivers for CPUs are told by the environment. */
#define _GNU_SOURCE /* sched_getaffinity; NOLINT(bugprone-reserved-identifier): the system's own switch */
#include "runtime/device.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

size_t mica__usable_cores(void) {
#ifdef CPU_COUNT
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return (size_t)CPU_COUNT(&allowed);
#endif
  return 1;
}

void mica_device_prepare_drivers(void) {
  if ((long)mica__usable_cores() == sysconf(_SC_NPROCESSORS_ONLN)) setenv("POCL_AFFINITY", "1", 0);
  setenv("POCL_WORK_GROUP_SPECIALIZATION", "0", 0);
}
