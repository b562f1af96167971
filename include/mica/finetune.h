/* mica/finetune.h: train adapters of published models on conversations; files of adapters.
 *
 *   mica_conversations_open(model, "chats.jsonl", NULL, &chats);
 *   mica_adapter_create(&(mica_adapter_config){.rank = 16}, &adapter);
 *   mica_finetune_config config = {.training = mica_conversations_source(chats, engine), .epochs = 3};
 *   mica_finetune(engine, model, adapter, &config);
 *   mica_foundation_adapter_save(model, adapter, "adapter", MICA_ADAPTER_FORM_PEFT);
 *
 * Threads: calls that only read a model or an adapter may run at once. */
#ifndef MICA_FINETUNE_H
#define MICA_FINETUNE_H

#include <mica/adapter.h>
#include <mica/foundation.h>
#include <mica/train.h>

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

/* Writes a model with an adapter merged into its matrices: W + scale B A, computed in f32. A path that ends in .gguf
 * becomes a GGUF file. Another one becomes a folder for transformers; the model must be a folder then. Layers keep
 * their type unless config names another one: a matrix in blocks is dequantised, merged and quantised again, which
 * rounds it once more. config and written may be NULL. Blocks.
 *
 * MICA_E_STATE: the adapter has no layers, or a layer has no values. MICA_E_NOT_FOUND: the model lacks a layer of the
 * adapter. MICA_E_SHAPE: a layer has other sizes. MICA_E_INVALID: config names a type and the result is a folder.
 * Otherwise the errors of mica_foundation_write. */
MICA_API MICA_CHECKED mica_status mica_foundation_merge(const mica_foundation *model, const mica_adapter *adapter,
                                                        const char *path, const mica_foundation_write_config *config,
                                                        mica_foundation_written *written);

/* --- conversations --- */

/* Conversations as rows of tokens. Several conversations may share a row; none sees another one's tokens. */
typedef struct mica_conversations mica_conversations;

typedef struct mica_conversations_config {
  int64_t context;  /* tokens per row; 0: 512, or the model's context if it is less */
  int32_t batch;    /* rows per batch; 0: 4 */
  bool loss_on_all; /* the loss counts all tokens; false: the assistant's answers, with their end */
  bool one_per_row; /* conversations do not share rows */
  uint64_t seed;    /* of the order of rows, anew in each epoch */
  bool in_order;    /* keep the order of rows */
  /* Data parallelism: part `shard` of `shards` of each batch, for ranks with equal files, batch and seed. A last batch
   * with fewer rows than shards is omitted. 0 and 0: whole batches. */
  int32_t shard, shards;
} mica_conversations_config;

/* Reads a file of JSON lines for a model with a tokenizer: {"messages": [{"role": ..., "content": ...}, ...]} (and
 * "tools") through the model's chat template, {"prompt": ..., "completion": ...} or {"text": ...} as they are, with the
 * token that ends a text after them. Empty lines are skipped. Conversations longer than a row are left out and counted.
 * config may be NULL; the model must outlive the conversations.
 *
 * MICA_E_UNSUPPORTED: a build without cJSON. MICA_E_NOT_FOUND: the file, the tokenizer or the template is missing.
 * MICA_E_INVALID: the context is out of range, a negative batch, or a shard that is not one of 0 to shards - 1, or more
 * shards than rows of a batch. MICA_E_FORMAT names line and reason: a line that is not such an object or above 16 MiB,
 * a conversation that the template refuses, a template whose text changes as messages are added (the message names the
 * message); no conversation with an answer fits. */
MICA_API MICA_CHECKED mica_status mica_conversations_open(const mica_foundation *model, const char *path,
                                                          const mica_conversations_config *config,
                                                          mica_conversations **conversations);
/* NULL is a no-op. */
MICA_API void mica_conversations_close(mica_conversations *conversations);

typedef struct mica_conversations_info {
  int64_t conversations, dropped; /* read; longer than a row */
  int64_t rows, context;
  int64_t tokens, counted; /* tokens in all rows; the number of them that the loss counts */
} mica_conversations_info;
/* Counts of what was read. */
MICA_API mica_conversations_info mica_conversations_describe(const mica_conversations *conversations);

/* Batches with the columns of mica_finetune: "ids", "labels" and "starts", each (N, context) i32. A label is the next
 * token, or -1 if the loss does not count it. Tensors are made on the engine at the first batch; stop using the source
 * before you close the conversations or destroy the engine. */
MICA_API mica_batch_source mica_conversations_source(mica_conversations *conversations, mica_engine *engine);

/* --- training --- */

typedef struct mica_finetune_config {
  mica_batch_source training, validation; /* of conversations; validation without columns: none */
  int64_t epochs;                         /* 0: 1 */
  double rate;                            /* highest learning rate; 0: 2e-4 */
  double clip_norm;                       /* 0: 1 */
  double weight_decay;                    /* 0: none */
  int32_t accumulate;                     /* batches per step; 0: 1 */
  mica_dtype dtype;                       /* type that layers compute in */
  uint64_t seed;
  const char *folder; /* of checkpoints and history.csv; NULL: none */
  bool recompute;     /* less memory, more time; see mica_foundation_build */
  bool resume;        /* continue from the last checkpoint in `folder`, to the same bits */
  /* Each rank has a model, an adapter of the same configuration, its own engine, and its shard of the conversations.
   * Gradients of adapters are summed. Rank 0 writes the files. NULL: one rank. */
  struct mica_communicator *communicator;
  mica_train_fn *report;
  void *user;
  const volatile int *stop; /* as in mica_trainer_config */
} mica_finetune_config;

/* Trains an adapter of a model with AdamW, a warm-up over 3 % of the steps and a cosine schedule. The model's weights
 * keep the form of its files and do not change. The adapter receives the values of the last epoch. Training starts from
 * the values that it has, as from a file. Checkpoints hold the adapter, the optimiser's state and norms, but no other
 * weight of the model.
 *
 * Errors as in mica_foundation_network, mica_adapter_freeze_base, mica_trainer_create and mica_trainer_fit.
 * MICA_E_NOT_FOUND: resume without a checkpoint. MICA_E_UNSUPPORTED: the model generates no text. MICA_E_INVALID:
 * epochs, rate or clip_norm is negative, or training has no columns. Blocks. */
MICA_API MICA_CHECKED mica_status mica_finetune(mica_engine *engine, const mica_foundation *model,
                                                mica_adapter *adapter, const mica_finetune_config *config);

MICA_END_DECLS

#endif
