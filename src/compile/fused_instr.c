#include "compile/fused_writer.h"

#include "base/number.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void mica__term_add(mica__term *t, const char *format, ...) {
  size_t used = strlen(t->text);
  va_list args;
  va_start(args, format);
  mica__vsnprintf(t->text + used, sizeof t->text - used, format, args);
  va_end(args);
}

void mica__write_line(mica__fused_writer *w, const char *format, ...) {
  char text[2048];
  va_list args;
  va_start(args, format);
  mica__vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (text[0] == '}') w->indent--;
  mica__text_addf(w->out, "%*s%s\n", 2 * w->indent, "", text);
  if (text[strlen(text) - 1] == '{') w->indent++;
}

/* True for types that are computed as uint or ulong. u8 is computed as int, which holds a product of two u8. It does
 * not hold a product of two u16. */
static bool is_unsigned(mica_dtype dtype) {
  return mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_UNSIGNED && dtype != MICA_U8;
}

const char *mica__write_type(mica_dtype dtype, int32_t width) {
#define WIDTHS(type)                                                                                                   \
  { type, type "2", type "4", type "8", type "16" }
  static const char *const names[][5] = {WIDTHS("int"),    WIDTHS("long"), WIDTHS("float"),
                                         WIDTHS("double"), WIDTHS("uint"), WIDTHS("ulong")};
#undef WIDTHS
  int log2 = 0, row = mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT ? 2 : is_unsigned(dtype) ? 4 : 0;
  while (width >> (log2 + 1)) log2++;
  return names[row + (mica_dtype_size(dtype) == 8)][log2];
}

/* A constant, either a literal or the argument `name`, as `width` lanes of dtype. */
static mica__term constant(mica_dtype dtype, int32_t width, double value, const char *name) {
  mica__term t = {""};
  /* A negative literal becomes 0, because a negative value that is passed as an argument saturates to 0. */
  if (mica__fused_is_literal(value) && is_unsigned(dtype) && value < 0) value = 0;
  if (mica__fused_is_literal(value))
    mica__term_add(&t, "((%s)(%.2f))", mica__write_type(dtype, width), value);
  else
    mica__term_add(&t, "((%s)(%s))", mica__write_type(dtype, width), name);
  return t;
}

int32_t mica__write_lanes(const mica__fused_writer *w, int32_t k) {
  return mica__fused_is_vector(w->plan, k) ? w->width : 1;
}

/* The value of instruction k as a vector of this number of lanes. */
static mica__term value_of(const mica__fused_writer *w, int32_t k, int32_t lanes) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica__term name = {""}, cast = {""};
  mica__term_add(&name, "v%d", (int)k);
  if (instr->kind == MICA__FUSED_VALUE) return constant(instr->dtype, lanes, instr->value, name.text);
  if (lanes == mica__write_lanes(w, k)) return name;
  mica__term_add(&cast, "((%s)(v%d))", mica__write_type(instr->dtype, lanes), (int)k);
  return cast;
}

/* Translates a word of the expression of OP k and adds it to the source: a, b, ... are the arguments, names of
 * attributes their values, K is the type in which the op computes, TRUTH and PICK are functions. Other words are added
 * as they are. */
static void add_word(mica__fused_writer *w, int32_t k, int32_t lanes, const char *word, size_t n) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  const mica__attr *attr = mica__attr_find(instr->op->attrs, word, n);
  mica_dtype first = instr->arg_count ? w->fused->instrs[instr->args[0]].dtype : instr->dtype;
  if (n == 1 && word[0] >= 'a' && word[0] < 'a' + instr->arg_count) {
    mica__text_add(w->out, value_of(w, instr->args[word[0] - 'a'], lanes).text);
  } else if (attr) {
    char name[64];
    snprintf(name, sizeof name, "v%d_%s", (int)k, attr->name);
    mica__text_add(w->out, constant(first, lanes, mica__attr_number(attr, instr->attrs), name).text);
  } else if (n == 1 && word[0] == 'K') {
    mica__text_addf(w->out, "(%s)", mica__write_type(first, lanes));
  } else if (n == 5 && !memcmp(word, "TRUTH", n)) {
    mica__text_add(w->out, "mica_truth");
  } else if (n == 4 && !memcmp(word, "PICK", n)) {
    mica__text_add(w->out, "mica_pick");
  } else {
    mica__text_add_bytes(w->out, word, n);
  }
}

/* The macro CONVERT(x) becomes CAST(from, to, lanes, x). */
static bool add_convert(mica__fused_writer *w, int32_t k, int32_t lanes, const char *word, size_t n) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  if (n != 7 || memcmp(word, "CONVERT", n) || word[n] != '(') return false;
  mica__text_addf(w->out, "CAST(%s, %s, %d, ", mica_dtype_name(w->fused->instrs[instr->args[0]].dtype),
                  mica_dtype_name(instr->dtype), (int)lanes);
  return true;
}

static void write_op(mica__fused_writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  int32_t lanes = mica__write_lanes(w, k);
  const char *narrow = instr->dtype == MICA_I8    ? "char"
                       : instr->dtype == MICA_U8  ? "uchar"
                       : instr->dtype == MICA_I16 ? "short"
                       : instr->dtype == MICA_U16 ? "ushort"
                                                  : NULL;
  mica__text_addf(w->out, "%*sconst %s v%d = ", 2 * w->indent, "", mica__write_type(instr->dtype, lanes), (int)k);
  /* Narrow integers are computed in int or uint, then wrapped to their own width. */
  if (narrow)
    mica__text_addf(w->out, "MICA_AS(%s, %d, MICA_AS(%s, %d, ", mica__write_type(instr->dtype, 1), (int)lanes, narrow,
                    (int)lanes);
  for (const char *s = mica__fused_expression(w->fused, instr); *s;) {
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_' || (n > 0 && s[n] == '.' && isdigit((unsigned char)s[0]))) n++;
    if (n == 0) {
      mica__text_add_bytes(w->out, s, 1);
    } else if (add_convert(w, k, lanes, s, n)) {
      n++;
    } else {
      add_word(w, k, lanes, s, n);
    }
    s += n ? n : 1;
  }
  mica__text_add(w->out, narrow ? "));\n" : ";\n");
}

/* The variable that an access steps along: a dimension's index, or the chunk's number if a STORE has one value per
 * chunk. */
static mica__term index_of(const mica__fused_writer *w, int32_t k, int32_t d) {
  bool chunk = w->fused->chunk && w->fused->instrs[k].kind == MICA__FUSED_STORE && d == w->plan->cut;
  mica__term t = {""};
  mica__term_add(&t, chunk ? "chunk" : "i%d", (int)d);
  return t;
}

/* Appends " + i2 * x7_s2" for the dimensions in the set. */
static void add_steps(const mica__fused_writer *w, int32_t k, uint32_t dims, mica__term *t) {
  const int64_t *stride = w->fused->instrs[k].access.stride;
  for (int32_t d = 0; d < w->fused->rank; d++) {
    if (!(dims >> d & 1) || stride[d] == 0) continue;
    mica__term index = index_of(w, k, d);
    mica__term_add(t, stride[d] == 1 ? " + %s" : " + %s * x%d_s%d", index.text, (int)k, (int)d);
  }
}

/* The address of LOAD or STORE k in the current loop: the base that mica__write_bases computes outside the loops, plus
 * the steps of the loops that the instruction is in. */
static mica__term address_of(const mica__fused_writer *w, int32_t k) {
  mica__term t = {""};
  mica__term_add(&t, "x%d_i", (int)k);
  if (w->plan->panel) add_steps(w, k, 1u << w->plan->lane, &t);
  if (mica__fused_is_inner(w->plan, k)) add_steps(w, k, w->plan->row, &t);
  return t;
}

void mica__write_bases(mica__fused_writer *w) {
  const mica__fused *fused = w->fused;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind != MICA__FUSED_LOAD && instr->kind != MICA__FUSED_STORE) continue;
    uint32_t outer = ~(w->plan->panel ? w->plan->row | 1u << w->plan->lane : w->plan->row);
    mica__term t = {""};
    if (instr->kind == MICA__FUSED_STORE && fused->chunk) outer |= 1u << w->plan->cut;
    add_steps(w, k, outer, &t);
    mica__write_line(w, "const long x%d_i = x%d_at%s;", (int)k, (int)k, t.text);
  }
}

/* "i1 >= x7_low1 && i1 < x7_high1 && ..." for the dimensions in the set `dims`; "1" if the set is empty. */
static mica__term bounds_of(const mica__fused_writer *w, int32_t k, uint32_t dims) {
  mica__term t = {""};
  for (int32_t d = 0; d < w->fused->rank; d++)
    if (dims >> d & 1)
      mica__term_add(&t, "%si%d >= x%d_low%d && i%d < x%d_high%d", t.text[0] ? " && " : "", (int)d, (int)k, (int)d,
                     (int)d, (int)k, (int)d);
  if (!dims) mica__term_add(&t, "1");
  return t;
}

/* The value of instruction k, converted to another dtype, as a vector of this number of lanes. */
static mica__term value_as(const mica__fused_writer *w, int32_t k, mica_dtype dtype, int32_t lanes) {
  mica_dtype from = w->fused->instrs[k].dtype;
  mica__term t = {""}, value = value_of(w, k, lanes);
  if (from == dtype) return value;
  mica__term_add(&t, "CAST(%s, %s, %d, %s)", mica_dtype_name(from), mica_dtype_name(dtype), (int)lanes, value.text);
  return t;
}

/* The elements of a LOAD, all within bounds. */
static mica__term read_of(const mica__fused_writer *w, int32_t k, int32_t lanes) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  const char *T = mica_dtype_name(w->fused->operand_dtype[instr->operand]);
  int32_t lane = w->plan->lane;
  mica__term t = {""}, address = address_of(w, k);
  if (lanes == 1 || instr->access.stride[lane] == 1)
    mica__term_add(&t, "%s(%s, %d, x%d, %s)", lanes > 1 && w->plan->aligned[k] ? "LOADVA" : "LOADV", T, (int)lanes,
                   (int)k, address.text);
  else
    mica__term_add(&t, "GATHER(%s, %d, x%d, %s, x%d_s%d)", T, (int)lanes, (int)k, address.text, (int)k, (int)lane);
  return t;
}

/* Like read_of, where some lanes may be out of bounds. */
static mica__term bounded_read(const mica__fused_writer *w, int32_t k, int32_t lanes) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica_dtype stored = w->fused->operand_dtype[instr->operand];
  int n = (int)lanes, lane = (int)w->plan->lane, x = (int)k;
  uint32_t bounds = mica__fused_bounds(w->fused, instr), lane_bit = lanes > 1 ? 1u << lane : 0;
  mica__term t = {""}, name = {""}, by = {""}, read = read_of(w, k, lanes), address = address_of(w, k);
  mica__term inside = bounds_of(w, k, bounds & ~lane_bit);
  mica__term_add(&name, "v%d_fill", x);
  mica__term fill = constant(stored, lanes, instr->value, name.text),
             one = constant(stored, 1, instr->value, name.text);
  if (instr->arg_count) fill = value_as(w, instr->args[0], stored, lanes);
  if (!(bounds & lane_bit)) {
    mica__term_add(&t, "%s ? %s : %s", inside.text, read.text, fill.text);
    return t;
  }
  int64_t step = instr->access.stride[lane];
  mica__term_add(&by, step == 0 ? "0" : step == 1 ? "1" : "x%d_s%d", x, lane);
  mica__term_add(&t, "!(%s) || i%d + %d <= x%d_low%d || i%d >= x%d_high%d ? %s : ", inside.text, lane, n, x, lane, lane,
                 x, lane, fill.text);
  if (step != 0)
    mica__term_add(&t, "i%d >= x%d_low%d && i%d + %d <= x%d_high%d ? %s : ", lane, x, lane, lane, n, x, lane,
                   read.text);
  if (instr->arg_count)
    mica__term_add(&t, "mica_pick(WITHIN(%d, i%d, x%d_low%d, x%d_high%d), ", n, lane, x, lane, x, lane);
  mica__term_add(&t, "GUARDED(%s, %d, x%d, %s, %s, i%d, x%d_low%d, x%d_high%d, %s)", mica_dtype_name(stored), n, x,
                 address.text, by.text, lane, x, lane, x, lane, one.text);
  if (instr->arg_count) mica__term_add(&t, ", %s)", fill.text);
  return t;
}

static void write_load(mica__fused_writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica_dtype dtype = instr->dtype, stored = w->fused->operand_dtype[instr->operand];
  int32_t lanes = mica__write_lanes(w, k);
  if (lanes > 1 && mica__fused_is_transposed(w->fused, w->plan, k)) {
    mica__write_line(w, "const float16 v%d = t%d[i%d - tile_begin];", (int)k, (int)k, (int)w->plan->inner);
    return;
  }
  mica__term read = mica__fused_bounds(w->fused, instr) ? bounded_read(w, k, lanes) : read_of(w, k, lanes);
  if (dtype == stored)
    mica__write_line(w, "const %s v%d = %s;", mica__write_type(dtype, lanes), (int)k, read.text);
  else
    mica__write_line(w, "const %s v%d = CAST(%s, %s, %d, (%s));", mica__write_type(dtype, lanes), (int)k,
                     mica_dtype_name(stored), mica_dtype_name(dtype), (int)lanes, read.text);
}

void mica__write_transposed(mica__fused_writer *w) {
  int row = (int)w->plan->inner, lane = (int)w->plan->lane;
  for (int k = 0; k < w->fused->count; k++) {
    if (!mica__fused_is_transposed(w->fused, w->plan, k)) continue;
    mica__write_line(w, "float16 t%d[16];", k);
    mica__write_line(w, "if (tile_end - tile_begin == 16) {");
    mica__write_line(w, "_Pragma(\"unroll\") for (int j = 0; j < 16; j++)");
    mica__write_line(w, "  t%d[j] = LOADV(f32, 16, x%d, x%d_i + (i%d + j) * x%d_s%d + tile_begin);", k, k, k, lane, k,
                     lane);
    mica__write_line(w, "mica_transpose16(t%d);", k);
    mica__write_line(w, "} else {");
    mica__write_line(w, "for (index_t i%d = tile_begin; i%d < tile_end; i%d++)", row, row, row);
    mica__write_line(w, "  t%d[i%d - tile_begin] = %s;", k, row, read_of(w, k, w->width).text);
    mica__write_line(w, "}");
  }
}

static void write_store(mica__fused_writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica_dtype stored = w->fused->operand_dtype[instr->operand];
  const char *T = mica_dtype_name(stored);
  int lane = (int)w->plan->lane, lanes = (int)mica__write_lanes(w, k), x = (int)k;
  mica__term address = address_of(w, k), value = value_as(w, instr->args[0], stored, lanes);
  if (lanes == 1 || instr->access.stride[lane] == 1)
    mica__write_line(w, "%s(%s, %d, %s, x%d, %s);", lanes > 1 && w->plan->aligned[k] ? "STOREVA" : "STOREV", T, lanes,
                     value.text, x, address.text);
  else
    mica__write_line(w, "SCATTER(%s, %d, %s, x%d, %s, x%d_s%d);", T, lanes, value.text, x, address.text, x, lane);
}

/* The dtype in which a join computes: the result's, unless the result is an index. */
static mica_dtype join_dtype(const mica__fused_writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  return instr->op->join >= MICA__JOIN_ARGMAX ? w->fused->instrs[instr->args[0]].dtype : instr->dtype;
}

mica__term mica__write_join(const mica__fused_writer *w, int32_t k) {
  static const char *const names[] = {"none", "total", "product", "largest", "smallest", "largest_at", "smallest_at"};
  mica__term t = {""};
  mica__term_add(&t, "%s, %s", names[w->fused->instrs[k].op->join], mica_dtype_name(join_dtype(w, k)));
  return t;
}

bool mica__write_in_row(const mica__fused_writer *w) { return w->plan->lane >= w->plan->inner && w->plan->width > 1; }

/* The index of an element within its row, counted in row-major order. */
static mica__term row_index(const mica__fused_writer *w) {
  mica__term t = {""};
  for (int32_t d = w->plan->inner; d < w->fused->rank; d++) {
    mica__term inner = t;
    t.text[0] = '\0';
    if (inner.text[0]) mica__term_add(&t, "(%s) * n%d + ", inner.text, (int)d);
    mica__term_add(&t, "i%d", (int)d);
  }
  return t;
}

void mica__write_take(mica__fused_writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica_dtype dtype = join_dtype(w, k), index = mica_dtype_size(dtype) == 8 ? MICA_I64 : MICA_I32;
  bool apart = mica__write_in_row(w) && w->width > 1;
  int lanes = (int)(mica__write_in_row(w) ? w->width : mica__write_lanes(w, k));
  mica__term at = {""}, flat = row_index(w), value = value_as(w, instr->args[0], dtype, lanes);
  if (apart)
    mica__term_add(&at, "RAMP(%s, %d, %s)", mica__write_type(index, 1), lanes, flat.text);
  else
    mica__term_add(&at, "(%s)(%s)", mica__write_type(index, lanes), flat.text);
  mica__write_line(w, "COMBINE_TAKE(%s, %d, r%d%s, %s, %s);", mica__write_join(w, k).text, lanes, (int)k,
                   apart ? "w" : "", value.text, at.text);
}

void mica__write_instr(mica__fused_writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  int32_t lanes = mica__write_lanes(w, k);
  switch (instr->kind) {
  case MICA__FUSED_LOAD: write_load(w, k); break;
  case MICA__FUSED_OP: write_op(w, k); break;
  case MICA__FUSED_STORE: write_store(w, k); break;
  case MICA__FUSED_INDEX:
    if (lanes > 1)
      mica__write_line(w, "const long%d v%d = RAMP(long, %d, i%d);", (int)lanes, (int)k, (int)lanes,
                       (int)instr->operand);
    else
      mica__write_line(w, "const long v%d = i%d;", (int)k, (int)instr->operand);
    break;
  default: break; /* VALUE is written where it is used */
  }
}
