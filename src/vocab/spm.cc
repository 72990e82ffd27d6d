/* spm.cc - libsentencepiece in C++, loaded on first use, its failures turned into statuses.
 *
 * Every entry point runs in guarded(), which lets no exception out: no memory is PK_NO_MEMORY,
 * anything else is PK_FORMAT, since spm_check.c has let the model pass and only the model can be at
 * fault. Invariant: `processor` is written once, under the lock, before `loaded` is set. */
extern "C" {
#include "base/buffer.h"
#include "base/memory.h"
#include "vocab/spm_check.h"
}
#include "vocab/spm.h"

#include <sentencepiece_processor.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/* The library logs to stderr, and draws from one generator per thread, seeded with the time. These
 * of its functions are in no header, so they may be missing. */
namespace sentencepiece::logging {
__attribute__((weak)) void SetMinLogLevel(int level);
}
namespace sentencepiece::random {
__attribute__((weak)) std::mt19937 *GetRandomGenerator();
}

using sentencepiece::ImmutableSentencePieceText;
using sentencepiece::SentencePieceProcessor;
using sentencepiece::util::Status;

struct pk_spm {
    std::string_view                        data;
    std::mutex                              lock;
    std::atomic<bool>                       loaded{ false };
    std::unique_ptr<SentencePieceProcessor> processor;
};

/* runs the body; what it throws becomes a status */
template <typename Body> static pk_status guarded(Body body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        PK_FAIL(PK_NO_MEMORY, "out of memory in SentencePiece");
    } catch (const std::exception &e) {
        PK_FAIL(PK_FORMAT, "SentencePiece failed on this model: %s", e.what());
    } catch (...) {
        PK_FAIL(PK_FORMAT, "SentencePiece failed on this model");
    }
}

/* The library's own failures; its message names the check that failed. */
static pk_status status_of(const Status &status, const char *doing) {
    if (status.ok()) return PK_OK;
    PK_FAIL(PK_FORMAT, "SentencePiece could not %s: %s", doing, status.error_message());
}

/* Throws std::bad_alloc when so many bytes are not to be had. Protocol buffers do not survive a
 * failure in their midst, so each call below first asks for more than it has been seen to need
 * (measured: up to 34 times a model, 310 bytes for a byte of text, 260 for a piece). The room is
 * not touched. */
static void need_room(size_t bytes) { ::operator delete(::operator new(bytes)); }
enum { ROOM_AT_LEAST = 1 << 17, ROOM_PER_MODEL = 32, ROOM_PER_BYTE = 512, ROOM_PER_PIECE = 512 };

/* A failed load leaves nothing behind, so that the next use tries again and reports it again. */
static pk_status load(pk_spm *s) {
    if (s->loaded.load(std::memory_order_acquire)) return PK_OK;
    enum { FATAL_ONLY = 3 };
    std::lock_guard<std::mutex> hold(s->lock);
    if (s->processor) return PK_OK;
    if (sentencepiece::logging::SetMinLogLevel) sentencepiece::logging::SetMinLogLevel(FATAL_ONLY);
    need_room(ROOM_AT_LEAST + ROOM_PER_MODEL * s->data.size());
    auto processor = std::make_unique<SentencePieceProcessor>();
    PK_TRY(status_of(processor->LoadFromSerializedProto(s->data), "load the model"));
    s->processor = std::move(processor);
    s->loaded.store(true, std::memory_order_release);
    return PK_OK;
}

/* The object lives in a block of base/memory, so that tests can make its allocation fail. */
pk_status pk_spm_open(const void *data, size_t size, pk_spm **out) {
    *out = nullptr;
    PK_TRY(pk_spm_check(data, size));
    void *block;
    PK_TRY(pk_memory_take(1, sizeof(pk_spm), &block));
    pk_spm *s = new (block) pk_spm;
    s->data = std::string_view(static_cast<const char *>(data), size);
    *out = s;
    return PK_OK;
}

void pk_spm_close(pk_spm *s) {
    if (!s) return;
    s->~pk_spm();
    pk_memory_give(s);
}

/* Calls visit for each piece. segment: a function that fills the library's own object with
 * pieces. */
template <typename Segment>
static pk_status visit_pieces(pk_spm *s, size_t size, Segment segment, pk_spm_visit visit,
                              void *user) {
    if (size > INT32_MAX) PK_FAIL(PK_ARGUMENT, "a sentence of %zu bytes is too long", size);
    return guarded([&]() -> pk_status {
        PK_TRY(load(s));
        need_room(ROOM_AT_LEAST + ROOM_PER_BYTE * size);
        ImmutableSentencePieceText found;
        PK_TRY(status_of(segment(found), "segment a text"));
        const size_t n = found.pieces_size();
        for (size_t i = 0; i < n; i++) {
            const auto         piece = found.pieces(static_cast<int>(i));
            const std::string &name = piece.piece();
            PK_TRY(visit(user, name.data(), name.size(), piece.begin()));
        }
        return PK_OK;
    });
}

pk_status pk_spm_encode(pk_spm *s, const char *text, size_t size, pk_spm_visit visit, void *user) {
    const std::string_view view(text ? text : "", size);
    const auto             best = [&](ImmutableSentencePieceText &found) {
        return s->processor->Encode(view, found.mutable_proto());
    };
    return visit_pieces(s, size, best, visit, user);
}

/* The library draws from one generator per thread: it gets the seed right before each call. */
pk_status pk_spm_sample(pk_spm *s, const char *text, size_t size, float alpha, uint64_t seed,
                        pk_spm_visit visit, void *user) {
    if (!sentencepiece::random::GetRandomGenerator)
        PK_FAIL(PK_UNSUPPORTED, "this libsentencepiece cannot sample reproducibly: set sampling 0");
    const std::string_view view(text ? text : "", size);
    const auto             drawn = [&](ImmutableSentencePieceText &found) {
        sentencepiece::random::GetRandomGenerator()->seed(static_cast<uint32_t>(seed ^ seed >> 32));
        return s->processor->SampleEncode(view, -1, alpha, found.mutable_proto());
    };
    return visit_pieces(s, size, drawn, visit, user);
}

pk_status pk_spm_pieces(pk_spm *s, pk_buffer *out) {
    return guarded([&]() -> pk_status {
        PK_TRY(load(s));
        const int n = s->processor->GetPieceSize();
        for (int id = 0; id < n; id++) {
            const std::string &piece = s->processor->IdToPiece(id);
            pk_buffer_add(out, piece.c_str(), piece.size() + 1);
        }
        return pk_buffer_status(out);
    });
}

/* behind which byte each piece ends; where the library says less, the end of the text */
static void set_ends(const ImmutableSentencePieceText &found, size_t begin, size_t n, size_t *end) {
    for (size_t i = 0; i < n; i++)
        end[i] = begin + (i < found.pieces_size() ? found.pieces(static_cast<int>(i)).end()
                                                  : found.text().size());
}

pk_status pk_spm_decode(pk_spm *s, pk_spm_name piece, const void *user, size_t n, pk_buffer *out,
                        size_t *end) {
    return guarded([&]() -> pk_status {
        PK_TRY(load(s));
        std::vector<std::string_view> names;
        ImmutableSentencePieceText    found;
        size_t                        bytes = 0;
        names.reserve(n);
        for (size_t i = 0; i < n; i++) bytes += names.emplace_back(piece(user, i)).size();
        need_room(ROOM_AT_LEAST + ROOM_PER_PIECE * n + 16 * bytes);
        PK_TRY(
            status_of(s->processor->Decode(names, found.mutable_proto()), "put pieces together"));
        if (end) set_ends(found, out->size, n, end);
        pk_buffer_add(out, found.text().data(), found.text().size());
        return pk_buffer_status(out);
    });
}
