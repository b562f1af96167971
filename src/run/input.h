/* run/input.h: what a task learns from: which data suit it, how they become batches, and the network that reads them. A
 * pointer to a function may be NULL, unless its comment says otherwise; nothing is then done. The input of a task
 * without a head has only traits, views, `loads`, `networks` and the columns of ONNX models. */
#ifndef MICA_RUN_INPUT_H
#define MICA_RUN_INPUT_H

#include "run/sample.h"

#define MICA__PICTURE_OUTPUT "picture"

typedef struct mica__input {
  const char *name;
  struct {
    const char *kinds; /* kinds of a table's columns before the setting "kinds" applies; NULL: decided by the cells */
    bool sized;        /* pictures of folders are scaled to the setting "size", N or HxW (mica__run_size) */
    /* Samples are neither pictures nor rows of numbers, and the run does not have their facts ("input", "mean"). */
    bool own_input;
    bool volumes;    /* samples are files of volumes; folders given to predict are searched for these */
    bool rows;       /* with own_input: samples also have rows of numbers, and missing cells are replaced */
    bool by_samples; /* predictions get the network's outputs only through mica__samples_infer */
  } traits;
  int32_t (*suits)(const mica_dataset *data); /* like a row's; never NULL */
  void (*opens)(const mica_run *run, mica_dataset_config *config);
  /* True for a column that the input reads besides numbers and classes. NULL: it reads no other. */
  bool (*reads)(const mica_run *run, const mica_dataset *data, size_t column);
  /* Sets what is known without the answers: columns, sizes. For an opened run the facts are there and the data are
   * not. */
  mica_status (*prepare)(mica_run *run);
  /* The rest of the preparation, which may take long; called after the head has taken the column of answers. */
  mica_status (*complete)(mica_run *run, const mica_column *label);
  mica_status (*fits)(const mica_run *run, const mica_dataset *data);
  struct {
    /* Replaces the data of a part once the run is prepared, for example to add tokens to texts. *out may be `data`
     * itself. NULL: the data stay. */
    mica_status (*derive)(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out);
    /* What tests read instead of a part: tiles of large pictures. NULL: the part itself. The caller destroys it, before
     * the data. */
    mica_status (*shows)(const mica_run *run, const mica_dataset *data, mica_dataset **shown);
    /* What training reads instead of its part; *shown stays NULL if it reads the part. NULL: the part. */
    mica_status (*trains)(const mica_run *run, const mica_dataset *data, mica_dataset **shown);
    /* The part whose samples have the form that the network of tests takes, if training samples do not: quantisation is
     * calibrated with it. NULL: the training part. */
    mica_part (*calibrates)(const mica_run *run);
  } views;
  /* Columns that loaders scale by facts of the run, besides the dataset's first input; the last has no column. NULL:
   * none. */
  const struct mica__scale *scales;
  /* How samples of a part are made into batches (crops, buckets, columns), applied after the settings of all tasks;
   * NULL: as those say. */
  void (*loads)(const mica_run *run, mica_part part, mica_loader_config *config);
  /* Names of the networks that the input builds itself, ending with NULL; it also checks the setting "model". NULL: it
   * uses the library's networks, which give one answer per sample. */
  const char *const *networks;
  /* (N, outputs) f32 for a batch; a null value after a failure. NULL: the head builds the network, because its loss
   * looks up tables inside it. */
  mica_value (*network)(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs);
  /* (N) i32: how many of the network's answers to each sample are valid, if it answers step by step. NULL: it does
   * not. */
  mica_value (*steps)(const mica_run *run, const mica_batch_values *batch);
  struct {
    /* The columns of exported models; the last one has no name. NULL: the columns of tests without the answers. */
    const mica_batch_column *columns;
    /* Changes the shapes of the columns of exported models; NULL: they stay as they are. */
    void (*shapes)(const mica_run *run, mica_batch_column *columns, size_t count);
    /* The network of exported models, built on these columns. NULL: the same network as in tests. */
    mica_value (*network)(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs);
    /* What a teacher in ONNX reads from a batch if it is not the input's column: recordings (N, T), with as many
     * samples as the last number of the fact "input". NULL: the column. */
    mica_value (*input)(mica_nn *nn, const mica_run *run, const mica_batch_values *batch);
  } onnx;
  struct {
    /* Visits the samples given to predict, in order. Never NULL. */
    mica_status (*visit)(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
    /* Visits the first samples of data that fit; a report shows them, or some of them. Never NULL. */
    mica_status (*look)(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);
    /* Visits the samples of a source that the network answers in parts, such as pictures in tiles, with the parts
     * joined. If every sample is one part, *joined is false, nothing is visited, and the sums of the test are
     * enough. */
    mica_status (*join)(mica_run *run, const mica_batch_source *source, mica__sample_fn *fn, void *user, bool *joined);
    /* Adds a sample of the data to a report, with a caption. NULL: samples cannot be shown. */
    mica_status (*show)(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t sample,
                        const char *caption);
    /* The value of a batch that `look` draws samples from; predictions and tests output it as MICA__PICTURE_OUTPUT.
     * NULL: samples are pictures, or are not drawn. */
    mica_value (*picture)(const mica_run *run, const mica_batch_values *batch);
  } samples;
} mica__input;

#endif
