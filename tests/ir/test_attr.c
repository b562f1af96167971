/* labels: null single
 *
 * Attributes by name: defaults, equality, text; and what a dump shows of real ops. */
#include "ir/attr.h"
#include "support/check_main.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

static const char *const shades[] = {"dark", "light"};

#define PAINT_ATTRS(X, S)                                                                                              \
  X(S, INT, coats, 2, "how many")                                                                                      \
  X(S, BOOL, glossy, false, "whether it shines")                                                                       \
  X(S, REAL, share, 0.5, "of white")                                                                                   \
  X(S, ENUM, shade, 0, "of the color", shades)                                                                         \
  X(S, DTYPE, dtype, MICA_F32, "of the color")                                                                         \
  X(S, AXES, axes, 0, "that are painted")                                                                              \
  X(S, PER_AXIS, start, 0, "where it begins")                                                                          \
  X(S, SPATIAL, stride, 1, "between strokes")                                                                          \
  X(S, SHAPE, shape, 0, "of the wall")                                                                                 \
  X(S, POINTER, owner, 0, "whose wall it is")
MICA__ATTR_STRUCT(paint, PAINT_ATTRS);
static MICA__ATTR_TABLE(paint, PAINT_ATTRS);
static const mica__attr_list *const list = &mica__paint_attr_list;

static mica__paint_attrs defaults(void) {
  mica__paint_attrs attrs;
  memset(&attrs, 0x5a, sizeof attrs);
  mica__attrs_set_defaults(list, &attrs);
  return attrs;
}

static void expect_text(const mica__paint_attrs *attrs, int32_t rank, const char *want) {
  mica__text text = {0};
  mica__text_add(&text, "paint");
  mica__attrs_format(&text, list, attrs, rank);
  ck_assert_str_eq(text.data, want);
  mica__text_free(&text);
}

START_TEST(defaults_are_those_of_the_table) {
  const mica__paint_attrs attrs = defaults();
  ck_assert(attrs.coats == 2 && !attrs.glossy && attrs.share == 0.5 && attrs.shade == 0 && attrs.dtype == MICA_F32);
  ck_assert(attrs.axes == 0 && attrs.start[7] == 0 && attrs.stride[2] == 1 && attrs.shape.rank == 0 &&
            attrs.owner == NULL);
  expect_text(&attrs, 4, "paint");
  void *copy = NULL;
  ck_assert_int_eq(mica__attrs_copy(list, NULL, &copy), MICA_OK);
  ck_assert(mica__attrs_equal(list, &attrs, copy));
  free(copy);
  ck_assert_int_eq(mica__attrs_copy(NULL, NULL, &copy), MICA_OK);
  ck_assert_ptr_null(copy);
}
END_TEST

START_TEST(text_leaves_defaults_out) {
  mica__paint_attrs attrs = defaults();
  attrs.stride[0] = attrs.stride[1] = 2;
  expect_text(&attrs, 4, "paint(stride=[2, 2])");
  attrs = defaults();
  attrs.coats = -3;
  attrs.glossy = true;
  attrs.share = 0.25;
  attrs.shade = 1;
  attrs.dtype = MICA_I64;
  attrs.axes = 5;
  attrs.start[2] = 7;
  attrs.shape = MICA_SHAPE(3, MICA_DYNAMIC);
  attrs.owner = &attrs;
  expect_text(&attrs, 3,
              "paint(coats=-3, glossy=true, share=0.25, shade=light, dtype=i64, axes=[0, 2], start=[0, 0, 7], "
              "shape=(3, ?), owner=set)");
  attrs = defaults();
  attrs.start[3] = 1; /* beyond the operand's axes */
  expect_text(&attrs, 3, "paint");
}
END_TEST

/* Each field alone makes a difference, to equality and to the hash; bytes between fields make none. */
START_TEST(equality_is_by_fields) {
  const mica__paint_attrs base = defaults();
  mica__paint_attrs other[11];
  memset(other, 0x33, sizeof other);
  for (int i = 0; i < 11; i++) mica__attrs_set_defaults(list, &other[i]);
  other[0].coats++, other[1].glossy = true, other[2].share = -0.5, other[3].shade = 1, other[4].dtype = MICA_F16;
  other[5].axes = 1, other[6].start[7] = 1, other[7].stride[2] = 3, other[8].shape = MICA_SHAPE(1);
  other[9].owner = other;
  mica__hash hash = mica__attrs_hash((mica__hash){0}, list, &base);
  for (int i = 0; i < 11; i++) {
    ck_assert_int_eq(mica__attrs_equal(list, &base, &other[i]), i == 10);
    ck_assert_int_eq(mica__hash_equal(hash, mica__attrs_hash((mica__hash){0}, list, &other[i])), i == 10);
  }
  other[0] = other[1] = base;
  other[0].share = 0;
  other[1].share = -0.0;
  ck_assert(!mica__attrs_equal(list, &other[0], &other[1]));
  other[0].share = other[1].share = (double)NAN;
  ck_assert(mica__attrs_equal(list, &other[0], &other[1]));
}
END_TEST

START_TEST(rows_are_found_by_name) {
  mica__paint_attrs attrs = defaults();
  attrs.glossy = true;
  ck_assert_ptr_null(mica__attr_find(list, "share", 3));
  ck_assert_ptr_null(mica__attr_find(list, "shared", 6));
  ck_assert_ptr_null(mica__attr_find(NULL, "share", 5));
  const char *const names[] = {"coats", "glossy", "share", "shade", "dtype"};
  const double values[] = {2, 1, 0.5, 0, MICA_F32};
  for (size_t i = 0; i < 5; i++) {
    const mica__attr *attr = mica__attr_find(list, names[i], strlen(names[i]));
    ck_assert_ptr_nonnull(attr);
    ck_assert_double_eq(mica__attr_number(attr, &attrs), values[i]);
  }
}
END_TEST

START_TEST(dumps_show_names) {
  mica_graph *graph = NULL;
  char *text = NULL;
  ck_assert_int_eq(mica_graph_create(&graph), MICA_OK);
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, 3, 8, 8));
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(4, 3, 3, 3));
  mica_conv(x, w, (mica_value){0}, &(mica_conv_config){.stride = {2, 2}, .pad = {1, 1}});
  mica_conv(x, w, (mica_value){0}, NULL);
  mica_clip(mica_sum(x, MICA_AXES(2, -1), true), 0, 6);
  ck_assert_int_eq(mica_graph_dump(graph, MICA_DUMP_FORMAT_TEXT, &text), MICA_OK);
  ck_assert_str_eq(text, "%1 = input -> f32 (1, 3, 8, 8) 'x'\n"
                         "%2 = parameter -> f32 (4, 3, 3, 3) 'w'\n"
                         "%3 = conv(stride=[2, 2], pad=[1, 1]) %1 %2 -> f32 (1, 4, 4, 4)\n"
                         "%4 = conv %1 %2 -> f32 (1, 4, 6, 6)\n"
                         "%5 = sum(axes=[2, 3], keep=true) %1 -> f32 (1, 3, 1, 1)\n"
                         "%6 = clip(low=0, high=6) %5 -> f32 (1, 3, 1, 1)\n");
  free(text);
  mica_graph_destroy(graph);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, defaults_are_those_of_the_table, text_leaves_defaults_out, equality_is_by_fields,
      rows_are_found_by_name, dumps_show_names)
