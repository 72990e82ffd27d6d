/* address_test.c - who a request comes from, and names and codes of languages. */
#include "check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "../../server/address.h"
#include "../../server/language.h"
#include "../../server/server.h"

static pk_proxies proxies(const char *list) {
    char       error[PK_ERROR_ROOM];
    pk_proxies p;
    assert_true(pk_proxies_read(&p, list, error));
    return p;
}

static const char *from(const char *peer, const char *forwarded, const char *trusted) {
    static char         out[PK_ADDRESS_ROOM];
    struct sockaddr_in  four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    pk_proxies          p = proxies(trusted);
    if (inet_pton(AF_INET, peer, &four.sin_addr) == 1)
        pk_address_of((struct sockaddr *)&four, forwarded, &p, out);
    else if (inet_pton(AF_INET6, peer, &six.sin6_addr) == 1)
        pk_address_of((struct sockaddr *)&six, forwarded, &p, out);
    pk_proxies_free(&p);
    return out;
}

static void only_trusted_proxies_are_believed(void **state) {
    (void)state;
    assert_string_equal(from("1.2.3.4", NULL, NULL), "1.2.3.4");
    assert_string_equal(from("1.2.3.4", "9.9.9.9", NULL), "1.2.3.4");
    assert_string_equal(from("1.2.3.4", "9.9.9.9", "1.2.3.4"), "9.9.9.9");
    assert_string_equal(from("1.2.3.4", "9.9.9.9", "1.2.3.5"), "1.2.3.4");
    /* what the client wrote itself stands first and is not believed */
    assert_string_equal(from("10.0.0.1", "6.6.6.6, 9.9.9.9, 10.7.0.2", "10.0.0.0/8"), "9.9.9.9");
    assert_string_equal(from("10.0.0.1", "nonsense", "10.0.0.0/8"), "10.0.0.1");
    assert_string_equal(from("10.0.0.1", "9.9.9.9:1234", "10.0.0.0/8"), "9.9.9.9");
    assert_string_equal(from("10.0.0.1", "[2001:db8::1]", "10.0.0.0/8"), "2001:db8::1");
    assert_string_equal(from("fd00::1", "9.9.9.9", "fd00::/8"), "9.9.9.9");
    assert_string_equal(from("::ffff:10.0.0.1", "9.9.9.9", "10.0.0.0/8"), "9.9.9.9");
}

static void lists_of_proxies_are_checked(void **state) {
    static const char *const wrong[] = { "x",      "1.2.3.4/33", "1.2.3.4/",
                                         "::/129", "1.2.3.4/-1", "1.2.3" };
    char                     error[PK_ERROR_ROOM];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pk_proxies p;
        assert_false(pk_proxies_read(&p, wrong[i], error));
        pk_proxies_free(&p);
    }
    pk_proxies p = proxies(" 127.0.0.1, ::1 ,10.0.0.0/9");
    assert_int_equal(p.n, 3);
    pk_proxies_free(&p);
}

static void a_network_of_ipv6_is_one_client(void **state) {
    char one[PK_ADDRESS_ROOM], two[PK_ADDRESS_ROOM];
    (void)state;
    pk_address_client("2001:db8:1:2:aaaa::1", one);
    pk_address_client("2001:db8:1:2:bbbb::2", two);
    assert_string_equal(one, two);
    pk_address_client("2001:db8:1:3::1", two);
    assert_string_not_equal(one, two);
    pk_address_client("1.2.3.4", one);
    assert_string_equal(one, "1.2.3.4");
}

static void check_pair(const char *name, const char *from_code, const char *to_code) {
    char a[PK_CODE_ROOM] = "", b[PK_CODE_ROOM] = "";
    assert_int_equal(pk_language_pair_of(name, a, b), from_code != NULL);
    if (!from_code) return;
    assert_string_equal(a, from_code);
    assert_string_equal(b, to_code);
}

static void names_of_files_tell_languages(void **state) {
    (void)state;
    check_pair("en-de.pronk", "en", "de");
    check_pair("opus-mt-en-de", "en", "de");
    check_pair("translate-en_de-1_9.argosmodel", "en", "de");
    check_pair("translate-pb_en-1_0.argosmodel", "pb", "en");
    check_pair("EN_zt", "en", "zt");
    check_pair("model.pronk", NULL, NULL);
    check_pair("x-y", NULL, NULL);
    check_pair("", NULL, NULL);
}

static void codes_and_names(void **state) {
    char text[PK_NAME_ROOM];
    (void)state;
    pk_language_code("pt-br", text);
    assert_string_equal(text, "pb");
    pk_language_code("ZH-Hans", text);
    assert_string_equal(text, "zh");
    pk_language_code("averyverylongcodeindeed", text);
    assert_int_equal(strlen(text), PK_CODE_ROOM - 1);
    assert_string_equal(pk_language_outside("zt"), "zh-Hant");
    assert_string_equal(pk_language_outside("de"), "de");
    pk_language_name("de", "en", text);
    assert_string_equal(text, "German");
    pk_language_name("de", "fr", text);
    assert_string_equal(text, "Allemand");
    pk_language_name("pb", "en", text);
    assert_string_equal(text, "Portuguese (Brazil)");
    assert_false(pk_language_exists("xx"));
    pk_language_accepted("xx, fr-CH;q=0.9, de", text);
    assert_string_equal(text, "fr");
    pk_language_accepted(NULL, text);
    assert_string_equal(text, "en");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_trusted_proxies_are_believed),
        cmocka_unit_test(lists_of_proxies_are_checked),
        cmocka_unit_test(a_network_of_ipv6_is_one_client),
        cmocka_unit_test(names_of_files_tell_languages),
        cmocka_unit_test(codes_and_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
