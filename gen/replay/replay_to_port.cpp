// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "gen/replay/replay.h"
#include "gen/tx/idle.h"
#include "gen/tx/tx_burst.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

class PortReplay {
 public:
  PortReplay(ReplaySource& source, Ports& ports, capture::Writer* copy, const Limits& limits)
      : source_(source), sender_(ports.all().front(), ports.pool()), copy_(copy), limits_(limits) {}

  Result<ReplayReport> go() {
    start_ = nic::now();
    while (!limits_.stopped() && taken_ < limits_.count) {
      const auto frame = source_.next();
      if (!frame) return std::unexpected(frame.error());
      if (!*frame || (limits_.duration && (*frame)->due >= *limits_.duration)) break;
      if (auto waited = wait_for((*frame)->due); !waited) return std::unexpected(waited.error());
      if (limits_.stopped()) break;
      if (auto sent = take(**frame); !sent) return std::unexpected(sent.error());
    }
    if (auto sent = send(); !sent) return std::unexpected(sent.error());
    report_.elapsed = nic::now() - start_;
    report_.source = source_.tally();
    return report_;
  }

 private:
  /// What waits in the burst leaves before the time is spent on waiting.
  Result<void> wait_for(Duration due) {
    Duration now = nic::now() - start_;
    if (now < due) {
      if (auto sent = send(); !sent) return sent;
    }
    while ((now = nic::now() - start_) < due && !limits_.stopped()) idle_towards(due - now);
    if (source_.paced()) report_.latest = std::max(report_.latest, now - due);
    return {};
  }

  Result<void> take(const ReplayFrame& frame) {
    ++taken_;
    if (!sender_.add(frame.bytes)) {
      ++report_.not_sent;
      return {};
    }
    sizes_[waiting_] = frame.bytes.size();
    if (copy_ != nullptr) {
      copies_[waiting_].assign(frame.bytes.begin(), frame.bytes.end());
    }
    ++waiting_;
    return sender_.full() ? send() : Result<void>{};
  }

  Result<void> send() {
    if (sender_.empty()) return {};
    const Instant stamp = instant_from_ns(nic::wall_clock_ns());
    const std::size_t sent = sender_.send();
    for (std::size_t i = 0; i < sent; ++i) report_.count(sizes_[i]);
    report_.not_sent += waiting_ - sent;
    waiting_ = 0;
    for (std::size_t i = 0; copy_ != nullptr && i < sent; ++i) {
      auto written = copy_->write(stamp, copies_[i], static_cast<std::uint32_t>(sizes_[i]));
      if (!written) return written;
    }
    return {};
  }

  ReplaySource& source_;
  TxBurst sender_;
  capture::Writer* copy_;
  const Limits& limits_;
  ReplayReport report_;
  Instant start_{};
  std::uint64_t taken_ = 0;
  std::size_t waiting_ = 0;  // frames in the burst
  std::array<std::size_t, TxBurst::kBurst> sizes_{};
  std::array<std::vector<std::byte>, TxBurst::kBurst> copies_;
};

}  // namespace

Result<ReplayReport> replay_through_port(ReplaySource& source, Ports& ports, capture::Writer* copy,
                                         const Limits& limits) {
  return PortReplay(source, ports, copy, limits).go();
}

}  // namespace lw::gen
