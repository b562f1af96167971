/* tests/support/rule.h: runs on data that a test makes by a rule, all in the program's folder (support/files.h). */
#ifndef MICA_TESTS_SUPPORT_RULE_H
#define MICA_TESTS_SUPPORT_RULE_H

#include <mica/mica.h>
#include <stdint.h>
#include <stdio.h>

/* rule_draw gives the same numbers after the same seed. */
extern uint32_t rule_seed;

/* One of 0 to below - 1. */
uint32_t rule_draw(uint32_t below);

/* Opens a file and writes its first line. */
FILE *rule_table(const char *name, const char *header);

/* Writes a grey picture of side x side pixels as PNG. */
void rule_picture(const char *name, const uint8_t *planes, int side);

/* Writes a WAV of 16 bits, of samples from -1 to 1. */
void rule_sound(const char *name, uint32_t rate, const float *samples, uint32_t count);

/* Creates a run and trains it. */
mica_run *rule_train(const mica_run_config *config);

/* Trains on a file (data), which lies there as the folder will, and opens the run again from the folder. */
mica_run *rule_learn(const char *task, const char *data, const char *folder, const mica_setting *settings,
                     size_t count);

/* A metric of its validation. */
double rule_measure(mica_run *run, const char *metric);

mica_report *rule_predict(mica_run *run, const mica_run_input *input);

/* Predictions of a text, called a.csv, fail with a message that contains the sentence. */
void rule_refuses(mica_run *run, const char *text, const char *sentence);

#endif
