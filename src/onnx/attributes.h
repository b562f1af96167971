/* onnx/attributes.h: checks a file's operators and attributes against the table of operators (ops/table.h). */
#ifndef MICA_ONNX_ATTRIBUTES_H
#define MICA_ONNX_ATTRIBUTES_H

#include "onnx/model.h"

/* Checks the attributes of every node, including nodes in bodies and functions. Skips operators that Mica does not
 * support and operators that the caller defines. Fails, with a message that names the fault, if
 *
 *   MICA_E_UNSUPPORTED  the operator's version has no such attribute, Mica does not support its value, or the
 *                       operator set is newer than the newest that Mica supports
 *   MICA_E_FORMAT       an attribute has the wrong type, is given twice, or is required but missing
 *
 * An integer of at most 2^24 in magnitude, which f32 holds exactly, is accepted where a FLOAT is required. */
mica_status mica__onnx_check_attributes(const mica_onnx *model);
/* Checks that Mica supports every operator, or that the caller defines it, and that no supported operator comes from a
 * set newer than the newest that Mica supports. Else MICA_E_UNSUPPORTED; the message lists the missing operators. */
mica_status mica__onnx_check_operators(const mica_onnx *model);

/* Returns an attribute's type as a number of ONNX's enum AttributeProto.AttributeType. Old files do not state the type:
 * it is then deduced from the value. 0 if there is no value either. */
int32_t mica__onnx_attr_type(const Onnx__AttributeProto *attr);
/* Returns the name of a type, such as "INT". */
const char *mica__onnx_attr_type_name(int32_t type);
/* True if an attribute of type `type` can be used where the type `expected` is required. attr is NULL if its value is
 * not known; any integer is then accepted for a float. Type 0, an empty list in an old file, fits every list. */
bool mica__onnx_attr_fits(int32_t type, const Onnx__AttributeProto *attr, int32_t expected);

#endif
