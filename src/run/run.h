/* run/run.h: a run as tasks see it. */
#ifndef MICA_RUN_RUN_H
#define MICA_RUN_RUN_H

#include "base/text.h"
#include "run/layout.h"
#include "run/task.h"
#include "run/verbs/distil.h"

#include <mica/compress.h>
#include <mica/history.h>
#include <mica/model.h>
#include <mica/safetensors.h>
#include <mica/speech.h>
#include <mica/tokenizer.h>
#include <pthread.h>

/* Rows of the table of all tasks' settings and of a task's own at most. */
#define MICA__SETTINGS 96
#define MICA__FACTS 48
#define MICA__PARTS 3
#define MICA__REMARKS 16

/* What data must fit, by name: texts or numbers. */
typedef struct mica__fact {
  char *name;
  char **texts;
  double *numbers;
  size_t count;
} mica__fact;

/* The data of a part and its way to the device. */
typedef struct mica__run_part {
  const mica_dataset *data;
  mica_dataset *shown; /* as tests see it, where the task shows it otherwise */
  mica_loader *loader;
} mica__run_part;

struct mica_run {
  mica_engine *engine;
  bool own_engine, resumed;
  int made_folders; /* the run's own, and those above it, that were missing */
  mica__layout layout;
  int64_t *shares;       /* of a batch, of each rank, where they differ; NULL: even ones */
  bool refused;          /* by all ranks alike: none needs to be told */
  int lock;              /* the folder of a run that is trained, open and locked; -1: none */
  int network_file;      /* its network.onnx, likewise; -1: none */
  bool begun;            /* what is written at the beginning stands in the folder */
  bool has_best;         /* and best.safetensors */
  bool ended_early;      /* by a number of epochs that are done already */
  double epochs_before;  /* the setting, before a resumed run got another one */
  int64_t weights_epoch; /* of model.safetensors, from 1; 0: within the first; -1: not known */
  mica_run_config config;
  const mica__task_row *task;
  const char *precision; /* of a run that was opened, in place of the setting; NULL: that */
  char *data, *folder;
  const mica_setting_row *rows[MICA__SETTINGS];
  char *values[MICA__SETTINGS]; /* NULL: the row's default */
  size_t row_count;
  mica__fact facts[MICA__FACTS];
  size_t fact_count;
  /* Data: the whole that training samples are a part of, and the parts by mica_part. */
  const mica_dataset *whole;
  mica_dataset *outline; /* of rows: the columns that tables to be read are like */
  bool outlined;         /* it is that of a table; else it has only as many numbers as inputs */
  mica__run_part parts[MICA__PARTS];
  float *mean, *deviation;    /* the facts of these names as loaders take them */
  mica_batch_column *columns; /* of tests */
  size_t column_count;
  mica_trainer_config training; /* prepare may change `watch` and `falling` */
  mica_tokenizer *tokenizer;    /* NULL: the run has none */
  mica_ctc_beam_config search;  /* how texts are found in scores (mica_run_search); beam 0: by the setting */
  mica_text_model *text_model;  /* its user; NULL: none */
  mica_quantizer *quantizer; /* of a quantised run, or one that trains with rounded weights; NULL: layers are float */
  mica_trainer *trainer;
  mica_safetensors *like; /* of a pruned run: the file that layers take their widths from */
  mica__teacher teacher;  /* of a run that is trained; zeros without */
  mica_history *history;
  mica_events *events;
  char *stopped;
  char *left; /* the folder that training left, since another run lies there; NULL: none */
  char *remarks[MICA__REMARKS];
  struct mica_onnx *network; /* the network of a run that began with a model in ONNX; NULL for others */
  struct mica_run *origin;   /* the facts of the run that the network was exported from; NULL: it is not asked for */
  struct mica_onnx *model;   /* what was opened in the place of a folder, to predict by; with its runner */
  struct mica_onnx_runner *runner;
  const char *changed; /* the first setting that a resumed run gets another value of; NULL: none */
  /* What was evaluated last: by a report it is shown. */
  const mica_dataset *judged;
  mica_dataset *judged_own; /* opened for the evaluation */
  int32_t *labels;          /* and other classes, in the run's numbers, where the data's are others */
  float *numbers;           /* and its inputs, where their columns lie in another order */
  double *label_scores;     /* of several labels a sample, what the test said of each (task/head/labels.h) */
  char *bases;              /* of a table's numbers, as mica_dataset_config takes them; NULL: there are none */
  char *kinds;              /* of columns that are inputs, as mica_dataset_config takes them; NULL: nothing to say */
  mica_metrics metrics;
  char judged_part[16];
  bool other_data;     /* a run that is resumed goes on with data that are not, or no longer, what it began with */
  bool judged_split;   /* it was split off by the seed */
  bool judged_changed; /* the run's own data, parted by its task, are not those that it was trained on */
  bool predicts_own;   /* mica__run_open_given opens parts of the run's own data as training parted them */
};

/* --- making and opening --- */

/* The engine that is given, or one by the configuration. */
mica_status mica__run_make_engine(mica_run *run);
/* What a run's config.json says, made ready: the task is prepared, columns are known, and there is no network yet. */
mica_status mica__run_open_facts(mica_run *run);
/* Makes a run of a folder, or file, by what `open` does; precision as the field. */
mica_status mica__run_open_folder(mica_engine *engine, const char *folder, const char *precision,
                                  mica_status (*open)(mica_run *run), mica_run **out);

/* --- the folder's and the data's guard --- */

/* The fact by which data are known again, all but a test part beside the training's. */
#define MICA__DATA_PRINT "parts_print"
/* The fact of how many samples the test part beside the training's had. */
#define MICA__TESTED "test_samples"
/* Keeps other processes from training in the folder, until the run is destroyed: MICA_E_STATE where one does. */
mica_status mica__run_lock(mica_run *run);
/* Lets the trainer write the weights of each best epoch to model.safetensors, and look after the folder. */
mica_status mica__run_begin_keeping(mica_run *run);
/* Checks that the folder is the one that is held, and has what a run is opened by. What is missing is written again,
 * with a warning. If another run lies there, this one goes to a folder beside it (`left`), and ends with its next
 * checkpoint. */
mica_status mica__run_guard(mica_run *run);
/* MICA_E_IO where the training went to such a folder, for which it ends. */
mica_status mica__run_say_left(const mica_run *run);
/* Writes the weights of the best epoch as they were tested, their moving averages if there are some, for a run that
 * has ended; without a best checkpoint those that are tested now. */
mica_status mica__run_keep_weights(mica_run *run);
/* Notes the epoch of the weights and, if the run has not ended, a sentence that names it (mica_run_stopped). */
mica_status mica__run_note_weights_epoch(mica_run *run, const mica_safetensors *file);
/* Lets a resumed run end by fewer epochs than it began with, which are done. */
mica_status mica__run_end_early(mica_run *run, int64_t done);
void mica__run_unlock(mica_run *run);
/* Notes how the data look: MICA_E_STATE where a run that is resumed began with others, and none are named now. */
mica_status mica__run_check_data(mica_run *run);
/* True if they look otherwise now. */
bool mica__run_data_changed(const mica_run *run);
/* Remarks that data, which are open, are not what the run in the folder was trained on, unless they have a validation
 * part of their own. */
mica_status mica__run_remark_other(mica_run *run, const char *folder);
/* mica_run_evaluate, of data that are named as they are, the run's own too. */
mica_status mica__run_evaluate(mica_run *run, const char *path, mica_part part, mica_metrics *metrics);

/* --- settings and facts --- */

/* Takes the settings of a task (NULL: of all tasks alone) with their checks; those of other tasks are passed over where
 * the task is not known yet. */
mica_status mica__settings_check(const char *task, const mica_setting *settings, size_t count);
/* The task of the name; NULL, with the sentence that lists them. */
const mica__task_row *mica__task_find(const char *name);
const mica__task_row *mica__task_at(size_t index);
/* The rows that the run has from now on, those of its task too. */
void mica__run_take_rows(mica_run *run);
/* Takes the settings of the configuration; those that a resumed run has for good may not change. */
mica_status mica__run_take_settings(mica_run *run);
/* Takes those settings of the configuration that all tasks have, before the task is known. */
mica_status mica__run_take_common(mica_run *run);
/* What the caller gave for a setting of any task; NULL for nothing. */
const char *mica__run_given(const mica_run *run, const char *name);
/* Sets a setting to what was found or typed. */
mica_status mica__run_set(mica_run *run, const char *name, const char *value);
mica_status mica__run_set_number(mica_run *run, const char *name, double value);
/* True if it was typed, read from config.json, or found already. */
bool mica__run_is_set(const mica_run *run, const char *name);
/* Sets what is not set to these values, up to a name NULL; and to the task's own defaults. */
mica_status mica__run_set_unset(mica_run *run, const mica_setting *settings);
mica_status mica__run_set_defaults(mica_run *run);
bool mica__run_flag(const mica_run *run, const char *name);

/* Copies texts or numbers as a fact; one of the name is replaced. */
mica_status mica__run_note(mica_run *run, const char *name, const char *const *texts, size_t count);
mica_status mica__run_note_text(mica_run *run, const char *name, const char *text);
mica_status mica__run_note_numbers(mica_run *run, const char *name, const double *numbers, size_t count);
const mica__fact *mica__run_find_fact(const mica_run *run, const char *name);
void mica__facts_free(mica_run *run);
/* What a run of its task must hold, with counts and ranges; old: one of Mica 0.2. MICA_E_FORMAT names the fact. */
mica_status mica__run_check_facts(const mica_run *run, bool old);
/* The first text of a fact, "" without it; the first number, `otherwise` without it. */
const char *mica__run_fact_text(const mica_run *run, const char *name);
double mica__run_fact_number(const mica_run *run, const char *name, double otherwise);

/* --- several ranks --- */

/* Takes the layout of the configuration. */
mica_status mica__run_take_layout(mica_run *run);
/* Sets what the layout says of a trainer; MICA_E_UNSUPPORTED names a setting that cannot be had with it. */
mica_status mica__run_configure_layout(mica_run *run, mica_trainer_config *config);
/* 0 on the one that writes. */
int32_t mica__run_rank(const mica_run *run);
/* The rank's share of batches. MICA_E_INVALID where they cannot be divided evenly. */
mica_status mica__run_share_batch(mica_run *run, mica_loader_config *config);
/* Fails on all ranks, naming one, where they differ in what they must have in common. */
mica_status mica__run_check_ranks(mica_run *run);
/* True if sample or batch `number` of a test is the rank's to decode, each being one rank's: nothing else of a test is
 * repeated by all. */
bool mica__run_decodes(const mica_run *run, uint64_t number);
/* Counts of what the ranks have decoded become those of all. */
mica_status mica__run_add_ranks(const mica_run *run, int64_t *counts, size_t count);
/* Remarks on what was asked for that takes several ranks, where there is one. */
mica_status mica__run_remark_alone(mica_run *run);
/* *order gets the data's number that each of the run's is, the caller's to free; it stays NULL where they lie in the
 * run's order and are no more, or one side has no names. Numbers are found by their names, as predict finds them in a
 * row: those of other columns would be taken for them. MICA_E_FORMAT where one lacks. */
mica_status mica__run_find_order(const mica_run *run, const mica_dataset *data, int64_t **order);
/* Remarks on columns of a table of these names, or of a dataset, that the run was not trained on. */
mica_status mica__run_remark_extras(mica_run *run, const char *table, const char *const *names, size_t count);
mica_status mica__run_remark_data(mica_run *run, const mica_dataset *data);
/* Remarks on lines of a table that begin with # and were not read; of a dataset, if it is a table. */
mica_status mica__run_remark_passed(mica_run *run, const char *table, size_t lines);
mica_status mica__run_remark_comments(mica_run *run, const mica_dataset *data);
/* Remarks on columns whose numbers f32 cannot tell apart. */
mica_status mica__run_remark_coarse(mica_run *run);
/* True if the setting of this row does nothing where another has its value (mica_setting_row.of). */
bool mica__run_is_idle(const mica_run *run, size_t row);
/* True for the same text, or the same number: 0.1 and 0.10. */
bool mica__equal_values(const char *a, const char *b);
/* Remarks on settings that others leave without an effect. */
mica_status mica__run_remark_idle(mica_run *run);
/* Gives the sections so far to input->take, where there is one, and then drops them. */
mica_status mica__run_take(const mica_run_input *input, mica_report *prediction);
/* Adds a section on where the ranks' time went, if there were several. */
mica_status mica__run_report_ranks(const mica_run *run, mica_report *report);
/* What rank 0 has, on all; status is how the caller fared: where that is a failure all fail, and it is returned. */
mica_status mica__run_join(mica_run *run, mica_status status);

/* Adds a sentence that mica_run_remark gives, once; those beyond MICA__REMARKS are dropped. */
mica_status mica__run_remark(mica_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Removes what a run is made of that is not trained, and its folder where it was made. */
void mica__run_clear(const mica_run *target);
/* Copies tokenizer.json, where there is one, from one run's folder to another's: texts need the run's own tokens. */
mica_status mica__run_copy_tokenizer(const mica_run *from, const mica_run *to);
/* MICA_E_STATE for a folder with a run, or with a file that a run would write over. */
mica_status mica__run_check_free(const char *folder);
/* Makes the folder, where it is not there, and sees that it can be written. */
mica_status mica__run_make_folder(mica_run *run);

/* --- config.json --- */

mica_status mica__run_write_config(const mica_run *run);
/* The text of config.json, with `data` as where they were found. */
void mica__run_config_text(const mica_run *run, const char *data, mica__text *json);
/* A fact's texts or numbers as a list. */
void mica__fact_text(mica__text *json, const mica__fact *fact);
/* Sets task, data, settings and facts. MICA_E_NOT_FOUND where the folder holds no run. */
mica_status mica__run_read_config(mica_run *run);
/* Does so from a text; path is for sentences. */
mica_status mica__run_parse_config(mica_run *run, const char *path, const char *text);
/* Puts "the run in FOLDER is damaged: " before this thread's sentence where a file of the run is wrong (MICA_E_FORMAT);
 * path stands for a run without a folder. Returns the status: others, such as MICA_E_NOMEM, are passed on as they are.
 */
mica_status mica__run_damaged(const mica_run *run, const char *path, mica_status status);
/* folder/name, the caller's to free; NULL when memory is short. */
char *mica__run_path(const mica_run *run, const char *name);

/* --- data --- */

/* How the run opens data: pictures of its size, labels as its task takes them. */
mica_dataset_config mica__run_opening(const mica_run *run, mica_part part);
/* Opens a part as the run's task does. */
mica_status mica__run_open_part(const mica_run *run, const char *path, const mica_dataset_config *config,
                                mica_dataset **data);
/* Opens a part of data that were given, to predict it. Of data that are in no parts the whole is the test part, and
 * *all is true. MICA_E_NOT_FOUND says what to do about data that have parts, and no test part. */
mica_status mica__run_open_given(mica_run *run, const char *path, mica_part part, bool *all, mica_dataset **data);
/* Reads the setting "size" as height and width: the run's where its task is found, else what the caller gave. False
 * where nothing was given, where it is no size, and of a task that brings pictures to none (mica__task_row.sized). */
bool mica__run_size(const mica_run *run, int32_t sides[2]);
/* MICA_E_INVALID where the data that are trained on are of another size than the setting says. */
mica_status mica__run_check_size(const mica_run *run);
/* True if the run's data have a validation part of their own, or their task makes one. */
mica_status mica__run_has_validation(const mica_run *run, bool *has);
/* Opens a part of the run's own data as training parted them. MICA_E_STATE where it was split off by the seed and they
 * have changed since: other samples would be in it. */
mica_status mica__run_open_own(mica_run *run, mica_part part, mica_dataset **data);
/* As mica__run_open_given, to evaluate it. */
mica_status mica__run_open_judged(const mica_run *run, const char *path, mica_part part, bool *all,
                                  mica_dataset **data);
/* Tensors of one recording, samples (1, T) padded by zeros to one of a few lengths, so that a session need not be
 * planned for each recording, and its length (1); the caller's to destroy after a failure too. */
mica_status mica__run_feed_sound(mica_run *run, const float *samples, int64_t length, mica_tensor *tensors[2]);
/* MICA_E_NOT_FOUND of data without a test part: the sentence there is, and which part they have; MICA_E_STATE where
 * there was one when the run was trained. */
mica_status mica__run_no_test(const mica_run *run);
/* Parts data that have no validation part by the settings "validation" and "seed", as training and evaluation both do:
 * *part validates, *rest is trained on. Both are NULL where one would be empty: all samples are trained on. */
mica_status mica__run_split(const mica_run *run, const mica_dataset *whole, mica_dataset **part, mica_dataset **rest);
/* Opens the training's data, finds the task, prepares it and makes loaders. */
mica_status mica__run_open_data(mica_run *run);
/* The columns of tests from the facts of a run that was opened. */
mica_status mica__run_recall_columns(mica_run *run);
void mica__run_close_data(mica_run *run);
/* The loader's configuration for a part, by the run's settings and facts, without augmentation. */
mica_status mica__run_loading(mica_run *run, mica_part part, mica_loader_config *config);

/* Puts what the task makes of *data (mica__task_row.derive) in place of it, which is destroyed unless it is the whole
 * or the caller's. */
mica_status mica__run_derive(mica_run *run, mica_part part, const mica_dataset **data);

/* Makes data that were opened for a run ready for its loaders: they fit, have its classes and what the task derives.
 * *ready takes their place; a failure destroys them. */
mica_status mica__run_make_ready(mica_run *run, mica_part part, mica_dataset *data, mica_dataset **ready);

/* Makes a part's loader for tests, with a residence of AUTO as the task loads it. *shown, NULL before, gets what it
 * reads in place of the data, or stays NULL; it is the caller's to destroy after the loader, when the call fails
 * too. */
mica_status mica__run_load(mica_run *run, mica_part part, const mica_dataset *data, mica_residence residence,
                           mica_dataset **shown, mica_loader **loader);

/* Notes the columns of the table that the run is trained on: "table", of mica__outline_list, and "header". */
mica_status mica__run_note_table(mica_run *run);
/* The name of the column of answers in its table; what the dataset calls it elsewhere. */
const char *mica__run_answer_name(const mica_run *run, const mica_column *label);
/* Makes the outline from these, or of runs without them from the number of inputs. */
mica_status mica__run_outline(mica_run *run);

/* --- what tasks of one input and one answer share --- */

/* The column of answers: "label", else the last that is no input; NULL where there is none. */
const mica_column *mica__run_find_label(const mica_dataset *data);
/* Notes the columns: "input" (shape), "input_column", "label_column", those of mica__run_note_categories. A table
 * without numbers has no input but classes. MICA_E_FORMAT names what is missing. */
mica_status mica__run_note_columns(mica_run *run, const mica_column **label);
/* Compares an input of other data with the run's. */
mica_status mica__run_fits_input(const mica_run *run, const mica_dataset *data);
/* True for a column of answers, or of their lengths, which a prediction goes without. */
bool mica__run_is_answer(const mica_run *run, const char *column);

/* A column of more classes is no input: its one-hot form would be wider than most networks are. */
#define MOST_CLASSES 256
/* Batches hold up to 64 columns: these, "x", the answers and one that is made of them. */
#define MOST_CATEGORIES 60

/* A column of classes that is an input: "colour" of "blue", "green", "red". The names are the run's. */
typedef struct mica__category {
  const char *name;
  const char *const *names;
  size_t classes;
} mica__category;
/* Notes "categories" (names of columns), "category_classes" (how many each has), "category_names" (one column's after
 * another's), "numbers" and "label_name" (names of other columns, to find them in a table); "unused": columns that are
 * no input, with a reason. input may be NULL. */
mica_status mica__run_note_categories(mica_run *run, const mica_column *input, const mica_column *label);
size_t mica__run_categories(const mica_run *run);
mica__category mica__run_category(const mica_run *run, size_t k);
/* False where config.json's facts about them contradict each other. */
bool mica__run_good_categories(const mica_run *run);
/* --- missing cells (missing.c) --- */

/* How tables are opened: with NaN for missing numbers, which mica__run_fill replaces, or not at all. */
mica_missing mica__run_missing(const mica_run *run);
/* Gives a run that begins its setting. */
mica_status mica__run_begin_missing(mica_run *run);
/* Finds what stands for missing numbers in the training part, notes it as "fills" and fills the parts that are open. */
mica_status mica__run_note_fills(mica_run *run);
/* Fills the missing numbers of data that were opened for the run. */
mica_status mica__run_fill(const mica_run *run, mica_dataset *data);
/* Says what became of missing cells, of rows without an answer and of classes that are not known. */
mica_status mica__run_remark_missing(mica_run *run, const mica_dataset *data);
/* Says it of the data that a run is trained, validated and tested on, and which columns number the rows. */
mica_status mica__run_remark_parts(mica_run *run);
/* Says how many cells of a column hold classes that training did not see, and the first of these. */
mica_status mica__run_remark_class(mica_run *run, const char *table, const char *column, uint64_t count,
                                   const char *first);
/* Says that a table's answers, whose task nobody named, are taken for numbers. */
mica_status mica__run_remark_regress(mica_run *run);
/* MICA_E_INVALID, naming the column, where the setting "ignore" is not about the data's. */
mica_status mica__run_check_ignored(const mica_run *run);

/* The kinds that a table's column may be said to be; NULL behind the last. */
const char *mica__kind_at(size_t i);
/* MICA_E_INVALID where it is no list of NAME=KIND. */
mica_status mica__kinds_check(const char *kinds);
/* MICA_E_INVALID, naming the column, where the setting "kinds" is not about the data's. */
mica_status mica__run_check_kinds(const mica_run *run);
/* Lets tables be opened with these columns as classes, and with columns of texts by their names. */
mica_status mica__run_note_kinds(mica_run *run);
/* What was subtracted from the table's columns (bases.c): as a fact, and from the fact as run->bases. */
mica_status mica__run_note_bases(mica_run *run);
mica_status mica__run_take_bases(mica_run *run);
/* The name of the answer's column in a table, "label" in arrays; "" where it has none. */
const char *mica__run_label_name(const mica_run *run);
/* The bases as a JSON object of names and numbers. */
void mica__run_bases_text(const mica_run *run, mica__text *json);
/* Such an object of a model's metadata, or the lines that older ones have, as mica_dataset_config takes them. `columns`
 * is the list of names in the metadata, NULL: there is none. */
mica_status mica__bases_parse(const char *bases, const char *columns, mica__text *lines);
/* Refuses an array of u8 where the run was trained on other elements, and the reverse: u8 are divided by 255. */
mica_status mica__run_check_elements(mica_run *run, const mica_dataset *data);
/* A number of a file that was read less a base: of those that become this number, the one with the fewest digits. */
double mica__run_above_base(float number, double base);
/* What is subtracted from a column of that name, from the k-th number of the input, from the answer; 0: nothing. */
double mica__run_base(const mica_run *run, const char *name);
double mica__run_number_base(const mica_run *run, size_t k);
double mica__run_label_base(const mica_run *run);
/* The column of category k in other data and, where the numbers of its classes are others, a map to the run's, the
 * caller's to free: -1 for a class that the run lacks. MICA_E_FORMAT names a column that is missing. */
mica_status mica__run_map_category(const mica_run *run, const mica_dataset *data, size_t k, size_t *column,
                                   int32_t **map);
/* Says how many cells of other data hold classes that the run lacks. */
mica_status mica__run_remark_others(mica_run *run, const mica_dataset *data);
mica_status mica__run_fits_categories(const mica_run *run, const mica_dataset *data);
/* Answers and categories in the run's numbers; *out is the dataset itself where they are that already. */
mica_status mica__run_adopt(mica_run *run, mica_dataset *data, mica_dataset **out);
/* What the network is given of a batch: the input column, behind it the categories in one-hot form. */
mica_value mica__run_inputs(const mica_run *run, const mica_batch_values *batch);

/* A network's result in f32; MICA_E_FORMAT in the graph where the widths are a file's that has not so many answers. */
mica_value mica__run_answers(const mica_run *run, mica_value z, int64_t outputs);
/* The network of the setting "model" with so many outputs: (N, outputs) f32. */
mica_value mica__run_network(const mica_run *run, mica_nn *nn, mica_value x, int64_t outputs);

/* The setting "precision". */
mica_dtype mica__run_precision(const mica_run *run);
/* How the run's network is built for something other than its trainer: its precision, its hook and its widths. */
mica_nn_config mica__run_building(const mica_run *run);

/* Rows of a table with categories, whose columns are found by the names of its first line. */
typedef struct mica__category_rows {
  int64_t count;
  float *numbers;
  int32_t *categories; /* in the run's numbers, -1 for others */
  double *truths;      /* NaN: unknown */
  long long *lines;
} mica__category_rows;
mica_status mica__category_rows_read(mica_run *run, const char *name, char *text, mica__category_rows *rows);
void mica__category_rows_free(mica__category_rows *rows);

/* Paths of files, and of the pictures (or recordings) of folders. find fills a zeroed struct, to be freed after a
 * failure too, and remarks pictures with an alpha channel. */
typedef struct mica__paths {
  char **list;
  size_t count, capacity;
} mica__paths;
mica_status mica__paths_find(mica_run *run, const mica_run_input *input, mica__paths *paths);
/* True if the run takes recordings, which are what is found in folders then, in place of pictures. */
bool mica__run_hears(const mica_run *run);
void mica__paths_free(mica__paths *paths);

/* Samples to predict from: names, inputs as the network takes them, pictures and truths where there are any. */
typedef struct mica__samples {
  int64_t count, size; /* size: elements of an input */
  char **names;
  uint8_t **pixels; /* each NULL where inputs are rows of numbers */
  float *inputs;
  int32_t *categories; /* of each sample, in the run's numbers */
  double *truths;      /* NaN: unknown; classes in the run's numbers */
  uint8_t *labels;     /* of several labels a sample, 1 for each that is there; NULL: unknown */
} mica__samples;
mica_status mica__samples_read(mica_run *run, const mica_run_input *input, mica__samples *samples);
/* Samples `from` and following of a dataset, `count` of them. */
mica_status mica__samples_of(const mica_run *run, const mica_dataset *data, uint64_t from, int64_t count,
                             mica__samples *samples);
void mica__samples_free(mica__samples *samples);
/* What a sample of a dataset is called: its file, "row 7" by its line in a table, or "sample 3". NULL when memory is
 * short. */
char *mica__sample_name(const mica_dataset *data, uint64_t sample);
/* Runs the network on samples `from` and following; outputs gets `width` numbers of each. */
mica_status mica__samples_infer(mica_run *run, const mica__samples *samples, int64_t from, int64_t count,
                                const char *output, int64_t width, float *outputs);
/* classes of the data in the run's numbers; *map is the caller's to free, NULL where they are the same. MICA_E_FORMAT
 * names a class that the run lacks. */
mica_status mica__run_map_classes(const mica_run *run, const mica_dataset *data, int32_t **map);
/* Does so for any column and names; `others`: a class without such a name is -1, and not refused. */
mica_status mica__run_map_names(const mica_dataset *data, size_t column, bool others, const char *const *known,
                                size_t count, int32_t **map);
/* Notes "class_weights" where the setting "class-weights" gives some; count adds up how often each class occurs, for
 * "balanced". */
mica_status mica__run_note_weights(mica_run *run, int64_t classes,
                                   mica_status (*count)(mica_run *run, double *counts, int64_t classes));
/* These as a constant (classes) f32; null without. */
mica_value mica__run_class_weights(const mica_run *run, mica_graph *graph);
/* Counts of pairs of classes are kept up to so many classes. */
#define MOST_CONFUSED 2000
/* The sum "confusion" of the last test, classes x classes, the caller's to free. */
mica_status mica__run_read_confusion(mica_run *run, int64_t **confusion);
/* Makes the names of a column's classes the fact "classes". */
mica_status mica__run_note_classes(mica_run *run, const mica_column *column);
/* Begins a section with samples, precision, recall and F1 of each class, and the confusion of the last test. */
mica_status mica__run_report_classes(mica_run *run, const char *title, mica_report *report);
/* The k-th likeliest class, from 0; of equal ones the first. */
int64_t mica__likeliest(const float *shares, int64_t classes, int64_t k);
/* Adds the likeliest classes of a sample, with their shares. */
mica_status mica__run_add_choices(const mica_run *run, mica_report *report, const float *shares, int64_t top);

/* A sample that the network takes for another class. */
#define MICA__MISTAKES 24
typedef struct mica__mistake {
  uint64_t sample;
  int64_t guess, truth;
  float share;
} mica__mistake;
/* Keeps the mistakes made with the most confidence, in falling order. */
void mica__mistake_add(mica__mistake list[MICA__MISTAKES], size_t *count, mica__mistake found);

/* MICA_E_FORMAT where a table has a second column, called "a.1", of a name "a" that the run reads, and the run knows no
 * "a.1": which of both is meant nobody can tell. */
mica_status mica__run_check_repeat(const mica_run *run, const char *table, const char *name);
/* True for the name that a column has where the first line names none: its position. */
bool mica__is_position(const char *name);
/* The index of a name among those of a run; count where it is none. */
size_t mica__run_find_name(const char *const *known, size_t count, const char *name);
struct mica__cell;
/* The class that a cell names, `count` where it is none of the known ones: as it is written, else as a number. *name, a
 * buffer that grows, gets what was looked for. */
mica_status mica__run_find_class(const struct mica__cell *cell, const char *const *known, size_t count, char **name,
                                 size_t *capacity, size_t *index);

/* --- training --- */

/* Fills what settings decide of the trainer's configuration and makes the trainer. */
mica_status mica__run_make_trainer(mica_run *run);
/* The network of the setting "init", where that is a model in ONNX (a file called so), or of the folder, where it was
 * one when the run began. MICA_E_NOT_FOUND: stop-at names no value. */
mica_status mica__imported_open(mica_run *run);
bool mica__is_model_file(const char *path);
/* Facts and settings of the run that a model was exported from, where its metadata have such. */
mica_status mica__imported_facts(mica_run *run, const char *path, const struct mica_onnx *model);
/* It in a step's graph, with so many answers: (N, outputs). */
mica_value mica__imported_build(const mica_run *run, mica_nn *nn, mica_value x, int64_t outputs);
/* Its weights into the trainer's session; and the file into the folder of a run that begins. */
mica_status mica__imported_load(mica_run *run);
/* What a model answers to x, its parameters added to nn. */
mica_value mica__imported_answer(const struct mica_onnx *model, const char *stop_at, mica_nn *nn, mica_value x);
/* Where a model answers as the network of a run does, whose loss has the rest: logits before a softmax or a sigmoid,
 * `numbers` in deviations of the run that it was exported from, whose facts `origin` has where they are known. */
typedef struct mica__ending {
  const char *stop_at; /* NULL: at its first output */
  bool plain;          /* numbers are in the target's own units */
} mica__ending;
mica__ending mica__imported_ending(const struct mica_onnx *model, const mica_run *origin, bool numbers);
#define MICA__NETWORK_FILE "network.onnx"
/* Fills the parameters of such a network from the model. */
mica_status mica__imported_fill(const struct mica_onnx *model, mica_engine *engine, const mica_nn *nn,
                                mica_session *session);
mica_status mica__imported_keep(const mica_run *run);
/* The file of a run that was opened into the folder of another one. */
mica_status mica__imported_copy(const mica_run *from, const mica_run *to);
/* Gives the trainer's layers their quantizer: of a quantised run, or by the setting "quantize". */
mica_status mica__run_add_quantizer(mica_run *run, mica_trainer_config *config);
/* Steps to begin with, of the setting "quantize", by the network's weights and some batches of training. */
mica_status mica__run_begin_steps(mica_run *run);
/* The fact of a quantised run: the bits of its weights. */
#define MICA__FACT_QUANTIZED "quantized"
bool mica__run_is_quantized(const mica_run *run);
/* What the setting "quantize" says. */
mica_quantize_settings mica__run_learned_settings(const mica_run *run);
/* Notes what layers of a further network are given. */
mica_observer mica__calibration_observer(mica_calibration *calibration);
/* Lets layers have the widths of the file at `path`, where the run is pruned or the file says that its weights are. */
mica_status mica__run_take_widths(mica_run *run, const char *path);
/* Gives the trainer the weights that training begins with: those of the task, of the setting "init" (of a file by name
 * and shape, which is remarked), and steps of quantisation. */
mica_status mica__run_set_out(mica_run *run);
/* Reads the weights that are kept into the network of tests; damaged ones, and numbers that are not finite, are refused
 * by the tensor's name. */
mica_status mica__run_load_weights(mica_run *run);
/* Lets the trainer report to the run. */
void mica__run_configure_record(mica_run *run);
/* Sweeps the learning rate on a network that is thrown away, and sets "lr". */
mica_status mica__run_find_rate(mica_run *run);

#endif
