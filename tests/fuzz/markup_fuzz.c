/* markup_fuzz.c - any bytes as HTML or subtitles: read, spans, sentences, tags, and written again.
 *
 * The first byte chooses the format and what becomes of the words: as they are, in turned order, or
 * lost. Laws: what is read covers the input; with words as they are, HTML loses no byte outside
 * gaps; every tag's and every kept span's bytes are in the output in any case. */
#include "base/buffer.h"
#include "fuzz_help.h"
#include "markup/html.h"
#include "markup/kept_spans.h"
#include "markup/place.h"
#include "markup/protect.h"
#include "markup/subtitles.h"
#include "markup/tagged_write.h"
#include "markup/unit.h"
#include "text/utf8.h"

static pk_splitter *splitter;

/* the words of the source as a target: turned around, or only kept spans */
static void make_target(const pk_passage *p, const pk_word_list *source, unsigned choice,
                        pk_word_list *out) {
    for (size_t i = 0; i < source->n; i++) {
        const size_t from = choice & 4 ? source->n - 1 - i : i;
        pk_word      word = source->word[from];
        if ((choice & 8) && word.kept < 0) continue;
        word.source = (int32_t)from;
        if (word.kept >= 0) word.text = p->kept[word.kept].bytes;
        LAW(pk_word_list_add(out, word) == PK_OK);
    }
    out->tail = source->tail;
}

static size_t bytes_of_markup(const pk_passage *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_tags; i++)
        if (!p->tag[i].inside) n += p->tag[i].open.size + p->tag[i].close.size;
    for (size_t i = 0; i < p->n_kept; i++) n += p->kept[i].bytes.size;
    return n;
}

static void check_units(const pk_passage *p) {
    pk_units units = { 0 };
    size_t   behind = 0;
    LAW(pk_units_split(&units, p, splitter, false) == PK_OK);
    for (size_t i = 0; i < units.n; i++) {
        const pk_unit *u = &units.unit[i];
        pk_mask        m;
        LAW(u->begin >= behind && u->begin + u->size <= p->text.size);
        behind = u->begin + u->size;
        LAW(pk_mask_make(p, u->begin, u->size, (int32_t)i % PK_N_SCHEMES, &m) == PK_OK);
        LAW(pk_utf8_valid(m.text.data, m.text.size));
        LAW(pk_mask_lost(&m, m.text.data, m.text.size) <= m.n); /* glued to a number: lost */
        pk_mask_free(&m);
    }
    pk_memory_give(units.unit);
}

static void check_passage(pk_passage *p, unsigned choice, pk_subtitle_lines lines) {
    pk_byte_ranges ranges = { 0 };
    pk_word_list   source = { 0 }, target = { 0 };
    pk_buffer      out = { 0 };
    const bool     subtitles = choice & 1;
    LAW(pk_protect_usual(p->text.data, p->text.size, &ranges) == PK_OK);
    pk_byte_ranges_tidy(&ranges);
    LAW(pk_passage_keep(p, &ranges) == PK_OK);
    pk_byte_ranges_free(&ranges);
    check_units(p);
    LAW(pk_word_list_cut(&source, p->text.data, p->text.size, 0, p->kept, p->n_kept, 0) == PK_OK);
    make_target(p, &source, choice, &target);
    if (subtitles) pk_subtitles_share(p, lines, &target);
    LAW(pk_place_tags(p, &source, &target) == PK_OK);
    LAW(pk_passage_write(p, &target, true, &out) == PK_OK);
    LAW(out.size >= bytes_of_markup(p));
    LAW(out.size == 0 || pk_utf8_valid(out.data, out.size));
    pk_buffer_free(&out);
    pk_word_list_free(&source);
    pk_word_list_free(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    if (!splitter) LAW(pk_splitter_open("en", &splitter) == PK_OK);
    const unsigned choice = data[0];
    const int64_t  alive = pk_memory_alive();
    pk_buffer      text = { 0 };
    pk_markup      m = { 0 };
    pk_utf8_repair((const char *)data + 1, size - 1, &text);
    pk_buffer_add(&text, "", 0);
    const pk_text   view = { text.data, text.size };
    const pk_status status =
        choice & 1 ? pk_subtitles_read(view, choice & 2, &m) : pk_html_read(view, &m);
    LAW(status == PK_OK || (choice & 1 && status == PK_ARGUMENT));
    const pk_subtitle_lines lines = pk_subtitles_lines(&m);
    for (size_t i = 0; status == PK_OK && i < m.n; i++) check_passage(&m.passage[i], choice, lines);
    pk_markup_free(&m);
    pk_buffer_free(&text);
    LAW(pk_memory_alive() == alive);
    return 0;
}
