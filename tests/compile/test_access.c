/* labels: null single
 *
 * Accesses against counting on the fingers: every composition is compared point by point with two look-ups. */
#include "compile/access.h"
#include "support/check_main.h"

static uint32_t state = 1;

static int64_t below(int64_t n) {
  state = state * 1664525u + 1013904223u;
  return (int64_t)(state >> 8) % n;
}

static int64_t count_of(mica_shape shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}

/* Where the access leads from point number n of the space. */
static int64_t follow(mica_shape space, const mica__access *access, int64_t n) {
  int64_t at = access->offset;
  for (int32_t i = space.rank - 1; i >= 0; i--) {
    at += n % space.dim[i] * access->stride[i];
    n /= space.dim[i];
  }
  return at;
}

static mica_shape random_shape(void) {
  mica_shape shape = {.rank = (int32_t)(1 + below(4))};
  for (int32_t i = 0; i < shape.rank; i++) shape.dim[i] = 1 + below(4);
  return shape;
}

/* A view of a row-major value as ops make them: axes exchanged, repeated, walked backwards, or another shape of the
 * same elements. */
static mica__access random_view(mica_shape of, mica_shape *space) {
  mica__access access = mica__access_row_major(of);
  *space = of;
  if (below(3) == 0) {
    space->dim[0] = count_of(of);
    space->rank = 1;
    return mica__access_row_major(*space);
  }
  int32_t a = (int32_t)below(of.rank), b = (int32_t)below(of.rank);
  int64_t extent = space->dim[a], stride = access.stride[a];
  space->dim[a] = space->dim[b], access.stride[a] = access.stride[b];
  space->dim[b] = extent, access.stride[b] = stride;
  if (below(2)) {
    access.offset += (space->dim[a] - 1) * access.stride[a];
    access.stride[a] = -access.stride[a];
  }
  if (below(3) == 0) {
    space->dim[b] = 1 + below(5);
    access.stride[b] = 0;
  }
  return access;
}

START_TEST(compositions_lead_where_two_steps_lead) {
  int composed = 0;
  for (int round = 0; round < 20000; round++) {
    mica_shape base = random_shape(), middle, space;
    mica__access inner = random_view(base, &middle), outer = random_view(middle, &space), both;
    if (!mica__access_compose(space, &outer, middle, &inner, &both)) continue;
    composed++;
    for (int64_t n = 0; n < count_of(space); n++)
      ck_assert_int_eq(follow(space, &both, n), follow(middle, &inner, follow(space, &outer, n)));
  }
  ck_assert_int_gt(composed, 10000);
}
END_TEST

START_TEST(what_cannot_be_one_access_is_refused) {
  /* The rows of a transposed matrix, read as one line. */
  mica_shape line = MICA_SHAPE(6), matrix = MICA_SHAPE(3, 2);
  mica__access in_order = mica__access_row_major(line), transposed = {.stride = {1, 3}}, both;
  ck_assert(!mica__access_compose(line, &in_order, matrix, &transposed, &both));
}
END_TEST

START_TEST(transposing_twice_is_nothing) {
  mica_shape a = MICA_SHAPE(3, 2), b = MICA_SHAPE(2, 3);
  mica__access there = {.stride = {1, 2}}, back = {.stride = {1, 3}}, both;
  ck_assert(mica__access_compose(a, &back, b, &there, &both));
  ck_assert(mica__access_is_row_major(a, &both));
}
END_TEST

START_TEST(broadcasting_repeats) {
  mica__access access = mica__access_broadcast(MICA_SHAPE(3, 1), MICA_SHAPE(2, 3, 4));
  ck_assert_int_eq(access.stride[0], 0);
  ck_assert_int_eq(access.stride[1], 1);
  ck_assert_int_eq(access.stride[2], 0);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, compositions_lead_where_two_steps_lead, what_cannot_be_one_access_is_refused,
      transposing_twice_is_nothing, broadcasting_repeats)
