/* lookup.c - which lexicon serves, and which tokens every shortlist has. */
#include "engine/lookup.h"

#include <string.h>

#include "base/memory.h"
#include "text/utf8.h"

/* Pieces without letters: punctuation, digits, bytes. They are few, and copied or put anywhere. */
static bool has_no_letter(const char *name) {
    const size_t size = strlen(name);
    const bool   byte = size == 6 && strncmp(name, "<0x", 3) == 0;
    return byte || !pk_utf8_has_letter(name, size);
}

static pk_status open_shortlist(const pk_lookup_request *q, pk_lookup *l) {
    const pk_model *m = q->model;
    const int32_t   n = pk_config_text(&m->data.network.config);
    uint8_t        *always;
    PK_TRY(PK_TAKE(&always, (size_t)n));
    for (int32_t y = 0; y < n; y++) always[y] = has_no_letter(pk_vocab_target_token(m->vocab, y));
    const pk_shortlist_needs needs = { .n_tokens = n,
                                       .eos = m->data.network.config.eos,
                                       .most_given = q->most_given,
                                       .copies = m->data.target_tokens.size == 0,
                                       .always = always };
    const pk_status          status = pk_shortlist_open(l->lexicon, &needs, &l->shortlist);
    pk_memory_give(always);
    l->shortens = status == PK_OK;
    return status;
}

/* strategies for models with candidates of their own take those */
static pk_status open_lexicon(const pk_lookup_request *q, pk_lookup *l) {
    const pk_lexicon *own = &q->model->data.lexicon;
    if (own->source_vocab) l->lexicon = own;
    if (!q->path) return PK_OK;
    PK_TRY(pk_saved_lexicon_open(q->model, q->path, &l->saved));
    if (!q->by->looks_up) l->lexicon = &l->saved.lexicon;
    return PK_OK;
}

pk_status pk_lookup_open(const pk_lookup_request *q, pk_lookup *out) {
    *out = (pk_lookup){ 0 };
    if (q->shortlist && q->by->looks_up)
        PK_FAIL(PK_ARGUMENT, "%s chooses from candidates anyway: leave the shortlist out",
                q->by->name);
    pk_status status = open_lexicon(q, out);
    if (status == PK_OK && q->shortlist && !out->lexicon)
        status = pk_fail_with(
            PK_ARGUMENT, "a shortlist needs a lexicon: give one (--lexicon), which `pronk align "
                         "-m MODEL --save FILE` makes");
    if (status == PK_OK && q->shortlist) status = open_shortlist(q, out);
    if (status != PK_OK) pk_lookup_close(out);
    return status;
}

void pk_lookup_close(pk_lookup *l) {
    if (l->shortens) pk_shortlist_close(&l->shortlist);
    pk_saved_lexicon_close(&l->saved);
    *l = (pk_lookup){ 0 };
}
