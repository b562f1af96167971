#include "cli/voice_file.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 1000000

static const cJSON *member(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Reads a number from low to high, or `standard` if it is missing. False: it has another type or is out of range. */
static bool read_number(const cJSON *object, const char *name, double standard, double low, double high, double *out) {
  const cJSON *number = member(object, name);
  *out = number ? cJSON_GetNumberValue(number) : standard;
  return *out >= low && *out <= high;
}

/* Checks that each phoneme has a list of numbers. */
static bool check_map(const cJSON *map) {
  if (!cJSON_IsObject(map) || !cJSON_GetArraySize(map)) return false;
  for (const cJSON *list = map->child; list; list = list->next) {
    if (!cJSON_IsArray(list)) return false;
    for (const cJSON *id = list->child; id; id = id->next)
      if (!cJSON_IsNumber(id) || !(id->valuedouble >= 0 && id->valuedouble <= LARGEST)) return false;
  }
  return true;
}

const char *cli_voice_file_read(const char *content, size_t size, cli_voice_file *voice) {
  double rate = 0, speakers = 0;
  *voice = (cli_voice_file){.json = cJSON_ParseWithLength(content, size)};
  const cJSON *inference = member(voice->json, "inference"), *type = member(voice->json, "phoneme_type");
  if (!voice->json) return "it is not JSON";
  if (!read_number(member(voice->json, "audio"), "sample_rate", 22050, 1000, 192000, &rate))
    return "\"sample_rate\" is not a number from 1000 to 192000";
  if (!read_number(inference, "noise_scale", 0.667, 0, 100, &voice->noise) ||
      !read_number(inference, "length_scale", 1, 0.01, 100, &voice->length) ||
      !read_number(inference, "noise_w", 0.8, 0, 100, &voice->duration_noise))
    return "\"inference\" has a scale that is not a number from 0 to 100";
  if (!read_number(voice->json, "num_speakers", 1, 1, LARGEST, &speakers)) return "\"num_speakers\" is not a number";
  if (!check_map(member(voice->json, "phoneme_id_map"))) return "\"phoneme_id_map\" does not list numbers of phonemes";
  voice->rate = (int32_t)rate;
  voice->speakers = (int64_t)speakers;
  voice->letters = cJSON_IsString(type) && !strcmp(type->valuestring, "text");
  return NULL;
}

void cli_voice_file_free(cli_voice_file *voice) {
  cJSON_Delete(voice->json);
  *voice = (cli_voice_file){0};
}

/* The bytes of a text's first character. */
static size_t bytes_of(const char *text) {
  size_t bytes = 1;
  while (((unsigned char)text[bytes] & 0xc0) == 0x80) bytes++;
  return bytes;
}

/* Adds the ids of a phoneme to ids and their number to *count. ids NULL: only counts. False if the voice does not have
 * the phoneme. */
static bool add(const cJSON *map, const char *phoneme, size_t bytes, int64_t *ids, size_t *count) {
  for (const cJSON *list = map->child; list; list = list->next) {
    if (strlen(list->string) != bytes || memcmp(list->string, phoneme, bytes) != 0) continue;
    for (const cJSON *id = list->child; id; id = id->next, ++*count)
      if (ids) ids[*count] = (int64_t)id->valuedouble;
    return true;
  }
  return false;
}

static bool add_all(const cJSON *map, const char *phonemes, int64_t *ids, size_t *count, size_t *at) {
  *count = 0;
  add(map, "^", 1, ids, count);
  add(map, "_", 1, ids, count);
  for (*at = 0; phonemes[*at]; *at += bytes_of(phonemes + *at)) {
    if (!add(map, phonemes + *at, bytes_of(phonemes + *at), ids, count)) return false;
    add(map, "_", 1, ids, count);
  }
  add(map, "$", 1, ids, count);
  return true;
}

const char *cli_voice_file_encode(const cli_voice_file *voice, const char *phonemes, int64_t **ids, size_t *count,
                                  size_t *at) {
  const cJSON *map = member(voice->json, "phoneme_id_map");
  *ids = NULL;
  if (!add_all(map, phonemes, NULL, count, at)) return "the voice does not know this phoneme";
  if (!*count) return "there is nothing to say";
  if (*count > LARGEST) return "the text is too long";
  if (!(*ids = malloc(*count * sizeof **ids))) return "there is not enough memory";
  add_all(map, phonemes, *ids, count, at);
  return NULL;
}

int64_t cli_voice_file_speaker(const cli_voice_file *voice, const char *name) {
  const cJSON *found = name ? member(member(voice->json, "speaker_id_map"), name) : NULL;
  char *end = NULL;
  if (!name) return 0;
  const double number = cJSON_IsNumber(found) ? found->valuedouble : (double)strtoll(name, &end, 10);
  if (end && (end == name || *end)) return -1;
  return number >= 0 && number < (double)voice->speakers ? (int64_t)number : -1;
}
