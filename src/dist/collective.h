/* dist/collective.h: runs a collective in rounds. A round exchanges messages, then computes with the received data. */
#ifndef MICA_DIST_COLLECTIVE_H
#define MICA_DIST_COLLECTIVE_H

#include <mica/dist.h>

/* A message of the current round. */
typedef struct mica__message {
  void *request; /* the transport's; NULL: done */
  int32_t peer;
  bool sends;
} mica__message;

/* A collective in progress. mica__collective_prepare sets the transfer and the memory, and zeroes the rest. After the
 * first mica__collective_advance, only one thread may use it. */
typedef struct mica__collective {
  mica_transfer transfer;
  float *residual; /* this rank's accumulated rounding errors: `count` elements, or NULL */
  int32_t round;
  bool started;
  mica__message *messages; /* room for two per rank */
  int32_t message_count;
  void **pieces;  /* pieces[k]: rank k's values of this rank's part, in scratch */
  char *received; /* compressed, as received */
  char *encoded;  /* compressed, as sent */
  void *scratch;  /* memory for pieces, received and encoded */
  uint64_t bytes_sent, bytes_received, sent_messages;
  int64_t first, length; /* the rank's own part */
} mica__collective;

/* Checks a transfer against the contract in mica/dist.h. */
mica_status mica__collective_check(const mica_transfer *transfer, int32_t rank, int32_t ranks);
/* Sets *c up and allocates its memory. Must be released, even after a failure. */
mica_status mica__collective_prepare(mica__collective *c, const mica_transfer *transfer, int32_t rank, int32_t ranks);
/* Starts, tests and completes messages as far as possible without blocking. Sets *moved to true if there was progress
 * and *done to true at the end. Otherwise both flags keep their values. */
mica_status mica__collective_advance(mica__collective *c, const mica_transport *transport, bool *moved, bool *done);
/* Returns a rank whose message to or from this rank has not completed; -1 if all messages have. Prefers a rank that
 * this one receives from. */
int32_t mica__collective_misses(const mica__collective *c);
/* Cancels messages in flight and frees the memory. */
void mica__collective_release(mica__collective *c, const mica_transport *transport);

#endif
