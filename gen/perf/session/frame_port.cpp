// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/frame_port.h"

#include <fmt/format.h>
#include <rte_mbuf.h>

#include "core/quantity.h"
#include "nic/clock.h"
#include "nic/idle.h"
#include "roce/envelope.h"

namespace lw::gen {

bool FramePort::is_ours(const roce::Envelope& envelope) const noexcept {
  if (rocev1()) return envelope.grh != nullptr && envelope.grh->destination == gid_of(own().ip);
  if (envelope.ipv4 != nullptr) return own().ip == wire::IpAddress(envelope.ipv4->destination);
  return envelope.ipv6 != nullptr && own().ip == wire::IpAddress(envelope.ipv6->destination);
}

bool FramePort::in_vlan(const roce::Envelope& envelope) const noexcept {
  if (!traffic().vlan) return true;
  return *traffic().vlan == (envelope.vlans[0] != nullptr ? envelope.vlans[0]->id() : 0);
}

FramePort::FramePort(nic::Port& port, const nic::Pool& pool, const OwnAddress& own, bool rocev1,
                     const roce::ClassOfTraffic& traffic, IdleMode idle, capture::Writer* copy)
    : FrameChannel(own, rocev1, traffic),
      port_(port),
      presence_({own}),
      sender_(port, pool, 0, idle),
      copy_(copy) {}

Result<std::size_t> FramePort::receive(const std::function<void(const roce::Frame&)>& on_frame) {
  const std::size_t count = port_.receive(buffers_);
  for (const rte_mbuf* buffer : std::span(buffers_).first(count)) {
    const wire::Bytes bytes(rte_pktmbuf_mtod(buffer, const std::byte*),
                            rte_pktmbuf_data_len(buffer));
    keep(bytes);
    look_at(bytes, on_frame);
  }
  if (count > 0) rte_pktmbuf_free_bulk(buffers_.data(), static_cast<unsigned>(count));
  if (!copied_) return std::unexpected(copied_.error());
  return count;
}

void FramePort::begin_watch(Instant now) {
  before_ = counters_;
  losses_.start(now);
}

std::vector<OwnLoss> FramePort::losses(Instant now) {
  std::vector<OwnLoss> losses = losses_.losses(now);
  const std::uint64_t refused = counters_.not_sent - before_.not_sent;
  losses.push_back({.place = losses.front().place,
                    .how = "when they were to leave",
                    .lost = refused,
                    .frames = counters_.sent - before_.sent + refused,
                    .remedy = "give this program and its peer cores of their own"});
  return losses;
}

void FramePort::look_at(wire::Bytes bytes,
                        const std::function<void(const roce::Frame&)>& on_frame) {
  const roce::Envelope envelope = roce::open_envelope(bytes);
  if (!in_vlan(envelope)) {
    ++counters_.passed_over;
    return;
  }
  if (!envelope.is_roce()) {
    if (presence_.answer(bytes, answer_)) send_raw(answer_);
    if (const auto where = neighbor_entry_in(bytes)) resolved_ = where;
    return;
  }
  if (!is_ours(envelope)) {
    ++counters_.passed_over;
    return;
  }
  if (roce::check_icrc(envelope) != roce::IcrcVerdict::ok) {
    ++counters_.bad_icrc;
    return;
  }
  const auto frame = roce::parse(envelope);
  if (!frame || frame->info == nullptr || frame->defect) {
    ++counters_.passed_over;
    return;
  }
  ++counters_.received;
  on_frame(*frame);
}

/// The payload goes from where it is, or from what computes it, into the buffer.
void FramePort::send(const roce::FrameFields& fields, const transport::PayloadView& payload) {
  const roce::FrameLayout layout = roce::layout_of(fields, payload.size());
  const wire::MutableBytes room = sender_.add(layout.size);
  if (room.empty()) {
    ++counters_.not_sent;
    return;
  }
  payload.write_to(room.subspan(layout.payload, payload.size()));
  roce::compose_around(fields, layout, room);
  keep(room);
  ++waiting_;
  if (sender_.full()) (void)flush();
}

void FramePort::send_raw(wire::Bytes frame) {
  if (!sender_.add(frame)) return;
  keep(frame);
  ++waiting_;
  if (sender_.full()) (void)flush();
}

Result<void> FramePort::flush() {
  if (waiting_ > 0) {
    const std::size_t sent = sender_.send(nic::now());
    counters_.sent += sent;
    counters_.not_sent += waiting_ - sent;
    waiting_ = 0;
  }
  return copied_;
}

void FramePort::keep(wire::Bytes frame) {
  if (copy_ == nullptr || !copied_) return;
  copied_ = copy_->write(instant_from_ns(nic::wall_clock_ns()), frame,
                         static_cast<std::uint32_t>(frame.size()));
}

Result<wire::MacAddress> FramePort::resolve(const wire::IpAddress& target, Duration timeout,
                                            const std::atomic<bool>& stop) {
  constexpr Duration kBetween = std::chrono::seconds(1);
  const Instant give_up = nic::now() + timeout;
  Instant ask = nic::now();
  resolved_.reset();
  while (nic::now() < give_up && !stop.load(std::memory_order_relaxed)) {
    if (nic::now() >= ask) {
      send_raw(neighbor_request(own(), fields_to({own()}).vlans, target));
      ask += kBetween;
    }
    if (auto got = receive([](const roce::Frame&) {}); !got) return std::unexpected(got.error());
    if (auto sent = flush(); !sent) return std::unexpected(sent.error());
    if (resolved_ && resolved_->ip == target) return resolved_->mac;
    nic::wait_towards(std::chrono::milliseconds(1));
  }
  if (stop.load()) return fail("stopped while waiting for the other side", ExitCode::failed);
  return fail(
      fmt::format("nobody at port `{}` answered for {}, asked each second for {} as {}: is "
                  "`roce-gen respond` running there, with that --address? --peer-mac asks nobody",
                  port_.name(), to_string(target), format_set_duration(timeout),
                  to_string(own().ip)),
      ExitCode::environment);
}

}  // namespace lw::gen
