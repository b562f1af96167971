#include "nn/name_map.h"

#include "base/text.h"
#include "nn/rearranged.h"

#include <inttypes.h>
#include <string.h>

#define MOST_NUMBERS 4 /* the most '#' in a name */
#define MOST_EVERY 65536

/* The digits that the '#' characters of a pattern match. */
typedef struct numbers {
  const char *digits[MOST_NUMBERS];
  size_t length[MOST_NUMBERS], count;
} numbers;

static size_t count_marks(const char *text, size_t length) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++) count += text[i] == '#';
  return count;
}

static bool matches(const char *pattern, size_t length, const char *name, numbers *n) {
  *n = (numbers){.count = 0};
  for (size_t i = 0; i < length; i++) {
    if (pattern[i] != '#') {
      if (*name++ != pattern[i]) return false;
      continue;
    }
    const size_t digits = strspn(name, "0123456789");
    if (!digits || n->count == MOST_NUMBERS) return false;
    n->digits[n->count] = name;
    n->length[n->count++] = digits;
    name += digits;
  }
  return *name == '\0';
}

/* The length of the first of several names, which are separated by '|'. *rest: the other names, NULL after the last
 * one. */
static size_t first_of(const char *names, const char **rest) {
  const char *bar = strchr(names, '|');
  *rest = bar ? bar + 1 : NULL;
  return bar ? (size_t)(bar - names) : strlen(names);
}

/* Adds a name to the text. Replaces each '#' by its number, and '@' by the number of the part unless it is negative. */
static mica_status expand(const char *pattern, size_t length, const numbers *n, int64_t part, mica__text *text) {
  size_t used = 0;
  for (size_t i = 0; i < length; i++)
    if (pattern[i] == '@' && part >= 0) {
      mica__text_addf(text, "%" PRId64, part);
    } else if (pattern[i] == '#') {
      mica__text_addf(text, "%.*s", (int)n->length[used], n->digits[used]);
      used++;
    } else {
      mica__text_addf(text, "%c", pattern[i]);
    }
  return mica__text_status(text);
}

static mica_status check_marks(const char *call, const mica_name_row *row, size_t index, const char *names,
                               size_t marks) {
  for (const char *at = names, *next; at; at = next) {
    const size_t length = first_of(at, &next);
    if (count_marks(at, length) > marks)
      return mica__fail(MICA_E_INVALID, "%s: row %zu of the map: '%.*s' has more '#' than %s", call, index, (int)length,
                        at, row->own ? row->own : "a name may have");
  }
  return MICA_OK;
}

static mica_status check_row(const char *call, const mica_name_row *row, size_t index) {
  if (!row->source) return mica__fail(MICA_E_INVALID, "%s: row %zu of the map has no source", call, index);
  const size_t marks = row->own ? count_marks(row->own, strlen(row->own)) : MOST_NUMBERS;
  if (marks > MOST_NUMBERS)
    return mica__fail(MICA_E_INVALID, "%s: the map's name '%s' has more than %d '#'", call, row->own, MOST_NUMBERS);
  MICA_TRY(check_marks(call, row, index, row->source, marks));
  MICA_TRY(check_marks(call, row, index, row->scales, marks));
  const bool cut = row->of != 0 || row->first != 0;
  if (row->transposed && row->reshaped)
    return mica__fail(MICA_E_INVALID, "%s: row %zu of the map (%s): a tensor can be transposed or reshaped, not both",
                      call, index, row->source);
  if (row->first < 0 || row->of < 0 || (cut && row->first >= row->of))
    return mica__fail(MICA_E_INVALID,
                      "%s: row %zu of the map (%s): first (%lld) must be below of (%lld), and both 0 or above", call,
                      index, row->source, (long long)row->first, (long long)row->of);
  if (row->stacked < 0)
    return mica__fail(MICA_E_INVALID, "%s: row %zu of the map (%s): stacked is %lld, but must be 0 or above", call,
                      index, row->source, (long long)row->stacked);
  if (row->stacked && (cut || row->transposed || row->reshaped || row->add != 0))
    return mica__fail(MICA_E_INVALID,
                      "%s: row %zu of the map (%s): stacked tensors cannot be cut, transposed, reshaped or added to",
                      call, index, row->source);
  if (row->every < 0 || row->every > MOST_EVERY || row->phase < 0 || (row->phase && row->phase >= row->every))
    return mica__fail(MICA_E_INVALID,
                      "%s: row %zu of the map (%s): every (%lld) must be 0 to 65536, and phase (%lld) 0 or from 1 to "
                      "every - 1",
                      call, index, row->source, (long long)row->every, (long long)row->phase);
  if (row->every && (cut || row->stacked || row->reshaped))
    return mica__fail(MICA_E_INVALID,
                      "%s: row %zu of the map (%s): every cannot be combined with first, of, stacked or reshaped", call,
                      index, row->source);
  if (row->scales && (cut || row->stacked || row->reshaped || row->transposed || row->add != 0))
    return mica__fail(
        MICA_E_INVALID,
        "%s: row %zu of the map (%s): blocks with scales cannot be cut, stacked, transposed, reshaped or added to",
        call, index, row->source);
  return MICA_OK;
}

mica_status mica__name_map_check(const char *call, const mica_name_map *map) {
  if (!map) return MICA_OK;
  if (map->count && !map->rows) return mica__fail(MICA_E_INVALID, "%s: the map's rows are NULL", call);
  for (size_t i = 0; i < map->count; i++) MICA_TRY(check_row(call, &map->rows[i], i));
  return MICA_OK;
}

/* Finds the tensor of the first of several names that the weights contain. *entry is NULL if they contain none. */
static mica_status find_source(const mica_weights *weights, const char *source, const numbers *n, int64_t part,
                               const mica_weight_entry **entry) {
  *entry = NULL;
  for (const char *at = source, *next; at && !*entry; at = next) {
    const size_t length = first_of(at, &next);
    mica__text name = {0};
    mica_status status = expand(at, length, n, part, &name);
    if (status == MICA_OK && length) *entry = mica_weights_find(weights, name.data);
    mica__text_free(&name);
    MICA_TRY(status);
  }
  return MICA_OK;
}

static mica_weight_entry form_of(const mica__named_tensor *found) {
  mica_weight_entry form = *found->entry;
  const int64_t elements = mica_block_elements(MICA_BLOCK_MXFP4);
  if (!found->row.scales) return form;
  form.dtype = MICA_DTYPE_COUNT;
  form.block = MICA_BLOCK_MXFP4;
  form.type = mica_block_name(form.block);
  /* In the file, the last axis has the 16 bytes of a block. Merges it with the axis before it, and counts elements
   * instead of bytes. */
  if (form.shape.rank < 2 || form.shape.dim[form.shape.rank - 2] > INT64_MAX / elements) return form;
  form.shape.rank--;
  form.shape.dim[form.shape.rank - 1] *= elements;
  return form;
}

mica_status mica__name_map_find(const mica_name_map *map, const mica_weights *weights, const char *own,
                                mica__named_tensor *found) {
  bool named = false;
  *found = (mica__named_tensor){.entry = NULL};
  for (size_t i = 0; map && i < map->count; i++) {
    const mica_name_row *row = &map->rows[i];
    numbers n;
    if (!row->own || !matches(row->own, strlen(row->own), own, &n)) continue;
    named = true;
    MICA_TRY(find_source(weights, row->source, &n, row->stacked ? 0 : -1, &found->entry));
    MICA_TRY(find_source(weights, row->scales, &n, -1, &found->scales));
    found->row = *row;
    if (found->entry) break;
  }
  if (!named) found->entry = mica_weights_find(weights, own);
  if (!found->entry) return MICA_OK;
  found->form = form_of(found);
  if (found->row.transposed || found->row.every || found->row.scales) found->read = mica__rearrange;
  return MICA_OK;
}

mica_status mica__name_map_part(const mica_name_row *row, const mica_weights *weights, const char *own, int64_t part,
                                const mica_weight_entry **entry) {
  numbers n;
  *entry = NULL;
  return matches(row->own, strlen(row->own), own, &n) ? find_source(weights, row->source, &n, part, entry) : MICA_OK;
}

bool mica__name_map_drops(const mica_name_map *map, const char *tensor) {
  for (size_t i = 0; map && i < map->count; i++) {
    const mica_name_row *row = &map->rows[i];
    for (const char *at = row->own ? NULL : row->source, *next; at; at = next) {
      numbers n;
      const size_t length = first_of(at, &next);
      if (matches(at, length, tensor, &n)) return true;
    }
  }
  return false;
}
