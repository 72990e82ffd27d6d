/* serve_verb.c - pronk serve: the table of its options, each with a field in server/settings.h.
 *
 * Options have LibreTranslate's names and defaults where it has them. */
#include "options_shared.h"

// clang-format off
static const pk_cli_option serve_options[] = {
    TEXT("models", 0, "DIR", serve.models, "Pronk's own model alone",
         "serve every model of a folder: .pronk files, MarianMT and CTranslate2 folders, .argosmodel packages; pairs that "
         "are missing go through English"),
    TEXT("model", 'm', "MODEL", model, OWN_MODEL, "serve one model: " MODEL_HELP),
    LANGUAGE_OPTIONS,
    TEXT("host", 0, "ADDRESS", serve.host, PK_DEFAULT_HOST, "address to listen on; 0.0.0.0 or :: is every one"),
    INT("port", serve.port, 0, 65535, "5000", "port to listen on; 0: any that is free"),
    DECODE_OPTION("greedy"),
    TEXT("load-only", 0, "LANGS", serve.load_only, "all", "serve only these languages: en,de,fr"),
    INT("char-limit", serve.char_limit, -1, INT32_MAX, "-1", "most characters of a text; -1: any number"),
    INT("req-limit", serve.req_limit, -1, INT32_MAX, "-1",
        "most requests a minute of one client; a batch of N texts counts as N; -1: any number"),
    INT("hourly-req-limit", serve.hourly_limit, -1, INT32_MAX, "-1", "most requests an hour, besides; not above 0: any number"),
    INT("hourly-req-limit-decay", serve.hourly_decay, 0, PK_MOST_DECAY, "0",
        "so many longer windows besides: of N hours N times that number, by 0.75 for each but the first"),
    INT("daily-req-limit", serve.daily_limit, -1, INT32_MAX, "-1", "most requests a day, besides; not above 0: any number"),
    INT("req-flood-threshold", serve.flood_threshold, -1, INT32_MAX, "-1",
        "ban an address that broke --req-limit so often; one time is forgiven every ten minutes; -1: never"),
    INT("batch-limit", serve.batch_limit, -1, INT32_MAX, "-1", "most texts of a request; -1: any number"),
    INT("alternatives-limit", serve.alternatives_limit, -1, INT32_MAX, "-1",
        "most alternatives of a translation; -1: 15, which is the most in any case"),
    FLAG("api-keys", 0, serve.api_keys, "look up API keys, which have limits of their own; a wrong one is refused"),
    TEXT("api-keys-db-path", 0, "FILE", serve.keys_path, PK_DEFAULT_KEYS, "where they are, a SQLite file as LibreTranslate has it"),
    TEXT("require-api-key-origin", 0, "PATTERN", serve.key_origin, NULL,
         "refuse requests without a key, unless their Origin begins with this regular expression"),
    TEXT("get-api-key-link", 0, "URL", serve.key_link, NULL, "where people get a key, for the message that says so"),
    TEXT("key", 0, "KEY", serve.key, "a random one", "for `keys add`: the key"),
    TEXT("url-prefix", 0, "PATH", serve.url_prefix, NULL, "serve everything below this path"),
    FLAG("disable-web-ui", 0, serve.disable_web_ui, "no page at /"),
    FLAG("disable-files-translation", 0, serve.disable_files_translation, "for LibreTranslate's sake: files are never translated here"),
    TEXT("glossary", 0, "NAME=FILE,...", serve.glossaries, NULL,
         "glossaries that requests may name: a source term, a tab and a target term a line"),
    TEXT("translation-cache", 0, "MIB", serve.translation_cache, "off",
         "keep finished sentences of each model in so much memory and do not decode them again; all: 64"),
    FLAG("ssl", 0, serve.ssl, "serve HTTPS"),
    TEXT("ssl-cert", 0, "FILE", serve.certificate, NULL, "the certificate for that, and those above it, as PEM"),
    TEXT("ssl-key", 0, "FILE", serve.private_key, NULL, "its private key, as PEM"),
    FLAG("metrics", 0, serve.metrics, "counters for Prometheus at /metrics"),
    TEXT("metrics-auth-token", 0, "TOKEN", serve.metrics_token, "none", "they need `Authorization: Bearer TOKEN`"),
    TEXT("trusted-proxy", 0, "NETS", serve.trusted_proxy, "none",
         "believe X-Forwarded-For where it comes from these addresses: 127.0.0.1,10.0.0.0/8"),
    INT("queue", serve.queue, 1, INT32_MAX, "5000", "sentences that may wait for a model; more are refused with status 429"),
    INT("timeout", serve.timeout, 1, 86400, "120", "seconds that a translation may take"),
    INT("idle", serve.idle, 0, INT32_MAX, "600", "seconds after which a model that nobody uses is closed; 0: never"),
    INT("memory", serve.memory, 0, INT32_MAX, "0", "MiB in all, above which models are closed for others; 0: 80 % of what there is"),
    INT("connections", serve.connections, 16, 100000, "4096", "most connections at a time"),
    FLAG("replace-unknowns", 0, replace_unknowns, REPLACE_UNKNOWNS_HELP),
    FLAG("access-log", 0, serve.access_log, "a line on standard error for each request, without texts and keys"),
    COMPUTING_OPTIONS,
    QUIET_OPTION,
    HELP_OPTION,
    END
};

const pk_cli_verb pk_cli_verb_serve = {
    "serve", "[keys add [LIMIT]|remove KEY|list]", 0, 3, pk_cli_serve, serve_options, PK_CLI_STRATEGIES,
    "serve translations over HTTP, with LibreTranslate's API and DeepL's",
    "Answers /translate, /detect, /languages and the other requests of LibreTranslate 1.9.6, and those of DeepL's API "
    "version 2. Sentences of all clients are decoded together, greedily unless --decode says otherwise; where alternatives are asked "
    "for, by beam search. Models are opened on first use.\n"
    "Every option is also a variable of the environment, as LibreTranslate has them: LT_PORT for --port, LT_API_KEYS=true for "
    "--api-keys; options win.\n"
    "SIGTERM: what was accepted is answered, then the server ends. SIGHUP: models, keys and certificate are read again.\n"
    "`keys` manages API keys: `add` prints a new one, which may make LIMIT requests a minute (default: --req-limit) with "
    "--char-limit characters each.",
    "pronk serve\n"
    "pronk serve --models /srv/models --host 0.0.0.0 --req-limit 60 --char-limit 5000\n"
    "pronk serve keys add 120 --api-keys-db-path /srv/keys.db\n"
    "curl -d q=Hello -d source=en -d target=de http://127.0.0.1:5000/translate",
    .environment = "LT_"
};
// clang-format on
