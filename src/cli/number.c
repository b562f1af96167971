#include "cli/number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* End of a message about a number whose value is fine but whose notation is not: 0x10, or 5.0 for an integer. */
#define PLAINLY "; write it in plain digits"

bool cli_is_plain(const char *text) { return !strpbrk(text, " \t\n\v\f\rxX"); }

static bool is_between(const char *text, double low, double high) {
  char *rest = NULL;
  const double value = strtod(text, &rest);
  return rest != text && !*rest && value >= low && value <= high;
}

int cli_number(const cli_command *self, const char *name, const char *text, double low, double high, double *number) {
  char *rest = NULL;
  if (!text) return CLI_OK;
  double value = strtod(text, &rest);
  if (rest != text && !*rest && cli_is_plain(text) && value >= low && value <= high) {
    *number = value;
    return CLI_OK;
  }
  cli_fail(self, "--%s wants a number from %g to %g, not \"%s\"%s", name, low, high, text,
           is_between(text, low, high) ? PLAINLY : "");
  return CLI_USAGE;
}

int cli_digits(double number) {
  const int whole = number != 0 && isfinite(number) ? (int)floor(log10(fabs(number))) + 1 : 1;
  return whole <= 4 || whole > 15 ? 6 : whole > 13 ? 15 : whole + 2;
}

int cli_integer(const cli_command *self, const char *name, const char *text, int64_t low, int64_t high,
                int64_t *number) {
  char *rest = NULL;
  if (!text) return CLI_OK;
  errno = 0;
  long long value = strtoll(text, &rest, 10);
  if (rest != text && !*rest && cli_is_plain(text) && !errno && value >= low && value <= high) {
    *number = value;
    return CLI_OK;
  }
  const bool fits = !errno;
  const double real = strtod(text, NULL);
  const bool right = fits && is_between(text, (double)low, (double)high) && real == floor(real);
  cli_fail(self, "--%s wants a whole number from %" PRId64 " to %" PRId64 ", not \"%s\"%s", name, low, high, text,
           right ? PLAINLY : "");
  return CLI_USAGE;
}

int cli_precision(const cli_command *self, const char *text, mica_dtype *dtype) {
  static const mica_dtype known[] = {MICA_F32, MICA_F16, MICA_BF16};
  if (!text) return CLI_OK;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(text, mica_dtype_name(known[i])) == 0) {
      *dtype = known[i];
      return CLI_OK;
    }
  cli_fail(self, "--precision cannot be \"%s\"; choose f32, f16 or bf16", text);
  return CLI_USAGE;
}
