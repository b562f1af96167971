#define _GNU_SOURCE /* syscall; NOLINT(bugprone-reserved-identifier): the system's own switch */
#include "runtime/host_cpu.h"

#include "runtime/device.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined __x86_64__ && defined __linux__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/* The device is this processor, and its platform takes inline assembly. */
static bool is_host(const mica_device_info *device) {
  return strstr(device->platform, MICA__POCL) && device->device_class == MICA_DEVICE_CLASS_CPU;
}

bool mica__host_has_vnni(const mica_device_info *device) {
#if defined __x86_64__
  return is_host(device) && __builtin_cpu_supports("avx512vnni");
#else
  return is_host(device) && false;
#endif
}

#if defined __x86_64__ && defined __linux__
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_TILE_DATA 18
/* Bits of edx of leaf 7 of CPUID. */
#define AMX_BF16 (1u << 22)
#define AMX_TILE (1u << 24)
#define AMX_INT8 (1u << 25)
#define OSXSAVE (1u << 27) /* of ecx of leaf 1 */

/* True if the processor has tiles of 16 rows of 64 bytes, the system saves them, and this process may use them. */
static bool ask_for_tiles(void) {
  const unsigned wanted = AMX_BF16 | AMX_TILE | AMX_INT8;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0, low = 0, high = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & OSXSAVE)) return false;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & wanted) != wanted) return false;
  /* Palette 1: bytes a row in the lower half of ebx, rows in that of ecx. */
  if (!__get_cpuid_count(0x1d, 1, &eax, &ebx, &ecx, &edx) || (ebx & 0xffff) < 64 || (ecx & 0xffff) < 16) return false;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low >> 17 & 3) != 3) return false;
  return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_TILE_DATA) == 0;
}
#else
static bool ask_for_tiles(void) { return false; }
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool tiles, assumed;

static void look(void) {
  const char *wanted = getenv("MICA_AMX");
  tiles = !(wanted && strcmp(wanted, "0") == 0) && ask_for_tiles();
}

bool mica__host_has_tiles(const mica_device_info *device) {
  if (!is_host(device)) return false;
  pthread_once(&once, look);
  return tiles || assumed;
}

void mica__host_assume_tiles(bool there) { assumed = there; }
