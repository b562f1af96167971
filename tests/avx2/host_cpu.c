/* A shared object to be preloaded (tests/avx2/run.sh), which hides what came after AVX2.
 *
 * PoCL asks LLVM for the host's processor: the object stands in for two functions of llvm::sys, under the names they
 * have in the library. Other libraries execute the instruction CPUID, as onnxruntime does: where the kernel can make it
 * fault, the handler answers without the later instructions. */
#define _GNU_SOURCE /* REG_RAX */
#include <cpuid.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* asm/prctl.h: with 0, CPUID faults in this thread. */
#define ARCH_SET_CPUID 0x1012

/* Bits of leaf 7: AVX-512 and its parts, and in ecx GFNI, VAES and VPCLMULQDQ, in edx AMX. All of the leaf's further
 * lists came after AVX2. */
#define LATER_EBX (1u << 16 | 1u << 17 | 1u << 21 | 1u << 26 | 1u << 27 | 1u << 28 | 1u << 30 | 1u << 31)
#define LATER_ECX (1u << 1 | 1u << 6 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 14)
#define LATER_EDX (1u << 2 | 1u << 3 | 1u << 8 | 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25)

static struct sigaction others; /* what the process does with its own faults */

static void answer_cpuid(int signal, siginfo_t *info, void *context) {
  greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *at = (const unsigned char *)r[REG_RIP];
  if (info->si_code != SI_KERNEL || at[0] != 0x0f || at[1] != 0xa2) {
    sigaction(signal, &others, NULL); /* the instruction faults again */
    return;
  }
  const unsigned leaf = (unsigned)r[REG_RAX], part = (unsigned)r[REG_RCX];
  unsigned a, b, c, d;
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 1);
  __cpuid_count(leaf, part, a, b, c, d);
  syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0);
  if (leaf == 7 && part == 0) b &= ~LATER_EBX, c &= ~LATER_ECX, d &= ~LATER_EDX;
  if (leaf == 7 && part > 0) a = b = c = d = 0;
  r[REG_RAX] = a, r[REG_RBX] = b, r[REG_RCX] = c, r[REG_RDX] = d;
  r[REG_RIP] += 2;
}

/* In a process that does not handle faults itself, as one with a sanitizer does. */
__attribute__((constructor)) static void hide_from_cpuid(void) {
  const struct sigaction mine = {.sa_sigaction = answer_cpuid, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
  if (sigaction(SIGSEGV, NULL, &others) != 0 || others.sa_handler != SIG_DFL) return;
  if (sigaction(SIGSEGV, &mine, NULL) == 0 && syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0) != 0)
    sigaction(SIGSEGV, &others, NULL);
}

/* llvm::StringRef. */
typedef struct string_ref {
  const char *data;
  size_t size;
} string_ref;

/* llvm::StringMap<bool>: a table of pointers, of which some are NULL and some a mark near the end of the address space.
 * A name follows its value. */
typedef struct entry {
  size_t length;
  bool value;
  char name[] __attribute__((aligned(8)));
} entry;
typedef struct string_map {
  entry **table;
  unsigned buckets, items, marks, item_size;
} string_map;
#define LOWEST_MARK (UINTPTR_MAX - 63)

string_ref host_name(void) __asm__("_ZN4llvm3sys14getHostCPUNameEv");
bool host_features(string_map *features) __asm__(
    "_ZN4llvm3sys18getHostCPUFeaturesERNS_9StringMapIbNS_15MallocAllocatorEEE");

string_ref host_name(void) { return (string_ref){"haswell", sizeof "haswell" - 1}; }

/* What came after AVX2, by the beginnings of their names. */
static bool is_later(const char *name) {
  static const char *const later[] = {"avx512", "avxvnni", "amx", "gfni", "vaes", "vpclmulqdq"};
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    if (!strncmp(name, later[i], strlen(later[i]))) return true;
  return false;
}

bool host_features(string_map *features) {
  typedef bool ask(string_map *);
  union {
    void *found;
    ask *call;
  } llvm = {0};
  /* PoCL has loaded it by then, where only PoCL sees it. */
  void *library = dlopen(LLVM_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
  if (library) llvm.found = dlsym(library, "_ZN4llvm3sys18getHostCPUFeaturesERNS_9StringMapIbNS_15MallocAllocatorEEE");
  if (!llvm.found || !llvm.call(features)) return false;
  for (unsigned i = 0; i < features->buckets; i++) {
    entry *e = features->table[i];
    if (e && (uintptr_t)e < LOWEST_MARK && is_later(e->name)) e->value = false;
  }
  return true;
}
