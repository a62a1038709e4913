// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A small middleware that prefetches: a class that reads blocks of files,
// reports each read to the oracle, and has the kernel fetch what comes next.

#include <chrono>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <ioracle.hpp>

namespace {

constexpr std::size_t block_bytes = 65536;
constexpr int n_blocks = 16;
constexpr int n_files = 24;
constexpr std::size_t ahead = 4;

// A file read through the oracle.
class block_reader {
public:
    explicit block_reader(ioracle::oracle &model) : model_(model) {}

    void open(const std::string &path) {
        path_ = path;
        finish(ioracle::observation(ioracle::access::open).file(path), [&] {
            fd_ = ::open(path.c_str(), O_RDONLY);
            return fd_ < 0 ? -1 : 0;
        });
    }

    void read(std::vector<char> &buffer, std::int64_t offset) {
        n_reads_ += 1;
        went_along_ = is_predicted(offset, buffer.size());
        n_predicted_ += went_along_;
        auto call = ioracle::observation(ioracle::access::read).at(offset, buffer.size());
        finish(call, [&] { return ::pread(fd_, buffer.data(), buffer.size(), offset); });
    }

    void close() {
        finish(ioracle::observation(ioracle::access::close), [&] { return ::close(fd_); });
    }

    int n_reads() const { return n_reads_; }
    int n_predicted() const { return n_predicted_; }
    int n_prefetched() const { return n_prefetched_; }

private:
    // Makes the real call, learns it, looks ahead, acts.
    template <class Call> void finish(ioracle::observation call, Call real) {
        const auto start = std::chrono::steady_clock::now();
        if (real() < 0) {
            throw std::system_error(errno, std::generic_category(), path_);
        }
        model_.observe(call.handle(fd_).during(start, std::chrono::steady_clock::now()));
        next_ = model_.ahead(ahead);
        // Along a predicted path only the last step is new.
        for (std::size_t i = went_along_ ? next_.size() - 1 : 0; i < next_.size(); ++i) {
            prefetch(next_[i]);
        }
        went_along_ = false;
    }

    bool is_predicted(std::int64_t offset, std::size_t size) const {
        if (next_.empty() || next_[0].type() != ioracle::access::read) {
            return false;
        }
        return next_[0].file() == path_ && next_[0].size() == size
            && next_[0].offset() == static_cast<std::uint64_t>(offset);
    }

    void prefetch(const ioracle::prediction &operation) {
        if (operation.type() != ioracle::access::read || operation.probability() < 0.5) {
            return;
        }
        const int fd = ::open(std::string(operation.file()).c_str(), O_RDONLY);
        if (fd < 0) {
            return; // predicted, but not there yet
        }
        const auto offset = static_cast<off_t>(operation.offset());
        const auto size = static_cast<off_t>(operation.size());
        n_prefetched_ += ::posix_fadvise(fd, offset, size, POSIX_FADV_WILLNEED) == 0;
        ::close(fd);
    }

    ioracle::oracle &model_;
    std::vector<ioracle::prediction> next_;
    std::string path_;
    int fd_ = -1;
    bool went_along_ = false;
    int n_reads_ = 0;
    int n_predicted_ = 0;
    int n_prefetched_ = 0;
};

void make_file(const std::string &path) {
    const std::vector<char> content(block_bytes * n_blocks);
    std::ofstream(path, std::ios::binary).write(content.data(), block_bytes * n_blocks);
}

void run(const std::string &directory) {
    ioracle::oracle model;
    block_reader reader(model);
    std::vector<char> buffer(block_bytes);
    for (int i = 0; i < n_files; ++i) {
        const auto path = directory + "/field_" + std::to_string(1000 + i).substr(1) + ".bin";
        make_file(path);
        reader.open(path);
        for (int k = 0; k < n_blocks; ++k) {
            reader.read(buffer, static_cast<std::int64_t>(k * 5 % n_blocks) * 65536);
        }
        reader.close();
        ::unlink(path.c_str());
    }
    std::cout << reader.n_predicted() << " of " << reader.n_reads() << " reads were predicted; "
              << reader.n_prefetched() << " prefetches\n";
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " DIR    (a directory for 1.5 MiB of files)\n";
        return 2;
    }
    try {
        run(argv[1]);
    } catch (const std::exception &failure) {
        std::cerr << "prefetch: " << failure.what() << '\n';
        return 1;
    }
    return 0;
}
