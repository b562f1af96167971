/* labels: device
 *
 * Tensors as windows onto device memory, and every way to move data in and out of them. */
#include "base/large.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/opencl.h>
#include <mica/ops.h>
#include <string.h>

static const float counting[6] = {1, 2, 3, 4, 5, 6};

static mica_tensor *make_counting(void) {
  mica_tensor *tensor;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2, 3), counting, &tensor));
  return tensor;
}

static void expect_floats(const float *got, const float *want, int count) {
  for (int i = 0; i < count; i++) ck_assert_float_eq(got[i], want[i]);
}

START_TEST(create_and_download) {
  mica_tensor *tensor = make_counting();
  float back[6] = {0};
  ck_assert_int_eq(mica_tensor_count(tensor), 6);
  ck_assert_uint_eq(mica_tensor_bytes(tensor), sizeof back);
  ck_ok(mica_tensor_download(test_queue(), tensor, back, sizeof back));
  expect_floats(back, counting, 6);
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(upload_lets_go_of_its_data_at_once) {
  mica_tensor *tensor = make_counting();
  float data[6] = {9, 8, 7, 6, 5, 4}, back[6];
  ck_ok(mica_tensor_upload(test_queue(), tensor, data, sizeof data));
  memset(data, 0, sizeof data);
  ck_ok(mica_tensor_download(test_queue(), tensor, back, sizeof back));
  for (int i = 0; i < 6; i++) ck_assert_float_eq(back[i], (float)(9 - i));
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(uploaded_bools_are_0_or_1) {
  const unsigned char bytes[] = {0, 1, 2, 255, 0, 128}, truths[] = {0, 1, 1, 1, 0, 1};
  unsigned char back[6];
  mica_tensor *tensor = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_BOOL, MICA_SHAPE(6), bytes, &tensor));
  ck_ok(mica_tensor_download(test_queue(), tensor, back, sizeof back));
  ck_assert_mem_eq(back, truths, sizeof back);
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(download_async) {
  mica_tensor *tensor = make_counting();
  float back[6] = {0};
  mica_event *event;
  bool done = false;
  ck_ok(mica_tensor_download_async(test_queue(), tensor, back, sizeof back, &event));
  ck_ok(mica_event_wait(event));
  ck_ok(mica_event_is_done(event, &done));
  ck_assert(done);
  expect_floats(back, counting, 6);
  mica_event_destroy(event);
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(map_to_write_and_to_read) {
  mica_tensor *tensor;
  float *data;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(2, 3), &tensor));
  ck_ok(mica_tensor_map(test_queue(), tensor, MICA_MAP_MODE_WRITE, (void **)&data));
  memcpy(data, counting, sizeof counting);
  ck_ok(mica_tensor_unmap(test_queue(), tensor, data));
  ck_ok(mica_tensor_map(test_queue(), tensor, MICA_MAP_MODE_READ, (void **)&data));
  expect_floats(data, counting, 6);
  ck_ok(mica_tensor_unmap(test_queue(), tensor, data));
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(view_outlives_its_base) {
  mica_tensor *tensor = make_counting(), *row;
  float back[3];
  ck_ok(mica_tensor_view(tensor, MICA_SHAPE(3), NULL, 3, &row));
  mica_tensor_destroy(tensor);
  ck_ok(mica_tensor_download(test_queue(), row, back, sizeof back));
  expect_floats(back, counting + 3, 3);
  mica_tensor_destroy(row);
}
END_TEST

START_TEST(a_kernel_stays_inside_its_view) {
  mica_tensor *tensor = make_counting(), *middle;
  const float expected[6] = {1, 2, 0, 0, 5, 6};
  float back[6];
  ck_ok(mica_tensor_view(tensor, MICA_SHAPE(2), NULL, 2, &middle));
  ck_ok(mica_op_fill(test_queue(), 0, middle));
  ck_ok(mica_tensor_download(test_queue(), tensor, back, sizeof back));
  expect_floats(back, expected, 6);
  mica_tensor_destroy(middle);
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(transpose_is_a_view) {
  mica_tensor *tensor = make_counting(), *transposed;
  ck_ok(mica_tensor_transpose(tensor, &transposed));
  ck_assert_int_eq(mica_tensor_shape(transposed).dim[0], 3);
  ck_assert_int_eq(mica_tensor_strides(transposed)[0], 1);
  ck_assert_int_eq(mica_tensor_strides(transposed)[1], 3);
  ck_assert(!mica_tensor_is_contiguous(transposed));
  mica_tensor_destroy(transposed);
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(tensors_share_a_buffer) {
  mica_buffer *buffer;
  mica_tensor *all, *last;
  float back[2];
  ck_ok(mica_buffer_create(test_engine(), sizeof counting, &buffer));
  ck_ok(mica_tensor_wrap(buffer, 0, MICA_F32, MICA_SHAPE(6), &all));
  ck_ok(mica_tensor_wrap(buffer, 4 * sizeof(float), MICA_F32, MICA_SHAPE(2), &last));
  mica_buffer_destroy(buffer);
  ck_ok(mica_tensor_upload(test_queue(), all, counting, sizeof counting));
  mica_tensor_destroy(all);
  ck_ok(mica_tensor_download(test_queue(), last, back, sizeof back));
  expect_floats(back, counting + 4, 2);
  mica_tensor_destroy(last);
}
END_TEST

/* On a CPU a large buffer is memory of Mica's own. Whoever retained the driver's object still has what is in it. */
START_TEST(large_memory_lives_as_long_as_the_drivers_object) {
  static int32_t data[MICA__LARGE_BYTES / sizeof(int32_t) + 1000], back[sizeof data / sizeof *data];
  const mica_shape shape = MICA_SHAPE(sizeof data / sizeof *data);
  mica_tensor *tensor;
  mica_buffer *buffer;
  for (size_t i = 0; i < sizeof data / sizeof *data; i++) data[i] = (int32_t)(i * 2654435761u);
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, shape, data, &tensor));
  ck_ok(mica_buffer_wrap_opencl(test_engine(), mica_tensor_opencl(tensor, NULL), &buffer)); /* which retains it */
  mica_tensor_destroy(tensor);
  mica_engine_trim(test_engine());
  ck_ok(mica_tensor_wrap(buffer, 0, MICA_I32, shape, &tensor));
  mica_buffer_destroy(buffer);
  ck_ok(mica_tensor_download(test_queue(), tensor, back, sizeof back));
  ck_assert_mem_eq(back, data, sizeof back);
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(empty_tensor) {
  mica_tensor *tensor;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(2, 0), &tensor));
  ck_assert_uint_eq(mica_tensor_bytes(tensor), 0);
  ck_ok(mica_tensor_upload(test_queue(), tensor, NULL, 0));
  ck_ok(mica_tensor_download(test_queue(), tensor, NULL, 0));
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(what_does_not_fit_is_refused) {
  mica_tensor *tensor = make_counting(), *view;
  mica_buffer *buffer;
  float back[6];
  ck_assert_int_eq(mica_tensor_download(test_queue(), tensor, back, 5), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_upload(test_queue(), tensor, back, 25), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_view(tensor, MICA_SHAPE(4), NULL, 3, &view), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_view(tensor, MICA_SHAPE(4), NULL, -1, &view), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_view(tensor, MICA_SHAPE(2), (int64_t[]){6}, 0, &view), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_view(tensor, MICA_SHAPE(2), (int64_t[]){INT64_MAX - 1}, 1, &view), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_view(tensor, MICA_SHAPE(2), (int64_t[]){INT64_MAX}, 1, &view), MICA_E_OVERFLOW);
  ck_ok(mica_buffer_create(test_engine(), 8, &buffer));
  ck_assert_int_eq(mica_tensor_wrap(buffer, 8, MICA_F32, MICA_SHAPE(1), &view), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_wrap(buffer, 1, MICA_F32, MICA_SHAPE(1), &view), MICA_E_INVALID);
  ck_assert_int_eq(mica_tensor_wrap(buffer, SIZE_MAX - 3, MICA_F32, MICA_SHAPE(1), &view), MICA_E_INVALID);
  mica_buffer_destroy(buffer);
  mica_tensor_destroy(tensor);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused) {
  mica_tensor *tensor;
  mica_shape huge = MICA_SHAPE(INT64_MAX / 2, 3);
  ck_assert_int_eq(mica_tensor_create(test_engine(), MICA_F32, huge, &tensor), MICA_E_OVERFLOW);
  huge = MICA_SHAPE(INT64_MAX / 8, 7);
  ck_assert_int_ne(mica_tensor_create(test_engine(), MICA_F32, huge, &tensor), MICA_OK);
  ck_assert_int_ne(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(-1), &tensor), MICA_OK);
  /* No element, so nothing overflows. */
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(0, INT64_MAX, INT64_MAX), &tensor));
  ck_assert_uint_eq(mica_tensor_bytes(tensor), 0);
  ck_assert(mica_tensor_is_contiguous(tensor));
  mica_tensor_destroy(tensor);
}
END_TEST

TESTS(DEVICE, NULL, NULL, create_and_download, upload_lets_go_of_its_data_at_once, uploaded_bools_are_0_or_1,
      download_async, map_to_write_and_to_read, empty_tensor, view_outlives_its_base, a_kernel_stays_inside_its_view,
      transpose_is_a_view, tensors_share_a_buffer, large_memory_lives_as_long_as_the_drivers_object,
      what_does_not_fit_is_refused, sizes_that_overflow_are_refused)
