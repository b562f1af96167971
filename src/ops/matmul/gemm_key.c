/* Matrix products as text: the keys of the tuner's database, and problems that the tuner's command takes. */
#include "ops/matmul/gemm.h"

#include <inttypes.h>
#include <stdio.h>

static const char *layout_letter(int64_t outer, int64_t k, bool is_a) {
  int32_t layout = mica__gemm_layout(outer, k);
  if (layout == MICA__LAYOUT_ANY) return "s";
  return (layout == MICA__LAYOUT_K) == is_a ? "n" : "t";
}

void mica__gemm_key(const mica__gemm *g, char key[MICA__TUNING_TEXT]) {
  const bool tf32 = g->allow_tf32 && mica_tensor_dtype(g->a.tensor) == MICA_F32;
  snprintf(key, MICA__TUNING_TEXT, "gemm %s*%s>%s m%" PRId64 " n%" PRId64 " k%" PRId64 " %s%s x%" PRId64,
           tf32 ? "tf32" : mica_dtype_name(mica_tensor_dtype(g->a.tensor)),
           g->block ? mica_block_name(g->block) : mica_dtype_name(mica_tensor_dtype(g->b.tensor)),
           mica_dtype_name(mica_tensor_dtype(g->epilogue.d.tensor)), g->m, g->n, g->k,
           layout_letter(g->a.row, g->a.col, true), layout_letter(g->b.col, g->b.row, false), g->batches);
}

bool mica__gemm_tuner_problem(const mica__gemm *g, char problem[MICA__TUNING_TEXT]) {
  const char *a = layout_letter(g->a.row, g->a.col, true), *b = layout_letter(g->b.col, g->b.row, false);
  mica_dtype dtype = mica_tensor_dtype(g->a.tensor);
  if (*a == 's' || *b == 's' || mica_tensor_dtype(g->b.tensor) != dtype) return false;
  if (g->allow_tf32 && dtype == MICA_F32) return false;
  snprintf(problem, MICA__TUNING_TEXT, "gemm %" PRId64 ",%" PRId64 ",%" PRId64 ",%s%s,%s,x%" PRId64, g->m, g->n, g->k,
           a, b, mica_dtype_name(dtype), g->batches);
  return true;
}
