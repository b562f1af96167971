/* bench/device.h: devices as their data sheets have them, and as OpenCL would describe them, for plans and predictions
 * where there is none. */
#ifndef MICA_TESTS_BENCH_DEVICE_H
#define MICA_TESTS_BENCH_DEVICE_H

#include <mica/device.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_device {
  const char *name;
  double flops, bytes, start; /* f32 and memory a second; seconds of a launch */
  double host;                /* bytes a second between device and host, where sums are made; 0: the same memory */
  double clock;               /* where its like was measured (2026-11-26: an H200): the share of flops that is left of
                               * the clock when all units multiply; 0: kernels that multiply are modelled only */
  /* Multiply-adds of 16 bits on matrix units, twice those of tf32, as flops a second; 0: none is known. reached: the
   * shares, of 16 bits and of tf32, that products of 128 x 128 keep. */
  double matrix, reached[2];
  /* What OpenCL would say; vendor NULL for devices that nothing is planned for. */
  const char *vendor, *model, *extensions;
  uint32_t vendor_id, units, megahertz, capability; /* compute capability as 80, of NVIDIA's */
  size_t local, group;
  size_t subgroups[2]; /* sizes that may be demanded, of Intel's */
} bench_device;

/* The shares of the peaks that kernels of large layers reach, where they were measured or read. */
#define BENCH_FLOPS_SHARE 0.7
#define BENCH_BYTES_SHARE 0.8

/* The device of a name; NULL for none. */
const bench_device *bench_device_find(const char *name);
/* The names of those that are planned for, or of all, "a100, h100". */
const char *bench_device_names(bool planned);

/* A launch as OpenCL got it. */
typedef struct bench_launch {
  char name[64];
  char options[768];
  size_t groups, threads; /* of a group */
  int32_t ints[24][8];    /* arguments, as ints (int8 all of them); arguments of other sizes are 0 */
} bench_launch;

/* Seconds of a launch on the device, whose info an imagined engine has: of tiles by the library's own model
 * (ops/select/tile.h), with what each kernel reached of it where that was measured; of all others the longer of bytes
 * and arithmetic. */
double bench_launch_seconds(const bench_device *device, const mica_device_info *info, const bench_launch *launch,
                            double flops, double bytes);

/* Writes the programs of generated kernels that an imagined engine has built, as kernels of a launch that is not
 * split; false where it could not. */
bool bench_device_write_sources(const mica_device_info *info, const char *path);

/* Lets engines that are created from now on find this device, which does nothing, in place of what there is; NULL: what
 * there is. Not thread-safe. */
void bench_device_imagine(const bench_device *device);
/* Forgets the launches so far; after it they are kept. */
void bench_launches_begin(void);
/* All since then; *list belongs to this file. */
size_t bench_launches(const bench_launch **list);

#endif
