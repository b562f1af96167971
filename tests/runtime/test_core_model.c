/* labels: null
 *
 * What is known of cores: which row a device takes. */
#include "runtime/core_model.h"
#include "support/check_main.h"

#include <string.h>

static const char *model_with(uint32_t vector_bytes, const char *name, mica_device_class class, mica_vendor vendor) {
  mica_device_info device = {.device_class = class, .vendor = vendor, .vector_bytes = vector_bytes};
  strncpy(device.name, name, sizeof device.name - 1);
  return mica__core_model_of(&device)->name;
}

static const char *model_of(const char *name, mica_device_class class, mica_vendor vendor) {
  return model_with(64, name, class, vendor);
}

START_TEST(the_most_special_row_is_taken) {
  ck_assert_str_eq(model_of("cpu-znver4-AMD EPYC 9R14", MICA_DEVICE_CLASS_CPU, MICA_VENDOR_AMD), "zen4");
  /* An architecture stands before a vendor. */
  ck_assert_str_eq(model_of("cpu-znver4-odd", MICA_DEVICE_CLASS_CPU, MICA_VENDOR_INTEL), "zen4");
  ck_assert_str_eq(model_of("cpu-sapphirerapids-Intel", MICA_DEVICE_CLASS_CPU, MICA_VENDOR_INTEL), "intel");
  ck_assert_str_eq(model_of("pthread-skylake-avx512-AMD EPYC", MICA_DEVICE_CLASS_CPU, MICA_VENDOR_AMD), "cpu");
  ck_assert_str_eq(model_of("", MICA_DEVICE_CLASS_CPU, MICA_VENDOR_OTHER), "cpu");
  /* Registers of 32 bytes. */
  ck_assert_str_eq(model_with(32, "cpu-znver3-AMD EPYC", MICA_DEVICE_CLASS_CPU, MICA_VENDOR_AMD), "short");
  ck_assert_str_eq(model_with(32, "cpu-haswell-Intel", MICA_DEVICE_CLASS_CPU, MICA_VENDOR_INTEL), "intel");
  /* The null device has kernels of the CPU class; GPUs' cores are not known. */
  ck_assert_str_eq(model_of("null", MICA_DEVICE_CLASS_NULL, MICA_VENDOR_OTHER), "cpu");
  ck_assert_str_eq(model_of("Arc", MICA_DEVICE_CLASS_GPU, MICA_VENDOR_INTEL), "any");
}
END_TEST

START_TEST(numbers_make_sense) {
  static const mica_vendor vendors[] = {MICA_VENDOR_AMD, MICA_VENDOR_INTEL, MICA_VENDOR_OTHER};
  for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++) {
    const mica__core_model *core = mica__core_model_of(&(mica_device_info){.vendor = vendors[i]});
    ck_assert_int_ge(core->l1_floats, 1024);
    ck_assert_int_gt(core->l2_floats, core->l1_floats);
    ck_assert_int_gt(core->cached_bytes, 4 * core->l2_floats);
    ck_assert_int_gt(core->pack_uses, 0);
    ck_assert_int_le(core->pack_uses_unaligned, core->pack_uses);
    ck_assert_int_gt(core->short_depth_rows, 0);
    ck_assert_double_gt(core->wake_products, 0);
  }
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, the_most_special_row_is_taken, numbers_make_sense)
