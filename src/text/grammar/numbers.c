/* Writes numbers of a schema as paths. The digits of a number with bounds or a step are compared with the digits of the
 * bounds, one by one. A state is the number of digits so far, how they compare with each bound, and their remainder by
 * the step. */
#include "text/grammar/decimal.h"
#include "text/grammar/schema.h"

#include <stdlib.h>
#include <string.h>

/* Maximum digits before and after the point if the schema has no limit; a model could otherwise write digits
 * forever. */
#define MOST_WRITTEN 20
/* If the step is larger than this, the number of digits is not limited, since a limit would need too many states. */
#define MOST_ENDING_STEP 2000
#define MOST_EXPONENT 3
#define MOST_REMAINDERS 10000
#define MOST_CELLS 4000000

/* Magnitudes from low to high that are multiples of step / 10^scale. */
typedef struct range {
  const mica__decimal *low, *high; /* high NULL: no upper bound */
  bool above, below;               /* the bound itself is excluded */
  uint32_t step;                   /* 1 with scale -1: no step */
  int scale;                       /* maximum digits after the point; -1: no limit */
  bool whole;
} range;

typedef enum order { LESS, SAME, MORE } order;
typedef enum phase { WHOLE, PART, PHASES } phase;

typedef struct position {
  phase phase;
  size_t count;    /* digits of this phase, capped */
  order low, high; /* how the digits so far compare with the bounds */
  uint32_t rest;   /* remainder of the digits so far, by step */
  bool zero;       /* WHOLE: the digit is a leading 0, which ends this phase */
} position;

typedef struct writer {
  mica__grammar_schema *s;
  range r;
  size_t counts; /* maximum of count, plus 1 */
  bool ends;     /* numbers end at the largest count; false: more digits may follow */
  uint32_t *nodes;
  position *open; /* positions whose edges are not written yet */
  size_t open_count, open_room;
} writer;

static uint32_t node_of(writer *w, position p) {
  const size_t cell =
      (((((size_t)p.phase * w->counts + p.count) * 3 + p.low) * 3 + p.high) * 2 + p.zero) * w->r.step + p.rest;
  if (w->nodes[cell] == 0) {
    w->nodes[cell] = mica__automaton_node(w->s->automaton);
    if (w->open_count == w->open_room) {
      const size_t room = 2 * w->open_room + 64;
      position *grown = realloc(w->open, room * sizeof *grown);
      if (!grown) return mica__automaton_fail(w->s->automaton, mica__fail_nomem("a grammar")), 0;
      w->open = grown;
      w->open_room = room;
    }
    w->open[w->open_count++] = p;
  }
  return w->nodes[cell];
}

static order compare_digit(order so_far, char digit, char bound) {
  if (so_far != SAME || digit == bound) return so_far;
  return digit < bound ? LESS : MORE;
}

/* Compares all digits before the point with the same digits of a bound. */
static order compare_whole(const writer *w, const position *p, const mica__decimal *bound, order so_far) {
  const size_t count = p->zero ? 0 : p->count;
  (void)w;
  if (count != bound->whole_count) return count < bound->whole_count ? LESS : MORE;
  return count == 0 ? SAME : so_far;
}

/* Sets *after to the position after the digits before the point. False if every number that begins with these digits is
 * out of range. */
static bool end_whole(const writer *w, const position *p, position *after) {
  const range *r = &w->r;
  *after = (position){.phase = PART, .rest = p->rest, .low = compare_whole(w, p, r->low, p->low), .high = LESS};
  if (r->high) after->high = compare_whole(w, p, r->high, p->high);
  return after->low != LESS && after->high != MORE;
}

/* True if a number may end with `count` digits after the point. */
static bool may_end(const writer *w, const position *p, size_t count) {
  const range *r = &w->r;
  uint64_t rest = p->rest;
  for (int i = (int)count; i < r->scale && r->scale >= 0; i++) rest = rest * 10 % r->step;
  if (rest != 0) return false;
  if (p->low == SAME && (count < r->low->part_count || r->above)) return false;
  return p->high != SAME || count < r->high->part_count || !r->below;
}

static void write_digits(writer *w, const position *p, uint32_t node) {
  const range *r = &w->r;
  for (char digit = '0'; digit <= '9'; digit++) {
    position next = *p;
    const size_t i = p->count;
    if (w->ends && i + 1 == w->counts) continue;
    next.rest = (uint32_t)(((uint64_t)p->rest * 10 + (uint64_t)(digit - '0')) % r->step);
    if (p->phase == WHOLE) {
      if (p->zero || (i == 0 && digit == '0')) continue;
      if (r->high && i >= r->high->whole_count) continue;
      if (i < r->low->whole_count) next.low = compare_digit(p->low, digit, r->low->whole[i]);
      if (r->high) next.high = compare_digit(p->high, digit, r->high->whole[i]);
    } else {
      if (r->scale >= 0 && i >= (size_t)r->scale) continue;
      next.low = compare_digit(p->low, digit, i < r->low->part_count ? r->low->part[i] : '0');
      if (r->high) next.high = compare_digit(p->high, digit, i < r->high->part_count ? r->high->part[i] : '0');
      if (next.low == LESS || next.high == MORE) continue;
    }
    if (i + 1 < w->counts) next.count = i + 1;
    mica__automaton_bytes(w->s->automaton, node, (uint8_t)digit, (uint8_t)digit, node_of(w, next));
  }
}

static void write_position(writer *w, position p, uint32_t to) {
  mica__automaton *a = w->s->automaton;
  const uint32_t node = node_of(w, p);
  position after;
  write_digits(w, &p, node);
  if (p.phase == PART) {
    if (p.count > 0 && may_end(w, &p, p.count)) mica__automaton_empty(a, node, to);
    return;
  }
  if ((p.count == 0 && !p.zero) || !end_whole(w, &p, &after)) return;
  if (may_end(w, &after, 0)) mica__automaton_empty(a, node, to);
  if (!w->r.whole && w->r.scale != 0) mica__automaton_bytes(a, node, '.', '.', node_of(w, after));
}

static mica_status write_range(mica__grammar_schema *s, range r, uint32_t from, uint32_t to) {
  writer w = {.s = s, .r = r};
  size_t most = r.low->whole_count + 1;
  if (r.high && r.high->whole_count > most) most = r.high->whole_count;
  if (r.low->part_count > most) most = r.low->part_count;
  if (r.high && r.high->part_count > most) most = r.high->part_count;
  if (r.scale > (int)most) most = (size_t)r.scale;
  w.ends = r.step <= MOST_ENDING_STEP;
  if (w.ends && most < MOST_WRITTEN) most = MOST_WRITTEN;
  w.counts = most + 1;
  const size_t cells = PHASES * w.counts * 18 * r.step;
  if (cells > MOST_CELLS) return mica__automaton_fail(s->automaton, MICA_E_UNSUPPORTED), MICA_OK;
  w.nodes = calloc(cells, sizeof *w.nodes);
  if (!w.nodes) return mica__fail_nomem("a grammar");
  const position begin = {.phase = WHOLE, .low = SAME, .high = r.high ? SAME : LESS};
  position zero = begin;
  zero.zero = true;
  mica__automaton_empty(s->automaton, from, node_of(&w, begin));
  mica__automaton_bytes(s->automaton, node_of(&w, begin), '0', '0', node_of(&w, zero));
  while (w.open_count > 0 && s->automaton->status == MICA_OK) write_position(&w, w.open[--w.open_count], to);
  free(w.nodes);
  free(w.open);
  return MICA_OK;
}

/* --- all numbers --- */

/* Adds paths of 0 to `most` digits. */
static void write_many(mica__automaton *a, int most, uint32_t from, uint32_t to) {
  for (int i = 0; i < most; i++) {
    const uint32_t next = mica__automaton_node(a);
    mica__automaton_empty(a, from, to);
    mica__automaton_bytes(a, from, '0', '9', next);
    from = next;
  }
  mica__automaton_empty(a, from, to);
}

static void write_any(mica__grammar_schema *s, bool whole, uint32_t from, uint32_t to) {
  mica__automaton *a = s->automaton;
  uint32_t at[8];
  for (size_t i = 0; i < 8; i++) at[i] = mica__automaton_node(a);
  mica__automaton_empty(a, from, at[0]);
  mica__automaton_bytes(a, from, '-', '-', at[0]);
  mica__automaton_bytes(a, at[0], '0', '0', at[2]);
  mica__automaton_bytes(a, at[0], '1', '9', at[1]);
  write_many(a, MOST_WRITTEN - 1, at[1], at[2]);
  mica__automaton_empty(a, at[2], to);
  if (whole) return;
  mica__automaton_bytes(a, at[2], '.', '.', at[3]);
  mica__automaton_bytes(a, at[3], '0', '9', at[4]);
  write_many(a, MOST_WRITTEN - 1, at[4], at[5]);
  mica__automaton_empty(a, at[5], to);
  for (const char *e = "eE"; *e; e++) {
    mica__automaton_bytes(a, at[2], (uint8_t)*e, (uint8_t)*e, at[6]);
    mica__automaton_bytes(a, at[5], (uint8_t)*e, (uint8_t)*e, at[6]);
  }
  const uint32_t digits = mica__automaton_node(a);
  mica__automaton_empty(a, at[6], at[7]);
  mica__automaton_bytes(a, at[6], '+', '+', at[7]);
  mica__automaton_bytes(a, at[6], '-', '-', at[7]);
  mica__automaton_bytes(a, at[7], '0', '9', digits);
  write_many(a, MOST_EXPONENT - 1, digits, to);
}

/* --- bounds and steps of the parts --- */

typedef struct facts {
  mica__decimal low, high;
  bool has_low, has_high, above, below;
  uint32_t step;
  int scale;
} facts;

static mica_status decimal_at(const mica__grammar_schema *s, const mica__object *part, const char *key,
                              mica__decimal *d, bool *found) {
  const mica__object *value = mica__schema_get(part, key);
  *found = value != NULL;
  if (!value) return MICA_OK;
  const mica_status status = mica__decimal_of(value, d);
  return status == MICA_E_UNSUPPORTED ? mica__schema_fail(s, part, key, status, "%s", mica_error_message()) : status;
}

static mica_status read_bounds(const mica__grammar_schema *s, const mica__object *part, facts *f) {
  static const struct {
    const char *key;
    bool high, out;
  } rows[] = {{"minimum", false, false},
              {"exclusiveMinimum", false, true},
              {"maximum", true, false},
              {"exclusiveMaximum", true, true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    mica__decimal d;
    bool found;
    MICA_TRY(decimal_at(s, part, rows[i].key, &d, &found));
    if (!found) continue;
    mica__decimal *bound = rows[i].high ? &f->high : &f->low;
    bool *has = rows[i].high ? &f->has_high : &f->has_low, *out = rows[i].high ? &f->below : &f->above;
    const int beside = *has ? mica__decimal_compare(&d, bound) * (rows[i].high ? -1 : 1) : 1;
    if (beside > 0) {
      *bound = d;
      *out = rows[i].out;
    } else if (beside == 0) {
      *out = *out || rows[i].out;
    }
    *has = true;
  }
  return MICA_OK;
}

static uint64_t gcd(uint64_t a, uint64_t b) { return b ? gcd(b, a % b) : a; }

static mica_status read_step(const mica__grammar_schema *s, const mica__object *part, facts *f) {
  mica__decimal d;
  bool found;
  MICA_TRY(decimal_at(s, part, "multipleOf", &d, &found));
  if (!found) return MICA_OK;
  if (d.negative || mica__decimal_is_zero(&d))
    return mica__schema_fail(s, part, "multipleOf", MICA_E_INVALID, "the value must be above 0");
  uint64_t step = 0, old = f->step;
  int scale = (int)d.part_count, was = f->scale < 0 ? 0 : f->scale;
  bool fits = true;
  for (size_t i = 0; i < d.whole_count + d.part_count && fits; i++) {
    step = 10 * step + (uint64_t)((i < d.whole_count ? d.whole[i] : d.part[i - d.whole_count]) - '0');
    fits = step <= MOST_REMAINDERS;
  }
  /* Scales both steps to the same power of ten, then takes their least common multiple. */
  for (; scale < was && fits; scale++) fits = (step *= 10) <= MOST_REMAINDERS;
  for (; f->scale >= 0 && was < scale && fits; was++) fits = (old *= 10) <= MOST_REMAINDERS;
  if (fits && f->scale >= 0) step = step / gcd(step, old) * old;
  if (!fits || step > MOST_REMAINDERS)
    return mica__schema_fail(
        s, part, "multipleOf", MICA_E_UNSUPPORTED,
        "the value without its decimal point may be at most %d (if several multipleOf apply, their least common "
        "multiple)",
        MOST_REMAINDERS);
  f->step = (uint32_t)step;
  f->scale = scale;
  return MICA_OK;
}

mica_status mica__write_number(mica__grammar_schema *s, const mica__parts *parts, bool whole, uint32_t from,
                               uint32_t to) {
  facts f = {.step = 1, .scale = -1};
  mica__decimal zero = {0};
  for (size_t i = 0; i < parts->count; i++) {
    MICA_TRY(read_bounds(s, parts->at[i], &f));
    MICA_TRY(read_step(s, parts->at[i], &f));
  }
  if (!f.has_low && !f.has_high && f.scale < 0) return write_any(s, whole, from, to), MICA_OK;
  /* numbers from 0 on */
  if (!f.has_high || !f.high.negative) {
    const bool low = f.has_low && !f.low.negative;
    MICA_TRY(write_range(s,
                         (range){.low = low ? &f.low : &zero,
                                 .high = f.has_high ? &f.high : NULL,
                                 .above = low && f.above,
                                 .below = f.below,
                                 .step = f.step,
                                 .scale = f.scale,
                                 .whole = whole},
                         from, to));
  }
  /* numbers below 0 */
  if (f.has_low && !f.low.negative) return MICA_OK;
  const uint32_t minus = mica__automaton_node(s->automaton);
  const bool high = f.has_high && f.high.negative;
  mica__automaton_bytes(s->automaton, from, '-', '-', minus);
  return write_range(s,
                     (range){.low = high ? &f.high : &zero,
                             .high = f.has_low ? &f.low : NULL,
                             .above = !high || f.below,
                             .below = f.above,
                             .step = f.step,
                             .scale = f.scale,
                             .whole = whole},
                     minus, to);
}
