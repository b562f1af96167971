#include "compile/fused_writer.h"

#include <stdio.h>
#include <stdlib.h>

/* The longest body, in instructions, that is unrolled. A longer body uses most registers even without unrolling. */
#define UNROLL_MOST 32

/* Writes the body of walk `walk` for one index. */
static void write_body(mica__fused_writer *w, int32_t walk) {
  const mica__fused *fused = w->fused;
  const mica__fused_plan *plan = w->plan;
  bool needed[MICA__FUSED_INSTRS];
  mica__fused_needed(fused, plan, walk, needed);
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (!needed[k]) continue;
    int32_t lanes = mica__write_lanes(w, k);
    if (instr->kind == MICA__FUSED_REDUCE) {
      mica__write_take(w, k);
    } else if (plan->cached[k] >= 0 && plan->cached[k] < walk) {
      mica__write_line(w, "const %s v%d = MICA_VLOAD(%d, c%d, i%d);", mica__write_type(instr->dtype, lanes), (int)k,
                       (int)lanes, (int)k, (int)plan->lane);
    } else {
      mica__write_instr(w, k);
      if (plan->cached[k] == walk)
        mica__write_line(w, "MICA_VSTORE(%d, v%d, c%d, i%d);", (int)lanes, (int)k, (int)k, (int)plan->lane);
    }
  }
}

/* Unrolls a short body, so that each work-item of a group loads several vectors at once. */
static void write_unroll(mica__fused_writer *w, int32_t walk) {
  bool needed[MICA__FUSED_INSTRS];
  int32_t count = 0;
  mica__fused_needed(w->fused, w->plan, walk, needed);
  for (int32_t k = 0; k < w->fused->count; k++) count += needed[k];
  if (count <= UNROLL_MOST) mica__write_line(w, "_Pragma(\"unroll 4\")");
}

/* Opens the loops over the inner dimensions other than `lane`. Returns how many it opened; the caller closes their
 * brackets. */
static int32_t open_loops(mica__fused_writer *w, int32_t walk) {
  const mica__fused_plan *plan = w->plan;
  int32_t opened = 0;
  for (int32_t d = plan->inner; d < w->fused->rank; d++) {
    if (d == plan->lane || plan->tile) continue;
    opened++;
    if (plan->abreast && d == plan->striped) {
      char end[16];
      snprintf(end, sizeof end, d == plan->cut ? "end" : "n%d", (int)d);
      if (d + 1 == w->fused->rank) write_unroll(w, walk);
      mica__write_line(w, "for (index_t i%d = %sstripe; i%d < %s; i%d += GROUP / ABREAST) {", (int)d,
                       d == plan->cut ? "begin + " : "", (int)d, end, (int)d);
    } else if (d == plan->cut)
      mica__write_line(w, "for (index_t i%d = begin; i%d < end; i%d++) {", (int)d, (int)d, (int)d);
    else
      mica__write_line(w, "for (index_t i%d = 0; i%d < n%d; i%d++) {", (int)d, (int)d, (int)d, (int)d);
  }
  return opened;
}

/* Writes the body, inside the loop over a tile if there is one. */
static void write_tile(mica__fused_writer *w, int32_t walk) {
  int d = (int)w->plan->inner;
  if (w->plan->tile && w->width > 1) mica__write_transposed(w);
  if (w->plan->tile) mica__write_line(w, "for (index_t i%d = tile_begin; i%d < tile_end; i%d++) {", d, d, d);
  write_body(w, walk);
  if (w->plan->tile) mica__write_line(w, "}");
}

/* Writes a group's loop over a row of two dimensions. Along the second one there are `count` vectors of w->width lanes,
 * beginning at index `from`. The vectors of the whole row are numbered; work-item i takes vectors i, i + GROUP, i + 2 *
 * GROUP, ... */
static void write_flat_loop(mica__fused_writer *w, int32_t walk, const char *from, const char *count) {
  const mica__fused_plan *plan = w->plan;
  int d = (int)plan->lane, p = (int)plan->inner;
  const char *lo = plan->cut == p ? "begin" : "0";
  char hi[16];
  snprintf(hi, sizeof hi, plan->cut == p ? "end" : "n%d", p);
  mica__write_line(w, "if (%s > 0) {", count);
  mica__write_line(w, "const index_t all = (%s - %s) * %s, lines = GROUP / %s, over = GROUP %% %s;", hi, lo, count,
                   count, count);
  mica__write_line(w, "index_t i%d = %s + item / %s, at = item %% %s;", p, lo, count, count);
  write_unroll(w, walk);
  mica__write_line(w, "for (index_t n = item; n < all; n += GROUP) {");
  mica__write_line(w, "const index_t i%d = %s + at * %d;", d, from, (int)w->width);
  write_body(w, walk);
  mica__write_line(w, "at += over;");
  mica__write_line(w, "i%d += lines + (at >= %s ? 1 : 0);", p, count);
  mica__write_line(w, "at -= at >= %s ? %s : 0;", count, count);
  mica__write_line(w, "}");
  mica__write_line(w, "}");
}

static void write_flat(mica__fused_writer *w, int32_t walk) {
  const mica__fused_plan *plan = w->plan;
  bool cut = plan->cut == plan->lane;
  char hi[16];
  snprintf(hi, sizeof hi, cut ? "end" : "n%d", (int)plan->lane);
  w->width = plan->width;
  mica__write_line(w, "const index_t vectors = (%s - %s) / %d;", hi, cut ? "begin" : "0", (int)plan->width);
  write_flat_loop(w, walk, cut ? "begin" : "0", "vectors");
  if (plan->width == 1) return;
  w->width = 1;
  mica__write_line(w, "const index_t rest_from = %s + vectors * %d, left = %s - rest_from;", cut ? "begin" : "0",
                   (int)plan->width, hi);
  write_flat_loop(w, walk, "rest_from", "left");
}

/* Keeps a CPU's compiler from vectorizing the loop that follows, which has fewer steps than a vector has lanes. The
 * attempt would take an eighth of the compile time of a generated kernel. */
static void write_short_loop(mica__fused_writer *w) {
  if (w->plan->target.device_class == MICA__ON_CPU)
    mica__write_line(w, "_Pragma(\"clang loop vectorize(disable) unroll(disable)\")");
}

/* Writes the loops along the lanes' dimension: whole vectors, then the remainder. */
static void write_lane_loops(mica__fused_writer *w, int32_t walk) {
  const mica__fused_plan *plan = w->plan;
  int d = (int)plan->lane, width = (int)plan->width, group = (int)plan->group;
  char lo[16] = "0", hi[16];
  snprintf(hi, sizeof hi, plan->cut == d ? "end" : "n%d", d);
  if (plan->cut == d) snprintf(lo, sizeof lo, "begin");
  w->width = plan->width;
  if (group > 1)
    mica__write_line(w, "index_t i%d = %s + item * %d;", d, lo, width);
  else
    mica__write_line(w, "index_t i%d = %s;", d, lo);
  if (group > 1) write_unroll(w, walk);
  mica__write_line(w, "for (; i%d + %d <= %s; i%d += %d) {", d, width, hi, d, width * group);
  write_tile(w, walk);
  mica__write_line(w, "}");
  if (width == 1) return;
  w->width = 1;
  write_short_loop(w);
  if (group > 1)
    mica__write_line(w, "for (i%d = %s - (%s - %s) %% %d + item; i%d < %s; i%d += %d) {", d, hi, hi, lo, width, d, hi,
                     d, group);
  else
    mica__write_line(w, "for (; i%d < %s; i%d++) {", d, hi, d);
  write_tile(w, walk);
  mica__write_line(w, "}");
}

/* True if instruction k is a join that is computed in walk `walk`. */
static bool joins_in(const mica__fused_writer *w, int32_t k, int32_t walk) {
  return w->fused->instrs[k].kind == MICA__FUSED_REDUCE && w->plan->level[k] == walk + 1;
}

static void write_result(mica__fused_writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  int lanes = (int)mica__write_lanes(w, k);
  const char *type = mica__write_type(instr->dtype, lanes), *to = mica_dtype_name(instr->dtype);
  if (instr->op->join >= MICA__JOIN_ARGMAX)
    mica__write_line(w, "const %s v%d = CAST(i64, %s, %d, COMBINE_RESULT(%s, %d, r%d));", type, (int)k, to, lanes,
                     mica__write_join(w, k).text, lanes, (int)k);
  else
    mica__write_line(w, "const %s v%d = COMBINE_RESULT(%s, %d, r%d);", type, (int)k, mica__write_join(w, k).text, lanes,
                     (int)k);
}

/* Writes one walk over the inner dimensions. */
static void write_walk(mica__fused_writer *w, int32_t walk) {
  const mica__fused_plan *plan = w->plan;
  int32_t count = w->fused->count, width = w->width;
  for (int32_t k = 0; k < count; k++) {
    if (!joins_in(w, k, walk)) continue;
    mica__write_line(w, "COMBINE_STATE(%s, %d, r%d);", mica__write_join(w, k).text, (int)mica__write_lanes(w, k),
                     (int)k);
    if (mica__write_in_row(w))
      mica__write_line(w, "COMBINE_STATE(%s, %d, r%dw);", mica__write_join(w, k).text, (int)plan->width, (int)k);
  }
  mica__write_line(w, "{");
  int32_t opened = plan->flat ? 0 : open_loops(w, walk);
  if (plan->flat)
    write_flat(w, walk);
  else if (plan->lane >= plan->inner)
    write_lane_loops(w, walk);
  else
    write_body(w, walk);
  w->width = width;
  for (; opened > 0; opened--) mica__write_line(w, "}");
  mica__write_line(w, "}");
  for (int32_t k = 0; k < count; k++) {
    if (!joins_in(w, k, walk)) continue;
    if (mica__write_in_row(w))
      mica__write_line(w, "COMBINE_FOLD(%s, %d, r%dw, r%d);", mica__write_join(w, k).text, (int)plan->width, (int)k,
                       (int)k);
    if (plan->abreast)
      mica__write_line(w, "COMBINE_COLUMNS(%s, %d, r%d);", mica__write_join(w, k).text, (int)mica__write_lanes(w, k),
                       (int)k);
    else if (plan->group > 1)
      mica__write_line(w, "COMBINE_SHARE(%s, r%d);", mica__write_join(w, k).text, (int)k);
    write_result(w, k);
  }
}

/* Writes the values per row that can be computed before walk `walk`. `same` selects the values that are equal in all
 * lanes, `differing` values that differ between lanes. */
static void write_row_values(mica__fused_writer *w, int32_t walk, bool same, bool differing) {
  for (int32_t k = 0; k < w->fused->count; k++) {
    mica__fused_kind kind = w->fused->instrs[k].kind;
    bool now = w->plan->level[k] == walk && kind != MICA__FUSED_REDUCE && kind != MICA__FUSED_STORE;
    bool wanted = mica__fused_is_vector(w->plan, k) ? differing : same;
    if (now && wanted && !mica__fused_is_inner(w->plan, k)) mica__write_instr(w, k);
  }
}

static void write_rows(mica__fused_writer *w, int32_t walk) { write_row_values(w, walk, true, true); }

static void write_row_stores(mica__fused_writer *w) {
  for (int32_t k = 0; k < w->fused->count; k++) {
    if (w->fused->instrs[k].kind != MICA__FUSED_STORE || mica__fused_is_inner(w->plan, k)) continue;
    if (w->plan->group > 1) mica__write_line(w, "if (%s == 0) {", w->plan->abreast ? "stripe" : "item");
    mica__write_instr(w, k);
    if (w->plan->group > 1) mica__write_line(w, "}");
  }
}

/* Writes the work of a unit whose lanes belong to many rows. The states of their joins are in arrays with one element
 * per block of lanes. Each step along the row updates all of them, so it reads memory in order. */
static void write_panel(mica__fused_writer *w) {
  const mica__fused_plan *plan = w->plan;
  int d = (int)plan->lane, width = (int)plan->width, count = (int)w->fused->count;
  w->width = plan->width;
  for (int k = 0; k < count; k++)
    if (joins_in(w, k, 0))
      mica__write_line(w, "COMBINE_ARRAY(%s, %d, r%d, %d);", mica__write_join(w, k).text, (int)mica__write_lanes(w, k),
                       k, (int)plan->panel);
  write_row_values(w, 0, true, false); /* both loops over the lanes use these values */
  int32_t opened = open_loops(w, 0);
  mica__write_line(w, "for (index_t b = 0, i%d = lane_begin; i%d < lane_end; b++, i%d += %d) {", d, d, d, width);
  for (int k = 0; k < count; k++)
    if (joins_in(w, k, 0))
      mica__write_line(w, "COMBINE_GET(%s, %d, r%d, b);", mica__write_join(w, k).text, (int)mica__write_lanes(w, k), k);
  write_body(w, 0);
  for (int k = 0; k < count; k++)
    if (joins_in(w, k, 0))
      mica__write_line(w, "COMBINE_PUT(%s, %d, r%d, b);", mica__write_join(w, k).text, (int)mica__write_lanes(w, k), k);
  mica__write_line(w, "}");
  for (; opened > 0; opened--) mica__write_line(w, "}");
  mica__write_line(w, "for (index_t b = 0, i%d = lane_begin; i%d < lane_end; b++, i%d += %d) {", d, d, d, width);
  write_row_values(w, 0, false, true);
  for (int k = 0; k < count; k++) {
    if (!joins_in(w, k, 0)) continue;
    mica__write_line(w, "COMBINE_GET(%s, %d, r%d, b);", mica__write_join(w, k).text, (int)mica__write_lanes(w, k), k);
    write_result(w, k);
  }
  write_rows(w, 1);
  write_row_stores(w);
  mica__write_line(w, "}");
}

void mica__write_unit(mica__fused_writer *w, int32_t width) {
  w->width = width;
  if (!w->plan->panel) mica__write_bases(w);
  for (int32_t walk = 0; walk <= w->plan->walks; walk++) {
    write_rows(w, walk);
    if (walk < w->plan->walks) write_walk(w, walk);
  }
  write_row_stores(w);
}

/* Writes units whose lanes belong to different rows: code for full blocks of `width` rows, and scalar code for the
 * remaining rows. */
static void write_blocks(mica__fused_writer *w) {
  const mica__fused_plan *plan = w->plan;
  int d = (int)plan->lane, width = (int)plan->width;
  if (plan->panel) {
    mica__write_line(w, "const index_t lane_begin = block * %d;", width * (int)plan->panel);
    mica__write_line(w, "const index_t lane_last = min(lane_begin + %d, n%d);", width * (int)plan->panel, d);
    mica__write_line(w, "const index_t lane_end = lane_last - (lane_last - lane_begin) %% %d;", width);
    mica__write_bases(w);
    mica__write_line(w, "{");
    write_panel(w);
    mica__write_line(w, "}");
    write_short_loop(w);
    mica__write_line(w, "for (index_t i%d = lane_end; i%d < lane_last; i%d++) {", d, d, d);
    mica__write_unit(w, 1);
    mica__write_line(w, "}");
    return;
  }
  if (plan->abreast) {
    mica__write_line(w, "const int stripe = item / ABREAST;");
    mica__write_line(w, "const index_t i%d = (block * ABREAST + item %% ABREAST) * %d;", d, width);
    mica__write_unit(w, width);
    return;
  }
  mica__write_line(w, "index_t i%d = block * %d;", d, width);
  mica__write_line(w, "if (i%d + %d <= n%d) {", d, width, d);
  mica__write_unit(w, plan->width);
  mica__write_line(w, "} else {");
  write_short_loop(w);
  mica__write_line(w, "for (; i%d < n%d; i%d++) {", d, d, d);
  mica__write_unit(w, 1);
  mica__write_line(w, "}");
  mica__write_line(w, "}");
}

/* Takes one index from the unit's number: declares `name` as rest % count and divides `rest` by count. The last index
 * is the whole rest. */
static void write_part(mica__fused_writer *w, const char *name, const char *count, bool last) {
  mica__write_line(w, last ? "const index_t %s = rest;" : "const index_t %s = rest %% %s;", name, count);
  if (!last) mica__write_line(w, "rest /= %s;", count);
}

/* Splits the unit's number into the block of lanes, chunk, tile and outer indices, in this order. */
static void write_decode(mica__fused_writer *w) {
  const mica__fused_plan *plan = w->plan;
  bool across = plan->lane >= 0 && plan->lane < plan->inner;
  /* The outermost dimension that has an index of its own; the index of the lanes is part of `block`. */
  int32_t last = plan->lane == 0 ? 1 : 0;
  bool dims = last < plan->inner;
  mica__write_line(w, "index_t rest = unit;");
  if (across) {
    mica__term count = {""};
    int width = (int)mica__fused_block(plan);
    mica__term_add(&count, "((n%d + %d) / %d)", (int)plan->lane, width - 1, width);
    write_part(w, "block", count.text, !dims && plan->cut < 0);
  }
  if (plan->cut >= 0) {
    write_part(w, "chunk", "chunks", !dims && !plan->tile);
    mica__write_line(w, "const index_t begin = chunk * steps;");
    mica__write_line(w, "const index_t end = min(begin + steps, n%d);", (int)plan->cut);
  }
  if (plan->tile) {
    mica__term count = {""};
    mica__term_add(&count, "((n%d + %d) / %d)", (int)plan->inner, (int)plan->tile - 1, (int)plan->tile);
    write_part(w, "tile", count.text, !dims);
    mica__write_line(w, "const index_t tile_begin = tile * %d;", (int)plan->tile);
    mica__write_line(w, "const index_t tile_end = min(tile_begin + %d, n%d);", (int)plan->tile, (int)plan->inner);
  }
  for (int32_t d = plan->inner - 1; d >= 0; d--) {
    if (d == plan->lane) continue;
    mica__term name = {""}, count = {""};
    mica__term_add(&name, "i%d", (int)d);
    mica__term_add(&count, "n%d", (int)d);
    write_part(w, name.text, count.text, d == last);
  }
}

/* Declares the local memory for join k of a group. */
static void write_local(mica__fused_writer *w, int32_t k) {
  const int32_t lanes = mica__fused_is_vector(w->plan, k) ? w->plan->width : 1;
  if (w->plan->abreast)
    mica__write_line(w, "COMBINE_COLUMNS_LOCAL(%s, %d, r%d);", mica__write_join(w, k).text, (int)lanes, (int)k);
  else
    mica__write_line(w, "COMBINE_LOCAL(%s, r%d);", mica__write_join(w, k).text, (int)k);
}

static void write_kernel_body(mica__fused_writer *w) {
  const mica__fused_plan *plan = w->plan;
  if (plan->group > 1) {
    mica__write_line(w, "const int item = get_local_id(0);");
    for (int32_t k = 0; k < w->fused->count; k++)
      if (w->fused->instrs[k].kind == MICA__FUSED_REDUCE) write_local(w, k);
    mica__write_line(w, "{");
    mica__write_line(w, "const index_t unit = get_group_id(0);");
  } else {
    mica__write_line(w, "const index_t first = (index_t)get_global_id(0) * per;");
    mica__write_line(w, "const index_t last = min(first + per, units);");
    mica__write_line(w, "for (index_t unit = first; unit < last; unit++) {");
  }
  write_decode(w);
  if (plan->lane >= 0 && plan->lane < plan->inner)
    write_blocks(w);
  else
    mica__write_unit(w, 1);
  mica__write_line(w, "}");
}

void mica__write_param(mica__fused_writer *w, const mica__fused_arg *arg, const char *comma) {
  const mica__fused_instr *instr = &w->fused->instrs[arg->instr];
  int k = (int)arg->instr, d = (int)arg->index;
  const char *type = mica__write_type(instr->dtype, 1);
  mica_dtype first = instr->arg_count ? w->fused->instrs[instr->args[0]].dtype : instr->dtype;
  mica_dtype stored = w->fused->operand_dtype[instr->operand];
  switch (arg->kind) {
  case MICA__FUSED_ARG_UNITS: mica__write_line(w, "const index_t units%s", comma); break;
  case MICA__FUSED_ARG_PER: mica__write_line(w, "const index_t per%s", comma); break;
  case MICA__FUSED_ARG_CHUNK: mica__write_line(w, "const index_t steps%s", comma); break;
  case MICA__FUSED_ARG_CHUNKS: mica__write_line(w, "const index_t chunks%s", comma); break;
  case MICA__FUSED_ARG_EXTENT: mica__write_line(w, "const index_t n%d%s", d, comma); break;
  case MICA__FUSED_ARG_POINTER:
    mica__write_line(w, "%s *%sx%d, const long x%d_at%s", mica__write_space(w, k).text,
                     w->plan->alone[k] ? "restrict " : "", k, k, comma);
    break;
  case MICA__FUSED_ARG_STRIDE: mica__write_line(w, "const long x%d_s%d%s", k, d, comma); break;
  case MICA__FUSED_ARG_LOW: mica__write_line(w, "const long x%d_low%d%s", k, d, comma); break;
  case MICA__FUSED_ARG_HIGH: mica__write_line(w, "const long x%d_high%d%s", k, d, comma); break;
  case MICA__FUSED_ARG_VALUE:
    if (instr->kind == MICA__FUSED_LOAD)
      mica__write_line(w, "const %s v%d_fill%s", mica__write_type(stored, 1), k, comma);
    else
      mica__write_line(w, "const %s v%d%s", type, k, comma);
    break;
  case MICA__FUSED_ARG_ATTR:
    mica__write_line(w, "const %s v%d_%s%s", mica__write_type(first, 1), k, instr->op->attrs->rows[d].name, comma);
    break;
  case MICA__FUSED_ARG_CACHE: mica__write_line(w, "__local %s *c%d%s", type, k, comma); break;
  }
}

mica__term mica__write_space(const mica__fused_writer *w, int32_t k) {
  const mica__fused_instr *instr = &w->fused->instrs[k];
  mica__term t = {""};
  mica__term_add(&t, "__global %sSTORAGE(%s)", instr->kind == MICA__FUSED_LOAD ? "const " : "",
                 mica_dtype_name(w->fused->operand_dtype[instr->operand]));
  return t;
}

/* Several kernels' texts may be joined to one program, so each text undefines and redefines its macros. */
void mica__write_head(mica__fused_writer *w) {
  const mica__fused *fused = w->fused;
  const mica__fused_plan *plan = w->plan;
  char name[MICA__FUSED_NAME];
  mica__fused_name(fused, name);
  mica__write_line(w, "#define MICA_WIDTH 1");
  mica__write_line(w, "#include \"common/math.clh\"");
  mica__write_line(w, "#include \"common/cast.clh\"");
  mica__write_line(w, "#include \"common/strided.clh\"");
  mica__write_line(w, "#include \"common/combine%s.clh\"", plan->abreast ? "_columns" : "");
  for (int32_t k = 0, transposed = 0; k < fused->count && !transposed; k++) {
    transposed = mica__fused_is_transposed(fused, plan, k);
    if (transposed) mica__write_line(w, "#include \"common/transpose.clh\"");
  }
  if (plan->width > 1) {
    mica__write_line(w, "#ifndef MICA_MATH_%d", (int)plan->width);
    mica__write_line(w, "#define MICA_MATH_%d", (int)plan->width);
    mica__write_line(w, "MICA_MATH_OF(%d)", (int)plan->width);
    mica__write_line(w, "#endif");
  }
  mica__write_line(w, "#undef GROUP");
  mica__write_line(w, "#define GROUP %d", (int)plan->group);
  if (plan->abreast) {
    mica__write_line(w, "#undef ABREAST");
    mica__write_line(w, "#define ABREAST %d", (int)plan->abreast);
  }
  mica__write_line(w, "#undef index_t");
  mica__write_line(w, "#define index_t %s", plan->wide ? "long" : "int");
  mica__write_line(w, "__kernel __attribute__((reqd_work_group_size(%d, 1, 1))) void %s(", (int)plan->local, name);
}

mica_status mica__fused_write(const mica__fused *fused, const mica__fused_plan *plan, mica__text *source) {
  mica__fused_writer w = {.fused = fused, .plan = plan, .out = source};
  mica__write_head(&w);
  w.indent = 2;
  for (int32_t i = 0; i < plan->arg_count; i++)
    mica__write_param(&w, &plan->args[i], i + 1 < plan->arg_count ? "," : ") {");
  w.indent = 1;
  write_kernel_body(&w);
  mica__write_line(&w, "}");
  return mica__text_status(source);
}

mica_status mica__fused_source(const mica__fused *fused, unsigned device_class, mica__text *source) {
  mica__fused *simple = malloc(sizeof *simple);
  mica__fused_plan *plan = malloc(sizeof *plan);
  mica_status status = simple && plan ? MICA_OK : mica__fail_nomem("a fused kernel");
  if (status == MICA_OK) {
    mica__fused_copy(simple, fused);
    mica__fused_simplify(simple);
    status = mica__fused_plan_make(simple, &(mica__fused_target){device_class, SIZE_MAX, UINT64_MAX}, plan);
  }
  if (status == MICA_OK) {
    mica__fused_see_memory(simple, 0, NULL, plan);
    status = mica__fused_write(simple, plan, source);
  }
  free(plan);
  free(simple);
  return status;
}
