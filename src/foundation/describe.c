#include "base/signature.h"
#include "base/text.h"
#include "foundation/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Default limit of the context, in tokens. Longer contexts must be asked for, because the caches need much memory. */
#define DEFAULT_CONTEXT 8192

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

bool mica_foundation_is(const char *path) {
  char magic[4] = {0};
  struct stat about;
  if (!path || stat(path, &about) != 0) return false;
  if (S_ISDIR(about.st_mode)) return mica__foundation_folder_is(path);
  /* Opens no pipes: opening one waits for a writer. */
  FILE *file = S_ISREG(about.st_mode) ? fopen(path, "rb") : NULL;
  const bool read = file && fread(magic, 1, sizeof magic, file) == sizeof magic;
  if (file) fclose(file);
  return read && !memcmp(magic, "GGUF", sizeof magic);
}

void mica_foundation_close(mica_foundation *model) {
  if (!model) return;
  mica_weights_close(model->weights);
  mica__foundation_folder_free(model);
  mica__info_arrays_free(&model->arrays);
  mica__name_rows_free(&model->rows);
  free(model->path);
  free(model->name);
  free(model->licence);
  free(model);
}

/* Copies a text of a GGUF file; *copy stays NULL if the text is missing, empty or contains a zero byte. */
static mica_status copy_text(const mica_gguf *gguf, const char *key, char **copy) {
  const mica_gguf_text text = mica_gguf_text_at(mica_gguf_find(gguf, key), 0);
  if (text.length == 0 || memchr(text.bytes, 0, text.length)) return MICA_OK;
  *copy = malloc(text.length + 1);
  if (!*copy) return mica__fail_nomem(key);
  memcpy(*copy, text.bytes, text.length);
  (*copy)[text.length] = '\0';
  return MICA_OK;
}

static mica_status read_gguf(mica_foundation *model, const char *path, const mica_gguf *gguf) {
  char list[400], arch[64];
  const mica_gguf_text text = mica_gguf_text_at(mica_gguf_find(gguf, "general.architecture"), 0);
  if (text.length == 0)
    return mica__fail(MICA_E_FORMAT,
                      "%s: it does not say the model's family: the key general.architecture is missing, empty or not a "
                      "text",
                      path);
  snprintf(arch, sizeof arch, "%.*s", (int)(text.length < 63 ? text.length : 63), text.bytes);
  const mica__config_source facts = {.path = path, .gguf = gguf, .arch = arch};
  int64_t experts = 0;
  MICA_TRY(mica__config_count(&facts, "number of experts", "", "expert_count", 0, 0, 1 << 16, &experts));
  const mica__family *family = mica__family_of_arch(arch, experts > 0);
  if (!family && mica__family_of_arch(arch, experts == 0))
    return mica__fail(MICA_E_FORMAT, "%s: Mica knows the architecture \"%s\" only %s experts", path, arch,
                      experts ? "without" : "with");
  if (!family)
    return mica__fail(MICA_E_FORMAT, "%s: the architecture \"%s\" is unknown; Mica knows %s", path, arch,
                      mica__family_list(true, list));
  model->family = family;
  MICA_TRY(copy_text(gguf, "general.name", &model->name));
  MICA_TRY(copy_text(gguf, "general.license", &model->licence));
  model->info.name = model->name;
  model->info.licence = model->licence;
  return mica__config_read(&facts, family, model->weights, &model->info, &model->arrays);
}

static bool ends_with(const char *text, const char *ending) {
  const size_t n = strlen(text), m = strlen(ending);
  return n >= m && !strcmp(text + n - m, ending);
}

/* Counts the weights. A byte of MXFP4 blocks holds two weights; the scales of the blocks are not counted. */
static void count_weights(mica_foundation *model) {
  for (size_t i = 0; i < mica_weights_count(model->weights); i++) {
    const mica_weight_entry *entry = mica_weights_at(model->weights, i);
    const bool bytes = model->info.mxfp4_experts && entry->dtype == MICA_U8;
    int64_t elements = 0;
    model->info.bytes += entry->bytes;
    if (bytes && ends_with(entry->name, "_scales")) continue;
    if (mica_shape_count(entry->shape, &elements) == MICA_OK)
      model->info.elements += bytes && ends_with(entry->name, "_blocks") ? 2 * elements : elements;
  }
}

static mica_status choose_context(mica_foundation *model, const char *path, const mica_foundation_config *config) {
  const int64_t asked = config ? config->context : 0, all = model->info.context;
  if (asked < 0 || asked > all)
    return mica__fail(MICA_E_INVALID, "%s: context is %" PRId64 ", but must be from 1 to %" PRId64, path, asked, all);
  model->context = asked ? asked : all < DEFAULT_CONTEXT ? all : DEFAULT_CONTEXT;
  return MICA_OK;
}

static mica_status open_model(mica_foundation *model, const char *path, const mica_foundation_config *config) {
  MICA_TRY(mica_weights_open(path, &model->weights));
  const mica_gguf *gguf = mica_weights_gguf(model->weights);
  if (gguf) {
    MICA_TRY(read_gguf(model, path, gguf));
  } else if (is_folder(path)) {
    MICA_TRY(mica__foundation_folder_open(model, path));
  } else {
    return mica__fail(MICA_E_FORMAT, "%s holds only weights; name the folder with config.json", path);
  }
  count_weights(model);
  MICA_TRY(mica__names_rows(model, gguf != NULL, &model->rows));
  return choose_context(model, path, config);
}

mica_status mica_foundation_open(const char *path, const mica_foundation_config *config, mica_foundation **model) {
  if (!path || !model) return mica__fail(MICA_E_INVALID, "mica_foundation_open: a pointer is NULL");
  mica_foundation *made = calloc(1, sizeof *made);
  if (!made) return mica__fail_nomem(path);
  made->path = mica__strdup(path);
  const mica_status status = made->path ? open_model(made, path, config) : mica__fail_nomem(path);
  if (status == MICA_OK)
    *model = made;
  else
    mica_foundation_close(made);
  return status;
}

mica_status mica__foundation_open_config(const char *path, mica_foundation **model) {
  unsigned char *text = NULL;
  size_t bytes = 0;
  mica_foundation *made = calloc(1, sizeof *made);
  if (!made) return mica__fail_nomem(path);
  made->path = mica__strdup(path);
  mica_status status = made->path ? mica__file_read_signed(path, &text, &bytes) : mica__fail_nomem(path);
  if (status == MICA_OK) status = mica__foundation_folder_read(made, path, (const char *)text, bytes, NULL, 0);
  if (status == MICA_OK) status = choose_context(made, path, NULL);
  free(text);
  if (status == MICA_OK)
    *model = made;
  else
    mica_foundation_close(made);
  return status;
}

mica_status mica_foundation_check(const mica_foundation *model) {
  if (!model) return mica__fail(MICA_E_INVALID, "mica_foundation_check: the model is NULL");
  return mica__names_check(model->path, model->family, &model->info, model->weights,
                           mica_weights_gguf(model->weights) != NULL);
}

const mica_foundation_info *mica_foundation_describe(const mica_foundation *model) { return &model->info; }

int64_t mica_foundation_context(const mica_foundation *model) { return model->context; }

mica_weights *mica_foundation_weights(const mica_foundation *model) { return model->weights; }
