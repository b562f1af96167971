#include "cli/energy.h"

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#ifdef _WIN32
#define NVML "nvml.dll"
#else
#define NVML "libnvidia-ml.so.1"
#endif
#define POWERCAP "/sys/class/powercap"

static bool read_number(const char *path, uint64_t *number) {
  FILE *file = fopen(path, "r");
  if (!file) return false;
  bool good = fscanf(file, "%" SCNu64, number) == 1;
  fclose(file);
  return good;
}

/* Finds the energy counters of CPU packages and reads them once. Their names are intel-rapl:0, intel-rapl:1 and so on,
 * also on AMD. Names with a second colon, such as intel-rapl:0:0, are parts of a package and are not counted. */
static void begin_rapl(cli_energy *energy) {
  DIR *folder = opendir(POWERCAP);
  const struct dirent *entry;
  while (folder && (entry = readdir(folder)) && energy->zones < CLI_ENERGY_ZONES) {
    const char *colon = strchr(entry->d_name, ':');
    char path[96];
    int zone = energy->zones;
    if (strncmp(entry->d_name, "intel-rapl:", 11) != 0 || strchr(colon + 1, ':') || strlen(entry->d_name) > 32)
      continue;
    snprintf(path, sizeof path, POWERCAP "/%.32s/max_energy_range_uj", entry->d_name);
    if (!read_number(path, &energy->range[zone])) continue;
    snprintf(energy->path[zone], sizeof energy->path[zone], POWERCAP "/%.32s/energy_uj", entry->d_name);
    if (read_number(energy->path[zone], &energy->begin[zone])) energy->zones++;
  }
  if (folder) closedir(folder);
}

/* Reads the energy counter of GPU 0 through NVML, a library of NVIDIA's driver. NVML is opened at run time, because it
 * may not be installed. */
static bool read_nvml(uint64_t *millijoules) {
  typedef int begin_fn(void);
  typedef int handle_fn(unsigned, void **);
  typedef int energy_fn(void *, unsigned long long *);
  static void *library;
  if (!library) library = dlopen(NVML, RTLD_NOW);
  if (!library) return false;
  /* dlsym returns a void pointer. POSIX permits calling it, but ISO C has no conversion to a function pointer, so a
   * union converts it. */
  union {
    void *pointer;
    begin_fn *begin;
    handle_fn *handle;
    energy_fn *energy;
  } begin = {dlsym(library, "nvmlInit_v2")}, handle = {dlsym(library, "nvmlDeviceGetHandleByIndex_v2")},
    energy = {dlsym(library, "nvmlDeviceGetTotalEnergyConsumption")};
  void *device = NULL;
  unsigned long long value = 0;
  if (!begin.pointer || !handle.pointer || !energy.pointer) return false;
  if (begin.begin() != 0 || handle.handle(0, &device) != 0 || energy.energy(device, &value) != 0) return false;
  *millijoules = value;
  return true;
}

void cli_energy_begin(cli_energy *energy, const mica_device_info *device) {
  *energy = (cli_energy){0};
  if (device->vendor != MICA_VENDOR_NVIDIA) {
    begin_rapl(energy);
  } else if (read_nvml(&energy->begin[0])) {
    energy->nvml = true;
    energy->zones = 1;
  }
}

bool cli_energy_end(const cli_energy *energy, double *joules) {
  *joules = 0;
  for (int zone = 0; zone < energy->zones; zone++) {
    uint64_t now = 0, begin = energy->begin[zone];
    if (!(energy->nvml ? read_nvml(&now) : read_number(energy->path[zone], &now))) return false;
    uint64_t span = now >= begin ? now - begin : energy->range[zone] - begin + now;
    *joules += (double)span * (energy->nvml ? 1e-3 : 1e-6);
  }
  return energy->zones > 0;
}
