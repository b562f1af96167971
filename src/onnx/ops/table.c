#include "onnx/ops/table.h"

#include <string.h>

#define ONNX_OP(domain, name, since, function) MICA__LOWER(function);
#include <onnx_ops.h>
#undef ONNX_OP

static const mica__onnx_op table[] = {
#define ONNX_OP(domain, name, since, function) {domain, name, since, mica__onnx_##function},
#include <onnx_ops.h>
#undef ONNX_OP
};

const mica__onnx_op *mica__onnx_op_find(const char *domain, const char *name, int64_t version) {
  const mica__onnx_op *found = NULL;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const mica__onnx_op *op = &table[i];
    if (op->since > version || (found && found->since >= op->since)) continue;
    if (!strcmp(op->name, name) && !strcmp(op->domain, domain)) found = op;
  }
  return found;
}
