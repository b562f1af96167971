/* mica/mica.h: all public headers, except mica/opencl.h, which needs the OpenCL headers.
 *
 * There are two libraries. libmica has what mica/engine.h includes: devices, tensors, graphs, networks, training, ONNX.
 * libmica_run needs libmica and adds datasets, published models, tasks and runs: the headers marked (R) below.
 *
 * In this list, each header builds on headers above it, and includes the ones that it needs. (E): experimental, see
 * MICA_EXPERIMENTAL in mica/api.h.
 *
 *   status dtype shape            status codes and messages, element types, shapes
 *   device buffer tensor          engines own a device; queues order work; tensors are views of device memory
 *   ops conv pool norm            operations on tensors, forward and backward: mica_op_gemm, mica_op_conv_fwd, ...
 *   kernel opencl                 your own kernels; engines on your own OpenCL objects
 *   graph nodes attention rnn     computations as graphs: builders, gradients
 *   index loss vision quant       indices; losses; boxes and pictures; quantised values
 *   sparse                        (E) large tables with few rows read per step; sampled classes
 *   signal speech                 sound: spectra, mel features; decoding to text, and its errors
 *   session                       a graph compiled for a device, to run repeatedly
 *   nn optim model                layers with named parameters, optimisers, networks by name
 *   sequence generate             attention and recurrent layers; text generation, beam search
 *   experts                       (E) mixtures of experts: routes, products with some of many matrices
 *   onnx                          ONNX models: read, inspect, run, write
 *   engine                        all of libmica
 *   batch                         batches as training takes them
 *   data                          (R) datasets on disk, loaders
 *   train metric                  epochs, validation, metrics, checkpoints
 *   dist parallel                 one network trained on several devices or machines; parallel: (E)
 *   tokenizer                     text to token ids and back, tokenizer.json
 *   chat                          (R, E) texts that a published model writes; conversations
 *   chat_template                 (E) conversations converted to text for chat models
 *   sampler                       (E) tokens drawn from logits
 *   grammar                       (E) masks of tokens, so that a text satisfies a JSON schema or regular expression
 *   track                         (E) tracks of boxes from frame to frame; their scores
 *   report                        lists of names and numbers that functions return
 *   run task                      (R) tasks: data and settings become a folder with a trained network
 *   run_text run_recommend        (R) text and recommendations from runs
 *   run_convert                   (R) ONNX export, quantisation, pruning and masking of runs
 *   compare transcribe speak      (R, E) comparison of runs; streaming speech recognition; speech from texts
 *   compress                      (E) quantisation and pruning
 *   blocks weights gguf           (E) block types; weights of published models by name
 *   foundation                    (R, E) published language models
 *   adapter                       (E) low-rank adapters of networks
 *   finetune                      (R, E) files of adapters; training of adapters on conversations
 *   embed                         (R, E) vectors of texts by published models; nearest neighbours
 *   whisper                       (R, E) Whisper: features of sound, encoder, decoder
 *   safetensors history io        files of weights, histories and arrays
 *   profile doctor tune cache     kernel times, correctness of a device, fastest kernels, disk cache
 *   bundle                        (E) compiled kernels in a file, for devices without a compiler
 *   signature                     (E) signed models and bundles
 *
 * For inference, include mica/model.h, and mica/nn.h with mica/nodes.h for a network of your own: mica_engine_create,
 * mica_model_create, mica_nn_load, mica_tensor_upload, mica_session_run, mica_tensor_download. For a portable BLAS and
 * cuDNN, include mica/ops.h, mica/conv.h, mica/pool.h and mica/norm.h. For a training loop of your own, include
 * mica/optim.h.
 *
 * Names. Functions are mica_<noun>_<verb>. Builders of graph values are mica_<op> (mica_relu). Operations on tensors
 * are mica_op_<op>, or mica_op_<op>_<pass> if the op has a backward pass. Enumerators of a type mica_<noun> are
 * MICA_<NOUN>_<NAME>, listed by the X-macro MICA_<NOUN>_LIST. Only statuses (MICA_OK, MICA_E_<NAME>) and dtypes
 * (MICA_F32) are shorter.
 *
 * Ownership. Destroy (or close) what you create (or open). destroy(NULL) does nothing. Pointers returned by other
 * functions belong to the object and are valid as long as it is, unless the contract differs. If the caller must free a
 * text or an array with mica_free, the contract says so. Arguments are read during the call; a function that keeps one
 * says so. A NULL argument gives MICA_E_INVALID, or a null value from functions that return values. Functions that only
 * query an object must not get NULL for it. Destroy everything created from an engine before the engine. Results are
 * written through pointers on success only.
 *
 * Threads. Each header says which calls may run at the same time on one object. Different objects are independent:
 * several threads may use one engine, each with its own queues, graphs, sessions and networks.
 *
 * Zeros. Zero-initialise structures named ..._config, or use ..._config_default() if it exists. A zero field always
 * means the default, so new fields never break a caller. NULL means all defaults. "0: 64" in a comment says that 0
 * means 64. Where 0 means another number, MICA_ZERO sets a field of type double to zero. Fields without a default say
 * so.
 *
 * Binary compatibility. Within a minor version (0.5.x), which is part of the shared library's name, structures,
 * enumerators and signatures do not change; functions may be added. A new minor version may add fields and enumerators;
 * recompile programs for it. Source code continues to compile if it initialises structures by name. mica_stats and
 * mica_device_info may grow within a minor version: the functions that fill them take the size that the program was
 * compiled with. */
#ifndef MICA_H
#define MICA_H

#include <mica/adapter.h>
#include <mica/chat.h>
#include <mica/compare.h>
#include <mica/data.h>
#include <mica/embed.h>
#include <mica/engine.h>
#include <mica/finetune.h>
#include <mica/foundation.h>
#include <mica/run.h>
#include <mica/run_convert.h>
#include <mica/run_recommend.h>
#include <mica/run_text.h>
#include <mica/speak.h>
#include <mica/task.h>
#include <mica/transcribe.h>
#include <mica/whisper.h>

#endif
