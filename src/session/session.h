/* session.h - one worker's decoding state over one network, or several that decode together. Not
 * thread-safe; open one per worker. Beside that network there may be others for passes of their own
 * (a drafter): pass.model says which.
 *
 * The life of a sentence: encode() reads it in. Then, again and again, decode() computes a pass
 * (a question that changes no history) and commit() names the histories to go on with; all other
 * slots are given back. forget() ends it. Nothing is rolled back, because nothing is part of a
 * history until it is committed. All memory is taken at open; a pass allocates nothing. */
#ifndef PK_SESSION_SESSION_H
#define PK_SESSION_SESSION_H
/* aligned by hand, to be read as tables */
// clang-format off
#include "decode/pass.h"
#include "model/ensemble.h"
#include "model/forward.h"

typedef struct pk_session pk_session;

typedef struct pk_session_limits {
    int32_t sentences;                          /* alive at a time */
    int32_t source_tokens;                      /* of all sentences alive */
    int32_t source_length;                      /* of one sentence */
    int32_t encode_tokens;                      /* in one call of encode */
    int32_t hypotheses;                         /* of one sentence, whose histories are kept */
    int32_t asks;                               /* in one pass, all sentences together */
    int32_t slots;                              /* target tokens remembered, all together */
    int32_t path;                               /* target tokens of one history, pass included */
    int32_t top_k;                              /* of one ask */
    int32_t listed;                             /* tokens in ban and target lists of one pass */
    int32_t edge_rows;                          /* decoder inputs of lattices that are computed at once; 0: no lattices */
    int32_t edge_tokens;                        /* that may follow at one step of a lattice */
    int32_t shortlist;                          /* tokens of a list that a sentence chooses from; 0: no lists */
    int32_t visible;                            /* slots in lists of what its asks see; 0: as many as there can be */
} pk_session_limits;

typedef struct pk_sentence_tokens { const int32_t *token; int32_t n; } pk_sentence_tokens;
typedef struct pk_request { int32_t sentence; pk_pass *pass; } pk_request;

pk_status pk_session_open(const pk_network *net, const pk_backend *on, const pk_session_limits *max,
                          pk_session **out);
/* the same for an ensemble, whose joint output layer must outlive the session */
pk_status pk_session_open_ensemble(const pk_ensemble *all, const pk_backend *on,
                                   const pk_session_limits *max, pk_session **out);
/* The networks that pass.model chooses from, model[0] the one that translates. Each has histories of
 * its own: what happens on one changes nothing on another. A sentence is encoded for all of them. */
typedef struct pk_session_model {
    const pk_ensemble *all;                     /* its output layer must outlive the session */
    pk_session_limits  max;                     /* sentences and source as in model[0] */
    bool               shares_encoder;          /* takes the states of model[0]'s encoder, member by member */
} pk_session_model;
enum { PK_MOST_MODELS = 4 };
pk_status pk_session_open_models(const pk_session_model *model, int32_t n, const pk_backend *on,
                                 pk_session **out);
void      pk_session_close(pk_session *s);
/* reads n sentences in; sentence[i] names each from now on. It begins with one hypothesis, whose
 * history is empty. */
pk_status pk_session_encode(pk_session *s, const pk_sentence_tokens *source, int32_t n,
                            int32_t *sentence);
/* The same in two halves: between them a device computes, and the host may do what needs no pass.
 * The second waits for what was begun, if anything was; when it fails, the sentences are there to be
 * forgotten. A pass may come before it: a device goes from one to the other by itself, the pass
 * waits for both, and fails where encoding failed. */
pk_status pk_session_encode_begin(pk_session *s, const pk_sentence_tokens *source, int32_t n,
                                  int32_t *sentence);
pk_status pk_session_encode_end(pk_session *s);
/* when the host saw the end of the last encoding, on the clock of base/clock.h; the pass that waited for
 * both began to be computed then */
double    pk_session_encoded_at(const pk_session *s);
/* From now on the sentence chooses from these n tokens alone, which rise, where a pass chooses this
 * network; log-probabilities are among them. A token that is not in the list has probability 0. */
void      pk_session_shorten(pk_session *s, int32_t model, int32_t sentence, const int32_t *token, int32_t n);
/* Many sentences, one pass on one network: fills the answers. Each sentence in it must be committed,
 * once, or forgotten before the next pass. A pass that fails is over, and changed nothing. */
pk_status pk_session_decode(pk_session *s, const pk_request *request, int32_t n);
void      pk_session_commit(pk_session *s, int32_t sentence, const pk_verdict *verdict);
void      pk_session_forget(pk_session *s, int32_t sentence);

/* slots that the asks of a request may see at most, to keep a pass within max.visible */
int64_t pk_session_visible(const pk_session *s, const pk_request *request);

/* whether asks of this pass go on by themselves, so that all of its rows are computed many times */
bool pk_session_follows(const pk_session *s, const pk_pass *pass);

/* a session's part for one network, of which to ask what follows; that of 0 is the session itself */
int32_t           pk_session_models(const pk_session *s);
const pk_session *pk_session_model_part(const pk_session *s, int32_t model);
/* what is left of the limits, so that a caller knows what fits */
int32_t pk_session_free_slots(const pk_session *s);
int32_t pk_session_free_source(const pk_session *s);
int32_t pk_session_free_sentences(const pk_session *s);
/* the limits it was opened with, so that a caller can group requests */
const pk_session_limits *pk_session_max(const pk_session *s);
/* seconds spent per module since open */
const double *pk_session_seconds(const pk_session *s);
/* floating-point operations since open, see model/flops.h; of this network */
uint64_t pk_session_flops(const pk_session *s);

/* for tests: encoder states of n tokens of one sentence, (n, D) into out; the first network's */
pk_status pk_session_states(pk_session *s, const int32_t *token, int32_t n, float *out);
#endif
