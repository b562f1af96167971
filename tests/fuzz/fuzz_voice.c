/* The JSON files of voices: the first byte says how many bytes of phonemes follow, the rest is the file. Numbers of
 * phonemes that a voice gives are in its range, and as many as were counted. */
#include "cli/voice_file.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const size_t first = size ? data[0] : 0, length = size && first < size ? first : 0;
  char *phonemes = calloc(1, length + 1), *content = malloc(size ? size : 1);
  const size_t rest = size ? size - 1 - length : 0;
  cli_voice_file voice;
  int64_t *ids = NULL;
  size_t count = 0, at = 0;
  if (!phonemes || !content) abort();
  if (length) memcpy(phonemes, data + 1, length);
  if (rest) memcpy(content, data + 1 + length, rest);
  if (!cli_voice_file_read(content, rest, &voice)) {
    if (voice.rate < 1000 || voice.speakers < 1 || !(voice.noise >= 0) || !(voice.length > 0)) abort();
    if (!cli_voice_file_encode(&voice, phonemes, &ids, &count, &at)) {
      if (!ids || !count || at != strlen(phonemes)) abort();
      for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] > 1000000) abort();
    } else if (ids || at > strlen(phonemes)) {
      abort();
    }
    const int64_t speaker = cli_voice_file_speaker(&voice, phonemes);
    if (speaker < -1 || speaker >= voice.speakers) abort();
  }
  free(ids);
  cli_voice_file_free(&voice);
  free(content);
  free(phonemes);
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {
      "\003h\xc9\x99{\"audio\":{\"sample_rate\":22050},\"phoneme_type\":\"espeak\",\"num_speakers\":1,"
      "\"phoneme_id_map\":{\"_\":[0],\"^\":[1],\"$\":[2],\"h\":[20],\"\xc9\x99\":[59]}}",
      "\001a{\"inference\":{\"noise_scale\":0.5,\"length_scale\":1,\"noise_w\":0.8},\"phoneme_type\":\"text\","
      "\"num_speakers\":2,\"speaker_id_map\":{\"a\":1},\"phoneme_id_map\":{\"a\":[3,4]}}",
      "\002no{\"phoneme_id_map\":{\"n\":[],\"o\":[1]}}"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return !seed->failed;
}
