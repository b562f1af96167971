/* labels: device
 *
 * Devices are listed and chosen the same way every time, and engines on them come and go. */
#include "support/check_main.h"
#include "support/engine.h"

#include <ctype.h>
#include <mica/ops.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY 32

static mica_device_info devices[CAPACITY];
static size_t count;

static void list(void) {
  unsetenv("MICA_DEVICE");
  ck_ok(mica_device_list(devices, CAPACITY, &count));
  ck_assert_uint_gt(count, 0);
  if (count > CAPACITY) count = CAPACITY;
}

START_TEST(what_is_listed_makes_sense) {
  for (size_t i = 0; i < count; i++) {
    const mica_device_info *d = &devices[i];
    ck_assert_msg(*d->id && *d->name && *d->platform && *d->driver, "device %zu lacks a text", i);
    ck_assert_int_ne(d->device_class, MICA_DEVICE_CLASS_NULL);
    ck_assert_uint_gt(d->compute_units, 0);
    ck_assert_uint_gt(d->max_group, 0);
    ck_assert_uint_gt(d->global_bytes, 0);
    ck_assert_uint_le(d->max_buffer_bytes, d->global_bytes);
    for (size_t j = 0; j < i; j++) ck_assert_str_ne(d->id, devices[j].id);
  }
}
END_TEST

/* Both halves of a device are devices, each of half the units. */
START_TEST(halves_of_a_device) {
  mica_device_info whole, half;
  ck_ok(mica_device_find(NULL, &whole));
  char name[64];
  for (int k = 0; whole.compute_units >= 2 && k < 2; k++) {
    mica_engine *engine;
    mica_tensor *tensor;
    float ones[100];
    snprintf(name, sizeof name, "%s/2:%d", whole.id, k);
    mica_status status = mica_device_find(name, &half);
    if (status == MICA_E_UNSUPPORTED) return; /* many GPUs are whole */
    ck_ok(status);
    ck_assert_str_eq(half.id, name);
    ck_assert_uint_eq(half.compute_units, whole.compute_units / 2);
    ck_ok(mica_engine_create(&(mica_engine_config){.device = name}, &engine));
    ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(100), &tensor));
    ck_ok(mica_op_fill(mica_engine_queue(engine), 1, tensor));
    ck_ok(mica_tensor_download(mica_engine_queue(engine), tensor, ones, sizeof ones));
    for (int i = 0; i < 100; i++) ck_assert_float_eq(ones[i], 1);
    mica_tensor_destroy(tensor);
    mica_engine_destroy(engine);
  }
  static const char *const wrong[] = {"/2",    "/2:2",  "/1:0",  "/0:0",
                                      "/2:-1", "/65:0", "/2:0x", "/99999999999999999999:0"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(name, sizeof name, "%s%s", whole.id, wrong[i]);
    ck_assert_int_eq(mica_device_find(name, &half), MICA_E_INVALID);
  }
  snprintf(name, sizeof name, "%s/64:0", whole.id);
  if (whole.compute_units < 64) ck_assert_int_eq(mica_device_find(name, &half), MICA_E_INVALID);
}
END_TEST

START_TEST(a_short_list_still_counts) {
  size_t all = 0;
  ck_ok(mica_device_list(NULL, 0, &all));
  ck_assert_uint_ge(all, count);
}
END_TEST

START_TEST(an_id_finds_its_device) {
  for (size_t i = 0; i < count; i++) {
    mica_device_info found;
    ck_ok(mica_device_find(devices[i].id, &found));
    ck_assert_str_eq(found.id, devices[i].id);
  }
}
END_TEST

START_TEST(a_part_of_a_name_in_any_case_finds_a_device) {
  char part[MICA_DEVICE_TEXT];
  mica_device_info found;
  size_t length = strlen(devices[0].name);
  for (size_t i = 0; i <= length; i++) part[i] = (char)toupper((unsigned char)devices[0].name[i]);
  ck_ok(mica_device_find(part + length / 2, &found));
}
END_TEST

START_TEST(a_class_finds_its_device_or_none) {
  static const mica_device_class classes[] = {MICA_DEVICE_CLASS_CPU, MICA_DEVICE_CLASS_GPU,
                                              MICA_DEVICE_CLASS_ACCELERATOR};
  for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
    mica_device_info found;
    size_t of_class = 0;
    for (size_t i = 0; i < count; i++) of_class += devices[i].device_class == classes[c];
    mica_status status = mica_device_find(mica_device_class_name(classes[c]), &found);
    ck_assert_int_eq(status, of_class > 0 ? MICA_OK : MICA_E_NO_DEVICE);
    if (status == MICA_OK) ck_assert_int_eq(found.device_class, classes[c]);
  }
}
END_TEST

START_TEST(the_environment_chooses_unless_the_program_does) {
  mica_device_info found;
  setenv("MICA_DEVICE", "no such device", 1);
  ck_assert_int_eq(mica_device_find(NULL, &found), MICA_E_NO_DEVICE);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), devices[0].name));
  ck_ok(mica_device_find(devices[0].id, &found));
  setenv("MICA_DEVICE", devices[count - 1].id, 1);
  ck_ok(mica_device_find(NULL, &found));
  ck_assert_str_eq(found.id, devices[count - 1].id);
  unsetenv("MICA_DEVICE");
}
END_TEST

START_TEST(engines_come_and_go) {
  mica_engine_config config = mica_engine_config_default();
  config.cache_dir = "";
  for (int i = 0; i < 3; i++) {
    mica_engine *first, *second;
    mica_queue *queue;
    ck_ok(mica_engine_create(&config, &first));
    ck_ok(mica_engine_create(&config, &second));
    ck_assert_str_eq(mica_engine_cache_dir(first), "");
    ck_ok(mica_queue_create(second, &queue));
    ck_ok(mica_queue_flush(queue));
    ck_ok(mica_queue_finish(queue));
    mica_engine_destroy(first);
    mica_queue_destroy(queue);
    mica_engine_destroy(second);
  }
}
END_TEST

START_TEST(a_second_queue_computes) {
  mica_queue *queue;
  mica_tensor *tensor;
  int32_t back[5] = {0};
  ck_ok(mica_queue_create(test_engine(), &queue));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(5), &tensor));
  ck_ok(mica_op_fill(queue, -3, tensor));
  ck_ok(mica_tensor_download(queue, tensor, back, sizeof back));
  for (int i = 0; i < 5; i++) ck_assert_int_eq(back[i], -3);
  mica_tensor_destroy(tensor);
  mica_queue_destroy(queue);
}
END_TEST

START_TEST(destroying_nothing) {
  mica_engine_destroy(NULL);
  mica_queue_destroy(NULL);
}
END_TEST

TEST_GROUPS(DEVICE,
            EACH(list, NULL, what_is_listed_makes_sense, halves_of_a_device, a_short_list_still_counts,
                 an_id_finds_its_device, a_part_of_a_name_in_any_case_finds_a_device, a_class_finds_its_device_or_none,
                 the_environment_chooses_unless_the_program_does),
            EACH(NULL, NULL, engines_come_and_go, a_second_queue_computes, destroying_nothing))
