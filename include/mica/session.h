/* mica/session.h: compile a graph for a device and run it repeatedly. A session plans memory, fuses ops and records
 * launches.
 *
 * Threads: use a session from one thread at a time, from creation to destruction. Sessions on one engine are
 * independent; several threads may create and run them, each on its own queue. If sessions share parameters, run on
 * different queues, and one of them assigns such a parameter, order their runs with mica_queue_mark and
 * mica_queue_wait. On one queue the order of calls is enough. */
#ifndef MICA_SESSION_H
#define MICA_SESSION_H

#include <mica/graph.h>
#include <mica/tensor.h>

MICA_BEGIN_DECLS

typedef struct mica_session mica_session;

/* A tensor for a parameter, by the parameter's name. Runs may write to it. */
typedef struct mica_binding {
  const char *name;
  mica_tensor *tensor;
} mica_binding;

typedef struct mica_session_config {
  bool no_fusion;   /* one kernel per op: slow; for locating errors */
  bool no_simplify; /* compile the graph as built */
  /* f16 or bf16: inference in 16 bits. f32 (0): as in the graph. MICA_E_UNSUPPORTED: the graph has assignments.
   *
   * Convolutions and matrix products round f32 operands to this type and sum in f32. They store their results in this
   * type, and so do the pointwise ops, max pooling, concatenation and padding that read such results. Inputs, outputs,
   * parameters and all other ops stay f32. */
  mica_dtype dtype;
  /* Another session of the same engine. Parameters that both sessions have are stored once, in the other session's
   * memory. They match by name; dtypes and shapes must be equal. Training and inference of a network, or several batch
   * sizes, can thus share weights. NULL: none. */
  mica_session *share;
  /* Memory for single parameters; takes precedence over `share`. The tensors may belong to the caller or to any session
   * (mica_session_parameter). A tensor must be contiguous and have the parameter's dtype and shape. It must begin at a
   * multiple of 64 bytes in its buffer, as tensors from mica_tensor_create do, unless it holds a weight in blocks. Two
   * parameters must not overlap (MICA_E_INVALID). For a NULL tensor, the session allocates memory of its own, even if
   * `share` has that parameter. Bindings of parameters that no output or assignment needs are ignored. */
  const mica_binding *parameters;
  size_t parameter_count;
  /* A session keeps a plan (memory and recorded launches) for each set of input shapes. If there are more plans, or
   * they hold more device memory, than these limits, the least recently used are dropped. The last one used always
   * stays. 0: 64 plans, and half of the device's memory. */
  uint32_t most_plans;
  uint64_t most_plan_bytes;
} mica_session_config;

/* Compiles the part of the graph that outputs and assignments need. config may be NULL. The graph may grow or be
 * destroyed afterwards. `share` may be destroyed too: a session keeps the memory of its parameters alive (sharing one
 * parameter keeps its whole buffer, which may hold further parameters of its owner). Parameters start as zeros unless
 * their memory is given. If a needed input has dynamic dimensions, planning waits for the first run.
 *
 * MICA_E_DTYPE, MICA_E_SHAPE: a given parameter does not match; the message names both sides. MICA_E_NOT_FOUND: a
 * binding names no parameter of the graph. mica_session_destroy: NULL is a no-op. */
MICA_API MICA_CHECKED mica_status mica_session_create(mica_engine *engine, mica_graph *graph, const mica_value *outputs,
                                                      size_t output_count, const mica_session_config *config,
                                                      mica_session **session);
MICA_API void mica_session_destroy(mica_session *session);

/* Tensor of a parameter; upload into it to initialise. The session owns it; it stays valid until mica_session_share
 * replaces it. NULL if no output or assignment needs a parameter of this name. */
MICA_API mica_tensor *mica_session_parameter(mica_session *session, const char *name);
/* Makes the session use this tensor's memory for a parameter from the next run on. Rules as in
 * mica_session_config.parameters. Launches must be recorded again, so prefer to give parameters at creation. */
MICA_API MICA_CHECKED mica_status mica_session_share(mica_session *session, const char *name, mica_tensor *tensor);

/* A tensor for an input, by name. Outputs of other sessions are allowed, also an output of this session from a run with
 * other shapes. MICA_E_INVALID: the tensor overlaps an output of the same run, or a parameter that the run assigns;
 * copy it, or alternate between two bound outputs. */
typedef struct mica_feed {
  const char *name;
  const mica_tensor *tensor;
} mica_feed;

/* Queues one run: reads inputs from feeds (each input once, contiguous, with the declared dtype and a matching shape),
 * computes the outputs, then assigns. Inputs that no output or assignment needs may be left out. Returns without
 * waiting. With known shapes it does not allocate, build or wait (but the first feed that does not begin at a multiple
 * of 64 bytes allocates memory for its aligned copy). New shapes are planned and recorded once, usually without new
 * kernels. The device reads feeds later: do not overwrite them from another queue before that.
 *
 * An op that exists only on the host makes the call wait for the op's inputs. Some of these ops, such as transfers to
 * other ranks, work in the background; the call then waits only where a later op needs the result. If an op on the host
 * fails, the run ends with its status; assignments before it have been made. MICA_E_NOT_FOUND: the graph has no input
 * of a feed's name. */
MICA_API MICA_CHECKED mica_status mica_session_run(mica_session *session, mica_queue *queue, const mica_feed *feeds,
                                                   size_t feed_count);

/* Output number `index` of the last run, or the tensor bound to it. Without a binding, the session owns it: the next
 * run overwrites it, and it becomes invalid if shapes change and the session drops its plan. NULL if index is too
 * large; also before the first run if dimensions are dynamic, and for an unbound output whose memory does not exist
 * yet: the next run allocates it. */
MICA_API const mica_tensor *mica_session_output(const mica_session *session, size_t index);
/* Makes later runs write an output directly into this tensor. tensor NULL: back to the session's own memory. The call
 * does not wait and allocates no device memory. The session keeps the tensor's memory alive until another one is bound.
 *
 * The tensor must be contiguous and have the output's dtype and declared shape, and in each run the output's actual
 * shape (MICA_E_DTYPE, MICA_E_SHAPE). It must not overlap a parameter, another output or a feed (MICA_E_INVALID). If it
 * does not begin at a multiple of 64 bytes in its buffer, each run copies the output into it at the end.
 * MICA_E_NOT_FOUND: index is too large. */
MICA_API MICA_CHECKED mica_status mica_session_bind_output(mica_session *session, size_t index, mica_tensor *tensor);

typedef struct mica_session_report {
  size_t launches;          /* per run */
  double flops;             /* of these launches; 0 for a launch whose op does not declare its FLOPs */
  size_t host_steps;        /* per run: ops that exist only on the host; the run waits for their inputs */
  size_t values;            /* values with memory of their own */
  uint64_t planned_bytes;   /* arena: peak of all temporaries; exact, known before the first run */
  uint64_t unplanned_bytes; /* size of the temporaries without sharing */
  /* Memory that kernels need beside their operands: partial sums and derived weights, such as packed ones. Plans and
   * sessions with the same derived weights share them, but each report counts them. */
  uint64_t workspace_bytes;
  uint64_t parameter_bytes; /* of parameters in the session's own memory */
  uint64_t io_bytes;        /* outputs */
  size_t plans;             /* plans that the session keeps */
  uint64_t plan_bytes;      /* of these plans: arenas, constants, outputs and workspace */
} mica_session_report;

/* Describes the plan for the shapes of the last run, or the only plan if no dimension is dynamic. MICA_E_STATE: nothing
 * is planned yet. */
MICA_API MICA_CHECKED mica_status mica_session_describe(mica_session *session, mica_session_report *report);
/* Lists the launches and host steps of a run in order, one per line: kernel, fused ops, shapes, flops, bytes. A host
 * step that works in the background has a line where it begins and one where it ends. The caller frees *text with
 * mica_free. */
MICA_API MICA_CHECKED mica_status mica_session_dump(mica_session *session, char **text);
/* Source of the kernel of launch number `launch`, as it was compiled. MICA_E_NOT_FOUND: launch is too large. The caller
 * frees *text with mica_free. */
MICA_API MICA_CHECKED mica_status mica_session_kernel_source(mica_session *session, size_t launch, char **text);

MICA_END_DECLS

#endif
