#include "compile/memory.h"
#include "compile/without.h"

#include "base/checked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block of the arena. It holds one value, several values that reuse it one after another, or a composite
 * (composite.h). */
typedef struct block {
  size_t bytes, offset;
  int32_t born, dies; /* steps, both included */
  bool composite;
} block;

typedef struct planner {
  const mica__template *template;
  const mica__partition *partition;
  const mica_engine *engine;
  mica__memory *memory;
  int32_t *block_of; /* by id - 1: the node's block, from 1; 0: none */
  int32_t *last_use; /* by id - 1: the last and the first step that read the node */
  int32_t *first_use;
  block *blocks;
  int32_t block_count;
  int32_t *composite_block; /* by composite - 1: its block, from 1; 0: not made yet */
} planner;

static mica__node *node_at(const planner *p, int32_t id) { return mica__graph_node(p->partition->graph, id); }

/* Writes "the result of OP 'NAME', TYPE," to `text`, and returns it. */
static const char *describe(const mica__node *node, char text[static 256]) {
  char type[MICA__TYPE_TEXT];
  snprintf(text, 256, "the result of %s%s%.80s%s, %s,", node->op->name, node->name ? " '" : "",
           node->name ? node->name : "", node->name ? "'" : "", mica__type_format(node->type, type));
  return text;
}

/* Fails with MICA_E_DEVICE_MEMORY if the value is larger than the device's largest buffer. */
static mica_status check_size(const planner *p, int32_t id) {
  const mica__node *node = node_at(p, id);
  const mica_device_info *device = mica_engine_device(p->engine);
  char text[256];
  if (mica__node_bytes(node) <= p->memory->arena.step) return MICA_OK;
  return mica__fail(MICA_E_DEVICE_MEMORY, "%s has %zu bytes, more than the %zu bytes of the largest buffer of %s",
                    describe(node, text), mica__node_bytes(node), p->memory->arena.step, device->name);
}

static double total_of(const mica__memory *m, bool with_outputs) {
  return (double)mica__slabs_total(&m->arena) + (double)mica__slabs_total(&m->constants) +
         (with_outputs ? (double)mica__slabs_total(&m->outputs) : 0);
}

bool mica__memory_has_room(const mica__memory *m, const mica_engine *engine, bool with_outputs) {
  return total_of(m, with_outputs) <= (double)mica_engine_device(engine)->global_bytes;
}

mica_status mica__memory_check(const mica__memory *m, const mica_graph *graph, const mica_engine *engine,
                               bool with_outputs) {
  const mica_device_info *device = mica_engine_device(engine);
  const mica__node *largest = NULL;
  if (mica__memory_has_room(m, engine, with_outputs)) return MICA_OK;
  for (int32_t id = 1; id <= graph->count; id++) {
    const mica__home home = m->locations[id - 1].home;
    const mica__node *node = mica__graph_node(graph, id);
    const bool counts =
        home == MICA__HOME_ARENA || home == MICA__HOME_CONSTANT || (home == MICA__HOME_OUTPUT && with_outputs);
    if (counts && (!largest || mica__node_bytes(node) > mica__node_bytes(largest))) largest = node;
  }
  char text[256], note[320] = "";
  if (largest)
    snprintf(note, sizeof note, "; the largest, %s has %zu bytes", describe(largest, text), mica__node_bytes(largest));
  return mica__fail(MICA_E_DEVICE_MEMORY,
                    "a session needs %.0f bytes for its values, more than the %llu bytes of memory of %s%s",
                    total_of(m, with_outputs), (unsigned long long)device->global_bytes, device->name, note);
}

static mica_status claim(planner *p, int32_t id, mica__slabs *slabs, size_t *offset) {
  MICA_TRY(check_size(p, id));
  return mica__slabs_append(slabs, mica__node_bytes(node_at(p, id)), offset);
}

static mica_status locate_results(planner *p, const bool *deferred) {
  mica__location *locations = p->memory->locations;
  for (int32_t s = 0; s < p->partition->count; s++) {
    const mica__step *step = &p->partition->steps[s];
    for (int32_t r = 0; r < MICA__UPDATES; r++)
      if (step->updated[r])
        locations[step->members[0] + r - 1] = (mica__location){.home = MICA__HOME_PARAMETER, .node = step->updated[r]};
  }
  for (int32_t i = 0; i < p->template->output_count; i++) {
    int32_t id = p->template->outputs[i];
    locations[id - 1] = (mica__location){.home = MICA__HOME_OUTPUT, .node = i};
    MICA_TRY(claim(p, id, &p->memory->outputs, &locations[id - 1].offset));
  }
  for (int32_t i = 0; i < p->template->assignment_count; i++) {
    mica__assignment a = p->template->assignments[i];
    if (deferred[i])
      p->last_use[a.value - 1] = p->partition->count;
    else
      locations[a.value - 1] = (mica__location){.home = MICA__HOME_PARAMETER, .node = a.parameter};
  }
  return MICA_OK;
}

static mica_status locate_sources(planner *p) {
  mica__location *locations = p->memory->locations;
  for (int32_t s = 0; s < p->partition->count; s++) {
    const mica__step *step = &p->partition->steps[s];
    for (int32_t i = 0; i < step->read_count; i++) {
      int32_t id = step->reads[i];
      const mica__op *op = node_at(p, id)->op;
      if (p->last_use[id - 1] < s) p->last_use[id - 1] = s;
      if (p->first_use[id - 1] > s) p->first_use[id - 1] = s;
      if (op->kind != MICA__OP_SOURCE || locations[id - 1].home != MICA__HOME_NONE) continue;
      locations[id - 1].home = op == &mica__op_input       ? MICA__HOME_INPUT
                               : op == &mica__op_parameter ? MICA__HOME_PARAMETER
                                                           : MICA__HOME_CONSTANT;
      locations[id - 1].node = id;
      if (locations[id - 1].home == MICA__HOME_CONSTANT)
        MICA_TRY(claim(p, id, &p->memory->constants, &locations[id - 1].offset));
    }
  }
  return MICA_OK;
}

static bool may_take_over(const planner *p, const mica__step *step, int32_t from, int32_t to) {
  if (node_at(p, from)->type.dtype != node_at(p, to)->type.dtype ||
      mica__node_count(node_at(p, from)) != mica__node_count(node_at(p, to)))
    return false;
  if (step->fused) return mica__step_meets(step, from, to);
  const mica__node *node = node_at(p, to);
  bool found = false;
  for (int32_t k = 0; k < node->input_count; k++) {
    int32_t base = 0;
    mica__access access = mica__partition_operand(p->partition->graph, node, k, &base);
    if (base != from) continue;
    found = k < 32 && node->op->may_alias >> k & 1 &&
            mica__access_is_row_major(node_at(p, node->inputs[k])->type.shape, &access);
    if (!found) return false;
  }
  return found;
}

/* Returns the block of an operand that is read for the last time in step s, if value `id` may take its memory over; 0
 * if there is none. */
static int32_t inherited_block(const planner *p, int32_t s, int32_t id) {
  const mica__step *step = &p->partition->steps[s];
  if (mica__is_without(MICA__WITHOUT_IN_PLACE)) return 0;
  for (int32_t i = 0; i < step->read_count; i++) {
    int32_t from = step->reads[i], b = p->block_of[from - 1];
    if (b && !p->blocks[b - 1].composite && p->last_use[from - 1] == s && p->blocks[b - 1].dies == s &&
        may_take_over(p, step, from, id))
      return b;
  }
  return 0;
}

/* The step at which step s writes: s itself, except for a host step in two halves. Such a step writes in its second
 * half, before the first step that reads a result, or at the end of the run. */
static int32_t written_at(const planner *p, int32_t s) {
  const mica__step *step = &p->partition->steps[s];
  int32_t first = p->partition->count;
  if (!mica__step_op(p->partition, s)->begin) return s;
  for (int32_t i = 0; i < step->count; i++)
    if (p->first_use[step->members[i] - 1] < first) first = p->first_use[step->members[i] - 1];
  return first;
}

/* The block for a value of `bytes` bytes: the block of its composite, the block of an operand whose memory it takes
 * over, or a new one. The block lives at least as long as the value. */
static int32_t block_for(planner *p, int32_t s, int32_t id, size_t bytes, int32_t born, int32_t dies) {
  const mica__composites *all = p->partition->composites;
  const int32_t of = all ? all->of[id - 1] : 0;
  int32_t b = of ? p->composite_block[of - 1] : inherited_block(p, s, id);
  if (!b) {
    b = ++p->block_count;
    p->blocks[b - 1] = (block){.bytes = bytes, .born = born, .dies = dies, .composite = of != 0};
    if (of) p->blocks[b - 1].bytes = mica__round_up((size_t)all->bytes[of - 1], p->memory->arena.align);
    if (of) p->composite_block[of - 1] = b;
  }
  if (born < p->blocks[b - 1].born) p->blocks[b - 1].born = born;
  if (dies > p->blocks[b - 1].dies) p->blocks[b - 1].dies = dies;
  return b;
}

static mica_status locate_value(planner *p, int32_t s, int32_t id) {
  const int32_t born = written_at(p, s), last = p->last_use[id - 1], dies = last > born ? last : born;
  mica__location *location = &p->memory->locations[id - 1];
  if (location->home != MICA__HOME_NONE) return MICA_OK;
  if (p->partition->steps[s].invariant) {
    location->home = MICA__HOME_DERIVED;
    return MICA_OK;
  }
  MICA_TRY(check_size(p, id));
  size_t bytes = mica__round_up(mica__node_bytes(node_at(p, id)), p->memory->arena.align);
  p->block_of[id - 1] = block_for(p, s, id, bytes, born, dies);
  location->home = MICA__HOME_ARENA;
  p->memory->unplanned_bytes += bytes;
  p->memory->value_count++;
  return MICA_OK;
}

/* Returns the lowest offset at which the block fits into one slab without overlapping a block that is alive at the same
 * time. placed[0 .. count) are the blocks that have offsets, in ascending order of offset. */
static size_t find_offset(const planner *p, const block *b, const int32_t *placed, int32_t count) {
  size_t offset = 0;
  for (int32_t i = 0; i < count; i++) {
    const block *other = &p->blocks[placed[i]];
    if (other->offset >= offset + b->bytes) break; /* this block and all later ones begin after the free range */
    bool overlaps = (other->dies >= b->born && b->dies >= other->born) || mica__is_without(MICA__WITHOUT_MEMORY);
    if (overlaps && other->offset + other->bytes > offset)
      offset = mica__slabs_fit(&p->memory->arena, other->offset + other->bytes, b->bytes);
  }
  return offset;
}

/* Inserts block n into `placed`, after the blocks with the same offset. */
static void insert_placed(const planner *p, int32_t n, int32_t *placed, int32_t count) {
  int32_t low = 0, high = count;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (p->blocks[placed[middle]].offset <= p->blocks[n].offset)
      low = middle + 1;
    else
      high = middle;
  }
  memmove(&placed[low + 1], &placed[low], (size_t)(count - low) * sizeof *placed);
  placed[low] = n;
}

typedef struct sized {
  size_t bytes;
  int32_t block;
} sized;

static int largest_first(const void *a, const void *b) {
  const sized *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return x->block < y->block ? -1 : 1;
}

static mica_status pack(planner *p) {
  int32_t *placed = calloc((size_t)p->block_count + 1, sizeof *placed);
  sized *by_size = calloc((size_t)p->block_count + 1, sizeof *by_size);
  bool good = placed && by_size;
  for (int32_t i = 0; good && i < p->block_count; i++) by_size[i] = (sized){p->blocks[i].bytes, i};
  if (good) qsort(by_size, (size_t)p->block_count, sizeof *by_size, largest_first);
  mica_status status = good ? MICA_OK : mica__fail_nomem("a session");
  for (int32_t n = 0; status == MICA_OK && n < p->block_count; n++) {
    block *b = &p->blocks[by_size[n].block];
    b->offset = find_offset(p, b, placed, n);
    insert_placed(p, by_size[n].block, placed, n);
    status = mica__slabs_add(&p->memory->arena, b->offset, b->bytes);
  }
  free(placed);
  free(by_size);
  MICA_TRY(status);
  const mica__composites *all = p->partition->composites;
  for (int32_t i = 0; i < p->partition->graph->count; i++)
    if (p->block_of[i])
      p->memory->locations[i].offset =
          p->blocks[p->block_of[i] - 1].offset + (all && all->of[i] ? (size_t)all->offset[i] : 0);
  return MICA_OK;
}

/* Allocates blocks for the stores of each step, in order, so that a value may reuse the memory of an operand that no
 * later step reads. */
static mica_status locate_stores(planner *p) {
  for (int32_t s = 0; s < p->partition->count; s++) {
    const mica__step *step = &p->partition->steps[s];
    for (int32_t i = 0; i < step->count; i++)
      if (p->partition->step_of[step->members[i] - 1] == s) MICA_TRY(locate_value(p, s, step->members[i]));
  }
  return MICA_OK;
}

mica_status mica__memory_plan(const mica__template *template, const mica__partition *partition, const bool *deferred,
                              const mica_engine *engine, mica__memory *memory) {
  size_t nodes = (size_t)partition->graph->count + 1;
  const mica__slabs none = mica__slabs_of(engine);
  *memory = (mica__memory){
      .locations = calloc(nodes, sizeof *memory->locations), .arena = none, .constants = none, .outputs = none};
  planner p = {.template = template,
               .partition = partition,
               .memory = memory,
               .engine = engine,
               .block_of = calloc(nodes, sizeof *p.block_of),
               .last_use = calloc(nodes, sizeof *p.last_use),
               .first_use = calloc(nodes, sizeof *p.first_use),
               .blocks = calloc(nodes, sizeof *p.blocks),
               .composite_block = calloc(nodes, sizeof *p.composite_block)};
  bool good = memory->locations && p.block_of && p.last_use && p.first_use && p.blocks && p.composite_block;
  mica_status status = good ? MICA_OK : mica__fail_nomem("a session");
  for (size_t i = 0; good && i < nodes; i++) p.last_use[i] = -1, p.first_use[i] = partition->count;
  if (status == MICA_OK) status = locate_results(&p, deferred);
  if (status == MICA_OK) status = locate_sources(&p);
  if (status == MICA_OK) status = locate_stores(&p);
  if (status == MICA_OK) status = pack(&p);
  /* Memory for outputs is not counted here, because the caller may bind its own. */
  if (status == MICA_OK) status = mica__memory_check(memory, partition->graph, engine, false);
  free(p.block_of);
  free(p.last_use);
  free(p.first_use);
  free(p.blocks);
  free(p.composite_block);
  if (status != MICA_OK) mica__memory_free(memory);
  return status;
}

void mica__memory_free(mica__memory *memory) {
  mica__slabs_free(&memory->arena);
  mica__slabs_free(&memory->constants);
  mica__slabs_free(&memory->outputs);
  free(memory->locations);
  *memory = (mica__memory){0};
}
