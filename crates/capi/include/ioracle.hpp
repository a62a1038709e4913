// SPDX-License-Identifier: MIT OR Apache-2.0
//
// ioracle for C++17: owners that free what they own, errors as exceptions, and
// iterators through the future in the shape of the Omnisc'IO report's Appendix A.
//
//     ioracle::oracle model;
//     model.observe(ioracle::observation(ioracle::access::read).file("a.dat").at(0, 4096));
//     for (auto &[operation, weight] : model.predict())
//         for (; operation != model.end(); ++operation)
//             std::cout << weight << ' ' << operation->offset() << '\n';
//
// docs/c-api.md explains what the calls mean; here is only what C++ adds.

#ifndef IORACLE_HPP
#define IORACLE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ioracle.h"

namespace ioracle {

// Why a call failed: the message of ioracle_last_error() and the code.
class error : public std::runtime_error {
public:
    explicit error(ioracle_result code) : std::runtime_error(ioracle_last_error()), code_(code) {}
    ioracle_result code() const noexcept { return code_; }

private:
    ioracle_result code_;
};

// What a call does.
enum class access : std::uint32_t {
    open = IORACLE_OPEN,
    close = IORACLE_CLOSE,
    read = IORACLE_READ,
    write = IORACLE_WRITE,
    sync = IORACLE_SYNC,
    truncate = IORACLE_TRUNCATE,
    seek = IORACLE_SEEK,
    define = IORACLE_DEFINE,
};

namespace detail {

// Throws on failure; false for IORACLE_NONE.
inline bool checked(ioracle_result result) {
    if (result < IORACLE_OK) {
        throw error(result);
    }
    return result != IORACLE_NONE;
}

struct free_oracle {
    void operator()(ioracle_oracle *oracle) const noexcept { ioracle_oracle_free(oracle); }
};

struct free_iterator {
    void operator()(ioracle_iterator *iterator) const noexcept { ioracle_iterator_free(iterator); }
};

struct free_bytes {
    void operator()(void *bytes) const noexcept { ioracle_bytes_free(bytes); }
};

} // namespace detail

// What one future operation is expected to be.
class prediction {
public:
    prediction() noexcept : raw_() {}
    explicit prediction(const ioracle_prediction &raw) noexcept : raw_(raw) {}

    ioracle::access type() const noexcept { return static_cast<ioracle::access>(raw_.access); }
    const char *function() const noexcept { return ioracle_function_name(raw_.function); }
    std::uint64_t size() const noexcept { return raw_.size; }
    // 0 where it is not known.
    std::uint64_t offset() const noexcept { return raw_.offset; }
    bool has_offset() const noexcept { return raw_.has_offset; }
    // The path of the file; empty if it is not known.
    std::string_view file() const noexcept { return raw_.path; }
    // The number that the caller gave the file; 0 for none.
    std::uint64_t file_id() const noexcept { return raw_.file; }
    bool is_new_file() const noexcept { return raw_.is_new_file; }
    bool is_unseen() const noexcept { return raw_.is_unseen; }
    // Seconds from the end of the operation before it, as in the report.
    double elapsed() const noexcept { return static_cast<double>(raw_.interarrival_ns) * 1e-9; }
    std::chrono::nanoseconds interarrival() const noexcept { return time(raw_.interarrival_ns); }
    std::chrono::nanoseconds from_now() const noexcept { return time(raw_.from_now_ns); }
    std::chrono::nanoseconds io_time() const noexcept { return time(raw_.io_time_ns); }
    // Of the whole path up to here.
    double probability() const noexcept { return raw_.probability; }
    double operation_probability() const noexcept { return raw_.operation_probability; }
    // Everything, spreads included.
    const ioracle_prediction &raw() const noexcept { return raw_; }

private:
    static std::chrono::nanoseconds time(std::uint64_t ns) noexcept {
        return std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(ns));
    }

    ioracle_prediction raw_;
};

// Reads the future step by step, as it was expected when the iterator was made.
// A default-constructed one is the end. A copy reads the same steps anew, which
// costs as many steps as were read.
class iterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = prediction;
    using difference_type = std::ptrdiff_t;
    using pointer = const prediction *;
    using reference = const prediction &;

    iterator() noexcept = default;
    iterator(iterator &&) noexcept = default;
    iterator &operator=(iterator &&) noexcept = default;
    iterator(const iterator &other) : current_(other.current_), left_(other.left_) {
        if (other.handle_) {
            ioracle_iterator *copy = nullptr;
            detail::checked(ioracle_iterator_copy(other.handle_.get(), &copy));
            handle_.reset(copy);
        }
    }
    iterator &operator=(const iterator &other) {
        *this = iterator(other);
        return *this;
    }
    ~iterator() = default;

    reference operator*() const noexcept { return current_; }
    pointer operator->() const noexcept { return &current_; }

    iterator &operator++() {
        step();
        return *this;
    }
    // The value before the step; iterators of input need no more.
    class before {
    public:
        explicit before(const prediction &value) : value_(value) {}
        const prediction &operator*() const noexcept { return value_; }

    private:
        prediction value_;
    };
    before operator++(int) {
        before value(current_);
        step();
        return value;
    }

    // Equal at the end only, which is what loops ask for.
    friend bool operator==(const iterator &a, const iterator &b) noexcept {
        return a.handle_ == b.handle_;
    }
    friend bool operator!=(const iterator &a, const iterator &b) noexcept { return !(a == b); }

private:
    friend class oracle;

    iterator(ioracle_iterator *handle, std::size_t horizon) : handle_(handle), left_(horizon) {
        step();
    }

    void step() {
        ioracle_prediction next;
        if (left_ > 0 && handle_ && detail::checked(ioracle_oracle_step(handle_.get(), &next))) {
            current_ = prediction(next);
            --left_;
        } else {
            handle_.reset();
        }
    }

    std::unique_ptr<ioracle_iterator, detail::free_iterator> handle_;
    prediction current_;
    std::size_t left_ = 0;
};

// One finished call. What is not said is not known.
class observation {
public:
    explicit observation(ioracle::access access) {
        raw_.access = static_cast<std::uint32_t>(access);
    }
    // By the name of the function, such as "fread" or "H5Dwrite".
    explicit observation(const char *function) {
        raw_.function = ioracle_function(function);
        if (raw_.function == 0) {
            throw error(IORACLE_INVALID);
        }
    }

    observation &file(std::string path) {
        path_ = std::move(path);
        return *this;
    }
    observation &file(std::uint64_t id) {
        raw_.file = id;
        return *this;
    }
    observation &handle(std::int64_t handle) {
        raw_.handle = handle;
        return *this;
    }
    observation &at(std::int64_t offset, std::uint64_t size) {
        raw_.offset = offset;
        raw_.size = size;
        return *this;
    }
    observation &size(std::uint64_t size) {
        raw_.size = size;
        return *this;
    }
    // Bytes that were asked for.
    observation &requested(std::uint64_t requested) {
        raw_.flags |= IORACLE_REQUESTS;
        raw_.requested = requested;
        return *this;
    }
    observation &flags(std::uint32_t flags) {
        raw_.flags |= flags;
        return *this;
    }
    observation &during(std::uint64_t start_ns, std::uint64_t end_ns) {
        raw_.start_ns = start_ns;
        raw_.end_ns = end_ns;
        return *this;
    }
    template <class Clock>
    observation &during(std::chrono::time_point<Clock> start, std::chrono::time_point<Clock> end) {
        return during(ns(start.time_since_epoch()), ns(end.time_since_epoch()));
    }
    observation &context(std::uint64_t id) {
        raw_.context = id;
        return *this;
    }
    observation &context(std::string text) {
        context_ = std::move(text);
        return *this;
    }
    observation &stack(std::vector<const void *> frames) {
        frames_ = std::move(frames);
        return *this;
    }

    // For the C interface; points into this object.
    ioracle_observation raw() const noexcept {
        ioracle_observation raw = raw_;
        raw.path = path_ ? path_->c_str() : nullptr;
        raw.context_text = context_ ? context_->c_str() : nullptr;
        raw.stack = frames_.empty() ? nullptr : frames_.data();
        raw.n_frames = frames_.size();
        return raw;
    }

private:
    template <class Duration> static std::uint64_t ns(Duration duration) {
        using std::chrono::nanoseconds;
        return static_cast<std::uint64_t>(std::chrono::duration_cast<nanoseconds>(duration).count());
    }

    ioracle_observation raw_ = IORACLE_OBSERVATION_INIT;
    std::optional<std::string> path_;
    std::optional<std::string> context_;
    std::vector<const void *> frames_;
};

// Learns finished calls and says what comes next. Any number of threads may use
// one; each call holds its lock.
class oracle {
public:
    // An iterator and how probable its first operation is.
    using prediction_set = std::vector<std::pair<iterator, double>>;

    oracle() : oracle(nullptr) {}
    explicit oracle(const ioracle_config &config) : oracle(&config) {}

    static oracle load(const std::string &path) {
        ioracle_oracle *handle = nullptr;
        detail::checked(ioracle_oracle_load(path.c_str(), &handle));
        return oracle(owner(handle));
    }
    static oracle load_bytes(const void *bytes, std::size_t n_bytes) {
        ioracle_oracle *handle = nullptr;
        detail::checked(ioracle_oracle_load_bytes(bytes, n_bytes, &handle));
        return oracle(owner(handle));
    }
    void save(const std::string &path) const {
        detail::checked(ioracle_oracle_save(get(), path.c_str()));
    }
    std::vector<unsigned char> save_bytes() const {
        void *bytes = nullptr;
        std::size_t n_bytes = 0;
        detail::checked(ioracle_oracle_save_bytes(get(), &bytes, &n_bytes));
        const std::unique_ptr<void, detail::free_bytes> owned(bytes);
        const auto *first = static_cast<const unsigned char *>(bytes);
        return std::vector<unsigned char>(first, first + n_bytes);
    }

    void observe(const observation &observation) {
        const ioracle_observation raw = observation.raw();
        observe(raw);
    }
    void observe(const ioracle_observation &observation) {
        detail::checked(ioracle_oracle_observe(get(), &observation));
    }
    void define_file(std::uint64_t file, const std::string &path) {
        detail::checked(ioracle_oracle_define_file(get(), file, path.c_str()));
    }
    void begin_run() { detail::checked(ioracle_oracle_begin_run(get())); }
    void merge(const oracle &other) { detail::checked(ioracle_oracle_merge(get(), other.get())); }

    // What may come next, the most probable first, each leading an iterator that
    // ends after `horizon` operations. Let go of the set before the next
    // observation, which else copies the model.
    prediction_set predict(std::size_t horizon = 1024) const {
        prediction_set set;
        ioracle_iterator *handle = nullptr;
        while (detail::checked(ioracle_oracle_iterate(get(), set.size(), &handle))) {
            iterator first(handle, horizon);
            const double weight = first->operation_probability();
            set.emplace_back(std::move(first), weight);
        }
        return set;
    }
    iterator end() const noexcept { return iterator(); }

    // The same as plain values.
    std::vector<prediction> next(std::size_t most = 8) const {
        return read(most, [this](ioracle_prediction *room, std::size_t capacity, std::size_t *n) {
            return ioracle_oracle_predict(get(), room, capacity, n);
        });
    }
    // The next `steps` operations, beginning with the `first`-th prediction.
    std::vector<prediction> ahead(std::size_t steps, std::size_t first = 0) const {
        return read(steps, [&](ioracle_prediction *room, std::size_t capacity, std::size_t *n) {
            return ioracle_oracle_ahead(get(), first, room, capacity, n);
        });
    }

    std::optional<ioracle_burst> burst() const {
        ioracle_burst burst;
        if (!detail::checked(ioracle_oracle_burst(get(), &burst))) {
            return std::nullopt;
        }
        return burst;
    }
    ioracle_burst within(std::chrono::nanoseconds span) const {
        ioracle_burst within;
        const auto span_ns = static_cast<std::uint64_t>(span.count());
        detail::checked(ioracle_oracle_within(get(), span_ns, &within));
        return within;
    }
    // How good the predictions were, by the measures of 'ioracle eval'.
    ioracle_score score() const {
        ioracle_score score;
        detail::checked(ioracle_oracle_score(get(), &score));
        return score;
    }
    ioracle_info info() const {
        ioracle_info info;
        detail::checked(ioracle_oracle_info(get(), &info));
        return info;
    }

    // For the C interface; stays ours.
    ioracle_oracle *get() const noexcept { return handle_.get(); }

private:
    using owner = std::unique_ptr<ioracle_oracle, detail::free_oracle>;

    explicit oracle(owner handle) noexcept : handle_(std::move(handle)) {}
    explicit oracle(const ioracle_config *config) {
        ioracle_oracle *handle = nullptr;
        detail::checked(ioracle_oracle_new(config, &handle));
        handle_.reset(handle);
    }

    template <class Ask> static std::vector<prediction> read(std::size_t most, Ask ask) {
        std::vector<ioracle_prediction> room(most);
        std::size_t n = 0;
        detail::checked(ask(room.data(), room.size(), &n));
        return std::vector<prediction>(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(n));
    }

    owner handle_;
};

// What `ioracle run` published for the calling thread.
struct published {
    ioracle_result result;
    ioracle_basis basis;
    std::vector<prediction> predictions;

    // Whether they rest on all that the thread has done.
    explicit operator bool() const noexcept { return result == IORACLE_OK; }
};

// What the calling thread will do next, below 'ioracle run': ioracle_next(). That
// nothing is known, or not in time, is an answer and no exception.
inline published next(std::chrono::nanoseconds max_wait, std::size_t most = 8) {
    std::vector<ioracle_prediction> room(most);
    published answer = {IORACLE_OK, ioracle_basis(), {}};
    const auto max_wait_ns = static_cast<std::uint64_t>(max_wait.count());
    answer.result = ioracle_next(max_wait_ns, room.data(), room.size(), &answer.basis);
    const auto n = static_cast<std::ptrdiff_t>(answer ? answer.basis.n_predictions : 0);
    answer.predictions = std::vector<prediction>(room.begin(), room.begin() + n);
    return answer;
}

} // namespace ioracle

#endif // IORACLE_HPP
