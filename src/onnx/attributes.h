/* onnx/attributes.h: what a file says of its operators beside what the table of operators knows (ops/table.h). */
#ifndef MICA_ONNX_ATTRIBUTES_H
#define MICA_ONNX_ATTRIBUTES_H

#include "onnx/model.h"

/* Checks the attributes of every node, in bodies and functions too: one that the operator's version lacks, one of
 * another type, one that is needed and missing, one that is given twice; and an operator set that is newer than the
 * newest that is supported. MICA_E_UNSUPPORTED or MICA_E_FORMAT with a sentence that names it. Operators that are not
 * supported, and those that the caller defines, are passed over. An integer may stand for the same FLOAT. */
mica_status mica__onnx_check_attributes(const mica_onnx *model);
/* Checks that every operator is supported or defined by the caller. MICA_E_UNSUPPORTED with a list of those that are
 * not. */
mica_status mica__onnx_check_operators(const mica_onnx *model);

/* The type of an attribute in a file, as AttributeProto numbers them; old files leave it to what is there. 0 for none.
 */
int32_t mica__onnx_attr_type(const Onnx__AttributeProto *attr);
/* "INT". */
const char *mica__onnx_attr_type_name(int32_t type);
/* True if an attribute of the type may be used where the other is expected; `attr` may be NULL. */
bool mica__onnx_attr_fits(int32_t type, const Onnx__AttributeProto *attr, int32_t expected);

#endif
