/* dist/collective.h: a collective as rounds: messages, then a computation. */
#ifndef MICA_DIST_COLLECTIVE_H
#define MICA_DIST_COLLECTIVE_H

#include <mica/dist.h>

/* A message of the current round. */
typedef struct mica__message {
  void *request; /* the transport's; NULL: done */
  int32_t peer;
  bool sends;
} mica__message;

/* A collective in progress. mica__collective_prepare sets the transfer and the memory, and zeroes the rest. After its
 * start, one thread drives it. */
typedef struct mica__collective {
  mica_transfer transfer;
  float *residual; /* this rank's accumulated rounding errors: `count` elements, or NULL */
  int32_t round;
  bool started;
  mica__message *messages; /* room for two per rank */
  int32_t message_count;
  void **pieces;  /* summands, one per rank, in scratch */
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
/* Continues as far as messages have arrived; never blocks. Sets *moved after progress and *done at the end, and
 * neither to false. */
mica_status mica__collective_advance(mica__collective *c, const mica_transport *transport, bool *moved, bool *done);
/* The rank whose message is missing, preferably one to receive; -1: none. */
int32_t mica__collective_misses(const mica__collective *c);
/* Cancels messages in flight and frees the memory. */
void mica__collective_release(mica__collective *c, const mica_transport *transport);

#endif
