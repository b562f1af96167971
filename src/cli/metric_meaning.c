#include "cli/metric_meaning.h"

#include <stddef.h>
#include <string.h>

typedef struct meaning {
  const char *task; /* NULL: any */
  const char *metric, *text;
} meaning;

static const meaning meanings[] = {
    {"depth", "rmse", "root of the mean squared error, in the unit of the depth maps"},
    {"detect", "recall", "share of the true boxes that are found, mean over overlaps of 0.5 to 0.95"},
    {"detect", "map", "mean average precision, over overlaps of 0.5 to 0.95; 1 is best"},
    {"recommend", "recall", "share of a user's next items that are among the first recommendations"},
    {"segment", "accuracy", "share of pixels whose class is right"},
    {"segment_volumes", "accuracy", "share of voxels whose class is right"},
    {NULL, "loss", "value that training minimises; less is better"},
    {NULL, "accuracy", "share of right answers"},
    {NULL, "f1", "harmonic mean of precision and recall, mean over classes; 1 is best"},
    {NULL, "precision", "of the samples predicted as a class, the share that is right; mean over classes"},
    {NULL, "recall", "of the samples of a class, the share that is found; mean over classes"},
    {NULL, "top_5", "share of samples whose class is among the five likeliest"},
    {NULL, "map", "mean average precision over the labels; 1 is best"},
    {NULL, "mae", "mean absolute error, in the units of the answers"},
    {NULL, "rmse", "root of the mean squared error, in the units of the answers"},
    {NULL, "r2", "share of the variance that is explained; 1 is best, 0 is the mean's"},
    {NULL, "absrel", "mean absolute error divided by the true depth; less is better"},
    {NULL, "delta1", "share of pixels whose depth is wrong by a factor below 1.25; 1 is best"},
    {NULL, "mae_last", "mae if each series keeps its last value"},
    {NULL, "mae_season", "mae if each series repeats its last season"},
    {NULL, "mase", "mae divided by the mae of a naive forecast of the training part; below 1 is better than naive"},
    {NULL, "mase_last", "mase if each series keeps its last value"},
    {NULL, "mase_season", "mase if each series repeats its last season"},
    {NULL, "map_50", "mean average precision of boxes that overlap a true one by at least 0.5; 1 is best"},
    {NULL, "map_75", "mean average precision of boxes that overlap a true one by at least 0.75"},
    {NULL, "map_small", "map of boxes smaller than 32 x 32 pixels"},
    {NULL, "map_medium", "map of boxes between 32 x 32 and 96 x 96 pixels"},
    {NULL, "map_large", "map of boxes larger than 96 x 96 pixels"},
    {NULL, "ap_50", "average precision of a class at overlaps of at least 0.5"},
    {NULL, "class_loss", "part of the loss: classes"},
    {NULL, "giou_loss", "part of the loss: position and size of boxes"},
    {NULL, "centre_loss", "part of the loss: distance from the centres of boxes"},
    {NULL, "dice", "twice the common area, divided by the sum of both areas; 1 is best"},
    {NULL, "iou", "common area divided by the united area; 1 is best"},
    {NULL, "hausdorff", "largest distance between the predicted and the true surface"},
    {NULL, "hausdorff_95", "distance between surfaces that 95 % of their points do not exceed"},
    {NULL, "perplexity", "exp of the mean loss per token; less is better"},
    {NULL, "bits_per_byte", "bits that the network needs per byte of the text; less is better"},
    {NULL, "bytes_per_token", "mean length of a token"},
    {NULL, "bleu", "agreement of greedy translations with the references, 0 to 100"},
    {NULL, "bleu_beam", "bleu with a beam search (--beam)"},
    {NULL, "wer", "wrong, missing and added words per word of the true texts"},
    {NULL, "cer", "wrong, missing and added letters per letter of the true texts"},
    {NULL, "spectrum_mae", "mean absolute error of the scaled logarithmic spectrum"},
    {NULL, "duration_mae", "mean absolute error of a letter's duration, in frames"},
    {NULL, "noise_mse", "mean squared error of the predicted noise"},
    {NULL, "eer", "share of wrong decisions at the threshold where both kinds are equally frequent"},
    {NULL, "threshold", "similarity at which both kinds of wrong decisions are equally frequent"},
    {NULL, "tar_1", "share of pairs of one class that are accepted if 1 % of the other pairs are"},
    {NULL, "nearest", "share of samples whose nearest other sample has their class"},
    {NULL, "auc", "probability that a right pair or click scores higher than a wrong one"},
    {NULL, "log_loss", "mean negative logarithm of the true answer's probability"},
    {NULL, "ndcg", "rank of a user's next items among the recommendations; 1 is best"},
    {NULL, "hit_rate", "share of users who find a next item among the recommendations"},
    {NULL, "coverage", "share of all items that are recommended to someone"},
};

const char *cli_metric_meaning(const char *task, const char *metric, const char **suffix) {
  const meaning *found = NULL;
  size_t longest = 0;
  *suffix = NULL;
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
    const meaning *m = &meanings[i];
    const size_t length = strlen(m->metric);
    if (length <= longest || strncmp(metric, m->metric, length) != 0) continue;
    if ((metric[length] && metric[length] != '_') || (m->task && (!task || strcmp(task, m->task) != 0))) continue;
    found = m;
    longest = length;
  }
  if (found && metric[longest]) *suffix = metric + longest + 1;
  return found ? found->text : NULL;
}
