/* eval_signature.c - the line that says how a score was made, in sacreBLEU's form.
 *
 * Scores may be compared when their signatures are equal, so the line must be the one sacreBLEU
 * would print for the same settings. */
#include <strings.h>

#include "base/buffer.h"
#include "metric/chrf.h"
#include "metric/evaluate.h"

/* Not Pronk's version: that of the sacreBLEU release whose figures Pronk reproduces. */
#define MATCHED_SACREBLEU_VERSION "2.6.0"

/* nrefs: references; bs: resamples; case: mixed or lc (lower case); eff: effective order; tok:
 * tokenizer; smooth: smoothing; nc, nw: character and word orders; space: white space counts. */
pk_status pk_eval_signature(const pk_eval_options *opt, const char *metric, char **text) {
    pk_eval_settings set;
    PK_NEED(text);
    *text = NULL;
    PK_TRY(pk_eval_settings_read(opt, &set));
    const bool bleu = metric && !strcasecmp(metric, "bleu");
    const bool chrf2 = metric && !strcasecmp(metric, "chrf2");
    const bool chrf2pp = metric && !strcasecmp(metric, "chrf2++");
    if (!bleu && !chrf2 && !chrf2pp) {
        PK_FAIL(PK_ARGUMENT, "no metric is named \"%s\": choose bleu, chrf2 or chrf2++",
                metric ? metric : "");
    }
    pk_buffer out = { 0 };
    pk_buffer_add_text(&out, "nrefs:1");
    if (set.n_resamples) {
        pk_buffer_print(&out, "|bs:%zu|seed:%llu", set.n_resamples, (unsigned long long)set.seed);
    }
    pk_buffer_print(&out, "|case:%s", set.lowercase ? "lc" : "mixed");
    if (bleu) {
        pk_buffer_print(&out, "|eff:no|tok:%s|smooth:exp", set.tokenizer_name);
    } else {
        pk_buffer_print(&out, "|eff:yes|nc:%d|nw:%d|space:no", PK_CHRF_CHARS,
                        chrf2pp ? PK_CHRF_WORDS : 0);
    }
    pk_buffer_add_text(&out, "|version:" MATCHED_SACREBLEU_VERSION);
    const pk_status status = pk_buffer_take(&out, text, NULL);
    pk_buffer_free(&out);
    return status;
}
