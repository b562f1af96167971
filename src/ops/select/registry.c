#include "ops/select/registry.h"

#define OP(name) &mica__op_##name,
const mica__op *const mica__ops[] = {
#include "ops/ops.def"
};
#undef OP

const size_t mica__op_count = sizeof mica__ops / sizeof *mica__ops;
