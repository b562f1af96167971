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

/* Cuts out the middle of each recording (N, T): `length` samples, padded with zeros if the recording is shorter.
 * Training shifts the middle at random by up to `shift` samples in either direction, if `shift` is at least 1. lengths
 * (N) are the numbers of valid samples. */
mica_value mica__keywords_middles(mica_nn *nn, mica_value x, mica_value lengths, int64_t length, double shift);
/* Cuts out the middle of recordings (N, T) that have no padding, without random numbers. Exported models use this.
 * Samples beyond the ends are set to zero by a mask, because ONNX does not define gathering with indices out of
 * range. */
mica_value mica__keywords_whole_middles(mica_value x, int64_t length);
/* Log mel spectra (N, 1, mels, frames), relative to the loudest value of each recording and standardised. The loudness
 * of a recording and zeros around it hardly change the result. In training, some frequencies and frames are masked at
 * random if k->masks is above 0. */
mica_value mica__keywords_spectra(mica_nn *nn, const mica__keywords *k, mica_value x);
/* The network over spectra x (N, 1, mels, frames): (N, outputs). */
mica_value mica__keywords_build(mica_nn *nn, const mica__keywords *k, mica_value x, int64_t outputs);

#endif
