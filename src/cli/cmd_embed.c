#include "cli/embed_file.h"
#include "cli/model.h"
#include "cli/number.h"
#include "cli/result.h"

#include <mica/data.h>
#include <mica/embed.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct values {
  const char *model, *data, *out, *index, *nearest, *batch_tokens, *device;
  int pooling;
  cli_words texts;
  bool json, probability;
};

static const cli_choice poolings[] = {
    {"mean", "mean of all tokens' features"},
    {"cls", "features of the first token"},
    {"last", "features of the last token"},
    {0},
};

static const cli_option options[] = {
    CLI_ROW("TEXT", struct values, texts, .role = CLI_OPTIONAL_OPERAND,
            .help = "texts, or picture files, to embed (default: lines of --data)"),
    CLI_ROW("model", struct values, model, .value = "MODEL",
            .help = "folder or GGUF file of a published model (required)"),
    CLI_ROW("data", struct values, data, .value = "FILE",
            .help =
                "file whose lines are texts or names of picture files, or a folder of pictures; - for standard input"),
    CLI_ROW("out", struct values, out, .value = "FILE",
            .help = "write vectors to a .npy or .safetensors file; never overwrites"),
    CLI_ROW("index", struct values, index, .value = "FILE",
            .help = "search in FILE: vectors that --out wrote, or texts or pictures as for --data"),
    CLI_ROW("nearest", struct values, nearest, .value = "N",
            .help = "with --index: number of neighbours per text or picture (default 5)"),
    CLI_ROW("probability", struct values, probability,
            .help = "with --index: print the probability of each entry, for CLIP models"),
    CLI_ROW("pooling", struct values, pooling, .value = "KIND",
            .help = "how the features of tokens become one vector (default: the model's)", .choices = poolings),
    CLI_ROW("batch-tokens", struct values, batch_tokens, .value = "N",
            .help = "tokens per batch; a longer text is a batch of its own (default 1024)"),
    CLI_DEVICE_ROW(struct values),
    CLI_ROW("json", struct values, json, .help = "write a line of JSON per text or picture"),
    {0},
};

/* Texts, and their vectors (count, width). */
typedef struct texts {
  cli_lines lines;
  float *vectors;
  size_t unread; /* pictures that could not be read; they are no longer in lines */
} texts;

static void free_texts(texts *t) {
  cli_lines_free(&t->lines);
  free(t->vectors);
}

/* Reads the lines of a file, or lists the pictures of a folder if the model reads pictures. */
static int read_lines(const cli_command *self, const mica_embedder *embedder, const char *path, cli_lines *lines) {
  const bool listed = mica_embedder_reads_pictures(embedder) && strcmp(path, "-") != 0 && cli_is_folder(path);
  return listed ? cli_lines_list(self, path, lines) : cli_lines_read(self, path, lines);
}

static bool is_picture(const mica_embedder *embedder, const char *line) {
  if (!mica_embedder_reads_pictures(embedder)) return false;
  return !mica_embedder_reads_texts(embedder) || cli_is_picture(line);
}

/* Removes from the lines the pictures that cannot be read, with a message for each. Returns CLI_OK if it removed some
 * lines and others remain. */
static int leave_out(const cli_command *self, const mica_embedder *embedder, texts *t) {
  size_t kept = 0;
  const size_t before = t->lines.count;
  char first[1024];
  snprintf(first, sizeof first, "%s", mica_error_message());
  for (size_t i = 0; i < before; i++) {
    uint8_t *pixels = NULL;
    mica_shape shape;
    const bool reads = !is_picture(embedder, t->lines.texts[i]) ||
                       mica_image_read(t->lines.texts[i], MICA_SHAPE(0, 0, 0), &pixels, &shape) == MICA_OK;
    mica_free(pixels);
    if (reads)
      t->lines.texts[kept++] = t->lines.texts[i];
    else
      cli_fail_library(self);
  }
  t->lines.count = kept;
  t->unread += before - kept;
  if (kept == before) return cli_fail(self, "%s", first);
  if (kept) return CLI_OK;
  return before > 1 ? cli_fail(self, "none of the %zu pictures can be read", before) : CLI_FAILED;
}

/* Computes the vectors of all lines that name pictures (`pictures` true), or of all other lines. */
static int embed_some(const cli_command *self, mica_embedder *embedder, texts *t, bool pictures) {
  const size_t width = (size_t)mica_embedder_width(embedder), all = t->lines.count;
  const char **some = calloc(all + 1, sizeof *some);
  float *vectors = calloc(all + 1, width * sizeof *vectors);
  size_t count = 0;
  int status = some && vectors ? CLI_OK : cli_fail(self, "there is not enough memory for %zu vectors", all);
  for (size_t i = 0; i < all && status == CLI_OK; i++)
    if (is_picture(embedder, t->lines.texts[i]) == pictures) some[count++] = t->lines.texts[i];
  mica_status made = MICA_OK;
  if (status == CLI_OK)
    made = pictures ? mica_embedder_pictures(embedder, some, count, vectors)
                    : mica_embedder_texts(embedder, some, count, vectors);
  /* If pictures cannot be read, leave_out removes them, and the remaining lines are tried again. If all pictures can be
   * read, the failure had another cause, and leave_out prints the first message and fails. */
  if (made != MICA_OK && pictures) {
    free(some);
    free(vectors);
    status = leave_out(self, embedder, t);
    return status == CLI_OK ? embed_some(self, embedder, t, pictures) : status;
  }
  if (made != MICA_OK) status = cli_fail_library(self);
  for (size_t i = 0, k = 0; i < all && status == CLI_OK; i++)
    if (is_picture(embedder, t->lines.texts[i]) == pictures)
      memcpy(t->vectors + i * width, vectors + k++ * width, width * sizeof *vectors);
  free(some);
  free(vectors);
  return status;
}

static int embed(const cli_command *self, mica_embedder *embedder, texts *t) {
  const size_t width = (size_t)mica_embedder_width(embedder);
  int status = CLI_OK;
  t->vectors = calloc(t->lines.count ? t->lines.count : 1, width * sizeof *t->vectors);
  if (!t->vectors) return cli_fail(self, "there is not enough memory for %zu vectors", t->lines.count);
  /* Pictures come first, because pictures that cannot be read are removed from the lines, which moves the later lines.
   */
  if (mica_embedder_reads_pictures(embedder)) status = embed_some(self, embedder, t, true);
  if (status == CLI_OK && mica_embedder_reads_texts(embedder)) status = embed_some(self, embedder, t, false);
  return status;
}

/* If pictures were left out, prints their number and returns CLI_FAILED; otherwise returns CLI_OK. */
static int count_unread(const cli_command *self, const texts *t) {
  if (!t->unread) return CLI_OK;
  return cli_fail(self, "%zu picture%s cannot be read; %zu vector%s made", t->unread, t->unread == 1 ? "" : "s",
                  t->lines.count, t->lines.count == 1 ? " was" : "s were");
}

/* --- vectors --- */

static int print_vectors(const cli_command *self, const texts *t, int64_t width, bool as_json) {
  int status = CLI_OK;
  for (size_t i = 0; i < t->lines.count && status == CLI_OK; i++) {
    const float *vector = t->vectors + (int64_t)i * width;
    if (as_json) {
      cli_json json;
      cli_json_begin(&json);
      cli_json_text(&json, json.root, "text", t->lines.texts[i]);
      cJSON *list = cli_json_array(&json, json.root, "vector");
      for (int64_t c = 0; c < width; c++) cli_json_real(&json, list, NULL, (double)vector[c]);
      status = cli_json_print_line(&json, self);
    } else {
      for (int64_t c = 0; c < width; c++) printf("%s%.9g", c ? " " : "", (double)vector[c]);
      putchar('\n');
    }
  }
  return status;
}

/* --- neighbours --- */

/* The vectors to search, and their texts if they were made from texts. */
typedef struct searched {
  texts made;
  cli_vectors read;
  const float *vectors;
  size_t count;
} searched;

static int open_index(const cli_command *self, const struct values *v, mica_embedder *embedder, searched *s) {
  const int64_t width = mica_embedder_width(embedder);
  if (!cli_is_vectors(v->index)) {
    int status = read_lines(self, embedder, v->index, &s->made.lines);
    if (status == CLI_OK) status = embed(self, embedder, &s->made);
    s->vectors = s->made.vectors;
    s->count = s->made.lines.count;
    return status;
  }
  const int status = cli_vectors_read(self, v->index, &s->read);
  s->vectors = s->read.numbers;
  s->count = s->read.count;
  if (status == CLI_OK && s->read.width != width)
    return cli_fail(self,
                    "the vectors of %s have %" PRId64 " numbers, but the model makes vectors of %" PRId64
                    "; use the model that made them",
                    v->index, s->read.width, width);
  return status;
}

/* Prints the neighbours of a text with their similarities, or with their probabilities if `probabilities` is not NULL
 * (JSON has both). */
static int print_neighbours(const cli_command *self, const char *text, const searched *s, const mica_neighbour *list,
                            const double *probabilities, size_t nearest, bool as_json) {
  const cli_lines *lines = &s->made.lines;
  cli_json json = {0};
  cJSON *array = NULL;
  if (as_json) {
    cli_json_begin(&json);
    cli_json_text(&json, json.root, "text", text);
    array = cli_json_array(&json, json.root, "nearest");
  } else {
    cli_print_clean(text, strlen(text));
    putchar('\n');
  }
  for (size_t k = 0; k < nearest; k++) {
    const char *found = lines->count ? lines->texts[list[k].index] : NULL;
    if (as_json) {
      cJSON *one = cli_json_object(&json, array, NULL);
      cli_json_integer(&json, one, "index", list[k].index);
      cli_json_real(&json, one, "similarity", (double)list[k].similarity);
      if (probabilities) cli_json_real(&json, one, "probability", probabilities[k]);
      if (found) cli_json_text(&json, one, "text", found);
    } else {
      printf("  %.4f  %zu%s", probabilities ? probabilities[k] : (double)list[k].similarity, list[k].index,
             found ? "  " : "");
      if (found) cli_print_clean(found, strlen(found));
      putchar('\n');
    }
  }
  return as_json ? cli_json_print_line(&json, self) : CLI_OK;
}

/* softmax(scale similarity); list is in descending order of similarity. */
static void to_probabilities(const mica_neighbour *list, size_t count, double scale, double *probabilities) {
  double sum = 0;
  for (size_t k = 0; k < count; k++)
    sum += probabilities[k] = exp(scale * ((double)list[k].similarity - (double)list[0].similarity));
  for (size_t k = 0; k < count; k++) probabilities[k] /= sum;
}

static int search(const cli_command *self, const struct values *v, mica_embedder *embedder, const texts *t,
                  int64_t wanted) {
  searched s = {0};
  mica_neighbour *found = NULL;
  int status = open_index(self, v, embedder, &s);
  const size_t nearest = s.count < (size_t)wanted ? s.count : (size_t)wanted;
  const size_t kept = v->probability ? s.count : nearest;
  double *probabilities = NULL;
  if (status == CLI_OK && s.count == 0)
    status = cli_fail(self, "--index %s is empty; it needs at least one text, picture or vector", v->index);
  if (status == CLI_OK) {
    found = calloc(t->lines.count, kept * sizeof *found);
    probabilities = v->probability ? calloc(kept, sizeof *probabilities) : NULL;
    if (!found || (v->probability && !probabilities))
      status = cli_fail(self, "there is not enough memory for the neighbours");
    else if (mica_nearest(s.vectors, s.count, mica_embedder_width(embedder), t->vectors, t->lines.count, kept, found) !=
             MICA_OK)
      status = cli_fail_library(self);
  }
  for (size_t i = 0; status == CLI_OK && i < t->lines.count; i++) {
    if (probabilities) to_probabilities(found + i * kept, kept, mica_embedder_logit_scale(embedder), probabilities);
    status = print_neighbours(self, t->lines.texts[i], &s, found + i * kept, probabilities, nearest, v->json);
  }
  if (status == CLI_OK) status = count_unread(self, &s.made);
  free(found);
  free(probabilities);
  free_texts(&s.made);
  cli_vectors_free(&s.read);
  return status;
}

/* --- the command --- */

/* Refuses words that are not names of pictures if the model reads pictures only. */
static int check_words(const cli_command *self, const struct values *v, const mica_embedder *embedder) {
  if (mica_embedder_reads_texts(embedder)) return CLI_OK;
  for (size_t i = 0; i < v->texts.count; i++)
    if (!cli_is_picture(v->texts.words[i]))
      return cli_fail(self, "\"%s\": the model reads pictures only; name .png or .jpg files", v->texts.words[i]);
  return CLI_OK;
}

static int work(const cli_command *self, const struct values *v, mica_embedder *embedder, int64_t nearest) {
  texts t = {0};
  int status = v->data ? read_lines(self, embedder, v->data, &t.lines) : cli_lines_copy(self, &v->texts, &t.lines);
  if (status == CLI_OK && v->probability && mica_embedder_logit_scale(embedder) == 0)
    status = cli_fail(self, "--probability needs a model with a logit scale, such as CLIP; %s has none", v->model);
  if (status == CLI_OK && !v->data) status = check_words(self, v, embedder);
  if (status == CLI_OK && t.lines.count == 0)
    status = cli_fail(self, "--data %s has no %s", v->data, mica_embedder_reads_pictures(embedder) ? "lines" : "texts");
  if (status == CLI_OK) status = embed(self, embedder, &t);
  if (status == CLI_OK && v->out)
    status = cli_vectors_write(self, v->out, t.vectors, t.lines.count, mica_embedder_width(embedder));
  if (status == CLI_OK && v->index)
    status = search(self, v, embedder, &t, nearest);
  else if (status == CLI_OK && !v->out)
    status = print_vectors(self, &t, mica_embedder_width(embedder), v->json);
  if (status == CLI_OK) status = count_unread(self, &t);
  free_texts(&t);
  return status;
}

static int check(const cli_command *self, const struct values *v) {
  if (!v->model)
    cli_fail(self, "--model is missing: the folder or GGUF file of a published model");
  else if (!v->data && !v->texts.count)
    cli_fail(self, "name texts or pictures to embed, or set --data to a file with one per line");
  else if (v->data && v->texts.count)
    cli_fail(self, "inputs and --data cannot be combined; give one of them");
  else if (v->data && v->index && !strcmp(v->data, "-") && !strcmp(v->index, "-"))
    cli_fail(self, "--data and --index cannot both be standard input");
  else if (v->nearest && !v->index)
    cli_fail(self, "--nearest needs --index FILE, the texts, pictures or vectors to search");
  else if (v->probability && !v->index)
    cli_fail(self, "--probability needs --index FILE, the texts, pictures or vectors to search");
  else if (v->out && !cli_is_vectors(v->out))
    cli_fail(self, "--out needs a name that ends in .npy or .safetensors, not \"%s\"", v->out);
  else
    return CLI_OK;
  return CLI_USAGE;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  int64_t nearest = 5;
  mica_embedder_config config = {.pooling = v->pooling < 0
                                                ? MICA_EMBED_POOLING_MODEL
                                                : (mica_embed_pooling)(v->pooling + MICA_EMBED_POOLING_MEAN)};
  mica_embedder *embedder = NULL;
  cli_model opened = {0};
  int status = check(self, v);
  if (status == CLI_OK) status = cli_integer(self, "nearest", v->nearest, 1, 1000000, &nearest);
  if (status == CLI_OK) status = cli_integer(self, "batch-tokens", v->batch_tokens, 1, 1 << 24, &config.batch_tokens);
  if (status == CLI_OK && v->out) status = cli_refuse_file(self, v->out, "choose another file with --out");
  if (status != CLI_OK) return status;
  status = cli_model_open(self, v->model, NULL, v->device, 0, &opened);
  if (status == CLI_OK && mica_embedder_create(opened.engine, opened.model, &config, &embedder) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK) status = work(self, v, embedder, nearest);
  mica_embedder_destroy(embedder);
  cli_model_close(&opened);
  return status;
}

const cli_command cli_command_embed = {
    .name = "embed",
    .summary = "turn texts and pictures into vectors, and find similar ones",
    .details = "\nSearch a file of texts, or vectors that were written before:\n"
               "\n"
               "  mica embed --model FOLDER --index notes.txt \"How do I save a model?\"\n"
               "  mica embed --model FOLDER --data notes.txt --out notes.npy\n"
               "  mica embed --model FOLDER --index notes.npy --nearest 3 \"Save a model\"\n"
               "\n"
               "CLIP models read texts and pictures. A name that ends in .png, .jpg or .jpeg\n"
               "is a picture:\n"
               "\n"
               "  mica embed --model CLIP --index photos/ \"a red car\"\n"
               "  mica embed --model CLIP --index labels.txt --probability photo.jpg\n"
               "\n"
               "Pictures that cannot be read are named and left out, and the exit status is 1.\n"
               "Similarity is the cosine, from -1 to 1. Indices count lines from 0.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
