/* mica/engine.h: the headers of libmica, without datasets, published models, tasks and runs, which are in libmica_run.
 *
 * A program that includes only these links with -lmica alone. mica/mica.h has the rules that hold everywhere. */
#ifndef MICA_ENGINE_H
#define MICA_ENGINE_H

#include <mica/attention.h>
#include <mica/batch.h>
#include <mica/blocks.h>
#include <mica/buffer.h>
#include <mica/bundle.h>
#include <mica/cache.h>
#include <mica/chat_template.h>
#include <mica/compress.h>
#include <mica/conv.h>
#include <mica/device.h>
#include <mica/dist.h>
#include <mica/doctor.h>
#include <mica/dtype.h>
#include <mica/experts.h>
#include <mica/generate.h>
#include <mica/gguf.h>
#include <mica/grammar.h>
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
#include <mica/safetensors.h>
#include <mica/sampler.h>
#include <mica/sequence.h>
#include <mica/session.h>
#include <mica/shape.h>
#include <mica/signal.h>
#include <mica/signature.h>
#include <mica/sparse.h>
#include <mica/speech.h>
#include <mica/status.h>
#include <mica/tensor.h>
#include <mica/tokenizer.h>
#include <mica/track.h>
#include <mica/train.h>
#include <mica/tune.h>
#include <mica/version.h>
#include <mica/vision.h>
#include <mica/weights.h>
#include <mica/window.h>

#endif
