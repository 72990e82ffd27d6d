/* saved_lexicon.h - what `pronk align --save` stored, for a model whose pieces were aligned: a lexicon
 * of its tokens, and links between them.
 *
 * The alignment knows pieces by their names; here they get the numbers that the model has for them. */
#ifndef PK_ENGINE_SAVED_LEXICON_H
#define PK_ENGINE_SAVED_LEXICON_H
#include "align/align_model.h"
#include "engine/model.h"

typedef struct pk_saved_lexicon {
    pk_align_model align;
    uint32_t      *word[2];  /* of each token of the model, source and target; PK_ALIGN_NO_WORD */
    int32_t       *token[2]; /* of each word of the alignment; -1: the model has none such */
    pk_lexicon     lexicon;  /* its arrays are the ones below */
    uint32_t      *row_first, *entry_first, *next_first;
    int32_t       *distance;
    pk_lexicon_candidate *entry, *next;
    float                *share;
    uint32_t             *no_links; /* zeros: no source length was counted */
} pk_saved_lexicon;

/* PK_ARGUMENT: not of the model's pieces, or of one direction that does not serve */
pk_status pk_saved_lexicon_open(const pk_model *m, const char *path, pk_saved_lexicon *out);
void      pk_saved_lexicon_close(pk_saved_lexicon *s); /* accepts a zeroed one */
#endif
