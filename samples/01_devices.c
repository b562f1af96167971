/* labels: null single
 *
 * Lesson 1: devices. Lists what this machine can compute on, says which of it Mica would take, opens that one and moves
 * three numbers there and back. MICA_DEVICE chooses another device: gpu, cpu, 0:1, a part of a name, or null, a device
 * of host memory that is there even where no driver is.
 *
 *   build/bin/samples/01_devices
 *   MICA_DEVICE=null build/bin/samples/01_devices */
#include <mica/mica.h>
#include <stdio.h>

#define CAPACITY 32

static void print_device(const mica_device_info *device) {
  printf("%-5s %-4s %3u units  %6.1f GiB  %s (%s)\n", device->id, mica_device_class_name(device->device_class),
         device->compute_units, (double)device->global_bytes / (1u << 30), device->name, device->platform);
}

/* Whatever can fail returns a status, MICA_OK being 0; the library keeps a sentence on what failed last. Statuses are
 * passed on, and the program says the sentence once, at its end. */
static mica_status list_devices(void) {
  mica_device_info devices[CAPACITY];
  size_t count = 0; /* how many there are, even if more than fit */
  mica_status status = mica_device_list(devices, CAPACITY, &count);
  if (status) return status;
  for (size_t i = 0; i < count && i < CAPACITY; i++) print_device(&devices[i]);
  if (count == 0) printf("no OpenCL device; on a CPU the package pocl-opencl-icd makes one\n");
  return MICA_OK;
}

/* An engine owns a device: its memory, its compiled kernels, and a queue, on which work is done in the order of the
 * calls. A tensor is typed, shaped device memory. What create makes, destroy releases; NULL is fine. */
static mica_status there_and_back(const char *selector) {
  mica_engine_config config = mica_engine_config_default();
  config.device = selector;
  float sent[] = {1, 2, 3}, received[3] = {0};
  mica_engine *engine = NULL;
  mica_tensor *tensor = NULL;
  mica_status status = mica_engine_create(&config, &engine);
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(3), sent, &tensor);
  if (!status) status = mica_tensor_download(mica_engine_queue(engine), tensor, received, sizeof received);
  if (!status) printf("there and back: %g %g %g\n", received[0], received[1], received[2]);
  mica_tensor_destroy(tensor);
  mica_engine_destroy(engine);
  return status;
}

int main(void) {
  mica_device_info chosen;
  mica_status status = list_devices();
  if (!status) {
    /* NULL leaves the choice to MICA_DEVICE, and without that to Mica: GPUs first, then the fastest. */
    status = mica_device_find(NULL, &chosen);
    if (status == MICA_E_NO_DEVICE) {
      printf("%s; going on with the null device\n", mica_error_message());
      status = mica_device_find("null", &chosen);
    }
  }
  if (!status) {
    printf("Mica takes %s\n", chosen.id);
    status = there_and_back(chosen.id);
  }
  if (status) fprintf(stderr, "%s: %s\n", mica_status_name(status), mica_error_message());
  return status ? 1 : 0;
}
