/* labels: null
 *
 * A container's limit of CPU time counts as cores, in both versions of control groups. The folders are laid out as
 * Linux and container engines do. */
#include "runtime/drivers.h"
#include "runtime/quota.h"
#include "support/check_main.h"
#include "support/files.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct file {
  const char *name, *text;
} file;
typedef struct layout {
  const char *what, *group;
  file files[4];
  size_t cores;
} layout;

#define V1 "2:memory:/m\n1:cpu,cpuacct:/docker/abc\n0::/docker/abc\n"
static const layout layouts[] = {
    {"no control groups", NULL, {{0}}, SIZE_MAX},
    {"no limit, version 2", "0::/a.slice\n", {{"/a.slice/cpu.max", "max 100000\n"}}, SIZE_MAX},
    {"a limit, version 2", "0::/a.slice\n", {{"/a.slice/cpu.max", "300000 100000\n"}}, 3},
    {"a part of a core is dropped", "0::/\n", {{"/cpu.max", "250000 100000\n"}}, 2},
    {"less than a core is one", "0::/\n", {{"/cpu.max", "20000 100000\n"}}, 1},
    {"a short period", "0::/\n", {{"/cpu.max", "20000 5000\n"}}, 4},
    {"the groups above count",
     "0::/a/b/c\n",
     {{"/a/b/c/cpu.max", "max 100000\n"}, {"/a/b/cpu.max", "800000 100000\n"}, {"/a/cpu.max", "500000 100000\n"}},
     5},
    {"a name from outside", "0::/../../pod/x\n", {{"/cpu.max", "200000 100000\n"}}, 2},
    {"a limit, version 1",
     V1,
     {{"/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "400000\n"},
      {"/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n"}},
     4},
    {"version 1 in a container", V1, {{"/cpu/cpu.cfs_quota_us", "150000\n"}, {"/cpu/cpu.cfs_period_us", "50000\n"}}, 3},
    {"no limit, version 1",
     V1,
     {{"/cpu/docker/cpu.cfs_quota_us", "-1\n"}, {"/cpu/docker/cpu.cfs_period_us", "100000\n"}},
     SIZE_MAX},
    {"both versions",
     V1,
     {{"/unified/docker/abc/cpu.max", "200000 100000\n"},
      {"/cpu/cpu.cfs_quota_us", "700000\n"},
      {"/cpu/cpu.cfs_period_us", "100000\n"}},
     2},
    {"a quota without its period", V1, {{"/cpu/cpu.cfs_quota_us", "700000\n"}}, SIZE_MAX},
    {"another controller's line",
     "3:cpuset:/s\n2:cpuacct:/s\n",
     {{"/cpu/cpu.cfs_quota_us", "100000\n"}, {"/cpu/cpu.cfs_period_us", "100000\n"}},
     SIZE_MAX},
    {"damaged", "0\n:\n0::\n::\n1:cpu\n\n", {{"/cpu.max", "100000\n"}, {"/cpu/cpu.max", "x y\n"}}, SIZE_MAX},
    {"a period of zero", "0::/\n", {{"/cpu.max", "100000 0\n"}}, SIZE_MAX},
    {"a long number", "0::/\n", {{"/cpu.max", "99999999999999999999999 100000\n"}}, INT64_MAX / 100000},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

START_TEST(a_limit_is_so_many_cores) {
  const layout *l = &layouts[_i];
  char root[32], name[256];
  snprintf(root, sizeof root, "root%d", _i);
  snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
  if (l->group) files_write_text(name, l->group);
  for (const file *f = l->files; f < l->files + 4 && f->name; f++) {
    snprintf(name, sizeof name, "%s/sys/fs/cgroup%s", root, f->name);
    files_write_text(name, f->text);
  }
  const size_t cores = mica__quota_cores(files_path(root));
  ck_assert_msg(cores == l->cores, "%s: %zu cores, not %zu", l->what, cores, l->cores);
}
END_TEST

START_TEST(no_more_cores_are_used_than_granted) {
  const size_t usable = mica__usable_cores();
  ck_assert_uint_ge(usable, 1);
  ck_assert_uint_le(usable, mica__quota_cores(""));
}
END_TEST

TEST_GROUPS(ANYWHERE,
            ONCE(NULL, files_remove, LOOP(a_limit_is_so_many_cores, 0, LAYOUTS), no_more_cores_are_used_than_granted))
