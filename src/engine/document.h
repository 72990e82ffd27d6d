/* document.h - a text as jobs, and finished jobs as a text again.
 *
 * The text is split into pieces: sentences become jobs, the white space between them is copied. A
 * sentence too long for the model becomes several jobs, cut at the best boundary. Nothing is left
 * out, except texts with such a sentence where skip_long is set. */
#ifndef PK_ENGINE_DOCUMENT_H
#define PK_ENGINE_DOCUMENT_H
#include "engine/job.h"
#include "engine/model.h"
#include "text/split.h"

typedef struct pk_document {
    const char *text; /* borrowed, `repaired` or `folded` */
    size_t      size;
    pk_buffer   repaired; /* when the bytes were not valid UTF-8 */
    pk_buffer   folded;   /* when some of it was in capitals */
    pk_pieces   pieces;
    pk_job     *job; /* one per sentence piece, in order */
    size_t      n_jobs;
    size_t      n_wrapped; /* sentences that had to be cut */
    bool        skipped;   /* it had such a sentence, and the reader skips those */
    bool        as_tokens; /* it was read as names of tokens, and is rendered as such */
} pk_document;

typedef struct pk_reader { /* what reading needs to know */
    const pk_model *model;
    pk_language     language;
    pk_splitter    *splitter, *target_splitter;
    int32_t         max_source; /* tokens of one job */
    bool            one_sentence;
    bool            tokens;         /* texts are names of tokens with spaces between them */
    bool            capitals;       /* sentences in capitals are read as small letters */
    bool            skip_long;      /* a text with a sentence that is too long has no jobs */
    pk_status (*alive)(void *user); /* called as a long text is read, to stop or go on; or NULL */
    void *user;
} pk_reader;

pk_status pk_document_read(pk_document *d, const pk_reader *r, pk_text text);
/* What the output must begin with: sentence by sentence, as far as it goes, where the document has
 * several; refused if it has more than those. All of it where the document is one sentence. */
pk_status pk_document_set_prefix(pk_document *d, const pk_reader *r, pk_text prefix);
/* a guess at the output: sentence by sentence when it has as many, else all of it for each */
pk_status pk_document_set_draft(pk_document *d, const pk_reader *r, pk_text draft);
/* the whole output to be scored; the document must have been read as one sentence */
pk_status pk_document_set_forced(pk_document *d, const pk_reader *r, pk_text target);
void      pk_document_free(pk_document *d);

/* One hypothesis of a whole text: the rank-th of each sentence, or its last when it has fewer. */
typedef struct pk_rendering {
    pk_buffer text, alignment;
    pk_ids    token;
    float    *logp; /* [token.n] */
    float     score, log_prob;
    int32_t   n_unknown; /* tokens that are the unknown one */
    pk_link  *link;      /* with alignment: what each piece of the text looked at */
    size_t    n_links, link_room;
} pk_rendering;
/* linker: makes the alignment; NULL: what the model looked at is the alignment */
struct pk_linker;
pk_status pk_document_render(const pk_document *d, const pk_model *m, int32_t rank, bool alignment,
                             struct pk_linker *linker, bool replace_unknowns, pk_rendering *out);
void      pk_rendering_free(pk_rendering *r);
#endif
