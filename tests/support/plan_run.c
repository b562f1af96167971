#include "support/plan_run.h"

#include "base/element.h"
#include "compile/fused_plan.h"
#include "ops/common/build.h"
#include "support/engine.h"
#include "support/interpret.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Elements in memory, `step` doubles from one to the next: in the arena as many as one has bytes. */
typedef struct cells {
  double *first;
  int64_t step, count;
} cells;

typedef struct machine {
  const mica__plan *plan;
  double *const *memory, *const *outputs;
  double *arena, **derived; /* derived: by id - 1 */
} machine;

static mica__node *node_at(const machine *m, int32_t id) { return mica__graph_node(m->plan->template.graph, id); }

static double *room(size_t count) {
  double *values = calloc(count + 1, sizeof *values);
  ck_assert_ptr_nonnull(values);
  return values;
}

static double *constant_of(const mica__node *node) {
  const size_t count = (size_t)mica__node_count(node);
  double *values = room(count);
  for (size_t i = 0; i < count; i++)
    values[i] = node->data ? mica__element_get(node->type.dtype, node->data, (int64_t)i) : mica__full_value(node);
  return values;
}

static cells cells_of(const machine *m, int32_t id) {
  const mica__location *at = &m->plan->memory.locations[id - 1];
  const mica__node *node = node_at(m, id);
  cells c = {.step = 1, .count = mica__node_count(node)};
  switch (at->home) {
  case MICA__HOME_ARENA:
    c.first = m->arena + at->offset;
    c.step = (int64_t)mica_dtype_size(node->type.dtype);
    break;
  case MICA__HOME_OUTPUT: c.first = m->outputs[at->node]; break;
  case MICA__HOME_INPUT:
  case MICA__HOME_PARAMETER: c.first = m->memory[at->node - 1]; break;
  case MICA__HOME_CONSTANT:
  case MICA__HOME_DERIVED:
    if (!m->derived[id - 1])
      m->derived[id - 1] = at->home == MICA__HOME_CONSTANT ? constant_of(node) : room((size_t)c.count);
    c.first = m->derived[id - 1];
    break;
  case MICA__HOME_NONE: break;
  }
  ck_assert_msg(c.first, "%s %%%d has no memory", node->op->name, (int)id);
  return c;
}

static bool overlap(const cells *a, const cells *b) {
  if (!a->count || !b->count) return false;
  return a->first < b->first + b->count * b->step && b->first < a->first + a->count * a->step;
}

/* What lay in the bytes of an element is gone. */
static void write_cell(const cells *c, int64_t i, double value) {
  c->first[i * c->step] = value;
  for (int64_t k = 1; k < c->step; k++) c->first[i * c->step + k] = NAN;
}

/* --- kernels --- */

typedef struct kernel {
  const mica__fused *fused;
  cells operands[MICA__FUSED_OPERANDS];
  double *snapshot[MICA__FUSED_OPERANDS]; /* of what is loaded, before anything is stored */
  int64_t index[MICA_MAX_RANK];
  double value[MICA__FUSED_INSTRS];
} kernel;

static int64_t at_index(const kernel *k, const mica__access *access) {
  int64_t at = access->offset;
  for (int32_t d = 0; d < k->fused->rank; d++) at += k->index[d] * access->stride[d];
  return at;
}

static bool inside(const kernel *k, const mica__fused_instr *instr) {
  bool in = true;
  for (int32_t d = 0; instr->bounded && d < k->fused->rank; d++)
    in = in && k->index[d] >= instr->low[d] && k->index[d] < instr->high[d];
  return in;
}

static bool advance(kernel *k, int32_t first, int32_t end) {
  for (int32_t d = end - 1; d >= first; d--) {
    if (++k->index[d] < k->fused->extent[d]) return true;
    k->index[d] = 0;
  }
  return false;
}

static int32_t outer_of(const mica__fused *fused) { return fused->rank - fused->reduced; }

static void evaluate_instr(kernel *k, int32_t i) {
  const mica__fused_instr *instr = &k->fused->instrs[i];
  double args[4] = {0};
  for (int32_t a = 0; a < mica__fused_arg_count(instr); a++) args[a] = k->value[instr->args[a]];
  switch (instr->kind) {
  case MICA__FUSED_LOAD: {
    const int64_t at = at_index(k, &instr->access);
    if (inside(k, instr)) {
      /* A check that passes writes a line: not one an element. */
      if (at < 0 || at >= k->operands[instr->operand].count) ck_abort_msg("a kernel reads beyond an operand");
      k->value[i] = k->snapshot[instr->operand][at];
    } else {
      k->value[i] = instr->arg_count ? args[0] : instr->value;
    }
    break;
  }
  case MICA__FUSED_VALUE: k->value[i] = instr->value; break;
  case MICA__FUSED_INDEX: k->value[i] = (double)k->index[instr->operand]; break;
  case MICA__FUSED_OP: k->value[i] = test_stored(instr->dtype, instr->op->scalar(args, instr->attrs)); break;
  case MICA__FUSED_REDUCE: break;
  case MICA__FUSED_STORE: {
    const int64_t at = at_index(k, &instr->access);
    if (at < 0 || at >= k->operands[instr->operand].count) ck_abort_msg("a kernel writes beyond an operand");
    write_cell(&k->operands[instr->operand], at, args[0]);
    break;
  }
  }
}

static double joined(mica__join join, double sum, double x, int64_t at, double *best) {
  const bool least = join == MICA__JOIN_MIN || join == MICA__JOIN_ARGMIN;
  switch (join) {
  case MICA__JOIN_SUM: return sum + x;
  case MICA__JOIN_PROD: return sum * x;
  default: break;
  }
  bool better = at == 0 || (!isnan(*best) && (isnan(x) || (least ? x < *best : x > *best)));
  if (better) *best = x;
  if (join == MICA__JOIN_ARGMAX || join == MICA__JOIN_ARGMIN) return better ? (double)at : sum;
  return *best;
}

/* The row that the outer indices choose: joins, then all else. */
static void run_row(kernel *k) {
  const mica__fused *fused = k->fused;
  for (int32_t i = 0; i < fused->count; i++) {
    const mica__fused_instr *instr = &fused->instrs[i];
    if (instr->kind != MICA__FUSED_REDUCE) continue;
    double sum = instr->op->join == MICA__JOIN_PROD, best = NAN;
    int64_t at = 0;
    do {
      for (int32_t e = 0; e < i; e++)
        if (fused->instrs[e].kind != MICA__FUSED_STORE) evaluate_instr(k, e);
      sum = joined(instr->op->join, sum, k->value[instr->args[0]], at++, &best);
    } while (advance(k, outer_of(fused), fused->rank));
    k->value[i] = test_stored(instr->dtype, sum);
  }
  do
    for (int32_t i = 0; i < fused->count; i++) evaluate_instr(k, i);
  while (advance(k, outer_of(fused), fused->rank));
}

/* --- what a kernel reads that it writes --- */

/* When an instruction works: of the levels of joins 1 .. n, elements of level l at 2 l - 1, the joined at 2 l; elements
 * that are stored at 2 n + 1. Without joins all at 1. */
typedef struct times {
  int32_t levels, level[MICA__FUSED_INSTRS];
  bool of_rows[MICA__FUSED_INSTRS]; /* of a STORE */
  /* by time, whether an instruction works then */
  bool works[2 * MICA__FUSED_INSTRS + 2][MICA__FUSED_INSTRS];
} times;

static bool is_of_rows(const mica__fused *fused, const mica__fused_instr *store) {
  for (int32_t d = outer_of(fused); d < fused->rank; d++)
    if (fused->extent[d] > 1 && store->access.stride[d]) return false;
  return fused->reduced > 0;
}

static void find_levels(const mica__fused *fused, times *t) {
  for (int32_t i = 0; i < fused->count; i++) {
    const mica__fused_instr *instr = &fused->instrs[i];
    for (int32_t a = 0; a < mica__fused_arg_count(instr); a++)
      if (t->level[instr->args[a]] > t->level[i]) t->level[i] = t->level[instr->args[a]];
    if (instr->kind == MICA__FUSED_REDUCE) t->level[i]++;
    if (t->level[i] > t->levels) t->levels = t->level[i];
  }
}

static void find_times(const mica__fused *fused, times *t) {
  memset(t, 0, sizeof *t);
  find_levels(fused, t);
  for (int32_t i = 0; i < fused->count; i++) {
    const mica__fused_instr *instr = &fused->instrs[i];
    if (instr->kind == MICA__FUSED_REDUCE) t->works[2 * t->level[i] - 1][instr->args[0]] = true;
    if (instr->kind != MICA__FUSED_STORE) continue;
    t->of_rows[i] = is_of_rows(fused, instr);
    t->works[t->of_rows[i] ? 2 * t->levels : 2 * t->levels + 1][i] = true;
  }
  for (int32_t at = 0; at <= 2 * t->levels + 1; at++)
    for (int32_t i = fused->count - 1; i >= 0; i--) {
      const mica__fused_instr *instr = &fused->instrs[i];
      /* What was joined is kept. */
      for (int32_t a = 0; t->works[at][i] && instr->kind != MICA__FUSED_REDUCE && a < mica__fused_arg_count(instr); a++)
        t->works[at][instr->args[a]] = true;
    }
}

/* The number of the point, of its row where what works there works once a row. */
static int64_t unit_of(const kernel *k, bool of_rows) {
  int64_t unit = 0;
  for (int32_t d = 0; d < (of_rows ? outer_of(k->fused) : k->fused->rank); d++)
    unit = unit * k->fused->extent[d] + k->index[d];
  return unit;
}

#define SEVERAL (-2)

/* Which row writes an element of the store's operand, and which point; SEVERAL where not one alone does. */
typedef struct writers {
  int64_t *row, *unit;
} writers;

static writers find_writers(kernel *k, const mica__fused_instr *store, bool of_rows) {
  const int64_t count = k->operands[store->operand].count;
  writers w = {malloc(((size_t)count + 1) * sizeof *w.row), malloc(((size_t)count + 1) * sizeof *w.unit)};
  ck_assert(w.row && w.unit);
  for (int64_t i = 0; i < count; i++) w.row[i] = w.unit[i] = -1;
  do {
    const int64_t at = at_index(k, &store->access), row = unit_of(k, true), unit = unit_of(k, of_rows);
    w.row[at] = w.row[at] == -1 || w.row[at] == row ? row : SEVERAL;
    w.unit[at] = w.unit[at] == -1 || w.unit[at] == unit ? unit : SEVERAL;
  } while (advance(k, 0, k->fused->rank));
  return w;
}

/* False where the load may read what the store has written, or writes at the same time. */
static bool reads_before(kernel *k, const times *t, const writers *w, int32_t load, int32_t store) {
  const mica__fused_instr *instr = &k->fused->instrs[load];
  const int32_t written = t->of_rows[store] ? 2 * t->levels : 2 * t->levels + 1;
  bool good = true;
  do {
    if (!inside(k, instr)) continue;
    const int64_t at = at_index(k, &instr->access);
    for (int32_t time = 0; time <= 2 * t->levels + 1; time++) {
      if (!t->works[time][load] || w->row[at] == -1) continue;
      bool same_unit = w->unit[at] == unit_of(k, t->of_rows[store]) && load < store;
      good = good && w->row[at] == unit_of(k, true) && (time < written || (time == written && same_unit));
    }
  } while (advance(k, 0, k->fused->rank));
  return good;
}

static void check_shared(kernel *k, const mica__step *step, int32_t load, int32_t store, const times *t) {
  const mica__fused_instr *l = &k->fused->instrs[load], *s = &k->fused->instrs[store];
  const cells *from = &k->operands[l->operand], *to = &k->operands[s->operand];
  if (!overlap(from, to)) return;
  ck_assert_msg(from->first == to->first && from->step == to->step && from->count == to->count,
                "%%%d lies across %%%d, which its kernel reads", (int)step->operands[s->operand],
                (int)step->operands[l->operand]);
  writers w = find_writers(k, s, t->of_rows[store]);
  ck_assert_msg(reads_before(k, t, &w, load, store), "%%%d takes over %%%d, which its kernel still reads",
                (int)step->operands[s->operand], (int)step->operands[l->operand]);
  free(w.row);
  free(w.unit);
}

static void check_kernel(kernel *k, const mica__step *step) {
  const mica__fused *fused = k->fused;
  times *t = malloc(sizeof *t);
  ck_assert_ptr_nonnull(t);
  find_times(fused, t);
  for (int32_t s = 0; s < fused->count; s++)
    for (int32_t l = 0; fused->instrs[s].kind == MICA__FUSED_STORE && l < fused->count; l++) {
      if (fused->instrs[l].kind == MICA__FUSED_LOAD) check_shared(k, step, l, s, t);
      bool both = l < s && fused->instrs[l].kind == MICA__FUSED_STORE;
      ck_assert_msg(!both || !overlap(&k->operands[fused->instrs[l].operand], &k->operands[fused->instrs[s].operand]),
                    "a kernel stores two values in one memory");
    }
  free(t);
}

static bool is_empty(const mica__fused *fused) {
  for (int32_t d = 0; d < fused->rank; d++)
    if (fused->extent[d] == 0) return true;
  return false;
}

static void run_kernel(const machine *m, const mica__step *step) {
  kernel *k = calloc(1, sizeof *k);
  ck_assert_ptr_nonnull(k);
  k->fused = step->fused;
  ck_assert_msg(!is_empty(k->fused), "a random network has no empty values");
  for (int32_t o = 0; o < k->fused->operand_count; o++) {
    const cells *c = &k->operands[o];
    k->operands[o] = cells_of(m, step->operands[o]);
    k->snapshot[o] = room((size_t)c->count);
    for (int64_t i = 0; i < c->count; i++) k->snapshot[o][i] = c->first[i * c->step];
  }
  check_kernel(k, step);
  do run_row(k);
  while (advance(k, 0, outer_of(k->fused)));
  for (int32_t o = 0; o < k->fused->operand_count; o++) free(k->snapshot[o]);
  free(k);
}

/* --- launches --- */

/* The operand as the launch reads it, in order. */
static double *gathered(const machine *m, const mica__node *node, int32_t k, cells *base) {
  int32_t id = 0;
  mica_shape space = node_at(m, node->inputs[k])->type.shape;
  mica__access access = mica__partition_operand(m->plan->template.graph, node, k, &id);
  int64_t index[MICA_MAX_RANK] = {0}, count = test_count(space);
  double *values = room((size_t)count);
  *base = cells_of(m, id);
  for (int64_t i = 0; i < count; i++, mica__next_index(space, index)) {
    const int64_t at = mica__access_at(&access, space, index);
    if (at < 0 || at >= base->count) ck_abort_msg("%s reads beyond operand %d", node->op->name, (int)k);
    values[i] = base->first[at * base->step];
  }
  return values;
}

static bool may_share(const machine *m, const mica__node *node, int32_t k) {
  int32_t id = 0;
  mica__access access = mica__partition_operand(m->plan->template.graph, node, k, &id);
  return k < 32 && (node->op->may_alias >> k & 1) != 0 &&
         mica__access_is_row_major(node_at(m, node->inputs[k])->type.shape, &access);
}

static void run_launch(const machine *m, const mica__step *step) {
  const int32_t id = step->members[0];
  const mica__node *node = node_at(m, id);
  const double *inputs[MICA__MATCH_INPUTS * 2] = {NULL};
  cells bases[MICA__MATCH_INPUTS * 2] = {{0}};
  mica__type types[MICA__MATCH_INPUTS * 2], results[MICA__MAX_RESULTS];
  double *outs[MICA__MAX_RESULTS] = {NULL};
  for (int32_t k = 0; k < node->input_count; k++) {
    types[k] = node_at(m, node->inputs[k])->type;
    if (k >= 32 || !(node->op->shape_only >> k & 1)) inputs[k] = gathered(m, node, k, &bases[k]);
  }
  for (int32_t r = 0; r < mica__node_results(node); r++) {
    results[r] = node[r].type;
    outs[r] = room((size_t)mica__node_count(&node[r]));
  }
  mica__eval eval = {.attrs = node->attrs,
                     .inputs = inputs,
                     .types = types,
                     .input_count = node->input_count,
                     .type = results,
                     .output = outs[0],
                     .outputs = outs};
  ck_assert_msg(node->op->evaluate, "%s has no reference", node->op->name);
  ck_ok(node->op->evaluate(&eval));
  for (int32_t r = 0; r < mica__node_results(node); r++) {
    if (!(step->stores >> r & 1)) continue;
    const cells to = cells_of(m, id + r);
    for (int32_t k = 0; k < node->input_count; k++)
      /* What lies in a composite as it should is written again as it is, and what does not is met as a wrong result. */
      ck_assert_msg(!inputs[k] || !overlap(&to, &bases[k]) || node->op->composes ||
                        (to.first == bases[k].first && may_share(m, node, k)),
                    "%s %%%d lies where its operand %d does", node->op->name, (int)id, (int)k);
    for (int64_t i = 0; i < to.count; i++) write_cell(&to, i, test_stored(results[r].dtype, outs[r][i]));
  }
  for (int32_t r = 0; r < mica__node_results(node); r++) free(outs[r]);
  for (int32_t k = 0; k < node->input_count; k++) free((void *)(uintptr_t)inputs[k]);
}

/* --- the run --- */

/* Steps of one launch work side by side: none writes what another reads or writes. */
static void check_together(const machine *m, const mica__step *steps) {
  for (int32_t a = 0; a < steps->together; a++)
    for (int32_t b = 0; b < steps->together; b++)
      for (int32_t s = 0; s < steps[a].fused->operand_count; s++)
        for (int32_t o = 0; a != b && steps[a].stores >> s & 1 && o < steps[b].fused->operand_count; o++) {
          const cells to = cells_of(m, steps[a].operands[s]), other = cells_of(m, steps[b].operands[o]);
          ck_assert_msg(!overlap(&to, &other), "%%%d is written while %%%d is in use", (int)steps[a].operands[s],
                        (int)steps[b].operands[o]);
        }
}

void plan_run(const mica__plan *plan, double *const *memory, double *const *outputs) {
  machine m = {.plan = plan, .memory = memory, .outputs = outputs};
  const int32_t nodes = plan->template.graph->count;
  const size_t bytes = mica__slabs_total(&plan->memory.arena);
  m.arena = room(bytes);
  m.derived = calloc((size_t)nodes + 1, sizeof *m.derived);
  ck_assert_ptr_nonnull(m.derived);
  ck_assert_msg(plan->memory.arena.count <= 1, "an arena of several slabs");
  for (size_t i = 0; i < bytes; i++) m.arena[i] = NAN;
  for (int32_t s = 0; s < plan->partition.count; s++) {
    const mica__step *step = &plan->partition.steps[s];
    if (step->together > 1) check_together(&m, step);
    step->fused ? run_kernel(&m, step) : run_launch(&m, step);
  }
  for (int32_t i = 0; i < plan->template.assignment_count; i++) {
    if (!plan->deferred[i]) continue;
    const cells from = cells_of(&m, plan->template.assignments[i].value);
    double *to = memory[plan->template.assignments[i].parameter - 1];
    for (int64_t e = 0; e < from.count; e++) to[e] = from.first[e * from.step];
  }
  for (int32_t i = 0; i < nodes; i++) free(m.derived[i]);
  free((void *)m.derived);
  free(m.arena);
}
