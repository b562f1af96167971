/* cli/voice_file.h: the JSON file of a Piper voice: the ids of phonemes, and the parameters of speech. */
#ifndef MICA_CLI_VOICE_FILE_H
#define MICA_CLI_VOICE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_voice_file {
  void *json; /* a cJSON, which owns the names */
  int32_t rate;
  bool letters; /* phonemes are the letters of the text (phoneme_type "text") */
  double noise, length, duration_noise;
  int64_t speakers;
} cli_voice_file;

/* Reads a file's content. Returns NULL, or the reason for a failure. Call cli_voice_file_free also after a failure. */
const char *cli_voice_file_read(const char *content, size_t size, cli_voice_file *voice);
void cli_voice_file_free(cli_voice_file *voice);
/* Converts phonemes, one per code point of UTF-8, to ids. Adds the ids that the voice has for the beginning "^", the
 * end "$", and the gap "_" after the beginning and after each phoneme. The caller frees *ids. Returns NULL, or the
 * reason for a failure. If the voice does not know a phoneme, *at is the byte offset of that phoneme. */
const char *cli_voice_file_encode(const cli_voice_file *voice, const char *phonemes, int64_t **ids, size_t *count,
                                  size_t *at);
/* Finds a speaker by name or number; -1: no such speaker. name NULL: the first one. */
int64_t cli_voice_file_speaker(const cli_voice_file *voice, const char *name);

#endif
