/* import_ct2_names.c - names of tensors in models of revision 1, which were OpenNMT-tf's own. */
#include <string.h>

#include "base/memory.h"
#include "checkpoint/stored_list.h"
#include "model/import_ct2.h"

/* in this order, each once; what attends to the source is only named apart in the decoder */
static const struct change {
    const char *from, *to;
} changes[] = {
    { "transformer/", "" },     { ":0", "" },
    { "w_embs", "embeddings/weight" },
    { "kernel", "weight" },     { "LayerNorm", "layer_norm" },
    { "dense", "projection" },  { "conv1d_", "linear_" },
    { "conv1d", "linear_0" },
}, encoder_changes[] = {
    { "multi_head", "self_attention" },
}, decoder_changes[] = {
    { "masked_multi_head", "self_attention" },
    { "multi_head", "attention" },
};
enum { GROWTH = 64 }; /* more than all changes together add to a name */

/* every rule is tried once, in the order of the table; a name can change by several of them */
static void change(char *name, const struct change *table, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char *at = strstr(name, table[i].from);
        if (!at) continue;
        const size_t from = strlen(table[i].from), to = strlen(table[i].to);
        memmove(at + to, at + from, strlen(at + from) + 1);
        memcpy(at, table[i].to, to);
    }
}

#define CHANGE(name, table) change(name, table, sizeof(table) / sizeof *(table))

static void modernise(char *name) {
    CHANGE(name, changes);
    if (strstr(name, "encoder"))
        CHANGE(name, encoder_changes);
    else
        CHANGE(name, decoder_changes);
}

pk_status pk_ct2_rename(pk_ct2_model *m) {
    pk_stored *s = &m->stored;
    size_t     room = 0;
    for (size_t i = 0; i < s->n; i++) room += strlen(s->tensor[i].name) + GROWTH;
    PK_TRY(PK_TAKE(&s->names, room));
    char *at = s->names;
    for (size_t i = 0; i < s->n; i++) {
        const size_t n = strlen(s->tensor[i].name);
        memcpy(at, s->tensor[i].name, n + 1);
        modernise(at);
        s->tensor[i].name = at;
        at += n + GROWTH;
    }
    return pk_stored_sort(s);
}
