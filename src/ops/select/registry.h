/* ops/select/registry.h: the list of all ops. */
#ifndef MICA_OPS_SELECT_REGISTRY_H
#define MICA_OPS_SELECT_REGISTRY_H

#include "ir/op.h"

#include <stddef.h>

#define OP(name) extern const mica__op mica__op_##name;
#include "ops/ops.def"
#undef OP

extern const mica__op *const mica__ops[];
extern const size_t mica__op_count;

#endif
