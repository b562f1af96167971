/* Boxes around things in pictures, and their classes. The network predicts a box at each point of its grids (FCOS, Tian
 * et al. 2019; networks/detector.h). */
#include "task/head/boxes.h"
#include "data/dataset.h"
#include "networks/detector.h"
#include "run/columns/categories.h"
#include "run/columns/classes.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/parts.h"

#include <mica/nodes.h>
#include <stdlib.h>

/* The name of the output that predictions read. */
#define OUTPUT "found"

MICA__SETTINGS_STRUCT(boxes, BOXES_SETTINGS);
MICA__SETTINGS(boxes, BOXES_SETTINGS);
MICA__FACTS(boxes, BOXES_FACTS, 3);

/* --- the column --- */

static bool suits(const mica_column *c) {
  return c->kind == MICA_COLUMN_KIND_CLASS && c->shape.rank == 1 && c->shape.dim[0] == MICA_DYNAMIC;
}

/* The column with the class of each box; NULL if the data have no boxes or no such column. */
static const mica_column *label_of(const mica_dataset *data) {
  if (!mica__dataset_find(data, MICA_COLUMN_KIND_BOXES)) return NULL;
  for (size_t i = 0; i < mica_dataset_column_count(data); i++)
    if (suits(mica_dataset_column(data, i))) return mica_dataset_column(data, i);
  return NULL;
}

static mica_status prepare(mica_run *run, const mica_column *label) {
  const mica_column *boxes = mica__dataset_find(run->parts->whole, MICA_COLUMN_KIND_BOXES);
  MICA_TRY(mica__run_note_text(run, "boxes_column", boxes->name));
  return mica__run_note_classes(run, label);
}

static mica_status fits(const mica_run *run, const mica_dataset *data, const mica_column *label) {
  const mica__fact_texts classes = facts_of(run).classes;
  int32_t *map = NULL;
  if (!label) return mica__fail(MICA_E_FORMAT, "%s has no boxes with classes", mica_dataset_name(data));
  const size_t column = mica_dataset_column_index(data, label->name);
  mica_status status = mica__run_map_names(data, column, false, classes.list, classes.count, &map);
  if (status == MICA_OK && map)
    status =
        mica__fail(MICA_E_FORMAT,
                   "%s: the classes are numbered differently from the run's; list the same classes in the same order",
                   mica_dataset_name(data));
  free(map);
  return status;
}

/* The number of classes. For each point, the network gives five numbers besides the scores of the classes:
 * centre-ness and four distances. */
static int64_t outputs(const mica_run *run) { return (int64_t)facts_of(run).classes.count; }

/* --- the step --- */

static mica__detector_points points_of(const mica_run *run, mica_graph *graph) {
  const mica__fact_numbers input = facts_of(run).input;
  return mica__detector_points_of(graph, (int64_t)input.list[1], (int64_t)input.list[2]);
}

/* The loss is the sum over all points, divided by the number of points that should find a box, but at least by 1. */
static void add_losses(const mica__detector_points *p, mica_value z, int32_t classes, const mica__detector_targets *t,
                       mica_objective *out) {
  const mica__detector_losses l = mica__detector_losses_of(p, z, classes, t);
  out->loss = l.total;
  out->weight = l.positive;
  out->least = 1;
  out->metrics[0] = (mica_metric){.name = "class_loss", .sum = l.of_class, .weight = l.found};
  out->metrics[1] = (mica_metric){.name = "giou_loss", .sum = l.of_box, .weight = l.found};
  out->metrics[2] = (mica_metric){.name = "centre_loss", .sum = l.of_centre, .weight = l.found};
}

/* Adds the answers that a student learns from its teacher:
 * - the scores of the classes at all points
 * - centre-ness and boxes, weighted by the teacher's score of the likeliest class
 * The differences between student and teacher are divided by `found`, like the losses. t has the true answers; it is
 * NULL if the batch has none, as in the teacher. */
static void add_answers(const mica__detector_points *p, mica_value z, int32_t classes, const mica__detector_targets *t,
                        mica_value found, mica_objective *out) {
  mica_value logits = mica_slice(z, 2, 0, classes, 1), sure = {0}, counts = {0};
  if (t)
    counts = mica_unsqueeze(t->counts, MICA_AXES(2));
  else
    sure = mica_max(mica_sigmoid(logits), MICA_AXES(2), false);
  out->answers[0] =
      (mica_answer){.kind = MICA_ANSWER_KIND_RARE_LABELS, .value = logits, .weight = counts, .count = found};
  out->answers[1] = (mica_answer){.kind = MICA_ANSWER_KIND_LABELS,
                                  .value = mica_squeeze(mica_slice(z, -1, classes, classes + 1, 1), MICA_AXES(-1)),
                                  .weight = sure,
                                  .count = found};
  out->answers[2] = (mica_answer){.kind = MICA_ANSWER_KIND_BOXES,
                                  .value = mica__detector_corners(p, mica_slice(z, 2, classes + 1, classes + 5, 1)),
                                  .weight = sure,
                                  .count = found};
}

/* The column "size": the width and height of each picture's file. It is a null value if the batch has no such column,
 * or if a column of that name has another shape or type. */
static mica_value sizes_of(const mica_batch_values *batch) {
  if (!mica_batch_has(batch, "size")) return (mica_value){0};
  mica_value sizes = mica_batch_value(batch, "size");
  const mica_shape shape = mica_value_shape(sizes);
  const bool is = shape.rank == 2 && shape.dim[1] == 2 && mica_value_dtype(sizes) == MICA_I32;
  return is ? sizes : (mica_value){0};
}

static void step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch, mica_objective *out) {
  const mica__boxes_facts facts = facts_of(run);
  const int32_t classes = (int32_t)facts.classes.count;
  if (!z.graph) return;
  const mica__detector_points p = points_of(run, z.graph);
  if (!mica_nn_is_training(nn)) {
    const mica__detector_choice choice = {
        .classes = classes, .most = MICA__BOXES_MOST, .overlap = settings_of(run).overlap, .sizes = sizes_of(batch)};
    out->outputs[0] = mica__detector_find(&p, z, &choice), out->output_names[0] = OUTPUT;
  }
  if (!mica_batch_has(batch, facts.boxes_column) || !mica_batch_has(batch, facts.label_column)) {
    add_answers(&p, z, classes, NULL, (mica_value){0}, out);
    return;
  }
  mica_value boxes = mica_batch_value(batch, facts.boxes_column), label = mica_batch_value(batch, facts.label_column);
  const mica__detector_targets t = mica__detector_assign(
      &p, boxes, label, mica_batch_has(batch, "ignored") ? mica_batch_value(batch, "ignored") : (mica_value){0});
  add_losses(&p, z, classes, &t, out);
  add_answers(&p, z, classes, &t, out->weight, out);
}

/* Exports the box and the scores of every point. The export has no non-maximum suppression: whoever runs the model must
 * choose which of the boxes to keep. */
static void exports(const mica_run *run, mica_value z, mica_objective *out) {
  const int64_t count = outputs(run);
  if (!z.graph) return;
  const mica__detector_points p = points_of(run, z.graph);
  mica_value centre = mica_sigmoid(mica_slice(z, 2, count, count + 1, 1));
  out->outputs[0] = mica__detector_corners(&p, mica_slice(z, 2, count + 1, count + 5, 1));
  out->outputs[1] = mica_sqrt(mica_mul(mica_sigmoid(mica_slice(z, 2, 0, count, 1)), centre));
  out->output_names[0] = "boxes";
  out->output_names[1] = "scores";
}

const mica__head mica__head_boxes = {
    .name = "boxes",
    .label = label_of,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .output = OUTPUT,
    .outputs = outputs,
    .step = step,
    .exports = exports,
    .evaluate = mica__boxes_evaluate,
    .shows.section = mica__boxes_section,
    .shows.report = mica__boxes_report,
};
