/* Names of languages in the first line of a table of translations. */
#include "data/table/table.h"

#include <ctype.h>
#include <string.h>

#define LONGEST_WORD 16

/* ISO 639-1. */
static const char codes[] = "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv "
                            "cy da de dv dz ee el en eo "
                            "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii "
                            "ik io is it iu ja jv ka kg "
                            "ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms "
                            "mt my na nb nd ne ng nl nn "
                            "no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn "
                            "so sq sr ss st su sv sw ta "
                            "te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";

/* Languages by their English names, the largest also by their own, and words for the sides of a translation. */
static const char words[] =
    "afrikaans albanian arabic armenian basque bengali bulgarian catalan chinese croatian czech danish dutch english "
    "estonian finnish french galician georgian german greek gujarati hebrew hindi hungarian icelandic indonesian irish "
    "italian japanese kannada kazakh khmer korean latin latvian lithuanian macedonian malay malayalam marathi "
    "mongolian "
    "nepali norwegian pashto persian polish portuguese punjabi romanian russian serbian sinhala slovak slovene "
    "slovenian "
    "somali spanish swahili swedish tamil telugu thai tibetan turkish ukrainian urdu uzbek vietnamese welsh xhosa "
    "yoruba "
    "zulu deutsch englisch francais espanol italiano source src target tgt trg original translation translated "
    "reference "
    "sentence text";

/* True for a word of the list. */
static bool is_listed(const char *list, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
    if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length])) return true;
  return false;
}

/* True for the code of a language in lower or upper case ("Si" is a word). If the word before is a code, any two
 * letters of one case are accepted, because they name a country (en-US). */
static bool is_code(const char *word, const char *lower, bool behind_code) {
  if (strlen(word) != 2 || (isupper((unsigned char)word[0]) != 0) != (isupper((unsigned char)word[1]) != 0))
    return false;
  return behind_code || is_listed(codes, lower);
}

bool mica__cell_is_language(mica__cell cell) {
  bool code = false;
  size_t found = 0;
  for (size_t at = 0; at < cell.length;) {
    char word[LONGEST_WORD + 1] = "", lower[LONGEST_WORD + 1] = "";
    size_t n = 0;
    while (at < cell.length && isalpha((unsigned char)cell.text[at]) && n < LONGEST_WORD) {
      lower[n] = (char)tolower((unsigned char)cell.text[at]);
      word[n++] = cell.text[at++];
    }
    const bool is = is_code(word, lower, code);
    if (!n || (!is && !is_listed(words, lower))) return false;
    code = is;
    found++;
    if (at < cell.length && !strchr(" _-.", cell.text[at])) return false;
    at += at < cell.length;
  }
  return found > 0;
}
