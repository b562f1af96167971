/* Preloaded by tests/gpu/compilers.sh: keeps what the driver's compiler makes. Every program that is built with success
 * leaves N.log, which begins with the line "kernels NAME;NAME...", and N.bin, its binary (PTX of NVIDIA's driver), in
 * the folder KEEP_BUILDS. KEEP_OPTIONS, if set, is added to the options of builds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROGRAM_DEVICES 0x1163
#define PROGRAM_BINARY_SIZES 0x1165
#define PROGRAM_BINARIES 0x1166
#define PROGRAM_KERNEL_NAMES 0x1168
#define PROGRAM_BUILD_LOG 0x1183

typedef int build(void *, unsigned, void *const *, const char *, void *, void *);
typedef int program_info(void *, unsigned, size_t, void *, size_t *);
typedef int build_info(void *, void *, unsigned, size_t, void *, size_t *);

static atomic_int builds;

static void write_file(const char *folder, int number, const char *ending, const char *first, const void *data,
                       size_t size) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%ld-%d.%s", folder, (long)getpid(), number, ending) >= (int)sizeof path) return;
  FILE *file = fopen(path, "wb");
  if (!file) return;
  if (first) fprintf(file, "kernels %s\n", first);
  if (size) fwrite(data, 1, size, file);
  fclose(file);
}

/* The program is on one device, as Mica's all are. */
static void keep(void *program, const char *folder) {
  program_info *info = (program_info *)dlsym(RTLD_NEXT, "clGetProgramInfo");
  build_info *log_of = (build_info *)dlsym(RTLD_NEXT, "clGetProgramBuildInfo");
  char names[4096] = "", *log = NULL;
  unsigned char *binary = NULL;
  void *device = NULL;
  size_t size = 0;
  const int number = atomic_fetch_add(&builds, 1);
  info(program, PROGRAM_KERNEL_NAMES, sizeof names - 1, names, NULL);
  if (info(program, PROGRAM_DEVICES, sizeof device, &device, NULL)) return;
  if (!log_of(program, device, PROGRAM_BUILD_LOG, 0, NULL, &size) && (log = calloc(1, size + 1)))
    log_of(program, device, PROGRAM_BUILD_LOG, size, log, NULL);
  write_file(folder, number, "log", names, log, log && size ? size - 1 : 0);
  if (!info(program, PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) && (binary = calloc(1, size + 1)) &&
      !info(program, PROGRAM_BINARIES, sizeof binary, &binary, NULL))
    write_file(folder, number, "bin", NULL, binary, size);
  free(log);
  free(binary);
}

int clBuildProgram(void *program, unsigned count, void *const *devices, const char *options, void *notify, void *user) {
  const char *folder = getenv("KEEP_BUILDS"), *more = getenv("KEEP_OPTIONS");
  char all[4096];
  if (snprintf(all, sizeof all, "%s %s", options ? options : "", more ? more : "") >= (int)sizeof all) more = NULL;
  const int status =
      ((build *)dlsym(RTLD_NEXT, "clBuildProgram"))(program, count, devices, more ? all : options, notify, user);
  if (!status && folder && !notify) keep(program, folder);
  return status;
}
