/* mica/session.h: a graph compiled for a device: planned, fused, recorded, ready to run again and again.
 *
 * Threads: one thread at a time uses a session, from creation to destruction. Sessions on one engine are independent
 * of each other and may be made and run by several threads, each on a queue of its own. Those that share parameters
 * and run on different queues are ordered by their callers (mica_queue_mark, mica_queue_wait) where one of them assigns
 * such a parameter; on one queue they need no order but that of the calls. */
#ifndef MICA_SESSION_H
#define MICA_SESSION_H

#include <mica/graph.h>
#include <mica/tensor.h>

MICA_BEGIN_DECLS

typedef struct mica_session mica_session;

/* A tensor by the name of a parameter, which runs may write to. */
typedef struct mica_binding {
  const char *name;
  mica_tensor *tensor;
} mica_binding;

typedef struct mica_session_config {
  bool no_fusion;   /* one kernel an op: slow, for finding out which of two is wrong */
  bool no_simplify; /* the graph as it was built */
  /* f16 or bf16: inference in 16 bits. Convolutions and products of f32 take their operands rounded to it, sums are f32
   * still, and values are stored in it from one of them to the next; inputs, outputs and parameters stay f32, and so
   * does what is no product, pointwise, pooled, joined or padded. Graphs that assign are MICA_E_UNSUPPORTED. f32 (as
   * zero gives): as the graph says. */
  mica_dtype dtype;
  /* Another session of the same engine, whose memory is used for every parameter that it has too (by name; dtypes and
   * shapes must agree). So the training and the inference of a network, or its sessions for several batch sizes, hold
   * the weights once. NULL: none. */
  mica_session *share;
  /* Memory for single parameters, before what `share` says: of the caller, or of any session
   * (mica_session_parameter). A tensor is contiguous, has the parameter's dtype and shape and begins at a multiple of
   * 64 bytes in its buffer, as tensors of their own do; two parameters must not overlap (MICA_E_INVALID). A binding
   * without a tensor gives its parameter memory of the session's own although `share` has one of the name; a binding of
   * a parameter that the outputs do not need does nothing. */
  const mica_binding *parameters;
  size_t parameter_count;
  /* A session keeps a plan (memory and recorded launches) for every set of input shapes it has met, until there are
   * more than so many, or they hold more bytes of the device than that: then those go that were used longest ago. The
   * last one used stays whatever it takes. 0 stands for 64 plans and for half of the device's memory. */
  uint32_t most_plans;
  uint64_t most_plan_bytes;
} mica_session_config;

/* Compiles the part of the graph that outputs and assignments need. config may be NULL. The graph may be destroyed or
 * grow afterwards, and so may `share`: a session keeps the memory of its parameters alive (one that is shared keeps
 * that of all parameters which its owner made). Parameters begin as zeros where their memory is not given. With open
 * input dimensions the plan waits for the first run. MICA_E_DTYPE and MICA_E_SHAPE name both sides where a given
 * parameter does not fit; MICA_E_NOT_FOUND: a binding names no parameter of the graph. */
MICA_API MICA_CHECKED mica_status mica_session_create(mica_engine *engine, mica_graph *graph, const mica_value *outputs,
                                                      size_t output_count, const mica_session_config *config,
                                                      mica_session **session);
MICA_API void mica_session_destroy(mica_session *session);

/* The tensor behind a parameter. It belongs to the session and stays the same until mica_session_share replaces it.
 * Upload into it to initialise. NULL when there is no such name. */
MICA_API mica_tensor *mica_session_parameter(mica_session *session, const char *name);
/* Makes the session use the tensor's memory for the parameter from the next run on; the rules are those of
 * mica_session_config.parameters. Launches are recorded anew, so give at creation what is known then. */
MICA_API MICA_CHECKED mica_status mica_session_share(mica_session *session, const char *name, mica_tensor *tensor);

/* A tensor by the name of an input. An output of another session will do; one of this session, unless shapes change, or
 * a parameter that it assigns is overwritten by the run that reads it (MICA_E_INVALID): copy it, or bind outputs to two
 * tensors of your own by turns. */
typedef struct mica_feed {
  const char *name;
  const mica_tensor *tensor;
} mica_feed;

/* Queues one run: inputs from feeds (each input of the graph once; dtype as declared, shape fitting the declared one),
 * then the outputs, then the assignments. Returns without waiting. In steady state (a shape met before) it allocates
 * nothing, builds nothing and waits for nothing. A new shape is planned and recorded once, without new kernels. Feeds
 * are read when the device gets there: do not overwrite them from another queue before. An op that exists on the host
 * alone makes the run wait for what it reads (one in two halves for what it computes, where that is needed); where one
 * fails the run ends with its status, earlier assignments done. */
MICA_API MICA_CHECKED mica_status mica_session_run(mica_session *session, mica_queue *queue, const mica_feed *feeds,
                                                   size_t feed_count);

/* The i-th output of the last run, or what it is bound to. Otherwise it belongs to the session: the next run overwrites
 * it and, where input shapes change and the session forgets a plan, takes it away. NULL before the first run with open
 * dimensions, and for an index beyond the outputs. */
MICA_API const mica_tensor *mica_session_output(const mica_session *session, size_t index);
/* Binds output i to the tensor's memory: from the next run on it is written there, which spares a copy: contiguous, of
 * the output's dtype and declared shape (MICA_E_DTYPE, MICA_E_SHAPE), and in each run of the shape that the output then
 * has (MICA_E_SHAPE). It overlaps no parameter and no other output, nor in a run a feed (MICA_E_INVALID). Best it
 * begins at a multiple of 64 bytes in its buffer: one that does not is copied to after the run. The session keeps the
 * memory alive until another tensor is bound; NULL unbinds. Neither waits nor allocates device memory. */
MICA_API MICA_CHECKED mica_status mica_session_bind_output(mica_session *session, size_t index, mica_tensor *tensor);

typedef struct mica_session_report {
  size_t launches;          /* a run */
  double flops;             /* of these launches, as far as they say */
  size_t host_steps;        /* a run; ops that exist on the host alone: a run waits for what each of them reads */
  size_t values;            /* values with memory of their own */
  uint64_t planned_bytes;   /* the arena: the peak of all temporaries; exact, known before the first run */
  uint64_t unplanned_bytes; /* what they would take without sharing */
  uint64_t workspace_bytes; /* beside the operands of kernels: partial sums, shared by all, and what is made of weights
                             * once: packed ones, ones with a norm's factors. Plans that make the same have it once, and
                             * so have sessions that share the weights; each of these counts it */
  uint64_t parameter_bytes; /* of parameters that have memory of the session's own */
  uint64_t io_bytes;        /* outputs */
  size_t plans;             /* that the session keeps, and the bytes that they hold: arenas, constants, outputs, */
  uint64_t plan_bytes;      /* workspace */
} mica_session_report;

/* Describes the plan for the shapes of the last run, or of the graph when it has no open dimension. MICA_E_STATE before
 * that. */
MICA_API MICA_CHECKED mica_status mica_session_describe(mica_session *session, mica_session_report *report);
/* Every launch and host step of a run in order, a line each: kernel, what it fuses, shapes, flops, bytes. *text is the
 * caller's to mica_free. */
MICA_API MICA_CHECKED mica_status mica_session_dump(mica_session *session, char **text);
/* The source of the i-th launch's kernel as it was compiled; *text is the caller's to mica_free. */
MICA_API MICA_CHECKED mica_status mica_session_kernel_source(mica_session *session, size_t launch, char **text);

MICA_END_DECLS

#endif
