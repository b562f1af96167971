/* labels: null single
 *
 * How devices are described and preferred, whatever they answer: several made-up devices on one platform, which are the
 * null device but for some of their properties. */
#include "runtime/device.h"
#include "support/check_main.h"

#include <mica/device.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct made_up {
  const char *name, *vendor, *extensions;
  cl_uint vendor_id, units;
  cl_device_type type;
  bool unavailable, without_compiler, without_name, big_endian;
  cl_uint capability[2];      /* 0: the question is refused */
  size_t subgroups[3];        /* those that are not 0 */
  mica_vendor expected;       /* what is made of vendor and vendor_id */
  uint32_t smallest, compute; /* what is made of subgroups and capability */
} made_up;

static const made_up all[] = {
    {.name = "GPU of N",
     .vendor = "NVIDIA Corporation",
     .vendor_id = 1,
     .units = 10,
     .type = CL_DEVICE_TYPE_GPU,
     .capability = {9, 0},
     .expected = MICA_VENDOR_NVIDIA,
     .compute = 90},
    {.name = "old GPU of N",
     .vendor_id = 0x10de,
     .units = 4,
     .type = CL_DEVICE_TYPE_GPU,
     .expected = MICA_VENDOR_NVIDIA},
    {.name = "GPU of A",
     .vendor = "Advanced Micro Devices, Inc.",
     .vendor_id = 0x8086,
     .units = 60,
     .type = CL_DEVICE_TYPE_GPU,
     .extensions = "cl_khr_fp16 cl_khr_fp64_not",
     .expected = MICA_VENDOR_AMD},
    {.name = "CPU of A",
     .vendor = "AuthenticAMD",
     .units = 1000,
     .type = CL_DEVICE_TYPE_CPU,
     .expected = MICA_VENDOR_AMD},
    {.name = "GPU of I",
     .vendor = "Intel(R) Corporation",
     .units = 20,
     .type = CL_DEVICE_TYPE_GPU,
     .extensions = "cl_khr_fp64 cl_intel_required_subgroup_size",
     .subgroups = {32, 8, 16},
     .expected = MICA_VENDOR_INTEL,
     .smallest = 8},
    {.name = "accelerator",
     .vendor_id = 0x8086,
     .units = 500,
     .type = CL_DEVICE_TYPE_ACCELERATOR,
     .expected = MICA_VENDOR_INTEL},
    {.name = "GPU of F", .vendor = "Apple", .units = 8, .type = CL_DEVICE_TYPE_GPU, .expected = MICA_VENDOR_APPLE},
    {.name = "id of A", .vendor_id = 0x1002, .units = 1, .type = CL_DEVICE_TYPE_CPU, .expected = MICA_VENDOR_AMD},
    {.name = "id of M", .vendor_id = 0x13b5, .units = 1, .type = CL_DEVICE_TYPE_CPU, .expected = MICA_VENDOR_ARM},
    {.name = "id of Q", .vendor_id = 0x5143, .units = 1, .type = CL_DEVICE_TYPE_CPU, .expected = MICA_VENDOR_QUALCOMM},
    {.name = "unknown", .vendor_id = 0xffff, .units = 1, .type = CL_DEVICE_TYPE_CPU, .expected = MICA_VENDOR_OTHER},
    {.name = "no compiler", .without_compiler = true, .type = CL_DEVICE_TYPE_GPU, .units = 9999},
    {.name = "away", .unavailable = true, .type = CL_DEVICE_TYPE_GPU, .units = 9999},
    {.name = "big-endian", .big_endian = true, .type = CL_DEVICE_TYPE_GPU, .units = 9999},
    {.name = "silent", .without_name = true, .type = CL_DEVICE_TYPE_GPU, .units = 9999},
};
enum { ALL = sizeof all / sizeof *all, GOOD = ALL - 3 };

static cl_int no_devices; /* error of the second GetDeviceIDs; 0 for none */

static cl_int device_ids(cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id *ids, cl_uint *count) {
  (void)p, (void)type;
  if (count) *count = ALL;
  if (ids && no_devices) return no_devices;
  for (cl_uint i = 0; ids && i < n && i < ALL; i++) ids[i] = (cl_device_id)(uintptr_t)(i + 1);
  return CL_SUCCESS;
}

static cl_int answer(const void *value, size_t bytes, size_t n, void *out, size_t *used) {
  if (used) *used = bytes;
  if (out && n < bytes) return CL_INVALID_VALUE;
  if (out) memcpy(out, value, bytes);
  return CL_SUCCESS;
}

static cl_int device_info(cl_device_id id, cl_device_info what, size_t n, void *out, size_t *used) {
  const made_up *d = &all[(uintptr_t)id - 1];
  const cl_bool yes = CL_TRUE, no = CL_FALSE;
  size_t sizes = 0;
  while (sizes < 3 && d->subgroups[sizes]) sizes++;
  const char *const text = what == CL_DEVICE_NAME         ? d->name
                           : what == CL_DEVICE_VENDOR     ? d->vendor
                           : what == CL_DEVICE_EXTENSIONS ? d->extensions
                                                          : NULL;
  switch (what) {
  case CL_DEVICE_NAME:
    if (d->without_name) return CL_OUT_OF_RESOURCES;
    return answer(text, strlen(text) + 1, n, out, used);
  case CL_DEVICE_VENDOR:
  case CL_DEVICE_EXTENSIONS: return answer(text ? text : "", text ? strlen(text) + 1 : 1, n, out, used);
  case CL_DEVICE_VENDOR_ID: return answer(&d->vendor_id, sizeof d->vendor_id, n, out, used);
  case CL_DEVICE_MAX_COMPUTE_UNITS: return answer(&d->units, sizeof d->units, n, out, used);
  case CL_DEVICE_TYPE: return answer(&d->type, sizeof d->type, n, out, used);
  case CL_DEVICE_AVAILABLE: return answer(d->unavailable ? &no : &yes, sizeof yes, n, out, used);
  case CL_DEVICE_ENDIAN_LITTLE: return answer(d->big_endian ? &no : &yes, sizeof yes, n, out, used);
  case CL_DEVICE_COMPILER_AVAILABLE: return answer(d->without_compiler ? &no : &yes, sizeof yes, n, out, used);
  case 0x4000: /* compute capability, major and minor */
  case 0x4001:
    if (!d->capability[0]) return CL_INVALID_VALUE;
    return answer(&d->capability[what - 0x4000], sizeof(cl_uint), n, out, used);
  case 0x4108: return answer(d->subgroups, sizes * sizeof(size_t), n, out, used);
  default: return mica__cl_null()->GetDeviceInfo(NULL, what, n, out, used);
  }
}

static mica__cl_api api;

static void install(void) {
  unsetenv("MICA_DEVICE");
  no_devices = CL_SUCCESS;
  api = *mica__cl_null();
  api.GetDeviceIDs = device_ids;
  api.GetDeviceInfo = device_info;
  mica__cl_install(&api);
}

static void remove_again(void) { mica__cl_install(NULL); }

START_TEST(each_is_what_it_says) {
  mica_device_info infos[ALL];
  size_t count = 0;
  ck_assert_int_eq(mica_device_list(infos, ALL, &count), MICA_OK);
  ck_assert_uint_eq(count, GOOD); /* those that cannot be used are left out */
  for (size_t i = 0; i < count; i++) {
    ck_assert_str_eq(infos[i].name, all[i].name);
    ck_assert_msg(infos[i].vendor == all[i].expected, "%s is of %s", all[i].name, mica_vendor_name(infos[i].vendor));
    ck_assert_uint_eq(infos[i].subgroup_min, all[i].smallest);
    ck_assert_uint_eq(infos[i].compute_capability, all[i].compute);
    ck_assert(infos[i].has_compiler == !all[i].without_compiler);
  }
  ck_assert_uint_eq(infos[2].features, MICA_FEATURE_FP16); /* a longer word is another word */
  ck_assert_uint_eq(infos[4].features, MICA_FEATURE_FP64);
}
END_TEST

static const char *chosen(const char *selector) {
  static mica_device_info info;
  mica_status status = mica_device_find(selector, &info);
  return status == MICA_OK ? info.name : mica_status_name(status);
}

START_TEST(the_best_of_a_class_is_chosen) {
  ck_assert_str_eq(chosen(NULL), "GPU of A");
  ck_assert_str_eq(chosen("GPU"), "GPU of A");
  ck_assert_str_eq(chosen("accelerator"), "accelerator");
  ck_assert_str_eq(chosen("cpu"), "CPU of A");
  ck_assert_str_eq(chosen("old"), "old GPU of N");
  ck_assert_str_eq(chosen("no compiler"), "no compiler"); /* the fastest, and yet never the first choice */
  ck_assert_str_eq(chosen("0:4"), "GPU of I");
  ck_assert_str_eq(chosen("none of them"), "MICA_E_NO_DEVICE");
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "choose from: 0:0 GPU of N, 0:1 old GPU of N"));
}
END_TEST

START_TEST(a_platform_that_takes_its_word_back_is_skipped) {
  size_t count = 1;
  no_devices = CL_OUT_OF_RESOURCES;
  ck_assert_int_eq(mica_device_list(NULL, 0, &count), MICA_OK);
  ck_assert_uint_eq(count, 0);
  ck_assert_str_eq(chosen("gpu"), "MICA_E_NO_DEVICE");
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "no OpenCL device"));
}
END_TEST

TESTS(ANYWHERE, install, remove_again, each_is_what_it_says, the_best_of_a_class_is_chosen,
      a_platform_that_takes_its_word_back_is_skipped)
