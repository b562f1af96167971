/* mica/finetune.h: files of adapters for published models, and models with an adapter merged in.
 *
 *   mica_foundation_adapter_open(model, "adapter", &adapter);        a folder of PEFT's, or a GGUF adapter
 *   mica_foundation_adapter_save(model, adapter, "adapter.gguf", MICA_ADAPTER_FORM_GGUF);
 *   mica_foundation_merge(model, adapter, "merged.gguf", NULL);
 *
 * Threads: calls that only read a model or an adapter may run at once. */
#ifndef MICA_FINETUNE_H
#define MICA_FINETUNE_H

#include <mica/adapter.h>
#include <mica/foundation.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* name, text. PEFT: a folder with adapter_config.json and adapter_model.safetensors, for the Python package peft.
 * GGUF: a file for llama.cpp. */
#define MICA_ADAPTER_FORM_LIST(X)                                                                                      \
  X(PEFT, "peft")                                                                                                      \
  X(GGUF, "gguf")

typedef enum mica_adapter_form {
#define MICA_ADAPTER_FORM_ENUM(name, text) MICA_ADAPTER_FORM_##name,
  MICA_ADAPTER_FORM_LIST(MICA_ADAPTER_FORM_ENUM)
#undef MICA_ADAPTER_FORM_ENUM
} mica_adapter_form;

/* "peft", "gguf"; "?" for any other value. */
MICA_API const char *mica_adapter_form_name(mica_adapter_form form);

/* Reads an adapter for a model: a PEFT folder or a GGUF file. Either form fits either form of the model: rows of
 * queries and keys are reordered where the files differ. Values are read into memory, as f32.
 *
 * MICA_E_NOT_FOUND, MICA_E_IO. MICA_E_UNSUPPORTED: a PEFT folder in a build without cJSON; another kind of adapter
 * than LoRA (DoRA, ...), trained biases, embeddings or whole modules; an output layer tied to the embeddings. The
 * message names it. MICA_E_FORMAT names tensor and reason:
 *
 *   - a tensor that is not for a matrix of this model; A without B, or B without A
 *   - shapes that do not fit the model, with both sides; a rank outside 1 to 1,024
 *   - an alpha that is missing or not a number; numbers that are not finite */
MICA_API MICA_CHECKED mica_status mica_foundation_adapter_open(const mica_foundation *model, const char *path,
                                                               mica_adapter **adapter);

/* Writes an adapter's values (mica_adapter_read_from) for a model: a folder for PEFT, else a file. Each file is
 * replaced atomically. MICA_E_STATE: the adapter has no values, or no layers. MICA_E_NOT_FOUND: a layer is not one of
 * the model's. MICA_E_UNSUPPORTED: the form lacks the model's family. MICA_E_IO. */
MICA_API MICA_CHECKED mica_status mica_foundation_adapter_save(const mica_foundation *model,
                                                               const mica_adapter *adapter, const char *path,
                                                               mica_adapter_form form);

MICA_END_DECLS

#endif
