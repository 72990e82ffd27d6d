/* members.c - the networks of a session, one or an ensemble: their weights where the device wants
 * them, and what each remembers of the tokens it has seen.
 *
 * All members see the same tokens in the same slots and rows; only the keys and values behind those
 * numbers are each member's own. */
#include <string.h>

#include "session/session_parts.h"

/* ---- weights ---- */

/* an encoder that is never computed stays where it is, but for a table that the decoder has too */
static pk_status adopt(void *user, const pk_weight_spec *spec, pk_weight *w) {
    const pk_session *s = user;
    const pk_backend *on = s->on;
    const pk_weight   host = *w;
    const bool        both = spec->role == PK_ROLE_EMBEDDING && s->config.share_embeddings;
    if (s->shares_encoder && spec->stack == PK_ENCODER && !both) return PK_OK;
    return host.data ? on->adopt(on->self, &host, w) : PK_OK;
}

/* the same network with the device's weights */
static pk_status open_network(pk_session *s, pk_network *own, const pk_network *net) {
    const pk_config *c = &net->config;
    *own = *net;
    own->encoder = NULL, own->decoder = NULL;
    PK_TRY(pk_network_init(own));
    memcpy(own->encoder, net->encoder, (size_t)c->encoder_layers * sizeof *net->encoder);
    memcpy(own->decoder, net->decoder, (size_t)c->decoder_layers * sizeof *net->decoder);
    PK_TRY(pk_network_walk(own, adopt, s));
    pk_network_share(own);
    pk_network_slice(own, 0, &own->output, &own->output_bias);
    return PK_OK;
}

/* What the output layer has for the groups, as a copy: a device may lay panels out in its own way,
 * and groups are small. */
static pk_status open_groups(const pk_backend *on, const pk_network *host, session_group *out) {
    for (int32_t i = 0; i < host->config.n_groups; i++) {
        session_group here;
        pk_network_slice(host, 1 + i, &here.table, &here.bias);
        PK_TRY(on->adopt(on->self, &here.table, &out[i].table));
        PK_TRY(on->adopt(on->self, &here.bias, &out[i].bias));
    }
    return PK_OK;
}

/* the output layer that answers: the network's, or that of all side by side */
static pk_status open_output(pk_session *s, const pk_ensemble *all) {
    const pk_backend *on = s->on;
    s->output = s->member[0].net.output;
    s->output_bias = s->member[0].net.output_bias;
    memcpy(s->group, s->member[0].group, sizeof s->group);
    if (s->n_members == 1) return PK_OK;
    const pk_network whole = { .config = all->config,
                               .output = all->output,
                               .output_bias = all->output_bias };
    pk_weight        table, bias;
    pk_network_slice(&whole, 0, &table, &bias);
    PK_TRY(on->adopt(on->self, &table, &s->output));
    PK_TRY(on->adopt(on->self, &bias, &s->output_bias));
    return open_groups(on, &whole, s->group);
}

/* rows 0, 1, 2 ...: where the states of row i go beside those of other members */
static pk_status open_row_numbers(pk_session *s, int32_t rows) {
    if (s->n_members == 1) return PK_OK;
    PK_TRY(pk_mirror_open(s->on, (size_t)rows * sizeof(int32_t), &s->row_numbers));
    for (int32_t i = 0; i < rows; i++) ((int32_t *)(void *)s->row_numbers.here)[i] = i;
    pk_mirror_send(s->on, &s->row_numbers, s->row_numbers.bytes);
    return PK_OK;
}

/* ---- what each remembers ---- */

/* With many sentences alive, keys and values are as much to read as the weights. Where weights are
 * rounded to 8 bits, 16 bits for these lose nothing that counts, and halve the traffic. A device
 * that computes in 16 bits anyway wants its own type. */
static pk_dtype pool_type(const pk_session *s, const pk_network *net) {
    if (s->on->activations != PK_F32) return s->on->activations;
    return net->output.type == PK_I8 ? PK_F16 : PK_F32;
}

/* one row more than there are: rows that fill a pass up write there */
static pk_status open_pools(const pk_session *s, const pk_network *net, pk_tensor **pools,
                            int32_t rows) {
    const pk_config *c = &net->config;
    PK_TRY(PK_TAKE(pools, (size_t)c->decoder_layers));
    for (int32_t i = 0; i < c->decoder_layers; i++) {
        pk_tensor *pool = &(*pools)[i]; /* (rows + 1, 2D) */
        *pool = (pk_tensor){ NULL, rows + 1, 2 * c->dim, 2 * c->dim, pool_type(s, net) };
        const size_t n = (size_t)pool->rows * (size_t)pool->cols;
        PK_TRY(s->on->take(s->on->self, n * pk_dtype_bytes(pool->type), (void **)&pool->data));
    }
    return PK_OK;
}

static void close_pools(const pk_session *s, const pk_network *net, pk_tensor *pools) {
    for (int32_t i = 0; pools && i < net->config.decoder_layers; i++)
        s->on->give(s->on->self, pools[i].data);
    pk_memory_give(pools);
}

/* ---- all of it ---- */

pk_status pk_session_open_members(pk_session *s, const pk_ensemble *all, int32_t rows) {
    PK_TRY(PK_TAKE(&s->member, (size_t)all->n));
    for (int32_t i = 0; i < all->n; i++) {
        session_member *m = &s->member[s->n_members++];
        PK_TRY(open_network(s, &m->net, all->net[i]));
        m->flops = pk_flops_of(&m->net);
        PK_TRY(open_groups(s->on, all->net[i], m->group));
        PK_TRY(open_pools(s, &m->net, &m->memory.self, s->max.slots));
        PK_TRY(open_pools(s, &m->net, &m->memory.source, s->max.source_tokens));
    }
    PK_TRY(open_output(s, all));
    return open_row_numbers(s, rows);
}

void pk_session_close_members(pk_session *s) {
    for (int32_t i = 0; i < s->n_members; i++) {
        session_member *m = &s->member[i];
        close_pools(s, &m->net, m->memory.self);
        close_pools(s, &m->net, m->memory.source);
        pk_network_free(&m->net);
    }
    pk_mirror_close(s->on, &s->row_numbers);
    pk_memory_give(s->member);
}

/* numbers of scratch memory for one row: a member's work, and the states of all side by side */
size_t pk_session_scratch(const pk_session *s) {
    size_t most = 0;
    for (int32_t i = 0; i < s->n_members; i++) {
        const size_t one = pk_forward_scratch(&s->member[i].net);
        most = one > most ? one : most;
    }
    return most + (s->n_members > 1 ? (size_t)s->output.cols : 0);
}

/* the widest input of any product */
int32_t pk_session_widest(const pk_session *s) {
    int32_t most = s->output.cols;
    for (int32_t i = 0; i < s->n_members; i++) {
        const pk_config *c = &s->member[i].net.config;
        const int32_t    wide[] = { c->dim, c->encoder_ffn, c->decoder_ffn };
        for (int k = 0; k < 3; k++) most = wide[k] > most ? wide[k] : most;
    }
    return most;
}
