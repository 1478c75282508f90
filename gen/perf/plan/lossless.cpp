// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/plan/lossless.h"

#include <algorithm>
#include <vector>

#include "transport/fifo.h"

namespace lw::gen::planning {
namespace {

/// Packets per ns of all QPs without losses, computed by a recurrence. The port sends the QPs'
/// bursts one after the other. With a window of W packets, packet n leaves when packet n - W has
/// been answered; an answer arrives one round trip after the next packet that requests one.
class Recurrence {
 public:
  Recurrence(const Quantities& given, const perf::PerfConfig& config)
      : given_(given),
        packets_(static_cast<std::uint64_t>(given.packets)),
        whole_(given.read_psns > 0),
        depth_(static_cast<std::uint64_t>(given.depth) + (whole_ ? 1 : 0)),
        window_(static_cast<std::uint64_t>(whole_           ? given.read_psns
                                           : given.psns > 0 ? given.psns
                                                            : given.packets * given.depth)),
        ack_every_(whole_             ? 1
                   : config.fetches() ? 0
                                      : config.qp.ack_every),
        burst_(config.nic.arbitration_burst),
        qps_(config.qps) {}

  [[nodiscard]] double packets_per_ns() {
    for (std::uint32_t qp = 0; qp < qps_.size(); ++qp) queue(qp);
    // Measure the second half of a sufficient number of windows. Larger windows fill any link.
    const std::uint64_t all = 2 * kWindows * std::max(window_, packets_) * qps_.size();
    double begin = 0;
    std::uint64_t before = 0;
    for (std::uint64_t steps = 0; sent_ < all && steps < kMostSteps; ++steps) {
      if (before == 0 && (2 * sent_ >= all || 2 * steps >= kMostSteps)) {
        before = sent_;
        begin = now_;
      }
      step();
    }
    return static_cast<double>(sent_ - before) / (now_ - begin);
  }

 private:
  static constexpr std::uint64_t kWindows = 30, kMostSteps = 400'000;
  static constexpr double kTie = 0.5;  // ns: on a tie, the answer comes first
  struct Qp {
    std::uint64_t next = 0, answered = 0;  // packets
    bool queued = false;                   // queued for the port, or using it
  };
  struct Answer {
    double at = 0;
    std::uint32_t qp = 0;
    std::uint64_t packets = 0;
  };

  [[nodiscard]] std::uint64_t allowed(const Qp& qp) const noexcept {
    if (whole_) {  // each response advances the window, but a READ begins only if all of it fits
      const std::uint64_t rest = packets_ - qp.next % packets_;
      const bool fits = qp.next + packets_ <= qp.answered + window_ || qp.next == qp.answered;
      return rest < packets_ || fits ? rest : 0;
    }
    const std::uint64_t whole = qp.answered / packets_ * packets_;
    return std::min(qp.answered + window_, whole + depth_ * packets_) - qp.next;
  }
  void queue(std::uint32_t number) {
    Qp& qp = qps_[number];
    if (qp.queued || allowed(qp) == 0) return;
    qp.queued = true;
    ready_.push(number);
  }
  void take_answers() {
    for (; !answers_.empty() && answers_.front().at <= now_ + kTie; answers_.pop()) {
      const Answer& answer = answers_.front();
      qps_[answer.qp].answered = answer.packets;
      queue(answer.qp);
    }
  }
  /// Sends packets of the QP that uses the port, up to the next packet that requests an answer.
  void step() {
    take_answers();
    if (left_ == 0) {
      if (ready_.empty()) {
        now_ = std::max(now_, answers_.front().at);
        return;
      }
      keeper_ = ready_.front();
      ready_.pop();
      left_ = burst_;
    }
    send(qps_[keeper_]);
  }
  void send(Qp& qp) {
    const std::uint64_t at = qp.next % packets_, rest = packets_ - at;
    std::uint64_t count = std::min({left_, rest, allowed(qp)});
    if (ack_every_ > 0) count = std::min<std::uint64_t>(count, ack_every_ - at % ack_every_);
    qp.next += count;
    sent_ += count;
    left_ -= count;
    // The last packet is built when it begins to leave. It requests an answer if it fills the
    // window.
    now_ += static_cast<double>(count - 1) * given_.packet;
    take_answers();
    now_ += given_.packet;
    const bool ends = count == rest;
    const bool asks = ack_every_ > 0 && (at + count) % ack_every_ == 0;
    if (ends || asks || qp.next - qp.answered >= window_)
      answers_.push({now_ + given_.round_trip, keeper_, qp.next});
    take_answers();
    if (ends || left_ == 0 || allowed(qp) == 0) {
      left_ = 0;
      qp.queued = false;
      queue(keeper_);
    }
  }

  Quantities given_;
  std::uint64_t packets_;
  bool whole_;
  std::uint64_t depth_, window_, ack_every_, burst_;
  std::vector<Qp> qps_;
  transport::Fifo<Answer> answers_;
  transport::Fifo<std::uint32_t> ready_;
  std::uint32_t keeper_ = 0;
  std::uint64_t left_ = 0, sent_ = 0;
  double now_ = 0;
};

}  // namespace

double lossless_rate(const Quantities& given, const perf::PerfConfig& config) {
  const double line = 1 / given.packet;
  const double cycle = given.round_trip + given.message;
  const double by_window = given.qps * given.window() / cycle;
  // Use the closed formula if the windows far exceed the link, or for very many small messages,
  // which don't interleave.
  constexpr double kMostMessages = 50'000;
  const bool simple = given.psns == 0 && given.qps * given.depth > kMostMessages;
  const double far = given.psns == 0 && given.depth >= 4 ? 4 : 100;
  if (by_window > far * line || simple) return std::min(line, by_window);
  return std::min(line, Recurrence(given, config).packets_per_ns());
}

}  // namespace lw::gen::planning
