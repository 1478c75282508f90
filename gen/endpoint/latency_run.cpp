// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/latency_run.h"

#include <atomic>

namespace lw::gen::endpoint {

using wire::Operation;

Result<void> LatencyRun::run() {
  Flow& flow = session_.flows().front();
  const perf::PerfConfig& config = session_.config();
  const bool timed = config.duration > Duration{};
  const Instant end = time_now() + config.duration;
  for (std::uint64_t n = 0; timed ? time_now() < end : n < config.iterations; ++n) {
    const auto answered = ping(flow);
    if (!answered) return std::unexpected(answered.error());
    if (!*answered) break;  // interrupted
  }
  return {};
}

/// Sets the last byte of the echo's slot to a value that differs from the echo's. Returns the
/// echo's last byte.
std::byte LatencyRun::await_echo(const Flow& flow, std::uint64_t number) {
  const auto echo = session_.answer(flow, number);
  flow.received.write(echo, number);
  const std::byte last = echo.back();
  echo.back() = ~last;
  return last;
}

/// Posts the receive for the echo of message `number`, if it needs one.
Result<void> LatencyRun::post_receive(Flow& flow, std::uint64_t number) {
  if (!params_.echo || !params_.takes_receive()) return {};
  const ibv_sge into = session_.answer_piece(flow, number);
  return flow.qp.post_receive(number, into.addr, into.length, into.lkey);
}

/// Posts message `number`, and the READ that fetches it again, if it is used.
Result<void> LatencyRun::post(Flow& flow, std::uint64_t number) {
  ibv_sge piece{};
  ibv_send_wr request = session_.request_of(flow, number, piece, !params_.read_back);
  if (auto posted = flow.qp.post({&request, 1}); !posted) return posted;
  ++flow.posted;
  if (!params_.read_back) return {};
  request = session_.read_back_of(flow, number, piece);
  return flow.qp.post({&request, 1});
}

/// Sends one message and waits for the answer. Returns false if interrupted.
Result<bool> LatencyRun::ping(Flow& flow) {
  const std::uint64_t number = flow.posted;
  session_.fill(flow, number);
  const std::byte last = params_.echo ? await_echo(flow, number) : std::byte{};
  if (auto posted = post_receive(flow, number); !posted) return std::unexpected(posted.error());
  const Instant posted_at = time_now();
  if (auto posted = post(flow, number); !posted) return std::unexpected(posted.error());
  const auto answered =
      params_.echo ? wait_for_echo(flow, number, last) : wait_for_completion(flow, number);
  if (!answered || !*answered) return answered;
  const Instant now = time_now();
  session_.note_progress(now);
  if (!is_right(flow, number)) ++outcome_.wrong;
  outcome_.latency.add((now - posted_at) / (params_.echo || params_.read_back ? 2 : 1));
  return true;
}

bool LatencyRun::is_right(const Flow& flow, std::uint64_t number) const {
  if (!params_.echo) return session_.right(flow, number);
  return !session_.verbs().checked || flow.received.holds(session_.answer(flow, number), number);
}

/// Waits for an echo. With a receive, the echo completes it; a plain WRITE changes the last byte of
/// its slot. The completion of the request itself may come before or after.
Result<bool> LatencyRun::wait_for_echo(Flow& flow, std::uint64_t number, std::byte last) {
  const bool plain = params_.operation == Operation::write && !params_.immediate;
  std::byte& byte = session_.answer(flow, number).back();
  while (!session_.stopped()) {
    const auto completed = session_.poll();
    for (const ibv_wc& each : completed) {
      if (each.status != IBV_WC_SUCCESS) return std::unexpected(session_.failure_of(each));
      if ((each.opcode & IBV_WC_RECV) != 0) ++echoes_;
      if ((each.opcode & IBV_WC_RECV) == 0) ++flow.completed;
    }
    if (plain && std::atomic_ref(byte).load(std::memory_order_acquire) == last) ++echoes_;
    // The send queue must also have room for the next message.
    if (echoes_ > number && flow.in_flight() <= params_.depth) return true;
    if (completed.empty())
      if (auto waited = session_.idle(); !waited) return std::unexpected(waited.error());
  }
  return false;
}

Result<bool> LatencyRun::wait_for_completion(Flow& flow, std::uint64_t number) {
  while (flow.completed <= number) {
    if (session_.stopped()) return false;
    const auto completed = session_.poll();
    for (const ibv_wc& each : completed) {
      if (each.status != IBV_WC_SUCCESS) return std::unexpected(session_.failure_of(each));
      ++flow.completed;
    }
    if (completed.empty())
      if (auto waited = session_.idle(); !waited) return std::unexpected(waited.error());
  }
  return true;
}

}  // namespace lw::gen::endpoint
