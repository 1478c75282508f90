// SPDX-License-Identifier: BSD-3-Clause
#include "gen/receive/receiver.h"

#include <algorithm>
#include <ctime>
#include <sched.h>

#include "nic/clock.h"

namespace lw::gen {
namespace {

/// What a poller does when there is nothing: first lend the core, then sleep a little. On two
/// cores the sender needs them.
class Idler {
 public:
  void reset() noexcept { empty_ = 0; }
  void wait() noexcept {
    constexpr std::uint32_t kPollsBeforeSleep = 256;
    constexpr timespec kNap{0, 20'000};
    if (++empty_ < kPollsBeforeSleep) {
      sched_yield();
    } else {
      nanosleep(&kNap, nullptr);
    }
  }

 private:
  std::uint32_t empty_ = 0;
};

class Reception {
 public:
  Reception(const ListeningPorts& ports, Measurement& measurement, capture::Writer* copy,
            Watch& watch, const FlowNames& names, const Limits& limits,
            std::optional<Duration> until_idle)
      : ports_(ports),
        measurement_(measurement),
        listener_(measurement, copy, limits.count),
        watch_(watch),
        names_(names),
        limits_(limits),
        until_idle_(until_idle) {}

  Result<ReceiveReport> go() {
    const Instant start = nic::now();
    watch_.start(start);
    while (!limits_.stopped() && listener_.frames() < limits_.count) {
      const auto count = poll_all();
      if (!count) return std::unexpected(count.error());
      const Instant now = nic::now();
      if (watch_.due(now)) {
        if (auto shown = show(now, start); !shown) return std::unexpected(shown.error());
      }
      if (limits_.duration && now - start >= *limits_.duration) break;
      if (*count > 0) {
        idler_.reset();
        continue;
      }
      if (all_exhausted() || idle_for_long(now)) break;
      idler_.wait();
    }
    return finish();
  }

 private:
  Result<std::size_t> poll_all() {
    std::size_t all = 0;
    for (std::size_t i = 0; i < ports_.ports.size(); ++i) {
      ResponderPort* station = ports_.stations.empty() ? nullptr : ports_.stations[i].get();
      const auto count = listener_.poll(ports_.ports[i], station);
      if (!count) return count;
      all += *count;
    }
    return all;
  }

  [[nodiscard]] bool all_exhausted() const noexcept {
    return std::ranges::all_of(ports_.ports, &nic::Port::exhausted);
  }
  [[nodiscard]] bool idle_for_long(Instant now) const noexcept {
    return until_idle_ && listener_.frames() > 0 && now - listener_.last() >= *until_idle_;
  }

  Result<void> show(Instant now, Instant start) {
    std::optional<Duration> left;
    if (limits_.duration) left = *limits_.duration - (now - start);
    return watch_.show(now, progress_of(names_, nullptr, &measurement_), left);
  }

  Result<ReceiveReport> finish() {
    measurement_.settle();
    const auto rows = progress_of(names_, nullptr, &measurement_);
    if (auto written = watch_.finish(nic::now(), rows); !written) {
      return std::unexpected(written.error());
    }
    ReceiveReport report{.elapsed = listener_.last() - listener_.first()};
    for (const nic::Port& port : ports_.ports) report.missed += port.stats().missed;
    return report;
  }

  ListeningPorts ports_;
  Measurement& measurement_;
  Listener listener_;
  Watch& watch_;
  const FlowNames& names_;
  const Limits& limits_;
  std::optional<Duration> until_idle_;
  Idler idler_;
};

}  // namespace

Result<ReceiveReport> receive_all(const ListeningPorts& ports, Measurement& measurement,
                                  capture::Writer* copy, Watch& watch, const FlowNames& names,
                                  const Limits& limits, std::optional<Duration> until_idle) {
  return Reception(ports, measurement, copy, watch, names, limits, until_idle).go();
}

}  // namespace lw::gen
