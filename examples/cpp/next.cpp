// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What comes next, in the shape of Appendix A of the Omnisc'IO report. The
// application writes a checkpoint every second.

#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>

#include <ioracle.hpp>

namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t millisecond = 1'000'000;

void checkpoint(ioracle::oracle &model, int step) {
    using ioracle::access;
    using ioracle::observation;
    const std::string number = std::to_string(1000 + step).substr(1);
    std::uint64_t now = static_cast<std::uint64_t>(step) * second;
    const auto report = [&](observation call) {
        model.observe(call.handle(3).during(now, now + millisecond / 5));
        now += millisecond;
    };
    report(observation(access::open).file("checkpoint_" + number + ".dat").context("open"));
    report(observation(access::write).at(0, 512).context("header"));
    report(observation(access::write).at(512, 1 << 20).context("state"));
    report(observation(access::close).context("close"));
}

} // namespace

int main() {
    ioracle::oracle model;
    for (int step = 0; step < 20; ++step) {
        checkpoint(model, step);
    }

    // A set of iterators, each with its weight.
    auto predictions = model.predict(6);
    if (predictions.empty()) {
        std::cout << "ioracle does not know\n";
        return 1;
    }
    auto &[operation, weight] = *predictions.begin();
    std::cout << std::fixed << std::setprecision(3);
    std::cout << "the first sequence has a weight of " << weight << '\n';
    for (; operation != model.end(); ++operation) {
        switch (operation->type()) {
        case ioracle::access::open:
            std::cout << "open of " << operation->file();
            break;
        case ioracle::access::read:
        case ioracle::access::write:
            std::cout << operation->function() << " at offset " << operation->offset()
                      << " and size " << operation->size();
            break;
        default:
            std::cout << operation->function();
        }
        std::cout << " will occur " << operation->elapsed() << " s after the previous one\n";
    }

    // What was learned survives the program.
    const auto saved = model.save_bytes();
    auto later = ioracle::oracle::load_bytes(saved.data(), saved.size());
    later.begin_run();
    std::cout << "the next run begins with " << later.next(1).front().function() << '\n';
    try {
        ioracle::oracle::load_bytes("nonsense", 8);
    } catch (const ioracle::error &refused) {
        std::cout << "refused: " << refused.what() << '\n';
    }
    return 0;
}
