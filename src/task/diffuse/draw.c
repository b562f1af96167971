/* Pictures that a run draws: predictions and the report. */
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/network.h"
#include "task/diffuse/diffuse.h"

#include "base/arith.h"

#include <stdlib.h>

/* USUAL_COUNT: pictures that a prediction draws by default. SHOWN_CLASSES and SHOWN_OF_EACH: the most classes in a
 * report, and the pictures of each. */
#define USUAL_COUNT 10
#define SHOWN_CLASSES 10
#define SHOWN_OF_EACH 4

typedef mica__drawing request;

static mica_value build(mica_nn *nn, mica_value x, mica_value time, mica_value label, const void *user) {
  return mica__diffuse_network(nn, user, x, time, label);
}

static mica_status draw(mica_run *run, request *r, uint8_t **pixels) {
  const double *input = mica__common_facts_of(run).input.list;
  const mica__diffusion_network network = {.trained = mica__diffuse_trained(run),
                                           .build = build,
                                           .user = run,
                                           .nn = mica__run_building(run),
                                           .share = mica_trainer_test_session(run->trainer)};
  r->shape = MICA_SHAPE((int64_t)input[0], (int64_t)input[1], (int64_t)input[2]);
  return mica__diffusion_draw(run->engine, &network, r, pixels);
}

static const char *class_name(const mica_run *run, int32_t label) {
  const mica__fact_texts names = mica__common_facts_of(run).classes;
  return label >= 0 && (size_t)label < names.count ? names.list[label] : "picture";
}

/* Adds a picture to the report. */
static mica_status add_picture(const mica_run *run, const uint8_t *planes, const char *caption, mica_report *report) {
  const double *input = mica__common_facts_of(run).input.list;
  const mica_item item = {.kind = MICA_ITEM_KIND_PICTURE,
                          .name = "drawn",
                          .text = caption,
                          .planes = planes,
                          .shape = MICA_SHAPE((int64_t)input[0], (int64_t)input[1], (int64_t)input[2])};
  return mica_report_add(report, &item);
}

static int64_t size_of(const mica_run *run) {
  const double *input = mica__common_facts_of(run).input.list;
  return (int64_t)(input[0] * input[1] * input[2]);
}

/* Adds a section such as "sneaker 3" for each picture; pictures of a class are counted from 1. */
static mica_status add_sections(const mica_run *run, const request *r, const uint8_t *pixels, mica_report *report) {
  const int64_t every = r->count > 1 && r->labels[0] != r->labels[1] ? mica__diffuse_classes(run) : 1;
  for (int64_t i = 0; i < r->count; i++) {
    const char *name = class_name(run, r->labels[i]);
    mica__text title = {0};
    mica__text_addf(&title, "%s %lld", name, (long long)(i / every + 1));
    mica_status status = mica__text_status(&title);
    if (status == MICA_OK) status = mica_report_begin(report, title.data);
    if (status == MICA_OK) status = mica_report_add_text(report, "class", name);
    if (status == MICA_OK) status = add_picture(run, pixels + i * size_of(run), name, report);
    mica__text_free(&title);
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* Fills `labels` with the class of this name or, without a name, with all classes in turn. MICA_E_NOT_FOUND if the
 * run has no such class. */
static mica_status choose_labels(const mica_run *run, const char *name, int64_t count, int32_t *labels) {
  const mica__fact_texts names = mica__common_facts_of(run).classes;
  const size_t found = name ? mica__run_find_name(names.list, names.count, name) : 0;
  mica__text list = {0};
  if (name && found == names.count) {
    for (size_t i = 0; i < names.count; i++) mica__text_addf(&list, "%s%s", i ? ", " : "", names.list[i]);
    mica_status status =
        mica__fail(MICA_E_NOT_FOUND, "the run has no class \"%s\"; choose from %s", name, list.data ? list.data : "");
    mica__text_free(&list);
    return status;
  }
  for (int64_t i = 0; i < count; i++) labels[i] = (int32_t)(name ? found : (size_t)i % names.count);
  return MICA_OK;
}

mica_status mica__diffuse_predict(mica_run *run, const mica_run_input *given, mica_report *prediction) {
  const mica__diffuse_settings s = mica__diffuse_settings_of(run);
  request r = {.count = given->count > 0 ? given->count : USUAL_COUNT,
               .steps = given->steps > 0 ? given->steps : s.sample_steps,
               .seed = given->seed,
               .guidance = mica__or_default(given->guidance, s.guidance)};
  uint8_t *pixels = NULL;
  if (r.steps > s.noise_steps)
    return mica__fail(MICA_E_INVALID,
                      "the number of steps is %lld, but may be at most %lld, the noise-steps of the run",
                      (long long)r.steps, (long long)s.noise_steps);
  int32_t *labels = (uint64_t)r.count <= SIZE_MAX / 8 ? calloc((size_t)r.count, sizeof *labels) : NULL;
  mica_status status = labels ? MICA_OK : mica__fail_nomem("pictures");
  if (status == MICA_OK) status = choose_labels(run, given->of_class, r.count, labels);
  r.labels = labels;
  if (status == MICA_OK) status = draw(run, &r, &pixels);
  if (status == MICA_OK) status = add_sections(run, &r, pixels, prediction);
  free(pixels);
  free(labels);
  return status;
}

mica_status mica__diffuse_report(mica_run *run, mica_report *report) {
  const mica__diffuse_settings s = mica__diffuse_settings_of(run);
  const int64_t classes = mica__diffuse_classes(run),
                columns = classes ? mica__min(classes, SHOWN_CLASSES) : SHOWN_CLASSES;
  int32_t labels[SHOWN_CLASSES * SHOWN_OF_EACH] = {0};
  uint8_t *pixels = NULL;
  request r = {.labels = labels, .count = columns * SHOWN_OF_EACH, .steps = s.sample_steps, .guidance = s.guidance};
  for (int64_t i = 0; i < r.count && classes; i++) labels[i] = (int32_t)(i % columns);
  mica_status status = draw(run, &r, &pixels);
  if (status == MICA_OK) status = mica_report_begin(report, "Drawn");
  for (int64_t i = 0; status == MICA_OK && i < r.count; i++)
    status = add_picture(run, pixels + i * size_of(run), class_name(run, labels[i]), report);
  free(pixels);
  return status;
}
