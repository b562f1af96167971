/* dist/collective.h: a collective as rounds of messages and what is computed after each. */
#ifndef MICA_DIST_COLLECTIVE_H
#define MICA_DIST_COLLECTIVE_H

#include <mica/dist.h>

/* A message of the round that goes on. */
typedef struct mica__message {
  void *request; /* the transport's; NULL: done */
  int32_t peer;
  bool sends;
} mica__message;

/* Zeros but for the transfer. One that has begun is driven by one thread. */
typedef struct mica__collective {
  mica_transfer transfer;
  float *residual; /* what the rank has lost so far: `count` elements, or NULL */
  int32_t round;
  bool started;
  mica__message *messages; /* room for two a rank */
  int32_t message_count;
  void **pieces;  /* ranks of them, in scratch: what is summed */
  char *received; /* as it came */
  char *encoded;  /* as it goes */
  void *scratch;  /* of all these */
  uint64_t bytes_sent, bytes_received, sent_messages;
  int64_t first, length; /* the rank's own part */
} mica__collective;

/* Checks the transfer against the header's contract. */
mica_status mica__collective_check(const mica_transfer *transfer, int32_t rank, int32_t ranks);
/* Takes memory. */
mica_status mica__collective_prepare(mica__collective *c, const mica_transfer *transfer, int32_t rank, int32_t ranks);
/* Starts rounds and ends them as far as messages are there; never blocks. *moved: something was. */
mica_status mica__collective_advance(mica__collective *c, const mica_transport *transport, bool *moved, bool *done);
/* The rank whose message is missed, one that is to be received first; -1: none. */
int32_t mica__collective_misses(const mica__collective *c);
/* Gives up what is in flight, and frees. */
void mica__collective_release(mica__collective *c, const mica_transport *transport);

#endif
