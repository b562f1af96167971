/* device_ran LOG: did kernels run? LOG has a line "<program> <launches>" for every test program that had a device.
 *
 * Devices are counted through OpenCL itself, not through Mica, so that a Mica that overlooks them is found out.
 * Exit status: 0 kernels ran; 1 there is a device and none ran; 77 there is no device. */
#include <CL/cl.h>
#include <stdio.h>

static cl_uint count_devices(void) {
  cl_platform_id platforms[32];
  cl_uint platform_count = 0, devices = 0;
  if (clGetPlatformIDs(32, platforms, &platform_count) != CL_SUCCESS) return 0;
  for (cl_uint i = 0; i < platform_count && i < 32; i++) {
    cl_uint n = 0;
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &n) == CL_SUCCESS) devices += n;
  }
  return devices;
}

static unsigned long long sum_launches(const char *path) {
  FILE *log = fopen(path, "r");
  unsigned long long sum = 0, launches;
  if (!log) return 0;
  while (fscanf(log, "%*s %llu", &launches) == 1) sum += launches;
  fclose(log);
  return sum;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  cl_uint devices = count_devices();
  unsigned long long launches = sum_launches(argv[1]);
  printf("%u devices, %llu kernel launches\n", devices, launches);
  if (launches > 0) return 0;
  return devices > 0 ? 1 : 77;
}
