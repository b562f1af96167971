/* mica/session.h: a graph compiled for a device: planned, fused, recorded, ready to run again and again. */
#ifndef MICA_SESSION_H
#define MICA_SESSION_H

#include <mica/graph.h>
#include <mica/tensor.h>

MICA_BEGIN_DECLS

typedef struct mica_session mica_session;

typedef struct mica_session_config {
  bool no_fusion;   /* one kernel an op: slow, for finding out which of two is wrong */
  bool no_simplify; /* the graph as it was built */
} mica_session_config;

/* Compiles the part of the graph that outputs and assignments need. config may be NULL. The graph may be destroyed or
 * grow afterwards. Parameters begin as zeros. With open input dimensions the plan waits for the first run. */
MICA_API mica_status mica_session_create(mica_engine *engine, mica_graph *graph, const mica_value *outputs,
                                         size_t output_count, const mica_session_config *config,
                                         mica_session **session);
MICA_API void mica_session_destroy(mica_session *session);

/* The tensor behind a parameter; it belongs to the session and stays the same. Upload into it to initialise. NULL when
 * there is no such name. */
MICA_API mica_tensor *mica_session_parameter(mica_session *session, const char *name);
/* Makes this session use another's tensor for the parameter (training and inference on the same weights). The tensor
 * must have the parameter's dtype and shape and outlive the session. */
MICA_API mica_status mica_session_share(mica_session *session, const char *name, mica_tensor *tensor);

typedef struct mica_feed {
  const char *name;
  mica_tensor *tensor;
} mica_feed;

/* Queues one run: inputs from feeds (each input of the graph once; dtype as declared, shape fitting the declared one),
 * then the outputs, then the assignments. Returns without waiting. In steady state (a shape met before) it allocates
 * nothing, builds nothing and waits for nothing. A new shape is planned and recorded once, without new kernels. Feeds
 * are read when the device gets there: do not overwrite them from another queue before. */
MICA_API mica_status mica_session_run(mica_session *session, mica_queue *queue, const mica_feed *feeds,
                                      size_t feed_count);

/* The i-th output of the last run; belongs to the session and is overwritten by the next run. */
MICA_API const mica_tensor *mica_session_output(const mica_session *session, size_t index);

typedef struct mica_session_report {
  size_t launches;          /* a run */
  size_t values;            /* values with memory of their own */
  uint64_t planned_bytes;   /* the arena: the peak of all temporaries; exact, known before the first run */
  uint64_t unplanned_bytes; /* what they would take without sharing */
  uint64_t workspace_bytes; /* beside the operands of kernels: partial sums, shared by all, and packed weights */
  uint64_t parameter_bytes;
  uint64_t io_bytes; /* outputs */
} mica_session_report;

/* For the shapes of the last run, or of the graph when it has no open dimension. MICA_E_STATE before that. */
MICA_API mica_status mica_session_describe(mica_session *session, mica_session_report *report);
/* Every launch of a run in order, a line each: kernel, what it fuses, shapes, flops, bytes. *text is the caller's. */
MICA_API mica_status mica_session_dump(mica_session *session, char **text);
/* The source of the i-th launch's kernel as it was compiled; *text is the caller's. */
MICA_API mica_status mica_session_kernel_source(mica_session *session, size_t launch, char **text);

MICA_END_DECLS

#endif
