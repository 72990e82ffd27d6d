/* spm_train.cc - trains a SentencePiece model from lines handed in one by one.
 *
 * Ids are the library's own: <unk> 0, <s> 1, </s> 2. It reads rules of normalisation from a file
 * only, and writes that file's name into the model: here that is a file in memory.
 * Invariant: `failure` holds the first failure of the caller's own lines, which then counts for
 * more than what the library makes of it. */
extern "C" {
#include "base/buffer.h"
#include "base/status.h"
}
#include "vocab/spm_train.h"

#include <sentencepiece_trainer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <string>
#include <unordered_map>

namespace {
using sentencepiece::SentencePieceTrainer;
using sentencepiece::util::Status;
using sentencepiece::util::StatusCode;

/* The caller's lines as the library reads them. After a failure it looks like the end of the
 * text. */
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

/* The rules as a file that has a path. Its number differs from process to process, so the path is
 * filled up to a length of its own, and name() is written over it in the finished model: the same
 * text gives the same bytes. */
class Rules {
  public:
    explicit Rules(const pk_spm_train_options *o) : file_(memfd_create("rules", MFD_CLOEXEC)) {
        const ssize_t size = static_cast<ssize_t>(o->rules_size);
        ready_ = file_ >= 0 && write(file_, o->rules, o->rules_size) == size;
        const std::string folder = "/proc/self/fd", number = std::to_string(file_);
        path_ = folder + std::string(name().size() - folder.size() - number.size(), '/') + number;
    }
    ~Rules() {
        if (file_ >= 0) close(file_);
    }
    Rules(const Rules &) = delete;
    Rules             &operator=(const Rules &) = delete;
    bool               ready() const { return ready_; }
    const std::string &path() const { return path_; }
    void               rename_in(std::string *model) const;

  private:
    static std::string name() { return "white space and control characters"; }
    int                file_;
    bool               ready_;
    std::string        path_;
};

void Rules::rename_in(std::string *model) const {
    const size_t at = model->rfind(path_);
    if (at != std::string::npos) model->replace(at, path_.size(), name());
}

/* "Internal: src/file.cc(12) [check] What is wrong." -> "What is wrong." */
std::string plain_words(const std::string &message) {
    const size_t check = message.rfind("] ");
    return check == std::string::npos ? message : message.substr(check + 2);
}

/* "... smaller than required_chars. 250 vs 307. ..." names the size that would do */
pk_status refuse(const pk_spm_train_options *o, const std::string &message) {
    const std::string small = "smaller than required_chars.";
    const size_t      at = message.find(small);
    int               given, needed;
    if (at != std::string::npos &&
        std::sscanf(message.c_str() + at + small.size(), "%d vs %d", &given, &needed) == 2)
        PK_FAIL(PK_ARGUMENT,
                "no vocabulary of %d pieces from this text: %sits characters need %d; "
                "give so many or more, or a lower coverage",
                o->size, o->byte_fallback ? "256 bytes and " : "", needed);
    PK_FAIL(PK_ARGUMENT, "no vocabulary of %d pieces from this text: %s", o->size,
            plain_words(message).c_str());
}

pk_status train(const pk_spm_train_options *o, pk_buffer *model) {
    const Rules rules(o);
    if (!rules.ready()) PK_FAIL(PK_IO, "no file in memory for the rules of normalisation");
    const std::unordered_map<std::string, std::string> settings = {
        { "model_type", o->type },
        { "vocab_size", std::to_string(o->size) },
        { "num_threads", std::to_string(o->threads) },
        { "character_coverage", std::to_string(o->coverage) },
        { "required_chars", o->characters },
        { "byte_fallback", o->byte_fallback ? "true" : "false" },
        { "normalization_rule_tsv", rules.path() },
        { "train_extremely_large_corpus", "true" }, /* 64-bit counts */
        { "minloglevel", "3" },                     /* nothing on stderr */
    };
    Lines        lines(o);
    std::string  bytes;
    const Status status = SentencePieceTrainer::Train(settings, &lines, &bytes);
    if (lines.failure() != PK_OK) return lines.failure();
    if (!status.ok()) return refuse(o, status.ToString());
    rules.rename_in(&bytes);
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
