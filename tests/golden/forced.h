/* forced.h - log-probabilities that a model gives to output ids, token by token.
 *
 * pk_score() takes text, and a text may be cut into other tokens than the ones that were output;
 * ties must be judged on the very tokens. So this runs them through a session of its own. */
#ifndef PK_GOLDEN_FORCED_H
#define PK_GOLDEN_FORCED_H
#include "backend/list.h"
#include "check.h"
#include "engine/model.h"
#include "session/session.h"

enum { FORCED_LONGEST = 512 };

/* out: (n) log-probability of each id, given the source and the ids before it */
static inline void forced_log_probs(const pk_model *m, const pk_ids *source, const int32_t *id,
                                    int32_t n, float *out) {
    static pk_ask            ask[FORCED_LONGEST + 1];
    static pk_answer         answer[FORCED_LONGEST + 1];
    const pk_network        *net = &m->data.network;
    const int32_t            size = (int32_t)source->n;
    const pk_session_limits  max = { .sentences = 1,
                                     .source_tokens = size,
                                     .source_length = size,
                                     .encode_tokens = size,
                                     .hypotheses = 1,
                                     .asks = n,
                                     .slots = n,
                                     .path = n,
                                     .top_k = 1,
                                     .listed = n * (1 + PK_MAX_SUPPRESSED) };
    const pk_sentence_tokens tokens = { source->id, size };
    pk_pass                  pass = { .room = n, .ask = ask, .answer = answer };
    pk_backend               on = { 0 };
    pk_session              *s;
    int32_t                  sentence;
    assert_in_range(n, 1, FORCED_LONGEST);
    ASSERT_OK(pk_backend_open("cpu", 1, PK_F32, &on));
    ASSERT_OK(pk_session_open(net, &on, &max, &s));
    ASSERT_OK(pk_session_encode(s, &tokens, 1, &sentence));
    for (int32_t i = 0; i < n; i++)
        pk_ask_add(&pass, (pk_ask){ .token = i ? id[i - 1] : net->config.start,
                                    .pos = i,
                                    .parent = i,
                                    .logp = true,
                                    .target = &id[i],
                                    .n_target = 1 });
    const pk_request request = { sentence, &pass };
    ASSERT_OK(pk_session_decode(s, &request, 1));
    for (int32_t i = 0; i < n; i++) out[i] = answer[i + 1].target_logp[0];
    pk_session_close(s);
    pk_backend_close(&on);
}
#endif
