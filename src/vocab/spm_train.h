/* spm_train.h - libsentencepiece's trainer behind a C face: lines in, a model out.
 *
 * Lines come from a callback, so that the trainer knows nothing of files. The library's log is
 * silent, and no C++ exception leaves this interface. */
#ifndef PK_VOCAB_SPM_TRAIN_H
#define PK_VOCAB_SPM_TRAIN_H
#include <stdint.h>

#include "base/buffer.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct pk_spm_train_options {
    const char *type; /* "unigram" or "bpe" */
    int32_t     size, threads;
    double      coverage;
    bool        byte_fallback;
    const char *characters; /* that must have pieces; may be "" */
    const char *rules;      /* of normalisation: "hex code points TAB hex code points" a line */
    size_t      rules_size;
    /* The next line, valid until the next call, or NULL at the end. A failure ends the training and
     * is what pk_spm_train() returns. */
    pk_status (*next)(void *user, const char **line, size_t *size);
    void *user;
} pk_spm_train_options;

/* appends the model file's bytes */
pk_status pk_spm_train(const pk_spm_train_options *o, pk_buffer *model);
#ifdef __cplusplus
}
#endif
#endif
