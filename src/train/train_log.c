/* train_log.c - log.jsonl: a line for each report that says something, readable by any tool.
 *
 * A line is written with one call. If that fails, it is cut off again, so that the file can always
 * be read. What is reported later on the same update is added to its line, again with one call,
 * which overwrites the closing brace. The points of the plot are kept in memory, and read back from
 * the log when a training goes on. */
#include "train/train_log.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file_map.h"
#include "base/file_writer.h"
#include "base/memory.h"
#include "base/path.h"
#include "checkpoint/json.h"
#include "model/model_file.h"

struct pk_train_log {
    int             file;
    off_t           size;    /* of the lines that count */
    int64_t         present; /* update whose line is the last, if this process wrote it; or -1 */
    char           *path, *plot;
    pk_train_point *point;
    size_t          n, room;
};

static pk_status add_point(pk_train_log *l, pk_train_point p) {
    PK_TRY(PK_RESERVE(&l->point, l->n + 1, &l->room));
    l->point[l->n++] = p;
    return PK_OK;
}

/* ---- Going on ---- */

/* NaN where the line has no such number */
static double number_of(const json_t *line, const char *name) {
    const json_t *value = json_object_get(line, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/* keep is false where this line and all after it are to go */
static pk_status read_line(pk_train_log *l, const char *text, size_t size, int64_t update,
                           bool *keep) {
    json_t         *line;
    const pk_status status = pk_json_parse(text, size, "log", &line);
    *keep = false;
    if (status == PK_NO_MEMORY) return status;
    if (status != PK_OK) return PK_OK; /* cut off in the middle, or not ours */
    const pk_train_point p = { number_of(line, "update"), number_of(line, "loss"),
                               number_of(line, "valid_loss"), number_of(line, "valid_bleu") };
    json_decref(line);
    *keep = p.update <= (double)update; /* false for NaN */
    return *keep ? add_point(l, p) : PK_OK;
}

/* reads whole lines up to `update`; l->size is then the end of the last of them */
static pk_status read_lines(pk_train_log *l, const char *text, size_t size, int64_t update) {
    size_t at = 0;
    bool   keep = true;
    while (at < size) {
        const char *end = memchr(text + at, '\n', size - at);
        if (!end) break;
        const size_t n = (size_t)(end - text) - at;
        PK_TRY(read_line(l, text + at, n, update, &keep));
        if (!keep) break;
        at += n + 1;
    }
    l->size = (off_t)at;
    return PK_OK;
}

/* reads what is there and cuts off what comes after `update` */
static pk_status go_on(pk_train_log *l, int64_t update) {
    pk_file_map map = { 0 };
    if (update > 0) PK_TRY(pk_file_map_open(l->path, &map));
    const pk_status status =
        read_lines(l, map.data ? (const char *)map.data : "", map.size, update);
    pk_file_map_close(&map);
    PK_TRY(status);
    if (ftruncate(l->file, l->size) != 0)
        PK_FAIL(PK_IO, "%s: cannot cut it: %s", l->path, strerror(errno));
    return PK_OK;
}

/* opened for reading too: a resumed training continues the file */
static pk_status open_log(pk_train_log *l, const char *folder, int64_t update) {
    l->file = -1;
    l->present = -1;
    PK_TRY(pk_path_in(folder, PK_TRAINING_LOG, &l->path));
    PK_TRY(pk_path_in(folder, PK_TRAIN_PLOT, &l->plot));
    l->file = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (l->file < 0) PK_FAIL(PK_IO, "%s: cannot write: %s", l->path, strerror(errno));
    return go_on(l, update);
}

pk_status pk_train_log_open(const char *folder, int64_t update, pk_train_log **out) {
    *out = NULL;
    PK_TRY(PK_TAKE(out, 1));
    const pk_status status = open_log(*out, folder, update);
    if (status == PK_OK) return PK_OK;
    pk_train_log_close(*out);
    *out = NULL;
    return status;
}

void pk_train_log_close(pk_train_log *l) {
    if (!l) return;
    if (l->file >= 0) close(l->file);
    pk_memory_give(l->path);
    pk_memory_give(l->plot);
    pk_memory_give(l->point);
    pk_memory_give(l);
}

/* ---- Lines ---- */

enum { ENDING = 2 };
static const char ending[] = "}\n";

/* JSON has no word for what is not finite: such figures are left out */
static void add_number(pk_buffer *line, const char *name, double value) {
    if (isfinite(value)) pk_buffer_print(line, ",\"%s\":%.7g", name, value);
}

/* {"update":..,"epoch":..,"seconds":.., what was measured}; goes_on: without the beginning */
static void print_line(pk_buffer *line, const pk_train_report *r, bool goes_on) {
    if (!goes_on) {
        pk_buffer_print(line, "{\"update\":%lld", (long long)r->update);
        pk_buffer_print(line, ",\"epoch\":%.5f,\"seconds\":%.2f", r->epoch, r->seconds);
    }
    if (r->logged) {
        add_number(line, "loss", r->loss);
        add_number(line, "nll", r->nll);
        add_number(line, "accuracy", r->accuracy);
        add_number(line, "gradient", r->gradient);
        add_number(line, "rate", r->rate);
        add_number(line, "tokens_per_second", r->tokens_per_second);
        pk_buffer_print(line, ",\"skipped\":%lld", (long long)r->skipped);
    }
    if (r->validated) {
        add_number(line, "valid_loss", r->valid_loss);
        add_number(line, "valid_bleu", r->valid_bleu);
        add_number(line, "valid_chrf", r->valid_chrf);
    }
    if (r->saved) pk_buffer_add_text(line, ",\"saved\":true");
    if (r->done) pk_buffer_add_text(line, ",\"done\":true");
    pk_buffer_add_text(line, ending);
}

/* pwrite: the position is ours alone, whatever else has the file open */
static ssize_t write_at(const pk_train_log *l, off_t at, const char *text, size_t size) {
    ssize_t done;
    do done = pwrite(l->file, text, size, at);
    while (done < 0 && errno == EINTR);
    return done;
}

/* Writes whole or not at all: after a failure the old end of the file is restored. */
static pk_status write_text(pk_train_log *l, off_t at, const char *text, size_t size) {
    const ssize_t done = write_at(l, at, text, size);
    if (done == (ssize_t)size) {
        l->size = at + done;
        return PK_OK;
    }
    const int     why = done < 0 ? errno : ENOSPC;
    const ssize_t back = at < l->size ? write_at(l, at, ending, ENDING) : 0;
    if (back < 0 || ftruncate(l->file, l->size) != 0)
        PK_FAIL(PK_IO, "%s: cannot be written nor put back: %s", l->path, strerror(why));
    PK_FAIL(PK_IO, "%s: cannot write: %s", l->path, strerror(why));
}

static pk_status write_line(pk_train_log *l, const pk_train_report *r) {
    const bool goes_on = l->present == r->update;
    pk_buffer  line = { 0 };
    locale_t   plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* decimal points, not commas */
    locale_t   before = uselocale(plain);
    print_line(&line, r, goes_on);
    uselocale(before);
    if (plain) freelocale(plain);
    pk_status status = pk_buffer_status(&line);
    if (status == PK_OK)
        status = write_text(l, goes_on ? l->size - ENDING : l->size, line.data, line.size);
    pk_buffer_free(&line);
    if (status == PK_OK) l->present = r->update;
    return status;
}

pk_status pk_train_log_add(pk_train_log *l, const pk_train_report *r) {
    if (!r->logged && !r->validated && !r->saved && !r->done) return PK_OK;
    PK_TRY(write_line(l, r));
    return add_point(l, (pk_train_point){ (double)r->update, r->logged ? r->loss : NAN,
                                          r->validated ? r->valid_loss : NAN,
                                          r->validated ? r->valid_bleu : NAN });
}

pk_status pk_train_log_plot(pk_train_log *l) {
    pk_buffer      svg = { 0 };
    pk_file_writer w;
    pk_train_plot_svg(l->point, l->n, &svg);
    pk_status status = pk_buffer_status(&svg);
    if (status == PK_OK) status = pk_file_writer_open(l->plot, &w);
    if (status == PK_OK) {
        pk_file_writer_add(&w, svg.data, svg.size);
        status = pk_file_writer_finish(&w);
    }
    pk_buffer_free(&svg);
    return status;
}
