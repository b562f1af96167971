/* mica/dist.h: train one network on several devices or machines. A communicator connects `ranks` members. Each member
 * is a thread or a process with its own engine. Collectives work in the background.
 *
 *   mica_communicator *list[2];
 *   mica_communicator_local(2, NULL, list);                       one for each of two threads of this process
 *   ... in thread k: mica_optimizer_config.communicator = list[k], or
 *   mica_communicator_run(list[k], &(mica_transfer){.kind = MICA_COLLECTIVE_ALL_REDUCE, .data = x, .count = n});
 *
 * Sums follow one tree over the ranks, whatever the timing: the same number of ranks gives the same bits on every rank.
 * A program with a transport of its own supplies a mica_transport, or mica_communicator_calls if it has collectives.
 *
 * Faults. A member may be lost, fail (mica_communicator_abort) or keep others waiting longer than `timeout`. Each of
 * these ends the communicator: current and later collectives fail with MICA_E_STATE and a message that names the rank.
 *
 * Threads: every rank has its own communicator. Use it from one thread at a time, except for mica_communicator_abort,
 * which any thread may call. */
#ifndef MICA_DIST_H
#define MICA_DIST_H

#include <mica/graph.h>
#include <mica/tensor.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* Name, text, and the effect on `data`, which has `count` elements on every rank. Part k belongs to rank k
 * (mica_transfer.offsets).
 *
 *   all_reduce      data becomes the sum over all ranks
 *   all_gather      part k becomes part k of rank k, for all k
 *   reduce_scatter  the rank's own part becomes the sum over all ranks; other parts become undefined
 *   broadcast       data becomes the data of rank `peer`
 *   send            data go to rank `peer`, which must receive
 *   receive         data come from rank `peer` */
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

/* "all_reduce", ...; "?" for any other value. */
MICA_API const char *mica_collective_name(mica_collective collective);

/* Name, text, and how f32 sums are transferred:
 *
 *   none  as f32
 *   f16   as f16, half the bytes
 *   u8    as 8 bits with a scale per 256 elements, about a quarter of the bytes
 *
 * The rounding error can be added to the rank's next sum (error feedback; Karimireddy et al. 2019). */
#define MICA_COMPRESSION_LIST(X)                                                                                       \
  X(NONE, "none")                                                                                                      \
  X(F16, "f16")                                                                                                        \
  X(U8, "u8")

typedef enum mica_compression {
#define MICA_COMPRESSION_ENUM(name, text) MICA_COMPRESSION_##name,
  MICA_COMPRESSION_LIST(MICA_COMPRESSION_ENUM)
#undef MICA_COMPRESSION_ENUM
} mica_compression;

/* "none", "f16", "u8"; "?" for any other value. */
MICA_API const char *mica_compression_name(mica_compression compression);
/* Finds a compression by name. MICA_E_NOT_FOUND: the name is unknown; the message lists the names. */
MICA_API MICA_CHECKED mica_status mica_compression_find(const char *name, mica_compression *compression);

/* Number of channels; they count from 0. */
#define MICA_CHANNELS 16383

/* A collective. Its pointers belong to the caller and must stay valid and unchanged until mica_communicator_wait. */
typedef struct mica_transfer {
  mica_collective kind;
  /* Collectives on one channel run in the order in which they begin; this order must be the same on all ranks.
   * Different channels are independent and need no common order. Sends and receives on a channel are ordered per peer
   * and direction, independently of collectives. */
  int32_t channel;
  int32_t peer;
  mica_dtype dtype; /* for sums: f32, f64, f16, bf16 (rounded after each addition), i32 or i64 */
  void *data;       /* count elements; a SEND does not write them */
  int64_t count;
  const void *source; /* the rank's input, of data's length; NULL: data */
  /* ranks + 1 ascending numbers from 0 to count: part k is [offsets[k], offsets[k + 1]). NULL: see mica_rank_part. */
  const int64_t *offsets;
  mica_compression compression; /* for ALL_REDUCE and REDUCE_SCATTER of f32; the same on all ranks */
  bool feedback;                /* compressed sums: adds the rounding error to the channel's next sum of equal size */
  mica_event *after;            /* the collective begins after this event; NULL: at once */
  int64_t step;                 /* training step, for warnings; 0: unknown */
} mica_transfer;

/* Computes the default part of a rank if `count` elements are divided among all ranks: [*first, *first + *length).
 * Parts consist of units of 64 elements; only the very last unit may be smaller. Two parts differ by at most one
 * unit. */
MICA_API void mica_rank_part(int64_t count, int32_t ranks, int32_t rank, int64_t *first, int64_t *length);

/* Totals since the communicator was created. */
typedef struct mica_communicator_stats {
  uint64_t collectives, messages, bytes_sent, bytes_received;
  double waited; /* seconds in mica_communicator_wait and _run, counted from when the rank's own input was ready */
  double moving; /* seconds while a transfer was in flight */
} mica_communicator_stats;

typedef struct mica_communicator mica_communicator;

/* Functions of a communicator; `user` is mica_communicator.user. */
typedef struct mica_communicator_calls {
  /* Starts a collective and returns. *request receives what is then passed to wait. */
  mica_status (*begin)(void *user, const mica_transfer *transfer, void **request);
  /* Blocks until the collective is done and frees the request. Once it has returned, even with a failure, the
   * collective no longer uses the memory of the transfer. */
  mica_status (*wait)(void *user, void *request);
  /* Ends the communicator on all ranks; `rank` is the one that failed. Any thread may call it. */
  void (*abort)(void *user, int32_t rank, const char *sentence);
  void (*stats)(void *user, mica_communicator_stats *stats);
  void (*destroy)(void *user);
} mica_communicator_calls;

/* Callers with collectives of their own fill this structure and pass it wherever a communicator is expected. */
struct mica_communicator {
  void *user;
  int32_t rank, ranks; /* rank is 0 to ranks - 1 */
  const mica_communicator_calls *calls;
  const mica_communicator *whole; /* for a group: the communicator that it was made from; NULL: not a group */
};

/* Starts a collective and returns. MICA_E_INVALID: the transfer violates the contract; nothing has started then. */
MICA_API MICA_CHECKED mica_status mica_communicator_begin(mica_communicator *communicator,
                                                          const mica_transfer *transfer, void **request);
/* Blocks until the collective is done. Call it once per successful begin. */
MICA_API MICA_CHECKED mica_status mica_communicator_wait(mica_communicator *communicator, void *request);
/* mica_communicator_begin, then mica_communicator_wait. */
MICA_API MICA_CHECKED mica_status mica_communicator_run(mica_communicator *communicator, const mica_transfer *transfer);
/* Ends the communicator on all ranks with the message "rank R: SENTENCE". R is the caller's rank, for a group the one
 * in the whole communicator. Any thread may call it. */
MICA_API void mica_communicator_abort(mica_communicator *communicator, const char *sentence);
/* Returns the totals. All fields are 0 for NULL, and for a communicator that does not count them. */
MICA_API mica_communicator_stats mica_communicator_stats_of(const mica_communicator *communicator);
/* Destroys a communicator: calls its `destroy` and frees the structure with free. So if the program itself made the
 * structure, it must have used malloc. Wait for every collective first. Ranks that still wait for this one fail. NULL
 * is a no-op. */
MICA_API void mica_communicator_destroy(mica_communicator *communicator);

typedef struct mica_communicator_config {
  double timeout; /* seconds that a collective may wait for a message; 0: 300 */
  /* Stop flag. Once it points to a value other than 0, the first collective that waits half a second for another rank
   * logs a warning (mica_log_set). A launcher that asks the program to stop may have lost a rank, and may soon kill the
   * others. The collective continues to wait for a slow rank. But if the transport has `ask` and a rank has not
   * answered for two seconds, its process is stopped or gone, and the communicator ends. NULL: no flag. */
  const volatile int *stop;
} mica_communicator_config;

/* Creates the communicators list[0] to list[ranks - 1] for threads of this process, one per thread. ranks is 1 to
 * MICA_CHANNELS. config may be NULL. */
MICA_API MICA_CHECKED mica_status mica_communicator_local(int32_t ranks, const mica_communicator_config *config,
                                                          mica_communicator **list);

/* Connects the processes that an MPI launcher started, one rank per process. Starts MPI unless the program has done so.
 * A program that starts MPI itself must request MPI_THREAD_SERIALIZED, make no MPI calls while the communicator exists,
 * and finalise MPI. A process can have one such communicator. config may be NULL. Blocks until all ranks have
 * connected. MICA_E_UNSUPPORTED: Mica was built without MPI, or MPI runs at a lower thread level. MICA_E_STATE: MPI has
 * been finalised. */
MICA_API MICA_CHECKED mica_status mica_communicator_mpi(const mica_communicator_config *config,
                                                        mica_communicator **communicator);
/* True if an MPI launcher started this process as one of several ranks. Only reads environment variables. */
MICA_API bool mica_communicator_mpi_asked(void);

/* Creates a group: a communicator for `count` ranks of the communicator `whole`. `ranks` lists them in ascending order
 * and includes the caller's. Rank k of the group is rank ranks[k] of `whole`. All members call it with the same list;
 * nothing is sent.
 *
 * Messages of a group go through `whole`. So two ranks must not use a channel in a group while they use it in `whole`
 * or in another group that has both ranks. A failure in a group ends `whole` and all its groups. The statistics of
 * `whole` include its groups. Use a group from the thread that uses `whole`, and destroy it first. MICA_E_UNSUPPORTED:
 * `whole` is a group, or has mica_communicator_calls of the program itself. */
MICA_API MICA_CHECKED mica_status mica_communicator_group(mica_communicator *whole, const int32_t *ranks, int32_t count,
                                                          mica_communicator **communicator);

/* Sum of x over all ranks, as a value of a graph. x is f32 and has a known shape; every rank's graph must contain it.
 * The transfer overlaps other launches. The gradient is the sum of the ranks' gradients, which is correct for the sum
 * of their losses. channel must be below MICA_CHANNELS / 8 and unique in the graph; higher channels belong to networks,
 * optimisers and trainers. Other channels make the graph fail with MICA_E_INVALID. The communicator must outlive graph
 * and sessions. */
MICA_API mica_value mica_all_reduce(mica_value x, mica_communicator *communicator, int32_t channel);

/* Statistics of a batch norm over all ranks, f32: mean and biased variance (C), and the number of elements per channel
 * (a scalar). */
typedef struct mica_batch_statistics {
  mica_value mean, variance, count;
} mica_batch_statistics;

/* mica_batch_norm_train (mica/nodes.h) over the samples of all ranks, forward and backward. Several ranks compute what
 * one rank would compute on the joined batches. Each pass needs two sums of C numbers, on `channel` and the next one;
 * both must be below MICA_CHANNELS / 8 (see mica_all_reduce). The gradient is correct for the sum of the ranks' losses;
 * see mica_optimizer_config.joined. scale, bias and statistics may be null. */
MICA_API mica_value mica_batch_norm_ranks(mica_value x, mica_value scale, mica_value bias, double epsilon,
                                          mica_communicator *communicator, int32_t channel,
                                          mica_batch_statistics *statistics);

/* --- custom transports --- */

/* Messages between ranks. Messages with one tag between two ranks arrive in the order sent. A send may complete before
 * it is received. Only the communicator's thread makes these calls, except for abort (any thread) and destroy (after
 * that thread has ended). A failing call ends the communicator. */
typedef struct mica_transport_calls {
  /* Start a message and return. `data` stays valid until the request is done or cancelled. tag is 0 to 2 MICA_CHANNELS
   * - 1. */
  mica_status (*send)(void *user, int32_t to, int32_t tag, const void *data, size_t bytes, void **request);
  mica_status (*receive)(void *user, int32_t from, int32_t tag, void *data, size_t bytes, void **request);
  /* Sets *done if the request is done, and frees it then. A request whose test fails must still be cancelled.
   * Progresses messages if the transport needs that. */
  mica_status (*test)(void *user, void *request, bool *done);
  /* Gives a request up and frees it. Its memory is no longer used after that. */
  void (*cancel)(void *user, void *request);
  /* Fails once another rank has aborted. Called often while a message is in flight. */
  mica_status (*poll)(void *user);
  /* Makes poll fail on all other ranks that can be reached. */
  void (*abort)(void *user, int32_t rank, const char *sentence);
  void (*destroy)(void *user);
  /* Asks another rank for a sign of life, unless an earlier question to it has no answer yet. *silent receives the
   * seconds since that question; 0 if all are answered. Each rank answers in poll, which is therefore also called now
   * and then while no message is in flight. NULL: the transport cannot ask. */
  mica_status (*ask)(void *user, int32_t rank, double *silent);
} mica_transport_calls;

typedef struct mica_transport {
  void *user;
  int32_t rank, ranks;
  const mica_transport_calls *calls;
} mica_transport;

/* Creates a communicator on a transport, with a thread that moves messages. It owns the transport, even if creation
 * fails. config may be NULL. */
MICA_API MICA_CHECKED mica_status mica_communicator_create(const mica_transport *transport,
                                                           const mica_communicator_config *config,
                                                           mica_communicator **communicator);
/* Creates the transports that mica_communicator_local uses, for programs that intercept messages. list has room for
 * `ranks`. Give each one to a communicator, or destroy it with its own call. */
MICA_API MICA_CHECKED mica_status mica_transport_local(int32_t ranks, mica_transport *list);

MICA_END_DECLS

#endif
