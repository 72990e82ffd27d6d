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

static pk_shortlist_needs needs_of(const pk_lookup_request *q, pk_shortlist_size size) {
    const pk_model *m = q->model;
    return (pk_shortlist_needs){ .size = size,
                                 .n_tokens = pk_config_text(&m->data.network.config),
                                 .eos = m->data.network.config.eos,
                                 .most_given = q->most_given,
                                 .copies = m->data.target_tokens.size == 0 };
}

static pk_status open_shortlist(const pk_lookup_request *q, pk_lookup *l) {
    pk_shortlist_needs needs = needs_of(q, PK_SHORTLIST_SIZE);
    uint8_t           *always;
    PK_TRY(PK_TAKE(&always, (size_t)needs.n_tokens));
    for (int32_t y = 0; y < needs.n_tokens; y++)
        always[y] = has_no_letter(pk_vocab_target_token(q->model->vocab, y));
    needs.always = always;
    const pk_status status = pk_shortlist_open(l->lexicon, &needs, &l->shortlist);
    pk_memory_give(always);
    return status;
}

/* What a drafter does not say costs a pass now and then, and no word of the output. */
static pk_status open_drafts(const pk_lookup_request *q, pk_lookup *l) {
    const pk_shortlist_needs needs = needs_of(q, PK_SHORTLIST_DRAFT_SIZE);
    return pk_shortlist_open(l->lexicon, &needs, &l->drafts);
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
        PK_FAIL(PK_ARGUMENT, "%s looks up the model's own candidates: leave the shortlist out",
                q->by->name);
    pk_status status = open_lexicon(q, out);
    if (status == PK_OK && q->shortlist && !out->lexicon)
        status = pk_fail_with(
            PK_ARGUMENT, "a shortlist needs a lexicon: give one (--lexicon), which `pronk align "
                         "-m MODEL --save FILE` makes");
    if (status == PK_OK && q->shortlist) status = open_shortlist(q, out);
    const pk_lexicon *own = q->of_drafter;
    if (status == PK_OK && !out->lexicon && own && own->source_vocab) out->lexicon = own;
    if (status == PK_OK && q->drafts && out->lexicon) status = open_drafts(q, out);
    if (status != PK_OK) pk_lookup_close(out);
    return status;
}

void pk_lookup_close(pk_lookup *l) {
    pk_shortlist_close(&l->shortlist);
    pk_shortlist_close(&l->drafts);
    pk_saved_lexicon_close(&l->saved);
    *l = (pk_lookup){ 0 };
}
