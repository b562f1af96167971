/* The meaning of the values in files of masks. */
#include "data/annotation/masks.h"

#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* If masks hold 0 and 255, and other values have less than this share of all pixels, the other values are taken for
 * soft borders between 0 and 255. */
#define SOFT_SHARE 0.05

static uint32_t value_at(const mica__image *mask, size_t pixel) {
  const uint8_t *p = mask->pixels + pixel * (size_t)mask->channels;
  if (mask->channels == 1 || (p[0] == p[1] && p[1] == p[2])) return p[0];
  return MICA__MASK_COLOUR | (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static void add_value(mica__text *text, uint32_t value) {
  if (value & MICA__MASK_COLOUR)
    mica__text_addf(text, "#%06x", (unsigned)(value & 0xffffff));
  else
    mica__text_addf(text, "%u", (unsigned)value);
}

/* --- the table as a text --- */

void mica__mask_table_free(mica__mask_table *t) {
  for (int32_t c = 0; c < t->classes; c++) free(t->names[c]);
  *t = (mica__mask_table){0};
}

uint8_t *mica__mask_paint(const mica__mask_table *t, const uint8_t *classes, size_t pixels, int64_t *channels) {
  bool coloured = false;
  for (int32_t c = 0; c < t->classes; c++) coloured = coloured || t->values[c] & MICA__MASK_COLOUR;
  *channels = coloured ? 3 : 1;
  uint8_t *out = malloc(pixels * (size_t)*channels);
  for (size_t i = 0; out && i < pixels; i++) {
    const uint32_t value = classes[i] < t->classes ? t->values[classes[i]] : classes[i];
    for (size_t k = 0; k < (size_t)*channels; k++)
      out[k * pixels + i] = (uint8_t)(value & MICA__MASK_COLOUR ? value >> (16 - 8 * k) : value);
  }
  return out;
}

void mica__mask_decide(const float *shares, int64_t classes, size_t pixels, uint8_t *decided) {
  for (size_t at = 0; at < pixels; at++) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++)
      if (shares[(size_t)c * pixels + at] > shares[(size_t)best * pixels + at]) best = c;
    decided[at] = (uint8_t)best;
  }
}

static bool is_listed(const mica__mask_table *t, uint32_t value) {
  for (int32_t i = 0; i < t->classes; i++)
    if (t->values[i] == value) return true;
  for (int32_t i = 0; i < t->void_count; i++)
    if (t->voids[i] == value) return true;
  return false;
}

/* Adds a class; name NULL: it is named after its value. */
static mica_status add_class(mica__mask_table *t, uint32_t value, const char *name, size_t length) {
  mica__text text = {0};
  if (t->classes == MICA__MASK_CLASSES)
    return mica__fail(MICA_E_INVALID, "mask-values: more than %d classes", MICA__MASK_CLASSES);
  if (name)
    mica__text_add_bytes(&text, name, length);
  else
    add_value(&text, value);
  MICA_TRY(mica__text_status(&text));
  char *printable = mica__name_printable(text.data);
  mica__text_free(&text);
  if (!printable) return mica__fail_nomem("names of classes");
  for (int32_t c = 0; c < t->classes; c++)
    if (!strcmp(t->names[c], printable)) {
      free(printable);
      return mica__fail(
          MICA_E_INVALID,
          "mask-values: two values have the name \"%.80s\"; a class has one value, so give each value another name",
          t->names[c]);
    }
  t->values[t->classes] = value;
  t->names[t->classes++] = printable;
  return MICA_OK;
}

/* Reads "17" or "#ff8000" in [at, end); false if it is anything else. */
static bool parse_value(const char *at, const char *end, uint32_t *value) {
  char digits[8] = {0}, *stop = NULL;
  const bool colour = at < end && *at == '#';
  const size_t length = (size_t)(end - at) - colour;
  if (at == end || length > 6 || (colour && length != 6) || (!colour && (length < 1 || length > 3))) return false;
  memcpy(digits, at + colour, length);
  if (strspn(digits, colour ? "0123456789abcdefABCDEF" : "0123456789") != length) return false;
  const unsigned long number = strtoul(digits, &stop, colour ? 16 : 10);
  const uint32_t red = (uint32_t)number >> 16, green = (uint32_t)number >> 8 & 255, blue = (uint32_t)number & 255;
  *value = !colour ? (uint32_t)number : red == green && green == blue ? red : MICA__MASK_COLOUR | (uint32_t)number;
  return colour || number <= 255;
}

/* Reads "VALUE", "VALUE=NAME" or "*=REST" in [at, end). */
static mica_status parse_entry(const char *text, const char *at, const char *end, mica__mask_table *t) {
  const char *equal = memchr(at, '=', (size_t)(end - at)), *name = equal ? equal + 1 : NULL;
  const size_t length = name ? (size_t)(end - name) : 0;
  const bool is_void = length == 4 && !strncmp(name, "void", 4);
  uint32_t value = 0;
  if ((equal ? equal : end) == at + 1 && *at == '*') {
    if (!is_void && (length != 7 || strncmp(name, "nearest", 7) != 0))
      return mica__fail(MICA_E_INVALID, "mask-values \"%s\": after * only =void or =nearest is allowed", text);
    t->rest = is_void ? MICA__MASK_REST_VOID : MICA__MASK_REST_NEAREST;
    return MICA_OK;
  }
  if (!parse_value(at, equal ? equal : end, &value) || (equal && !length))
    return mica__fail(MICA_E_INVALID,
                      "mask-values \"%s\": \"%.*s\" is not one of 0 to 255, #rrggbb and *, with or without =NAME", text,
                      (int)(end - at < 80 ? end - at : 80), at);
  if (is_listed(t, value))
    return mica__fail(MICA_E_INVALID, "mask-values \"%s\": the value %.*s is given twice%s", text,
                      (int)((equal ? equal : end) - at), at,
                      value <= 255 && strchr(text, '#') ? " (a grey such as #808080 is the same value as 128)" : "");
  if (!is_void) return add_class(t, value, name, length);
  if (t->void_count == MICA__MASK_CLASSES)
    return mica__fail(MICA_E_INVALID, "mask-values: more than %d values are void", MICA__MASK_CLASSES);
  t->voids[t->void_count++] = value;
  return MICA_OK;
}

mica_status mica__mask_table_parse(const char *text, mica__mask_table *t) {
  mica_status status = MICA_OK;
  *t = (mica__mask_table){0};
  for (const char *at = text; status == MICA_OK;) {
    const char *end = strchr(at, ',');
    status = parse_entry(text, at, end ? end : at + strlen(at), t);
    if (!end) break;
    at = end + 1;
  }
  if (status == MICA_OK && t->classes < 2)
    status = mica__fail(MICA_E_INVALID, "mask-values \"%s\" has fewer than 2 classes", text);
  if (status != MICA_OK) mica__mask_table_free(t);
  return status;
}

mica_status mica__mask_table_write(const mica__mask_table *t, mica__text *text) {
  for (int32_t c = 0; c < t->classes; c++) {
    mica__text value = {0};
    add_value(&value, t->values[c]);
    if (mica__text_status(&value) == MICA_OK)
      mica__text_addf(text, strcmp(value.data, t->names[c]) ? "%s%s=%s" : "%s%s", c ? "," : "", value.data,
                      t->names[c]);
    text->failed = text->failed || value.failed;
    mica__text_free(&value);
  }
  for (int32_t i = 0; i < t->void_count; i++) {
    mica__text_add(text, ",");
    add_value(text, t->voids[i]);
    mica__text_add(text, "=void");
  }
  if (t->rest != MICA__MASK_REST_FAILS)
    mica__text_add(text, t->rest == MICA__MASK_REST_VOID ? ",*=void" : ",*=nearest");
  return mica__text_status(text);
}

/* --- a table guessed from masks --- */

void mica__mask_count(const mica__image *mask, size_t number, mica__mask_census *census) {
  const size_t pixels = (size_t)mask->height * (size_t)mask->width;
  size_t last = 0;
  for (size_t i = 0; i < pixels; i++) {
    const uint32_t value = value_at(mask, i);
    if (last >= census->count || census->found[last].value != value)
      for (last = 0; last < census->count && census->found[last].value != value;) last++;
    if (last > MICA__MASK_VALUES) return;
    if (last == census->count) {
      census->found[last].value = value;
      census->found[last].first = number;
      census->count++;
    }
    census->found[last].pixels++;
    census->pixels++;
  }
}

static int by_value(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* Returns the index of the first value other than 0 and 255 in census->found, or census->count if there is none. */
static size_t find_soft(const mica__mask_census *census) {
  size_t k = 0;
  while (k < census->count && (census->found[k].value == 0 || census->found[k].value == 255)) k++;
  return k;
}

/* True if values between 0 and 255 look like those of softened borders. */
static bool is_soft(const mica__mask_census *census, bool counted) {
  uint64_t rest = 0;
  bool black = false, white = false;
  for (size_t k = 0; k < census->count; k++) {
    const uint32_t value = census->found[k].value;
    black = black || value == 0, white = white || value == 255;
    if (value != 0 && value != 255) rest += census->found[k].pixels;
  }
  return rest && black && white && !counted && (double)rest < SOFT_SHARE * (double)census->pixels;
}

mica_status mica__mask_guess(const mica__mask_census *census, const char *const *names, mica__mask_table *t) {
  uint32_t values[MICA__MASK_VALUES + 1];
  mica__text list = {0};
  const bool many = census->count > MICA__MASK_VALUES;
  *t = (mica__mask_table){0};
  for (size_t k = 0; k < census->count; k++) values[k] = census->found[k].value;
  qsort(values, census->count, sizeof *values, by_value);
  /* The values may be 0, 1, ... without a gap (`counted` of them, at least two) and then only 255, which is not a class
   * in this case. */
  size_t counted = 0;
  while (counted < census->count && values[counted] == counted) counted++;
  const bool ends = counted >= 2 && counted + 1 == census->count && values[counted] == 255;
  if (many || is_soft(census, ends)) {
    const size_t soft = find_soft(census);
    add_value(&list, census->found[soft].value);
    MICA_TRY(mica__text_status(&list));
    mica_status status =
        mica__fail(MICA_E_FORMAT,
                   "%s holds the value %s, and the masks hold %s%zu values in all; soft borders and JPEG cause such "
                   "values. Name the classes by mask-values, as in 0,255,*=nearest (or *=void)",
                   names[census->found[soft].first], list.data, many ? "more than " : "",
                   many ? (size_t)MICA__MASK_VALUES : census->count);
    mica__text_free(&list);
    return status;
  }
  mica_status status = MICA_OK;
  if (census->count - ends < 2) {
    add_value(&list, census->count ? values[0] : 0);
    status = mica__text_status(&list);
    if (status == MICA_OK)
      status =
          mica__fail(MICA_E_FORMAT, "%s and all other masks hold only the value %s; there must be at least two classes",
                     names[0], list.data);
    mica__text_free(&list);
    return status;
  }
  for (size_t k = 0; status == MICA_OK && k < census->count - ends; k++) status = add_class(t, values[k], NULL, 0);
  if (ends) t->voids[t->void_count++] = 255;
  if (status != MICA_OK) mica__mask_table_free(t);
  return status;
}

/* --- masks --- */

mica_status mica__mask_decode(const char *name, const uint8_t *content, size_t size, mica__image *mask) {
  const int32_t channels = mica__image_is_png(content, size) ? MICA__CHANNELS_STORED : 0;
  return mica__image_decode(name, content, size, channels, 0, 0, mask);
}

static int64_t distance(uint32_t a, uint32_t b) {
  int64_t sum = 0;
  const uint32_t x = a & MICA__MASK_COLOUR ? a : a * 0x10101, y = b & MICA__MASK_COLOUR ? b : b * 0x10101;
  for (int shift = 0; shift < 24; shift += 8) {
    const int64_t d = (int64_t)(x >> shift & 255) - (int64_t)(y >> shift & 255);
    sum += d * d;
  }
  return sum;
}

/* The class of a value: 255 for none; -1 if the table neither has the value nor says what other values mean. */
static int32_t class_of(const mica__mask_table *t, uint32_t value) {
  int32_t best = 0;
  for (int32_t c = 0; c < t->classes; c++)
    if (t->values[c] == value) return c;
  for (int32_t i = 0; i < t->void_count; i++)
    if (t->voids[i] == value) return 255;
  if (t->rest == MICA__MASK_REST_VOID) return 255;
  if (t->rest == MICA__MASK_REST_FAILS) return -1;
  for (int32_t c = 1; c < t->classes; c++)
    if (distance(value, t->values[c]) < distance(value, t->values[best])) best = c;
  return best;
}

static mica_status fail_value(const char *name, const mica__mask_table *t, uint32_t value) {
  mica__text said = {0}, list = {0};
  add_value(&said, value);
  mica_status status = mica__mask_table_write(t, &list);
  if (status == MICA_OK) status = mica__text_status(&said);
  if (status == MICA_OK)
    status = mica__fail(MICA_E_FORMAT,
                        "%s holds the value %s, which is not a class of mask-values \"%.200s\"; append *=void or "
                        "*=nearest for all other values",
                        name, said.data, list.data);
  mica__text_free(&said);
  mica__text_free(&list);
  return status;
}

mica_status mica__mask_check(const mica__mask_census *census, const char *const *names, const mica__mask_table *t) {
  for (size_t k = 0; k < census->count; k++)
    if (class_of(t, census->found[k].value) < 0)
      return fail_value(names[census->found[k].first], t, census->found[k].value);
  return MICA_OK;
}

mica_status mica__mask_classes(const char *name, const mica__image *mask, const mica__mask_table *t, int32_t height,
                               int32_t width, uint8_t *classes) {
  const double down = (double)mask->height / height, across = (double)mask->width / width;
  const double scale = down < across ? down : across;
  const double top = (mask->height - scale * height) / 2, left = (mask->width - scale * width) / 2;
  uint32_t last = UINT32_MAX;
  int32_t known = 255;
  for (int32_t r = 0; r < height; r++) {
    const int32_t y = (int32_t)(top + (r + 0.5) * scale), row = y < mask->height ? y : mask->height - 1;
    for (int32_t q = 0; q < width; q++) {
      const int32_t x = (int32_t)(left + (q + 0.5) * scale), column = x < mask->width ? x : mask->width - 1;
      const uint32_t value = value_at(mask, (size_t)row * (size_t)mask->width + (size_t)column);
      if (value != last) known = class_of(t, last = value);
      if (known < 0) return fail_value(name, t, value);
      *classes++ = (uint8_t)known;
    }
  }
  return MICA_OK;
}
