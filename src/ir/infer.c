/* Types of results: what all ops have in common is here, dtypes as op->dtypes declares them. */
#include "ir/graph.h"

#include <string.h>

/* The letters of op->dtypes that stand for a set. */
static const struct {
  char letter;
  uint32_t kinds;
  const char *text;
} sets[] = {
    {'f', 1u << MICA_DTYPE_KIND_FLOAT, "floating types"},
    {'i', 1u << MICA_DTYPE_KIND_SIGNED | 1u << MICA_DTYPE_KIND_UNSIGNED, "integers"},
    {'n', 1u << MICA_DTYPE_KIND_FLOAT | 1u << MICA_DTYPE_KIND_SIGNED | 1u << MICA_DTYPE_KIND_UNSIGNED, "numbers"},
    {'b', 1u << MICA_DTYPE_KIND_BOOL, "b8"},
    {'x', 0, "indices of i32 or i64"},
};

bool mica__dtype_in(mica_dtype dtype, char letter, const char **text) {
  const char *ignored = NULL;
  if (!text) text = &ignored;
  *text = "";
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    if (sets[i].letter != letter) continue;
    *text = sets[i].text;
    return letter == 'x' ? dtype == MICA_I32 || dtype == MICA_I64 : sets[i].kinds >> mica_dtype_kind_of(dtype) & 1;
  }
  return letter == '*';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static mica_status check_operands(const char *dtypes, size_t letters, const mica__type *inputs, int32_t input_count) {
  for (int32_t i = 0; i < input_count; i++) {
    /* The last letter stands for all further operands. */
    char letter = dtypes[(size_t)i < letters ? (size_t)i : letters - 1];
    const char *text = NULL;
    if (is_digit(letter) && inputs[i].dtype != inputs[letter - '0'].dtype)
      return mica__fail(MICA_E_DTYPE, "operand %d is %s; it takes %s, as operand %c is", (int)i,
                        mica_dtype_name(inputs[i].dtype), mica_dtype_name(inputs[letter - '0'].dtype), letter);
    if (!is_digit(letter) && !mica__dtype_in(inputs[i].dtype, letter, &text))
      return mica__fail(MICA_E_DTYPE, "operand %d is %s; it takes %s", (int)i, mica_dtype_name(inputs[i].dtype), text);
  }
  return MICA_OK;
}

mica_status mica__op_infer(const mica__op *op, const mica__type *inputs, int32_t input_count, void *attrs,
                           mica__type *out) {
  if (!op->dtypes) return op->infer(inputs, input_count, attrs, out);
  size_t letters = strcspn(op->dtypes, ">");
  const char *gives = op->dtypes[letters] ? op->dtypes + letters + 1 : "";
  MICA_TRY(check_operands(op->dtypes, letters, inputs, input_count));
  MICA_TRY(op->infer(inputs, input_count, attrs, out));
  for (int32_t r = 0; gives[r]; r++)
    out[r].dtype = gives[r] == 'b'   ? MICA_BOOL
                   : gives[r] == 's' ? MICA_I32
                   : gives[r] == 'l' ? MICA_I64
                                     : inputs[gives[r] - '0'].dtype;
  return MICA_OK;
}
