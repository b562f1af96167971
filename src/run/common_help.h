/* run/common_help.h: the longer help texts of the settings in run/common_fields.h. */
#ifndef MICA_RUN_COMMON_HELP_H
#define MICA_RUN_COMMON_HELP_H

#define MICA__HELP_EPOCHS                                                                                              \
  "passes over the training data (default: 10 or the task's number; with few samples up to ten times that, until "     \
  "there are 900 steps for pictures without --model, or 300 to 1,200 by task)"
#define MICA__HELP_LR                                                                                                  \
  "peak learning rate (default: 5e-5 for a published model; else the task's; if it has none, 0.1 for resnet18, "       \
  "resnet50 and mobilenetv2, 0.05 for vgg11 and 0.003 for other networks, or with another --optimizer than the "       \
  "network's 0.05 for sgd, 0.01 for adagrad, 3e-4 for lion and 0.001 for others)"
#define MICA__HELP_SCHEDULE                                                                                            \
  "learning-rate schedule, after the warm-up; step multiplies the rate by 0.1 after each third of the epochs; "        \
  "exponential lowers it in each batch, by a factor of 0.9 per epoch (default: one_cycle, or cosine with --warm-up)"
#define MICA__HELP_WEIGHT_DECAY                                                                                        \
  "weight decay (default: the task's, else 1e-4 for mobilenetv2, 5e-4 for resnet18, resnet50 and vgg11, 0.01 for "     \
  "other networks; 0 with another --optimizer than the network's)"
#define MICA__HELP_AUGMENT                                                                                             \
  "random changes of training samples, as in flip,rotate=30. Strengths if none is given, in pixels: crop=4, "          \
  "cutout=8, elastic=4; in degrees: rotate=15; as shares: scale=0.1, brightness=0.2, contrast=0.2; of the Beta "       \
  "distribution: cutmix=1, mixup=0.2. Names (default: none, or crop by 1/8 of the shorter side to classify fewer "     \
  "than 10,000 pictures without --model)"
#define MICA__HELP_INIT                                                                                                \
  "start with the weights of a safetensors file or run (at least half must match in name and shape), an ONNX model "   \
  "(its output is logits, or numbers in the target's units) or a published model's folder (tasks text, classify "      \
  "and regress) (default: random weights)"

#endif
