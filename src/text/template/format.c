/* Formats texts with Python's operator %, as in "%s: %d" % arguments. */
#include "text/template/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Appends one argument in the format "%<flags>letter". */
static mica_status add_formatted(mica__render *run, mica__text *out, const char *flags, char letter,
                                 const mica__object *argument) {
  char format[40];
  mica__object text = {0};
  int64_t n = 0;
  mica__text shown = {0};
  switch (letter) {
  case 's': MICA_TRY(mica__render_text(run, argument, &text)); break;
  case 'r':
    mica__object_repr(&shown, argument, 0);
    MICA_TRY(mica__render_keep(run, &shown, &text));
    break;
  case 'd':
  case 'i':
  case 'x':
  case 'X':
    if (argument->kind == MICA__OBJECT_FLOAT && argument->as.number > -9e18 && argument->as.number < 9e18)
      n = (int64_t)argument->as.number;
    else
      MICA_TRY(mica__argument_integer(argument, 0, &n));
    snprintf(format, sizeof format, "%%%s%s", flags, letter == 'x' ? PRIx64 : letter == 'X' ? PRIX64 : PRId64);
    mica__text_addf(out, format, n);
    return MICA_OK;
  case 'f':
  case 'e':
  case 'g':
    if (!mica__object_is_number(argument))
      return mica__fail(MICA_E_FORMAT, "the format '%%%s%c' needs a number, not a value of type %s", flags, letter,
                        mica__object_type(argument));
    snprintf(format, sizeof format, "%%%s%c", flags, letter);
    mica__text_addf(out, format, mica__object_as_double(argument));
    return MICA_OK;
  default: return mica__fail(MICA_E_UNSUPPORTED, "Mica does not have the format '%%%c'", letter);
  }
  if (*flags) return mica__fail(MICA_E_UNSUPPORTED, "Mica does not have the format '%%%s%c'", flags, letter);
  mica__text_add_bytes(out, text.as.text, text.count);
  return MICA_OK;
}

static mica_status add_formats(mica__render *run, mica__text *out, const mica__object *format,
                               const mica__object *items, size_t count) {
  size_t used = 0;
  for (size_t i = 0; i < format->count; i++) {
    char flags[16];
    size_t length = 0;
    if (format->as.text[i] != '%') {
      mica__text_add_bytes(out, format->as.text + i, 1);
      continue;
    }
    for (i++; i < format->count && length + 1 < sizeof flags && format->as.text[i] &&
              strchr("-+ 0123456789.#", format->as.text[i]);
         i++)
      flags[length++] = format->as.text[i];
    flags[length] = '\0';
    if (length > 6) return mica__fail(MICA_E_FORMAT, "the format '%%%s' has more than 6 flags and digits", flags);
    if (i >= format->count) return mica__fail(MICA_E_FORMAT, "the text ends within the format '%%%s'", flags);
    if (format->as.text[i] == '%') {
      mica__text_add(out, "%");
      continue;
    }
    if (used == count) return mica__fail(MICA_E_FORMAT, "not enough arguments for format string");
    MICA_TRY(add_formatted(run, out, flags, format->as.text[i], &items[used++]));
    if (out->length > MICA__MOST_TEMPLATE_OUTPUT) return mica__fail(MICA_E_FORMAT, "a text has more than 16 MiB");
  }
  return used == count ? MICA_OK : mica__fail(MICA_E_FORMAT, "not all arguments converted during string formatting");
}

mica_status mica__render_format(mica__render *run, const mica__object *format, const mica__object *arguments,
                                mica__object *result) {
  mica__text made = {0};
  const bool several = arguments->kind == MICA__OBJECT_TUPLE;
  const mica_status status =
      add_formats(run, &made, format, several ? arguments->as.items : arguments, several ? arguments->count : 1);
  if (status == MICA_OK) return mica__render_keep(run, &made, result);
  mica__text_free(&made);
  return status;
}
