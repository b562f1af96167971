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

/* Reads an adapter for a model: a PEFT folder or a GGUF file. The model may be a folder or a GGUF file in both cases:
 * if the two formats order rows of queries and keys differently, the adapter's rows are reordered. Values are read into
 * memory, as f32.
 *
 * MICA_E_NOT_FOUND, MICA_E_IO. MICA_E_UNSUPPORTED: a PEFT folder in a build without cJSON; another kind of adapter
 * than LoRA (DoRA, ...), trained biases, embeddings or whole modules; an output layer tied to the embeddings. The
 * message names the cause. MICA_E_FORMAT: one of these cases; the message names tensor and reason:
 *
 *   - a tensor that is not for a matrix of this model; A without B, or B without A
 *   - shapes that do not fit the model, with both sides; a rank outside 1 to 1,024
 *   - an alpha that is missing or not a number; numbers that are not finite */
MICA_API MICA_CHECKED mica_status mica_foundation_adapter_open(const mica_foundation *model, const char *path,
                                                               mica_adapter **adapter);

/* Writes an adapter's values (mica_adapter_read_from) for a model: a folder for PEFT, else a file. Each file is
 * replaced atomically. MICA_E_STATE: the adapter has no values, or no layers. MICA_E_NOT_FOUND: a layer is not one of
 * the model's. MICA_E_UNSUPPORTED: this form cannot hold adapters of the model's family, or PEFT in a build without
 * cJSON. MICA_E_IO. */
MICA_API MICA_CHECKED mica_status mica_foundation_adapter_save(const mica_foundation *model,
                                                               const mica_adapter *adapter, const char *path,
                                                               mica_adapter_form form);

/* Writes a model with an adapter merged into its matrices: W + scale B A, computed in f32. A path that ends in .gguf
 * becomes a GGUF file. Any other path becomes a folder for transformers, for which the model must be a folder too.
 * Layers keep their type unless config names another one. A matrix in blocks is dequantised, merged and quantised
 * again, which rounds it once more. config and written may be NULL. Blocks.
 *
 * MICA_E_STATE: the adapter has no layers, or a layer has no values. MICA_E_NOT_FOUND: the model lacks a layer of the
 * adapter. MICA_E_SHAPE: a layer has other sizes. MICA_E_INVALID: config names a type and the result is a folder.
 * MICA_E_UNSUPPORTED: the result is a folder, but the model is a GGUF file or a merged matrix is not F32, F16 or BF16.
 * It can also fail as mica_foundation_write does. */
MICA_API MICA_CHECKED mica_status mica_foundation_merge(const mica_foundation *model, const mica_adapter *adapter,
                                                        const char *path, const mica_foundation_write_config *config,
                                                        mica_foundation_written *written);

/* --- conversations --- */

/* Conversations as rows of tokens. Several conversations may share a row; none sees another one's tokens. */
typedef struct mica_conversations mica_conversations;

typedef struct mica_conversations_config {
  int64_t context;  /* tokens per row; 0: 512, or the model's context if it is less */
  int32_t batch;    /* rows per batch; 0: 4 */
  bool loss_on_all; /* the loss counts all tokens; false: only the assistant's answers, with their end tokens */
  bool one_per_row; /* conversations do not share rows */
  uint64_t seed;    /* selects the order of rows, which differs in each epoch */
  bool in_order;    /* keep the order of rows */
  /* Data parallelism: part `shard` of `shards` of each batch, for ranks with equal files, batch and seed. A last batch
   * with fewer rows than shards is omitted. 0 and 0: whole batches. */
  int32_t shard, shards;
} mica_conversations_config;

/* Reads a file of JSON lines for a model with a tokenizer. config may be NULL; the model must outlive the
 * conversations. Empty lines are skipped. Conversations without an answer are left out, and so are conversations longer
 * than a row, which are counted. Each line is one of these:
 *
 *   {"messages": [{"role": ..., "content": ...}, ...]}   (and "tools"); the model's chat template makes the text
 *   {"prompt": ..., "completion": ...}                   the two texts between the model's begin and end tokens
 *   {"text": ...}                                        the text between the model's begin and end tokens
 *
 * MICA_E_UNSUPPORTED: a build without cJSON, or the template uses something that Mica lacks. MICA_E_NOT_FOUND: the
 * file, the tokenizer or the template is missing. MICA_E_INVALID: the context is out of range, batch is negative, shard
 * is not one of 0 to shards - 1, there are more shards than rows of a batch, or the chat template refuses a
 * conversation (it calls raise_exception). MICA_E_FORMAT: one of these cases. The message says which and, if one line
 * is at fault, gives its number:
 *
 *   - a line is not such an object, is above 16 MiB, or has a token outside of the model's vocabulary
 *   - the template fails for a conversation, or changes its earlier text when a message is added
 *   - the file is empty, or none of its conversations has an answer and fits a row */
MICA_API MICA_CHECKED mica_status mica_conversations_open(const mica_foundation *model, const char *path,
                                                          const mica_conversations_config *config,
                                                          mica_conversations **conversations);
/* NULL is a no-op. */
MICA_API void mica_conversations_close(mica_conversations *conversations);

typedef struct mica_conversations_info {
  int64_t conversations, dropped; /* conversations in rows; conversations left out because they are longer than a row */
  int64_t rows, context;
  int64_t tokens, counted; /* tokens in all rows; the number of them that the loss counts */
} mica_conversations_info;
/* Returns counts of what was read. */
MICA_API mica_conversations_info mica_conversations_describe(const mica_conversations *conversations);

/* Returns a source of batches with the columns that mica_finetune reads: "ids", "labels" and "starts", each (N,
 * context) i32. A label is the next token, or -1 if the loss does not count it. Tensors are made on the engine at the
 * first batch; stop using the source before you close the conversations or destroy the engine. */
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
  const char *folder; /* folder for checkpoints and history.csv; NULL: none */
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
 * keep the form of its files and do not change. If the adapter already has values, for example from a file, training
 * starts from them. At the end the adapter has the values after the last step. Checkpoints hold the adapter, the
 * optimiser's state and norms, but no other weight of the model. Blocks.
 *
 * MICA_E_NOT_FOUND: resume with a folder that has no checkpoint. MICA_E_UNSUPPORTED: the model does not generate text.
 * MICA_E_INVALID: epochs, rate or clip_norm is negative, or training has no columns. It can also fail as
 * mica_foundation_network, mica_adapter_freeze_base, mica_trainer_create and mica_trainer_fit do. */
MICA_API MICA_CHECKED mica_status mica_finetune(mica_engine *engine, const mica_foundation *model,
                                                mica_adapter *adapter, const mica_finetune_config *config);

MICA_END_DECLS

#endif
