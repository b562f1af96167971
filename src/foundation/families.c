#include "base/text.h"
#include "foundation/family.h"

#include <stdio.h>
#include <string.h>

#define BEFORE MICA_FOUNDATION_NORMS_BEFORE
#define AFTER MICA_FOUNDATION_NORMS_AFTER
#define AROUND MICA_FOUNDATION_NORMS_AROUND
#define ROTARY MICA_POSITIONS_KIND_ROTARY
#define LEARNED MICA_POSITIONS_KIND_LEARNED
#define SWIGLU MICA_FOUNDATION_FUNCTION_SWIGLU
#define GEGLU_TANH MICA_FOUNDATION_FUNCTION_GEGLU_TANH
#define GELU MICA_FOUNDATION_FUNCTION_GELU
#define GELU_TANH MICA_FOUNDATION_FUNCTION_GELU_TANH
#define QUICK_GELU MICA_FOUNDATION_FUNCTION_QUICK_GELU
#define QKV MICA__BIAS_QKV
#define OUT MICA__BIAS_OUT
#define FEED MICA__BIAS_FEED
#define LLAMA MICA__NAMING_LLAMA
#define GPT2 MICA__NAMING_GPT2
#define BERT MICA__NAMING_BERT
#define DISTILBERT MICA__NAMING_DISTILBERT
#define VIT MICA__NAMING_VIT
#define CLIP MICA__NAMING_CLIP
#define CLIP_VISION MICA__NAMING_CLIP_VISION
#define WHISPER MICA__NAMING_WHISPER
#define WHISPER_ENCODER MICA__NAMING_WHISPER_ENCODER
#define MIXTRAL MICA__EXPERTS_MIXTRAL
#define QWEN MICA__EXPERTS_QWEN
#define GPTOSS MICA__EXPERTS_GPTOSS
#define TRANSCRIBE MICA_FOUNDATION_TASK_TRANSCRIBE
#define EMBED MICA_FOUNDATION_TASK_EMBED

static const mica__family families[] = {
#define FAMILY(name_, types_, arch_, ...) {.name = #name_, .model_types = types_, .arch = arch_, __VA_ARGS__},
#include "foundation/families.def"
#undef FAMILY
};
#define COUNT (sizeof families / sizeof *families)

/* True if the list, whose entries are separated by '|', contains the type. An entry may have the name of an object
 * after a dot: "gemma3.text_config" is the type gemma3. *object receives the name of the object, or NULL if the entry
 * has none. */
static bool has_type(const char *list, const char *type, const char **object) {
  const size_t n = strlen(type);
  for (const char *at = list; *at;) {
    const size_t length = strcspn(at, "|"), name = strcspn(at, "|.");
    if (name == n && !memcmp(at, type, n)) {
      *object = name < length ? at + name + 1 : NULL;
      return true;
    }
    at += length + (at[length] == '|');
  }
  return false;
}

const mica__family *mica__family_of_type(const char *model_type, const char **object) {
  for (size_t i = 0; i < COUNT; i++)
    if (has_type(families[i].model_types, model_type, object)) return &families[i];
  return NULL;
}

const mica__family *mica__family_of_arch(const char *arch, bool experts) {
  for (size_t i = 0; i < COUNT; i++)
    if (*families[i].arch && !strcmp(families[i].arch, arch) && (families[i].experts != MICA__EXPERTS_NONE) == experts)
      return &families[i];
  return NULL;
}

const mica__family *mica__family_named(const char *name) {
  for (size_t i = 0; i < COUNT; i++)
    if (!strcmp(families[i].name, name)) return &families[i];
  return NULL;
}

const char *mica__family_list(bool gguf, char text[400]) {
  size_t at = 0;
  for (size_t i = 0; i < COUNT && at < 400; i++) {
    const char *list = gguf ? families[i].arch : families[i].model_types;
    while (*list && at < 400) {
      const size_t n = strcspn(list, "|"), name = strcspn(list, "|.");
      /* GGUF has the same architecture for llama and mixtral. */
      const bool again = gguf && families[i].experts != MICA__EXPERTS_NONE && mica__family_of_arch(list, false);
      if (!again) at += (size_t)snprintf(text + at, 400 - at, "%s%.*s", at ? ", " : "", (int)name, list);
      list += n + (list[n] == '|');
    }
  }
  return text;
}

#define NAME(list, enumerator, value)                                                                                  \
  static const char *const names[] = {list(enumerator)};                                                               \
  return (unsigned)(value) < sizeof names / sizeof *names ? names[value] : "?"
#define TEXT(name, text) text,

const char *mica_foundation_task_name(mica_foundation_task task) { NAME(MICA_FOUNDATION_TASK_LIST, TEXT, task); }

const char *mica_foundation_function_name(mica_foundation_function function) {
  NAME(MICA_FOUNDATION_FUNCTION_LIST, TEXT, function);
}

const char *mica_foundation_scaling_name(mica_foundation_scaling scaling) {
  NAME(MICA_FOUNDATION_SCALING_LIST, TEXT, scaling);
}
