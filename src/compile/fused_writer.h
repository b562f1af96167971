/* compile/fused_writer.h: functions that write the text of one kernel. fused_instr.c writes the instructions, and
 * fused_source.c the loops around them.
 *
 * Names in the text: i2 and n2 are the index and extent of dimension 2. For instruction 7, v7 is the value, x7 the
 * operand, x7_at its first element, x7_i where the current unit begins, x7_s2 its stride along dimension 2, r7 the
 * state of a join, c7 the row kept in local memory. */
#ifndef MICA_COMPILE_FUSED_WRITER_H
#define MICA_COMPILE_FUSED_WRITER_H

#include "compile/fused_plan.h"

typedef struct mica__fused_writer {
  const mica__fused *fused;
  const mica__fused_plan *plan;
  mica__text *out;
  int indent;
  int32_t width; /* lanes of the code being written: the plan's, or 1 in the remainder */
} mica__fused_writer;

/* A piece of a line; long enough for a bounded access along every dimension. */
typedef struct mica__term {
  char text[1024];
} mica__term;
void mica__term_add(mica__term *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a line. One that ends in "{" indents the following lines; one that begins with "}" ends the indentation. */
void mica__write_line(mica__fused_writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The OpenCL type in which values of this dtype are computed: "float16" for 16 lanes of MICA_F32 or MICA_F16, "float"
 * for one lane. */
const char *mica__write_type(mica_dtype dtype, int32_t width);

/* The number of lanes that the value of instruction k has in the code being written. */
int32_t mica__write_lanes(const mica__fused_writer *w, int32_t k);
/* True if lanes run along the row, so that a join has a state per lane, and the states of all lanes are combined at the
 * end. */
bool mica__write_in_row(const mica__fused_writer *w);

/* Writes the beginning of a kernel's text: includes, macros, and the function up to its first parameter. */
void mica__write_head(mica__fused_writer *w);
/* Writes an argument of the plan as a parameter, followed by `comma`. */
void mica__write_param(mica__fused_writer *w, const mica__fused_arg *arg, const char *comma);
/* The address space and element type of the memory that LOAD or STORE k accesses: "__global const STORAGE(f32)" for a
 * LOAD of f32. */
mica__term mica__write_space(const mica__fused_writer *w, int32_t k);
/* Writes the work of one unit with `width` lanes. If lanes belong to different rows, this is the work of `width`
 * rows. */
void mica__write_unit(mica__fused_writer *w, int32_t width);

/* Declares x7_i for each access 7: the index of its first element in the current unit. */
void mica__write_bases(mica__fused_writer *w);
/* Writes code that reads the loads for which mica__fused_is_transposed holds, 16 x 16 elements at a time, and
 * transposes them. */
void mica__write_transposed(mica__fused_writer *w);
/* Writes LOAD, OP, INDEX and STORE; nothing for VALUE, which is written where it is used. */
void mica__write_instr(mica__fused_writer *w, int32_t k);

/* For REDUCE k: the first arguments of the macros of common/combine.clh and of COMBINE_TAKE, such as "largest, f32". */
mica__term mica__write_join(const mica__fused_writer *w, int32_t k);
void mica__write_take(mica__fused_writer *w, int32_t k);

#endif
