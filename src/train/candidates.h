/* candidates.h - a training whose models carry candidates aligns its text and counts them. */
#ifndef PK_TRAIN_CANDIDATES_H
#define PK_TRAIN_CANDIDATES_H
#include "train/trainer.h"

#define PK_CANDIDATES "candidates" /* file of the output folder */

/* Counts the candidates of the text into t->start, from where they go into every model that is
 * written. text: gives every pair of the training once. */
pk_status pk_trainer_count_candidates(pk_trainer *t, pk_loader *text);

/* candidates_file.c: to and from the file of a training's folder; of the folder that a file is in */
pk_status pk_candidates_write(const pk_model_data *m, const char *folder);
pk_status pk_candidates_read(pk_model_data *m, const char *folder);
pk_status pk_candidates_read_beside(pk_model_data *m, const char *file);
#endif
