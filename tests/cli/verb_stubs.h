/* verb_stubs.h - verbs that do nothing: for tests of the tables that name them. */
#ifndef PK_TESTS_VERB_STUBS_H
#define PK_TESTS_VERB_STUBS_H
#include "../../cli/cli.h"

#define VERB_STUB(name)   \
    int name(pk_cli *c) { \
        (void)c;          \
        return 0;         \
    }
VERB_STUB(pk_cli_translate)
VERB_STUB(pk_cli_convert)
VERB_STUB(pk_cli_info)
VERB_STUB(pk_cli_score)
VERB_STUB(pk_cli_eval)
VERB_STUB(pk_cli_distill)
VERB_STUB(pk_cli_bench)
VERB_STUB(pk_cli_viz)
VERB_STUB(pk_cli_vocab)
VERB_STUB(pk_cli_train)
VERB_STUB(pk_cli_serve)
VERB_STUB(pk_cli_drafter)
VERB_STUB(pk_cli_average)
VERB_STUB(pk_cli_align)
VERB_STUB(pk_cli_detect)
VERB_STUB(pk_cli_help)
#endif
