/* The size to which pictures of different sizes are scaled. */
#include "data/picture/image.h"

#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

bool mica__sizes_find_usual(const int32_t (*sizes)[2], size_t count, int32_t usual[2]) {
  int32_t sides[MICA__MOST_INSPECTED];
  if (count > MICA__MOST_INSPECTED) count = MICA__MOST_INSPECTED;
  for (size_t i = 0; i < count; i++) {
    size_t same = 0;
    for (size_t k = 0; k < count; k++) same += sizes[k][0] == sizes[i][0] && sizes[k][1] == sizes[i][1];
    memcpy(usual, sizes[i], sizeof sizes[i]);
    if (2 * same >= count) return true;
  }
  for (int side = 0; side < 2 && count; side++) {
    for (size_t i = 0; i < count; i++) sides[i] = sizes[i][side];
    qsort(sides, count, sizeof *sides, by_number);
    usual[side] = sides[count / 2];
  }
  return false;
}
