/* routes.c - every endpoint, once. */
#include "routes.h"

#include <string.h>

#define TEXT_SCHEMA "{\"type\":\"string\"}"
#define TEXTS_SCHEMA \
    "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"string\"}}]}"
#define FLAG_SCHEMA "{\"type\":\"boolean\",\"default\":false}"
#define KEY_FIELD \
    { "api_key", TEXT_SCHEMA, false, "API key" }
#define GLOSSARY_ID_FIELD \
    { "glossary_id", TEXT_SCHEMA, false, "Name of a glossary of this server, whose terms are used" }
#define DRAFT_FIELD                                                                      \
    {                                                                                    \
        "draft", TEXTS_SCHEMA, false,                                                    \
            "A guess at the translation, as q is: done sooner where much of it is right" \
    }
#define ALIGNMENT_FIELD \
    { "alignment", FLAG_SCHEMA, false, "Sentences with their word links are wanted" }
#define MESSAGE "message" /* where DeepL's clients look for errors */

// clang-format off
static const pk_route_field translate_fields[] = {
    { "q", TEXTS_SCHEMA, true, "Text or texts to translate" },
    { "source", TEXT_SCHEMA, true, "Source language code, or \"auto\" to detect it" },
    { "target", TEXT_SCHEMA, true, "Target language code" },
    { "format", "{\"type\":\"string\",\"enum\":[\"text\",\"html\"],\"default\":\"text\"}", false,
      "Format of the text; tags of html stay, around what their words became" },
    { "glossary", "{\"oneOf\":[{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},{\"type\":\"string\"}]}",
      false, "Terms to use: an object of source and target terms, or lines of both with a tab between them" },
    GLOSSARY_ID_FIELD,
    { "alternatives", "{\"type\":\"integer\",\"default\":0}", false, "How many other translations are wanted" },
    DRAFT_FIELD,
    ALIGNMENT_FIELD,
    { "trace", FLAG_SCHEMA, false, "How the sentences were decoded, pass by pass, is wanted" },
    KEY_FIELD,
    { .name = NULL }
};
static const pk_route_field detect_fields[] = {
    { "q", TEXTS_SCHEMA, true, "Text or texts" },
    KEY_FIELD,
    { .name = NULL }
};
static const pk_route_field key_fields[] = { KEY_FIELD, { .name = NULL } };
static const pk_route_field deepl_fields[] = {
    { "text", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", true, "Texts to translate" },
    { "target_lang", TEXT_SCHEMA, true, "Target language code" },
    { "source_lang", TEXT_SCHEMA, false, "Source language code; detected if it is not given" },
    { "tag_handling", "{\"type\":\"string\",\"enum\":[\"html\",\"xml\"]}", false, "Texts have tags, which stay" },
    GLOSSARY_ID_FIELD,
    { .name = NULL }
};
static const pk_route_field type_fields[] = {
    { "type", "{\"type\":\"string\",\"enum\":[\"source\",\"target\"]}", false, "Which languages" },
    { .name = NULL }
};
static const pk_route_field lang_fields[] = {
    { "lang", TEXT_SCHEMA, false, "Code of the language that names are in; that of Accept-Language if it is not given" },
    { .name = NULL }
};
static const pk_route_field no_fields[] = { { .name = NULL } };

static const pk_route_field stream_fields[] = {
    { "q", TEXTS_SCHEMA, true, "Text or texts to translate" },
    { "source", TEXT_SCHEMA, true, "Source language code, or \"auto\" to detect it" },
    { "target", TEXT_SCHEMA, true, "Target language code" },
    DRAFT_FIELD,
    ALIGNMENT_FIELD,
    KEY_FIELD,
    { .name = NULL }
};

#define LINKS_SCHEMA "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}}"
#define ALIGNMENT_SCHEMA "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"source\":{\"type\":\"array\",\"items\":" \
    "{\"type\":\"integer\"}},\"target\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"}},\"links\":" LINKS_SCHEMA "}}}"
#define GUESS "{\"type\":\"object\",\"properties\":{\"confidence\":{\"type\":\"number\"},\"language\":{\"type\":\"string\"}}}"

const pk_route pk_routes[] = {
    { "POST", "/translate", pk_libre_translate, true, NULL, "Translate text", translate_fields,
      "{\"type\":\"object\",\"required\":[\"translatedText\"],\"properties\":{\"translatedText\":" TEXTS_SCHEMA
      ",\"detectedLanguage\":{\"oneOf\":[" GUESS ",{\"type\":\"array\",\"items\":" GUESS "}]}"
      ",\"alternatives\":{\"type\":\"array\",\"items\":" TEXTS_SCHEMA "},\"alignment\":" ALIGNMENT_SCHEMA
      ",\"trace\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}" },
    { "POST", "/translate/stream", pk_stream_translate, true, NULL,
      "Translate text sentence by sentence: server-sent events, each with a sentence", stream_fields,
      "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"integer\"},\"source\":{\"type\":\"array\",\"items\":"
      "{\"type\":\"integer\"}},\"translatedText\":{\"type\":\"string\"},\"links\":" LINKS_SCHEMA ",\"detectedLanguage\":" GUESS "}}" },
    { "POST", "/detect", pk_libre_detect, true, NULL, "Detect the language of text", detect_fields,
      "{\"type\":\"array\",\"items\":" GUESS "}" },
    { "GET", "/languages", pk_libre_languages, false, NULL, "List languages and what they can be translated into",
      lang_fields,
      "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\"},"
      "\"name\":{\"type\":\"string\"},\"targets\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}}" },
    { "GET", "/frontend/settings", pk_libre_settings, false, NULL, "What a user interface needs to know", no_fields,
      "{\"type\":\"object\"}" },
    { "GET", "/health", pk_libre_health, false, NULL, "Tell whether the server is well", no_fields,
      "{\"type\":\"object\",\"properties\":{\"status\":{\"type\":\"string\"}}}" },
    { "POST", "/translate_file", pk_libre_no_files, true, NULL, "Refused: files are not translated here", key_fields,
      "{\"type\":\"object\"}" },
    { "GET", "/download_file/", pk_libre_no_download, false, NULL, NULL, NULL, NULL },
    { "POST", "/suggest", pk_libre_no_suggestions, true, NULL, "Refused: suggestions are not taken here", key_fields,
      "{\"type\":\"object\"}" },
    { "POST", "/v2/translate", pk_deepl_translate, true, MESSAGE, "Translate text, for clients of DeepL", deepl_fields,
      "{\"type\":\"object\",\"properties\":{\"translations\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
      "\"properties\":{\"detected_source_language\":{\"type\":\"string\"},\"text\":{\"type\":\"string\"},"
      "\"billed_characters\":{\"type\":\"integer\"}}}}}}" },
    { "GET", "/v2/languages", pk_deepl_languages, true, MESSAGE, "List languages, for clients of DeepL", type_fields,
      "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"language\":{\"type\":\"string\"},"
      "\"name\":{\"type\":\"string\"},\"supports_formality\":{\"type\":\"boolean\"}}}}" },
    { "GET", "/v2/usage", pk_deepl_usage, true, MESSAGE, "Count characters, for clients of DeepL", no_fields,
      "{\"type\":\"object\",\"properties\":{\"character_count\":{\"type\":\"integer\"},\"character_limit\":"
      "{\"type\":\"integer\"}}}" },
    { "GET", "/spec", pk_spec_answer, false, NULL, "This description", no_fields, "{\"type\":\"object\"}" },
    { "GET", "/metrics", pk_metrics_answer, false, NULL, NULL, NULL, NULL },
    { "GET", "/", pk_page_answer, false, NULL, NULL, NULL, NULL },
    { "GET", "/page.css", pk_page_answer, false, NULL, NULL, NULL, NULL },
    { "GET", "/page.js", pk_page_answer, false, NULL, NULL, NULL, NULL },
    { "GET", "/live.js", pk_page_answer, false, NULL, NULL, NULL, NULL },
    { "GET", "/words.js", pk_page_answer, false, NULL, NULL, NULL, NULL },
    { "GET", "/server.js", pk_page_answer, false, NULL, NULL, NULL, NULL },
    { "GET", "/passes.js", pk_page_answer, false, NULL, NULL, NULL, NULL },
    { "GET", "/icon.svg", pk_page_answer, false, NULL, NULL, NULL, NULL },
    { .path = NULL }
};
// clang-format on

/* HEAD is GET without the body, which libmicrohttpd leaves out */
static bool is_method(const pk_route *r, const char *method) {
    return !strcmp(r->method, method) || (!strcmp(method, "HEAD") && !strcmp(r->method, "GET"));
}

static bool is_path(const pk_route *r, const char *path) {
    const size_t n = strlen(r->path);
    return !strcmp(r->path, path) ||
           (n > 1 && r->path[n - 1] == '/' && !strncmp(r->path, path, n) && path[n]);
}

const pk_route *pk_route_find(const char *method, const char *path, const pk_route **other) {
    *other = NULL;
    for (const pk_route *r = pk_routes; r->path; r++) {
        if (!is_path(r, path)) continue;
        if (is_method(r, method)) return r;
        *other = r;
    }
    return NULL;
}
