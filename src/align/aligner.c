/* aligner.c - the public interface for programs: one pair at a time through a saved model, and two
 * files of links symmetrised to one. */
#include "align/align_model.h"
#include "align/align_text.h"
#include "base/memory.h"

enum { FLUSH_BYTES = 1 << 16 };

struct pk_aligner {
    pk_align_model  model;
    pk_align_use    use;
    pk_align_worker worker;
};

pk_status pk_aligner_open(const char *path, pk_aligner **out) {
    pk_aligner *a;
    if (out) *out = NULL;
    if (!path || !out) PK_FAIL(PK_ARGUMENT, "pk_aligner_open: give a path and where to put it");
    PK_TRY(PK_TAKE(&a, 1));
    pk_status status = pk_align_model_open(path, &a->model);
    if (status == PK_OK) status = pk_align_model_use(&a->model, NULL, false, &a->use);
    if (status != PK_OK)
        pk_aligner_close(a);
    else
        *out = a;
    return status;
}

void pk_aligner_close(pk_aligner *a) {
    if (!a) return;
    pk_align_worker_free(&a->worker);
    pk_align_model_close(&a->model);
    pk_memory_give(a);
}

/* The file is checked before and after: a change in between could have given wrong links. */
pk_status pk_aligner_align(pk_aligner *a, pk_text source, pk_text target, const char **links) {
    if (!a || !links)
        PK_FAIL(PK_ARGUMENT, "pk_aligner_align: give an aligner and where to put links");
    *links = NULL;
    if ((source.size && !source.data) || (target.size && !target.data))
        PK_FAIL(PK_ARGUMENT, "pk_aligner_align: a text has bytes, but its data is NULL");
    PK_TRY(pk_align_model_check_file(&a->model));
    PK_TRY(pk_align_text_pair(&a->model, a->use, (const pk_text[2]){ source, target }, &a->worker));
    pk_buffer_clear(&a->worker.text);
    pk_buffer_add(&a->worker.text, "", 0);
    pk_align_links_print(&a->worker.links, &a->worker.text);
    PK_TRY(pk_buffer_status(&a->worker.text));
    PK_TRY(pk_align_model_check_file(&a->model));
    *links = a->worker.text.data;
    return PK_OK;
}

/* ---- links that are there already ---- */

typedef struct symmetrising {
    pk_align_reader      reader;
    pk_align_method      method;
    pk_align_links       links[2], out;
    pk_align_symmetriser symmetriser;
    pk_buffer            text;
    int (*write)(void *user, const char *lines, size_t size);
    void *user;
} symmetrising;

/* hands the lines so far to the caller */
static pk_status flush(symmetrising *j) {
    PK_TRY(pk_buffer_status(&j->text));
    if (j->text.size && j->write(j->user, j->text.data, j->text.size) != 0)
        PK_FAIL(PK_CANCELLED, "cancelled by the caller");
    pk_buffer_clear(&j->text);
    return PK_OK;
}

/* the next line of both files as links */
static pk_status next_pair(symmetrising *j, bool *ended) {
    pk_text pair[2];
    PK_TRY(pk_align_reader_next(&j->reader, pair));
    *ended = !pair[0].data;
    for (int side = 0; side < 2 && !*ended; side++) {
        const pk_status status = pk_align_links_parse(pair[side], &j->links[side]);
        if (status == PK_FORMAT)
            pk_fail_context("%s: line %llu", j->reader.path[side],
                            (unsigned long long)j->reader.lines);
        PK_TRY(status);
    }
    return PK_OK;
}

/* line by line; written in blocks of FLUSH_BYTES */
static pk_status symmetrise_all(symmetrising *j) {
    for (bool ended = false;;) {
        PK_TRY(next_pair(j, &ended));
        if (ended) return flush(j);
        PK_TRY(
            pk_align_symmetrise(&j->symmetriser, j->method, &j->links[0], &j->links[1], &j->out));
        pk_align_links_print(&j->out, &j->text);
        pk_buffer_add(&j->text, "\n", 1);
        if (j->text.size >= FLUSH_BYTES) PK_TRY(flush(j));
    }
}

pk_status pk_align_symmetrise_files(const char *forward, const char *reverse, const char *method,
                                    int (*write)(void *user, const char *lines, size_t size),
                                    void *user) {
    const char *const path[2] = { forward, reverse };
    symmetrising      j = { .write = write, .user = user };
    if (!forward || !reverse || !method || !write)
        PK_FAIL(PK_ARGUMENT, "symmetrising needs two files, a method and where to write");
    PK_TRY(pk_align_method_find(method, &j.method));
    PK_TRY(pk_align_check_lines(path));
    pk_status status = pk_align_reader_open(forward, reverse, &j.reader);
    if (status == PK_OK) status = symmetrise_all(&j);
    pk_align_reader_close(&j.reader);
    for (int side = 0; side < 2; side++) pk_align_links_free(&j.links[side]);
    pk_align_links_free(&j.out);
    pk_align_symmetriser_free(&j.symmetriser);
    pk_buffer_free(&j.text);
    return status;
}
