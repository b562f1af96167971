/* labels: null
 *
 * Lists the devices of this machine and says which one Mica would take (MICA_DEVICE chooses another). */
#include <mica/mica.h>
#include <stdio.h>

#define CAPACITY 32

static void print_device(const mica_device_info *device) {
  printf("%-5s %-4s %3u units  %6.1f GiB  %s (%s)\n", device->id, mica_device_class_name(device->device_class),
         device->compute_units, (double)device->global_bytes / (1u << 30), device->name, device->platform);
}

int main(void) {
  mica_device_info devices[CAPACITY], chosen;
  size_t count = 0;
  if (mica_device_list(devices, CAPACITY, &count) != MICA_OK) {
    fprintf(stderr, "%s\n", mica_error_message());
    return 1;
  }
  for (size_t i = 0; i < count && i < CAPACITY; i++) print_device(&devices[i]);
  if (count == 0)
    printf("no OpenCL device; on a CPU the package pocl-opencl-icd makes one\n");
  else if (mica_device_find(NULL, &chosen) == MICA_OK)
    printf("Mica takes %s\n", chosen.id);
  else
    printf("%s\n", mica_error_message());
  return 0;
}
