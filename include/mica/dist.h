/* mica/dist.h: several devices or machines that train one network. A communicator connects `ranks` members, each a
 * thread or a process with an engine of its own; its collectives work in the background:
 *
 *   mica_communicator *list[2];
 *   mica_communicator_local(2, NULL, list);                       one for each of two threads of this process
 *   ... in thread k: mica_optimizer_config.communicator = list[k], or
 *   mica_communicator_run(list[k], &(mica_transfer){.kind = MICA_COLLECTIVE_ALL_REDUCE, .data = x, .count = n});
 *
 * Sums are made along one tree over the ranks, which timing does not change: the same number of ranks gives the same
 * bits, on all of them. A program that has a transport of its own gives a mica_transport, or, where that has
 * collectives, mica_communicator_calls.
 *
 * Faults. A member that is lost, that fails (mica_communicator_abort) or that lets others wait longer than `timeout`
 * ends the communicator: what is in flight and all that is begun later fails with MICA_E_STATE and a sentence that
 * names the rank.
 *
 * Threads: a communicator is used by one thread at a time, but for mica_communicator_abort, which any may call. Every
 * rank has a communicator of its own. */
#ifndef MICA_DIST_H
#define MICA_DIST_H

#include <mica/graph.h>
#include <mica/tensor.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* Name, text, what becomes of `data`, which has `count` elements on every rank. Part k of the elements is rank k's
 * (mica_transfer.offsets).
 *
 * all_reduce      the sum over all ranks
 * all_gather      every rank's part, from rank k that of its own part k
 * reduce_scatter  of the rank's own part the sum over all ranks; the other parts are undefined
 * broadcast       that of rank `peer`
 * send            goes to rank `peer`, which receives
 * receive         that which rank `peer` sends */
#define MICA_COLLECTIVE_LIST(X)                                                                                        \
  X(ALL_REDUCE, "all_reduce")                                                                                          \
  X(ALL_GATHER, "all_gather")                                                                                          \
  X(REDUCE_SCATTER, "reduce_scatter")                                                                                  \
  X(BROADCAST, "broadcast")                                                                                            \
  X(SEND, "send")                                                                                                      \
  X(RECEIVE, "receive")

typedef enum mica_collective {
#define MICA_COLLECTIVE_ENUM(name, text) MICA_COLLECTIVE_##name,
  MICA_COLLECTIVE_LIST(MICA_COLLECTIVE_ENUM)
#undef MICA_COLLECTIVE_ENUM
} mica_collective;

/* "all_reduce"; "?" for a value that is none. */
MICA_API const char *mica_collective_name(mica_collective collective);

/* How f32 sums travel. Name, text, meaning:
 *
 * none  as they are
 * f16   as f16, half of the bytes
 * u8    as 8 bits and a scale for every 256 elements, about a quarter
 *
 * What rounding loses can be added to what the rank sends next (error feedback; Karimireddy et al. 2019). */
#define MICA_COMPRESSION_LIST(X)                                                                                       \
  X(NONE, "none")                                                                                                      \
  X(F16, "f16")                                                                                                        \
  X(U8, "u8")

typedef enum mica_compression {
#define MICA_COMPRESSION_ENUM(name, text) MICA_COMPRESSION_##name,
  MICA_COMPRESSION_LIST(MICA_COMPRESSION_ENUM)
#undef MICA_COMPRESSION_ENUM
} mica_compression;

/* "f16"; "?" for a value that is none. */
MICA_API const char *mica_compression_name(mica_compression compression);
/* MICA_E_NOT_FOUND lists the names there are. */
MICA_API MICA_CHECKED mica_status mica_compression_find(const char *name, mica_compression *compression);

/* Channels are 0 to this less 1. */
#define MICA_CHANNELS 16383

/* A collective. All that it points to is the caller's, and stays as it is until the collective has been waited for. */
typedef struct mica_transfer {
  mica_collective kind;
  /* Collectives of one channel follow each other in the order in which they are begun, which is the same on all ranks;
   * those of different channels are independent and may be begun in any order. Sends and receives of a channel are
   * ordered for each peer and direction, and apart from its collectives. */
  int32_t channel;
  int32_t peer;
  mica_dtype dtype; /* of sums: f32, f64, f16, bf16 (rounded after each addition), i32, i64 */
  void *data;       /* count elements; of a SEND not written */
  int64_t count;
  const void *source; /* where the rank's own elements are read, as many as data has; NULL: data */
  /* ranks + 1 numbers from 0 to count, not falling: part k is [offsets[k], offsets[k + 1]). NULL: mica_rank_part. */
  const int64_t *offsets;
  mica_compression compression; /* ALL_REDUCE and REDUCE_SCATTER of f32; the same on all ranks */
  bool
      feedback; /* of compressed sums: what is lost is added to the next such sum of the channel, of as many elements */
  mica_event *after; /* the collective begins when this is done; NULL: at once */
  int64_t step;      /* of training, which later warnings name; 0: not said */
} mica_transfer;

/* The even parts of `count` elements: rank's is [*first, *first + *length). Parts differ by 64 elements at most, and
 * begin at multiples of 64. */
MICA_API void mica_rank_part(int64_t count, int32_t ranks, int32_t rank, int64_t *first, int64_t *length);

/* Counted since the communicator was made. */
typedef struct mica_communicator_stats {
  uint64_t collectives, messages, bytes_sent, bytes_received;
  double waited; /* seconds in mica_communicator_wait and _run, from when the rank's own elements were there */
  double moving; /* seconds in which something was in flight */
} mica_communicator_stats;

typedef struct mica_communicator mica_communicator;

/* What a communicator does; `user` is the communicator's. */
typedef struct mica_communicator_calls {
  /* Starts a collective and returns. *request is for wait. */
  mica_status (*begin)(void *user, const mica_transfer *transfer, void **request);
  /* Blocks until it is done, and frees the request; also after a failure: then nothing touches the memory any more. */
  mica_status (*wait)(void *user, void *request);
  /* Ends the communicator on all ranks; `rank` is that which failed. Any thread. */
  void (*abort)(void *user, int32_t rank, const char *sentence);
  void (*stats)(void *user, mica_communicator_stats *stats);
  void (*destroy)(void *user);
} mica_communicator_calls;

/* A communicator of the caller's is filled by hand and goes wherever one is asked for. */
struct mica_communicator {
  void *user;
  int32_t rank, ranks; /* rank is 0 to ranks - 1 */
  const mica_communicator_calls *calls;
  const mica_communicator *whole; /* of a group: what it is a part of; NULL for others */
};

/* Starts a collective and returns. MICA_E_INVALID, with a sentence, for what is outside the contract: nothing has begun
 * then. */
MICA_API MICA_CHECKED mica_status mica_communicator_begin(mica_communicator *communicator,
                                                          const mica_transfer *transfer, void **request);
/* Blocks until the collective is done. Once for every begin that succeeded. */
MICA_API MICA_CHECKED mica_status mica_communicator_wait(mica_communicator *communicator, void *request);
/* Both. */
MICA_API MICA_CHECKED mica_status mica_communicator_run(mica_communicator *communicator, const mica_transfer *transfer);
/* Ends the communicator on all ranks with "rank R: SENTENCE", R being the caller's. Any thread. */
MICA_API void mica_communicator_abort(mica_communicator *communicator, const char *sentence);
/* NULL gives zeros, as does a communicator without such counts. */
MICA_API mica_communicator_stats mica_communicator_stats_of(const mica_communicator *communicator);
/* Every collective has been waited for. NULL is a no-op. Others that still wait for this rank fail. */
MICA_API void mica_communicator_destroy(mica_communicator *communicator);

typedef struct mica_communicator_config {
  double timeout; /* seconds that a collective may wait for another rank's message; 0: 300 */
  /* Once this is not NULL and points to something else than 0, the first collective that waits half a second for
   * another rank says so as a warning (mica_log_set): whoever asks the program to end may be a launcher that has lost a
   * rank, and soon kills the others. It waits on for a rank that may only be slow, and ends the communicator where the
   * transport can ask for signs of life and has got none for two seconds: from a process that is stopped, or gone. */
  const volatile int *stop;
} mica_communicator_config;

/* Fills list[0] to list[ranks - 1], which threads of this process use, each one. config may be NULL. */
MICA_API MICA_CHECKED mica_status mica_communicator_local(int32_t ranks, const mica_communicator_config *config,
                                                          mica_communicator **list);

/* The processes that MPI's launcher started, each a rank. Starts MPI unless the program has, which then must have it
 * with MPI_THREAD_SERIALIZED, make no calls of its own while the communicator is there, and end it. config may be NULL.
 * MICA_E_UNSUPPORTED where Mica was built without MPI. Blocks until all ranks are there; one communicator a process. */
MICA_API MICA_CHECKED mica_status mica_communicator_mpi(const mica_communicator_config *config,
                                                        mica_communicator **communicator);
/* True if a launcher of MPI started this process as one of several ranks; by variables of the environment alone. */
MICA_API bool mica_communicator_mpi_asked(void);

/* A communicator among `count` ranks of another, rising, the caller's own among them: rank k of the group is ranks[k].
 * All of them call it with the same list; nothing is sent. Its messages are the whole communicator's: between two ranks
 * a channel is not used in the whole, or in another group that has both, while it is in this one. What ends one of them
 * ends all, and the counts are the whole's. It is used by the thread that uses the whole, and destroyed before it.
 * MICA_E_UNSUPPORTED: the whole is a group, or has calls of its own. */
MICA_API MICA_CHECKED mica_status mica_communicator_group(mica_communicator *whole, const int32_t *ranks, int32_t count,
                                                          mica_communicator **communicator);

/* The sum of x over all ranks, as a value of a graph: f32, of a known shape, which all ranks' graphs have. It travels
 * while other launches run. Its gradient is the sum of the ranks' gradients: right for the sum of their losses. channel
 * is below MICA_CHANNELS / 8 and different for each such value of a graph; the channels above belong to networks, the
 * optimiser and the trainer. MICA_E_INVALID in the graph for another channel. The communicator outlives the graph and
 * its sessions. */
MICA_API mica_value mica_all_reduce(mica_value x, mica_communicator *communicator, int32_t channel);

/* What a batch norm has found, f32: mean and biased variance (C), and the number of elements of a channel (a scalar),
 * of all ranks together. */
typedef struct mica_batch_statistics {
  mica_value mean, variance, count;
} mica_batch_statistics;

/* mica_batch_norm_train (mica/nodes.h) by the samples of all ranks together, forward and back: a network of several
 * ranks computes what one would on their batches joined. Two sums of C numbers each way, on `channel` and the next one,
 * both below MICA_CHANNELS / 8 (mica_all_reduce). The gradient is right for the sum of the ranks' losses:
 * mica_optimizer_config.joined. scale, bias and statistics may be null. */
MICA_API mica_value mica_batch_norm_ranks(mica_value x, mica_value scale, mica_value bias, double epsilon,
                                          mica_communicator *communicator, int32_t channel,
                                          mica_batch_statistics *statistics);

/* --- a transport of one's own --- */

/* Messages between ranks. Messages of one tag from one rank to another arrive in the order in which they were sent; a
 * send may be done before it is received. Called by one thread, the communicator's, but for abort (any) and destroy
 * (when that thread has ended). What fails ends the communicator. */
typedef struct mica_transport_calls {
  /* Start and return; `data` stays until the request is done or cancelled. tag is 0 to 2 MICA_CHANNELS - 1. */
  mica_status (*send)(void *user, int32_t to, int32_t tag, const void *data, size_t bytes, void **request);
  mica_status (*receive)(void *user, int32_t from, int32_t tag, void *data, size_t bytes, void **request);
  /* *done: true if the request is done, and then it is freed; one that fails is still to be cancelled. Moves messages
   * where the transport needs that. */
  mica_status (*test)(void *user, void *request, bool *done);
  /* Gives a request up and frees it: its memory is not touched any more. */
  void (*cancel)(void *user, void *request);
  /* Fails once another rank has aborted. Called often while something is in flight. */
  mica_status (*poll)(void *user);
  /* Lets poll fail on all other ranks, as far as they can be reached. */
  void (*abort)(void *user, int32_t rank, const char *sentence);
  void (*destroy)(void *user);
  /* Asks another rank for a sign of life, unless a question to it is open. *silent: for how many seconds one has been,
   * 0 where all were answered. Every rank's poll answers, and is called now and then while nothing is in flight, too.
   * NULL: signs of life cannot be asked for. */
  mica_status (*ask)(void *user, int32_t rank, double *silent);
} mica_transport_calls;

typedef struct mica_transport {
  void *user;
  int32_t rank, ranks;
  const mica_transport_calls *calls;
} mica_transport;

/* A communicator over messages, with a thread that moves them; it owns the transport, also where this fails.
 * config may be NULL. */
MICA_API MICA_CHECKED mica_status mica_communicator_create(const mica_transport *transport,
                                                           const mica_communicator_config *config,
                                                           mica_communicator **communicator);
/* The transports of mica_communicator_local, for who wants to stand between: list has room for `ranks`. Each is the
 * caller's to give to a communicator, or to destroy by its own call. */
MICA_API MICA_CHECKED mica_status mica_transport_local(int32_t ranks, mica_transport *list);

MICA_END_DECLS

#endif
