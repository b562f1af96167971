/* A dataset of numbers in memory, without a device. */
#include <mica/data.h>
#include <mica/run.h>
#include <stdio.h>

int main(void) {
  static const float numbers[6] = {1, 2, 3, 4, 5, 6};
  static const mica_column_data column = {
      .column = {.name = "x", .kind = MICA_COLUMN_KIND_NUMBER, .dtype = MICA_F32, .shape = {1, {2}}}, .data = numbers};
  mica_dataset *dataset = NULL;
  if (mica_dataset_create("numbers", 3, &column, 1, &dataset) != MICA_OK) {
    fprintf(stderr, "%s\n", mica_error_message());
    return 1;
  }
  const size_t count = mica_dataset_count(dataset);
  mica_dataset_destroy(dataset);
  return count == 3 && mica_task_name(0) ? 0 : 1;
}
