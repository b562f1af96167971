/* Metrics as plain values, computed from sums on the host. */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

mica_status mica_metrics_add(mica_metrics *m, const char *name, double value) {
  if (!m || !name) return mica__fail(MICA_E_INVALID, "mica_metrics_add: a pointer is NULL");
  if (!*name || strlen(name) >= MICA_METRIC_NAME)
    return mica__fail(MICA_E_INVALID, "mica_metrics_add: the name '%.64s' must have 1 to %d bytes", name,
                      MICA_METRIC_NAME - 1);
  int32_t i = 0;
  while (i < m->count && strcmp(m->values[i].name, name) != 0) i++;
  if (i == MICA_METRICS_MAX)
    return mica__fail(MICA_E_OVERFLOW,
                      "mica_metrics_add: '%s' cannot be added: there are already %d metrics, the most allowed", name,
                      i);
  if (i == m->count) m->count++;
  strcpy(m->values[i].name, name);
  m->values[i].value = value;
  return MICA_OK;
}

double mica_metrics_get(const mica_metrics *m, const char *name) {
  if (!m || !name) return NAN;
  if (!strcmp(name, "loss")) return m->loss;
  for (int32_t i = 0; i < m->count; i++)
    if (!strcmp(m->values[i].name, name)) return m->values[i].value;
  return NAN;
}

static double quotient(double sum, double weight) { return weight > 0 ? sum / weight : NAN; }

/* Adds the metric NAME, the mean over the parts whose weight is above 0, and a metric NAME_PART for each part, up to
 * `most` metrics in all. A part without weight is NaN. */
static mica_status add_parts(const mica__metric_slot *slot, const double *sums, int32_t most, mica_metrics *m) {
  double mean = 0;
  size_t there = 0;
  for (size_t i = 0; i < slot->count; i++) {
    if (!(sums[slot->count + i] > 0)) continue;
    mean += sums[i] / sums[slot->count + i];
    there++;
  }
  MICA_TRY(mica_metrics_add(m, slot->name, there ? mean / (double)there : NAN));
  for (size_t i = 0; i < slot->count && m->count < most; i++) {
    char name[MICA_METRIC_NAME];
    snprintf(name, sizeof name, "%s_%s", slot->name, slot->parts[i]);
    MICA_TRY(mica_metrics_add(m, name, quotient(sums[i], sums[slot->count + i])));
  }
  return MICA_OK;
}

mica_status mica__metrics_of(const mica__phase *phase, const mica__totals *totals, mica_metrics *m) {
  const double *sums = totals->sums;
  *m = (mica_metrics){.samples = totals->samples, .loss = quotient(sums[MICA__SUM_LOSS], sums[MICA__SUM_WEIGHT])};
  /* Leaves room for the metrics that follow the parts. */
  int32_t most = MICA_METRICS_MAX;
  for (size_t s = 0; s < phase->slot_count; s++) most -= phase->slots[s].weighted;
  for (size_t s = 0; s < phase->slot_count; s++) {
    const mica__metric_slot *slot = &phase->slots[s];
    if (!slot->weighted) continue;
    const double *own = sums + slot->at;
    most++;
    MICA_TRY(slot->parts ? add_parts(slot, own, most, m) : mica_metrics_add(m, slot->name, quotient(own[0], own[1])));
  }
  return MICA_OK;
}
