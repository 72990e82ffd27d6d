/* candidates.h - a training whose models carry candidates aligns its text and counts them. */
#ifndef PK_TRAIN_CANDIDATES_H
#define PK_TRAIN_CANDIDATES_H
#include "train/trainer.h"

/* Counts the candidates of the text into t->start, from where they go into every model that is
 * written. text: gives every pair of the training once. */
pk_status pk_trainer_count_candidates(pk_trainer *t, pk_loader *text);
#endif
