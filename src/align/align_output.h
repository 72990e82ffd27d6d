/* align_output.h - the links of many pairs as lines, made by all threads and written in order. */
#ifndef PK_ALIGN_OUTPUT_H
#define PK_ALIGN_OUTPUT_H
#include "align/align_corpus.h"
#include "align/align_model.h"

typedef struct pk_align_output {
    const pk_align_model *model;
    pk_align_use          use;
    int32_t               threads;
    int (*write)(void *user, const char *lines, size_t size); /* NULL: nowhere */
    /* share: 0 to 1, negative: not known; a value other than PK_OK stops */
    pk_status (*progress)(void *user, double share, const pk_align_report *counts);
    void            *user, *progress_user;
    pk_align_report *report; /* what is written is counted here */
} pk_align_output;

/* the pairs that the model was trained on */
pk_status pk_align_output_corpus(const pk_align_output *o, const pk_align_corpus *c);
/* pairs as they come, a block at a time */
pk_status pk_align_output_files(const pk_align_output *o, const char *source, const char *target);
#endif
