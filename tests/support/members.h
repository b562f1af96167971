/* support/members.h: the ranks of a communicator as threads of a test, with a transport between them that delays and
 * loses messages on purpose. */
#ifndef TEST_SUPPORT_MEMBERS_H
#define TEST_SUPPORT_MEMBERS_H

#include <mica/dist.h>
#include <stdbool.h>

typedef struct test_faults {
  double delay;             /* every message is held back for a random time up to this, in seconds */
  unsigned seed;            /* of these times */
  double timeout;           /* of the communicators; 0: 60 */
  int32_t drops_of;         /* every message that this rank expects of the one before it is lost; 0: none is */
  const volatile int *stop; /* of the communicators */
  int32_t mute;             /* this rank gives no sign of life; 0: all do */
  bool leaves;              /* a rank's communicator is destroyed as soon as its function returns */
} test_faults;

/* Calls `member` for each of `ranks` communicators in a thread of its own, and waits for them. faults may be NULL. */
void test_members(int32_t ranks, const test_faults *faults, void (*member)(mica_communicator *communicator));

/* In a member's function, whose thread libcheck cannot leave: ends the program with a sentence unless the call returns
 * MICA_OK, or the condition holds. */
#define member_ok(call) member_check((call) == MICA_OK, "%s: %s", #call, mica_error_message())
#define member_check(condition, ...)                                                                                   \
  do {                                                                                                                 \
    if (!(condition)) test_member_fails(__FILE__, __LINE__, __VA_ARGS__);                                              \
  } while (0)
_Noreturn void test_member_fails(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
