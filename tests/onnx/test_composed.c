/* labels: device single
 *
 * Operators that are made of several of Mica's, beside loops in double. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/onnx_node.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

/* --- diagonals of Einsum --- */

/* A row: the equation, the operand's dimensions, the result's, and for each axis of the operand the axis of the result
 * along which it is read (-1: the one that is summed). */
static const struct {
  const char *equation;
  int64_t x[6], y[4];
  int axis[5];
} einsums[] = {
    {"ii->i", {5, 5, -1}, {5, -1}, {0, 0}},
    {"ii", {5, 5, -1}, {-1}, {-1, -1}},
    {"...ii->...i", {3, 2, 4, 4, -1}, {3, 2, 4, -1}, {0, 1, 2, 2}},
    {"...ii", {3, 4, 4, -1}, {3, -1}, {0, -1, -1}},
    {"aibi->ba", {2, 4, 3, 4, -1}, {3, 2, -1}, {1, -1, 0, -1}},
    {"iijj->ji", {3, 3, 4, 4, -1}, {4, 3, -1}, {1, 1, 0, 0}},
    {"iaibi->iab", {3, 2, 3, 4, 3, -1}, {3, 2, 4, -1}, {0, 1, 0, 2, 0}},
    {"aii->ai", {2, 1, 1, -1}, {2, 1, -1}, {0, 1, 1}},
    {"aii->a", {2, 0, 0, -1}, {2, -1}, {0, -1, -1}},
};

START_TEST(a_letter_twice_takes_the_diagonal) {
  for (size_t c = 0; c < sizeof einsums / sizeof *einsums; c++) {
    float x[216], got[24] = {0};
    double want[24] = {0};
    int64_t summed = 1, count = 1;
    for (int i = 0; i < 216; i++) x[i] = noise(i);
    for (int k = 0; einsums[c].x[k] >= 0; k++)
      if (einsums[c].axis[k] < 0) summed = einsums[c].x[k];
    for (int k = 0; einsums[c].y[k] >= 0; k++) count *= einsums[c].y[k];
    for (int64_t r = 0; r < count * summed; r++) {
      int64_t at[4], rest = r / summed, from = 0;
      int rank = 0;
      while (einsums[c].y[rank] >= 0) rank++;
      for (int k = rank - 1; k >= 0; k--) at[k] = rest % einsums[c].y[k], rest /= einsums[c].y[k];
      for (int k = 0; einsums[c].x[k] >= 0; k++)
        from = from * einsums[c].x[k] + (einsums[c].axis[k] < 0 ? r % summed : at[einsums[c].axis[k]]);
      want[r / summed] += (double)x[from];
    }
    operand operands[] = {{"x", FLOAT, {0}, x}, {0}};
    memcpy(operands[0].dims, einsums[c].x, sizeof einsums[c].x);
    run_node("Einsum x > y", 12, (const attribute[]){TEXT("equation", einsums[c].equation), {0}}, operands, count,
             sizeof *got, got);
    for (int64_t i = 0; i < count; i++)
      ck_assert_msg(fabs((double)got[i] - want[i]) <= 1e-6, "%s: element %d is %g, not %g", einsums[c].equation, (int)i,
                    (double)got[i], want[i]);
  }
}
END_TEST

Suite *test_suite(void) {
#if !MICA_WITH_ONNX
  return test_skip("this build has no protobuf-c");
#endif
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("onnx composed");
  TCase *tests = tcase_create("onnx composed");
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, a_letter_twice_takes_the_diagonal);
  suite_add_tcase(suite, tests);
  return suite;
}
