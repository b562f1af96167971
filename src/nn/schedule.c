#include "base/arith.h"
#include "nn/nn.h"

#include <math.h>
#include <mica/optim.h>

#define PI 3.141592653589793
/* One cycle, as in PyTorch: the first rate as a share of the highest one, the share of steps in which it rises, and the
 * default last rate, again as a share. */
#define CYCLE_FIRST (1.0 / 25)
#define CYCLE_RISE 0.3
#define CYCLE_LAST (CYCLE_FIRST * 1e-4)

/* Half a cosine from a to b, x in [0, 1]. */
static double ease(double a, double b, double x) { return b + (a - b) * (1 + cos(PI * x)) / 2; }

static double part(double i, double n) { return n <= 0 || i >= n ? 1 : i / n; }

static double share_one_cycle(const mica_schedule_config *s, double i) {
  double n = (double)s->steps - 1, top = CYCLE_RISE * (double)s->steps - 1;
  double last = s->last > 0 ? s->last : CYCLE_LAST;
  return i < top ? ease(CYCLE_FIRST, 1, part(i, top)) : ease(1, last, part(i - top, n - top));
}

static double share(const mica_schedule_config *s, double i) {
  double every = s->every > 0 ? (double)s->every : 1, n = (double)(s->steps - s->warmup);
  switch (s->kind) {
  case MICA_SCHEDULE_STEP: return pow(s->gamma > 0 ? s->gamma : 0.1, floor(i / every));
  case MICA_SCHEDULE_EXPONENTIAL: return pow(s->gamma > 0 ? s->gamma : 0.9, i / every);
  case MICA_SCHEDULE_COSINE: return ease(1, s->last, part(i, n));
  case MICA_SCHEDULE_LINEAR: return 1 + (s->last - 1) * part(i, n);
  case MICA_SCHEDULE_ONE_CYCLE: return share_one_cycle(s, i);
  case MICA_SCHEDULE_CONSTANT: break;
  }
  return 1;
}

double mica_schedule_rate(const mica_schedule_config *s, int64_t step) {
  if (s->kind == MICA_SCHEDULE_ONE_CYCLE) return s->rate * share(s, (double)step);
  if (step < s->warmup) return s->rate * (double)(step + 1) / (double)s->warmup;
  return s->rate * share(s, (double)(step - s->warmup));
}

static const char *const names[] = {
#define SCHEDULE_NAME(name, text) text,
    MICA_SCHEDULE_LIST(SCHEDULE_NAME)};
#define SCHEDULES (sizeof names / sizeof *names)

const char *mica_schedule_name(mica_schedule kind) { return (size_t)kind < SCHEDULES ? names[kind] : "?"; }

mica_status mica_schedule_find(const char *name, mica_schedule *kind) {
  int32_t found = 0;
  MICA_TRY(mica__name_find("schedule", name, names, SCHEDULES, &found));
  *kind = (mica_schedule)found;
  return MICA_OK;
}

double mica_plateau_note(mica_plateau *p, double measure) {
  double factor = p->factor > 0 ? p->factor : 0.1, threshold = mica__or_default(p->threshold, 1e-4);
  int64_t patience = p->patience > 0 ? p->patience : 10;
  /* A NaN is never an improvement; the first number always is. */
  if (p->noted == 0 || isnan(p->best)) p->best = p->rising ? -INFINITY : INFINITY;
  double margin = isinf(p->best) ? 0 : threshold * fabs(p->best);
  bool better = p->rising ? measure > p->best + margin : measure < p->best - margin;
  if (p->noted++ == 0) p->share = 1;
  if (better) p->best = measure;
  p->worse = better ? 0 : p->worse + 1;
  if (p->worse > patience) {
    p->share *= factor;
    p->worse = 0;
  }
  return p->share;
}
