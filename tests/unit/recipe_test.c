/* recipe_test.c - recipes: every key sets its field and no other, copies read back the same, and
 * whatever is wrong is named with its line. */
#include "recipe/recipe.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "recipe/recipe_parts.h"
#include "task/task.h"

/* ---- Help ---- */

static char path[256];

static const char *write_file(const void *text, size_t size) {
    snprintf(path, sizeof path, "/tmp/pronk-recipe-%ld.yml", (long)getpid());
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
    return path;
}

static pk_status read_text(const char *text, pk_recipe *out) {
    return pk_recipe_read(write_file(text, strlen(text)), NULL, 0, out);
}

static void refused_bytes(const void *text, size_t size, pk_status code, const char *says) {
    const int64_t   alive = pk_memory_alive();
    pk_recipe       r;
    const pk_status status = pk_recipe_read(write_file(text, size), NULL, 0, &r);
    if (status != code || !strstr(pk_last_error(), says))
        fail_msg("%.60s: status %d, \"%s\" instead of \"%s\"", (const char *)text, status,
                 pk_last_error(), says);
    assert_int_equal(pk_memory_alive(), alive);
    assert_null(r.task); /* nothing half-read is left */
}

static void refused(const char *text, const char *says) {
    refused_bytes(text, strlen(text), PK_ARGUMENT, says);
}

static void no_yaml(const char *text, const char *says) {
    refused_bytes(text, strlen(text), PK_FORMAT, says);
}

static void refused_set(const char *set, const char *says) {
    pk_recipe r;
    assert_int_equal(pk_recipe_read(NULL, &set, 1, &r), PK_ARGUMENT);
    if (!strstr(pk_last_error(), says)) fail_msg("'%s' instead of '%s'", pk_last_error(), says);
}

/* whether one field holds the same in both, texts compared as texts */
static bool same_field(const pk_recipe *a, const pk_recipe *b, const pk_option *k) {
    const void *x = (const char *)a + k->offset, *y = (const char *)b + k->offset;
    if (pk_option_is_text(k)) return !strcmp(*(char *const *)x, *(char *const *)y);
    if (pk_option_is_list(k)) {
        const pk_texts *s = x, *t = y;
        bool            same = s->n == t->n;
        for (size_t i = 0; same && i < s->n; i++) same = !strcmp(s->item[i], t->item[i]);
        return same;
    }
    switch (k->kind) { /* bytes, not what pk_option_number() says they are */
    case PK_OPTION_LONG: return !memcmp(x, y, sizeof(int64_t));
    case PK_OPTION_DOUBLE: return !memcmp(x, y, sizeof(double));
    case PK_OPTION_CHOICE: return !memcmp(x, y, sizeof(int32_t));
    default: return !memcmp(x, y, sizeof(bool));
    }
}

static void all_same(const pk_recipe *a, const pk_recipe *b) {
    for (const pk_option *k = pk_recipe_keys; k->name; k++)
        if (!same_field(a, b, k)) fail_msg("%s differs", k->name);
}

/* a value that the key takes and that is not its default */
static void sample(const pk_option *k, char *out, size_t room) {
    int choice = 0;
    switch (k->kind) {
    case PK_OPTION_LONG:
        snprintf(out, room, "%.0f", k->lowest == k->normal ? k->lowest + 1 : k->lowest);
        break;
    case PK_OPTION_DOUBLE:
        snprintf(out, room, "%.17g", k->lowest == k->normal ? k->highest : k->lowest);
        break;
    case PK_OPTION_CHOICE:
        while (choice == k->normal || (k->only && !(k->only >> choice & 1))) choice++;
        assert_non_null(k->choices[choice]);
        snprintf(out, room, "%s", k->choices[choice]);
        break;
    case PK_OPTION_FLAG: snprintf(out, room, "%s", k->normal != 0 ? "no" : "yes"); break;
    case PK_OPTION_NUMBERS: snprintf(out, room, "0.5"); break;
    default: snprintf(out, room, "else/where"); break;
    }
}

/* ---- What is read ---- */

static void each_key_sets_its_field(void **state) {
    pk_recipe normal, changed;
    (void)state;
    ASSERT_OK(pk_recipe_read(NULL, NULL, 0, &normal));
    for (const pk_option *k = pk_recipe_keys; k->name; k++) {
        char value[64], text[256];
        sample(k, value, sizeof value);
        snprintf(text, sizeof text, "%s: %s\n", k->name, value);
        ASSERT_OK(read_text(text, &changed));
        for (const pk_option *other = pk_recipe_keys; other->name; other++)
            if (same_field(&normal, &changed, other) != (other != k))
                fail_msg("%s: %s is %s", k->name, other->name, other == k ? "not set" : "changed");
        pk_recipe_free(&changed);
        snprintf(text, sizeof text, "%s=%s", k->name, value);
        ASSERT_OK(pk_recipe_read(NULL, &(const char *){ text }, 1, &changed));
        for (const pk_option *other = pk_recipe_keys; other->name; other++)
            assert_int_equal(same_field(&normal, &changed, other), other != k);
        pk_recipe_free(&changed);
    }
    pk_recipe_free(&normal);
}

static void every_range_is_checked(void **state) {
    (void)state;
    for (const pk_option *k = pk_recipe_keys; k->name; k++) {
        char text[256], says[256];
        if (k->kind >= PK_OPTION_TEXT && k->kind != PK_OPTION_NUMBERS) continue;
        snprintf(says, sizeof says, "line 2: %s takes ", k->name);
        static const char *const wrong[] = { "x", "1x", "-1", "1e99", "nan", "inf", "0x10", "''" };
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            snprintf(text, sizeof text, "# a comment\n%s: %s\n", k->name, wrong[i]);
            refused(text, says);
        }
        if (k->kind != PK_OPTION_LONG) continue;
        snprintf(text, sizeof text, "\n%s: 1.5\n", k->name);
        refused(text, "a whole number from");
    }
    refused("train.rate: 2", "train.rate takes a number from 0 to 1, not '2'");
    refused("model.norm: middle", "model.norm takes one of post|pre, not 'middle'");
    refused("type: f16", "type takes one of auto|f32|bf16, not 'f16'");
    refused("save.type: bf16", "save.type takes one of f32|f16|i8, not 'bf16'");
    refused("save.type: auto", "save.type takes one of f32|f16|i8, not 'auto'");
    refused("valid.bleu: perhaps", "valid.bleu takes true or false, not 'perhaps'");
    refused("model.dim: 4", "model.dim takes a whole number from 8 to 8192, not '4'");
}

static void nested_and_dotted_are_the_same(void **state) {
    pk_recipe a, b;
    (void)state;
    ASSERT_OK(read_text("data:\n  source: [a.en, b.en]\n  target:\n    - a.de\n    - b.de\n"
                        "train: {rate: 5e-4, updates: 1e5}\nvalid.every: 500\nfreeze: encoder.*\n",
                        &a));
    ASSERT_OK(read_text("data.source: ['a.en', \"b.en\"]\ndata.target: [a.de, b.de]\n"
                        "train.rate: 0.0005\ntrain.updates: 100000\nvalid: {every: 500}\n"
                        "freeze: [encoder.*]\n",
                        &b));
    all_same(&a, &b);
    assert_int_equal(a.source.n, 2);
    assert_string_equal(a.source.item[1], "/tmp/b.en");
    assert_int_equal(a.updates, 100000);
    assert_true(a.rate == 5e-4);
    assert_string_equal(a.freeze.item[0], "encoder.*");
    pk_recipe_free(&a);
    pk_recipe_free(&b);
}

static void nothing_means_default(void **state) {
    static const char *const empty[] = { "",
                                         "\n\n",
                                         "# only a comment\n",
                                         "---\n",
                                         "---\n...\n",
                                         "~",
                                         "data:\ntrain:\n",
                                         "freeze:\n",
                                         "freeze: []\n",
                                         "{}" };
    pk_recipe                normal, r;
    (void)state;
    ASSERT_OK(pk_recipe_read(NULL, NULL, 0, &normal));
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        ASSERT_OK(read_text(empty[i], &r));
        all_same(&normal, &r);
        pk_recipe_free(&r);
    }
    pk_recipe_free(&normal);
}

static void paths_count_from_the_right_folder(void **state) {
    const char *set[] = { "output=out", "data.source=a.en,/b.en", "vocab=" };
    char        here[4096], want[4200];
    pk_recipe   r;
    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    write_file("vocab: joint.spm\nvalid.source: ./v.en\noutput: never\ninit: /m\ntask: at\n", 69);
    ASSERT_OK(pk_recipe_read(path, set, 2, &r));
    assert_string_equal(r.vocab, "/tmp/joint.spm");
    assert_string_equal(r.valid_source, "/tmp/v.en");
    assert_string_equal(r.init, "/m");
    assert_string_equal(r.task, "at"); /* no path */
    snprintf(want, sizeof want, "%s/out", here);
    assert_string_equal(r.output, want);
    snprintf(want, sizeof want, "%s/a.en", here);
    assert_string_equal(r.source.item[0], want);
    assert_string_equal(r.source.item[1], "/b.en");
    pk_recipe_free(&r);
    ASSERT_OK(pk_recipe_read(path, set, 3, &r));
    assert_string_equal(r.vocab, "");
    pk_recipe_free(&r);
}

static void the_last_set_counts(void **state) {
    const char *set[] = { "train.rate=0.1", "train.rate=0.2", "task=at:x=1,y=2" };
    pk_recipe   r;
    (void)state;
    ASSERT_OK(pk_recipe_read(NULL, set, 3, &r));
    assert_true(r.rate == 0.2);
    assert_string_equal(r.task, "at:x=1,y=2");
    pk_recipe_free(&r);
}

/* ---- What is refused ---- */

static void mistakes_are_named(void **state) {
    (void)state;
    refused("\n\ntrain.rats: 1", "line 3: there is no key 'train.rats'; did you mean train.rate?");
    refused("train:\n  rats: 1", "line 2: there is no key 'train.rats'; did you mean train.rate?");
    refused("warmup: 1", "there is no key 'warmup'; did you mean train.warmup?");
    refused("train.dim: 8", "did you mean model.dim?");
    refused("qqqqqqqqqqq: 1", "there is no key 'qqqqqqqqqqq'");
    assert_null(strstr(pk_last_error(), "mean"));
    refused("data: here", "line 1: data is a section: give its keys, such as data.source");
    refused("task: {a: 1}", "task takes a value, it is no section");
    refused("nowhere: {a: 1}", "there is no key 'nowhere'");
    refused("data: {source: {a: b}}", "data.source takes a value, it is no section");
    refused("seed: [1, 2]", "seed takes one value, not a list");
    refused("seed: [1]", "seed takes one value, not a list");
    refused("seed:", "seed takes a whole number from 0 to 9");
    refused("seed: 1\ntask: at\nseed: 1", "line 3: seed is given twice, first in line 1");
    refused("data: {weight: 1}\ndata.weight: 2", "data.weight is given twice, first in line 1");
    refused("data.weight: [1, x]", "data.weight takes a number from 0 to 1e+06, not 'x'");
    refused("data.source: [a, '']", "an item of data.source is empty");
    refused_set("seed", "--set: 'seed' has no value: write key=value");
    refused_set("sed=1", "--set: there is no key 'sed'; did you mean seed?");
    refused_set("data=1", "data is a section");
    refused_set("seed=x", "--set: seed takes a whole number");
    refused_set("output=a\xff", "--set: the value of output is not valid UTF-8");
    refused_set("=1", "there is no key ''");
}

static void hostile_text_is_refused(void **state) {
    (void)state;
    no_yaml("- a\n- b\n", "a recipe holds lines of the form");
    no_yaml("just words\n", "a recipe holds lines of the form");
    no_yaml("task: at\n  x: y: z\n", "line 2: this is not valid YAML");
    no_yaml("task: 'at\n\n", "this is not valid YAML");
    no_yaml("task: [a, b\n", "this is not valid YAML");
    no_yaml("\ttask: at\n", "this is not valid YAML");
    no_yaml("task: &x at\nfreeze: *x\n", "anchors (&name) are not possible");
    no_yaml("freeze: *x\n", "aliases (*name) are not possible");
    no_yaml("a: &a [&b [*b, *b], *a]\n", "anchors");
    no_yaml("task: !!str at\n", "tags (!name) are not possible");
    no_yaml("data.source: [[a]]\n", "a list may hold texts and numbers only");
    no_yaml("data.source: [{a: b}]\n", "a list may hold texts and numbers only");
    no_yaml("? [a, b]\n: c\n", "a key must be a plain word");
    no_yaml("task: at\n---\ntask: at\n", "line 2: a recipe is one document");
    no_yaml("task: \"a\\0b\"\n", "a NUL character is not possible");
    no_yaml("\"ta\\0sk\": b\n", "a NUL character is not possible");
    refused_bytes("task: a\0b", 9, PK_FORMAT, "line 1: this is not valid YAML");
    refused_bytes("seed: 1\ntask: a\xff\n", 17, PK_FORMAT, "line 2: this is not valid YAML");
    refused_bytes("\x80\x02}q\x00.", 6, PK_FORMAT, "not valid YAML");
    refused_bytes("\x1f\x8b\x08\x00\x00\x00", 6, PK_FORMAT, "not valid YAML");
}

/* n times the text, then the end; as many bytes as a recipe may have */
static void repeated(const char *begin, const char *text, const char *end, pk_status code,
                     const char *says) {
    enum { BYTES = 1 << 20 };
    char  *all = malloc(BYTES + 1);
    size_t at = strlen(begin), n = strlen(text);
    assert_non_null(all);
    memcpy(all, begin, at);
    for (; at + n + strlen(end) < BYTES; at += n) memcpy(all + at, text, n);
    memcpy(all + at, end, strlen(end) + 1);
    if (code == PK_OK) {
        pk_recipe r;
        ASSERT_OK(pk_recipe_read(write_file(all, strlen(all)), NULL, 0, &r));
        pk_recipe_free(&r);
    } else {
        refused_bytes(all, strlen(all), code, says);
    }
    free(all);
}

static void huge_and_deep_text_is_refused(void **state) {
    (void)state;
    repeated("data.source: ", "[", "", PK_FORMAT, "");
    repeated("", "{a: ", "", PK_ARGUMENT, "line 1: there is no key 'a'");
    repeated("", "- ", "\n", PK_FORMAT, "a recipe holds lines");
    repeated("data:", "\n  source:", "", PK_ARGUMENT, "data.source is given twice");
    repeated("", "a", ": b\n", PK_FORMAT, "a recipe holds lines");
    repeated("task: ", "a", "\n", PK_OK, NULL);
    repeated("data.source: [a", ",a", "]\n", PK_OK, NULL);
    char *big = calloc(1, (1 << 20) + 1);
    assert_non_null(big);
    memset(big, '#', (1 << 20) + 1);
    refused_bytes(big, (1 << 20) + 1, PK_FORMAT, "bytes are too many for a recipe");
    free(big);
}

static void files_that_are_not_there(void **state) {
    pk_recipe r;
    (void)state;
    assert_int_equal(pk_recipe_read("/nowhere/r.yml", NULL, 0, &r), PK_IO);
    assert_int_equal(pk_recipe_read("/tmp", NULL, 0, &r), PK_IO);
    assert_non_null(strstr(pk_last_error(), "/tmp"));
}

/* ---- Copies, comparison, help ---- */

static const char odd_text[] =
    "task: \"a \\\"b\\\" \\\\ \\n\\t\\x01 \\x85 \\u2028 \\uFEFF \\u00fc \\U0001F600 # : {\"\n"
    "data: {source: ['x, y', 'z: [1]', ' ', '#'], weight: [1, 0.1, 3e-3]}\nseed: 9e15\n"
    "train: {rate: 0.1, final_rate: 0.3333333333333333, epsilon: 1e-12}\nmodel.act: swish\n";

static void copies_read_back_the_same(void **state) {
    const char *const texts[] = { "", odd_text };
    (void)state;
    for (int i = 0; i < 2; i++) {
        pk_recipe r, again;
        pk_buffer copy = { 0 };
        ASSERT_OK(read_text(texts[i], &r));
        pk_recipe_write(&r, &copy);
        ASSERT_OK(pk_buffer_status(&copy));
        ASSERT_OK(read_text(copy.data, &again));
        all_same(&r, &again);
        pk_buffer_free(&copy);
        pk_recipe_free(&r);
        pk_recipe_free(&again);
    }
}

/* numbers are read and written with points, whatever the host program has set */
static void the_locale_does_not_matter(void **state) {
    pk_recipe r;
    pk_buffer copy = { 0 };
    (void)state;
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) setlocale(LC_ALL, "");
    ASSERT_OK(read_text("train.rate: 0.25", &r));
    assert_true(r.rate == 0.25);
    pk_recipe_write(&r, &copy);
    assert_non_null(strstr(copy.data, "rate: 0.25\n"));
    setlocale(LC_ALL, "C");
    pk_buffer_free(&copy);
    pk_recipe_free(&r);
}

static void what_may_differ(void **state) {
    pk_recipe a, b;
    (void)state;
    ASSERT_OK(pk_recipe_read(NULL, NULL, 0, &a));
    for (const pk_option *k = pk_recipe_keys; k->name; k++) {
        char value[64], set[128];
        sample(k, value, sizeof value);
        snprintf(set, sizeof set, "%s=%s", k->name, value);
        ASSERT_OK(pk_recipe_read(NULL, &(const char *){ set }, 1, &b));
        assert_int_equal(pk_recipe_compatible(&a, &b), pk_recipe_is_fixed(k) ? PK_ARGUMENT : PK_OK);
        if (pk_recipe_is_fixed(k))
            assert_ptr_equal(strstr(pk_last_error(), k->name), pk_last_error());
        pk_recipe_free(&b);
    }
    pk_recipe_free(&a);
    ASSERT_OK(read_text("data.source: /a/x.en\nvocab: v.spm", &a));
    ASSERT_OK(read_text("data.source: /b/x.en\nvocab: /v.spm", &b));
    ASSERT_OK(pk_recipe_compatible(&a, &b)); /* it has moved */
    pk_recipe_free(&a);
    pk_recipe_free(&b);
}

static const char whole[] = "output: o\nvocab: v\ndata: {source: a, target: b}\n";

static void checked(const char *more, const char *says) {
    char      text[512];
    pk_recipe r;
    snprintf(text, sizeof text, "%s%s\n", whole, more);
    if (!strncmp(more, "only ", 5)) snprintf(text, sizeof text, "%s\n", more + 5);
    ASSERT_OK(read_text(text, &r));
    assert_int_equal(pk_recipe_check(&r), says ? PK_ARGUMENT : PK_OK);
    if (says && !strstr(pk_last_error(), says))
        fail_msg("'%s' instead of '%s'", pk_last_error(), says);
    pk_recipe_free(&r);
}

static void settings_must_fit(void **state) {
    (void)state;
    checked("", NULL);
    checked("only output: o", "no data to train on");
    checked("only vocab: v", "give output");
    checked("only {output: o, data: {source: a, target: b}}", "no vocabulary");
    checked("only {output: o, init: m, data: {source: a, target: b}}", NULL);
    checked("only {output: o, data: {source: [a, b], target: c}}", "2 files and data.target has 1");
    checked("data.weight: [1, 2]", "data.weight has 2 items for 1 corpora");
    checked("data.change: [upper, lower]", "data.change has 2 items for 1 corpora");
    checked("data.change: [loud]",
            "no change of text is called \"loud\": keep, upper, title, lower, bare, join");
    checked("data.to: [de]",
            "data.to needs the language that is meant when nothing is said: give to");
    checked("valid.source: x", "valid.target is missing");
    checked("valid.target: x", "valid.source is missing");
    checked("data.check_language: yes", "give from and to");
    checked("data.check_language: yes\nfrom: en\nto: de", NULL);
    checked("from: averyveryverylongname", "codes such as en");
    checked("model.dim: 100", "model.dim must be a multiple of model.heads");
    checked("model: {dim: 9, heads: 3}", "even");
    checked("data.max_length: 512", "model.max_positions must be more than data.max_length");
    checked("vocab_target: w", "model.tie must be decoder or none");
    checked("vocab_target: w\nmodel.tie: decoder", NULL);
    checked("train: {updates: 0, schedule: cosine}", "needs an end");
    checked("train: {updates: 0, cooldown: 0.2}", "needs an end");
    checked("train: {updates: 0, cooldown: 0.2, minutes: 3}", NULL);
}

static void help_has_every_key(void **state) {
    char *text;
    (void)state;
    ASSERT_OK(pk_recipe_text(&text));
    for (const pk_option *k = pk_recipe_keys; k->name; k++) {
        char line[64];
        snprintf(line, sizeof line, "\n%s: ", k->name);
        if (strncmp(text, line + 1, strlen(line) - 1) && !strstr(text, line))
            fail_msg("no %s in the help", k->name);
    }
    assert_non_null(strstr(text, "\ntrain.rate: 0..1 (0.0007)\n    highest learning rate\n"));
    for (size_t i = 0; pk_task_at(i); i++) assert_non_null(strstr(text, pk_task_at(i)->help));
    assert_non_null(strstr(text, "\nsave.type: f32|f16|i8 (f16)\n"));
    assert_non_null(strstr(text, "\ntype: auto|f32|bf16 (auto)\n"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strlen(line) > 77) fail_msg("too wide: %s", line);
    pk_free(text);
}

/* ---- Out of memory ---- */

static pk_status read_and_write(void *user) {
    const char *set[] = { "data.target=a,b", "output=x", "train.rate=1" };
    pk_recipe   r;
    pk_buffer   copy = { 0 };
    PK_TRY(pk_recipe_read(user, set, 3, &r));
    pk_recipe_write(&r, &copy);
    const pk_status status = pk_buffer_status(&copy);
    pk_buffer_free(&copy);
    pk_recipe_free(&r);
    return status;
}

static pk_status give_help(void *user) {
    char *text = NULL;
    (void)user;
    PK_TRY(pk_recipe_text(&text));
    pk_free(text);
    return PK_OK;
}

static void memory_may_fail(void **state) {
    (void)state;
    write_file(odd_text, strlen(odd_text));
    assert_true(check_every_allocation(read_and_write, path) > 20);
    assert_true(check_every_allocation(give_help, NULL) > 3);
}

static int remove_file(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_sets_its_field),
        cmocka_unit_test(every_range_is_checked),
        cmocka_unit_test(nested_and_dotted_are_the_same),
        cmocka_unit_test(nothing_means_default),
        cmocka_unit_test(paths_count_from_the_right_folder),
        cmocka_unit_test(the_last_set_counts),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(hostile_text_is_refused),
        cmocka_unit_test(huge_and_deep_text_is_refused),
        cmocka_unit_test(files_that_are_not_there),
        cmocka_unit_test(copies_read_back_the_same),
        cmocka_unit_test(the_locale_does_not_matter),
        cmocka_unit_test(what_may_differ),
        cmocka_unit_test(settings_must_fit),
        cmocka_unit_test(help_has_every_key),
        cmocka_unit_test(memory_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
