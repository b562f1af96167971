/* labels: null single
 *
 * Nearest neighbours against a search that sorts all cosines in f64. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/embed.h>
#include <stdlib.h>

enum { COUNT = 1000, QUERIES = 7 };

static float draw(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static double cosine(const float *a, const float *b, int64_t width) {
  double ab = 0, aa = 0, bb = 0;
  for (int64_t i = 0; i < width; i++) {
    ab += (double)a[i] * (double)b[i];
    aa += (double)a[i] * (double)a[i];
    bb += (double)b[i] * (double)b[i];
  }
  return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

START_TEST(neighbours_are_the_most_similar) {
  static const int64_t widths[] = {1, 3, 16, 37, 384};
  static const size_t wanted[] = {1, 5, COUNT};
  const int64_t width = widths[_i];
  uint32_t state = 5;
  float *vectors = malloc((size_t)(COUNT * width) * sizeof *vectors), *queries = malloc((size_t)(QUERIES * width) * 4);
  mica_neighbour *found = malloc((size_t)QUERIES * COUNT * sizeof *found);
  ck_assert(vectors && queries && found);
  for (int64_t i = 0; i < COUNT * width; i++) vectors[i] = i < width ? 0 : draw(&state); /* row 0 is zeros */
  for (int64_t i = 0; i < QUERIES * width; i++) queries[i] = 100 * draw(&state);
  for (size_t n = 0; n < 3; n++) {
    const size_t nearest = wanted[n];
    ck_ok(mica_nearest(vectors, COUNT, width, queries, QUERIES, nearest, found));
    for (size_t q = 0; q < QUERIES; q++) {
      size_t above = 0;
      const mica_neighbour *list = found + q * nearest;
      for (size_t k = 0; k < nearest; k++) {
        const double want = cosine(vectors + (int64_t)list[k].index * width, queries + (int64_t)q * width, width);
        ck_assert(fabs((double)list[k].similarity - want) < 2e-6);
        if (k > 0) {
          ck_assert(list[k].similarity <= list[k - 1].similarity);
          ck_assert(list[k].similarity < list[k - 1].similarity || list[k].index > list[k - 1].index);
        }
      }
      for (int64_t v = 0; v < COUNT; v++)
        above += cosine(vectors + v * width, queries + (int64_t)q * width, width) >
                 (double)list[nearest - 1].similarity + 4e-6;
      ck_assert_uint_lt(above, nearest);
    }
  }
  free(vectors);
  free(queries);
  free(found);
}
END_TEST

/* 100,000 vectors, each a little off another one of the queries: neighbours are the planted ones, in order, and all
 * vectors at once are sorted in time. */
START_TEST(planted_neighbours_are_found_among_many) {
  enum { MANY = 100000, WIDTH = 48, ASKED = 20, PLANTED = 5 };
  uint32_t state = 11;
  float *vectors = malloc((size_t)MANY * WIDTH * sizeof *vectors), queries[ASKED][WIDTH];
  mica_neighbour found[ASKED][PLANTED], *all = malloc((size_t)MANY * sizeof *all);
  ck_assert(vectors && all);
  for (size_t i = 0; i < (size_t)MANY * WIDTH; i++) vectors[i] = draw(&state);
  for (int q = 0; q < ASKED; q++) {
    for (int i = 0; i < WIDTH; i++) queries[q][i] = draw(&state);
    for (int k = 0; k < PLANTED; k++)
      for (int i = 0; i < WIDTH; i++)
        vectors[((size_t)k * 19001 + (size_t)q * 997) * WIDTH + (size_t)i] =
            queries[q][i] + (i == k ? 0.1f * (float)(k + 1) : 0);
  }
  ck_ok(mica_nearest(vectors, MANY, WIDTH, queries[0], ASKED, PLANTED, found[0]));
  for (int q = 0; q < ASKED; q++) {
    for (int k = 0; k < PLANTED; k++) {
      ck_assert_uint_eq(found[q][k].index % 19001, (size_t)q * 997);
      ck_assert(k == 0 || found[q][k].similarity <= found[q][k - 1].similarity);
    }
  }
  ck_ok(mica_nearest(vectors, MANY, WIDTH, queries[0], 1, MANY, all));
  for (int k = 0; k < PLANTED; k++) ck_assert_uint_eq(all[k].index, found[0][k].index);
  for (int k = 1; k < MANY; k++) ck_assert(all[k].similarity <= all[k - 1].similarity);
  free(vectors);
  free(all);
}
END_TEST

START_TEST(wrong_values_are_refused) {
  float vectors[4] = {1, 0, 0, 1}, query[2] = {1, 1};
  mica_neighbour found[3];
  ck_assert_int_eq(mica_nearest(NULL, 2, 2, query, 1, 1, found), MICA_E_INVALID);
  ck_assert_int_eq(mica_nearest(vectors, 2, 0, query, 1, 1, found), MICA_E_INVALID);
  ck_assert_int_eq(mica_nearest(vectors, 2, 2, query, 1, 3, found), MICA_E_INVALID);
  ck_assert_int_eq(mica_nearest(vectors, 2, 2, query, 1, 0, found), MICA_E_INVALID);
  ck_ok(mica_nearest(vectors, 2, 2, query, 0, 1, NULL));
  ck_ok(mica_nearest(vectors, 2, 2, query, 1, 2, found)); /* a tie: the smaller index first */
  ck_assert(found[0].index == 0 && found[1].index == 1);
  vectors[3] = NAN;
  ck_assert_int_eq(mica_nearest(vectors, 2, 2, query, 1, 1, found), MICA_E_FORMAT);
  ck_assert_str_eq(mica_error_message(), "vector 1 has a number that is not finite");
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(neighbours_are_the_most_similar, 0, 5), planted_neighbours_are_found_among_many,
      wrong_values_are_refused)
