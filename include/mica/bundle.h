/* mica/bundle.h: compiled kernels of one device in a file, for devices without a compiler and for quick first starts.
 *
 *   mica_bundle_write(engine, "phone.bundle");                        on a machine with a compiler, after the work
 *   config.bundle = "phone.bundle"; mica_engine_create(&config, &e);  on one without
 *
 * With the environment variable MICA_BUNDLE_OUT=FILE every engine, except on the null device, writes its bundle when it
 * is destroyed. So any program can make one unchanged.
 *
 * A bundle is for one version of Mica, one device and one version of its driver. Engines refuse a bundle if one of the
 * three differs; only the null device ignores bundles. A bundle holds machine code, so use it only if you would run a
 * program from its author.
 *
 * Threads: as in mica/device.h. */
#ifndef MICA_BUNDLE_H
#define MICA_BUNDLE_H

#include <mica/device.h>

MICA_EXPERIMENTAL

MICA_BEGIN_DECLS

/* Writes the kernels that this engine has run to a file, with what Mica measured of the device. The engine needs a
 * cache directory. All its work must be finished. If `path` is a bundle for this device, its other kernels stay in it,
 * so that several programs can add theirs. MICA_E_STATE: no cache directory; a kernel is in neither the directory nor
 * the engine's own bundle; no kernel has run; the null device; or `path` is a bundle for another device, driver or
 * version, or one that other users can write. MICA_E_FORMAT: `path` is a file but not a bundle, or damaged. */
MICA_API MICA_CHECKED mica_status mica_bundle_write(mica_engine *engine, const char *path);

typedef struct mica_bundle_info {
  char version[32]; /* the version of Mica */
  char platform[MICA_DEVICE_TEXT], platform_version[MICA_DEVICE_TEXT];
  char device[MICA_DEVICE_TEXT], driver[MICA_DEVICE_TEXT];
  uint64_t programs; /* a program has one or more kernels */
  uint64_t bytes;
} mica_bundle_info;

/* Says which device a bundle is for, and checks the file. Needs no device. MICA_E_FORMAT: not a bundle, or damaged.
 * MICA_E_STATE: another user could have written it. */
static inline MICA_CHECKED mica_status mica_bundle_describe(const char *path, mica_bundle_info *info);

/* The function that mica_bundle_describe calls. info_bytes is sizeof(mica_bundle_info) when the program was compiled;
 * see mica_device_list_sized. */
MICA_API MICA_CHECKED mica_status mica_bundle_describe_sized(const char *path, mica_bundle_info *info,
                                                             size_t info_bytes);
static inline mica_status mica_bundle_describe(const char *path, mica_bundle_info *info) {
  return mica_bundle_describe_sized(path, info, sizeof *info);
}

MICA_END_DECLS

#endif
