/* session_parts.h - the session's inside, shared by its own files only.
 *
 * One pass, from the asks of a strategy to its answers:
 *   lowering.c     asks of all sentences -> one row each in flat arrays; a slot per ask
 *   answering.c    asks that want an answer -> questions for the backend
 *   pass_memory.c  where these arrays lie: one block goes up, one comes back down
 *   session.c      decoder, output layer, and the order of all this
 *   answering.c    logits -> log-probabilities, handed to the strategies
 * The pass is in flight until every sentence in it has its verdict (commit) or is forgotten. */
#ifndef PK_SESSION_SESSION_PARTS_H
#define PK_SESSION_SESSION_PARTS_H
#include <assert.h>

#include "model/flops.h"
#include "session/session.h"
#include "session/slots.h"

typedef struct session_sentence {
    int32_t  n_source, n_hypotheses;
    int32_t *source;            /* [n_source] rows of the source pools */
    int32_t *tip;               /* [n_hypotheses] last slot of each history */
    int32_t  first_ask, n_asks; /* of the pass in flight: flat index of ask 1 */
    int32_t  width,
        steps;   /* asks that follow, the last ones; slots taken for them, theirs included */
    int32_t own; /* where those slots begin in list */
    int32_t first_question, n_questions; /* of the pass in flight */
    int32_t n_short;                     /* tokens of its list; 0: it chooses from all */
    bool    in_flight;                   /* it is in a pass that waits for its verdict */
} session_sentence;

/* A block that host and device both have: the session writes `here`, ops read `there`. For a
 * backend on the host the two are the same memory, and sending does nothing. */
typedef struct session_mirror {
    char  *here, *there;
    size_t bytes;
} session_mirror;

/* What one call of encode sends. It does not share the arrays of a pass, so that encoding is
 * possible while a pass waits for its verdict. 20 bytes for each of max.encode_tokens, on host
 * and device. */
typedef struct session_encoding {
    session_mirror up;
    bool           begun; /* and not waited for: its arrays must stay */
    double         ended; /* when the host saw the end of the last one */
    int32_t        rows;
    int32_t       *token, *pos, *slot, *first, *count; /* [row] slot: of the source pools */
} session_encoding;

/* One portion of a pass over lattices, see edging.c. */
typedef struct session_edging {
    session_mirror up, down;
    bool           full;         /* the whole vocabulary is in the sums */
    int32_t        rows, blocks; /* filled up */
    int32_t        n_rows, n_blocks, n_list, n_scores;
    size_t         up_used, down_used;        /* bytes in front of list and score */
    int32_t       *token, *pos;               /* [row] */
    int32_t       *cross_first, *cross_count; /* [row] into source_index */
    pk_edge_block *block;                     /* [block] */
    pk_question   *question;                  /* [row] where full */
    int32_t       *list;
    float         *log_sum, *score; /* [row]; block by block */
    float         *kept;            /* scores of all portions, where there are several */
    size_t         kept_room;
    uint64_t       n_seen; /* source tokens that its rows see */
} session_edging;

/* What sentences with lists choose from, see shortening.c: max.shortlist of each for each
 * sentence. */
typedef struct session_short {
    int32_t *token; /* rising */
    char    *panels;
    float   *scale, *bias; /* of each token; scale: where the panels have one */
} session_short;

/* the output layer over a group of a task's tokens */
typedef struct session_group {
    pk_weight table, bias;
} session_group;

/* One network of those that decode together: they see the same tokens. */
typedef struct session_member {
    pk_network    net;    /* with the device's weights; its output layer has text alone */
    pk_memory     memory; /* its keys and values, by slot and by source row */
    session_group group[PK_MOST_GROUPS];
    pk_flops      flops;
} session_member;

/* A session over one network. Where passes may choose from several networks, there is one such for
 * each: that of network 0 is the session, has what sentences and passes share, and lends it to the
 * others. */
struct pk_session {
    const pk_backend *on;
    int32_t           number;                  /* what pass.model calls its network */
    bool              shares_encoder;          /* of network 0 */
    pk_session       *network[PK_MOST_MODELS]; /* in that of network 0: all, itself the first */
    int32_t           n_networks;
    pk_session_limits max;
    pk_config         config; /* conventions and limits of all members */
    session_member   *member;
    int32_t           n_members;
    pk_weight         output, output_bias; /* of all members side by side */
    session_group     group[PK_MOST_GROUPS];
    session_mirror    row_numbers; /* 0, 1, 2 ...; only where there are several members */
    pk_slots          slots;
    pk_arena          scratch;
    double            seconds[PK_N_MODULES];
    uint64_t          flops;

    session_sentence *sentence;
    int32_t          *tips, *new_tips;
    int32_t          *free_sentence, n_free_sentences;
    int32_t          *free_source, n_free_source;
    session_mirror    source;       /* int32_t (sentences, source_length) */
    int32_t          *source_index; /* source.here */
    session_encoding  encoding;
    session_edging    edging;
    session_short     shortlists;

    /* The pass in flight. lay_out() says where its arrays lie in `up` and its answers in `down`.
     * Rows and questions are filled up to `rows` and `questions`, the sizes the device asks for. */
    session_mirror up, down;
    int32_t        n_in_flight; /* sentences of it that wait for their verdicts */
    int32_t        n_asks, rows, n_questions, questions;
    int32_t        steps; /* most steps of an ask that follows; 0: none follows */
    int32_t        n_following, n_followers;  /* sentences that follow; their asks that do */
    int32_t       *row;                       /* [ask] those that want an answer come first */
    int32_t       *token, *pos, *slot;        /* [row] */
    int32_t       *first, *count;             /* [row] into list */
    int32_t       *cross_first, *cross_count; /* [row] into source_index */
    int32_t       *left, *n_found, *live;     /* [row], [row], one: of those that follow */
    pk_follower   *follower;                  /* [row] where any follows */
    pk_question   *question;                  /* (slice, question) of another slice: empty */
    pk_question   *summing;                   /* the same, the log sums alone; several members */
    uint32_t       groups_asked;              /* a bit for each group */
    int32_t       *list;                      /* ban and target lists, then visible slots */
    int32_t        n_listed, n_list;          /* of the former; of both */
    int32_t        most_top_k;                /* of any question */
    bool           any_log_sum, any_target;
    uint64_t       n_seen, n_logits;         /* what all its rows see; outputs of its questions */
    uint64_t       n_seen_silent;            /* what those see that want no answer */
    size_t         up_used;                  /* bytes of up in front of list */
    pk_scored     *top;                      /* (questions, max.top_k) */
    float         *log_sum;                  /* (member, questions) */
    float         *target_score, *attention; /* [listed], (row, source_length) */
    pk_scored     *found;                    /* (sentence that follows, max.path) */

    pk_candidate *candidate; /* answers as log-probabilities: (questions, max.top_k) */
    pk_candidate *followed;  /* (sentence that follows, max.path) */
};

/* members.c: the networks. rows: most of a pass. */
pk_status pk_session_open_members(pk_session *s, const pk_ensemble *all, int32_t rows);
void      pk_session_close_members(pk_session *s);
/* numbers of scratch memory for one row; the widest input of any product */
size_t  pk_session_scratch(const pk_session *s);
int32_t pk_session_widest(const pk_session *s);

/* encoding.c: its arrays */
pk_status pk_session_open_encoding(pk_session *s);
void      pk_session_close_encoding(pk_session *s);

/* edging.c: its arrays; the scores of a pass over lattices, on network 0 */
pk_status pk_session_open_edging(pk_session *s);
void      pk_session_close_edging(pk_session *s);
pk_status pk_session_score_edges(pk_session *s, const pk_request *request, int32_t n);

/* shortening.c: memory for lists; a sentence's output layer; where a token is in its list, or -1 */
pk_status      pk_session_open_short(pk_session *s);
void           pk_session_close_short(pk_session *s);
session_group  pk_session_short_output(const pk_session *s, int32_t sentence);
const int32_t *pk_session_short_tokens(const pk_session *s, const session_sentence *e);
int32_t        pk_session_short_find(const pk_session *s, const session_sentence *e, int32_t token);

/* networks.c: whether several fit together; what the first lends; which one a pass is for */
pk_status pk_session_check_models(const pk_session_model *model, int32_t n);
void      pk_session_lend(const pk_session *first, pk_session *to);
pk_status pk_session_choose(const pk_session *s, const pk_request *request, int32_t n,
                            pk_session **out);
/* the network on which the sentence is in a pass that waits for its verdict */
pk_session *pk_session_in_flight(const pk_session *s, int32_t sentence);

/* pass_memory.c: the arrays of a pass, the same for all networks. Most rows: of a pass or a call
 * of encode */
int32_t   pk_session_most_rows(const pk_session *s);
pk_status pk_session_open_pass(pk_session *s);
void      pk_session_close_pass(pk_session *s);
pk_status pk_mirror_open(const pk_backend *on, size_t bytes, session_mirror *out);
void      pk_mirror_close(const pk_backend *on, session_mirror *t);
/* the device's address of something in the block */
static inline void *pk_mirror_device(const session_mirror *t, const void *here) {
    return t->there + ((const char *)here - t->here);
}
/* sends the first bytes of the block to the device */
static inline void pk_mirror_send(const pk_backend *on, const session_mirror *t, size_t bytes) {
    on->put(on->self, t->there, t->here, bytes);
}
/* lays out the arrays for n rows and so many questions; rows beyond n compute nothing useful */
void pk_session_lay_out(pk_session *s, int32_t n, int32_t n_questions);

/* the row of a sentence's ask, which count from 1 */
static inline int32_t pk_session_row(const pk_session *s, const session_sentence *e, int32_t ask) {
    return s->row[e->first_ask + ask - 1];
}

/* lowering.c: asks -> flat arrays and slots. any_attention: does any ask want its attention? */
pk_status pk_session_lower(pk_session *s, const pk_request *request, int32_t n,
                           bool *any_attention);
/* answering.c: asks -> rows and questions for the backend; its answers -> the strategies' answers */
void pk_session_question(pk_session *s, const pk_request *request, int32_t n);
/* slice: 0 the text, then the groups */
void pk_session_answering(const pk_session *s, int32_t slice, pk_answering *out);
/* the text's questions of one sentence alone */
void pk_session_answering_one(const pk_session *s, const session_sentence *e, pk_answering *out);
/* one member's log sums, where there are several */
void pk_session_summing(const pk_session *s, int32_t member, int32_t slice, pk_answering *out);
static inline bool pk_session_asks(const pk_session *s, int32_t slice) {
    return slice ? s->groups_asked >> (slice - 1) & 1 : s->questions > 0;
}
/* PK_FORMAT: the network gave logits that are no numbers */
pk_status pk_session_not_finite(void);
pk_status pk_session_answer(pk_session *s, const pk_request *request, int32_t n);
/* following.c: asks that go on by themselves. How many steps they may take; 0: none follows */
int32_t pk_session_steps(const pk_session *s, const pk_request *request, int32_t n);
/* the slots of a sentence's steps, where its last asks follow; question: its next one after
 * those */
pk_status pk_session_take_steps(pk_session *s, session_sentence *e, const pk_pass *p,
                                int32_t question);
void      pk_session_following(pk_session *s, pk_following *out);
/* gives back the slots of steps that were not taken: tokens were fed in `fed` steps only */
void pk_session_settle(pk_session *s, session_sentence *e, int32_t fed);
/* The key of a recorded graph of ops (see repeat in backend.h): an encoding or a pass, and what the
 * pass has. Keys of different shapes differ: each part has bits of its own, and a session whose
 * limits need more bits is refused. */
enum {
    PK_KEY_ENCODE = 1,
    PK_KEY_DECODE = 2,
    PK_KEY_ATTENTION = 4,
    PK_KEY_SUMS = 8,
    PK_KEY_STEPS = 16,
    PK_KEY_MODEL = 32,  /* times the network's number */
    PK_KEY_GROUP = 128, /* times the bits of the groups that are asked about */
    PK_KEY_EDGES = 1024 /* a portion of lattices: blocks stand for questions */
};
enum { PK_KEY_WHAT_BITS = 11, PK_KEY_TOP_K_BITS = 11, PK_KEY_ROW_BITS = 21 };
static inline uint64_t pk_session_key(uint32_t what, int32_t top_k, int32_t questions,
                                      int32_t rows) {
    const int of_questions = PK_KEY_WHAT_BITS + PK_KEY_TOP_K_BITS;
    assert(what < 1 << PK_KEY_WHAT_BITS && top_k >= 0 && top_k < 1 << PK_KEY_TOP_K_BITS);
    assert(questions >= 0 && questions < 1 << PK_KEY_ROW_BITS);
    assert(rows >= 0 && rows < 1 << PK_KEY_ROW_BITS);
    return what | (uint64_t)top_k << PK_KEY_WHAT_BITS | (uint64_t)questions << of_questions |
           (uint64_t)rows << (of_questions + PK_KEY_ROW_BITS);
}
void pk_session_add_time(pk_session *s, const pk_run *r);

/* waits for an encoding that was begun, and for no op behind it where the device can tell; whether it
 * failed is said by the next status */
void pk_session_see_encoded(pk_session *s);
/* counting.c: what was computed; a pass is counted before its sentences' further steps */
void pk_session_count_encoding(pk_session *s, const pk_sentence_tokens *source, int32_t n);
void pk_session_count_pass(pk_session *s, bool any_attention);
void pk_session_count_edges(pk_session *s);
void pk_session_count_steps(pk_session *s, const session_sentence *e, int32_t fed);
#endif
