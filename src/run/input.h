/* run/input.h: what a task learns from: which data suit it, how they come to batches, and the network on them. A
 * pointer to a function may be NULL unless its comment says otherwise: there is nothing to do. The input of a task
 * without a head has traits, views, `loads`, `networks` and the columns of models in ONNX alone. */
#ifndef MICA_RUN_INPUT_H
#define MICA_RUN_INPUT_H

#include "run/sample.h"

#define MICA__PICTURE_OUTPUT "picture"

typedef struct mica__input {
  const char *name;
  struct {
    const char *kinds; /* how tables are read, before the setting "kinds"; NULL: by their cells */
    bool sized;        /* the setting "size", N or HxW, is what pictures of folders are brought to (mica__run_size) */
    /* Samples are no pictures or rows of numbers, and the facts of those ("input", "mean") are none of the run's. */
    bool own_input;
    bool volumes;    /* samples are files of volumes, which folders that are given to predict are searched for */
    bool rows;       /* with own_input: they have rows of numbers all the same, with numbers for their missing cells */
    bool by_samples; /* predictions ask for the network's outputs by mica__samples_infer alone */
  } traits;
  int32_t (*suits)(const mica_dataset *data); /* like a row's; never NULL */
  void (*opens)(const mica_run *run, mica_dataset_config *config);
  /* True for a column that the input reads beside numbers and classes. NULL: it reads none. */
  bool (*reads)(const mica_run *run, const mica_dataset *data, size_t column);
  /* Notes what is known without the answers: columns, sizes. Of an opened run the facts are there, and no data. */
  mica_status (*prepare)(mica_run *run);
  /* The rest, after the head has taken the column of answers: what costs time. */
  mica_status (*complete)(mica_run *run, const mica_column *label);
  mica_status (*fits)(const mica_run *run, const mica_dataset *data);
  struct {
    /* Replaces the data of a part once the run is prepared: tokens beside texts. *out may be the data. NULL: the
     * data. */
    mica_status (*derive)(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out);
    /* What tests see in place of a part of data: tiles of large pictures. NULL: the part. The caller's to destroy,
     * before the data. */
    mica_status (*shows)(const mica_run *run, const mica_dataset *data, mica_dataset **shown);
    /* What training sees in place of its part; *shown stays NULL where it is the part. NULL: the part. */
    mica_status (*trains)(const mica_run *run, const mica_dataset *data, mica_dataset **shown);
    /* The part whose samples have what the network of tests takes, where the training part has not: a run that is
     * quantised is calibrated with it. NULL: the training part. */
    mica_part (*calibrates)(const mica_run *run);
  } views;
  /* How a part's samples come to batches (crops, buckets, columns), after the settings of all tasks; NULL: by these. */
  void (*loads)(const mica_run *run, mica_part part, mica_loader_config *config);
  /* Names of the networks that the input builds itself, then NULL; it checks the setting "model" too. NULL: it takes
   * networks of the zoo that give one answer per sample. */
  const char *const *networks;
  /* (N, outputs) f32 of a batch; a null value after a failure. NULL: the head builds the network, for its loss reads
   * tables within it. */
  mica_value (*network)(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs);
  /* (N) i32: how many of the network's answers to each sample count, if it answers step by step. NULL: it does not. */
  mica_value (*steps)(const mica_run *run, const mica_batch_values *batch);
  struct {
    /* The columns of exported models; the last one has no name. NULL: those of tests without the answers. */
    const mica_batch_column *columns;
    /* Changes the shapes of the columns of exported models; NULL: they stay. */
    void (*shapes)(const mica_run *run, mica_batch_column *columns, size_t count);
    /* The network of exported models, of these columns. NULL: the same. */
    mica_value (*network)(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs);
    /* What a teacher in ONNX is given of a batch where that is not the input's column: recordings (N, T) of as many
     * samples as the last number of the fact "input". NULL: the column. */
    mica_value (*input)(mica_nn *nn, const mica_run *run, const mica_batch_values *batch);
  } onnx;
  struct {
    /* Visits the samples that are given to predict, in their order. Never NULL. */
    mica_status (*visit)(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
    /* Visits the first samples of data that fit: those that a report looks at. Never NULL. */
    mica_status (*look)(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);
    /* Visits the samples of a source which the network answers in parts, with the parts joined: pictures in tiles.
     * False in *joined: each sample is one part, nothing is visited, and sums of the test suffice. */
    mica_status (*join)(mica_run *run, const mica_batch_source *source, mica__sample_fn *fn, void *user, bool *joined);
    /* Adds a sample of the data to a report, under a caption. NULL: samples cannot be shown. */
    mica_status (*show)(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t sample,
                        const char *caption);
    /* A value of a batch that `look` draws samples by: predictions and tests output it as MICA__PICTURE_OUTPUT. NULL:
     * samples are pictures, or are not drawn. */
    mica_value (*picture)(const mica_run *run, const mica_batch_values *batch);
  } samples;
} mica__input;

#endif
