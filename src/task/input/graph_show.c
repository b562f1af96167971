/* Samples to predict, and those that a report shows: molecules, nodes, pairs of nodes or graphs. */
#include "base/text.h"
#include "data/source.h"
#include "data/table/listed.h"
#include "run/predict/tables.h"
#include "run/predict/truths.h"
#include "run/predict/visits.h"
#include "run/run.h"
#include "run/tokens.h"
#include "task/input/graph.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of samples that a report evaluates, to show some of them. */
#define LOOKED_AT 5000

/* The column that names samples. others: for pairs of nodes, the column of the second nodes; else its data are NULL. */
typedef struct named {
  mica__texts names, others;
} named;

/* A mica__naming_fn. The name of a sample is its molecule, graph or node, as in "NAME". The name of a pair is both
 * nodes, as in "NAME OTHER". */
static mica_status name_sample(void *user, const mica_dataset *data, uint64_t sample, mica__text *name) {
  named *n = user;
  (void)data;
  n->names.at = n->others.at = sample;
  MICA_TRY(mica__texts_read(&n->names));
  mica__text_add(name, n->names.text);
  if (n->others.data) MICA_TRY(mica__texts_read(&n->others));
  if (n->others.data) mica__text_addf(name, " %s", n->others.text);
  return mica__text_status(name);
}

static bool has_pairs(const mica_run *run) { return !strcmp(mica__graph_facts_of(run).sample_column, "other"); }

static mica_status visit_data(mica_run *run, const mica_dataset *data, uint64_t most, mica__sample_fn *fn, void *user) {
  const char *column = has_pairs(run) ? "node" : mica__graph_facts_of(run).sample_column;
  const mica_dataset *made = NULL;
  MICA_TRY(mica__graph_derive(run, MICA_PART_TEST, data, &made));
  named n = {.names = {.data = made, .column = mica_dataset_column_index(made, column)}};
  if (has_pairs(run)) n.others = (mica__texts){.data = made, .column = mica_dataset_column_index(made, "other")};
  mica_status status = mica__loaded_visit(run, made, most, name_sample, &n, fn, user);
  mica__texts_free(&n.names);
  mica__texts_free(&n.others);
  mica_dataset_destroy((mica_dataset *)made);
  return status;
}

/* Visits all samples of data, and destroys data. */
static mica_status visit_listed(mica_run *run, mica_dataset *data, mica__sample_fn *fn, void *user) {
  mica_status status = visit_data(run, data, 0, fn, user);
  mica_dataset_destroy(data);
  return status;
}

/* Visits the samples of a text with one name per line: SMILES strings, nodes or graphs. */
static mica_status visit_lines(mica_run *run, const char *name, const char *text, mica__sample_fn *fn, void *user) {
  mica_dataset *data = NULL;
  if (has_pairs(run))
    return mica__fail(MICA_E_INVALID, "%s: give pairs of nodes as a table with the columns node and other", name);
  MICA_TRY(mica__listed_lines(name, text, mica__graph_facts_of(run).sample_column, &data));
  return visit_listed(run, data, fn, user);
}

/* Opens a table that lacks the column of answers. If the table has that column, *data stays NULL. */
static mica_status open_unanswered(const mica_run *run, const char *path, mica_dataset **data) {
  const char *const columns[] = {has_pairs(run) ? "node" : mica__graph_facts_of(run).sample_column, "other"};
  const size_t count = mica__truth_count(run);
  const char **answers = calloc(count + 1, sizeof *answers);
  if (!answers) return mica__fail_nomem("samples");
  for (size_t k = 0; k < count; k++) answers[k] = mica__truth_name(run, k);
  mica_status status = mica__listed_open(path, columns, has_pairs(run) ? 2 : 1, answers, count, data);
  free(answers);
  return status;
}

static mica_status visit_file(mica_run *run, const char *path, mica__sample_fn *fn, void *user) {
  uint8_t *content = NULL;
  size_t size = 0;
  if (mica__name_ends(path, ".csv") || mica__name_ends(path, ".tsv")) {
    mica_dataset *data = NULL;
    MICA_TRY(open_unanswered(run, path, &data));
    return data ? visit_listed(run, data, fn, user)
                : mica__visit_data(run, &(mica_run_input){.data = path, .part = MICA_PART_TEST}, visit_data, fn, user);
  }
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status =
      memchr(content, '\0', size)
          ? mica__fail(MICA_E_FORMAT, "%s holds a zero byte; if it is a text in UTF-16, save it as UTF-8", path)
          : visit_lines(run, path, (const char *)content, fn, user);
  free(content);
  return status;
}

mica_status mica__graph_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  if (given->data) return mica__visit_data(run, given, visit_data, fn, user);
  if (given->text) return visit_lines(run, given->name ? given->name : "the text", given->text, fn, user);
  for (size_t i = 0; i < given->file_count; i++) MICA_TRY(visit_file(run, given->files[i], fn, user));
  return given->file_count ? MICA_OK : mica__fail(MICA_E_INVALID, "give files, data or a text to predict from");
}

mica_status mica__graph_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  return visit_data(run, data, LOOKED_AT, fn, user);
}

mica_status mica__graph_show(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t sample,
                             const char *caption) {
  mica__texts texts = {
      .data = data, .column = mica_dataset_column_index(data, mica__graph_facts_of(run).sample_column), .at = sample};
  mica_status status = mica__texts_read(&texts);
  if (status == MICA_OK) status = mica_report_add_text(report, caption, texts.text);
  mica__texts_free(&texts);
  return status;
}
