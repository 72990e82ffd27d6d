/* corpus_cache.c - finds, checks and maps the encoded form of a corpus.
 *
 * Layout, all little-endian, each section padded with zeros to a multiple of 8 bytes:
 *     data      ids of 2 or 4 bytes, or the bytes of the texts: source 0, target 0, source 1, ...
 *     first     2 n + 1 numbers of 8 bytes: where each sentence begins in data, in ids or bytes
 *     length    only with texts: 2 n numbers of 2 bytes, tokens of the best segmentation
 *     footer    pk_corpus_footer
 * The footer comes last because counts and sizes are known last, and the file is written in one
 * pass. Invariant: what pk_corpus_open() lets pass can be read without further checks of
 * offsets. */
#include "data/corpus_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/path.h"

const char pk_corpus_magic[8] = "PKCORPUS";

uint64_t pk_corpus_checksum(const pk_corpus_footer *f) {
    return pk_hash(f, offsetof(pk_corpus_footer, checksum));
}

/* ---- the key ---- */
/* What changes when a text file changes: its path, size and time of change. Its content is not
 * read, which would take minutes for a large corpus. */
static pk_status add_file(pk_buffer *all, const char *path) {
    struct stat info;
    char        whole[PATH_MAX];
    if (stat(path, &info) != 0 || !realpath(path, whole))
        PK_FAIL(PK_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) PK_FAIL(PK_IO, "%s: not a regular file", path);
    pk_buffer_print(all, "%s %lld %lld.%09ld\n", whole, (long long)info.st_size,
                    (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    return PK_OK;
}

/* everything that decides about the content of the cache file, hashed */
static pk_status find_key(const pk_corpus_request *q, uint64_t *key) {
    const pk_filter *f = &q->filter;
    pk_buffer        all = { 0 };
    pk_status        status = add_file(&all, q->source);
    if (status == PK_OK) status = add_file(&all, q->target);
    pk_buffer_print(&all, "%d %016llx %d %.17g %d %d %s %s %d %s", PK_CORPUS_VERSION,
                    (unsigned long long)pk_vocab_fingerprint(q->vocab), f->max_length, f->max_ratio,
                    f->drop_duplicates, q->keep_text, f->source ? q->source_language : "-",
                    f->target ? q->target_language : "-", (int)q->change, q->to ? q->to : "");
    if (status == PK_OK) status = pk_buffer_status(&all);
    if (status == PK_OK) *key = pk_hash(all.data, all.size);
    pk_buffer_free(&all);
    return status;
}

/* CACHE/NAME-KEY.corpus, NAME being that of the source file */
static pk_status find_path(const pk_corpus_request *q, uint64_t key, char **path) {
    const char *slash = strrchr(q->source, '/');
    pk_buffer   text = { 0 };
    pk_buffer_print(&text, "%s/%.100s-%016llx.corpus", q->cache, slash ? slash + 1 : q->source,
                    (unsigned long long)key);
    const pk_status status = pk_buffer_take(&text, path, NULL);
    pk_buffer_free(&text);
    return status;
}

/* ---- opening ---- */
static size_t filled_up(size_t bytes) { return (bytes + 7) / 8 * 8; }

/* made by this version, from these files, for this vocabulary and these settings */
static bool footer_fits(const pk_corpus_footer *f, const pk_corpus_request *q, uint64_t key) {
    return memcmp(f->magic, pk_corpus_magic, sizeof f->magic) == 0 &&
           f->version == PK_CORPUS_VERSION && f->checksum == pk_corpus_checksum(f) &&
           f->key == key && f->kind <= PK_CORPUS_TEXT &&
           (f->kind == PK_CORPUS_TEXT) == q->keep_text && f->n == f->counts.n[PK_PAIR_KEPT] &&
           f->size[0] == (uint64_t)pk_vocab_source_size(q->vocab) &&
           f->size[1] == (uint64_t)pk_vocab_target_size(q->vocab);
}

/* sets the pointers; false when the sections do not fill the file exactly */
static bool find_sections(const pk_corpus_footer *f, pk_corpus *c) {
    const size_t room = c->map.size - sizeof *f;
    if (f->n > room / 16 || f->data_bytes > room) return false;
    const size_t data = filled_up((size_t)f->data_bytes), first = 8 * (2 * (size_t)f->n + 1);
    const bool   text = f->kind == PK_CORPUS_TEXT;
    if (data + first + (text ? filled_up(4 * (size_t)f->n) : 0) != room) return false;
    c->kind = (pk_corpus_kind)f->kind;
    c->n = (size_t)f->n;
    c->data = c->map.data;
    c->first = (const uint64_t *)(const void *)(c->map.data + data);
    c->length = text ? (const uint16_t *)(const void *)(c->map.data + data + first) : NULL;
    c->counts = f->counts;
    for (int side = 0; side < 2; side++) c->size[side] = (int32_t)f->size[side];
    return true;
}

/* offsets rise from 0 to the end of the data, and no sentence is empty or too long */
static bool offsets_fit(const pk_corpus_footer *f, const pk_corpus *c, int32_t max_length) {
    static const uint64_t width[] = { sizeof(uint16_t), sizeof(int32_t), 1 };
    const uint64_t        longest = (uint64_t)max_length;
    bool                  fits = c->first[0] == 0 && f->data_bytes % width[f->kind] == 0 &&
                c->first[2 * c->n] == f->data_bytes / width[f->kind];
    for (size_t i = 0; i < 2 * c->n && fits; i++) {
        const uint64_t size = c->first[i + 1] - c->first[i]; /* wraps to a huge one if it falls */
        const uint64_t tokens = c->length ? c->length[i] : size;
        fits = size >= 1 && size <= f->data_bytes && tokens >= 1 && tokens <= longest;
    }
    return fits;
}

/* PK_OK with c->map.data NULL: there is none, or it does not fit */
static pk_status open_existing(const pk_corpus_request *q, uint64_t key, pk_corpus *c) {
    pk_corpus_footer f;
    bool             fits = false;
    if (access(c->path, F_OK) != 0) return PK_OK;
    PK_TRY(pk_file_map_open(c->path, &c->map));
    if (c->map.size >= sizeof f + 8 && c->map.size % 8 == 0) {
        memcpy(&f, c->map.data + c->map.size - sizeof f, sizeof f);
        fits = footer_fits(&f, q, key) && find_sections(&f, c) &&
               offsets_fit(&f, c, q->filter.max_length);
    }
    if (!fits) pk_file_map_close(&c->map);
    return PK_OK;
}

/* Waits until no other process makes files in the folder. Some file systems have no locks: there
 * several processes make the same file, and the last to finish replaces the others' equal ones. */
static pk_status lock_folder(const pk_corpus_request *q, int folder) {
    const struct timespec pause = { .tv_nsec = 50000000 };
    if (!q->progress) {
        (void)flock(folder, LOCK_EX);
        return PK_OK;
    }
    while (flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (q->progress(q->user, q->source, 0) != 0)
            PK_FAIL(PK_CANCELLED, "cancelled while another process encodes %s", q->source);
        nanosleep(&pause, NULL);
    }
    return PK_OK;
}

/* One process makes the file while others that want it wait (ranks on one machine). */
static pk_status make_and_open(const pk_corpus_request *q, uint64_t key, pk_corpus *c) {
    PK_TRY(pk_path_make_folder(q->cache));
    const int folder = open(q->cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pk_status status = folder >= 0 ? lock_folder(q, folder) : PK_OK;
    if (status == PK_OK) status = open_existing(q, key, c);
    if (status == PK_OK && !c->map.data) {
        status = pk_corpus_encode(q, key, c->path);
        if (status == PK_OK) status = open_existing(q, key, c);
        if (status == PK_OK && !c->map.data)
            status = pk_fail_with(
                PK_IO, "%s: was written but does not read back: is the disk sound?", c->path);
    }
    if (folder >= 0) close(folder); /* also unlocks */
    return status;
}

pk_status pk_corpus_open(const pk_corpus_request *q, pk_corpus *out) {
    uint64_t key;
    *out = (pk_corpus){ 0 };
    PK_TRY(find_key(q, &key));
    PK_TRY(find_path(q, key, &out->path));
    pk_status status = open_existing(q, key, out);
    if (status == PK_OK && !out->map.data) status = make_and_open(q, key, out);
    if (status != PK_OK) pk_corpus_close(out);
    return status;
}

void pk_corpus_close(pk_corpus *c) {
    pk_file_map_close(&c->map);
    pk_memory_give(c->path);
    *c = (pk_corpus){ 0 };
}

/* ---- reading ---- */
/* Ids are checked here and not on opening, which would read the whole file. */
pk_status pk_corpus_ids(const pk_corpus *c, size_t pair, int side, int32_t *out) {
    const size_t    i = 2 * pair + (size_t)side, n = (size_t)(c->first[i + 1] - c->first[i]);
    const uint16_t *narrow = (const uint16_t *)c->data + c->first[i];
    const int32_t  *wide = (const int32_t *)c->data + c->first[i];
    uint32_t        highest = 0;
    for (size_t k = 0; k < n; k++) {
        out[k] = c->kind == PK_CORPUS_IDS16 ? (int32_t)narrow[k] : wide[k];
        if ((uint32_t)out[k] > highest) highest = (uint32_t)out[k];
    }
    if (highest >= (uint32_t)c->size[side])
        PK_FAIL(PK_FORMAT, "%s is damaged (token %u in pair %zu): remove it", c->path, highest,
                pair);
    return PK_OK;
}

pk_text pk_corpus_text(const pk_corpus *c, size_t pair, int side) {
    const size_t i = 2 * pair + (size_t)side;
    return (pk_text){ (const char *)c->data + c->first[i],
                      (size_t)(c->first[i + 1] - c->first[i]) };
}
