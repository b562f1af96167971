/* Infers the types of results. This part is common to all ops: it checks the operands' dtypes and sets the results'
 * dtypes as op->dtypes declares, and calls op->infer for the rest. */
#include "ir/graph.h"

#include <string.h>

/* Letters of op->dtypes that each represent a set of dtypes. */
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

int32_t mica__present_index(int64_t present, int32_t k) {
  if (!(present >> k & 1)) return -1;
  int32_t before = 0;
  for (int32_t i = 0; i < k; i++) before += (int32_t)(present >> i & 1);
  return before;
}

/* The types of a node's inputs, found by operand number. */
typedef struct operands {
  const mica__type *inputs;
  int32_t count;   /* number of operands, including absent ones */
  bool sparse;     /* some may be absent */
  int64_t present; /* if sparse: bit k tells whether operand k exists */
} operands;

static mica_status find_operands(const mica__op *op, const mica__type *inputs, int32_t input_count, const void *attrs,
                                 operands *out) {
  *out = (operands){.inputs = inputs, .count = input_count};
  if (!op->attrs || op->attrs->count == 0 || strcmp(op->attrs->rows[0].name, "present") != 0) return MICA_OK;
  int32_t bits = 0;
  out->sparse = true;
  out->present = *(const int64_t *)attrs;
  out->count = op->max_inputs;
  for (int32_t k = 0; k < MICA__MAX_PRESENT; k++) bits += (int32_t)(out->present >> k & 1);
  if (out->present >> op->max_inputs || bits != input_count)
    return mica__fail(
        MICA_E_INVALID,
        "there are %d operands, but the attribute `present` names %d, or one above operand %d (an error in Mica)",
        (int)input_count, (int)bits, (int)op->max_inputs - 1);
  return MICA_OK;
}

/* The type of operand k; NULL if the operand is absent. */
static const mica__type *operand(const operands *all, int32_t k) {
  int32_t index = all->sparse ? mica__present_index(all->present, k) : k;
  return index < 0 ? NULL : &all->inputs[index];
}

static mica_status check_operands(const char *dtypes, size_t letters, const operands *all) {
  for (int32_t i = 0; i < all->count; i++) {
    const mica__type *own = operand(all, i);
    if (!own) continue;
    /* The last letter applies to all further operands. */
    char letter = dtypes[(size_t)i < letters ? (size_t)i : letters - 1];
    const char *text = NULL;
    const mica__type *like = is_digit(letter) ? operand(all, letter - '0') : NULL;
    if (like && own->dtype != like->dtype)
      return mica__fail(MICA_E_DTYPE, "operand %d is %s, but must be %s, as operand %c is", (int)i,
                        mica_dtype_name(own->dtype), mica_dtype_name(like->dtype), letter);
    if (!is_digit(letter) && !mica__dtype_in(own->dtype, letter, &text))
      return mica__fail(MICA_E_DTYPE, "operand %d is %s, but must be %s", (int)i, mica_dtype_name(own->dtype), text);
  }
  return MICA_OK;
}

/* Sets the dtypes of results as declared by op->dtypes. */
static void set_dtypes(const char *gives, const operands *all, mica__type *out) {
  for (int32_t r = 0; gives[r]; r++)
    out[r].dtype = gives[r] == 'b'   ? MICA_BOOL
                   : gives[r] == 's' ? MICA_I32
                   : gives[r] == 'l' ? MICA_I64
                                     : operand(all, gives[r] - '0')->dtype;
}

mica_status mica__op_infer(const mica__op *op, const mica__type *inputs, int32_t input_count, void *attrs,
                           mica__type *out) {
  const int32_t results = op->results ? op->results : 1;
  if (!op->dtypes) {
    MICA_TRY(op->infer(inputs, input_count, attrs, out));
  } else {
    size_t letters = strcspn(op->dtypes, ">");
    operands all;
    MICA_TRY(find_operands(op, inputs, input_count, attrs, &all));
    MICA_TRY(check_operands(op->dtypes, letters, &all));
    MICA_TRY(op->infer(inputs, input_count, attrs, out));
    set_dtypes(op->dtypes[letters] ? op->dtypes + letters + 1 : "", &all, out);
  }
  for (int32_t r = 0; r < results; r++) MICA_TRY(mica__type_check(out[r]));
  return MICA_OK;
}
