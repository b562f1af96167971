/* cli/voice_file.h: the JSON file beside a voice of Piper: which numbers stand for phonemes, and how it speaks. */
#ifndef MICA_CLI_VOICE_FILE_H
#define MICA_CLI_VOICE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_voice_file {
  void *json; /* a cJSON, which the names below belong to */
  int32_t rate;
  bool letters; /* phonemes are the letters of the text (phoneme_type "text") */
  double noise, length, duration_noise;
  int64_t speakers;
} cli_voice_file;

/* Reads a file's content. NULL, or what is wrong with it. Free it in any case. */
const char *cli_voice_file_read(const char *content, size_t size, cli_voice_file *voice);
void cli_voice_file_free(cli_voice_file *voice);
/* Ids of the phonemes, one per code point of UTF-8, with the ids that mark the beginning, the end and the gaps. *ids
 * is the caller's to free. Returns NULL, or what is wrong; *at is then the byte of the phoneme that is missing. */
const char *cli_voice_file_encode(const cli_voice_file *voice, const char *phonemes, int64_t **ids, size_t *count,
                                  size_t *at);
/* The number of a speaker, by name or number; -1: there is no such speaker. NULL: the first. */
int64_t cli_voice_file_speaker(const cli_voice_file *voice, const char *name);

#endif
