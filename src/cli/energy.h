/* cli/energy.h: the energy that a piece of work took, if the machine has a counter. */
#ifndef MICA_CLI_ENERGY_H
#define MICA_CLI_ENERGY_H

#include <mica/device.h>
#include <stdbool.h>
#include <stdint.h>

#define CLI_ENERGY_ZONES 8

/* State of a measurement. If the work runs on an NVIDIA GPU, NVML measures GPU 0. Otherwise RAPL measures all CPU
 * packages (Linux: /sys/class/powercap, readable by root). RAPL's counters wrap around; if one wraps more than once
 * during the work, which takes hours at full load, the result is too low. */
typedef struct cli_energy {
  int zones;
  bool nvml;
  char path[CLI_ENERGY_ZONES][96];
  uint64_t begin[CLI_ENERGY_ZONES], range[CLI_ENERGY_ZONES]; /* microjoules; NVML: millijoules */
} cli_energy;

/* device: the device that does the work. */
void cli_energy_begin(cli_energy *energy, const mica_device_info *device);
/* The joules since cli_energy_begin; false if there is no counter or it cannot be read. */
bool cli_energy_end(const cli_energy *energy, double *joules);

#endif
