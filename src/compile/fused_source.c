#include "compile/fused_plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes the text of one kernel. Names in it: i2 and n2 are index and extent of dimension 2; of instruction 7 v7 is the
 * value, x7 the operand with x7_at its first element and x7_s2 its stride, r7 the state of a join, c7 the cache. */
typedef struct writer {
  const mica__fused *fused;
  const mica__fused_plan *plan;
  mica__text *out;
  int indent;
  int32_t width; /* lanes of the code that is being written: the plan's, or 1 in what is left over */
} writer;

/* A piece of a line; long enough for a bounded access along every dimension. */
typedef struct term {
  char text[1024];
} term;

static void append(term *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(term *t, const char *format, ...) {
  size_t used = strlen(t->text);
  va_list args;
  va_start(args, format);
  vsnprintf(t->text + used, sizeof t->text - used, format, args);
  va_end(args);
}

static void line(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(writer *w, const char *format, ...) {
  char text[2048];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (text[0] == '}') w->indent--;
  mica__text_addf(w->out, "%*s%s\n", 2 * w->indent, "", text);
  if (text[strlen(text) - 1] == '{') w->indent++;
}

/* "float16" for MICA_F16 and 16 lanes; without a number for one lane. */
static const char *type_of(mica_dtype dtype, int32_t width) {
#define WIDTHS(type)                                                                                                   \
  { type, type "2", type "4", type "8", type "16" }
  static const char *const names[][5] = {WIDTHS("int"), WIDTHS("long"), WIDTHS("float"), WIDTHS("double")};
#undef WIDTHS
  int log2 = 0, row = mica_dtype_kind_of(dtype) == MICA_KIND_FLOAT ? 2 : 0;
  while (width >> (log2 + 1)) log2++;
  return names[row + (mica_dtype_size(dtype) == 8)][log2];
}

/* A constant, which is a literal or the argument `name`, as so many lanes of dtype. */
static term constant(mica_dtype dtype, int32_t width, double value, const char *name) {
  term t = {""};
  if (mica__fused_is_literal(value))
    append(&t, "((%s)(%.2f))", type_of(dtype, width), value);
  else
    append(&t, "((%s)(%s))", type_of(dtype, width), name);
  return t;
}

static int32_t lanes_of(const writer *w, int32_t k) { return mica__fused_is_vector(w->plan, k) ? w->width : 1; }

/* The value of instruction k as so many lanes. */
static term value_of(const writer *w, int32_t k, int32_t lanes) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  term name = {""}, cast = {""};
  append(&name, "v%d", (int)k);
  if (instr->kind == MICA__FUSED_VALUE) return constant(instr->dtype, lanes, instr->value, name.text);
  if (lanes == lanes_of(w, k)) return name;
  append(&cast, "((%s)(v%d))", type_of(instr->dtype, lanes), (int)k);
  return cast;
}

/* Word `word` of the expression of OP k as text; what is no name of the vocabulary stays as it is. */
static void add_word(writer *w, int32_t k, int32_t lanes, const char *word, size_t n) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica_dtype first = instr->arg_count ? w->fused->instrs[instr->args[0]].dtype : instr->dtype;
  if (n == 1 && word[0] >= 'a' && word[0] < 'a' + instr->arg_count) {
    mica__text_add(w->out, value_of(w, instr->args[word[0] - 'a'], lanes).text);
  } else if (n == 2 && (word[0] == 'r' || word[0] == 'i') && word[1] >= '0' && word[1] < '4') {
    int index = word[1] - '0';
    char name[32];
    snprintf(name, sizeof name, "v%d_%.2s", (int)k, word);
    double value = word[0] == 'r' ? instr->attrs.reals[index] : (double)instr->attrs.ints[index];
    mica__text_add(w->out, constant(first, lanes, value, name).text);
  } else if (n == 1 && word[0] == 'K') {
    mica__text_addf(w->out, "(%s)", type_of(first, lanes));
  } else if (n == 5 && !memcmp(word, "TRUTH", n)) {
    mica__text_add(w->out, "mica_truth");
  } else if (n == 4 && !memcmp(word, "PICK", n)) {
    mica__text_add(w->out, "mica_pick");
  } else {
    mica__text_add_bytes(w->out, word, n);
  }
}

/* The macro CONVERT(x) becomes CAST(from, to, lanes, x). */
static bool add_convert(writer *w, int32_t k, int32_t lanes, const char *word, size_t n) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  if (n != 7 || memcmp(word, "CONVERT", n) || word[n] != '(') return false;
  mica__text_addf(w->out, "CAST(%s, %s, %d, ", mica_dtype_name(w->fused->instrs[instr->args[0]].dtype),
                  mica_dtype_name(instr->dtype), (int)lanes);
  return true;
}

static void write_op(writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  int32_t lanes = lanes_of(w, k);
  const char *narrow = instr->dtype == MICA_I8    ? "char"
                       : instr->dtype == MICA_U8  ? "uchar"
                       : instr->dtype == MICA_I16 ? "short"
                                                  : NULL;
  mica__text_addf(w->out, "%*sconst %s v%d = ", 2 * w->indent, "", type_of(instr->dtype, lanes), (int)k);
  /* Arithmetic of narrow integers is done in int, and wraps as if it were not. */
  if (narrow) mica__text_addf(w->out, "MICA_AS(int, %d, MICA_AS(%s, %d, ", (int)lanes, narrow, (int)lanes);
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

/* What an access steps along: a dimension's index, or the chunk's number where a STORE has one value a chunk. */
static term index_of(const writer *w, int32_t k, int32_t d) {
  bool chunk = w->fused->chunk && w->fused->instrs[k].kind == MICA__FUSED_STORE && d == w->plan->cut;
  term t = {""};
  append(&t, chunk ? "chunk" : "i%d", (int)d);
  return t;
}

/* Appends " + i2 * x7_s2" for the dimensions in the set. */
static void add_steps(const writer *w, int32_t k, uint32_t dims, term *t) {
  const int64_t *stride = w->fused->instrs[k].access.stride;
  for (int32_t d = 0; d < w->fused->rank; d++) {
    if (!(dims >> d & 1) || stride[d] == 0) continue;
    term index = index_of(w, k, d);
    append(t, stride[d] == 1 ? " + %s" : " + %s * x%d_s%d", index.text, (int)k, (int)d);
  }
}

/* Where the access of LOAD or STORE k stands, from what is known outside of the loops. */
static term place_of(const writer *w, int32_t k) {
  term t = {""};
  append(&t, "x%d_i", (int)k);
  if (mica__fused_is_inner(w->plan, k)) add_steps(w, k, w->plan->row, &t);
  return t;
}

static void write_bases(writer *w) {
  const mica__fused *fused = w->fused;
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind != MICA__FUSED_LOAD && instr->kind != MICA__FUSED_STORE) continue;
    uint32_t outer = ~w->plan->row;
    term t = {""};
    if (instr->kind == MICA__FUSED_STORE && fused->chunk) outer |= 1u << w->plan->cut;
    add_steps(w, k, outer, &t);
    line(w, "const long x%d_i = x%d_at%s;", (int)k, (int)k, t.text);
  }
}

/* "i1 >= x7_low1 && i1 < x7_high1 && ..." for the dimensions in the set; "1" for none. */
static term bounds_of(const writer *w, int32_t k, uint32_t dims) {
  term t = {""};
  for (int32_t d = 0; d < w->fused->rank; d++)
    if (dims >> d & 1)
      append(&t, "%si%d >= x%d_low%d && i%d < x%d_high%d", t.text[0] ? " && " : "", (int)d, (int)k, (int)d, (int)d,
             (int)k, (int)d);
  if (!dims) append(&t, "1");
  return t;
}

/* The elements of a LOAD, all of which are there. */
static term read_of(const writer *w, int32_t k, int32_t lanes) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  const char *T = mica_dtype_name(w->fused->operand_dtype[instr->operand]);
  int32_t lane = w->plan->lane;
  term t = {""}, place = place_of(w, k);
  if (lanes == 1 || instr->access.stride[lane] == 1)
    append(&t, "LOADV(%s, %d, x%d, %s)", T, (int)lanes, (int)k, place.text);
  else
    append(&t, "GATHER(%s, %d, x%d, %s, x%d_s%d)", T, (int)lanes, (int)k, place.text, (int)k, (int)lane);
  return t;
}

/* The same where some may lie outside of the bounds. */
static term bounded_read(const writer *w, int32_t k, int32_t lanes) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica_dtype stored = w->fused->operand_dtype[instr->operand];
  int n = (int)lanes, lane = (int)w->plan->lane, x = (int)k;
  uint32_t bounds = mica__fused_bounds(w->fused, instr), lane_bit = lanes > 1 ? 1u << lane : 0;
  term t = {""}, name = {""}, by = {""}, read = read_of(w, k, lanes), place = place_of(w, k);
  term inside = bounds_of(w, k, bounds & ~lane_bit);
  append(&name, "v%d_fill", x);
  term fill = constant(stored, lanes, instr->value, name.text), one = constant(stored, 1, instr->value, name.text);
  if (!(bounds & lane_bit)) {
    append(&t, "%s ? %s : %s", inside.text, read.text, fill.text);
    return t;
  }
  int64_t step = instr->access.stride[lane];
  append(&by, step == 0 ? "0" : step == 1 ? "1" : "x%d_s%d", x, lane);
  append(&t, "!(%s) ? %s : ", inside.text, fill.text);
  if (step != 0)
    append(&t, "i%d >= x%d_low%d && i%d + %d <= x%d_high%d ? %s : ", lane, x, lane, lane, n, x, lane, read.text);
  append(&t, "GUARDED(%s, %d, x%d, %s, %s, i%d, x%d_low%d, x%d_high%d, %s)", mica_dtype_name(stored), n, x, place.text,
         by.text, lane, x, lane, x, lane, one.text);
  return t;
}

static void write_load(writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica_dtype dtype = instr->dtype, stored = w->fused->operand_dtype[instr->operand];
  int32_t lanes = lanes_of(w, k);
  term read = mica__fused_bounds(w->fused, instr) ? bounded_read(w, k, lanes) : read_of(w, k, lanes);
  if (dtype == stored)
    line(w, "const %s v%d = %s;", type_of(dtype, lanes), (int)k, read.text);
  else
    line(w, "const %s v%d = CAST(%s, %s, %d, (%s));", type_of(dtype, lanes), (int)k, mica_dtype_name(stored),
         mica_dtype_name(dtype), (int)lanes, read.text);
}

/* The value of instruction k, of its own dtype, as so many lanes of another. */
static term value_as(const writer *w, int32_t k, mica_dtype dtype, int32_t lanes) {
  mica_dtype from = w->fused->instrs[k].dtype;
  term t = {""}, value = value_of(w, k, lanes);
  if (from == dtype) return value;
  append(&t, "CAST(%s, %s, %d, %s)", mica_dtype_name(from), mica_dtype_name(dtype), (int)lanes, value.text);
  return t;
}

static void write_store(writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica_dtype stored = w->fused->operand_dtype[instr->operand];
  const char *T = mica_dtype_name(stored);
  int lane = (int)w->plan->lane, lanes = (int)lanes_of(w, k), x = (int)k;
  term place = place_of(w, k), value = value_as(w, instr->args[0], stored, lanes);
  if (lanes == 1 || instr->access.stride[lane] == 1)
    line(w, "STOREV(%s, %d, %s, x%d, %s);", T, lanes, value.text, x, place.text);
  else
    line(w, "SCATTER(%s, %d, %s, x%d, %s, x%d_s%d);", T, lanes, value.text, x, place.text, x, lane);
}

static const char *join_name(const mica__fused_instr *instr) {
  static const char *const names[] = {"none", "total", "product", "largest", "smallest", "largest_at", "smallest_at"};
  return names[instr->op->join];
}

/* The dtype whose arithmetic a join is done in: the result's, where it is not an index. */
static mica_dtype join_dtype(const writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  return instr->op->join >= MICA__JOIN_ARGMAX ? w->fused->instrs[instr->args[0]].dtype : instr->dtype;
}

/* Whether lanes run along the row, so that a join has a state of its own in each lane, to be folded in the end. */
static bool lanes_in_row(const writer *w) { return w->plan->lane >= w->plan->inner && w->plan->width > 1; }

/* The index of an element within its row, counted in row-major order. */
static term row_index(const writer *w) {
  term t = {""};
  for (int32_t d = w->plan->inner; d < w->fused->rank; d++) {
    term inner = t;
    t.text[0] = '\0';
    if (inner.text[0]) append(&t, "(%s) * n%d + ", inner.text, (int)d);
    append(&t, "i%d", (int)d);
  }
  return t;
}

static void write_take(writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica_dtype dtype = join_dtype(w, k), index = mica_dtype_size(dtype) == 8 ? MICA_I64 : MICA_I32;
  bool apart = lanes_in_row(w) && w->width > 1;
  int lanes = (int)(lanes_in_row(w) ? w->width : lanes_of(w, k));
  term at = {""}, flat = row_index(w), value = value_as(w, instr->args[0], dtype, lanes);
  if (apart)
    append(&at, "RAMP(%s, %d, %s)", type_of(index, 1), lanes, flat.text);
  else
    append(&at, "(%s)(%s)", type_of(index, lanes), flat.text);
  line(w, "JOIN_TAKE(%s, %s, %d, r%d%s, %s, %s);", join_name(instr), mica_dtype_name(dtype), lanes, (int)k,
       apart ? "w" : "", value.text, at.text);
}

static void write_instr(writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  int32_t lanes = lanes_of(w, k);
  switch (instr->kind) {
  case MICA__FUSED_LOAD: write_load(w, k); break;
  case MICA__FUSED_OP: write_op(w, k); break;
  case MICA__FUSED_STORE: write_store(w, k); break;
  case MICA__FUSED_INDEX:
    if (lanes > 1)
      line(w, "const long%d v%d = RAMP(long, %d, i%d);", (int)lanes, (int)k, (int)lanes, (int)instr->operand);
    else
      line(w, "const long v%d = i%d;", (int)k, (int)instr->operand);
    break;
  default: break; /* VALUE stands where it is used */
  }
}

/* What is done for one place of walk `walk`. */
static void write_body(writer *w, int32_t walk) {
  const mica__fused *fused = w->fused;
  const mica__fused_plan *plan = w->plan;
  bool needed[MICA__FUSED_INSTRS];
  mica__fused_needed(fused, plan, walk, needed);
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (!needed[k]) continue;
    int32_t lanes = lanes_of(w, k);
    if (instr->kind == MICA__FUSED_REDUCE) {
      write_take(w, k);
    } else if (plan->cached[k] >= 0 && plan->cached[k] < walk) {
      line(w, "const %s v%d = MICA_VLOAD(%d, c%d, i%d);", type_of(instr->dtype, lanes), (int)k, (int)lanes, (int)k,
           (int)plan->lane);
    } else {
      write_instr(w, k);
      if (plan->cached[k] == walk)
        line(w, "MICA_VSTORE(%d, v%d, c%d, i%d);", (int)lanes, (int)k, (int)k, (int)plan->lane);
    }
  }
}

/* The loops over the inner dimensions but that of the lanes; brackets are closed by the caller. */
static int32_t open_loops(writer *w) {
  const mica__fused_plan *plan = w->plan;
  int32_t opened = 0;
  for (int32_t d = plan->inner; d < w->fused->rank; d++) {
    if (d == plan->lane || plan->tile) continue;
    opened++;
    if (d == plan->cut)
      line(w, "for (index_t i%d = begin; i%d < end; i%d++) {", (int)d, (int)d, (int)d);
    else
      line(w, "for (index_t i%d = 0; i%d < n%d; i%d++) {", (int)d, (int)d, (int)d, (int)d);
  }
  return opened;
}

/* The body, within the loop over a tile where there is one. */
static void write_tile(writer *w, int32_t walk) {
  int d = (int)w->plan->inner;
  if (w->plan->tile) line(w, "for (index_t i%d = tile_begin; i%d < tile_end; i%d++) {", d, d, d);
  write_body(w, walk);
  if (w->plan->tile) line(w, "}");
}

/* The loops along the lanes' dimension: whole vectors, then what is left over. */
static void write_lane_loops(writer *w, int32_t walk) {
  const mica__fused_plan *plan = w->plan;
  int d = (int)plan->lane, width = (int)plan->width, group = (int)plan->group;
  char lo[16] = "0", hi[16];
  snprintf(hi, sizeof hi, plan->cut == d ? "end" : "n%d", d);
  if (plan->cut == d) snprintf(lo, sizeof lo, "begin");
  w->width = plan->width;
  if (group > 1)
    line(w, "index_t i%d = %s + item * %d;", d, lo, width);
  else
    line(w, "index_t i%d = %s;", d, lo);
  line(w, "for (; i%d + %d <= %s; i%d += %d) {", d, width, hi, d, width * group);
  write_tile(w, walk);
  line(w, "}");
  if (width == 1) return;
  w->width = 1;
  if (group > 1)
    line(w, "for (i%d = %s - (%s - %s) %% %d + item; i%d < %s; i%d += %d) {", d, hi, hi, lo, width, d, hi, d, group);
  else
    line(w, "for (; i%d < %s; i%d++) {", d, hi, d);
  write_tile(w, walk);
  line(w, "}");
}

/* One walk over the inner dimensions. */
static void write_walk(writer *w, int32_t walk) {
  const mica__fused *fused = w->fused;
  const mica__fused_plan *plan = w->plan;
  for (int32_t k = 0; k < fused->count; k++) {
    if (fused->instrs[k].kind != MICA__FUSED_REDUCE || plan->level[k] != walk + 1) continue;
    const char *X
    = join_name(&fused->instrs[k]), *T = mica_dtype_name(join_dtype(w, k));
    line(w, "JOIN_STATE(%s, %s, %d, r%d);", X, T, (int)lanes_of(w, k), (int)k);
    if (lanes_in_row(w)) line(w, "JOIN_STATE(%s, %s, %d, r%dw);", X, T, (int)plan->width, (int)k);
  }
  line(w, "{");
  int32_t opened = open_loops(w), width = w->width;
  if (plan->lane >= plan->inner)
    write_lane_loops(w, walk);
  else
    write_body(w, walk);
  w->width = width;
  for (; opened > 0; opened--) line(w, "}");
  line(w, "}");
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind != MICA__FUSED_REDUCE || plan->level[k] != walk + 1) continue;
    const char *X
    = join_name(instr), *T = mica_dtype_name(join_dtype(w, k)), *to = mica_dtype_name(instr->dtype);
    int lanes = (int)lanes_of(w, k);
    if (lanes_in_row(w)) line(w, "JOIN_FOLD(%s, %s, %d, r%dw, r%d);", X, T, (int)plan->width, (int)k, (int)k);
    if (plan->group > 1) line(w, "JOIN_SHARE(%s, %s, r%d);", X, T, (int)k);
    const char *type = type_of(instr->dtype, lanes);
    if (instr->op->join >= MICA__JOIN_ARGMAX)
      line(w, "const %s v%d = CAST(i64, %s, %d, JOIN_RESULT(%s, %s, %d, r%d));", type, (int)k, to, lanes, X, T, lanes,
           (int)k);
    else
      line(w, "const %s v%d = JOIN_RESULT(%s, %s, %d, r%d);", type, (int)k, X, T, lanes, (int)k);
  }
}

/* A unit's work, with so many lanes where they belong to different rows. */
static void write_unit(writer *w, int32_t width) {
  const mica__fused *fused = w->fused;
  const mica__fused_plan *plan = w->plan;
  w->width = width;
  write_bases(w);
  for (int32_t walk = 0; walk <= plan->walks; walk++) {
    for (int32_t k = 0; k < fused->count; k++) {
      mica__fused_kind kind = fused->instrs[k].kind;
      bool now = plan->level[k] == walk && kind != MICA__FUSED_REDUCE && kind != MICA__FUSED_STORE;
      if (now && !mica__fused_is_inner(plan, k)) write_instr(w, k);
    }
    if (walk < plan->walks) write_walk(w, walk);
  }
  for (int32_t k = 0; k < fused->count; k++) {
    if (fused->instrs[k].kind != MICA__FUSED_STORE || mica__fused_is_inner(plan, k)) continue;
    if (plan->group > 1) line(w, "if (item == 0)");
    write_store(w, k);
  }
}

/* Declares `name` as the part of the unit's number that counts up to `count`; the last part is all that is left. */
static void write_part(writer *w, const char *name, const char *count, bool last) {
  line(w, last ? "const index_t %s = rest;" : "const index_t %s = rest %% %s;", name, count);
  if (!last) line(w, "rest /= %s;", count);
}

/* Turns the unit's number into block of lanes, chunk, tile and outer indices, in this order. */
static void write_decode(writer *w) {
  const mica__fused_plan *plan = w->plan;
  bool across = plan->lane >= 0 && plan->lane < plan->inner;
  int32_t last = plan->lane == 0 ? 1 : 0; /* the outermost dimension that is counted */
  bool dims = last < plan->inner;
  line(w, "index_t rest = unit;");
  if (across) {
    term count = {""};
    append(&count, "((n%d + %d) / %d)", (int)plan->lane, (int)plan->width - 1, (int)plan->width);
    write_part(w, "block", count.text, !dims && plan->cut < 0);
  }
  if (plan->cut >= 0) {
    write_part(w, "chunk", "chunks", !dims && !plan->tile);
    line(w, "const index_t begin = chunk * steps;");
    line(w, "const index_t end = min(begin + steps, n%d);", (int)plan->cut);
  }
  if (plan->tile) {
    term count = {""};
    append(&count, "((n%d + %d) / %d)", (int)plan->inner, (int)plan->tile - 1, (int)plan->tile);
    write_part(w, "tile", count.text, !dims);
    line(w, "const index_t tile_begin = tile * %d;", (int)plan->tile);
    line(w, "const index_t tile_end = min(tile_begin + %d, n%d);", (int)plan->tile, (int)plan->inner);
  }
  for (int32_t d = plan->inner - 1; d >= 0; d--) {
    if (d == plan->lane) continue;
    term name = {""}, count = {""};
    append(&name, "i%d", (int)d);
    append(&count, "n%d", (int)d);
    write_part(w, name.text, count.text, d == last);
  }
}

static void write_kernel_body(writer *w) {
  const mica__fused_plan *plan = w->plan;
  if (plan->group > 1) {
    line(w, "const int item = get_local_id(0);");
    for (int32_t k = 0; k < w->fused->count; k++)
      if (w->fused->instrs[k].kind == MICA__FUSED_REDUCE)
        line(w, "JOIN_LOCAL(%s, %s, r%d);", join_name(&w->fused->instrs[k]), mica_dtype_name(join_dtype(w, k)), (int)k);
    line(w, "{");
    line(w, "const index_t unit = get_group_id(0);");
  } else {
    line(w, "const index_t first = (index_t)get_global_id(0) * per;");
    line(w, "const index_t last = min(first + per, units);");
    line(w, "for (index_t unit = first; unit < last; unit++) {");
  }
  write_decode(w);
  if (plan->lane >= 0 && plan->lane < plan->inner) {
    int d = (int)plan->lane;
    line(w, "index_t i%d = block * %d;", d, (int)plan->width);
    line(w, "if (i%d + %d <= n%d) {", d, (int)plan->width, d);
    write_unit(w, plan->width);
    line(w, "} else {");
    line(w, "for (; i%d < n%d; i%d++) {", d, d, d);
    write_unit(w, 1);
    line(w, "}");
    line(w, "}");
  } else {
    write_unit(w, 1);
  }
  line(w, "}");
}

static void write_params(writer *w) {
  const mica__fused *fused = w->fused;
  for (int32_t i = 0; i < w->plan->arg_count; i++) {
    const mica__fused_arg *arg = &w->plan->args[i];
    const mica__fused_instr *instr = &fused->instrs[arg->instr];
    int k = (int)arg->instr, d = (int)arg->index;
    const char *comma = i + 1 < w->plan->arg_count ? "," : ") {", *type = type_of(instr->dtype, 1);
    mica_dtype first = instr->arg_count ? fused->instrs[instr->args[0]].dtype : instr->dtype;
    mica_dtype stored = fused->operand_dtype[instr->operand];
    switch (arg->kind) {
    case MICA__FUSED_ARG_UNITS: line(w, "const index_t units%s", comma); break;
    case MICA__FUSED_ARG_PER: line(w, "const index_t per%s", comma); break;
    case MICA__FUSED_ARG_CHUNK: line(w, "const index_t steps%s", comma); break;
    case MICA__FUSED_ARG_CHUNKS: line(w, "const index_t chunks%s", comma); break;
    case MICA__FUSED_ARG_EXTENT: line(w, "const index_t n%d%s", d, comma); break;
    case MICA__FUSED_ARG_POINTER:
      line(w, "__global %sSTORAGE(%s) *x%d, const long x%d_at%s", instr->kind == MICA__FUSED_LOAD ? "const " : "",
           mica_dtype_name(stored), k, k, comma);
      break;
    case MICA__FUSED_ARG_STRIDE: line(w, "const long x%d_s%d%s", k, d, comma); break;
    case MICA__FUSED_ARG_LOW: line(w, "const long x%d_low%d%s", k, d, comma); break;
    case MICA__FUSED_ARG_HIGH: line(w, "const long x%d_high%d%s", k, d, comma); break;
    case MICA__FUSED_ARG_VALUE:
      if (instr->kind == MICA__FUSED_LOAD)
        line(w, "const %s v%d_fill%s", type_of(stored, 1), k, comma);
      else
        line(w, "const %s v%d%s", type, k, comma);
      break;
    case MICA__FUSED_ARG_REAL: line(w, "const %s v%d_r%d%s", type_of(first, 1), k, d, comma); break;
    case MICA__FUSED_ARG_INT: line(w, "const %s v%d_i%d%s", type_of(first, 1), k, d, comma); break;
    case MICA__FUSED_ARG_CACHE: line(w, "__local %s *c%d%s", type, k, comma); break;
    }
  }
}

mica_status mica__fused_write(const mica__fused *fused, const mica__fused_plan *plan, mica__text *source) {
  writer w = {.fused = fused, .plan = plan, .out = source};
  char name[MICA__FUSED_NAME];
  mica__fused_name(fused, name);
  line(&w, "#define MICA_WIDTH %d", (int)plan->width);
  line(&w, "#define GROUP %d", (int)plan->group);
  line(&w, "#include \"common/math.clh\"");
  line(&w, "#include \"common/cast.clh\"");
  line(&w, "#include \"common/strided.clh\"");
  line(&w, "#include \"common/join.clh\"");
  line(&w, "typedef %s index_t;", plan->wide ? "long" : "int");
  line(&w, "__kernel __attribute__((reqd_work_group_size(%d, 1, 1))) void %s(", (int)plan->local, name);
  w.indent = 2;
  write_params(&w);
  w.indent = 1;
  write_kernel_body(&w);
  line(&w, "}");
  return mica__text_status(source);
}

mica_status mica__fused_source(const mica__fused *fused, unsigned device_class, mica__text *source) {
  mica__fused *simple = malloc(sizeof *simple);
  mica__fused_plan *plan = malloc(sizeof *plan);
  mica_status status = simple && plan ? MICA_OK : mica__fail_nomem("a fused kernel");
  if (status == MICA_OK) {
    *simple = *fused;
    mica__fused_simplify(simple);
    status = mica__fused_plan_make(simple, device_class, plan);
  }
  if (status == MICA_OK) status = mica__fused_write(simple, plan, source);
  free(plan);
  free(simple);
  return status;
}
