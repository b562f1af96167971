/* Computes vectors of texts, a few between two steps of the decoder. */
#include "cli/json.h"
#include "cli/serve/job.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of texts that become vectors between two steps of the decoder. */
#define TEXTS_AT_ONCE 16
/* Maximum number of jobs that may wait for vectors. */
#define MOST_JOBS 64

/* --- answers --- */

/* Encodes numbers as little-endian f32 in base64; the caller frees the text. */
static char *to_base64(const float *numbers, size_t count) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t bytes = 4 * count;
  char *text = malloc((bytes + 2) / 3 * 4 + 1), *to = text;
  unsigned char *raw = malloc(bytes + 2);
  for (size_t i = 0; text && raw && i < count; i++) {
    uint32_t bits;
    memcpy(&bits, &numbers[i], sizeof bits);
    for (size_t b = 0; b < 4; b++) raw[4 * i + b] = (unsigned char)(bits >> (8 * b));
  }
  if (text && raw) {
    raw[bytes] = raw[bytes + 1] = 0;
    for (size_t i = 0; i < bytes; i += 3, to += 4) {
      const uint32_t three = (uint32_t)raw[i] << 16 | (uint32_t)raw[i + 1] << 8 | raw[i + 2];
      for (int d = 0; d < 4; d++) to[d] = digits[three >> (18 - 6 * d) & 63];
    }
    if (bytes % 3) to[-1] = '=';
    if (bytes % 3 == 1) to[-2] = '=';
    *to = '\0';
  } else {
    free(text);
    text = NULL;
  }
  free(raw);
  return text;
}

static void add_vector(cli_json *json, cJSON *item, const float *vector, size_t width, bool base64) {
  if (base64) {
    char *text = to_base64(vector, width);
    json->failed |= !text;
    if (text) cli_json_text(json, item, "embedding", text);
    free(text);
    return;
  }
  cJSON *list = cli_json_array(json, item, "embedding");
  for (size_t c = 0; c < width; c++) cli_json_real(json, list, NULL, (double)vector[c]);
}

/* Returns the answer as JSON, which the caller frees with cJSON_free; NULL if memory is short. Call it without holding
 * a lock, because it may take long. */
static char *make_answer(const serve_job *job) {
  const serve_asked *asked = &job->asked;
  const size_t width = (size_t)job->work->model->width;
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "object", "list");
  cJSON *list = cli_json_array(&json, json.root, "data");
  for (size_t t = 0; t < asked->text_count; t++) {
    cJSON *item = cli_json_object(&json, list, NULL);
    cli_json_text(&json, item, "object", "embedding");
    cli_json_integer(&json, item, "index", t);
    add_vector(&json, item, job->vectors + t * width, width, asked->base64);
  }
  cli_json_text(&json, json.root, "model", job->work->model->names[0]);
  cJSON *usage = cli_json_object(&json, json.root, "usage");
  cli_json_integer(&json, usage, "prompt_tokens", (uint64_t)asked->text_tokens);
  cli_json_integer(&json, usage, "total_tokens", (uint64_t)asked->text_tokens);
  char *text = json.failed ? NULL : cJSON_PrintUnformatted(json.root);
  cJSON_Delete(json.root);
  return text;
}

/* --- jobs --- */

void serve_vectors_add(serve_job *job) {
  serve_work *work = job->work;
  const size_t width = (size_t)work->model->width;
  job->vectors = calloc(job->asked.text_count, width * sizeof *job->vectors);
  if (!job->vectors) {
    serve_job_refuse(job, 500, "out_of_memory", "there is not enough memory");
    return;
  }
  pthread_mutex_lock(&work->lock);
  const bool full = work->text_jobs >= MOST_JOBS;
  if (!full) {
    atomic_fetch_add(&job->uses, 1); /* one use by the decoder's thread; take_out releases the job */
    job->next = NULL;
    if (work->last_texts)
      work->last_texts->next = job;
    else
      work->texts = job;
    work->last_texts = job;
    work->text_jobs++;
  }
  pthread_mutex_unlock(&work->lock);
  if (full)
    serve_job_refuse(job, 429, "queue_full", "too many requests are waiting; try again later");
  else
    serve_work_wake(work);
}

/* Removes the first job from the list. True if others are left. */
static bool take_out(serve_work *work, serve_job *job) {
  pthread_mutex_lock(&work->lock);
  work->texts = job->next;
  if (!work->texts) work->last_texts = NULL;
  work->text_jobs--;
  const bool more = work->texts != NULL;
  pthread_mutex_unlock(&work->lock);
  serve_job_release(job);
  return more;
}

/* Ends a job with an error. Returns MICA_OK if the error concerns only this job (an invalid text, a lack of memory),
 * else its status. */
static mica_status fail(serve_job *job, mica_status status) {
  const bool own = status == MICA_E_INVALID || status == MICA_E_NOMEM;
  const bool text = status == MICA_E_INVALID;
  serve_job_refuse(job, text ? 400 : 500, text ? "invalid_value" : "model_error", mica_error_message());
  return own ? MICA_OK : status;
}

mica_status serve_vectors_step(serve_work *work, bool *busy) {
  mica_status status = MICA_OK;
  pthread_mutex_lock(&work->lock);
  serve_job *job = work->texts;
  pthread_mutex_unlock(&work->lock);
  if (!job) return MICA_OK;
  pthread_mutex_lock(&job->lock);
  bool over = job->gone || job->ended;
  pthread_mutex_unlock(&job->lock);
  const size_t left = job->asked.text_count - job->vector_count, count = left < TEXTS_AT_ONCE ? left : TEXTS_AT_ONCE;
  if (!over) {
    float *to = job->vectors + job->vector_count * (size_t)work->model->width;
    status = mica_embedder_texts(work->embedder, job->asked.texts + job->vector_count, count, to);
    job->vector_count += count;
  }
  if (status != MICA_OK) {
    status = fail(job, status);
    over = true;
  } else if (!over && count == left) {
    char *json = make_answer(job);
    pthread_mutex_lock(&job->lock);
    if (job->ended)
      cJSON_free(json);
    else
      serve_answer_set(job, json);
    pthread_mutex_unlock(&job->lock);
    atomic_fetch_add(&work->counters.prompt_tokens, job->asked.text_tokens);
    over = true;
  }
  const bool more = over ? take_out(work, job) : true;
  *busy |= more;
  return status;
}
