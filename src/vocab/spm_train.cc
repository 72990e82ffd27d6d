/* spm_train.cc - trains a SentencePiece model from lines handed in one by one.
 *
 * Ids are the library's own: <unk> 0, <s> 1, </s> 2; so is normalisation (nmt_nfkc).
 * Invariant: `failure` holds the first failure of the caller's own lines, which then counts for
 * more than what the library makes of it. */
extern "C" {
#include "base/buffer.h"
#include "base/status.h"
}
#include "vocab/spm_train.h"

#include <sentencepiece_trainer.h>

#include <new>
#include <string>
#include <unordered_map>

namespace {
using sentencepiece::SentencePieceTrainer;
using sentencepiece::util::Status;
using sentencepiece::util::StatusCode;

class Lines : public sentencepiece::SentenceIterator {
  public:
    explicit Lines(const pk_spm_train_options *options) : options_(options) { Next(); }
    bool               done() const override { return done_; }
    const std::string &value() const override { return line_; }
    Status             status() const override {
        if (failure_ == PK_OK) return Status();
        return Status(StatusCode::kCancelled, "no more lines");
    }
    void Next() override {
        const char *line = nullptr;
        size_t      size = 0;
        if (!done_) failure_ = options_->next(options_->user, &line, &size);
        done_ = failure_ != PK_OK || line == nullptr;
        if (!done_) line_.assign(line, size);
    }
    pk_status failure() const { return failure_; }

  private:
    const pk_spm_train_options *options_;
    std::string                 line_;
    pk_status                   failure_ = PK_OK;
    bool                        done_ = false;
};

/* "Internal: src/file.cc(12) [check] What is wrong." -> "What is wrong." */
std::string plain_words(const std::string &message) {
    const size_t check = message.rfind("] ");
    return check == std::string::npos ? message : message.substr(check + 2);
}

pk_status train(const pk_spm_train_options *o, pk_buffer *model) {
    const std::unordered_map<std::string, std::string> settings = {
        { "model_type", o->type },
        { "vocab_size", std::to_string(o->size) },
        { "num_threads", std::to_string(o->threads) },
        { "character_coverage", std::to_string(o->coverage) },
        { "byte_fallback", o->byte_fallback ? "true" : "false" },
        { "train_extremely_large_corpus", "true" }, /* 64-bit counts */
        { "minloglevel", "3" },                     /* nothing on stderr */
    };
    Lines        lines(o);
    std::string  bytes;
    const Status status = SentencePieceTrainer::Train(settings, &lines, &bytes);
    if (lines.failure() != PK_OK) return lines.failure();
    if (!status.ok())
        PK_FAIL(PK_ARGUMENT, "no vocabulary of %d pieces from this text: %s", o->size,
                plain_words(status.ToString()).c_str());
    pk_buffer_add(model, bytes.data(), bytes.size());
    return pk_buffer_status(model);
}
} // namespace

pk_status pk_spm_train(const pk_spm_train_options *o, pk_buffer *model) {
    try {
        return train(o, model);
    } catch (const std::bad_alloc &) {
        PK_FAIL(PK_NO_MEMORY, "out of memory in SentencePiece: learn from fewer lines");
    } catch (const std::exception &e) {
        PK_FAIL(PK_FORMAT, "SentencePiece failed: %s", e.what());
    } catch (...) {
        PK_FAIL(PK_FORMAT, "SentencePiece failed");
    }
}
