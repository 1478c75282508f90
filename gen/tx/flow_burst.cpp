// SPDX-License-Identifier: BSD-3-Clause
#include "gen/tx/flow_burst.h"

#include <algorithm>
#include <sched.h>

#include "nic/clock.h"

namespace lw::gen {
namespace {

constexpr Duration kPatience = std::chrono::milliseconds(200);

wire::Bytes bytes_of(const rte_mbuf* buffer) noexcept {
  return {rte_pktmbuf_mtod(buffer, const std::byte*), buffer->data_len};
}

}  // namespace

FlowBurst::FlowBurst(FlowBurst&& other) noexcept
    : port_(other.port_),
      queue_(other.queue_),
      pool_(other.pool_),
      audit_(other.audit_),
      departures_(other.departures_),
      flows_(other.flows_),
      first_due_(other.first_due_),
      buffers_(other.buffers_),
      rows_(std::exchange(other.rows_, 0)),
      count_(std::exchange(other.count_, 0)),
      made_(std::exchange(other.made_, 0)),
      have_(std::exchange(other.have_, 0)),
      stuck_(other.stuck_),
      timed_(std::move(other.timed_)),
      copies_(std::move(other.copies_)),
      nowhere_(std::move(other.nowhere_)) {}

FlowBurst::~FlowBurst() { rte_pktmbuf_free_bulk(buffers_.data(), static_cast<unsigned>(have_)); }

/// Before a burst's first frame: buffers for a whole one, where there are so many.
void FlowBurst::refill() noexcept { have_ += pool_->take(std::span(buffers_).subspan(have_)); }

void FlowBurst::make_copies() {
  for (std::size_t i = 0; i < made_; ++i) {
    const wire::Bytes frame = bytes_of(buffers_[i]);
    copies_[i].assign(frame.begin(), frame.end());
  }
}

/// Returns how many frames the port took.
std::size_t FlowBurst::hand_over(Instant now) noexcept {
  const auto burst = std::span(buffers_).first(made_);
  std::size_t sent = port_->send(burst, queue_);
  if (sent == made_ || stuck_) return sent;
  const Instant give_up = now + kPatience;
  while (sent < made_ && nic::now() < give_up) {
    sched_yield();  // on a small machine the reader may be waiting for this very core
    sent += port_->send(burst.subspan(sent), queue_);
  }
  return sent;
}

FlowBurst::Outcome FlowBurst::send(Instant start) noexcept {
  if (count_ == 0) return {};
  Outcome outcome{.departures = std::span(departures_).first(rows_), .flows = flows_};
  if (made_ > 0) {
    if (!copies_.empty()) {
      make_copies();
      outcome.wall_clock_ns = nic::wall_clock_ns();
    }
    audit_->look_at(made_, [this](std::size_t i) { return bytes_of(buffers_[i]); });
    const Instant now = nic::now();
    // A port that keeps the time itself has its frames early.
    const Duration late = now - (start + first_due_);
    audit_->pacing_error.add(std::max(late, Duration{0}).count());
    const std::size_t sent = hand_over(now);
    outcome.sent = sent;
    outcome.looked = sent == made_ ? now : nic::now();  // it may have waited for the port
    stuck_ = sent == 0;
    // The port's are gone; what it didn't take goes back, what wasn't used stays at hand.
    rte_pktmbuf_free_bulk(buffers_.data() + sent, static_cast<unsigned>(made_ - sent));
    std::copy(buffers_.begin() + static_cast<std::ptrdiff_t>(made_),
              buffers_.begin() + static_cast<std::ptrdiff_t>(have_), buffers_.begin());
    have_ -= made_;
  }
  outcome.complete = outcome.sent == count_;
  count_ = made_ = rows_ = 0;
  return outcome;
}

}  // namespace lw::gen
