/* mica/mica.h: all of Mica's public API but mica/opencl.h, which alone needs the OpenCL headers.
 *
 * Levels, each made of those above it; a program includes the lowest of the table that it uses.
 *
 *   status dtype shape            statuses and their sentences, element types, shapes
 *   device buffer tensor          an engine owns a device; queues order its work; tensors lie in its memory
 *   ops conv pool norm            operations on tensors, forward and backward: mica_op_gemm, mica_op_conv_fwd, ...
 *   kernel opencl                 kernels of your own; an engine on OpenCL objects of your own
 *   graph nodes attention rnn     computations as graphs: builders, gradients
 *   index loss vision quant       indices; losses; boxes and pictures; integers that stand for real numbers
 *   sparse                        large tables, few rows of them read; sampled classes
 *   signal speech                 sound: spectra, mel features; from scores to text, and its errors
 *   session                       a graph compiled for a device, to be run again and again
 *   nn optim model                layers with named parameters, optimisers, networks known by name
 *   sequence generate             attention and recurrent layers; texts continued token by token
 *   onnx                          models in ONNX files: read, described, run
 *   batch data                    batches, datasets on disk, loaders
 *   train metric                  epochs, validation, metrics, checkpoints
 *   dist parallel                 several devices or machines that train one network
 *   tokenizer                     texts as token ids and back, tokenizer.json
 *   chat_template                 conversations as the text that a chat model reads
 *   sampler                       tokens drawn from logits
 *   run task report compare       tasks: data and settings become a folder with a trained network; runs side by side
 *   run_text run_recommend        texts and recommendations from runs
 *   run_convert                   exported, pruned and masked networks of runs
 *   transcribe                    sound to text as it comes
 *   compress                      smaller networks: weights and inputs of layers as integers
 *   blocks weights gguf           block types; published models' weights by name, whatever their files
 *   foundation                    published language models
 *   safetensors history io        weights, tables and pictures as files
 *   profile doctor tune cache     what a device's time goes to, whether it computes right, its fastest kernels
 *
 * Who only infers includes mica/model.h (mica/nn.h and mica/nodes.h for a network of its own): mica_engine_create,
 * mica_model_create, mica_nn_load, mica_tensor_upload, mica_session_run, mica_tensor_download. Who wants a portable
 * BLAS and cuDNN includes mica/ops.h, mica/conv.h, mica/pool.h and mica/norm.h. Who has a training loop of his own
 * includes mica/optim.h.
 *
 * Names are mica_<noun>_<verb>; builders of a graph's values are mica_<op> (mica_relu), operations on tensors
 * mica_op_<op>, or mica_op_<op>_<pass> where an op has a backward pass. An enumerator of the type mica_<noun> is
 * MICA_<NOUN>_<NAME>, and MICA_<NOUN>_LIST is the X-macro that lists them; only statuses (MICA_OK, MICA_E_<NAME>) and
 * dtypes (MICA_F32) are shorter.
 *
 * Ownership. What create (or open) makes, destroy (or close) releases, and destroy(NULL) does nothing. Pointers that
 * other functions return belong to the object asked and are valid as long as it is, unless they say otherwise; texts
 * and arrays "the caller's to mica_free" are the caller's. Arguments are read during the call, and kept only where the
 * function says so. NULL is MICA_E_INVALID to what returns a status, and gives a null value where a value is returned;
 * functions that look at an object want one. What is made from an engine is destroyed before it. Pointers that results
 * are stored through are written on success alone.
 *
 * Threads. Each header says which calls may run at the same time on one object. Different objects are independent:
 * several threads may work on one engine, each with queues, graphs, sessions and networks of its own.
 *
 * Zeros. Structures named ..._config are zero-initialised, or filled by ..._config_default() where there is one: a zero
 * field always means the default, so that fields added later never break a caller, and NULL means all defaults.
 * MICA_ZERO is a real zero where 0 stands for something else. What has no default says so where it stands.
 *
 * Binary compatibility. Within a minor version (0.5.x), which the shared library's name carries, no structure,
 * enumerator or signature changes, and functions may be added. A new minor version may add fields and enumerators, and
 * programs are compiled anew for it; source code goes on compiling where it initialises structures by name. Counters
 * and descriptions of devices grow within a minor version too: the functions that fill mica_stats and mica_device_info
 * take the size that the program was compiled with. */
#ifndef MICA_H
#define MICA_H

#include <mica/attention.h>
#include <mica/batch.h>
#include <mica/blocks.h>
#include <mica/buffer.h>
#include <mica/cache.h>
#include <mica/chat_template.h>
#include <mica/compare.h>
#include <mica/compress.h>
#include <mica/conv.h>
#include <mica/data.h>
#include <mica/device.h>
#include <mica/dist.h>
#include <mica/doctor.h>
#include <mica/dtype.h>
#include <mica/foundation.h>
#include <mica/generate.h>
#include <mica/gguf.h>
#include <mica/graph.h>
#include <mica/history.h>
#include <mica/index.h>
#include <mica/io.h>
#include <mica/kernel.h>
#include <mica/loss.h>
#include <mica/metric.h>
#include <mica/model.h>
#include <mica/nn.h>
#include <mica/nodes.h>
#include <mica/norm.h>
#include <mica/onnx.h>
#include <mica/ops.h>
#include <mica/optim.h>
#include <mica/parallel.h>
#include <mica/pool.h>
#include <mica/profile.h>
#include <mica/quant.h>
#include <mica/report.h>
#include <mica/rnn.h>
#include <mica/run.h>
#include <mica/run_convert.h>
#include <mica/run_recommend.h>
#include <mica/run_text.h>
#include <mica/safetensors.h>
#include <mica/sampler.h>
#include <mica/sequence.h>
#include <mica/session.h>
#include <mica/shape.h>
#include <mica/signal.h>
#include <mica/sparse.h>
#include <mica/speech.h>
#include <mica/status.h>
#include <mica/task.h>
#include <mica/tensor.h>
#include <mica/tokenizer.h>
#include <mica/train.h>
#include <mica/transcribe.h>
#include <mica/tune.h>
#include <mica/version.h>
#include <mica/vision.h>
#include <mica/weights.h>
#include <mica/window.h>

#endif
