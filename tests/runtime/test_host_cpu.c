/* labels: null
 *
 * Instructions that are tried in a child process before this one uses them. */
#define _GNU_SOURCE /* __WALL; NOLINT(bugprone-reserved-identifier): the system's own switch */
#include "runtime/host_cpu.h"

#include "runtime/device.h"
#include "support/check_main.h"

#if defined __x86_64__ && defined __linux__
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t noticed;
static volatile int touched;

static void notice(int number) { noticed = number; }

/* A handler that would go on after a fault, as programs have that look for instructions themselves. */
static const int handled[] = {SIGILL, SIGSEGV, SIGCHLD};
enum { HANDLED = sizeof handled / sizeof *handled };
static struct sigaction before[HANDLED];
static sigset_t mask;

static void keep(void) {
  for (size_t i = 0; i < HANDLED; i++) ck_assert_int_eq(sigaction(handled[i], NULL, &before[i]), 0);
  ck_assert_int_eq(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
}

static void restore(void) {
  for (size_t i = 0; i < HANDLED; i++) sigaction(handled[i], &before[i], NULL);
  sigprocmask(SIG_SETMASK, &mask, NULL);
}

static void install(void) {
  struct sigaction own = {.sa_handler = notice};
  for (size_t i = 0; i < HANDLED; i++) ck_assert_int_eq(sigaction(handled[i], &own, NULL), 0);
  noticed = 0;
}

static bool is_fine(void) {
  touched = 1;
  return true;
}
static bool is_wrong(void) { return false; }
static bool is_illegal(void) {
  __asm__ volatile("ud2");
  return true;
}
static bool reads_nothing(void) { return *(volatile char *)(uintptr_t)touched == 0; /* page 0 is never there */ }
static bool ends(void) { _exit(0); }

START_TEST(a_trial_says_what_came_of_it) {
  install();
  touched = 0;
  ck_assert(mica__host_try(is_fine));
  ck_assert_int_eq(touched, 0); /* memory is the child's own */
  ck_assert(!mica__host_try(is_wrong));
  ck_assert(!mica__host_try(is_illegal));
  ck_assert(!mica__host_try(reads_nothing));
  ck_assert(!mica__host_try(ends));
  ck_assert(mica__host_try(is_fine));
}
END_TEST

START_TEST(the_program_does_not_notice) {
  install();
  ck_assert(!mica__host_try(is_illegal));
  ck_assert(mica__host_try(is_fine));
  ck_assert_int_eq(noticed, 0);
  ck_assert_int_eq(waitpid(-1, NULL, __WALL), -1);
  ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* A child of the program's that has ended before is the program's to wait for. */
START_TEST(other_children_are_left) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) _exit(7);
  ck_assert(mica__host_try(is_fine));
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

/* Blocked signals must not keep a child alive. */
START_TEST(blocked_signals_kill) {
  sigset_t all;
  sigfillset(&all);
  ck_assert_int_eq(sigprocmask(SIG_BLOCK, &all, NULL), 0);
  ck_assert(!mica__host_try(is_illegal));
  ck_assert(!mica__host_try(reads_nothing));
}
END_TEST

START_TEST(tiles_are_forbidden_by_the_environment) {
  mica_device_info device = {.device_class = MICA_DEVICE_CLASS_CPU};
  strcpy(device.platform, MICA__POCL);
  setenv("MICA_AMX", "0", 1);
  ck_assert(!mica__host_has_tiles(&device));
  unsetenv("MICA_AMX");
  ck_assert(!mica__host_has_tiles(&device)); /* looked at once */
}
END_TEST

/* PoCL 6.0 ends the process on inline assembly. */
START_TEST(a_compiler_that_takes_no_assembly_gets_none) {
  mica_device_info device = {.platform = MICA__POCL, .device_class = MICA_DEVICE_CLASS_CPU, .driver = "6.0+debian"},
                   older = device;
  strcpy(older.driver, "3.1+debian");
  mica__host_assume_tiles(true);
  ck_assert(mica__host_has_tiles(&older));
  ck_assert(!mica__host_has_tiles(&device));
  ck_assert_int_eq(mica__host_has_vnni(&older), __builtin_cpu_supports("avx512vnni") != 0);
  ck_assert_int_eq(mica__host_has_avx2(&older), __builtin_cpu_supports("avx2") != 0);
  ck_assert_int_eq(mica__host_has_avx512bw(&older), __builtin_cpu_supports("avx512bw") != 0);
  ck_assert(!mica__host_has_avx_vnni(&device) && !mica__host_has_vnni(&device) && !mica__host_has_avx2(&device) &&
            !mica__host_has_avx512bw(&device));
  mica__host_assume_tiles(false);
}
END_TEST

/* The flags that the system lists are the processor's own. */
static bool lists(const char *flag) {
  static char line[1 << 14];
  bool found = false;
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file && !found && fgets(line, sizeof line, file)) found = !strncmp(line, "flags", 5) && strstr(line, flag);
  if (file) fclose(file);
  return found;
}

/* An assembler before LLVM 12 does not know it. */
START_TEST(avx_vnni_needs_the_processor_and_the_assembler) {
  mica_device_info device = {.platform = MICA__POCL, .device_class = MICA_DEVICE_CLASS_CPU};
  static const struct {
    const char *driver, *version;
    bool knows;
  } drivers[] = {
      {"1.8", "OpenCL 2.0 pocl 1.8  Linux, None+Asserts, RELOC, LLVM 11.1.0, SLEEF", false},
      {"1.8", "OpenCL 2.0 pocl 1.8  Linux, None+Asserts, RELOC, LLVM 12.0.1, SLEEF", true},
      {"3.1+debian", "OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 14.0.6, SLEEF", true},
      {"3.1", "OpenCL 3.0 PoCL 3.1  Linux, LLVM 9.0.1", false},
      {"2.1", "", false},
      {"3.1", "", true},
      {"6.0", "OpenCL 3.0 PoCL 6.0+debian  Linux, None+Asserts, RELOC, SPIR-V, LLVM 18.1.8, SLEEF", false},
      {"7.0", "", true},
  };
  const bool there = lists(" avx_vnni");
  for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
    strcpy(device.driver, drivers[i].driver);
    strcpy(device.platform_version, drivers[i].version);
    ck_assert_msg(mica__host_has_avx_vnni(&device) == (there && drivers[i].knows), "%s, %s", drivers[i].driver,
                  drivers[i].version);
  }
  strcpy(device.driver, "3.1");
  device.device_class = MICA_DEVICE_CLASS_GPU;
  ck_assert(!mica__host_has_avx_vnni(&device));
}
END_TEST

TEST_GROUPS(ANYWHERE, ONCE(keep, restore, a_trial_says_what_came_of_it, the_program_does_not_notice,
                           other_children_are_left, blocked_signals_kill, tiles_are_forbidden_by_the_environment,
                           a_compiler_that_takes_no_assembly_gets_none, avx_vnni_needs_the_processor_and_the_assembler))
#else
SKIPS("trials are made on Linux of 64-bit x86")
#endif
