/* Pruning: groups of channels, their scores, and a file without the removed channels. */
#include "compress/prune.h"

#include "base/text.h"

#include <math.h>
#include <mica/nodes.h>
#include <mica/safetensors.h>
#include <stdlib.h>
#include <string.h>

/* Channels are removed from groups of at least WIDE channels in steps of WIDE_STEP, so that the remaining ones fill
 * vectors, from groups of at least MIDDLE channels in steps of MIDDLE_STEP, and from smaller groups one by one. A cut
 * leaves at least the share LEAST_SHARE of each group, and at least one channel. */
#define WIDE 64
#define WIDE_STEP 8
#define MIDDLE 16
#define MIDDLE_STEP 4
#define LEAST_SHARE 0.1

void mica_pruning_destroy(mica_pruning *p) {
  if (!p) return;
  for (size_t i = 0; i < p->block_count; i++) free(p->blocks[i]);
  for (size_t i = 0; i < p->group_count; i++) free((void *)p->groups[i].members);
  free(p->blocks);
  free(p->groups);
  free(p->before);
  free(p->parameters);
  free(p->parent);
  free(p->labels);
  free(p->types);
  free(p->costs);
  free(p->class_of);
  free(p->group_of);
  free(p->scores);
  free(p->removed);
  free(p);
}

/* --- groups --- */

static mica_status take_parameters(mica_pruning *p, const mica_nn *nn) {
  const size_t count = mica_nn_parameter_count(nn);
  p->parameters = calloc(count + 1, sizeof *p->parameters);
  if (!p->parameters) return mica__fail_nomem("pruning groups");
  p->atom_count = 1;
  for (size_t i = 0; i < count; i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (info->role == MICA_NN_ROLE_OPTIMIZER) continue;
    mica__prune_parameter *to = &p->parameters[p->parameter_count++];
    *to = (mica__prune_parameter){.name = info->own_name, .id = info->value.id};
    to->shape = mica_value_shape(info->value);
    for (int32_t a = 0; a < to->shape.rank; a++) {
      if (to->shape.dim[a] > INT32_MAX / 2 - p->atom_count)
        return mica__fail(MICA_E_OVERFLOW,
                          "the network is too large to prune: its weights have more than 2^30 channels");
      to->first[a] = p->atom_count;
      p->atom_count += (int32_t)to->shape.dim[a];
    }
  }
  return MICA_OK;
}

/* Numbers the removable classes, by their first atoms. */
static mica_status number_classes(mica_pruning *p) {
  const size_t atoms = (size_t)p->atom_count;
  p->class_of = malloc(atoms * sizeof *p->class_of);
  p->group_of = calloc(atoms, sizeof *p->group_of);
  p->scores = calloc(atoms, sizeof *p->scores);
  p->removed = calloc(atoms, sizeof *p->removed);
  if (!p->class_of || !p->group_of || !p->scores || !p->removed) return mica__fail_nomem("pruning groups");
  for (int32_t i = 0; i < p->atom_count; i++) {
    const int32_t root = mica__prune_root(p, i);
    p->class_of[i] = !root ? -1 : root == i ? p->class_count++ : p->class_of[root];
  }
  return MICA_OK;
}

/* A hash of the axes where a class has atoms, once per atom, and the number of these axes. Classes with equal hashes
 * are channels of one group. */
typedef struct signature {
  uint64_t hash;
  size_t members;
} signature;

static void add_to_hash(uint64_t *hash, uint64_t value) { *hash = (*hash ^ value) * UINT64_C(0x100000001b3); }

static void sign_axis(const mica_pruning *p, size_t parameter, int32_t axis, signature *list, int32_t *last) {
  const mica__prune_parameter *q = &p->parameters[parameter];
  for (int64_t i = 0; i < q->shape.dim[axis]; i++) {
    const int32_t class = p->class_of[q->first[axis] + i];
    if (class < 0) continue;
    if (last[class] != q->first[axis]) list[class].members++;
    last[class] = q->first[axis];
    add_to_hash(&list[class].hash, (uint64_t)q->first[axis]);
  }
}

static mica_status list_members(mica_pruning *p, mica_prune_group *group, int32_t class, size_t count) {
  mica_prune_member *members = calloc(count, sizeof *members);
  group->members = members;
  if (!members) return mica__fail_nomem("pruning groups");
  for (size_t i = 0; i < p->parameter_count; i++)
    for (int32_t a = 0; a < p->parameters[i].shape.rank; a++) {
      bool there = false;
      for (int64_t k = 0; k < p->parameters[i].shape.dim[a]; k++)
        there = there || p->class_of[p->parameters[i].first[a] + k] == class;
      if (there) members[group->member_count++] = (mica_prune_member){p->parameters[i].name, a};
    }
  return MICA_OK;
}

static mica_status group_classes(mica_pruning *p, signature *list, uint64_t *hashes) {
  for (int32_t c = 0; c < p->class_count; c++) {
    size_t g = 0;
    while (g < p->group_count && hashes[g] != list[c].hash) g++;
    if (g == p->group_count) {
      hashes[p->group_count++] = list[c].hash;
      MICA_TRY(list_members(p, &p->groups[g], c, list[c].members));
    }
    p->group_of[c] = (int32_t)g;
    p->groups[g].channels++;
    p->groups[g].left++;
  }
  return MICA_OK;
}

static mica_status find_groups(mica_pruning *p) {
  signature *list = calloc((size_t)p->class_count + 1, sizeof *list);
  uint64_t *hashes = calloc((size_t)p->class_count + 1, sizeof *hashes);
  int32_t *last = calloc((size_t)p->class_count + 1, sizeof *last);
  p->groups = calloc((size_t)p->class_count + 1, sizeof *p->groups);
  p->before = calloc((size_t)p->class_count + 1, sizeof *p->before);
  mica_status status = list && hashes && last && p->groups && p->before ? MICA_OK : mica__fail_nomem("pruning groups");
  for (int32_t c = 0; status == MICA_OK && c < p->class_count; c++) list[c].hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; status == MICA_OK && i < p->parameter_count; i++)
    for (int32_t a = 0; a < p->parameters[i].shape.rank; a++) sign_axis(p, i, a, list, last);
  if (status == MICA_OK) status = group_classes(p, list, hashes);
  free(list);
  free(hashes);
  free(last);
  return status;
}

static mica_status create(mica_pruning *p, const mica_nn *nn) {
  p->graph = mica_nn_graph(nn);
  MICA_TRY(mica_graph_status(p->graph));
  MICA_TRY(take_parameters(p, nn));
  p->parent = malloc((size_t)p->atom_count * sizeof *p->parent);
  p->labels = calloc((size_t)p->graph->count + 1, sizeof *p->labels);
  p->costs = calloc(2 * (size_t)p->graph->count + 1, sizeof *p->costs); /* at most two per node */
  p->types = calloc((size_t)p->graph->count + 1, sizeof *p->types);
  if (!p->parent || !p->labels || !p->costs || !p->types) return mica__fail_nomem("pruning groups");
  for (int32_t i = 0; i < p->atom_count; i++) p->parent[i] = i;
  MICA_TRY(mica__prune_walk(p));
  MICA_TRY(number_classes(p));
  return find_groups(p);
}

static mica_status create_of(const mica_nn *nn, const mica_value *outputs, size_t count, mica_pruning **out) {
  mica_pruning *p = calloc(1, sizeof *p);
  if (p) p->outputs = outputs;
  if (p) p->output_count = count;
  mica_status status = p ? create(p, nn) : mica__fail_nomem("pruning groups");
  if (p) p->outputs = NULL;
  if (status == MICA_OK)
    *out = p;
  else
    mica_pruning_destroy(p);
  return status;
}

mica_status mica_pruning_create(const mica_nn *nn, mica_pruning **out) {
  if (!nn || !out) return mica__fail(MICA_E_INVALID, "mica_pruning_create: a pointer is NULL");
  return create_of(nn, NULL, 0, out);
}

mica_status mica_pruning_create_of(const mica_nn *nn, const mica_value *outputs, size_t count, mica_pruning **out) {
  if (!nn || !out || !outputs) return mica__fail(MICA_E_INVALID, "mica_pruning_create_of: a pointer is NULL");
  for (size_t i = 0; i < count; i++)
    if (outputs[i].graph != mica_nn_graph(nn))
      return mica__fail(MICA_E_INVALID, "mica_pruning_create_of: output %zu is not a value of the network's graph", i);
  return create_of(nn, outputs, count, out);
}

const mica_prune_group *mica_pruning_group_at(const mica_pruning *p, size_t index) {
  return p && index < p->group_count ? &p->groups[index] : NULL;
}

/* --- scores --- */

static int32_t class_at(const mica_pruning *p, const mica__prune_parameter *q, int32_t axis, int64_t i) {
  return p->class_of[q->first[axis] + i];
}

static const mica__prune_parameter *find(const mica_pruning *p, const char *name) {
  for (size_t i = 0; i < p->parameter_count; i++)
    if (!strcmp(p->parameters[i].name, name)) return &p->parameters[i];
  return NULL;
}

/* Adds to each class the scores of its indices along an axis: sum w^2 or, with gradients g, (sum w g)^2. */
static void score_axis(mica_pruning *p, const mica__prune_parameter *q, int32_t axis, const float *w, const float *g) {
  int64_t behind = 1, before = 1, n = q->shape.dim[axis];
  for (int32_t a = 0; a < q->shape.rank; a++)
    *(a < axis ? &before : a > axis ? &behind : &(int64_t){0}) *= q->shape.dim[a];
  for (int64_t i = 0; i < n; i++) {
    const int32_t class = class_at(p, q, axis, i);
    double sum = 0;
    if (class < 0) continue;
    for (int64_t b = 0; b < before; b++)
      for (int64_t k = (b * n + i) * behind; k < (b * n + i + 1) * behind; k++)
        sum += (double)w[k] * (double)(g ? g[k] : w[k]);
    p->scores[class] += g ? sum * sum : sum;
  }
}

mica_status mica_pruning_note(mica_pruning *p, const char *name, const float *values, const float *gradient) {
  if (!p || !name || !values) return mica__fail(MICA_E_INVALID, "mica_pruning_note: a pointer is NULL");
  const mica__prune_parameter *q = find(p, name);
  if (!q) return mica__fail(MICA_E_NOT_FOUND, "mica_pruning_note: there is no weight '%s'", name);
  for (int32_t a = 0; a < q->shape.rank; a++) score_axis(p, q, a, values, gradient);
  return MICA_OK;
}

/* --- removal --- */

static double left_of(const mica_pruning *p, const int32_t *labels, int64_t count) {
  int64_t left = 0;
  if (!labels || !count) return 1;
  for (int64_t i = 0; i < count; i++) {
    const int32_t class = p->class_of[labels[i]];
    left += class < 0 || !p->removed[class];
  }
  return (double)left / (double)count;
}

double mica_pruning_flops(const mica_pruning *p) {
  double left = 0, whole = 0;
  for (size_t i = 0; p && i < p->cost_count; i++) {
    const mica__prune_cost *c = &p->costs[i];
    whole += c->flops;
    left += c->flops * left_of(p, c->out, c->outs) * left_of(p, c->in, c->ins);
  }
  return whole > 0 ? left / whole : 1;
}

static void remove_class(mica_pruning *p, int32_t class) {
  if (p->removed[class]) return;
  p->removed[class] = true;
  p->groups[p->group_of[class]].left--;
}

mica_status mica_pruning_remove(mica_pruning *p, size_t group, int64_t channel) {
  if (!p || group >= p->group_count || channel < 0 || channel >= p->groups[group].channels)
    return mica__fail(MICA_E_INVALID,
                      "mica_pruning_remove: p is NULL, or there is no group %zu or no channel %lld in it", group,
                      (long long)channel);
  for (int32_t c = 0; c < p->class_count; c++)
    if (p->group_of[c] == (int32_t)group && channel-- == 0) remove_class(p, c);
  return MICA_OK;
}

static int64_t step_of(int64_t channels) { return channels >= WIDE ? WIDE_STEP : channels >= MIDDLE ? MIDDLE_STEP : 1; }

/* A channel, in the order of removal: within each group the lowest scores come first. */
typedef struct ranked {
  int32_t class, group;
  double score;
} ranked;

static int compare_ranked(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  if (x->score < y->score || x->score > y->score) return x->score < y->score ? -1 : 1;
  return (x->class > y->class) - (x->class < y->class);
}

/* Lists all classes by group, and each group's classes in the order of removal. The list's score is the square root of
 * a class's score divided by the mean of these roots in its group, so that layers can be compared; 0 if the mean is
 * 0. */
static void rank(const mica_pruning *p, ranked *list, double *means) {
  for (int32_t c = 0; c < p->class_count; c++)
    means[p->group_of[c]] += sqrt(p->scores[c]) / (double)p->groups[p->group_of[c]].channels;
  for (int32_t c = 0; c < p->class_count; c++) {
    const double mean = means[p->group_of[c]];
    list[c] = (ranked){c, p->group_of[c], mean > 0 ? sqrt(p->scores[c]) / mean : 0};
  }
  qsort(list, (size_t)p->class_count, sizeof *list, compare_ranked);
}

/* The mean score of the channels that would be removed next from a group; INFINITY if no more may be removed. The
 * group's channels begin at list[at]. */
static double next_worth(const mica_pruning *p, const ranked *list, size_t group, size_t at) {
  const mica_prune_group *g = &p->groups[group];
  const int64_t step = step_of(p->before[group]), least = (int64_t)ceil(LEAST_SHARE * (double)p->before[group]);
  double sum = 0;
  int64_t count = 0;
  if (g->left - step < (least > 1 ? least : 1)) return INFINITY;
  for (int64_t i = 0; i < g->channels && count < step; i++)
    if (!p->removed[list[at + (size_t)i].class]) sum += list[at + (size_t)i].score, count++;
  return sum / (double)step;
}

static mica_status cut(mica_pruning *p, const ranked *list, double share) {
  for (size_t g = 0; g < p->group_count; g++) p->before[g] = p->groups[g].left;
  /* 1e-9 allows for the rounding of a share that is a quotient. */
  while (mica_pruning_flops(p) > share * (1 + 1e-9)) {
    double least = INFINITY;
    size_t best = p->group_count, best_at = 0, at = 0;
    for (size_t g = 0; g < p->group_count; at += (size_t)p->groups[g++].channels) {
      const double worth = next_worth(p, list, g, at);
      if (worth < least) least = worth, best = g, best_at = at;
    }
    if (best == p->group_count)
      return mica__fail(
          MICA_E_STATE,
          "cannot remove %.1f %% of the network's FLOPs: at most %.1f %% of the FLOPs can be removed with these "
          "cuts, because a part of each layer stays; remove less",
          100 * (1 - share), 100 * (1 - mica_pruning_flops(p)));
    int64_t count = step_of(p->before[best]);
    for (size_t i = best_at; count > 0; i++)
      if (!p->removed[list[i].class]) remove_class(p, list[i].class), count--;
  }
  return MICA_OK;
}

/* Removes channels in several cuts, which approach the share evenly; each works like mica_pruning_cut. */
static mica_status cut_in_parts(mica_pruning *p, double share, int64_t cuts) {
  if (!p->group_count)
    return mica__fail(MICA_E_STATE, "the network has no channels that can be removed; among others, inputs, outputs, "
                                    "single channels and channels that a norm mixes must stay");
  ranked *list = calloc((size_t)p->class_count, sizeof *list);
  double *means = calloc(p->group_count, sizeof *means);
  mica_status status = list && means ? MICA_OK : mica__fail_nomem("a pruning");
  if (status == MICA_OK) rank(p, list, means);
  for (int64_t k = 1; status == MICA_OK && k <= cuts; k++)
    status = cut(p, list, 1 - (1 - share) * (double)k / (double)cuts);
  free(list);
  free(means);
  return status;
}

mica_status mica_pruning_cut(mica_pruning *p, double share) {
  if (!p || !(share > 0 && share <= 1))
    return mica__fail(
        MICA_E_INVALID,
        "mica_pruning_cut: the pruning must not be NULL, and the share (%g) must be above 0 and at most 1", share);
  return cut_in_parts(p, share, 1);
}

mica_status mica__pruning_foresee(mica_pruning *p, double share, int64_t cuts) {
  bool *removed = malloc((size_t)p->atom_count * sizeof *removed);
  if (!removed) return mica__fail_nomem("a pruning");
  memcpy(removed, p->removed, (size_t)p->atom_count * sizeof *removed);
  const mica_status status = cut_in_parts(p, share, cuts);
  memcpy(p->removed, removed, (size_t)p->atom_count * sizeof *removed);
  for (size_t g = 0; g < p->group_count; g++) p->groups[g].left = p->groups[g].channels;
  for (int32_t c = 0; c < p->class_count; c++) p->groups[p->group_of[c]].left -= removed[c];
  free(removed);
  return status;
}

/* --- the file --- */

static bool goes(const mica_pruning *p, const mica__prune_parameter *q, int32_t axis, int64_t i) {
  const int32_t class = class_at(p, q, axis, i);
  return class >= 0 && p->removed[class];
}

/* Copies the elements that stay or, with `mask`, all elements with zeros for removed ones. Returns the number of bytes
 * written. */
static size_t copy_left(const mica_pruning *p, const mica__prune_parameter *q, size_t size, bool mask,
                        const unsigned char *from, unsigned char *to) {
  int64_t index[MICA_MAX_RANK] = {0}, count = 1;
  unsigned char *const begin = to;
  for (int32_t a = 0; a < q->shape.rank; a++) count *= q->shape.dim[a];
  for (int64_t n = 0; n < count; n++, from += size) {
    bool gone = false;
    for (int32_t a = 0; a < q->shape.rank; a++) gone = gone || goes(p, q, a, index[a]);
    if (!gone) memcpy(to, from, size);
    if (gone && mask) memset(to, 0, size);
    if (!gone || mask) to += size;
    for (int32_t a = q->shape.rank; a-- > 0 && ++index[a] == q->shape.dim[a];) index[a] = 0;
  }
  return (size_t)(to - begin);
}

static mica_status cut_entry(const mica_pruning *p, bool mask, mica_safetensors_entry *e) {
  const mica__prune_parameter *q = find(p, e->name);
  char is[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  int64_t count = 0;
  if (q && !mica_shape_equal(q->shape, e->shape))
    return mica__fail(MICA_E_FORMAT, "'%s' is %s in the file but %s in the network", e->name,
                      mica_shape_format(e->shape, is), mica_shape_format(q->shape, want));
  unsigned char *data = malloc(e->bytes ? e->bytes : 1);
  if (!data) return mica__fail_nomem("a pruned file");
  const void *from = e->data;
  e->data = data;
  if (!q || mica_shape_count(e->shape, &count) != MICA_OK || count == 0) {
    memcpy(data, from, e->bytes);
    return MICA_OK;
  }
  e->bytes = copy_left(p, q, e->bytes / (size_t)count, mask, from, data);
  for (int32_t a = 0; !mask && a < q->shape.rank; a++)
    for (int64_t i = 0; i < q->shape.dim[a]; i++) e->shape.dim[a] -= goes(p, q, a, i);
  return MICA_OK;
}

mica_status mica_pruning_write(const mica_pruning *p, const struct mica_safetensors *from, bool masks,
                               const char *path) {
  if (!p || !from || !path) return mica__fail(MICA_E_INVALID, "mica_pruning_write: a pointer is NULL");
  const size_t count = mica_safetensors_count(from);
  mica_safetensors_entry *entries = calloc(count + 1, sizeof *entries);
  const mica_safetensors_pair note = {MICA_PRUNED_KEY, "true"};
  mica_status status = entries ? MICA_OK : mica__fail_nomem("a pruned file");
  size_t made = 0;
  for (; status == MICA_OK && made < count; made++) {
    entries[made] = *mica_safetensors_at(from, made);
    status = cut_entry(p, masks, &entries[made]);
    if (status != MICA_OK && entries[made].data == mica_safetensors_at(from, made)->data) break;
  }
  if (status == MICA_OK) status = mica_safetensors_write(path, entries, count, &note, masks ? 0 : 1);
  for (size_t i = 0; i < made; i++) free((void *)entries[i].data);
  free(entries);
  return status;
}
