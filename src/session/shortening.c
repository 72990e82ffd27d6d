/* shortening.c - sentences that choose from a list of tokens instead of the whole vocabulary.
 *
 * The rows of the output layer that a list names are gathered once, when it is given, into panels
 * of the sentence's own: a small output layer, whose logits have the bits of the large one's. What
 * the backend says in numbers of its rows becomes tokens again in answering.c. On the host alone: a
 * device's recorded ops would have other weights for every sentence. */
#include <string.h>

#include "session/session_parts.h"
#include "tensor/panel.h"

static size_t room(const pk_session *s) { return pk_panel_count(s->max.shortlist) * PK_PANEL; }

static size_t panel_bytes(const pk_session *s) {
    return pk_panel_bytes(s->max.shortlist, s->output.cols, s->output.type);
}

pk_status pk_session_open_short(pk_session *s) {
    const size_t n = (size_t)s->max.sentences * room(s);
    if (!s->max.shortlist) return PK_OK;
    if (s->on->remote) PK_FAIL(PK_UNSUPPORTED, "shortlists are for CPUs: leave --shortlist out");
    if (s->n_members > 1)
        PK_FAIL(PK_UNSUPPORTED, "models that decode together have no shortlist: leave it out");
    PK_TRY(PK_TAKE(&s->shortlists.token, n));
    PK_TRY(PK_TAKE(&s->shortlists.scale, n));
    PK_TRY(PK_TAKE(&s->shortlists.bias, n));
    return PK_TAKE(&s->shortlists.panels, (size_t)s->max.sentences * panel_bytes(s));
}

void pk_session_close_short(pk_session *s) {
    pk_memory_give(s->shortlists.token);
    pk_memory_give(s->shortlists.scale);
    pk_memory_give(s->shortlists.bias);
    pk_memory_give(s->shortlists.panels);
}

void pk_session_shorten(pk_session *every, int32_t model, int32_t sentence, const int32_t *token,
                        int32_t n) {
    pk_session *const    s = every->network[model];
    const session_short *all = &s->shortlists;
    const size_t         first = (size_t)sentence * room(s);
    const float         *bias = s->output_bias.data;
    char                *panels = all->panels + (size_t)sentence * panel_bytes(s);
    assert(n > 0 && n <= s->max.shortlist && s->sentence[sentence].n_source > 0);
    s->sentence[sentence].n_short = n;
    memcpy(all->token + first, token, (size_t)n * sizeof *token);
    for (int32_t i = 0; i < n; i += PK_PANEL)
        pk_panel_gather(panels + (size_t)(i / PK_PANEL) *
                                     pk_panel_stride(s->output.cols, s->output.type),
                        &s->output, token + i, n - i < PK_PANEL ? n - i : PK_PANEL);
    for (int32_t i = 0; i < n; i++) {
        assert(token[i] >= 0 && token[i] < s->output.rows && (!i || token[i] > token[i - 1]));
        if (s->output.scale) all->scale[first + (size_t)i] = s->output.scale[token[i]];
        if (bias) all->bias[first + (size_t)i] = bias[token[i]];
    }
}

session_group pk_session_short_output(const pk_session *s, int32_t sentence) {
    const session_short *all = &s->shortlists;
    const size_t         first = (size_t)sentence * room(s);
    const int32_t        n = s->sentence[sentence].n_short;
    session_group        out = { s->output, s->output_bias };
    if (!n) return out;
    out.table.data = all->panels + (size_t)sentence * panel_bytes(s);
    if (out.table.scale) out.table.scale = all->scale + first;
    out.table.rows = n;
    if (out.bias.data) out.bias.data = all->bias + first;
    out.bias.cols = n;
    return out;
}

const int32_t *pk_session_short_tokens(const pk_session *s, const session_sentence *e) {
    return s->shortlists.token + (size_t)(e - s->sentence) * room(s);
}

int32_t pk_session_short_find(const pk_session *s, const session_sentence *e, int32_t token) {
    const int32_t *list = pk_session_short_tokens(s, e);
    int32_t        first = 0, end = e->n_short;
    while (first < end) {
        const int32_t middle = first + (end - first) / 2;
        if (list[middle] < token)
            first = middle + 1;
        else
            end = middle;
    }
    return first < e->n_short && list[first] == token ? first : -1;
}
