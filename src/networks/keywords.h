/* networks/keywords.h: log mel spectra of the middle of recordings, and a network of depthwise separable convolutions
 * over them (Zhang et al. 2017). */
#ifndef MICA_NETWORKS_KEYWORDS_H
#define MICA_NETWORKS_KEYWORDS_H

#include <mica/nn.h>

typedef struct mica__keywords {
  double rate; /* samples per second */
  int64_t mels, masks, width;
  double dropout;
} mica__keywords;

/* The middle of each recording (N, T): `length` samples, with zeros around it; training shifts it by up to `shift`
 * samples. lengths (N): the valid samples of each. */
mica_value mica__keywords_middles(mica_nn *nn, mica_value x, mica_value lengths, int64_t length, double shift);
/* Middles of whole recordings (N, T), without lengths and random numbers, as exported models read them. A mask makes
 * the zeros around them, because ONNX does not define indices beyond the samples. */
mica_value mica__keywords_whole_middles(mica_value x, int64_t length);
/* Log mel spectra (N, 1, mels, frames), from 0 at the loudest value of a recording down, standardised. Neither the
 * loudness nor the surrounding zeros have an influence. */
mica_value mica__keywords_spectra(mica_nn *nn, const mica__keywords *k, mica_value x);
/* The network over spectra x (N, 1, mels, frames): (N, outputs). */
mica_value mica__keywords_build(mica_nn *nn, const mica__keywords *k, mica_value x, int64_t outputs);

#endif
