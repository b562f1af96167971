/* cli/serve/job.h: requests that need the model, from their body to their answer.
 *
 * Threads: the HTTP library's thread makes a job, reads its output and leaves it. Readers parse bodies and tokenise.
 * The decoder's thread alone steps the decoder. A watch ends jobs whose client has left, or that last too long. A
 * job is freed by the last that has it: its connection, its reader, its answers. */
#ifndef MICA_CLI_SERVE_JOB_H
#define MICA_CLI_SERVE_JOB_H

#include "cli/serve/calls.h"
#include "cli/serve/request.h"

#include <mica/embed.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct serve_text {
  char *data;
  size_t bytes, room;
  bool failed; /* the host had no memory */
} serve_text;

void serve_text_add(serve_text *text, const char *data, size_t bytes);
void serve_text_free(serve_text *text);

typedef struct serve_job serve_job;
typedef struct serve_work serve_work;

/* One answer of a job. */
typedef struct serve_choice {
  serve_job *job;
  int32_t index;
  int64_t id; /* of the decoder's request; 0: none yet */
  int64_t tokens;
  mica_finish finish;
  serve_text text;
  size_t sent;       /* bytes of the text that a stream has */
  serve_calls calls; /* in the whole text */
  cJSON *logprobs;   /* list of the tokens so far; NULL: not asked for */
} serve_choice;

struct serve_job {
  serve_work *work;
  serve_job *before, *after; /* in the list of all jobs */
  serve_job *next;           /* of those that wait for a reader, then of those that wait for vectors */
  atomic_int uses;
  serve_kind kind;
  serve_text body;
  bool too_large; /* of the HTTP thread alone */
  bool submitted; /* set with the lock of the work */
  double began;
  char id[40];
  int64_t created;

  pthread_mutex_t lock; /* of what follows */
  void *connection;     /* NULL: it has left */
  int socket;
  bool suspended;
  int status; /* of HTTP; 0: not known yet */
  bool begun; /* the prompts are counted, and a stream has its first events */
  bool ended; /* the output is complete */
  bool gone;  /* nobody wants the answer any more */
  serve_text output;
  size_t output_read;
  double written; /* when output was last appended */
  serve_asked asked;
  serve_problem problem;
  serve_choice *choices;
  size_t choice_count, running;
  int64_t prompt_tokens;
  float *vectors; /* of the first texts, of the decoder's thread alone */
  size_t vector_count;
};

typedef struct serve_counters {
  atomic_llong requests, refused, prompt_tokens, tokens, microseconds, done;
} serve_counters;

struct serve_work {
  const serve_model *model;
  mica_decoder *decoders[SERVE_MOST_ADAPTERS + 1]; /* of each name of the model; none: it generates no text */
  mica_embedder *embedder;                         /* NULL: it makes no vectors */
  double most_seconds;                             /* of a request */
  void (*resume)(serve_job *job);                  /* the connection is read again; called with the job's lock held */
  serve_counters counters;

  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t read, decode;
  serve_job *jobs;               /* all */
  serve_job *first, *last;       /* those that wait for a reader */
  serve_job *texts, *last_texts; /* those that wait for vectors */
  size_t text_jobs;
  bool pending, stop; /* the decoder has something to do; threads end */
  bool failed;        /* the decoder cannot go on */
  char message[512];  /* why */
  size_t count;       /* jobs that are submitted and have not ended */
  pthread_t readers[2], steps, watch;
  int threads;
};

/* Seconds of a clock that only goes forward. */
double serve_now(void);

/* Starts the threads. model, decoder, resume and most_seconds are set. */
bool serve_work_begin(serve_work *work);
/* Waits until no job runs, for that long at most, then ends those that are left and the threads. */
void serve_work_end(serve_work *work, double seconds);
/* After the last connection is closed. */
void serve_work_free(serve_work *work);
/* True if the decoder has failed; the message says why. */
bool serve_work_failed(serve_work *work, char message[512]);

/* NULL: the host has no memory. It belongs to its connection until serve_job_leave. */
serve_job *serve_job_create(serve_work *work, serve_kind kind, void *connection, int socket);
/* The body is complete. Suspend the connection until status is set. */
void serve_job_submit(serve_job *job);
/* The connection is closed, or the answer is sent. */
void serve_job_leave(serve_job *job);
void serve_job_release(serve_job *job);
/* Ends a job by an error, unless it has ended. Takes the job's lock. */
void serve_job_refuse(serve_job *job, int status, const char *code, const char *text);
/* Something waits for the decoder's thread. */
void serve_work_wake(serve_work *work);

/* --- answers, in serve/answer.c; with the job's lock held --- */

/* An error as JSON, or as an event if the stream has begun. Ends the job. */
void serve_job_fail(serve_job *job, const serve_problem *problem);
/* Wakes the connection. */
void serve_job_wake(serve_job *job);
/* The first events of a stream, once. */
void serve_answer_begin(serve_job *job);
/* Takes an event of the decoder. */
void serve_answer_event(serve_choice *choice, const mica_decoder_event *event);
/* Routes that need the tokenizer alone. */
void serve_answer_tokens(serve_job *job);
/* Sets the whole output, which cJSON_free frees, and ends the job. NULL: no memory. */
void serve_answer_set(serve_job *job, char *json);

/* --- vectors, in serve/vectors.c --- */

/* Hands a job to the decoder's thread. */
void serve_vectors_add(serve_job *job);
/* Makes vectors of some texts of the job that has waited longest. *busy is set if more are to be made. The decoder's
 * thread. Fails if the device does. */
MICA_CHECKED mica_status serve_vectors_step(serve_work *work, bool *busy);

/* {"error": ...}; the caller frees it. NULL: the host has no memory. */
char *serve_error_json(const serve_problem *problem);

#endif
