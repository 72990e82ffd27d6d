/* config_test.c - configurations: defaults, checks, and JSON both ways, field by field. */
#include "model/config.h"

#include "checkpoint_help.h"

/* a configuration that passes, with every field different from its default */
static pk_config good(void) {
    pk_config c = {
        .family = PK_MBART,
        .source_vocab = 60,
        .target_vocab = 50,
        .dim = 12,
        .encoder_layers = 3,
        .decoder_layers = 2,
        .encoder_heads = 4,
        .decoder_heads = 6,
        .encoder_ffn = 20,
        .decoder_ffn = 24,
        .act = PK_GELU,
        .pre_norm = 1,
        .embed_norm = 1,
        .final_norm = 1,
        .share_embeddings = 0,
        .tie_output = 0,
        .embed_scale = 3.4641016f,
        .epsilon = 1e-6f,
        .max_source = 100,
        .max_target = 90,
        .start = 7,
        .eos = 2,
        .unk = 3,
        .pad = 1,
        .forced_bos = 8,
        .forced_eos = 2,
        .renormalise = 1,
        .beams = 4,
        .length_penalty = 0.6f,
        .early_stopping = 2,
        .max_output = 80,
        .no_repeat_ngram = 3,
        .repetition_penalty = 1.1f,
        .right_to_left = 1,
        .n_text = 40,
        .bare_source = 1,
        .capitals = 1,
        .n_groups = 1,
        .group = { { "length", 48, 2 } },
        .tasks = "lengths:k=2 at-rl",
        .shares_encoder = 1,
        .first_own = 50,
        .verifier = "0123456789abcdef",
        .n_suppressed = 2,
        .suppressed = { 1, 49 },
        .source_language = "en_XX",
        .target_language = "de\"\\\n",
    };
    return c;
}

static bool same(const pk_config *a, const pk_config *b) {
    bool equal = a->n_suppressed == b->n_suppressed &&
                 strcmp(a->source_language, b->source_language) == 0 &&
                 strcmp(a->target_language, b->target_language) == 0 &&
                 strcmp(a->tasks, b->tasks) == 0 && strcmp(a->verifier, b->verifier) == 0 &&
                 a->n_groups == b->n_groups && memcmp(a->group, b->group, sizeof a->group) == 0 &&
                 memcmp(a->suppressed, b->suppressed, sizeof a->suppressed) == 0;
#define SAME(kind, field, normal) equal = equal && a->field == b->field;
    PK_CONFIG_MAP(SAME)
#undef SAME
    return equal;
}

static void test_defaults(void **state) {
    pk_config c;
    (void)state;
    memset(&c, 0xFF, sizeof c);
    pk_config_defaults(&c);
    assert_int_equal(c.share_embeddings, 1);
    assert_int_equal(c.start, -1);
    assert_int_equal(c.n_suppressed, 0);
    assert_true(c.epsilon == 1e-5f && c.length_penalty == 1);
    assert_int_not_equal(pk_config_check(&c), PK_OK); /* sizes have no defaults */
}

static void test_round_trip(void **state) {
    const pk_config c = good();
    pk_config       back, normal;
    pk_buffer       json = { 0 };
    (void)state;
    pk_config_defaults(&normal);
#define DIFFERS(kind, field, value) assert_true(c.field != normal.field);
    PK_CONFIG_MAP(DIFFERS)
#undef DIFFERS
    assert_int_equal(pk_config_check(&c), PK_OK);
    pk_config_write(&c, &json);
    assert_int_equal(pk_config_read(json.data, json.size, &back), PK_OK);
    assert_true(same(&c, &back));
    for (size_t size = 0; size < json.size; size++)
        assert_int_equal(pk_config_read(json.data, size, &back), PK_FORMAT);
    pk_buffer_free(&json);
}

/* files of earlier versions do not know the later fields */
static void test_later_fields_may_be_missing(void **state) {
    pk_config c = good(), back;
    pk_buffer json = { 0 };
    (void)state;
    c.right_to_left = c.n_text = c.n_groups = c.shares_encoder = c.first_own = c.bare_source =
        c.capitals = 0;
    memset(c.verifier, 0, sizeof c.verifier);
    memset(c.group, 0, sizeof c.group);
    memset(c.tasks, 0, sizeof c.tasks);
    pk_config_write(&c, &json);
    const char *const later[] = { "right_to_left", "n_text",         "groups",
                                  "tasks",         "shares_encoder", "first_own",
                                  "verifier",      "bare_source",    "capitals" };
    for (int i = 0; i < 8; i++) assert_null(strstr(json.data, later[i]));
    assert_int_equal(pk_config_read(json.data, json.size, &back), PK_OK);
    assert_true(same(&c, &back));
    pk_buffer_free(&json);
}

/* what a model was trained for; nothing said: one token after the other */
static void test_tasks(void **state) {
    pk_config c = good();
    (void)state;
    assert_true(pk_config_can(&c, "lengths") && pk_config_can(&c, "at"));
    assert_false(pk_config_can(&c, "length") || pk_config_can(&c, "lengths:k") ||
                 pk_config_can(&c, "k=2") || pk_config_can(&c, "a"));
    c = (pk_config){ 0 };
    assert_string_equal(pk_config_tasks(&c), "at");
    assert_true(pk_config_can(&c, "at") && !pk_config_can(&c, "lengths"));
    strcpy(c.tasks, "pairs-lr"); /* a direction is no other task */
    assert_true(pk_config_can(&c, "pairs") && pk_config_can(&c, "pairs-lr"));
    assert_false(pk_config_can(&c, "pairs-rl") || pk_config_can(&c, "at"));
}

/* each assignment breaks a good configuration; the error must name the field */
static void test_check(void **state) {
    (void)state;
#define BREAK(field, value)                                                                        \
    do {                                                                                           \
        pk_config c = good();                                                                      \
        c.field = value;                                                                           \
        assert_int_equal(pk_config_check(&c), PK_FORMAT);                                          \
        assert_non_null(strstr(pk_last_error(), strncmp(#field, "group[", 6) ? #field : "group")); \
    } while (0)
    BREAK(family, 2);
    BREAK(source_vocab, 0);
    BREAK(target_vocab, 1 << 25);
    BREAK(dim, -1);
    BREAK(encoder_layers, 0);
    BREAK(decoder_layers, 100000);
    BREAK(encoder_heads, 0);
    BREAK(decoder_heads, -6);
    BREAK(encoder_ffn, 0);
    BREAK(decoder_ffn, 1 << 20);
    BREAK(act, 4);
    BREAK(pre_norm, 2);
    BREAK(embed_norm, -1);
    BREAK(final_norm, 2);
    BREAK(share_embeddings, 2);
    BREAK(tie_output, 5);
    BREAK(embed_scale, (float)(0.0 / 1.0));
    BREAK(epsilon, 0);
    BREAK(max_source, 0);
    BREAK(right_to_left, 2);
    BREAK(n_text, 51);
    BREAK(bare_source, 2);
    BREAK(capitals, 2);
    BREAK(n_groups, PK_MOST_GROUPS + 1);
    BREAK(shares_encoder, 2);
    BREAK(first_own, 0);
    BREAK(first_own, 51);
    BREAK(first_own, 49);      /* a group of its own */
    BREAK(group[0].first, 47); /* no panel begins there */
    BREAK(group[0].first, 32); /* text */
    BREAK(group[0].count, 3);
    BREAK(group[0].count, 0);
    BREAK(max_target, 1 << 30);
    BREAK(start, 50);
    BREAK(eos, 50);
    BREAK(eos, -1);
    BREAK(unk, 60);
    BREAK(pad, -2);
    BREAK(forced_bos, 50);
    BREAK(forced_eos, -2);
    BREAK(renormalise, 2);
    BREAK(beams, 0);
    BREAK(length_penalty, 1e9f);
    BREAK(early_stopping, 3);
    BREAK(max_output, -1);
    BREAK(no_repeat_ngram, -1);
    BREAK(repetition_penalty, 0);
    BREAK(n_suppressed, PK_MAX_SUPPRESSED + 1);
#undef BREAK
    pk_config outside = good();
    outside.suppressed[1] = 50;
    assert_int_equal(pk_config_check(&outside), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "suppressed token 50"));
}

static void test_check_together(void **state) {
    pk_config c = good();
    (void)state;
    c.decoder_heads = 5;
    assert_int_equal(pk_config_check(&c), PK_FORMAT);
    c = good();
    c.share_embeddings = 1;
    assert_int_equal(pk_config_check(&c), PK_FORMAT);
    c = good();
    memset(c.source_language, 'x', sizeof c.source_language);
    assert_int_equal(pk_config_check(&c), PK_FORMAT);
    c = good();
    memset(c.tasks, 'x', sizeof c.tasks);
    assert_int_equal(pk_config_check(&c), PK_FORMAT);
    c = good();
    memset(c.group[0].name, 'x', sizeof c.group[0].name);
    assert_int_equal(pk_config_check(&c), PK_FORMAT);
    c = good();
    c.eos = 40; /* no text */
    assert_int_equal(pk_config_check(&c), PK_FORMAT);
}

/* writes the good configuration with `from` replaced by `to`, and reads it */
static pk_status read_changed(const char *from, const char *to) {
    const pk_config c = good();
    pk_config       back;
    pk_buffer       json = { 0 }, changed = { 0 };
    pk_config_write(&c, &json);
    const char *at = strstr(json.data, from);
    assert_non_null(at);
    pk_buffer_add(&changed, json.data, (size_t)(at - json.data));
    pk_buffer_add_text(&changed, to);
    pk_buffer_add_text(&changed, at + strlen(from));
    const pk_status status = pk_config_read(changed.data, changed.size, &back);
    pk_buffer_free(&json);
    pk_buffer_free(&changed);
    return status;
}

static void test_read_fails(void **state) {
    (void)state;
    assert_int_equal(read_changed("\"dim\":12,", ""), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "dim"));
    assert_int_equal(read_changed("\"first\":48,", ""), PK_FORMAT);
    assert_int_equal(read_changed("[{\"name\"", "[7,{\"name\""), PK_FORMAT);
    assert_int_equal(read_changed("\"lengths:k=2 at-rl\"", "7"), PK_FORMAT);
    assert_int_equal(read_changed("\"dim\":12,", "\"dim\":12,\"new\":1,"), PK_FORMAT);
    assert_non_null(strstr(pk_last_error(), "newer"));
    assert_int_equal(read_changed("\"dim\":12,", "\"dim\":12,\"dim\":12,"), PK_FORMAT);
    assert_int_equal(read_changed("\"dim\":12,", "\"dim\":12.5,"), PK_FORMAT);
    assert_int_equal(read_changed("\"dim\":12,", "\"dim\":99999999999,"), PK_FORMAT);
    assert_int_equal(read_changed("\"dim\":12,", "\"dim\":13,"), PK_FORMAT);
    assert_int_equal(read_changed("\"epsilon\":9.99999997e-07", "\"epsilon\":\"small\""),
                     PK_FORMAT);
    assert_int_equal(read_changed("\"epsilon\":9.99999997e-07", "\"epsilon\":1e300"), PK_FORMAT);
    assert_int_equal(read_changed("\"epsilon\":9.99999997e-07", "\"epsilon\":1"), PK_OK);
    assert_int_equal(read_changed("[1,49]", "[1,\"x\"]"), PK_FORMAT);
    assert_int_equal(read_changed("[1,49]", "7"), PK_FORMAT);
    assert_int_equal(read_changed("[1,49]", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"), PK_FORMAT);
    assert_int_equal(read_changed("\"en_XX\"", "\"a language of many letters\""), PK_FORMAT);
    assert_int_equal(read_changed("\"en_XX\"", "null"), PK_FORMAT);
    pk_config c;
    assert_int_equal(pk_config_read(NULL, 0, &c), PK_FORMAT);
    assert_int_equal(pk_config_read("[]", 2, &c), PK_FORMAT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_later_fields_may_be_missing),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_check_together),
        cmocka_unit_test(test_read_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
