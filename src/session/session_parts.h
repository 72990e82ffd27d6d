/* session_parts.h - the session's inside, shared by its own files only. */
#ifndef PK_SESSION_SESSION_PARTS_H
#define PK_SESSION_SESSION_PARTS_H
#include "session/session.h"
#include "session/slots.h"

typedef struct session_sentence {
    int32_t  n_source, n_rows;
    int32_t *source;            /* [n_source] rows of the source pools */
    int32_t *tip;               /* [n_rows] last slot of each history */
    int32_t  first_ask, n_asks; /* of the pass in flight: flat index of ask 1 */
} session_sentence;

struct pk_session {
    const pk_network *net;
    const pk_backend *on;
    pk_session_limits max;
    pk_slots          slots;
    pk_memory         memory;
    pk_arena          scratch;
    double            seconds[PK_N_MODULES];

    session_sentence *sentence;
    int32_t          *tips, *new_tips, *source_index;
    int32_t          *free_sentence, n_free_sentences;
    int32_t          *free_source, n_free_source;

    int32_t  n_asks;                    /* of the pass in flight; the arrays below are flat */
    int32_t *token, *pos, *slot;        /* [ask] */
    int32_t *first, *count, *index;     /* [ask], and the visible slots end to end */
    int32_t *cross_first, *cross_count; /* [ask] into source_index */

    pk_question  *question; /* [question] */
    int32_t      *listed;   /* ban and target lists end to end */
    float        *target_score, *log_sum, *told;
    pk_scored    *top;       /* (questions, max.top_k) */
    pk_candidate *candidate; /* the same, as log-probabilities */
};

/* lowering.c: asks -> flat arrays and slots. telling: does any ask want its attention? */
pk_status pk_session_lower(pk_session *s, const pk_request *request, int32_t n, bool *telling);
/* answering.c: asks -> questions for the backend; its answers -> the strategies' answers */
void pk_session_question(pk_session *s, const pk_request *request, int32_t n, pk_answering *out);
void pk_session_answer(pk_session *s, const pk_request *request, int32_t n);
void pk_session_add_time(pk_session *s, const pk_run *r);
#endif
