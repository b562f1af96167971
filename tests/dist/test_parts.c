/* labels: null single
 *
 * Weights that another rank sends: heads that do not go with their tensor are refused. */
#include "support/check_main.h"

#include "dist/parts.h"

#include <stdio.h>
#include <string.h>

/* What the peer sends: a head, the elements, and a head without a name, which ends the list. */
typedef struct peer {
  mica__weight_head head;
  int at;
} peer;

static mica_status begin(void *user, const mica_transfer *transfer, void **request) {
  peer *p = user;
  memset(transfer->data, 0, (size_t)transfer->count);
  if (p->at++ == 0) memcpy(transfer->data, &p->head, sizeof p->head);
  *request = p;
  return MICA_OK;
}

static mica_status wait(void *user, void *request) {
  (void)user, (void)request;
  return MICA_OK;
}

START_TEST(sizes_are_those_of_the_shape) {
  static const mica_communicator_calls calls = {.begin = begin, .wait = wait};
  static const struct {
    int64_t bytes;
    bool right;
  } cases[] = {{24, true},  {23, false}, {25, false},  {27, false},
               {28, false}, {0, false},  {-24, false}, {INT64_MAX, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    peer p = {.head = {.name = "w", .bytes = cases[i].bytes, .shape = MICA_SHAPE(2, 3), .dtype = MICA_F32}};
    mica_communicator c = {.user = &p, .ranks = 2, .calls = &calls};
    mica__weights all = {0};
    const mica_status status = mica__weights_receive(&all, &c, 0, 1);
    ck_assert_msg((status == MICA_OK) == cases[i].right, "%d bytes: %s", (int)cases[i].bytes, mica_error_message());
    if (!cases[i].right) ck_assert_ptr_nonnull(strstr(mica_error_message(), "rank 1 sent a damaged tensor"));
    ck_assert_uint_eq(all.count, cases[i].right);
    mica__weights_free(&all);
  }
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, sizes_are_those_of_the_shape)
