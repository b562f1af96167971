#include "compile/fused_plan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *mica__fused_expression(const mica__fused *fused, const mica__fused_instr *instr) {
  bool floating =
      instr->arg_count == 0 || mica_dtype_kind_of(fused->instrs[instr->args[0]].dtype) == MICA_DTYPE_KIND_FLOAT;
  if (!floating && instr->op->integer_expression) return instr->op->integer_expression;
  return instr->op->expression;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

bool mica__fused_uses(const char *expression, const char *name) {
  size_t n = strlen(name);
  for (const char *s = expression; (s = strstr(s, name)); s += n)
    if ((s == expression || !is_word(s[-1])) && !is_word(s[n])) return true;
  return false;
}

void mica__fused_name(const mica__fused *fused, char name[MICA__FUSED_NAME]) {
  size_t used = (size_t)snprintf(name, MICA__FUSED_NAME, "fused");
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind != MICA__FUSED_OP && instr->kind != MICA__FUSED_REDUCE) continue;
    if (used + 1 + strlen(instr->op->name) >= MICA__FUSED_NAME) return;
    used += (size_t)snprintf(name + used, MICA__FUSED_NAME - used, "_%s", instr->op->name);
  }
  if (!strcmp(name, "fused")) snprintf(name, MICA__FUSED_NAME, "fused_copy");
}
