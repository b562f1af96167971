/* A shared object to be preloaded (tests/avx2/run.sh): PoCL asks LLVM for the host's processor, and is told of one with
 * AVX2 and without AVX-512. It stands in for two functions of llvm::sys, under the names they have in the library. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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
