/* cli/energy.h: the energy that a span of work took, where the machine has a counter. */
#ifndef MICA_CLI_ENERGY_H
#define MICA_CLI_ENERGY_H

#include <mica/device.h>
#include <stdbool.h>
#include <stdint.h>

#define CLI_ENERGY_ZONES 8

/* RAPL's packages (Linux: /sys/class/powercap, readable by root), or NVIDIA's GPUs through NVML where the work runs on
 * one. Counters of a package wrap; a span longer than one round (hours at full load) is measured short. */
typedef struct cli_energy {
  int zones;
  bool nvml;
  char path[CLI_ENERGY_ZONES][96];
  uint64_t begin[CLI_ENERGY_ZONES], range[CLI_ENERGY_ZONES]; /* microjoules; NVML: millijoules */
} cli_energy;

/* device: where the work runs. */
void cli_energy_begin(cli_energy *energy, const mica_device_info *device);
/* Joules since cli_energy_begin; false without a counter. */
bool cli_energy_end(const cli_energy *energy, double *joules);

#endif
