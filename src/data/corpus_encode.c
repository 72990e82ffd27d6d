/* corpus_encode.c - text files become a cache file: read, filter, encode, write.
 *
 * The calling thread reads chunks of lines into a ring and writes out finished ones, threads encode
 * what lies between. Chunks are written in the order they were read, and duplicates are found while
 * writing: the file does not depend on the number of threads.
 * Invariant: chunk k lives in ring[k % n_chunks]; n_written <= n_taken <= n_read. */
#include <pthread.h>
#include <string.h>

#include "base/file_writer.h"
#include "base/text_reader.h"
#include "data/corpus_cache.h"

enum { CHUNK_PAIRS = 1024, CHUNK_BYTES = 1 << 20, ERROR_TEXT = 512 };

/* up to CHUNK_PAIRS sentence pairs, first as text, then also encoded */
typedef struct chunk {
    size_t    n;
    pk_buffer text;                 /* source, target, source, target ... */
    size_t    end[2 * CHUNK_PAIRS]; /* of each, in text */
    bool      encoded;
    pk_ids    ids; /* of those kept, end to end */
    int32_t   length[2 * CHUNK_PAIRS];
    uint64_t  hash[CHUNK_PAIRS];
    uint8_t   verdict[CHUNK_PAIRS];
    pk_status status;
    char      error[ERROR_TEXT];
} chunk;

typedef struct encoder {
    const pk_corpus_request *q;
    pk_text_reader          *reader[2];
    uint64_t                 lines[2];
    bool                     ended; /* all has been read */
    chunk                   *ring;
    size_t                   n_chunks, n_threads;
    pthread_t               *thread;
    pthread_mutex_t          lock; /* of what follows, and of every chunk's `encoded` */
    pthread_cond_t           moved;
    size_t                   n_read, n_taken, n_written;
    bool                     stop;
    /* the file being written */
    pk_file_writer   file;
    pk_corpus_kind   kind;
    pk_buffer        bytes; /* of a chunk, as they go into the file */
    pk_seen          seen;
    uint64_t        *first;  /* (2 n + 1) */
    uint16_t        *length; /* (2 n) */
    size_t           n, first_room, length_room;
    pk_filter_counts counts;
} encoder;

/* ---- reading ---- */
/* counts the remaining lines of both files, so that the message can name both numbers */
static pk_status misaligned(encoder *e) {
    const char *line;
    size_t      size;
    for (int side = 0; side < 2; side++) do {
            PK_TRY(pk_text_reader_next(e->reader[side], &line, &size));
            e->lines[side] += line != NULL;
        } while (line);
    PK_FAIL(PK_FORMAT, "%s has %llu line%s but %s has %llu: line by line they must belong together",
            e->q->source, (unsigned long long)e->lines[0], e->lines[0] == 1 ? "" : "s",
            e->q->target, (unsigned long long)e->lines[1]);
}

/* one of the files has ended: both must have */
static pk_status check_end(encoder *e) {
    e->ended = true;
    if (e->lines[0] == 0 && e->lines[1] == 0)
        PK_FAIL(PK_FORMAT, "%s and %s are empty", e->q->source, e->q->target);
    if (e->lines[0] == 0) PK_FAIL(PK_FORMAT, "%s is empty", e->q->source);
    if (e->lines[1] == 0) PK_FAIL(PK_FORMAT, "%s is empty", e->q->target);
    return e->lines[0] == e->lines[1] ? PK_OK : misaligned(e);
}

/* One side of a pair: a line as the request changes it, or two that are joined; the source has its
 * tag before it. Returns through *got how many lines there were. */
static pk_status read_side(encoder *e, int side, pk_buffer *to, int *got) {
    const int   wanted = e->q->change == PK_TEXT_JOIN ? 2 : 1;
    const char *line;
    size_t      size;
    for (*got = 0; *got < wanted; ++*got) {
        PK_TRY(pk_text_reader_next(e->reader[side], &line, &size));
        if (!line) break;
        if (*got) pk_buffer_add(to, " ", 1);
        if (!*got && side == 0 && e->q->to) pk_buffer_print(to, ">>%s<< ", e->q->to);
        pk_text_change_add(e->q->change, side, line, size, to);
        e->lines[side]++;
    }
    return PK_OK;
}

/* reads up to CHUNK_PAIRS pairs or about CHUNK_BYTES bytes; fewer at the end of the files */
static pk_status read_chunk(encoder *e, chunk *c) {
    c->n = 0;
    pk_buffer_clear(&c->text);
    while (c->n < CHUNK_PAIRS && c->text.size < CHUNK_BYTES) {
        int got[2];
        for (int side = 0; side < 2; side++) {
            PK_TRY(read_side(e, side, &c->text, &got[side]));
            c->end[2 * c->n + (size_t)side] = c->text.size;
        }
        if (got[0] != got[1] || got[0] == 0) {
            PK_TRY(check_end(e));
            break;
        }
        c->n++;
    }
    return pk_buffer_status(&c->text);
}

static pk_text line_of(const chunk *c, size_t pair, int side) {
    const size_t i = 2 * pair + (size_t)side, begin = i ? c->end[i - 1] : 0;
    return (pk_text){ c->text.data + begin, c->end[i] - begin };
}

/* ---- encoding: on many threads ---- */
/* Judges the text first: segmenting costs far more. Ids of a pair that is left out are dropped. */
static pk_status encode_pair(const pk_corpus_request *q, chunk *c, size_t pair) {
    const pk_text     source = line_of(c, pair, 0), target = line_of(c, pair, 1);
    const size_t      begin = c->ids.n;
    pk_filter_verdict verdict = pk_filter_text(&q->filter, source, target);
    if (verdict == PK_PAIR_KEPT) {
        PK_TRY(pk_vocab_encode_source(q->vocab, source.data, source.size, &c->ids, NULL));
        const size_t middle = c->ids.n;
        PK_TRY(pk_vocab_encode_target(q->vocab, target.data, target.size, &c->ids));
        c->length[2 * pair] = (int32_t)(middle - begin);
        c->length[2 * pair + 1] = (int32_t)(c->ids.n - middle);
        c->hash[pair] = pk_pair_hash(source, target);
        verdict = pk_filter_lengths(&q->filter, middle - begin, c->ids.n - middle);
    }
    if (verdict != PK_PAIR_KEPT) c->ids.n = begin;
    c->verdict[pair] = (uint8_t)verdict;
    return PK_OK;
}

/* one chunk; a failure is stored in it and reported by the thread that writes */
static void encode_chunk(const pk_corpus_request *q, chunk *c) {
    c->ids.n = 0;
    c->status = PK_OK;
    for (size_t pair = 0; pair < c->n && c->status == PK_OK; pair++)
        c->status = encode_pair(q, c, pair);
    if (c->status != PK_OK) { /* the text lives in this thread alone */
        memset(c->error, 0, sizeof c->error);
        strncpy(c->error, pk_last_error(), sizeof c->error - 1);
    }
}

/* a thread: takes the oldest chunk that is not encoded yet */
static void *work(void *user) {
    encoder *e = user;
    pthread_mutex_lock(&e->lock);
    for (;;) {
        while (e->n_taken == e->n_read && !e->stop) pthread_cond_wait(&e->moved, &e->lock);
        if (e->stop) break;
        chunk *c = &e->ring[e->n_taken++ % e->n_chunks];
        pthread_mutex_unlock(&e->lock);
        encode_chunk(e->q, c);
        pthread_mutex_lock(&e->lock);
        c->encoded = true;
        pthread_cond_broadcast(&e->moved);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- writing ---- */
/* 2 bytes an id where all ids fit, else 4 */
static void add_ids(encoder *e, const int32_t *id, size_t n) {
    if (e->kind == PK_CORPUS_IDS32) {
        pk_buffer_add(&e->bytes, id, n * sizeof *id);
        return;
    }
    for (size_t i = 0; i < n; i++)
        pk_buffer_add(&e->bytes, &(uint16_t){ (uint16_t)id[i] }, sizeof(uint16_t));
}

static pk_status make_room(encoder *e) {
    PK_TRY(PK_RESERVE(&e->first, 2 * e->n + 3, &e->first_room));
    return PK_RESERVE(&e->length, 2 * e->n + 2, &e->length_room);
}

/* a pair that stays: its ids begin at `id` */
static pk_status keep_pair(encoder *e, const chunk *c, size_t pair, const int32_t *id) {
    PK_TRY(make_room(e));
    for (int side = 0; side < 2; side++) {
        const size_t  i = 2 * e->n + (size_t)side;
        const int32_t n = c->length[2 * pair + (size_t)side];
        const pk_text text = line_of(c, pair, side);
        e->length[i] = (uint16_t)n;
        if (e->kind == PK_CORPUS_TEXT)
            pk_buffer_add(&e->bytes, text.data, text.size);
        else
            add_ids(e, id, (size_t)n);
        e->first[i + 1] = e->first[i] + (e->kind == PK_CORPUS_TEXT ? text.size : (uint64_t)n);
        id += n;
        *(side ? &e->counts.target_tokens : &e->counts.source_tokens) += (uint64_t)n;
    }
    e->n++;
    return PK_OK;
}

/* Writes the pairs that are kept. Duplicates are found here, where chunks come in order. */
static pk_status write_chunk(encoder *e, const chunk *c) {
    const int32_t *id = c->ids.id;
    if (c->status != PK_OK) return pk_fail_with(c->status, "%s", c->error);
    pk_buffer_clear(&e->bytes);
    for (size_t pair = 0; pair < c->n; pair++) {
        pk_filter_verdict verdict = (pk_filter_verdict)c->verdict[pair];
        if (verdict == PK_PAIR_KEPT) {
            bool before = false;
            if (e->q->filter.drop_duplicates) PK_TRY(pk_seen_add(&e->seen, c->hash[pair], &before));
            if (before)
                verdict = PK_PAIR_DUPLICATE;
            else
                PK_TRY(keep_pair(e, c, pair, id));
            id += c->length[2 * pair] + c->length[2 * pair + 1];
        }
        e->counts.n[verdict]++;
    }
    PK_TRY(pk_buffer_status(&e->bytes));
    pk_file_writer_add(&e->file, e->bytes.data, e->bytes.size);
    return e->file.status;
}

/* zeros up to the next multiple of 8 bytes */
static void fill_up(encoder *e) {
    static const char zero[8] = { 0 };
    pk_file_writer_add(&e->file, zero, (8 - e->file.size % 8) % 8);
}

/* all behind the data: see the layout in corpus_cache.c */
static pk_status write_rest(encoder *e, uint64_t key) {
    pk_corpus_footer f = { .version = PK_CORPUS_VERSION, .key = key, .kind = (uint64_t)e->kind };
    PK_TRY(make_room(e)); /* `first` exists also when nothing was kept */
    memcpy(f.magic, pk_corpus_magic, sizeof f.magic);
    f.n = e->n;
    f.data_bytes = e->file.size;
    f.size[0] = (uint64_t)pk_vocab_source_size(e->q->vocab);
    f.size[1] = (uint64_t)pk_vocab_target_size(e->q->vocab);
    f.counts = e->counts;
    f.checksum = pk_corpus_checksum(&f);
    fill_up(e);
    pk_file_writer_add(&e->file, e->first, (2 * e->n + 1) * sizeof *e->first);
    if (e->kind == PK_CORPUS_TEXT) {
        pk_file_writer_add(&e->file, e->length, 2 * e->n * sizeof *e->length);
        fill_up(e);
    }
    pk_file_writer_add(&e->file, &f, sizeof f);
    return pk_file_writer_finish(&e->file);
}

/* ---- the whole ---- */
static pk_status report(encoder *e) {
    const pk_corpus_request *q = e->q;
    if (q->progress && q->progress(q->user, q->source, pk_filter_read(&e->counts)) != 0)
        PK_FAIL(PK_CANCELLED, "cancelled while encoding %s", q->source);
    return PK_OK;
}

/* Writes the oldest chunk if it is encoded, else reads another; waits when neither can be done. */
static pk_status move_on(encoder *e) {
    pthread_mutex_lock(&e->lock);
    chunk *oldest = &e->ring[e->n_written % e->n_chunks];
    while (e->n_written < e->n_read && !oldest->encoded &&
           (e->ended || e->n_read - e->n_written == e->n_chunks))
        pthread_cond_wait(&e->moved, &e->lock);
    const bool write = e->n_written < e->n_read && oldest->encoded;
    pthread_mutex_unlock(&e->lock);
    if (write) {
        PK_TRY(write_chunk(e, oldest));
        e->n_written++;
        return report(e);
    }
    chunk *next = &e->ring[e->n_read % e->n_chunks];
    PK_TRY(read_chunk(e, next));
    if (next->n == 0) return PK_OK;
    pthread_mutex_lock(&e->lock);
    next->encoded = false;
    e->n_read++;
    pthread_cond_broadcast(&e->moved);
    pthread_mutex_unlock(&e->lock);
    return PK_OK;
}

/* Two chunks a thread and two for the calling thread: enough that none waits for long. */
static pk_status begin(encoder *e, const char *path) {
    const int32_t highest = pk_vocab_source_size(e->q->vocab) > pk_vocab_target_size(e->q->vocab)
                                ? pk_vocab_source_size(e->q->vocab)
                                : pk_vocab_target_size(e->q->vocab);
    const size_t  n = e->q->threads > 1 ? (size_t)e->q->threads : 1;
    e->kind = e->q->keep_text             ? PK_CORPUS_TEXT
              : highest <= UINT16_MAX + 1 ? PK_CORPUS_IDS16
                                          : PK_CORPUS_IDS32;
    e->n_chunks = 2 * n + 2;
    PK_TRY(PK_TAKE(&e->ring, e->n_chunks));
    PK_TRY(PK_TAKE(&e->thread, n));
    PK_TRY(pk_text_reader_open(e->q->source, &e->reader[0]));
    PK_TRY(pk_text_reader_open(e->q->target, &e->reader[1]));
    PK_TRY(pk_file_writer_open(path, &e->file));
    while (e->n_threads < n && !pthread_create(&e->thread[e->n_threads], NULL, work, e))
        e->n_threads++;
    if (e->n_threads == 0) PK_FAIL(PK_NO_MEMORY, "cannot start a thread for encoding");
    return PK_OK;
}

/* also after a failure: threads are stopped first, then all is freed; a half-written file goes */
static void end(encoder *e) {
    pthread_mutex_lock(&e->lock);
    e->stop = true;
    pthread_cond_broadcast(&e->moved);
    pthread_mutex_unlock(&e->lock);
    for (size_t i = 0; i < e->n_threads; i++) pthread_join(e->thread[i], NULL);
    pk_file_writer_abandon(&e->file);
    for (int side = 0; side < 2; side++) pk_text_reader_close(e->reader[side]);
    for (size_t i = 0; e->ring && i < e->n_chunks; i++) {
        pk_buffer_free(&e->ring[i].text);
        pk_ids_free(&e->ring[i].ids);
    }
    pk_buffer_free(&e->bytes);
    pk_seen_free(&e->seen);
    pk_memory_give(e->ring);
    pk_memory_give(e->thread);
    pk_memory_give(e->first);
    pk_memory_give(e->length);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->moved);
}

pk_status pk_corpus_encode(const pk_corpus_request *q, uint64_t key, const char *path) {
    encoder e = { .q = q, .file = { .fd = -1 } };
    pthread_mutex_init(&e.lock, NULL);
    pthread_cond_init(&e.moved, NULL);
    pk_status status = begin(&e, path);
    while (status == PK_OK && !(e.ended && e.n_written == e.n_read)) status = move_on(&e);
    if (status == PK_OK) status = write_rest(&e, key);
    end(&e);
    return status;
}
