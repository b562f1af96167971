/* The order of steps. */
#include "compile/partition.h"

#include <stdlib.h>
#include <string.h>

/* first must run before second, because it reads what second overwrites. */
typedef struct edge {
  int32_t first, second;
} edge;

typedef struct schedule {
  mica__partition *partition;
  edge *edges;
  int32_t edge_count, edge_capacity;
  int32_t *waits;   /* by step: how many it waits for */
  int32_t *readers; /* by id - 1: steps that have still to read the node */
  bool *kept;       /* by id - 1: an output or assigned, never freed */
  bool *done;
  bool *seen;
  int32_t *stack;
} schedule;

static bool reads(const mica__step *step, int32_t id) {
  for (int32_t i = 0; i < step->read_count; i++)
    if (step->reads[i] == id) return true;
  return false;
}

static mica_status add_edge(schedule *s, int32_t first, int32_t second) {
  if (s->edge_count == s->edge_capacity) {
    int32_t capacity = s->edge_capacity ? s->edge_capacity * 2 : 64;
    edge *grown = realloc(s->edges, (size_t)capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("a session");
    s->edges = grown;
    s->edge_capacity = capacity;
  }
  s->edges[s->edge_count++] = (edge){first, second};
  return MICA_OK;
}

static void push(schedule *s, int32_t step, int32_t *top) {
  if (step < 0 || s->seen[step]) return;
  s->seen[step] = true;
  s->stack[(*top)++] = step;
}

/* Whether `later` must run after `earlier`, by what it reads or by edges. */
static bool comes_after(schedule *s, int32_t later, int32_t earlier) {
  int32_t top = 0;
  memset(s->seen, 0, (size_t)s->partition->count * sizeof *s->seen);
  push(s, later, &top);
  while (top > 0 && !s->seen[earlier]) {
    int32_t at = s->stack[--top];
    const mica__step *step = &s->partition->steps[at];
    for (int32_t i = 0; i < step->read_count; i++) push(s, s->partition->step_of[step->reads[i] - 1], &top);
    for (int32_t i = 0; i < s->edge_count; i++)
      if (s->edges[i].second == at) push(s, s->edges[i].first, &top);
  }
  return s->seen[earlier];
}

/* Whether a kernel that reads the parameter and stores its new value touches the same element at the same point. */
static bool overwrites_itself(const mica__step *step, mica__assignment a) {
  const mica__fused *fused = step->fused;
  const mica__access *store = NULL;
  mica_shape space = {.rank = fused ? fused->rank : 0};
  if (!fused) return false;
  memcpy(space.dim, fused->extent, sizeof space.dim);
  for (int32_t i = 0; i < fused->count; i++)
    if (fused->instrs[i].kind == MICA__FUSED_STORE && step->operands[fused->instrs[i].operand] == a.value)
      store = &fused->instrs[i].access;
  for (int32_t i = 0; i < fused->count; i++) {
    const mica__fused_instr *instr = &fused->instrs[i];
    if (instr->kind == MICA__FUSED_LOAD && step->operands[instr->operand] == a.parameter &&
        (!store || !mica__access_equal(space, &instr->access, store)))
      return false;
  }
  return store != NULL;
}

/* Where the writer may follow all readers it is made to; otherwise the assignment is deferred. */
static mica_status place_assignment(schedule *s, mica__assignment a, bool *deferred) {
  int32_t writer = s->partition->step_of[a.value - 1];
  const mica__step *steps = s->partition->steps;
  *deferred = reads(&steps[writer], a.parameter) && !overwrites_itself(&steps[writer], a);
  for (int32_t i = 0; !*deferred && i < s->partition->count; i++)
    if (i != writer && reads(&steps[i], a.parameter)) *deferred = comes_after(s, i, writer);
  for (int32_t i = 0; !*deferred && i < s->partition->count; i++)
    if (i != writer && reads(&steps[i], a.parameter)) MICA_TRY(add_edge(s, i, writer));
  return MICA_OK;
}

static bool is_temporary(const schedule *s, int32_t id) {
  return s->partition->step_of[id - 1] >= 0 && !s->kept[id - 1];
}

/* Bytes that running the step takes less what it frees. */
static double growth_of(const schedule *s, int32_t at) {
  const mica__step *step = &s->partition->steps[at];
  double growth = 0;
  for (int32_t i = 0; i < step->count; i++)
    if (s->partition->step_of[step->members[i] - 1] == at && is_temporary(s, step->members[i]))
      growth += (double)mica__node_bytes(mica__graph_node(s->partition->graph, step->members[i]));
  for (int32_t i = 0; i < step->read_count; i++)
    if (s->readers[step->reads[i] - 1] == 1 && is_temporary(s, step->reads[i]))
      growth -= (double)mica__node_bytes(mica__graph_node(s->partition->graph, step->reads[i]));
  return growth;
}

static int32_t key_of(const mica__step *step) { return step->members[step->count - 1]; }

/* The next step; -1 when none is ready, which would be a cycle. */
static int32_t choose(const schedule *s) {
  int32_t best = -1;
  bool best_shrinks = false;
  for (int32_t i = 0; i < s->partition->count; i++) {
    if (s->done[i] || s->waits[i] > 0) continue;
    bool shrinks = growth_of(s, i) <= 0;
    bool earlier = best < 0 || key_of(&s->partition->steps[i]) < key_of(&s->partition->steps[best]);
    if (best >= 0 && (shrinks != best_shrinks ? best_shrinks : !earlier)) continue;
    best = i;
    best_shrinks = shrinks;
  }
  return best;
}

static void run(schedule *s, int32_t at) {
  const mica__step *steps = s->partition->steps;
  s->done[at] = true;
  for (int32_t i = 0; i < steps[at].read_count; i++) s->readers[steps[at].reads[i] - 1]--;
  for (int32_t i = 0; i < s->edge_count; i++)
    if (s->edges[i].first == at) s->waits[s->edges[i].second]--;
  for (int32_t m = 0; m < steps[at].count; m++) {
    if (s->partition->step_of[steps[at].members[m] - 1] != at) continue;
    for (int32_t i = 0; i < s->partition->count; i++)
      if (!s->done[i] && reads(&steps[i], steps[at].members[m])) s->waits[i]--;
  }
}

static mica_status order(schedule *s) {
  mica__partition *p = s->partition;
  mica__step *ordered = calloc((size_t)p->count + 1, sizeof *ordered);
  if (!ordered) return mica__fail_nomem("a session");
  for (int32_t i = 0; i < p->count; i++)
    for (int32_t r = 0; r < p->steps[i].read_count; r++) {
      s->readers[p->steps[i].reads[r] - 1]++;
      s->waits[i] += p->step_of[p->steps[i].reads[r] - 1] >= 0;
    }
  for (int32_t i = 0; i < s->edge_count; i++) s->waits[s->edges[i].second]++;
  for (int32_t n = 0; n < p->count; n++) {
    int32_t next = choose(s);
    if (next < 0) {
      free(ordered);
      return mica__fail(MICA_E_STATE, "the launches of a session wait for each other");
    }
    run(s, next);
    ordered[n] = p->steps[next];
  }
  free(p->steps);
  p->steps = ordered;
  for (int32_t i = 0; i < p->graph->count; i++) p->step_of[i] = -1;
  for (int32_t i = 0; i < p->count; i++) {
    const mica__step *step = &p->steps[i];
    if (!step->fused) p->step_of[step->members[0] - 1] = i;
    for (int32_t k = 0; step->fused && k < step->fused->operand_count; k++)
      if (step->stores >> k & 1) p->step_of[step->operands[k] - 1] = i;
  }
  return MICA_OK;
}

mica_status mica__partition_schedule(const mica__template *template, mica__partition *partition, bool *deferred) {
  size_t steps = (size_t)partition->count + 1, nodes = (size_t)partition->graph->count + 1;
  schedule s = {.partition = partition,
                .waits = calloc(steps, sizeof *s.waits),
                .readers = calloc(nodes, sizeof *s.readers),
                .kept = calloc(nodes, sizeof *s.kept),
                .done = calloc(steps, sizeof *s.done),
                .seen = calloc(steps, sizeof *s.seen),
                .stack = calloc(steps, sizeof *s.stack)};
  bool good = s.waits && s.readers && s.kept && s.done && s.seen && s.stack;
  mica_status status = good ? MICA_OK : mica__fail_nomem("a session");
  for (int32_t i = 0; good && i < template->output_count; i++) s.kept[template->outputs[i] - 1] = true;
  for (int32_t i = 0; status == MICA_OK && i < template->assignment_count; i++) {
    s.kept[template->assignments[i].value - 1] = true;
    status = place_assignment(&s, template->assignments[i], &deferred[i]);
  }
  if (status == MICA_OK) status = order(&s);
  void *all[] = {s.edges, s.waits, s.readers, s.kept, s.done, s.seen, s.stack};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  return status;
}
