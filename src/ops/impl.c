#include "ops/impl.h"

#include "base/error.h"

const mica__impl *mica__impl_choose(const mica__impl *const *list, const void *problem,
                                    const mica_device_info *device) {
  for (;; list++) {
    const char *reason = list[1] ? (*list)->decline(problem, device) : NULL;
    if (!reason) return *list;
    mica__log(MICA_LOG_DEBUG, "%s declines: %s", (*list)->name, reason);
  }
}
