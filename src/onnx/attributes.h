/* onnx/attributes.h: checks a file's operators and attributes against the table of operators (ops/table.h). */
#ifndef MICA_ONNX_ATTRIBUTES_H
#define MICA_ONNX_ATTRIBUTES_H

#include "onnx/model.h"

/* Finds faults in the attributes of every node, also in bodies and functions: an attribute that the operator's version
 * lacks, that has the wrong type, that is required but missing, or that is given twice; and an operator set newer than
 * the newest supported one. MICA_E_UNSUPPORTED or MICA_E_FORMAT: the message names the fault. Skips operators that are
 * not supported and operators that the caller defines. An integer is accepted for a FLOAT of the same value. */
mica_status mica__onnx_check_attributes(const mica_onnx *model);
/* Checks that every operator is supported or defined by the caller; else MICA_E_UNSUPPORTED, and the message lists the
 * operators that are neither. */
mica_status mica__onnx_check_operators(const mica_onnx *model);

/* Returns an attribute's type as a number of AttributeProto, in old files deduced from its value; 0 if it has none. */
int32_t mica__onnx_attr_type(const Onnx__AttributeProto *attr);
/* Returns the name of a type, such as "INT". */
const char *mica__onnx_attr_type_name(int32_t type);
/* True if an attribute of type `type` can be used where `expected` is required; `attr` may be NULL. */
bool mica__onnx_attr_fits(int32_t type, const Onnx__AttributeProto *attr, int32_t expected);

#endif
