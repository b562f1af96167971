/* Orders the steps of a run. */
#include "compile/fused_batch.h"
#include "compile/partition.h"
#include "compile/without.h"

#include <stdlib.h>
#include <string.h>

/* Some steps share launches with others of their kind.
 * - Openings are pointwise steps that read only parameters, inputs and constants, such as casts of weights to 16 bits.
 *   At least two steps must read each result. Usually these are one of the forward and one of the backward pass, so the
 *   results occupy memory for most of the run anyway. Openings run first.
 * - Updates of weights wait until several can share a launch. While they wait, memory may exceed its previous maximum
 *   by at most 1 / WAITING_SHARE of the bytes of the parameters that a run assigns. */
#define WAITING_SHARE 16

/* Step `first` must run before step `second`, because `first` reads what `second` overwrites. */
typedef struct edge {
  int32_t first, second;
  int32_t next_out, next_in; /* 1 + the index of the next edge that leaves `first`, and that enters `second`; 0: none */
} edge;

/* A binary heap of steps, the smallest key first. */
typedef struct heap {
  int32_t *steps;
  int32_t count;
} heap;

typedef struct schedule {
  mica__partition *partition;
  edge *edges;
  int32_t edge_count, edge_capacity;
  int32_t *out, *in;     /* by step: 1 + the index of the first edge that leaves it, and that enters it; 0: none */
  int32_t *readers_of;   /* the steps that read each node, grouped by node */
  int32_t *first_reader; /* by id - 1: where its readers begin in readers_of; one more entry: their total */
  /* by step: number of values that it reads and that are not computed yet, plus edges whose first step has not run */
  int32_t *waits;
  int32_t *readers;     /* by id - 1: number of steps that have yet to read the node */
  bool *kept;           /* by id - 1: an output or assigned value, never freed */
  bool *done;           /* by step */
  bool *shrinks;        /* by step: it has been found to free at least as much memory as it takes */
  int32_t *rank;        /* by step: its number in an order that satisfies reads and edges */
  int32_t *seen, stamp; /* by step: the last search that reached it */
  int32_t *stack;
  heap ready, ready_shrinking;
  heap ready_soon, ready_late; /* steps with MICA__ORDER_SOON; steps that read a host step in two halves */
  /* Steps that may share a launch with others of their kind (mica__fused_alike) are of two sorts. Updates only store
   * new values of parameters; they wait until memory would grow too much or nothing else is ready. Openings run first.
   * Both run kind by kind. */
  int32_t *kind;  /* by step: its kind, from 1; 0 for other steps */
  bool *opens;    /* by step: it is an opening */
  int32_t *first; /* by kind - 1: a step of that kind */
  int32_t *room;  /* by kind - 1: the most steps per launch */
  mica__hash *hashes;
  int32_t kinds;
  int32_t *round; /* by step: the round of updates in which it ran; 0 for openings */
  int32_t rounds;
  heap waiting; /* updates of the next round */
  heap urgent;  /* openings and updates of this round, which run before all other steps */
  /* Bytes of temporary values: now, and the maximum so far at times when no update waited. While updates wait, `spare`
   * bytes more are allowed. */
  double live, most;
  double spare;
  mica__fused *one, *other; /* scratch */
} schedule;

static bool reads(const mica__step *step, int32_t id) {
  for (int32_t i = 0; i < step->read_count; i++)
    if (step->reads[i] == id) return true;
  return false;
}

static int32_t key_of(const mica__step *step) { return step->members[step->count - 1]; }

/* --- heaps --- */

static bool comes_first(const schedule *s, int32_t a, int32_t b) {
  if (s->kind[a] != s->kind[b]) return s->kind[a] < s->kind[b];
  int32_t x = key_of(&s->partition->steps[a]), y = key_of(&s->partition->steps[b]);
  return x != y ? x < y : a < b;
}

static void heap_push(const schedule *s, heap *h, int32_t step) {
  int32_t at = h->count++;
  for (; at > 0 && comes_first(s, step, h->steps[(at - 1) / 2]); at = (at - 1) / 2)
    h->steps[at] = h->steps[(at - 1) / 2];
  h->steps[at] = step;
}

static int32_t heap_pop(const schedule *s, heap *h) {
  int32_t top = h->steps[0], last = h->steps[--h->count], at = 0;
  for (int32_t child = 1; child < h->count; child = 2 * at + 1) {
    if (child + 1 < h->count && comes_first(s, h->steps[child + 1], h->steps[child])) child++;
    if (!comes_first(s, h->steps[child], last)) break;
    h->steps[at] = h->steps[child];
    at = child;
  }
  h->steps[at] = last;
  return top;
}

/* --- dependencies between steps --- */

static mica_status find_readers(schedule *s) {
  const mica__partition *p = s->partition;
  size_t total = 0;
  for (int32_t i = 0; i < p->count; i++)
    for (int32_t r = 0; r < p->steps[i].read_count; r++, total++) s->first_reader[p->steps[i].reads[r]]++;
  for (int32_t id = 1; id <= p->graph->count; id++) s->first_reader[id] += s->first_reader[id - 1];
  s->readers_of = calloc(total + 1, sizeof *s->readers_of);
  if (!s->readers_of) return mica__fail_nomem("a session");
  for (int32_t i = 0; i < p->count; i++)
    for (int32_t r = 0; r < p->steps[i].read_count; r++) {
      int32_t id = p->steps[i].reads[r] - 1;
      s->readers_of[s->first_reader[id] + s->readers[id]++] = i;
    }
  return MICA_OK;
}

static mica_status add_edge(schedule *s, int32_t first, int32_t second) {
  if (s->edge_count == s->edge_capacity) {
    int32_t capacity = s->edge_capacity ? s->edge_capacity * 2 : 64;
    edge *grown = realloc(s->edges, (size_t)capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("a session");
    s->edges = grown;
    s->edge_capacity = capacity;
  }
  s->edges[s->edge_count++] = (edge){first, second, s->out[first], s->in[second]};
  s->out[first] = s->in[second] = s->edge_count;
  return MICA_OK;
}

static void count_waits(schedule *s) {
  const mica__partition *p = s->partition;
  for (int32_t i = 0; i < p->count; i++) {
    s->waits[i] = 0;
    for (int32_t r = 0; r < p->steps[i].read_count; r++) s->waits[i] += p->step_of[p->steps[i].reads[r] - 1] >= 0;
    for (int32_t e = s->in[i]; e; e = s->edges[e - 1].next_in) s->waits[i]++;
  }
}

/* Notes that a step has run; calls `freed` for each step that now waits for nothing more. */
static void release_waiting(schedule *s, int32_t at, void (*freed)(schedule *s, int32_t step)) {
  const mica__step *step = &s->partition->steps[at];
  for (int32_t e = s->out[at]; e; e = s->edges[e - 1].next_out)
    if (--s->waits[s->edges[e - 1].second] == 0) freed(s, s->edges[e - 1].second);
  for (int32_t m = 0; m < step->count; m++) {
    int32_t id = step->members[m];
    if (s->partition->step_of[id - 1] != at) continue;
    for (int32_t r = s->first_reader[id - 1]; r < s->first_reader[id]; r++)
      if (--s->waits[s->readers_of[r]] == 0) freed(s, s->readers_of[r]);
  }
}

static void push_ready(schedule *s, int32_t step) { heap_push(s, &s->ready, step); }

/* Numbers the steps in an order that satisfies reads and edges. Steps in a cycle would come last; there are no
 * cycles. */
static void find_ranks(schedule *s) {
  int32_t next = 0;
  count_waits(s);
  s->ready.count = 0;
  for (int32_t i = 0; i < s->partition->count; i++) {
    s->rank[i] = INT32_MAX;
    if (s->waits[i] == 0) push_ready(s, i);
  }
  while (s->ready.count > 0) {
    int32_t at = heap_pop(s, &s->ready);
    s->rank[at] = next++;
    release_waiting(s, at, push_ready);
  }
}

/* --- assignments --- */

static void push(schedule *s, int32_t step, int32_t lowest, int32_t *top) {
  if (step < 0 || s->seen[step] == s->stamp || s->rank[step] < lowest) return;
  s->seen[step] = s->stamp;
  s->stack[(*top)++] = step;
}

/* True if a reader of the parameter, other than `writer`, must run after `writer`. A reader must do so if it depends on
 * `writer`, directly or indirectly, through values that it reads or through edges. */
static bool a_reader_comes_after(schedule *s, int32_t parameter, int32_t writer) {
  int32_t top = 0, lowest = s->rank[writer];
  s->stamp++;
  for (int32_t r = s->first_reader[parameter - 1]; r < s->first_reader[parameter]; r++)
    if (s->readers_of[r] != writer) push(s, s->readers_of[r], lowest, &top);
  while (top > 0 && s->seen[writer] != s->stamp) {
    int32_t at = s->stack[--top];
    const mica__step *step = &s->partition->steps[at];
    for (int32_t i = 0; i < step->read_count; i++) push(s, s->partition->step_of[step->reads[i] - 1], lowest, &top);
    for (int32_t e = s->in[at]; e; e = s->edges[e - 1].next_in) push(s, s->edges[e - 1].first, lowest, &top);
  }
  return s->seen[writer] == s->stamp;
}

static int32_t updated_by(const schedule *s, int32_t id) {
  const mica__step *step = &s->partition->steps[s->partition->step_of[id - 1]];
  return step->fused ? 0 : mica__partition_updated(s->partition->graph, id);
}

/* An assignment's value may come from a chain of launches: each updates the result of the launch before it, which
 * nothing else reads, and which is no output or assigned value. Returns the result of the first launch, which updates
 * the parameter itself; 0 if there is no such chain. */
static int32_t first_update(const schedule *s, mica__assignment a) {
  for (int32_t id = a.value, from; (from = updated_by(s, id)) != 0; id = from) {
    if (from == a.parameter) return id;
    if (s->partition->step_of[from - 1] < 0 || s->kept[from - 1] || s->readers[from - 1] != 1) break;
  }
  return 0;
}

/* Lets the writer store the value directly in the parameter, after all other steps that read the parameter. The
 * assignment is deferred instead if one of these must run after the writer, or if the writer would overwrite elements
 * of the parameter that it has yet to read. */
static mica_status insert_assignment(schedule *s, mica__assignment a, bool *deferred) {
  int32_t update = first_update(s, a), writer = s->partition->step_of[(update ? update : a.value) - 1];
  const mica__step *step = &s->partition->steps[writer];
  bool late = false; /* a reader's rank is above the writer's, so the new edge to the writer makes the ranks wrong */
  *deferred = (!update && reads(step, a.parameter) && !(step->fused && mica__step_meets(step, a.parameter, a.value))) ||
              mica__is_without(MICA__WITHOUT_IN_PLACE) || a_reader_comes_after(s, a.parameter, writer);
  for (int32_t r = s->first_reader[a.parameter - 1]; !*deferred && r < s->first_reader[a.parameter]; r++) {
    int32_t reader = s->readers_of[r];
    if (reader == writer) continue;
    MICA_TRY(add_edge(s, reader, writer));
    late = late || s->rank[reader] > s->rank[writer];
  }
  if (late) find_ranks(s);
  for (int32_t id = a.value; update && !*deferred && id != a.parameter; id = updated_by(s, id)) {
    mica__step *by = &s->partition->steps[s->partition->step_of[id - 1]];
    by->updated[id - by->members[0]] = a.parameter;
  }
  return MICA_OK;
}

static mica_status insert_assignments(schedule *s, const mica__template *template, bool *deferred) {
  for (int32_t i = 0; i < template->output_count; i++) s->kept[template->outputs[i] - 1] = true;
  for (int32_t i = 0; i < template->assignment_count; i++) s->kept[template->assignments[i].value - 1] = true;
  if (template->assignment_count) find_ranks(s);
  for (int32_t i = 0; i < template->assignment_count; i++)
    MICA_TRY(insert_assignment(s, template->assignments[i], &deferred[i]));
  return MICA_OK;
}

/* --- the order --- */

static bool is_temporary(const schedule *s, int32_t id) {
  return s->partition->step_of[id - 1] >= 0 && !s->kept[id - 1];
}

/* --- updates --- */

/* True if the step reads a result of a host step in two halves. The host step's second half runs before its first
 * reader. */
static bool reads_what_has_begun(const schedule *s, const mica__step *step) {
  for (int32_t i = 0; i < step->read_count; i++) {
    int32_t from = s->partition->step_of[step->reads[i] - 1];
    if (from >= 0 && mica__step_op(s->partition, from)->begin) return true;
  }
  return false;
}

/* True if the step stores only new values of parameters, written directly into their memory. */
static bool only_updates(const schedule *s, const bool *in_place, int32_t at) {
  const mica__step *step = &s->partition->steps[at];
  bool any = false;
  for (int32_t i = 0; i < step->count; i++) {
    if (s->partition->step_of[step->members[i] - 1] != at) continue;
    if (!in_place[step->members[i] - 1]) return false;
    any = true;
  }
  return any;
}

/* True if the step reads only inputs, parameters and constants, has to wait for no other step, and each of its results
 * is temporary and read by at least two steps. */
static bool is_opening(const schedule *s, int32_t at) {
  const mica__step *step = &s->partition->steps[at];
  for (int32_t i = 0; i < step->read_count; i++)
    if (s->partition->step_of[step->reads[i] - 1] >= 0) return false;
  for (int32_t i = 0; i < step->count; i++) {
    const int32_t id = step->members[i];
    if (s->partition->step_of[id - 1] == at && (!is_temporary(s, id) || s->readers[id - 1] < 2)) return false;
  }
  return step->read_count > 0 && s->in[at] == 0;
}

/* True if a backward pass computes openings again to save memory (mica_checkpoint). Running openings early would then
 * undo the saving. */
static bool repeats_openings(const schedule *s) {
  const mica__partition *p = s->partition;
  for (int32_t i = 0; i < p->count; i++)
    if (p->steps[i].fused && mica__graph_node(p->graph, p->steps[i].members[0])->pass > 0 && is_opening(s, i))
      return true;
  return false;
}

/* The kind of step `at`, whose simplified instructions are in s->one. It is an existing kind if the first step of that
 * kind has equal instructions, else a new kind. */
static int32_t kind_of(schedule *s, int32_t at, int32_t room) {
  const mica__step *step = &s->partition->steps[at];
  const mica__hash hash = mica__fused_batch_hash(s->one, step->operands);
  for (int32_t k = 0; k < s->kinds; k++) {
    const mica__step *first = &s->partition->steps[s->first[k]];
    if (!mica__hash_equal(s->hashes[k], hash)) continue;
    mica__fused_copy(s->other, first->fused);
    mica__fused_simplify(s->other);
    if (mica__fused_alike(s->one, step->operands, s->other, first->operands)) return k + 1;
  }
  s->first[s->kinds] = at;
  s->hashes[s->kinds] = hash;
  s->room[s->kinds] = room;
  return ++s->kinds;
}

static mica_status find_kinds(schedule *s, const mica__template *template, const bool *deferred) {
  bool *in_place = calloc((size_t)s->partition->graph->count + 1, sizeof *in_place);
  const bool openings = template->assignment_count > 0 && !repeats_openings(s);
  if (!in_place) return mica__fail_nomem("a session");
  for (int32_t a = 0; a < template->assignment_count; a++)
    if (!deferred[a]) in_place[template->assignments[a].value - 1] = true;
  for (int32_t a = 0; a < template->assignment_count; a++)
    s->spare += (double)mica__node_bytes(mica__graph_node(s->partition->graph, template->assignments[a].parameter)) /
                WAITING_SHARE;
  for (int32_t i = 0; i < s->partition->count; i++) {
    const mica__step *step = &s->partition->steps[i];
    if (mica__is_without(MICA__WITHOUT_TOGETHER) || !step->fused || step->fused->reduced || step->invariant ||
        reads_what_has_begun(s, step))
      continue;
    s->opens[i] = openings && is_opening(s, i);
    if (!s->opens[i] && !only_updates(s, in_place, i)) continue;
    mica__fused_copy(s->one, step->fused);
    mica__fused_simplify(s->one);
    const int32_t room = mica__fused_batch_room(s->one);
    if (room > 1) s->kind[i] = kind_of(s, i, room);
  }
  free(in_place);
  return MICA_OK;
}

/* Decides which of the ordered steps share a launch. Steps of one kind and round that follow each other are divided
 * into as few launches as s->room allows, with nearly equal numbers of steps. */
static void share_launches(schedule *s, const int32_t *order) {
  mica__partition *p = s->partition;
  for (int32_t i = 0, n = 0; i < p->count; i += n) {
    int32_t kind = s->kind[order[i]];
    for (n = 1;
         kind && i + n < p->count && s->kind[order[i + n]] == kind && s->round[order[i + n]] == s->round[order[i]];)
      n++;
    int32_t launches = kind ? (n + s->room[kind - 1] - 1) / s->room[kind - 1] : 1;
    for (int32_t l = 0, from = 0; kind && l < launches; l++) {
      int32_t to = (int32_t)((int64_t)n * (l + 1) / launches);
      for (int32_t k = from; k < to; k++) p->steps[i + k].together = to - k;
      from = to;
    }
  }
}

/* Bytes of the values for which the step takes memory. */
static double taken_by(const schedule *s, int32_t at) {
  const mica__step *step = &s->partition->steps[at];
  double taken = 0;
  for (int32_t i = 0; i < step->count; i++)
    if (s->partition->step_of[step->members[i] - 1] == at && is_temporary(s, step->members[i]))
      taken += (double)mica__node_bytes(mica__graph_node(s->partition->graph, step->members[i]));
  return taken;
}

/* Growth of live memory when the step runs: bytes taken minus bytes freed. It only falls as other steps run. */
static double growth_of(const schedule *s, int32_t at) {
  const mica__step *step = &s->partition->steps[at];
  double growth = taken_by(s, at);
  for (int32_t i = 0; i < step->read_count; i++)
    if (s->readers[step->reads[i] - 1] == 1 && is_temporary(s, step->reads[i]))
      growth -= (double)mica__node_bytes(mica__graph_node(s->partition->graph, step->reads[i]));
  return growth;
}

static void push_by_growth(schedule *s, int32_t step) {
  s->shrinks[step] = growth_of(s, step) <= 0;
  heap_push(s, s->shrinks[step] ? &s->ready_shrinking : &s->ready, step);
}

/* Puts a ready step into its heap. Openings, updates, and steps that run soon or late have heaps of their own;
 * `shrinks` is set for them so that look_again_at_last_reader does not put them into a second heap. */
static void push_by_order(schedule *s, int32_t step) {
  if (s->kind[step]) {
    s->shrinks[step] = true;
    heap_push(s, s->opens[step] ? &s->urgent : &s->waiting, step);
    return;
  }
  bool late = reads_what_has_begun(s, &s->partition->steps[step]);
  bool soon = !late && !s->partition->steps[step].fused && mica__step_op(s->partition, step)->order == MICA__ORDER_SOON;
  if (!late && !soon) {
    push_by_growth(s, step);
    return;
  }
  s->shrinks[step] = true;
  heap_push(s, late ? &s->ready_late : &s->ready_soon, step);
}

/* Checks the growth of a value's readers again: the last remaining one will free it. */
static void look_again_at_last_reader(schedule *s, int32_t id) {
  for (int32_t r = s->first_reader[id - 1]; r < s->first_reader[id]; r++) {
    int32_t step = s->readers_of[r];
    if (s->done[step] || s->waits[step] > 0 || s->shrinks[step] || growth_of(s, step) > 0) continue;
    s->shrinks[step] = true; /* choose() skips the step when it finds it in `ready` */
    heap_push(s, &s->ready_shrinking, step);
  }
}

/* Returns the next step that is neither an opening nor an update. Returns -1 if none is ready, or if only steps in
 * ready_late are ready while updates wait. */
static int32_t choose(schedule *s) {
  if (s->ready_soon.count > 0) return heap_pop(s, &s->ready_soon);
  while (s->ready_shrinking.count == 0 && s->ready.count > 0) {
    int32_t step = heap_pop(s, &s->ready);
    if (!s->shrinks[step]) return step;
  }
  if (s->ready_shrinking.count > 0) return heap_pop(s, &s->ready_shrinking);
  return s->ready_late.count > 0 && s->waiting.count == 0 ? heap_pop(s, &s->ready_late) : -1;
}

/* Like choose(), but includes openings and updates. Openings run first. Waiting updates run when other steps would make
 * memory grow too much, or when choose() finds no step. Updates that become ready during a round wait for the next
 * round. */
static int32_t choose_next(schedule *s) {
  int32_t next = s->urgent.count > 0 ? -1 : choose(s);
  if (s->waiting.count > 0 && next >= 0 && s->live + taken_by(s, next) > s->most + s->spare) {
    push_by_order(s, next); /* it runs after the updates */
    next = -1;
  }
  if (next >= 0) return next;
  if (s->urgent.count == 0) {
    heap empty = s->urgent;
    s->urgent = s->waiting;
    s->waiting = empty;
    s->rounds++;
  }
  if (s->urgent.count == 0) return choose(s);
  next = heap_pop(s, &s->urgent);
  s->round[next] = s->rounds;
  return next;
}

static void run(schedule *s, int32_t at) {
  const mica__step *step = &s->partition->steps[at];
  const double live = s->live + taken_by(s, at);
  if (s->waiting.count == 0 && live > s->most) s->most = live;
  s->live += growth_of(s, at);
  s->done[at] = true;
  for (int32_t i = 0; i < step->read_count; i++) s->readers[step->reads[i] - 1]--;
  for (int32_t i = 0; i < step->read_count; i++)
    if (s->readers[step->reads[i] - 1] == 1) look_again_at_last_reader(s, step->reads[i]);
  release_waiting(s, at, push_by_order);
}

static mica_status order(schedule *s) {
  mica__partition *p = s->partition;
  mica__step *ordered = calloc((size_t)p->count + 1, sizeof *ordered);
  if (!ordered) return mica__fail_nomem("a session");
  int32_t *numbers = s->rank; /* reused: ranks are no longer needed */
  count_waits(s);
  s->ready.count = 0;
  for (int32_t i = 0; i < p->count; i++)
    if (s->waits[i] == 0) push_by_order(s, i);
  for (int32_t n = 0; n < p->count; n++) {
    int32_t next = choose_next(s);
    if (next < 0) {
      free(ordered);
      return mica__fail(MICA_E_STATE, "the launches of a session wait for each other in a circle (an error in Mica)");
    }
    run(s, next);
    numbers[n] = next;
    ordered[n] = p->steps[next];
  }
  free(p->steps);
  p->steps = ordered;
  share_launches(s, numbers);
  for (int32_t i = 0; i < p->graph->count; i++) p->step_of[i] = -1;
  for (int32_t i = 0; i < p->count; i++) mica__step_note_stores(p, i);
  return MICA_OK;
}

static bool allocate(schedule *s) {
  size_t steps = (size_t)s->partition->count + 1, nodes = (size_t)s->partition->graph->count + 1;
  s->out = calloc(steps, sizeof *s->out);
  s->in = calloc(steps, sizeof *s->in);
  s->first_reader = calloc(nodes, sizeof *s->first_reader);
  s->waits = calloc(steps, sizeof *s->waits);
  s->readers = calloc(nodes, sizeof *s->readers);
  s->kept = calloc(nodes, sizeof *s->kept);
  s->done = calloc(steps, sizeof *s->done);
  s->shrinks = calloc(steps, sizeof *s->shrinks);
  s->rank = calloc(steps, sizeof *s->rank);
  s->seen = calloc(steps, sizeof *s->seen);
  s->stack = calloc(steps, sizeof *s->stack);
  s->ready.steps = calloc(steps, sizeof *s->ready.steps);
  s->ready_shrinking.steps = calloc(steps, sizeof *s->ready_shrinking.steps);
  s->ready_soon.steps = calloc(steps, sizeof *s->ready_soon.steps);
  s->ready_late.steps = calloc(steps, sizeof *s->ready_late.steps);
  s->kind = calloc(steps, sizeof *s->kind);
  s->opens = calloc(steps, sizeof *s->opens);
  s->first = calloc(steps, sizeof *s->first);
  s->room = calloc(steps, sizeof *s->room);
  s->hashes = calloc(steps, sizeof *s->hashes);
  s->round = calloc(steps, sizeof *s->round);
  s->waiting.steps = calloc(steps, sizeof *s->waiting.steps);
  s->urgent.steps = calloc(steps, sizeof *s->urgent.steps);
  s->one = malloc(sizeof *s->one);
  s->other = malloc(sizeof *s->other);
  return s->out && s->in && s->first_reader && s->waits && s->readers && s->kept && s->done && s->shrinks && s->rank &&
         s->seen && s->stack && s->ready.steps && s->ready_shrinking.steps && s->ready_soon.steps &&
         s->ready_late.steps && s->kind && s->opens && s->first && s->room && s->hashes && s->round &&
         s->waiting.steps && s->urgent.steps && s->one && s->other;
}

mica_status mica__partition_schedule(const mica__template *template, mica__partition *partition, bool *deferred) {
  schedule s = {.partition = partition};
  mica_status status = allocate(&s) ? find_readers(&s) : mica__fail_nomem("a session");
  if (status == MICA_OK) status = insert_assignments(&s, template, deferred);
  if (status == MICA_OK) status = find_kinds(&s, template, deferred);
  if (status == MICA_OK) status = order(&s);
  void *all[] = {s.edges,
                 s.out,
                 s.in,
                 s.readers_of,
                 s.first_reader,
                 s.waits,
                 s.readers,
                 s.kept,
                 s.done,
                 s.rank,
                 s.seen,
                 s.stack,
                 s.ready.steps,
                 s.ready_shrinking.steps,
                 s.shrinks,
                 s.ready_soon.steps,
                 s.ready_late.steps,
                 s.kind,
                 s.opens,
                 s.first,
                 s.room,
                 s.hashes,
                 s.round,
                 s.waiting.steps,
                 s.urgent.steps,
                 s.one,
                 s.other};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
  return status;
}
