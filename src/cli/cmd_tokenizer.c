#include "cli/command.h"
#include "cli/json.h"
#include "cli/number.h"
#include "cli/result.h"
#include "cli/text.h"

#include <errno.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct values {
  int action, kind;
  const char *file, *data, *column, *size, *least, *special, *out;
  cli_words words;
  bool lowercase, frame, skip, json;
};

enum { TRAIN, ENCODE, DECODE, INFO };
static const cli_choice actions[] = {
    [TRAIN] = {"train", "train a tokeniser on the texts of --data and write it to --out"},
    [ENCODE] = {"encode", "print the ids of texts, or of each line of standard input"},
    [DECODE] = {"decode", "print the text of ids, or of each line of ids of standard input"},
    [INFO] = {"info", "describe FILE"},
    {0},
};

static const cli_choice kinds[] = {
    {"bpe", "byte-level pairs, as in GPT-2; decoding restores any bytes"},
    {"wordpiece", "words and their pieces, as in BERT"},
    {"unigram", "the likeliest pieces of words, as in SentencePiece"},
    {"word", "a token per word or punctuation mark"},
    {"character", "a token per character"},
    {"byte", "a token per byte"},
    {0},
};

static const cli_option options[] = {
    CLI_ROW("ACTION", struct values, action, .role = CLI_OPERAND, .help = "what to do", .choices = actions),
    CLI_ROW("FILE", struct values, file, .role = CLI_OPTIONAL_OPERAND,
            .help = "tokenizer.json; needed by all actions but train"),
    CLI_ROW("TEXT", struct values, words, .role = CLI_OPTIONAL_OPERAND,
            .help = "texts to encode, or ids to decode (default: standard input)"),
    CLI_ROW("data", struct values, data, .value = "DATA",
            .help = "train: text file, table with a column of texts, or folder with such files (required, except with "
                    "--kind byte)"),
    CLI_ROW("column", struct values, column, .value = "NAME",
            .help = "train: column of texts to use (default: all columns of texts)"),
    CLI_ROW("kind", struct values, kind, .value = "KIND", .help = "train: kind of tokeniser (default bpe)",
            .choices = kinds),
    CLI_ROW("size", struct values, size, .value = "N", .help = "train: maximum number of tokens (default 8000)"),
    CLI_ROW("min-frequency", struct values, least, .value = "N",
            .help = "train: minimum number of occurrences of a token (default 2)"),
    CLI_ROW("special", struct values, special, .value = "TOKENS",
            .help = "train: special tokens, separated by commas; except for bpe and byte, the first one stands for "
                    "unknown words (default: none for bpe and byte; [UNK],[PAD],[CLS],[SEP],[MASK] for "
                    "wordpiece; else <unk>,<pad>,<s>,</s>)"),
    CLI_ROW("lowercase", struct values, lowercase, .help = "train: ignore case"),
    CLI_ROW("out", struct values, out, .value = "FILE", .help = "train: file to write; required"),
    CLI_ROW("frame", struct values, frame,
            .help = "encode: add the special tokens that begin and end a text, if the tokeniser has such tokens"),
    CLI_ROW("skip-special", struct values, skip, .help = "decode: leave out special tokens"),
    CLI_ROW("json", struct values, json, .help = "write JSON; encode and decode: one object per line"),
    {0},
};

/* --- train --- */

#define MOST_SPECIAL 256

/* Position of next_text in a dataset: it returns all texts of sample 0, then all of sample 1, and so on. */
typedef struct reading {
  mica_dataset *dataset;
  const char *column;
  uint64_t sample;
  size_t at; /* index of the column */
  char *text;
  size_t room;
} reading;

static bool is_wanted(const reading *r) {
  const mica_column *about = mica_dataset_column(r->dataset, r->at);
  return about->kind == MICA_COLUMN_KIND_TEXT && (!r->column || !strcmp(about->name, r->column));
}

static mica_status next_text(void *user, const char **text, size_t *bytes) {
  reading *r = user;
  int64_t length = 0;
  *text = NULL;
  for (; r->sample < mica_dataset_count(r->dataset); r->sample++, r->at = 0)
    for (; r->at < mica_dataset_column_count(r->dataset); r->at++) {
      if (!is_wanted(r)) continue;
      mica_status status = mica_dataset_length(r->dataset, r->at, r->sample, &length);
      if (status != MICA_OK) return status;
      if ((size_t)length >= r->room) {
        char *grown = realloc(r->text, 2 * (size_t)length + 64);
        if (!grown) return MICA_E_NOMEM;
        r->text = grown;
        r->room = 2 * (size_t)length + 64;
      }
      if (length) status = mica_dataset_read(r->dataset, r->at, r->sample, r->text, (size_t)length);
      *text = r->text;
      *bytes = (size_t)length;
      r->at++;
      return status;
    }
  return MICA_OK;
}

static int check_column(const cli_command *self, reading *r, const char *data) {
  bool any = false;
  for (r->at = 0; r->at < mica_dataset_column_count(r->dataset); r->at++) any = any || is_wanted(r);
  r->at = 0;
  if (any) return CLI_OK;
  return r->column ? cli_fail(self, "%s has no column of texts named '%s'", data, r->column)
                   : cli_fail(self, "%s has no column of texts", data);
}

/* Splits "a,b" at the commas, in place. Returns the number of parts; MOST_SPECIAL + 1 if there are too many, and 0 if a
 * part is empty. */
static size_t split_special(char *text, const char *tokens[MOST_SPECIAL]) {
  size_t count = 0;
  for (char *next; text; text = next) {
    next = strchr(text, ',');
    if (next) *next++ = '\0';
    if (!*text) return 0;
    if (count == MOST_SPECIAL) return count + 1;
    tokens[count++] = text;
  }
  return count;
}

/* Parses the list of --special into config. tokens points into *words, which the caller frees. Returns an exit status.
 */
static int read_special(const cli_command *self, const char *given, char **words, const char *tokens[MOST_SPECIAL],
                        mica_tokenizer_config *config) {
  if (!given) return CLI_OK;
  *words = strdup(given);
  if (!*words) return cli_fail(self, "there is not enough memory");
  config->special = tokens;
  config->special_count = split_special(*words, tokens);
  if (config->special_count && config->special_count <= MOST_SPECIAL) return CLI_OK;
  if (config->special_count)
    cli_fail(self, "--special names more than %d tokens", MOST_SPECIAL);
  else
    cli_fail(self, "--special wants tokens between commas, none of them empty, not \"%s\"", given);
  return CLI_USAGE;
}

/* Checks the options of training and its output file. Returns an exit status. */
static int check_train(const cli_command *self, const struct values *v) {
  struct stat about;
  if (!v->out || (!v->data && v->kind != MICA_TOKENIZER_KIND_BYTE)) {
    cli_fail(self, "train needs --data and --out; the kind byte needs only --out");
    return CLI_USAGE;
  }
  if (v->file) {
    cli_fail(self, "train takes no FILE; texts are named by --data");
    return CLI_USAGE;
  }
  const bool bytes = v->kind == MICA_TOKENIZER_KIND_BYTE;
  if (bytes && v->size) {
    cli_fail(self, "--size is not for the kind byte, which always has 256 tokens");
    return CLI_USAGE;
  }
  if (v->least && (bytes || v->kind == MICA_TOKENIZER_KIND_UNIGRAM)) {
    cli_fail(self, "--min-frequency is for the kinds bpe, wordpiece, word and character, not for %s",
             kinds[v->kind].name);
    return CLI_USAGE;
  }
  return lstat(v->out, &about) == 0 ? cli_fail(self, "%s is there already; choose another file with --out", v->out)
                                    : CLI_OK;
}

static int describe(const cli_command *self, const mica_tokenizer *tokenizer, const char *path, bool as_json) {
  int32_t special = 0;
  size_t bytes = 0;
  mica_tokenizer_json(tokenizer, &bytes);
  for (int32_t i = 0; i < mica_tokenizer_size(tokenizer); i++) special += mica_tokenizer_is_special(tokenizer, i);
  if (!as_json) {
    char size[CLI_BYTES_TEXT];
    printf("file      %s, %s\nmodel     %s\ntokens    %d, %d of them special%s", path, cli_format_bytes(bytes, size),
           mica_tokenizer_model(tokenizer), mica_tokenizer_size(tokenizer), special, special ? ":" : "");
    for (int32_t i = 0, shown = 0; i < mica_tokenizer_size(tokenizer) && shown < 20; i++)
      if (mica_tokenizer_is_special(tokenizer, i)) {
        printf(" %s", cli_clean(mica_tokenizer_token(tokenizer, i)));
        shown++;
      }
    printf("\ntexts     %s\n", mica_tokenizer_takes_bytes(tokenizer) ? "any bytes" : "UTF-8");
    return CLI_OK;
  }
  cli_json json;
  cli_json_begin(&json);
  cli_json_text(&json, json.root, "file", path);
  cli_json_text(&json, json.root, "model", mica_tokenizer_model(tokenizer));
  cli_json_integer(&json, json.root, "tokens", (uint64_t)mica_tokenizer_size(tokenizer));
  cli_json_bool(&json, json.root, "takes_bytes", mica_tokenizer_takes_bytes(tokenizer));
  cJSON *list = cli_json_array(&json, json.root, "special");
  for (int32_t i = 0; i < mica_tokenizer_size(tokenizer); i++)
    if (mica_tokenizer_is_special(tokenizer, i)) cli_json_text(&json, list, NULL, mica_tokenizer_token(tokenizer, i));
  return cli_json_print(&json, self);
}

static int train(const cli_command *self, const struct values *v) {
  int64_t size = 0, least = 0;
  const char *special[MOST_SPECIAL];
  mica_tokenizer_config config = {.lowercase = v->lowercase};
  mica_tokenizer *tokenizer = NULL;
  reading r = {.column = v->column};
  const int checked = check_train(self, v);
  if (checked != CLI_OK) return checked;
  config.kind = v->kind < 0 ? MICA_TOKENIZER_KIND_BPE : (mica_tokenizer_kind)v->kind;
  if (cli_integer(self, "size", v->size, 1, 1 << 22, &size) ||
      cli_integer(self, "min-frequency", v->least, 1, 1 << 30, &least))
    return CLI_USAGE;
  config.size = (int32_t)size;
  config.min_frequency = (int32_t)least;
  char *words = NULL;
  int status = read_special(self, v->special, &words, special, &config);
  if (status == CLI_OK && v->data && mica_dataset_open(v->data, NULL, &r.dataset) != MICA_OK)
    status = cli_fail_library(self);
  if (status == CLI_OK && r.dataset) status = check_column(self, &r, v->data);
  if (status == CLI_OK && (mica_tokenizer_train(&config, r.dataset ? next_text : NULL, &r, &tokenizer) != MICA_OK ||
                           mica_tokenizer_save(tokenizer, v->out) != MICA_OK))
    status = cli_fail_library(self);
  if (status == CLI_OK) status = describe(self, tokenizer, v->out, v->json);
  mica_tokenizer_destroy(tokenizer);
  mica_dataset_destroy(r.dataset);
  free(r.text);
  free(words);
  return status;
}

/* --- encode and decode --- */

/* Function to call for each text of the input. ended: true if the text is an argument, or a line that ends in a line
 * feed. encoding: scratch memory. */
typedef int each_text(const cli_command *self, const struct values *v, const mica_tokenizer *tokenizer,
                      const char *text, size_t bytes, bool ended, mica_encoding *encoding);

/* Ends an output line. If the input's last line had no line feed, the output gets none either, so that encoding and
 * decoding a file restores its bytes. Nor does the text of ids that are arguments. On a terminal the line feed is
 * always printed, so that the prompt begins on a new line. */
static void end_line(bool ended) {
  if (ended || isatty(STDOUT_FILENO)) putchar('\n');
}

static int encode_one(const cli_command *self, const struct values *v, const mica_tokenizer *tokenizer,
                      const char *text, size_t bytes, bool ended, mica_encoding *encoding) {
  if (mica_tokenizer_encode(tokenizer, text, bytes, &(mica_encode_config){.special = v->frame}, encoding) != MICA_OK)
    return cli_fail_library(self);
  if (!v->json) {
    for (size_t i = 0; i < encoding->count; i++) printf(i ? " %d" : "%d", encoding->ids[i]);
    end_line(ended);
    return CLI_OK;
  }
  cli_json json;
  cli_json_begin(&json);
  cJSON *ids = cli_json_array(&json, json.root, "ids"), *tokens = cli_json_array(&json, json.root, "tokens");
  for (size_t i = 0; i < encoding->count; i++) {
    cli_json_integer(&json, ids, NULL, (uint64_t)encoding->ids[i]);
    cli_json_text(&json, tokens, NULL, mica_tokenizer_token(tokenizer, encoding->ids[i]));
  }
  return cli_json_print_line(&json, self);
}

/* Appends an id to the list of ids to decode. */
static int add_id(const cli_command *self, const char *word, int32_t **ids, size_t *count, size_t *room) {
  char *end = NULL;
  const long id = strtol(word, &end, 10);
  if (end == word || *end || id < 0 || id > INT32_MAX) {
    cli_fail(self, "'%.40s' is not an id, a whole number from 0 to 2147483647", word);
    return CLI_USAGE;
  }
  if (*count == *room) {
    *room = *room ? 2 * *room : 64;
    int32_t *grown = realloc(*ids, *room * sizeof *grown);
    if (!grown) return cli_fail(self, "there is not enough memory for ids");
    *ids = grown;
  }
  (*ids)[(*count)++] = (int32_t)id;
  return CLI_OK;
}

static int decode_ids(const cli_command *self, const struct values *v, const mica_tokenizer *tokenizer,
                      const int32_t *ids, size_t count, bool ended) {
  char *text = NULL;
  size_t bytes = 0;
  if (mica_tokenizer_decode(tokenizer, ids, count, v->skip, &text, &bytes) != MICA_OK) return cli_fail_library(self);
  int status = CLI_OK;
  if (v->json) {
    cli_json json;
    cli_json_begin(&json);
    cli_json_bytes(&json, json.root, "text", text, bytes);
    status = cli_json_print_line(&json, self);
  } else {
    fwrite(text, 1, bytes, stdout);
    end_line(ended);
  }
  mica_free(text);
  return status;
}

static int decode_one(const cli_command *self, const struct values *v, const mica_tokenizer *tokenizer,
                      const char *text, size_t bytes, bool ended, mica_encoding *encoding) {
  int32_t *ids = NULL;
  size_t count = 0, room = 0;
  int status = CLI_OK;
  char *words = malloc(bytes + 1);
  (void)encoding;
  if (!words) return cli_fail(self, "there is not enough memory for ids");
  memcpy(words, text, bytes);
  words[bytes] = '\0';
  for (char *save = NULL, *word = strtok_r(words, " \t\r", &save); word && status == CLI_OK;
       word = strtok_r(NULL, " \t\r", &save))
    status = add_id(self, word, &ids, &count, &room);
  if (status == CLI_OK) status = decode_ids(self, v, tokenizer, ids, count, ended);
  free(words);
  free(ids);
  return status;
}

static int each_line(const cli_command *self, const struct values *v, const mica_tokenizer *tokenizer, each_text *one,
                     mica_encoding *encoding) {
  char *line = NULL;
  size_t room = 0;
  ssize_t got;
  int status = CLI_OK;
  while (status == CLI_OK && (got = getline(&line, &room, stdin)) >= 0) {
    const bool ended = got > 0 && line[got - 1] == '\n';
    status = one(self, v, tokenizer, line, (size_t)got - ended, ended, encoding);
  }
  /* getline also fails if memory is short, which is neither the end nor an error of the stream. */
  if (status == CLI_OK && !feof(stdin)) status = cli_fail(self, "standard input cannot be read: %s", strerror(errno));
  free(line);
  return status;
}

static int each_word(const cli_command *self, const struct values *v, const mica_tokenizer *tokenizer,
                     mica_encoding *encoding) {
  int32_t *ids = NULL;
  size_t count = 0, room = 0;
  int status = CLI_OK;
  for (size_t i = 0; i < v->words.count && status == CLI_OK; i++) {
    const char *word = v->words.words[i];
    status = v->action == ENCODE ? encode_one(self, v, tokenizer, word, strlen(word), true, encoding)
                                 : add_id(self, word, &ids, &count, &room);
  }
  if (status == CLI_OK && v->action == DECODE) status = decode_ids(self, v, tokenizer, ids, count, false);
  free(ids);
  return status;
}

/* Refuses options that belong to another action. Returns an exit status. */
static int check_options(const cli_command *self, const struct values *v) {
  const struct {
    const char *name;
    bool given;
    int action;
  } all[] = {{"data", v->data, TRAIN},           {"column", v->column, TRAIN},
             {"kind", v->kind >= 0, TRAIN},      {"size", v->size, TRAIN},
             {"min-frequency", v->least, TRAIN}, {"special", v->special, TRAIN},
             {"lowercase", v->lowercase, TRAIN}, {"out", v->out, TRAIN},
             {"frame", v->frame, ENCODE},        {"skip-special", v->skip, DECODE}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!all[i].given || all[i].action == v->action) continue;
    cli_fail(self, "--%s is for %s, not for %s", all[i].name, actions[all[i].action].name, actions[v->action].name);
    return CLI_USAGE;
  }
  return CLI_OK;
}

static int run(const cli_command *self, const void *given) {
  const struct values *v = given;
  mica_tokenizer *tokenizer = NULL;
  mica_encoding encoding = {0};
  int status = check_options(self, v);
  if (status != CLI_OK) return status;
  if (v->action == TRAIN) return train(self, v);
  if (!v->file) {
    cli_fail(self, "%s needs a tokenizer.json", actions[v->action].name);
    return CLI_USAGE;
  }
  if (v->action == INFO && v->words.count) {
    cli_fail(self, "info takes one FILE; leave out '%s'", v->words.words[0]);
    return CLI_USAGE;
  }
  if (mica_tokenizer_open(v->file, &tokenizer) != MICA_OK) return cli_fail_library(self);
  if (v->action == INFO)
    status = describe(self, tokenizer, v->file, v->json);
  else if (v->words.count)
    status = each_word(self, v, tokenizer, &encoding);
  else
    status = each_line(self, v, tokenizer, v->action == ENCODE ? encode_one : decode_one, &encoding);
  mica_encoding_free(&encoding);
  mica_tokenizer_destroy(tokenizer);
  return status;
}

const cli_command cli_command_tokenizer = {
    .name = "tokenizer",
    .summary = "train a tokeniser, and turn texts into ids and back",
    .details = "\nFILE is a tokenizer.json as Hugging Face's package tokenizers writes and reads\n"
               "it.\n"
               "\n"
               "encode writes one line of ids per line of text, and decode turns these lines\n"
               "back into the text: into the same bytes, if the model takes any bytes. Ids that\n"
               "are given as arguments are decoded without a line end, except on a terminal. In\n"
               "JSON, bytes that are not UTF-8 become U+FFFD.\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
