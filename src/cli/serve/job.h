/* cli/serve/job.h: requests that need the model, from their body to their answer.
 *
 * Threads: the HTTP library's thread makes a job, reads its output and leaves it. Readers parse bodies and tokenise.
 * Only the decoder's thread steps the decoder. A watch ends jobs whose client has left, or which take too long. The
 * last user of a job frees it: its connection, its reader, its answers or the list of jobs that wait for vectors. */
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
  int64_t id; /* of the decoder's request; 0: not added yet */
  int64_t tokens;
  mica_finish finish;
  serve_text text;
  size_t sent;       /* bytes of the text that were added to the stream */
  serve_calls calls; /* calls in the whole text */
  cJSON *logprobs;   /* list of the tokens so far; NULL: not requested */
} serve_choice;

struct serve_job {
  serve_work *work;
  serve_job *before, *after; /* in the list of all jobs */
  serve_job *next;           /* in the list of jobs that wait for a reader or, after that, for vectors */
  atomic_int uses;
  serve_kind kind;
  serve_text body;
  bool too_large; /* used by the HTTP thread only */
  bool submitted; /* serve_job_submit was called; the work's lock protects this */
  double began;
  char id[40];
  int64_t created;

  pthread_mutex_t lock; /* protects the following members */
  void *connection;     /* NULL: closed */
  int socket;
  bool suspended;
  int status; /* HTTP status; 0: not known yet */
  bool begun; /* prompts are counted; a stream has its first events */
  bool ended; /* the output is complete */
  bool gone;  /* the answer is no longer wanted */
  serve_text output;
  size_t output_read;
  double written; /* when output was last appended */
  serve_asked asked;
  serve_problem problem;
  serve_choice *choices;
  size_t choice_count, running;
  int64_t prompt_tokens;
  float *vectors; /* of the first vector_count texts; only the decoder's thread uses them */
  size_t vector_count;
};

typedef struct serve_counters {
  atomic_llong requests, refused, prompt_tokens, tokens, microseconds, done;
} serve_counters;

struct serve_work {
  const serve_model *model;
  mica_decoder *decoders[SERVE_MOST_ADAPTERS + 1]; /* one per name of the model; none if it generates no text */
  mica_embedder *embedder;                         /* NULL: the server makes no vectors */
  double most_seconds;                             /* the most that a request may take */
  void (*resume)(serve_job *job);                  /* resumes a suspended connection; the job's lock is held */
  serve_counters counters;

  pthread_mutex_t lock; /* protects the following members */
  pthread_cond_t read, decode;
  serve_job *jobs;               /* all jobs */
  serve_job *first, *last;       /* jobs that wait for a reader */
  serve_job *texts, *last_texts; /* jobs that wait for vectors */
  size_t text_jobs;
  bool pending, stop; /* pending: the decoder has work; stop: threads must end */
  bool failed;        /* the decoder cannot go on */
  char message[512];  /* the reason */
  size_t count;       /* jobs that were submitted and are not freed yet */
  pthread_t readers[2], steps, watch;
  int threads;
};

/* Seconds of a monotonic clock. */
double serve_now(void);

/* Starts the threads; false if the system cannot make them. Set model, decoders, embedder, resume and most_seconds
 * first. */
bool serve_work_begin(serve_work *work);
/* Waits until no job runs, at most `seconds`, then ends the remaining jobs and the threads. */
void serve_work_end(serve_work *work, double seconds);
/* Frees what serve_work_begin made. Call it after the last connection is closed. */
void serve_work_free(serve_work *work);
/* True if the decoder has failed; message then says why. */
bool serve_work_failed(serve_work *work, char message[512]);

/* Makes a job, which belongs to its connection until serve_job_leave. NULL: there is not enough memory. */
serve_job *serve_job_create(serve_work *work, serve_kind kind, void *connection, int socket);
/* Passes a job to the readers when its body is complete. The caller then suspends the connection until status is set.
 */
void serve_job_submit(serve_job *job);
/* Ends the connection's use of a job, when the connection is closed or the answer is sent. Cancels an unfinished
 * answer. */
void serve_job_leave(serve_job *job);
void serve_job_release(serve_job *job);
/* Ends a job with an error, unless it has ended, and cancels its answers. Takes the job's lock. */
void serve_job_refuse(serve_job *job, int status, const char *code, const char *text);
/* Wakes the decoder's thread for new work. */
void serve_work_wake(serve_work *work);

/* --- answers, in serve/answer.c; with the job's lock held --- */

/* Writes an error as JSON, or as an event if the stream has begun. Ends the job. */
void serve_job_fail(serve_job *job, const serve_problem *problem);
/* Resumes the connection if it is suspended. */
void serve_job_wake(serve_job *job);
/* Counts the tokens of the prompts and writes the first events of a stream. Later calls for the job do nothing. */
void serve_answer_begin(serve_job *job);
/* Adds an event of the decoder to the answer. Ends the job after its last answer, or if the model fails. */
void serve_answer_event(serve_choice *choice, const mica_decoder_event *event);
/* Answers the routes that need only the tokenizer. */
void serve_answer_tokens(serve_job *job);
/* Sets the whole output, which is freed with cJSON_free, and ends the job. json NULL: there was not enough memory
 * for it. */
void serve_answer_set(serve_job *job, char *json);

/* --- vectors, in serve/vectors.c --- */

/* Hands a job to the decoder's thread. Refuses it if memory is short or too many jobs wait. */
void serve_vectors_add(serve_job *job);
/* Makes vectors for some texts of the job that has waited longest; sets *busy if texts remain. Call it in the decoder's
 * thread. Fails only if the device does. */
MICA_CHECKED mica_status serve_vectors_step(serve_work *work, bool *busy);

/* Makes {"error": ...}; the caller frees it. NULL: there is not enough memory. */
char *serve_error_json(const serve_problem *problem);

#endif
