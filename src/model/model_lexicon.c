/* model_lexicon.c - the candidates that a model may carry: an optional part of its file, for the
 * text tokens of its vocabulary. Tokens that tasks add behind these do not matter to it. */
#include "base/hash.h"
#include "model/model_data.h"

/* bytes of the first n names of a list */
static size_t bytes_of(pk_blob tokens, int32_t n) {
    const char *names = tokens.data;
    size_t      at = 0;
    for (; at < tokens.size && n > 0; at++) n -= names[at] == 0;
    return at;
}

pk_text_tokens pk_model_data_text(const pk_model_data *m) {
    const pk_config *c = &m->network.config;
    const bool       one = m->target_tokens.size == 0; /* list for both sides */
    const pk_blob    target = one ? m->source_tokens : m->target_tokens;
    pk_text_tokens   text = { .target = pk_config_text(c) };
    text.source = one ? text.target : c->source_vocab;
    const uint64_t both[2] = {
        pk_hash(m->source_tokens.data, bytes_of(m->source_tokens, text.source)),
        pk_hash(target.data, bytes_of(target, text.target)),
    };
    text.fingerprint = pk_hash(both, sizeof both);
    return text;
}

pk_status pk_model_data_read_lexicon(pk_model_data *m) {
    m->lexicon = (pk_lexicon){ 0 };
    if (!m->lexicon_bytes.size) return PK_OK;
    const pk_text_tokens text = pk_model_data_text(m);
    PK_TRY(pk_lexicon_read(m->lexicon_bytes.data, m->lexicon_bytes.size, &m->lexicon));
    if (m->network.config.shares_encoder) return PK_OK; /* pk_drafter_join() knows the vocabulary */
    return pk_lexicon_check(&m->lexicon, text.source, text.target, text.fingerprint);
}
