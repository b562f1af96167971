/* ops/units_device.h: a GPU with matrix units for tests of choices: PoCL under an AMD GPU's name, whose driver takes
 * the unit's instructions for their emulation, counts programs and may spoil one. */
#ifndef MICA_TESTS_OPS_UNITS_DEVICE_H
#define MICA_TESTS_OPS_UNITS_DEVICE_H

#include "ops/amd_device.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A program is known by what its source has. spoil: becomes `with` there, of the same length; NULL: it stays right. */
typedef struct units_program {
  const char *has, *spoil, *with;
  int made;
} units_program;

static struct {
  mica__cl_api api, below;
  units_program *programs;
  size_t count;
} units;

static CL_API_ENTRY cl_program CL_API_CALL program_of(cl_context context, cl_uint count, const char **texts,
                                                      const size_t *sizes, cl_int *error) {
  char *copy = malloc(strlen(texts[0]) + 1), *at = NULL;
  (void)sizes; /* texts end in 0 */
  ck_assert_uint_eq(count, 1);
  ck_assert_ptr_nonnull(copy);
  strcpy(copy, texts[0]);
  for (size_t k = 0; k < units.count; k++) {
    units_program *program = &units.programs[k];
    if (!strstr(copy, program->has)) continue;
    program->made++;
    if (!program->spoil) continue;
    ck_assert_ptr_nonnull((at = strstr(copy, program->spoil)));
    memcpy(at, program->with, strlen(program->with));
  }
  const cl_program made = units.below.CreateProgramWithSource(context, 1, (const char **)&copy, NULL, error);
  free(copy);
  return made;
}

static CL_API_ENTRY cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id *devices,
                                             const char *options,
                                             void(CL_CALLBACK *done)(cl_program program, void *user), void *user) {
  static const char native[] = "-DMMA_NATIVE=1";
  char own[4096], driver[64] = "", *at = NULL;
  units.below.GetDeviceInfo(devices[0], CL_DRIVER_VERSION, sizeof driver, driver, NULL);
  /* PoCL 6.0 does not take every kernel without optimisation (support/limited_api.c). */
  const bool fast = atoi(driver) <= 3 || strstr(options, native);
  /* As the platform is called, PoCL's own macros are not there. */
  snprintf(own, sizeof own, "%s -DMICA_HAS_UNALIGNED_VECTORS -DMICA_HAS_HALF_VECTOR_BITS%s", options,
           fast ? " -cl-opt-disable" : "");
  ck_assert_uint_lt(strlen(own), sizeof own - 1);
  if ((at = strstr(own, native))) at[strlen(native) - 1] = '0';
  return units.below.BuildProgram(program, count, devices, own, done, user);
}

/* An engine on the device of that name. Verdicts on units are kept for the process, by the name. */
static mica_engine *units_open(const char *name, units_program *programs, size_t count) {
  mica_engine *engine = NULL;
  if (!units.below.GetDeviceInfo) units.below = *mica__cl_loader();
  units.api = units.below;
  units.api.GetPlatformInfo = amd_platform_info;
  units.api.GetDeviceInfo = amd_device_info;
  units.api.CreateProgramWithSource = program_of;
  units.api.BuildProgram = build;
  amd.below = &units.below;
  amd.name = name;
  units.programs = programs;
  units.count = count;
  mica__cl_install(&units.api);
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  return engine;
}

static void units_close(mica_engine *engine) {
  mica_engine_destroy(engine);
  mica__cl_install(NULL);
}

#endif
