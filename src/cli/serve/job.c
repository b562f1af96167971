#include "cli/serve/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

/* A stream gets a comment after this time without tokens, so that clients and proxies keep it open. */
#define COMMENT_SECONDS 5
/* If more bytes of an answer than this wait for a client to read them, the request ends. */
#define MOST_UNREAD (8 << 20)

double serve_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- texts --- */

void serve_text_add(serve_text *text, const char *data, size_t bytes) {
  if (text->failed || bytes == 0) return;
  if (bytes >= text->room - text->bytes) {
    size_t room = text->room ? text->room : 256;
    while (room - text->bytes <= bytes && room < SIZE_MAX / 4) room *= 2;
    char *grown = room - text->bytes > bytes ? realloc(text->data, room) : NULL;
    if (!grown) {
      text->failed = true;
      return;
    }
    text->data = grown;
    text->room = room;
  }
  memcpy(text->data + text->bytes, data, bytes);
  text->bytes += bytes;
  text->data[text->bytes] = '\0';
}

void serve_text_free(serve_text *text) {
  free(text->data);
  *text = (serve_text){0};
}

/* --- jobs --- */

static uint64_t random_bits(void) {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != (ssize_t)sizeof bits) bits = (uint64_t)(serve_now() * 1e9);
  return bits;
}

serve_job *serve_job_create(serve_work *work, serve_kind kind, void *connection, int socket) {
  serve_job *job = calloc(1, sizeof *job);
  if (!job) return NULL;
  job->work = work;
  job->kind = kind;
  job->connection = connection;
  job->socket = socket;
  job->began = job->written = serve_now();
  job->created = (int64_t)time(NULL);
  snprintf(job->id, sizeof job->id, "%s-%016llx", kind == SERVE_CHAT ? "chatcmpl" : "cmpl",
           (unsigned long long)random_bits());
  atomic_init(&job->uses, 1);
  pthread_mutex_init(&job->lock, NULL);
  pthread_mutex_lock(&work->lock);
  job->after = work->jobs;
  if (job->after) job->after->before = job;
  work->jobs = job;
  pthread_mutex_unlock(&work->lock);
  return job;
}

static void forget(serve_job *job) {
  serve_work *work = job->work;
  pthread_mutex_lock(&work->lock);
  if (job->after) job->after->before = job->before;
  if (job->before)
    job->before->after = job->after;
  else
    work->jobs = job->after;
  if (job->submitted) work->count--;
  pthread_mutex_unlock(&work->lock);
}

void serve_job_release(serve_job *job) {
  if (atomic_fetch_sub(&job->uses, 1) != 1) return;
  forget(job);
  for (size_t c = 0; c < job->choice_count; c++) {
    serve_text_free(&job->choices[c].text);
    serve_calls_free(&job->choices[c].calls);
    cJSON_Delete(job->choices[c].logprobs);
  }
  free(job->choices);
  free(job->vectors);
  serve_asked_free(&job->asked);
  serve_text_free(&job->body);
  serve_text_free(&job->output);
  pthread_mutex_destroy(&job->lock);
  free(job);
}

/* Cancels the answers of a job that is no longer wanted. The job's lock is held. */
static void cancel(serve_job *job) {
  job->gone = true;
  for (size_t c = 0; c < job->choice_count; c++)
    if (job->choices[c].id && job->choices[c].finish == MICA_FINISH_NONE)
      mica_decoder_cancel(job->work->decoders[job->asked.name], job->choices[c].id);
}

void serve_job_leave(serve_job *job) {
  pthread_mutex_lock(&job->lock);
  job->connection = NULL;
  if (!job->ended) cancel(job);
  pthread_mutex_unlock(&job->lock);
  serve_job_release(job);
}

void serve_job_submit(serve_job *job) {
  serve_work *work = job->work;
  atomic_fetch_add(&job->uses, 1); /* one use by the reader, which releases the job */
  pthread_mutex_lock(&work->lock);
  job->submitted = true;
  work->count++;
  job->next = NULL;
  if (work->last)
    work->last->next = job;
  else
    work->first = job;
  work->last = job;
  pthread_cond_signal(&work->read);
  pthread_mutex_unlock(&work->lock);
}

/* --- readers --- */

static bool take_event(void *user, const mica_decoder_event *event) {
  serve_choice *choice = user;
  serve_job *job = choice->job;
  pthread_mutex_lock(&job->lock);
  choice->id = event->id;
  serve_answer_event(choice, event);
  const bool goes_on = !job->gone;
  pthread_mutex_unlock(&job->lock);
  if (event->finish != MICA_FINISH_NONE) serve_job_release(job);
  return goes_on;
}

static bool make_choices(serve_job *job) {
  const serve_asked *asked = &job->asked;
  const size_t count = asked->prompt_count * (size_t)asked->n;
  job->choices = calloc(count, sizeof *job->choices);
  if (!job->choices) return false;
  for (size_t c = 0; c < count; c++) {
    job->choices[c].job = job;
    job->choices[c].index = (int32_t)c;
    job->choice_count = c + 1;
    if (asked->logprobs && !(job->choices[c].logprobs = cJSON_CreateArray())) return false;
  }
  for (size_t p = 0; p < asked->prompt_count; p++) job->prompt_tokens += (int64_t)asked->prompts[p].count;
  return true;
}

/* Adds an answer to the decoder's requests. */
static mica_status add_choice(serve_job *job, serve_choice *choice) {
  const serve_asked *asked = &job->asked;
  const mica_encoding *prompt = &asked->prompts[choice->index / asked->n];
  mica_sampler_config sampling = asked->sampling;
  int64_t id = 0;
  sampling.seed += (uint64_t)(choice->index % asked->n);
  const mica_request request = {.ids = prompt->ids,
                                .count = prompt->count,
                                .most_tokens = asked->most_tokens,
                                .sampling = &sampling,
                                .stops = asked->stops,
                                .stop_count = asked->stop_count,
                                .schema = asked->schema,
                                .top = asked->logprobs ? asked->top : 0,
                                .event = take_event,
                                .user = choice};
  atomic_fetch_add(&job->uses, 1); /* one use by this answer; take_event releases the job when the answer ends */
  const mica_status status = mica_decoder_add(job->work->decoders[asked->name], &request, &id);
  if (status != MICA_OK) {
    serve_job_release(job);
    return status;
  }
  pthread_mutex_lock(&job->lock);
  choice->id = id;
  if (job->gone) cancel(job);
  pthread_mutex_unlock(&job->lock);
  return MICA_OK;
}

void serve_job_refuse(serve_job *job, int status, const char *code, const char *text) {
  serve_problem problem = {0};
  serve_refuse(&problem, status, code, "%s", text);
  pthread_mutex_lock(&job->lock);
  cancel(job);
  if (!job->ended) serve_job_fail(job, &problem);
  pthread_mutex_unlock(&job->lock);
}

void serve_work_wake(serve_work *work) {
  pthread_mutex_lock(&work->lock);
  work->pending = true;
  pthread_cond_signal(&work->decode);
  pthread_mutex_unlock(&work->lock);
}

/* Adds all answers of a job to the decoder. `running` is set to the number of answers before the first one is added, so
 * that the job does not end when an early answer ends before a later one is added. */
static void decode(serve_job *job) {
  serve_work *work = job->work;
  bool full = false;
  if (!job->asked.seeded) job->asked.sampling.seed = random_bits() >> 1;
  pthread_mutex_lock(&job->lock);
  const bool made = make_choices(job);
  job->running = job->choice_count;
  pthread_mutex_unlock(&job->lock);
  if (!made) {
    serve_job_refuse(job, 500, "out_of_memory", "there is not enough memory");
    return;
  }
  for (size_t c = 0; c < job->choice_count; c++) {
    const mica_status status = add_choice(job, &job->choices[c]);
    if (status == MICA_OK) {
      if (c == 0) {
        pthread_mutex_lock(&job->lock);
        serve_answer_begin(job);
        pthread_mutex_unlock(&job->lock);
      }
      continue;
    }
    full = status == MICA_E_STATE;
    serve_job_refuse(job, full ? 429 : 400, full ? "queue_full" : "invalid_value",
                     full ? "too many requests are waiting; try again later" : mica_error_message());
    break;
  }
  serve_work_wake(work);
}

static void read_job(serve_job *job) {
  pthread_mutex_lock(&job->lock);
  const bool gone = job->gone || job->ended;
  pthread_mutex_unlock(&job->lock);
  if (gone) return;
  serve_asked asked;
  serve_problem problem;
  const bool good =
      serve_read(job->work->model, job->kind, job->body.data ? job->body.data : "", job->body.bytes, &asked, &problem);
  pthread_mutex_lock(&job->lock);
  job->asked = asked;
  serve_text_free(&job->body);
  if (!good && !job->ended) serve_job_fail(job, &problem);
  const bool tokens = job->kind == SERVE_TOKENIZE || job->kind == SERVE_DETOKENIZE;
  if (good && tokens && !job->ended) serve_answer_tokens(job);
  pthread_mutex_unlock(&job->lock);
  if (!good || tokens) return;
  if (job->kind == SERVE_EMBEDDING)
    serve_vectors_add(job);
  else
    decode(job);
}

static void *run_reader(void *user) {
  serve_work *work = user;
  for (;;) {
    pthread_mutex_lock(&work->lock);
    while (!work->first && !work->stop) pthread_cond_wait(&work->read, &work->lock);
    serve_job *job = work->first;
    if (job) {
      work->first = job->next;
      if (!work->first) work->last = NULL;
    }
    pthread_mutex_unlock(&work->lock);
    if (!job) return NULL;
    read_job(job);
    serve_job_release(job);
  }
}

/* --- the decoder --- */

/* Keeps the message of the first failure, which ends the server. */
static void note_failure(serve_work *work) {
  pthread_mutex_lock(&work->lock);
  if (!work->failed) snprintf(work->message, sizeof work->message, "%s", mica_error_message());
  work->failed = true;
  pthread_mutex_unlock(&work->lock);
}

/* Runs a step of all decoders and of the embedder. If one fails, the others still get their steps, because their
 * requests go on until the server ends. */
static void step(serve_work *work, bool *busy) {
  *busy = false;
  for (size_t d = 0; d <= SERVE_MOST_ADAPTERS; d++) {
    bool more = false;
    if (work->decoders[d] && mica_decoder_step(work->decoders[d], &more) != MICA_OK) note_failure(work);
    *busy |= more;
  }
  if (work->embedder && serve_vectors_step(work, busy) != MICA_OK) note_failure(work);
}

static void *run_decoder(void *user) {
  serve_work *work = user;
  for (bool busy = false;;) {
    pthread_mutex_lock(&work->lock);
    while (!busy && !work->pending && !work->stop) pthread_cond_wait(&work->decode, &work->lock);
    const bool stop = work->stop && !busy && !work->pending;
    work->pending = false;
    pthread_mutex_unlock(&work->lock);
    if (stop) return NULL;
    step(work, &busy);
  }
}

bool serve_work_failed(serve_work *work, char message[512]) {
  pthread_mutex_lock(&work->lock);
  const bool failed = work->failed;
  memcpy(message, work->message, sizeof work->message);
  pthread_mutex_unlock(&work->lock);
  return failed;
}

/* --- the watch --- */

/* True if the client has closed its end, which libmicrohttpd does not notice for a suspended connection. */
static bool has_left(const serve_job *job) {
  char byte;
  const ssize_t n = recv(job->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

static void look_after(serve_job *job, double now) {
  serve_problem problem = {0};
  pthread_mutex_lock(&job->lock);
  if (!job->submitted || !job->connection || job->ended) {
    pthread_mutex_unlock(&job->lock);
    return;
  }
  if (now - job->began > job->work->most_seconds) {
    serve_refuse(&problem, 503, "timeout", "the answer took more than %.0f seconds", job->work->most_seconds);
  } else if (job->output.bytes - job->output_read > MOST_UNREAD || has_left(job)) {
    serve_refuse(&problem, 503, "client_left", "the client has left or reads too slowly");
  } else if (job->status == 200 && job->asked.stream && now - job->written > COMMENT_SECONDS) {
    serve_text_add(&job->output, ": \n\n", 4);
    job->written = now;
    serve_job_wake(job);
  }
  if (problem.status) {
    cancel(job);
    serve_job_fail(job, &problem);
  }
  pthread_mutex_unlock(&job->lock);
}

static void *run_watch(void *user) {
  serve_work *work = user;
  for (bool stop = false; !stop;) {
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    const double now = serve_now();
    pthread_mutex_lock(&work->lock);
    stop = work->stop;
    for (serve_job *job = work->jobs; job; job = job->after) look_after(job, now);
    pthread_mutex_unlock(&work->lock);
  }
  return NULL;
}

/* --- the threads --- */

bool serve_work_begin(serve_work *work) {
  pthread_mutex_init(&work->lock, NULL);
  pthread_cond_init(&work->read, NULL);
  pthread_cond_init(&work->decode, NULL);
  pthread_t *threads[] = {&work->readers[0], &work->readers[1], &work->steps, &work->watch};
  void *(*const runs[])(void *) = {run_reader, run_reader, run_decoder, run_watch};
  while (work->threads < 4) {
    if (pthread_create(threads[work->threads], NULL, runs[work->threads], work) != 0) return false;
    work->threads++;
  }
  return true;
}

static size_t count_running(serve_work *work) {
  pthread_mutex_lock(&work->lock);
  const size_t count = work->count;
  pthread_mutex_unlock(&work->lock);
  return count;
}

static void wait_for_jobs(serve_work *work, double seconds) {
  for (const double until = serve_now() + seconds; count_running(work) > 0 && serve_now() < until;)
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

void serve_work_end(serve_work *work, double seconds) {
  serve_problem problem = {0};
  serve_refuse(&problem, 503, "shutting_down", "the server is shutting down");
  wait_for_jobs(work, seconds);
  pthread_mutex_lock(&work->lock);
  for (serve_job *job = work->jobs; job; job = job->after) {
    pthread_mutex_lock(&job->lock);
    if (job->submitted && !job->ended) {
      cancel(job);
      serve_job_fail(job, &problem);
    }
    pthread_mutex_unlock(&job->lock);
  }
  pthread_mutex_unlock(&work->lock);
  wait_for_jobs(work, 2);
  pthread_mutex_lock(&work->lock);
  work->stop = work->pending = true;
  pthread_cond_broadcast(&work->read);
  pthread_cond_broadcast(&work->decode);
  pthread_mutex_unlock(&work->lock);
  pthread_t threads[] = {work->readers[0], work->readers[1], work->steps, work->watch};
  for (int t = 0; t < work->threads; t++) pthread_join(threads[t], NULL);
}

void serve_work_free(serve_work *work) {
  pthread_mutex_destroy(&work->lock);
  pthread_cond_destroy(&work->read);
  pthread_cond_destroy(&work->decode);
}
