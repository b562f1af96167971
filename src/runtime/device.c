#include "runtime/device.h"

#include "runtime/cl_error.h"
#include "runtime/drivers.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *mica_device_class_name(mica_device_class device_class) {
  switch (device_class) {
#define CLASS_NAME(name, text)                                                                                         \
  case MICA_DEVICE_CLASS_##name: return text;
    MICA_DEVICE_CLASS_LIST(CLASS_NAME)
#undef CLASS_NAME
  }
  return "?";
}

const char *mica_vendor_name(mica_vendor vendor) {
  switch (vendor) {
#define VENDOR_NAME(name, text)                                                                                        \
  case MICA_VENDOR_##name: return text;
    MICA_VENDOR_LIST(VENDOR_NAME)
#undef VENDOR_NAME
  }
  return "?";
}

/* Copies a driver's text without blanks at both ends ("  Intel(R) ..."), cut if it is too long. */
static void copy_trimmed(char *out, size_t size, const char *text) {
  while (isspace((unsigned char)*text)) text++;
  size_t length = strlen(text);
  while (length && isspace((unsigned char)text[length - 1])) length--;
  if (length >= size) length = size - 1;
  memcpy(out, text, length);
  out[length] = '\0';
}

/* Gets one device property as text of any length; the caller frees it. */
static mica_status device_text(const mica__cl_api *api, cl_device_id id, cl_device_info what, char **out) {
  const char *doing = "asking a device for a text";
  size_t size = 0;
  MICA_TRY(mica__cl_check(api->GetDeviceInfo(id, what, 0, NULL, &size), doing));
  char *text = calloc(1, size + 1);
  if (!text) return mica__fail_nomem("a device's text");
  mica_status status = mica__cl_check(api->GetDeviceInfo(id, what, size, text, NULL), doing);
  if (status == MICA_OK)
    *out = text;
  else
    free(text);
  return status;
}

static mica_status device_text_into(const mica__cl_api *api, cl_device_id id, cl_device_info what,
                                    char out[MICA_DEVICE_TEXT]) {
  char *text = NULL;
  MICA_TRY(device_text(api, id, what, &text));
  copy_trimmed(out, MICA_DEVICE_TEXT, text);
  free(text);
  return MICA_OK;
}

static mica_status platform_text_into(const mica__cl_api *api, cl_platform_id platform, cl_platform_info what,
                                      char out[MICA_DEVICE_TEXT]) {
  char text[1024] = "";
  MICA_TRY(mica__cl_check(api->GetPlatformInfo(platform, what, sizeof text - 1, text, NULL),
                          "asking a platform for its name and version"));
  copy_trimmed(out, MICA_DEVICE_TEXT, text);
  return MICA_OK;
}

/* True if a blank-separated list contains a word. */
static bool has_word(const char *list, const char *word) {
  size_t length = strlen(word);
  for (const char *at = strstr(list, word); at; at = strstr(at + length, word))
    if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

static mica_status device_features(const mica__cl_api *api, cl_device_id id, uint32_t *features) {
  char *extensions = NULL;
  MICA_TRY(device_text(api, id, CL_DEVICE_EXTENSIONS, &extensions));
#define FEATURE_OF(name, extension)                                                                                    \
  if (has_word(extensions, extension)) *features |= MICA_FEATURE_##name;
  MICA_FEATURE_LIST(FEATURE_OF)
#undef FEATURE_OF
  free(extensions);
  return MICA_OK;
}

/* cl_intel_required_subgroup_size; headers of OpenCL 1.2 may lack it. */
#define DEVICE_SUB_GROUP_SIZES_INTEL 0x4108

static mica_status smallest_subgroup(const mica__cl_api *api, cl_device_id id, uint32_t *smallest) {
  char *extensions = NULL;
  size_t sizes[16], bytes = 0;
  MICA_TRY(device_text(api, id, CL_DEVICE_EXTENSIONS, &extensions));
  if (has_word(extensions, "cl_intel_required_subgroup_size") &&
      api->GetDeviceInfo(id, DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes) == CL_SUCCESS)
    for (size_t i = 0; i < bytes / sizeof *sizes; i++)
      if (*smallest == 0 || sizes[i] < *smallest) *smallest = (uint32_t)sizes[i];
  free(extensions);
  return MICA_OK;
}

/* cl_nv_device_attribute_query */
#define DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define DEVICE_COMPUTE_CAPABILITY_MINOR_NV 0x4001

static uint32_t compute_capability(const mica__cl_api *api, cl_device_id id) {
  cl_uint major = 0, minor = 0;
  if (api->GetDeviceInfo(id, DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, sizeof major, &major, NULL) != CL_SUCCESS ||
      api->GetDeviceInfo(id, DEVICE_COMPUTE_CAPABILITY_MINOR_NV, sizeof minor, &minor, NULL) != CL_SUCCESS)
    return 0;
  return major * 10 + minor;
}

/* The text takes precedence over the number. PoCL gives a CPU the number of the first device on the PCI bus, which is
 * Intel's in many virtual machines on AMD processors, and layers on top of a driver have their own numbers. */
static mica_vendor vendor_of(cl_uint vendor_id, const char *vendor) {
  if (strstr(vendor, "NVIDIA")) return MICA_VENDOR_NVIDIA;
  if (strstr(vendor, "Advanced Micro") || strstr(vendor, "AMD")) return MICA_VENDOR_AMD;
  if (strstr(vendor, "Intel")) return MICA_VENDOR_INTEL;
  if (strstr(vendor, "Apple")) return MICA_VENDOR_APPLE;
  switch (vendor_id) {
  case 0x10de: return MICA_VENDOR_NVIDIA;
  case 0x1002: return MICA_VENDOR_AMD;
  case 0x8086: return MICA_VENDOR_INTEL;
  case 0x13b5: return MICA_VENDOR_ARM;
  case 0x5143: return MICA_VENDOR_QUALCOMM;
  default: return MICA_VENDOR_OTHER;
  }
}

/* cl_khr_image2d_from_buffer; headers of OpenCL 1.2 may lack it. */
#define DEVICE_IMAGE_PITCH_ALIGNMENT 0x104A
#define LARGEST_TEXTURE_WIDTH 4096

/* The largest power of two that the device accepts as the width of an image over a buffer, at most
 * LARGEST_TEXTURE_WIDTH; 0 if the driver does not report the necessary limits, or no power of two meets them. */
static uint32_t texture_width(const mica__cl_api *api, cl_device_id id) {
  size_t largest = 0;
  cl_uint pitch = 0;
  uint32_t width = LARGEST_TEXTURE_WIDTH;
  if (api->GetDeviceInfo(id, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof largest, &largest, NULL) != CL_SUCCESS ||
      api->GetDeviceInfo(id, DEVICE_IMAGE_PITCH_ALIGNMENT, sizeof pitch, &pitch, NULL) != CL_SUCCESS)
    return 0;
  while (width > largest) width /= 2;
  return pitch && width % pitch ? 0 : width;
}

/* Finds the largest images over buffers that the device accepts. Only devices with a texture cache that is faster than
 * their other caches are asked, which is known of Adreno and Mali. With MICA_TEXTURES=1 every device is asked, with
 * MICA_TEXTURES=0 or any other text none. */
static mica_status find_textures(const mica__cl_api *api, cl_device_id id, mica_device_info *info) {
  const char *wanted = getenv("MICA_TEXTURES");
  const bool known = info->device_class == MICA_DEVICE_CLASS_GPU &&
                     (info->vendor == MICA_VENDOR_QUALCOMM || info->vendor == MICA_VENDOR_ARM);
  cl_bool images = CL_FALSE;
  size_t length = 0, height = 0;
  char *extensions = NULL;
  if (wanted && *wanted ? strcmp(wanted, "1") != 0 : !known) return MICA_OK;
  if (api->GetDeviceInfo(id, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL) != CL_SUCCESS || !images)
    return MICA_OK;
  if (api->GetDeviceInfo(id, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, sizeof length, &length, NULL) == CL_SUCCESS)
    info->texture_length = length < INT32_MAX ? length : INT32_MAX; /* kernels count pixels in int */
  MICA_TRY(device_text(api, id, CL_DEVICE_EXTENSIONS, &extensions));
  const bool planes = has_word(extensions, "cl_khr_image2d_from_buffer");
  free(extensions);
  if (!planes || api->GetDeviceInfo(id, CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof height, &height, NULL) != CL_SUCCESS)
    return MICA_OK;
  info->texture_width = texture_width(api, id);
  info->texture_height =
      height < INT32_MAX / LARGEST_TEXTURE_WIDTH ? (uint32_t)height : INT32_MAX / LARGEST_TEXTURE_WIDTH;
  return MICA_OK;
}

/* Tiles of 64-byte vectors need 32 registers, other tiles 16. In 32-bit mode x86 has only 8 registers of either length,
 * and 8 registers of 64 bytes hold as much as 16 of 32 bytes. So such a CPU counts as one with vectors of 32 bytes. */
#define FEW_REGISTERS_BYTES 32
static uint32_t vector_bytes_of(cl_uint lanes, cl_device_type type, cl_uint address_bits) {
  const uint32_t bytes = lanes * (uint32_t)sizeof(float);
  return type & CL_DEVICE_TYPE_CPU && address_bits == 32 && bytes > FEW_REGISTERS_BYTES ? FEW_REGISTERS_BYTES : bytes;
}

mica_status mica__device_describe(const mica__cl_api *api, cl_platform_id platform, cl_device_id id,
                                  mica_device_info *out) {
  mica_device_info info = {0};
  cl_device_type type = 0;
  cl_uint units = 0, clock = 0, align_bits = 0, vendor_id = 0, address_bits = 0, lanes = 0;
  cl_ulong global = 0, largest = 0, local = 0;
  cl_bool unified = CL_FALSE, available = CL_FALSE, compiler = CL_FALSE, little_endian = CL_FALSE;
  cl_device_local_mem_type local_type = CL_GLOBAL;
  size_t group = 0, group_dims[8] = {0};
  const struct {
    cl_device_info what;
    size_t size;
    void *out;
  } fields[] = {
      {CL_DEVICE_TYPE, sizeof type, &type},
      {CL_DEVICE_VENDOR_ID, sizeof vendor_id, &vendor_id},
      {CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units},
      {CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof clock, &clock},
      {CL_DEVICE_GLOBAL_MEM_SIZE, sizeof global, &global},
      {CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof largest, &largest},
      {CL_DEVICE_LOCAL_MEM_SIZE, sizeof local, &local},
      {CL_DEVICE_LOCAL_MEM_TYPE, sizeof local_type, &local_type},
      {CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified},
      {CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group},
      {CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof group_dims, group_dims},
      {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, sizeof lanes, &lanes},
      {CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits},
      {CL_DEVICE_ADDRESS_BITS, sizeof address_bits, &address_bits},
      {CL_DEVICE_AVAILABLE, sizeof available, &available},
      {CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler},
      {CL_DEVICE_ENDIAN_LITTLE, sizeof little_endian, &little_endian},
  };
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    MICA_TRY(mica__cl_check(api->GetDeviceInfo(id, fields[i].what, fields[i].size, fields[i].out, NULL),
                            "asking a device for its properties"));
  if (!available) return mica__fail(MICA_E_UNSUPPORTED, "the device is not available");
  /* Kernels read packed values as elements of other widths, and launches pack arguments into wider numbers: both
   * assume little-endian order. */
  if (!little_endian)
    return mica__fail(MICA_E_UNSUPPORTED, "the device is big-endian, which Mica's kernels do not support");
  /* All of these identify compiled kernels in the cache, so none may be left empty after an error. */
  char vendor[MICA_DEVICE_TEXT];
  MICA_TRY(platform_text_into(api, platform, CL_PLATFORM_NAME, info.platform));
  MICA_TRY(platform_text_into(api, platform, CL_PLATFORM_VERSION, info.platform_version));
  MICA_TRY(device_text_into(api, id, CL_DEVICE_NAME, info.name));
  MICA_TRY(device_text_into(api, id, CL_DRIVER_VERSION, info.driver));
  MICA_TRY(device_text_into(api, id, CL_DEVICE_OPENCL_C_VERSION, info.opencl_c));
  MICA_TRY(device_text_into(api, id, CL_DEVICE_VENDOR, vendor));
  MICA_TRY(device_features(api, id, &info.features));
  info.vendor = vendor_of(vendor_id, vendor);
  info.device_class = api == mica__cl_null()      ? MICA_DEVICE_CLASS_NULL
                      : type & CL_DEVICE_TYPE_GPU ? MICA_DEVICE_CLASS_GPU
                      : type & CL_DEVICE_TYPE_CPU ? MICA_DEVICE_CLASS_CPU
                                                  : MICA_DEVICE_CLASS_ACCELERATOR;
  if (info.vendor == MICA_VENDOR_INTEL) MICA_TRY(smallest_subgroup(api, id, &info.subgroup_min));
  if (info.vendor == MICA_VENDOR_NVIDIA) info.compute_capability = compute_capability(api, id);
  MICA_TRY(find_textures(api, id, &info));
  info.compute_units = units;
  info.clock_mhz = clock;
  info.global_bytes = global;
  info.max_buffer_bytes = largest;
  info.local_bytes = local;
  info.local_is_fast = local_type == CL_LOCAL;
  info.unified_memory = unified == CL_TRUE;
  info.max_group = group;
  memcpy(info.max_group_dim, group_dims, sizeof info.max_group_dim);
  info.vector_bytes = vector_bytes_of(lanes, type, address_bits);
  info.align_bytes = align_bits >= 8 ? align_bits / 8 : 1;
  info.address_bits = address_bits;
  info.has_compiler = compiler;
  *out = info;
  return MICA_OK;
}

/* Describes one device at the end of the list. A device that the driver cannot describe is skipped, with a log line;
 * only MICA_E_NOMEM is returned. */
static mica_status collect_device(const mica__device *device, size_t index, cl_uint number, mica__device *list,
                                  size_t *count) {
  mica__device *made = &list[*count];
  *made = *device;
  mica__attempt_begin();
  mica_status status = mica__device_describe(device->api, device->platform, device->id, &made->info);
  if (status != MICA_OK)
    mica__log(MICA_LOG_LEVEL_WARNING, "device %zu:%u is skipped: %s", index, number, mica_error_message());
  mica__attempt_end();
  if (status == MICA_E_NOMEM) return mica__fail_nomem("a device's description");
  if (status != MICA_OK) return MICA_OK;
  if (made->info.device_class == MICA_DEVICE_CLASS_NULL)
    snprintf(made->info.id, sizeof made->info.id, "%s", mica_device_class_name(MICA_DEVICE_CLASS_NULL));
  else
    snprintf(made->info.id, sizeof made->info.id, "%zu:%u", index, number);
  ++*count;
  return MICA_OK;
}

/* Appends the devices of one platform. Skips a platform that cannot list devices, either with CL_DEVICE_NOT_FOUND or
 * with another error: it may be a driver that was installed without its hardware. */
static mica_status collect_platform(const mica__cl_api *api, cl_platform_id platform, size_t index, mica__device **list,
                                    size_t *count) {
  cl_uint n = 0;
  char name[MICA_DEVICE_TEXT] = "";
  mica__attempt_begin();
  bool is_pocl = platform_text_into(api, platform, CL_PLATFORM_NAME, name) == MICA_OK && strstr(name, MICA__POCL);
  mica__attempt_end();
  if (is_pocl) mica__drivers_warn_of_pocl_cache();
  if (api->GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &n) != CL_SUCCESS || n == 0) return MICA_OK;
  cl_device_id *ids = calloc(n, sizeof *ids);
  mica__device *grown = realloc(*list, (*count + n) * sizeof **list);
  if (grown) *list = grown;
  mica_status status = ids && grown ? MICA_OK : mica__fail_nomem("the list of devices");
  if (status == MICA_OK && api->GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, ids, NULL) != CL_SUCCESS) n = 0;
  for (cl_uint d = 0; status == MICA_OK && d < n; d++) {
    const mica__device device = {.api = api, .platform = platform, .id = ids[d]};
    status = collect_device(&device, index, d, *list, count);
  }
  free(ids);
  return status;
}

static mica_status collect(const mica__cl_api *api, mica__device **list, size_t *count) {
  cl_uint n = 0;
  mica__drivers_prepare_pocl_cache();
  cl_int error = api->GetPlatformIDs(0, NULL, &n);
  if (error == MICA__CL_FORKED) return mica__cl_check(error, "listing the OpenCL platforms");
  /* A loader without any driver returns an error rather than zero. */
  if (error != CL_SUCCESS || n == 0) return MICA_OK;
  cl_platform_id *platforms = calloc(n, sizeof *platforms);
  if (!platforms) return mica__fail_nomem("the list of platforms");
  mica_status status = mica__cl_check(api->GetPlatformIDs(n, platforms, NULL), "listing the OpenCL platforms");
  size_t index = 0;
  for (cl_uint p = 0; status == MICA_OK && p < n; p++) {
    size_t before = *count;
    status = collect_platform(api, platforms[p], index, list, count);
    if (*count > before) index++;
  }
  free(platforms);
  if (status != MICA_OK) {
    free(*list);
    *list = NULL;
    *count = 0;
  }
  return status;
}

mica_status mica__device_collect(const mica__cl_api *api, mica__device **list, size_t *count) {
  static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
  *list = NULL;
  *count = 0;
  /* If this process was forked while another thread held the lock, nothing will ever unlock it. */
  bool locked = !mica__cl_is_forked() && pthread_mutex_lock(&one_at_a_time) == 0;
  mica_status status = collect(api, list, count);
  if (locked) pthread_mutex_unlock(&one_at_a_time);
  return status;
}
