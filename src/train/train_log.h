/* train_log.h - what a training says about itself: log.jsonl and plot.svg in its folder.
 *
 * log.jsonl has one JSON object a line and is written through at once, so that a killed training
 * loses no line; plot.svg shows training loss, validation loss and BLEU over updates and is
 * replaced whole. Lines are in the order of updates: going on from a checkpoint cuts off what came
 * after it. */
#ifndef PK_TRAIN_TRAIN_LOG_H
#define PK_TRAIN_TRAIN_LOG_H
#include "base/buffer.h"
#include "base/status.h"

#define PK_TRAIN_PLOT "plot.svg"

typedef struct pk_train_log pk_train_log;
/* folder must be there. update: of the checkpoint to go on from; lines of later updates are cut
 * off, and so is a last line that was not finished. 0: begins anew. */
pk_status pk_train_log_open(const char *folder, int64_t update, pk_train_log **out);
/* adds a line if the report says logged, validated, saved or done, or to the line of this update if
 * it has one; else does nothing, so that it may be called after every update */
pk_status pk_train_log_add(pk_train_log *l, const pk_train_report *report);
pk_status pk_train_log_plot(pk_train_log *l);  /* writes plot.svg anew */
void      pk_train_log_close(pk_train_log *l); /* accepts NULL */

/* one point of the plot; NaN: was not measured then */
typedef struct pk_train_point {
    double update, loss, valid_loss, valid_bleu;
} pk_train_point;
/* the picture: n points in the order of updates; train_plot.c */
void pk_train_plot_svg(const pk_train_point *point, size_t n, pk_buffer *svg);
#endif
