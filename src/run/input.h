/* run/input.h: what a task learns from: which data suit it, how they become batches, and the network that reads them.
 * Unless its comment says otherwise, a pointer to a function may be NULL; then nothing is done. The input of a task
 * without a head has only traits, views, `loads`, `networks` and the columns of ONNX models. */
#ifndef MICA_RUN_INPUT_H
#define MICA_RUN_INPUT_H

#include "run/sample.h"

#define MICA__PICTURE_OUTPUT "picture"

typedef struct mica__input {
  const char *name;
  struct {
    const char *kinds; /* kinds of a table's columns unless the setting "kinds" gives others; NULL if cells decide */
    bool sized;        /* pictures of folders are scaled to the setting "size", N or HxW (mica__run_size) */
    bool own_input;    /* samples are neither pictures nor rows of numbers; no "input" and "mean" are stored */
    bool volumes;      /* samples are files of volumes; folders given to predict are searched for these */
    bool rows;         /* with own_input: samples also have rows of numbers, and missing cells are replaced */
    bool by_samples;   /* predictions get the network's outputs only through mica__samples_infer */
  } traits;
  int32_t (*suits)(const mica_dataset *data); /* as mica__task_row.suits; never NULL */
  void (*opens)(const mica_run *run, mica_dataset_config *config);
  /* True for a column that the input reads besides numbers and classes. NULL if it reads no such column. */
  bool (*reads)(const mica_run *run, const mica_dataset *data, size_t column);
  /* Sets what is known without the answers: columns, sizes. A run that is opened from its folder has these stored
   * values already, but no data. */
  mica_status (*prepare)(mica_run *run);
  /* The rest of the preparation, which may take long; called after the head has taken the column of answers. */
  mica_status (*complete)(mica_run *run, const mica_column *label);
  mica_status (*fits)(const mica_run *run, const mica_dataset *data);
  struct {
    /* Replaces the data of a part once the run is prepared, for example to add tokens to texts. *out may be `data`
     * itself. If NULL, the data are not replaced. */
    mica_status (*derive)(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out);
    /* Makes what tests read instead of a part, such as tiles of large pictures. If NULL, tests read the part. The
     * caller destroys *shown, before the data. */
    mica_status (*shows)(const mica_run *run, const mica_dataset *data, mica_dataset **shown);
    /* Makes what training reads instead of its part. If NULL, or if it leaves *shown NULL, training reads the part. */
    mica_status (*trains)(const mica_run *run, const mica_dataset *data, mica_dataset **shown);
    /* The part with which quantisation is calibrated, if training samples do not have the form that the network of
     * tests takes. If NULL, it is the training part. */
    mica_part (*calibrates)(const mica_run *run);
  } views;
  /* Columns that loaders scale by stored means and deviations, besides the dataset's first input; the last has no
   * column. May be NULL. */
  const struct mica__scale *scales;
  /* Sets how samples of a part are made into batches (crops, buckets, columns), after the settings of all tasks were
   * applied. If NULL, only these settings decide. */
  void (*loads)(const mica_run *run, mica_part part, mica_loader_config *config);
  /* Names of the networks that the input builds itself, ending with NULL. The input then also checks the setting
   * "model". If NULL, it uses the library's networks, which give one answer per sample. */
  const char *const *networks;
  /* Builds the network's answers to a batch, (N, outputs) f32; returns a null value after a failure. If NULL, the head
   * builds the network, because its loss looks up tables inside it. */
  mica_value (*network)(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs);
  /* How many of the network's answers to each sample are valid, (N) i32, for a network that answers step by step. NULL
   * for other networks. */
  mica_value (*steps)(const mica_run *run, const mica_batch_values *batch);
  struct {
    /* The columns of exported models; the last one has no name. If NULL, these are the columns of tests without the
     * answers. */
    const mica_batch_column *columns;
    /* Changes the shapes of the columns of exported models; may be NULL. */
    void (*shapes)(const mica_run *run, mica_batch_column *columns, size_t count);
    /* Builds the network of exported models on these columns. If NULL, it is the network of tests. */
    mica_value (*network)(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs);
    /* Makes what a teacher in ONNX reads from a batch: recordings (N, T), with T the last number of the stored value
     * "input". If NULL, the teacher reads the input's column. */
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
    /* Adds a sample of the data to a report, with a caption. NULL if samples cannot be shown. */
    mica_status (*show)(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t sample,
                        const char *caption);
    /* The value of a batch that `look` draws samples from; predictions and tests output it as MICA__PICTURE_OUTPUT.
     * NULL if samples are pictures, or are not drawn. */
    mica_value (*picture)(const mica_run *run, const mica_batch_values *batch);
  } samples;
} mica__input;

#endif
