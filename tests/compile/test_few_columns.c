/* labels: null single
 *
 * Sums of few long columns on GPUs: work-items fill a device, as groups that share columns and in pieces. The test
 * counts them. */
#include "compile/fused_split.h"
#include "ops/select/registry.h"
#include "support/check_main.h"

#include <stdlib.h>

static const mica__fused_target gpu = {MICA__ON_GPU, 1024, 48 << 10};

static const struct {
  int64_t rows, columns;
} sums[] = {{401408, 64}, {100352, 64}, {100352, 256}, {25088, 128}, {6272, 1024}, {100352, 8}};

/* Work-items that a large GPU needs to hide the latency of its memory, and the fewest rows for which more are made. */
#define ENOUGH (32 << 10)
#define FEWEST_ROWS 8

START_TEST(columns_fill_a_device) {
  const int64_t rows = sums[_i].rows, columns = sums[_i].columns;
  mica__fused *fused = calloc(1, sizeof *fused);
  mica__fused_plan *plan = calloc(1, sizeof *plan);
  int32_t split = 0;
  int64_t chunk = 0;
  ck_assert(fused && plan);
  *fused = (mica__fused){.rank = 2,
                         .extent = {columns, rows},
                         .reduced = 1,
                         .count = 3,
                         .operand_count = 2,
                         .operand_dtype = {MICA_BF16, MICA_F32}};
  fused->instrs[0] = (mica__fused_instr){.kind = MICA__FUSED_LOAD, .dtype = MICA_BF16, .access.stride = {1, columns}};
  fused->instrs[1] =
      (mica__fused_instr){.kind = MICA__FUSED_REDUCE, .op = &mica__op_sum, .arg_count = 1, .dtype = MICA_F32};
  fused->instrs[2] = (mica__fused_instr){
      .kind = MICA__FUSED_STORE, .operand = 1, .args = {1}, .arg_count = 1, .dtype = MICA_F32, .access.stride = {1}};
  mica__fused_simplify(fused);
  ck_assert(mica__fused_plan_make(fused, &gpu, plan) == MICA_OK);
  int64_t pieces = 1;
  if (mica__fused_split_choose(fused, plan, &split, &chunk)) {
    pieces = mica__fused_split_pieces(fused, split, chunk);
    /* The plan of a piece is shared by the same groups. */
    fused->split = split;
    fused->chunk = chunk;
    ck_assert(mica__fused_plan_make(fused, &gpu, plan) == MICA_OK);
    ck_assert_int_eq(plan->chunks, pieces);
  }
  const int64_t items = plan->units * plan->group, stripes = plan->abreast ? plan->group / plan->abreast : 1;
  const int64_t most = columns / 8 * (rows / FEWEST_ROWS);
  ck_assert_msg(items >= (most < ENOUGH ? most : ENOUGH) / 2, "%lld work-items", (long long)items);
  ck_assert_int_ge(rows / pieces / stripes, MICA__FUSED_GPU_STEPS);
  free(fused);
  free(plan);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(columns_fill_a_device, 0, sizeof sums / sizeof *sums))
