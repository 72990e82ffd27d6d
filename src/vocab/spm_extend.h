/* spm_extend.h - a SentencePiece model that exists is made to know every character. */
#ifndef PK_VOCAB_SPM_EXTEND_H
#define PK_VOCAB_SPM_EXTEND_H
#include <stdbool.h>

#include "base/buffer.h"

typedef struct pk_spm_extend_options {
    const void *model; /* the model's bytes */
    size_t      size;
    const char *characters;    /* that get a piece where they have none; each once */
    bool        byte_fallback; /* add the 256 bytes */
    const char *rules;         /* of normalisation, as pk_spm_train_options has them */
    size_t      rules_size;
} pk_spm_extend_options;

/* Appends the new model's bytes. Its pieces are the old ones under their old ids, then characters, then bytes; text
 * that the old model knew is cut as before, but for what the rules of normalisation no longer change. */
pk_status pk_spm_extend(const pk_spm_extend_options *o, pk_buffer *out);
#endif
