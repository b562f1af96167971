/* compile/composite.h: values that are computed directly into the memory of a larger value, so that concatenating them
 * needs no copy.
 *
 * A composite is one block of memory. It holds the result of a concatenation, and its operands as parts of the result.
 * Each operand must be contiguous in the result, as in a concatenation along the first axis, or along the channels of
 * one image. A composite can hold the results of several concatenations that share operands, as when one begins with
 * the same values as another. So every byte belongs to one operand that a step computes, and to all concatenations that
 * contain this operand. */
#ifndef MICA_COMPILE_COMPOSITE_H
#define MICA_COMPILE_COMPOSITE_H

#include "compile/slabs.h"
#include "compile/template.h"

typedef struct mica__composites {
  int32_t *of;     /* by id - 1: the node's composite, from 1; 0 for a value with memory of its own */
  int64_t *offset; /* by id - 1: bytes from the start of the composite */
  bool *joined;    /* by id - 1: a concatenation that needs no copy, because all its operands are computed into it */
  int64_t *bytes;  /* by composite - 1 */
  int32_t count;
} mica__composites;

/* Finds the composites of a template in its final form. Their parts begin at multiples of the slabs' alignment, and no
 * composite is larger than a slab. */
mica_status mica__composites_find(const mica__template *template, const mica__slabs *slabs, mica__composites *found);
void mica__composites_free(mica__composites *composites);

#endif
