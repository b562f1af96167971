#define _GNU_SOURCE /* for syscall, pipe2; NOLINT(bugprone-reserved-identifier): the system's own switch */
#include "runtime/host_cpu.h"

#include "runtime/device.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined __x86_64__ && defined __linux__
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

/* True if the device is this processor. */
static bool is_host(const mica_device_info *device) {
  return strstr(device->platform, MICA__POCL) && device->device_class == MICA_DEVICE_CLASS_CPU;
}

/* True if kernels on the device may contain inline assembly for this processor. PoCL 6.0 (Debian 13) ends the process
 * on any inline assembly, even a nop: an assertion in one of its compiler passes fails ("cast<Ty>() argument of
 * incompatible type!"). */
static bool takes_assembly(const mica_device_info *device) {
  return is_host(device) && strncmp(device->driver, "6.0", 3) != 0;
}

mica__host_vectors mica__host_vectors_of(const mica_device_info *device) {
  if (!is_host(device) || !strstr(device->name, "i686")) return MICA__VECTORS_KNOWN;
#if defined __i386__
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return MICA__VECTORS_KNOWN;
  return __builtin_cpu_supports("avx512f") ? MICA__VECTORS_AVX512 : MICA__VECTORS_AVX2;
#else
  return MICA__VECTORS_KNOWN;
#endif
}

#if defined __x86_64__
#define HAS(device, feature) (takes_assembly(device) && __builtin_cpu_supports(feature))
#else
#define HAS(device, feature) (takes_assembly(device) && false)
#endif
bool mica__host_has_vnni(const mica_device_info *device) { return HAS(device, "avx512vnni"); }
bool mica__host_has_avx2(const mica_device_info *device) { return HAS(device, "avx2"); }
bool mica__host_has_avx512bw(const mica_device_info *device) { return HAS(device, "avx512bw"); }

#if defined __x86_64__ && defined __linux__
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_TILE_DATA 18
/* Bits of edx in leaf 7 of CPUID. */
#define AMX_BF16 (1u << 22)
#define AMX_TILE (1u << 24)
#define AMX_INT8 (1u << 25)
#define OSXSAVE (1u << 27) /* bit of ecx in leaf 1 */
/* Seconds after which a child counts as failed. */
#define PATIENCE 10

/* Runs in the child. Makes system calls only, because other threads may hold locks of the program's libraries. */
static void try_and_end(bool (*trial)(void), int answer) {
  static const int deadly[] = {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGALRM};
  struct sigaction usual = {.sa_handler = SIG_DFL};
  sigset_t all;
  prctl(PR_SET_DUMPABLE, 0);
  for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) sigaction(deadly[i], &usual, NULL);
  sigfillset(&all);
  for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) sigdelset(&all, deadly[i]);
  sigprocmask(SIG_SETMASK, &all, NULL);
  alarm(PATIENCE);
  const bool good = trial() && write(answer, "1", 1) == 1;
  /* The library must never end its host process; this ends only the child. */
  for (;;) syscall(SYS_exit_group, !good);
}

/* Makes the child with no exit signal. So the program gets no SIGCHLD when the child ends, and does not reap it by
 * waiting for any child. */
bool mica__host_try(bool (*trial)(void)) {
  int ends[2];
  char answer = 0;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  const pid_t child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
  if (child == 0) try_and_end(trial, ends[1]);
  while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR) continue;
  /* Reads one byte, and does not wait for the end of the file: a process that another thread forks may keep the pipe's
   * other end open. */
  const bool good = child > 0 && read(ends[0], &answer, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return good;
}

static bool ask_for_permission(void) { return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_TILE_DATA) == 0; }

enum { SIDE = 16, WORDS = 16 };

/* Computes tile 0 = tile 1 . tile 2, products of bf16 or of signed bytes. Each tile has 16 rows of 64 bytes. The
 * instructions are written as bytes, because older assemblers do not know them (cl/common/cpu/tiles.clh). */
static void multiply(bool bf16, const uint32_t *a, const uint32_t *b, uint32_t *sums) {
  uint8_t config[64] __attribute__((aligned(64))) = {1};
  for (int t = 0; t < 3; t++) {
    config[16 + 2 * t] = 4 * WORDS;
    config[48 + t] = SIDE;
  }
  const uint64_t stride = 4 * WORDS;
  __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x00" ::"a"(config) : "memory");               /* ldtilecfg */
  __asm__ volatile(".byte 0xc4, 0xe2, 0x7b, 0x49, 0xc0" ::: "memory");                           /* tilezero 0 */
  __asm__ volatile(".byte 0xc4, 0xe2, 0x7b, 0x4b, 0x0c, 0x10" ::"a"(a), "d"(stride) : "memory"); /* tileloadd 1 */
  __asm__ volatile(".byte 0xc4, 0xe2, 0x7b, 0x4b, 0x14, 0x10" ::"a"(b), "d"(stride) : "memory"); /* tileloadd 2 */
  if (bf16)
    __asm__ volatile(".byte 0xc4, 0xe2, 0x6a, 0x5c, 0xc1" ::: "memory"); /* tdpbf16ps 0, 1, 2 */
  else
    __asm__ volatile(".byte 0xc4, 0xe2, 0x6b, 0x5e, 0xc1" ::: "memory"); /* tdpbssd 0, 1, 2 */
  __asm__ volatile(".byte 0xc4, 0xe2, 0x7a, 0x4b, 0x04, 0x10" ::"a"(sums), "d"(stride) : "memory"); /* tilestored 0 */
  __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0" ::: "memory");                              /* tilerelease */
}

/* The value of element d of word w in row or column number `at`: a small whole number, so that sums have no rounding
 * error. */
static int number(int at, int w, int d) { return (5 * at + 3 * w + 7 * d) % 15 - 7; }

static uint32_t word_of(bool bf16, int at, int w) {
  uint32_t word = 0;
  for (int d = 0; d < (bf16 ? 2 : 4); d++) {
    const float value = (float)number(at, w, d);
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    word |= bf16 ? bits >> 16 << 16 * d : (uint32_t)(uint8_t)number(at, w, d) << 8 * d;
  }
  return word;
}

static bool multiplies(bool bf16) {
  uint32_t a[SIDE][WORDS], b[WORDS][SIDE], sums[SIDE][SIDE];
  for (int i = 0; i < SIDE; i++)
    for (int w = 0; w < WORDS; w++) {
      a[i][w] = word_of(bf16, i, w);
      b[w][i] = word_of(bf16, SIDE + i, w);
    }
  multiply(bf16, a[0], b[0], sums[0]);
  for (int i = 0; i < SIDE; i++)
    for (int j = 0; j < SIDE; j++) {
      int want = 0;
      float as_float = 0;
      for (int w = 0; w < WORDS; w++)
        for (int d = 0; d < (bf16 ? 2 : 4); d++) want += number(i, w, d) * number(SIDE + j, w, d);
      memcpy(&as_float, &sums[i][j], sizeof as_float);
      if (bf16 ? as_float != (float)want : (int32_t)sums[i][j] != want) return false;
    }
  return true;
}

static bool try_tiles(void) { return ask_for_permission() && multiplies(true) && multiplies(false); }

/* True if the processor reports at least eight tiles of 16 rows of 64 bytes, and the operating system saves the tiles
 * when it switches threads. */
static bool says_tiles(void) {
  const unsigned wanted = AMX_BF16 | AMX_TILE | AMX_INT8;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0, low = 0, high = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & OSXSAVE)) return false;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & wanted) != wanted) return false;
  /* Palette 1: bytes per row in the lower half of ebx, tiles in its upper half, rows in the lower half of ecx. */
  if (!__get_cpuid_count(0x1d, 1, &eax, &ebx, &ecx, &edx)) return false;
  if ((ebx & 0xffff) < 64 || ebx >> 16 < 8 || (ecx & 0xffff) < 16) return false;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low >> 17 & 3) == 3;
}

/* Adds to each lane of `sums` the four products of its unsigned and its signed bytes, by vpdpbusd as AVX-VNNI
 * encodes it. */
static void add_products(uint32_t sums[8], const uint32_t *bytes, const uint32_t *signed_bytes) {
  __asm__ volatile("vmovdqu (%0), %%ymm0\n\t"
                   "vmovdqu (%1), %%ymm1\n\t"
                   "vmovdqu (%2), %%ymm2\n\t"
                   ".byte 0xc4, 0xe2, 0x75, 0x50, 0xc2\n\t" /* {vex} vpdpbusd ymm0, ymm1, ymm2 */
                   "vmovdqu %%ymm0, (%0)\n\t"
                   "vzeroupper"
                   :
                   : "r"(sums), "r"(bytes), "r"(signed_bytes)
                   : "memory", "xmm0", "xmm1", "xmm2");
}

static bool try_avx_vnni(void) {
  uint32_t sums[8], bytes[8], signed_bytes[8];
  for (int i = 0; i < 8; i++) {
    sums[i] = 1000 + (uint32_t)i;
    bytes[i] = 0x01020300 + 0xf8 + (uint32_t)i;
    signed_bytes[i] = 0x05ff8000 + (uint32_t)i;
  }
  add_products(sums, bytes, signed_bytes);
  for (int i = 0; i < 8; i++)
    if ((int32_t)sums[i] != 1000 + i + (0xf8 + i) * i + 3 * -128 + 2 * -1 + 1 * 5) return false;
  return true;
}

/* True if the processor reports AVX-VNNI, and a child process multiplies with it correctly. The child is needed because
 * a hypervisor may report what its processor cannot do. */
static bool ask_for_avx_vnni(void) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1 &&
         mica__host_try(try_avx_vnni);
}

/* True if tiles exist, a child multiplies them correctly, and this process gets permission to use them. The child is
 * needed because a hypervisor may report what its processor cannot do; the child's permission holds only for the
 * child. */
static bool ask_for_tiles(void) { return says_tiles() && mica__host_try(try_tiles) && ask_for_permission(); }
#else
bool mica__host_try(bool (*trial)(void)) {
  (void)trial;
  return false;
}
static bool ask_for_tiles(void) { return false; }
static bool ask_for_avx_vnni(void) { return false; }
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool tiles, assumed;

static void look(void) {
  const char *wanted = getenv("MICA_AMX");
  tiles = !(wanted && strcmp(wanted, "0") == 0) && ask_for_tiles();
}

static pthread_once_t avx_vnni_once = PTHREAD_ONCE_INIT;
static bool avx_vnni;

static void look_for_avx_vnni(void) { avx_vnni = ask_for_avx_vnni(); }

/* True if PoCL's assembler knows AVX-VNNI. LLVM knows it from version 12 on; an older LLVM may end the process. The
 * platform's version names its LLVM ("PoCL 3.1+debian Linux, RELOC, LLVM 14.0.6, ..."). If it does not, PoCL from
 * version 3.0 on has LLVM 12 or newer. */
static bool assembles_avx_vnni(const mica_device_info *device) {
  const char *llvm = strstr(device->platform_version, "LLVM ");
  return llvm ? atoi(llvm + strlen("LLVM ")) >= 12 : atoi(device->driver) >= 3;
}

bool mica__host_has_avx_vnni(const mica_device_info *device) {
  if (!takes_assembly(device) || !assembles_avx_vnni(device)) return false;
  pthread_once(&avx_vnni_once, look_for_avx_vnni);
  return avx_vnni;
}

bool mica__host_has_tiles(const mica_device_info *device) {
  if (!takes_assembly(device)) return false;
  pthread_once(&once, look);
  return tiles || assumed;
}

void mica__host_assume_tiles(bool there) { assumed = there; }
