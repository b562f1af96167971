/* Tables in memory: the cells of a text are converted to arrays. */
#include "data/table/table.h"

#include "base/checked.h"

#include <stdlib.h>

/* A text column while it grows. */
typedef struct texts {
  uint8_t *bytes;
  int64_t *offsets;
  size_t used, capacity;
} texts;

static mica_status add_text(texts *t, size_t sample, mica__cell cell, const char *name) {
  if (cell.length > t->capacity - t->used) {
    size_t capacity = t->capacity ? t->capacity : 4096;
    while (capacity - t->used < cell.length && capacity <= SIZE_MAX / 2) capacity *= 2;
    uint8_t *grown = realloc(t->bytes, capacity);
    if (!grown) return mica__fail_nomem(name);
    t->bytes = grown;
    t->capacity = capacity;
  }
  t->used += mica__cell_unquote(cell, (char *)t->bytes + t->used);
  t->offsets[sample + 1] = (int64_t)t->used;
  return MICA_OK;
}

/* The memory of each field's column; the store owns it once it is filled. */
typedef struct filling {
  float *x;
  void **values; /* of each field; NULL for numbers of x */
  texts *texts;
} filling;

static mica_status allocate(filling *f, const mica__schema *schema, const char *name) {
  size_t bytes = 0;
  f->values = calloc(schema->count, sizeof *f->values);
  f->texts = calloc(schema->count, sizeof *f->texts);
  if (!f->values || !f->texts || !mica__mul_size(schema->samples, (uint64_t)schema->numbers * sizeof *f->x, &bytes))
    return mica__fail_nomem(name);
  f->x = malloc(bytes ? bytes : 1);
  if (!f->x) return mica__fail_nomem(name);
  for (size_t i = 0; i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (field->slot >= 0 || field->at == SIZE_MAX) continue;
    if (field->label && schema->answers) {
      if (field->part) continue;
      if (!(f->values[i] = calloc(schema->samples, schema->answers * sizeof(float)))) return mica__fail_nomem(name);
    } else if (field->kind == MICA_COLUMN_KIND_TEXT) {
      f->texts[i].offsets = calloc(schema->samples + 1, sizeof *f->texts[i].offsets);
      f->texts[i].bytes = malloc(f->texts[i].capacity = 4096);
      if (!f->texts[i].offsets || !f->texts[i].bytes) return mica__fail_nomem(name);
    } else if (!(f->values[i] = calloc(schema->samples, sizeof(int64_t)))) {
      return mica__fail_nomem(name);
    }
  }
  return MICA_OK;
}

static void release(filling *f, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (f->values) free(f->values[i]);
    if (f->texts) {
      free(f->texts[i].bytes);
      free(f->texts[i].offsets);
    }
  }
  free(f->values);
  free(f->texts);
  free(f->x);
}

static mica_status fill_cell(filling *f, const mica__schema *schema, size_t i, size_t sample, const mica__records *r) {
  const mica__field *field = &schema->fields[i];
  if (field->at == SIZE_MAX) return MICA_OK;
  if (field->slot >= 0)
    return mica__field_number(field, r, f->x + sample * (size_t)schema->numbers + (size_t)field->slot);
  if (field->label && schema->answers) {
    const size_t bytes = schema->answers * (schema->flags ? 1 : sizeof(float));
    return field->part ? MICA_OK : mica__field_answers(schema, r, (uint8_t *)f->values[i] + sample * bytes);
  }
  switch (field->kind) {
  case MICA_COLUMN_KIND_CLASS: return mica__field_class(field, r, (int32_t *)f->values[i] + sample);
  case MICA_COLUMN_KIND_TEXT: return add_text(&f->texts[i], sample, r->cells[field->at], r->name);
  case MICA_COLUMN_KIND_TIME: return mica__field_time(field, r, (int64_t *)f->values[i] + sample);
  default: return mica__field_number(field, r, (float *)f->values[i] + sample);
  }
}

static mica_status fill(filling *f, const mica__schema *schema, mica__records *r) {
  bool found = false;
  mica__records_rewind(r);
  if (schema->header) MICA_TRY(mica__records_next(r, &found));
  for (size_t sample = 0; sample < schema->samples; sample++) {
    MICA_TRY(mica__schema_next(schema, r, &found));
    if (!found || r->count != schema->columns)
      return mica__fail(MICA_E_FORMAT, "%s changed while it was read; read it again", r->name);
    schema->lines[sample] = (uint32_t)r->line;
    for (size_t i = 0; i < schema->count; i++) MICA_TRY(fill_cell(f, schema, i, sample, r));
  }
  return MICA_OK;
}

/* Gives the filled memory to the store's columns. */
static mica_status hand_over(filling *f, const mica__schema *schema, mica__store *store) {
  mica__column *x = schema->numbers ? mica__store_find(store, "x") : NULL;
  if (x) {
    x->data = (const uint8_t *)f->x;
    float *numbers = f->x;
    f->x = NULL;
    MICA_TRY(mica__store_own(store, numbers, free));
  }
  for (size_t i = 0; i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (field->slot >= 0 || field->at == SIZE_MAX || (field->label && field->part)) continue;
    mica__column *column = mica__store_find(store, mica__field_column(field));
    void *values = f->values[i], *bytes = f->texts[i].bytes, *offsets = f->texts[i].offsets;
    const bool text = field->kind == MICA_COLUMN_KIND_TEXT;
    column->data = text ? bytes : values;
    column->offsets = text ? offsets : NULL;
    f->values[i] = NULL;
    f->texts[i] = (texts){0};
    mica_status status = MICA_OK;
    void *owned[] = {values, bytes, offsets};
    for (int k = 0; k < 3; k++) {
      const mica_status one = mica__store_own(store, owned[k], free);
      if (status == MICA_OK) status = one;
    }
    MICA_TRY(status);
  }
  return MICA_OK;
}

static mica_status parse(mica__records *r, const mica_dataset_config *config, mica__store *store) {
  mica__schema *schema = NULL;
  filling f = {0};
  MICA_TRY(mica__schema_infer(r, config, &schema));
  MICA_TRY(mica__table_add_columns(schema, store));
  mica_status status = allocate(&f, schema, r->name);
  if (status == MICA_OK) status = fill(&f, schema, r);
  if (status == MICA_OK) status = hand_over(&f, schema, store);
  release(&f, schema->count);
  if (status == MICA_OK) status = mica__table_fill(store, config);
  return status == MICA_OK ? mica__table_add_files(r->name, store, config) : status;
}

mica_status mica__table_parse(const char *name, char *content, size_t size, const mica_dataset_config *config,
                              mica__store *store) {
  mica__records records = mica__records_in(name, content, size);
  mica_status status = parse(&records, config, store);
  mica__records_free(&records);
  return status;
}
