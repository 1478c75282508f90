// SPDX-License-Identifier: BSD-3-Clause
#include "gen/port_run.h"

#include "gen/burst_sender.h"
#include "gen/capture_run.h"
#include "gen/waiting.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

class PortRun {
 public:
  PortRun(const profile::FlowProfile& profile, Scheduler& scheduler, std::span<nic::Port> ports,
          const nic::Pool& pool, capture::Writer* copy, RunCompanion& companion,
          const Limits& limits)
      : profile_(profile),
        scheduler_(scheduler),
        copy_(copy),
        companion_(companion),
        limits_(limits) {
    report_.flows.resize(profile.flows.size());
    for (nic::Port& port : ports) senders_.emplace_back(port, pool, report_.audit);
  }

  Result<RunReport> go() {
    start_ = nic::now();
    companion_.start(start_);
    while (!limits_.stopped()) {
      const Instant now = nic::now();
      const auto next = scheduler_.next();
      if (!next || taken_ >= limits_.count || past_the_end(next->at, now)) break;
      if (auto stepped = companion_.step(now, report_.flows, left(now)); !stepped) {
        return std::unexpected(stepped.error());
      }
      if (start_ + next->at > now) {
        wait_towards(start_ + next->at - now, !companion_.listens());
        continue;
      }
      take_due(now);
      if (auto sent = send_all(now); !sent) return std::unexpected(sent.error());
    }
    report_.elapsed = nic::now() - start_;
    return std::move(report_);
  }

 private:
  [[nodiscard]] std::optional<Duration> left(Instant now) const noexcept {
    if (!limits_.duration) return std::nullopt;
    return *limits_.duration - (now - start_);
  }
  [[nodiscard]] bool past_the_end(Duration due, Instant now) const noexcept {
    return limits_.duration && (due >= *limits_.duration || now - start_ >= *limits_.duration);
  }

  /// All that is due by now, up to a burst for some port.
  void take_due(Instant now) {
    while (taken_ < limits_.count) {
      const auto due = scheduler_.next();
      if (!due || start_ + due->at > now || past_the_end(due->at, now)) return;
      BurstSender& sender = senders_[due->flow % senders_.size()];
      if (sender.full()) return;
      sender.add(*due);
      ++taken_;
      scheduler_.advance();
      // Where the frame's slot ends, as late as the frame itself.
      report_.flows[due->flow].span = scheduler_.pacer(due->flow).span() + (now - start_ - due->at);
    }
  }

  Result<void> send_all(Instant now) {
    for (BurstSender& sender : senders_) {
      const auto outcome = sender.send(now, start_);
      for (const DueFrame& due : outcome.given_up) ++report_.flows[due.flow].not_sent;
      for (const DueFrame& due : outcome.sent) {
        count_sent(report_.flows[due.flow], due, profile_.flows[due.flow].signature);
      }
      if (auto kept = keep_copy(outcome); !kept) return kept;
    }
    return {};
  }

  Result<void> keep_copy(const BurstSender::Outcome& outcome) {
    if (copy_ == nullptr) return {};
    for (const DueFrame& due : outcome.sent) {
      // The port has the buffer; the same frame is made again.
      scratch_.resize(due.size());
      due.frame->write(due.moving, scratch_);
      auto written = copy_->write(instant_from_ns(outcome.wall_clock_ns), scratch_,
                                  static_cast<std::uint32_t>(scratch_.size()));
      if (!written) return written;
    }
    return {};
  }

  const profile::FlowProfile& profile_;
  Scheduler& scheduler_;
  capture::Writer* copy_;
  RunCompanion& companion_;
  const Limits& limits_;
  std::vector<BurstSender> senders_;
  std::vector<std::byte> scratch_;
  RunReport report_;
  Instant start_{};
  std::uint64_t taken_ = 0;
};

}  // namespace

Result<RunReport> run_through_ports(const profile::FlowProfile& profile, Scheduler& scheduler,
                                    std::span<nic::Port> ports, const nic::Pool& pool,
                                    capture::Writer* copy, RunCompanion& companion,
                                    const Limits& limits) {
  return PortRun(profile, scheduler, ports, pool, copy, companion, limits).go();
}

}  // namespace lw::gen
