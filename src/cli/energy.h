/* cli/energy.h: the energy that a piece of work took, if the machine has a counter. */
#ifndef MICA_CLI_ENERGY_H
#define MICA_CLI_ENERGY_H

#include <mica/device.h>
#include <stdbool.h>
#include <stdint.h>

#define CLI_ENERGY_ZONES 8

/* Counters: RAPL's packages (Linux: /sys/class/powercap, readable by root), or NVIDIA's GPUs through NVML if the work
 * runs on one. Counters of a package wrap around; if that happens more than once (hours at full load), the energy is
 * too low. */
typedef struct cli_energy {
  int zones;
  bool nvml;
  char path[CLI_ENERGY_ZONES][96];
  uint64_t begin[CLI_ENERGY_ZONES], range[CLI_ENERGY_ZONES]; /* microjoules; NVML: millijoules */
} cli_energy;

/* device: the device that does the work. */
void cli_energy_begin(cli_energy *energy, const mica_device_info *device);
/* The joules since cli_energy_begin; false if there is no counter. */
bool cli_energy_end(const cli_energy *energy, double *joules);

#endif
