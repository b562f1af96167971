/* einsum and gemm, made of transpose, reshape, sum and matmul. */
#include "base/checked.h"
#include "ops/common/build.h"

#include <ctype.h>
#include <string.h>

mica_value mica_gemm(mica_value a, mica_value b, mica_value c, double alpha, double beta) {
  mica_value product = mica_matmul(a, b);
  if (alpha != 1) product = mica_affine(product, alpha, 0);
  if (!c.graph || beta == 0) return product;
  mica_value y = mica_add(product, beta == 1 ? c : mica_affine(c, beta, 0));
  return mica__graph_mark(y, "gemm", (mica_value[]){a, b, c}, 3, (double[]){alpha, beta}, 2);
}

#define MAX_TERMS 16
/* The size of a string that holds the letters of the output and of all terms. */
#define NEEDED ((MAX_TERMS + 1) * MICA_MAX_RANK + 1)

/* A value with a letter per axis. */
typedef struct term {
  mica_value value;
  char letters[MICA_MAX_RANK + 1];
} term;

static bool has(const char *letters, char letter) { return letter && strchr(letters, letter) != NULL; }

static void append(char *letters, char letter) {
  size_t length = strlen(letters);
  letters[length] = letter;
  letters[length + 1] = 0;
}

/* Transposes the term to the order of `letters`, which are the term's own letters. */
static mica_value ordered(const term *t, const char *letters) {
  mica_axes axes = {.count = (int32_t)strlen(letters)};
  for (int32_t i = 0; i < axes.count; i++) axes.axis[i] = (int32_t)(strchr(t->letters, letters[i]) - t->letters);
  return strcmp(t->letters, letters) == 0 ? t->value : mica_transpose(t->value, axes);
}

/* Sums the term over each of its letters that is not in `needed`. */
static void sum_unneeded(term *t, const char *needed) {
  term left = {0};
  mica_axes axes = {0};
  for (int32_t i = 0; t->letters[i]; i++) {
    if (has(needed, t->letters[i]))
      append(left.letters, t->letters[i]);
    else
      axes.axis[axes.count++] = i;
  }
  if (axes.count == 0) return;
  left.value = mica_sum(t->value, axes, false);
  *t = left;
}

/* Replaces two axes of the same letter by their diagonal, which becomes the last axis: elements (i, i) of (n, n) are
 * every (n + 1)th of the n^2 elements. Returns the reason if that is not possible, else NULL. */
static const char *take_diagonal(term *t, int32_t first, int32_t second) {
  mica_shape shape = mica_value_shape(t->value), merged = {0};
  const int64_t n = shape.dim[first];
  const int32_t rank = shape.rank;
  const char letter = t->letters[first];
  mica_axes axes = {0};
  int64_t square = 0;
  term left = {0};
  if (n == MICA_DYNAMIC || shape.dim[second] == MICA_DYNAMIC) return "takes the diagonal of an axis of unknown size";
  if (!mica__mul_i64(n, n, &square)) return "takes a diagonal that is too large";
  for (int32_t i = 0; i < rank; i++) {
    if (i == first || i == second) continue;
    append(left.letters, t->letters[i]);
    axes.axis[axes.count++] = i;
    merged.dim[merged.rank++] = shape.dim[i];
  }
  append(left.letters, letter);
  axes.axis[axes.count++] = first;
  axes.axis[axes.count++] = second;
  merged.dim[merged.rank++] = square;
  left.value = mica_slice(mica_reshape(mica_transpose(t->value, axes), merged), rank - 2, 0, square, n + 1);
  *t = left;
  return NULL;
}

/* Takes diagonals until no letter of the term occurs twice. Returns the reason if one cannot be taken, else NULL. */
static const char *take_diagonals(term *t) {
  for (int32_t i = 0; t->letters[i];) {
    const char *again = strchr(t->letters + i + 1, t->letters[i]);
    const char *fault = again ? take_diagonal(t, i, (int32_t)(again - t->letters)) : NULL;
    if (fault) return fault;
    i = again ? 0 : i + 1;
  }
  return NULL;
}

/* The product of the extents of the term's axes that have these letters: MICA_DYNAMIC if one of them is open, INT64_MAX
 * if the product overflows before an open one is found. */
static int64_t extent_of(const term *t, const char *letters) {
  int64_t product = 1;
  for (const char *c = letters; *c; c++) {
    int64_t extent = mica_value_shape(t->value).dim[strchr(t->letters, *c) - t->letters];
    if (extent == MICA_DYNAMIC) return MICA_DYNAMIC;
    if (!mica__mul_i64(product, extent, &product)) return INT64_MAX;
  }
  return product;
}

/* Transposes and reshapes the term to (batch, rows, columns). Each of the three lists of letters becomes one axis. */
static mica_value grouped(const term *t, const char *batch, const char *rows, const char *columns) {
  char all[3 * MICA_MAX_RANK + 1];
  strcpy(all, batch);
  strcat(all, rows);
  strcat(all, columns);
  return mica_reshape(ordered(t, all), MICA_SHAPE(extent_of(t, batch), extent_of(t, rows), extent_of(t, columns)));
}

/* Multiplies two terms into one. A letter that is not in `needed` is summed over: before the product if only one of
 * the terms has it, else by the product of matrices. */
static term joined(term a, term b, const char *needed) {
  char batch[MICA_MAX_RANK + 1] = "", left[MICA_MAX_RANK + 1] = "", right[MICA_MAX_RANK + 1] = "";
  char inner[MICA_MAX_RANK + 1] = "", wanted_a[NEEDED], wanted_b[NEEDED];
  strcat(strcpy(wanted_a, needed), b.letters);
  strcat(strcpy(wanted_b, needed), a.letters);
  sum_unneeded(&a, wanted_a);
  sum_unneeded(&b, wanted_b);
  for (const char *c = a.letters; *c; c++) append(!has(b.letters, *c) ? left : has(needed, *c) ? batch : inner, *c);
  for (const char *c = b.letters; *c; c++)
    if (!has(a.letters, *c)) append(right, *c);
  term product = {.value = mica_matmul(grouped(&a, batch, left, inner), grouped(&b, batch, inner, right))};
  mica_shape shape = {0};
  const char *const groups[] = {batch, left, right};
  if (strlen(batch) + strlen(left) + strlen(right) > MICA_MAX_RANK) {
    product.value = mica__graph_fail(a.value.graph, MICA_E_SHAPE,
                                     "einsum: an intermediate result has more than %d axes", MICA_MAX_RANK);
    return product;
  }
  for (int g = 0; g < 3; g++)
    for (const char *c = groups[g]; *c; c++) {
      const char letter[2] = {*c, 0};
      append(product.letters, *c);
      shape.dim[shape.rank++] = extent_of(g < 2 ? &a : &b, letter);
    }
  product.value = mica_reshape(product.value, shape);
  return product;
}

/* Sets the output of an equation without an arrow: the ellipsis if a term has one, then the letters that occur once in
 * all terms, in alphabetical order, capitals first. False if they are too many. */
static bool implicit_output(char terms[MAX_TERMS][MICA_MAX_RANK + 1], size_t count, char output[MICA_MAX_RANK + 1]) {
  for (size_t t = 0; t < count; t++)
    if (has(terms[t], '.') && !has(output, '.')) append(output, '.');
  for (int letter = 'A'; letter <= 'z'; letter++) {
    int seen = 0;
    for (size_t t = 0; t < count; t++)
      for (const char *c = terms[t]; *c; c++) seen += *c == letter;
    if (seen != 1) continue;
    if (strlen(output) == MICA_MAX_RANK) return false;
    append(output, (char)letter);
  }
  return true;
}

/* Splits an equation such as "...ij,jk->...ik" into the letters of each term and, after the arrow, of the output.
 * One point stands for an ellipsis. Returns the reason if that is not possible, else NULL. */
static const char *parse(const char *equation, char terms[MAX_TERMS][MICA_MAX_RANK + 1], size_t *count,
                         char output[MICA_MAX_RANK + 1]) {
  char *into = terms[0];
  bool arrow = false;
  *count = 1;
  for (const char *c = equation; *c; c++) {
    if (*c == ' ') continue;
    if (*c == ',' && !arrow) {
      if (*count == MAX_TERMS) return "has more than 16 terms";
      into = terms[(*count)++];
    } else if (c[0] == '-' && c[1] == '>' && !arrow) {
      into = output;
      arrow = true;
      c++;
    } else if (!isalpha((unsigned char)*c) && strncmp(c, "...", 3) != 0) {
      return "holds something other than letters, ellipses, commas and one arrow";
    } else if (has(into, *c) && (into == output || *c == '.')) {
      return into == output ? "repeats a letter of the output" : "has two ellipses in a term";
    } else if (strlen(into) == MICA_MAX_RANK) {
      return "has a term of more than 8 axes";
    } else {
      append(into, *c);
      if (*c == '.') c += 2;
    }
  }
  return arrow || implicit_output(terms, *count, output) ? NULL : "gives a result of more than 8 axes";
}

/* Replaces the ellipsis by `axes` digits, one per axis that it stands for. They count down, so that '0' is the last
 * of these axes in every term. False if axes is negative, or if letters and digits are too many. */
static bool expand_ellipsis(const char *from, int64_t axes, char to[MICA_MAX_RANK + 1]) {
  *to = 0;
  if (axes < 0 || (int64_t)strlen(from) - has(from, '.') + axes > MICA_MAX_RANK) return false;
  for (const char *c = from; *c; c++) {
    for (int64_t i = axes; *c == '.' && i > 0; i--) append(to, (char)('0' + i - 1));
    if (*c != '.') append(to, *c);
  }
  return true;
}

/* For each axis that an ellipsis stands for: if its extent is 1 in some terms and not in others, drops the axis from
 * the terms in which it is 1. */
static void broadcast(term *terms, size_t count) {
  for (char digit = '0'; digit < '0' + MICA_MAX_RANK; digit++) {
    bool wide = false;
    for (size_t t = 0; t < count; t++)
      wide = wide || (has(terms[t].letters, digit) && extent_of(&terms[t], (const char[]){digit, 0}) != 1);
    for (size_t t = 0; wide && t < count; t++) {
      char *at = strchr(terms[t].letters, digit);
      if (!at || extent_of(&terms[t], (const char[]){digit, 0}) != 1) continue;
      terms[t].value = mica__drop_axis(terms[t].value, (int32_t)(at - terms[t].letters));
      memmove(at, at + 1, strlen(at));
    }
  }
}

/* Sets terms[t] to operand t with a letter or digit per axis, and replaces the ellipsis in the output. Returns the
 * reason if that is not possible, else NULL. */
static const char *name_axes(char letters[MAX_TERMS][MICA_MAX_RANK + 1], const mica_value *values, size_t count,
                             term *terms, char output[MICA_MAX_RANK + 1]) {
  char points[MICA_MAX_RANK + 1];
  int64_t most = 0;
  for (size_t t = 0; t < count; t++) {
    bool ellipsis = has(letters[t], '.');
    int64_t rank = mica_value_shape(values[t]).rank, axes = ellipsis ? rank - (int64_t)strlen(letters[t]) + 1 : 0;
    terms[t].value = values[t];
    if (!expand_ellipsis(letters[t], axes, terms[t].letters) || (int64_t)strlen(terms[t].letters) != rank)
      return "must have, in each term, a letter for each axis of its operand";
    most = axes > most ? axes : most;
  }
  strcpy(points, output);
  if (!expand_ellipsis(points, most, output)) return "gives a result of more than 8 axes";
  broadcast(terms, count);
  return NULL;
}

/* Returns the reason if a letter has two extents, or if the output has a letter that is in no term; else NULL. */
static const char *misfit(const term *terms, size_t count, const char *output) {
  int64_t extent[256] = {0};
  bool known[256] = {false};
  for (size_t t = 0; t < count; t++) {
    mica_shape shape = mica_value_shape(terms[t].value);
    for (int32_t i = 0; i < shape.rank; i++) {
      unsigned char letter = (unsigned char)terms[t].letters[i];
      if (known[letter] && extent[letter] != shape.dim[i] && extent[letter] != MICA_DYNAMIC &&
          shape.dim[i] != MICA_DYNAMIC)
        return "gives axes of different size the same letter";
      known[letter] = true;
      extent[letter] = shape.dim[i];
    }
  }
  for (const char *c = output; *c; c++)
    if (!known[(unsigned char)*c]) return "has a letter in the output that is in no term";
  return NULL;
}

mica_value mica_einsum(const char *equation, const mica_value *values, size_t count) {
  char letters[MAX_TERMS][MICA_MAX_RANK + 1] = {{0}}, output[MICA_MAX_RANK + 1] = "";
  term terms[MAX_TERMS];
  size_t parsed = 0;
  mica_graph *graph = NULL;
  for (size_t t = 0; values && !graph && t < count; t++) graph = values[t].graph;
  if (!graph) {
    (void)mica__fail(MICA_E_INVALID, "einsum: no operand is given, or all are null values");
    return (mica_value){0};
  }
  if (!equation) return mica__graph_fail(graph, MICA_E_INVALID, "einsum: the equation is NULL");
  const char *fault = parse(equation, letters, &parsed, output);
  if (!fault && parsed != count) fault = "must have a term for each operand";
  for (size_t t = 0; t < count; t++)
    if (!values[t].graph)
      return mica__graph_fail(graph, MICA_E_INVALID, "einsum '%s': operand %zu is the null value", equation, t);
  if (!fault) fault = name_axes(letters, values, count, terms, output);
  if (!fault) fault = misfit(terms, count, output);
  for (size_t t = 0; !fault && t < count; t++) fault = take_diagonals(&terms[t]);
  if (fault) return mica__graph_fail(values[0].graph, MICA_E_SHAPE, "einsum '%s' %s", equation, fault);
  for (size_t t = 1; t < count; t++) {
    char needed[NEEDED];
    strcpy(needed, output);
    for (size_t rest = t + 1; rest < count; rest++) strcat(needed, terms[rest].letters);
    terms[0] = joined(terms[0], terms[t], needed);
    if (!terms[0].value.graph) return (mica_value){0};
  }
  sum_unneeded(&terms[0], output);
  return ordered(&terms[0], output);
}
