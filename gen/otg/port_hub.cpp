// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/port_hub.h"

#include <algorithm>

#include <rte_mbuf.h>

#include "nic/clock.h"
#include "roce/envelope.h"

namespace lw::gen::otg {
namespace {

/// The class of all frames of a host; QPs add their own.
roce::ClassOfTraffic class_of_host(const PlannedHost& host) {
  roce::ClassOfTraffic traffic;
  if (!host.vlan) return traffic;
  traffic.vlan = static_cast<std::uint16_t>(host.vlan->id);
  for (auto& kind : traffic.kinds) kind.priority = static_cast<std::uint8_t>(host.vlan->priority);
  return traffic;
}

std::optional<wire::IpAddress> destination_ip(const roce::Envelope& envelope) noexcept {
  if (envelope.ipv4 != nullptr) return wire::IpAddress(envelope.ipv4->destination);
  if (envelope.ipv6 != nullptr) return wire::IpAddress(envelope.ipv6->destination);
  return std::nullopt;
}

std::uint16_t vlan_of(const roce::Envelope& envelope) noexcept {
  return envelope.vlans[0] != nullptr ? envelope.vlans[0]->id() : std::uint16_t{0};
}

}  // namespace

PortHub::PortHub(nic::Port& port, const nic::Pool& pool)
    : port_(port), sender_(port, pool, 0, IdleMode::adaptive) {}

PortHub::~PortHub() { release(); }

void PortHub::add(HostChannel& host) { hosts_.push_back(&host); }

void PortHub::complete() {
  std::vector<OwnAddress> own;
  for (const HostChannel* host : hosts_) own.push_back(host->own());
  presence_.emplace(std::move(own));
}

std::size_t PortHub::receive() {
  held_ = port_.receive(buffers_);
  for (const rte_mbuf* buffer : std::span(buffers_).first(held_)) {
    const wire::Bytes bytes(rte_pktmbuf_mtod(buffer, const std::byte*),
                            rte_pktmbuf_data_len(buffer));
    ++counts_.received;
    counts_.received_bytes += bytes.size() + kFcs;
    keep(bytes);
    if (watch_ == nullptr || !watch_->count_frame(watched_port_, bytes)) sort(bytes);
  }
  return held_;
}

void PortHub::release() noexcept {
  if (held_ > 0) rte_pktmbuf_free_bulk(buffers_.data(), static_cast<unsigned>(held_));
  held_ = 0;
}

void PortHub::sort(wire::Bytes bytes) {
  const roce::Envelope envelope = roce::open_envelope(bytes);
  if (!envelope.is_roce()) {
    if (presence_->answer(bytes, answer_)) send_raw(answer_);
    if (const auto entry = neighbor_entry_in(bytes)) neighbours_[entry->ip] = entry->mac;
    return;
  }
  const auto to = destination_ip(envelope);
  const auto host = std::ranges::find_if(hosts_, [&](const HostChannel* each) {
    return to && each->own().ip == *to && each->traffic().vlan.value_or(0) == vlan_of(envelope);
  });
  if (host == hosts_.end()) return;
  if (roce::check_icrc(envelope) != roce::IcrcVerdict::ok) {
    ++counts_.bad_icrc;
    return;
  }
  const auto frame = roce::parse(envelope);
  if (frame && frame->info != nullptr && !frame->defect) (*host)->add(*frame);
}

wire::MutableBytes PortHub::add(std::size_t length, SentFrames* sent) {
  const wire::MutableBytes room = sender_.add(length);
  if (room.empty())
    ++counts_.not_sent;
  else
    waiting_[waiting_count_++] = {length + kFcs, sent};
  return room;
}

void PortHub::added(wire::Bytes frame) {
  keep(frame);
  if (sender_.full()) flush();
}

void PortHub::send(const roce::FrameFields& fields, const transport::PayloadView& payload) {
  const roce::FrameLayout layout = roce::layout_of(fields, payload.size());
  const wire::MutableBytes room = add(layout.size, nullptr);
  if (room.empty()) return;
  payload.write_to(room.subspan(layout.payload, payload.size()));
  roce::compose_around(fields, layout, room);
  added(room);
}

void PortHub::send_raw(wire::Bytes frame) {
  const wire::MutableBytes room = add(frame.size(), nullptr);
  if (room.empty()) return;
  std::ranges::copy(frame, room.begin());
  added(room);
}

void PortHub::flush() {
  if (waiting_count_ == 0) return;
  const std::size_t sent = sender_.send(nic::now());
  counts_.sent += sent;
  counts_.not_sent += waiting_count_ - sent;
  for (const Waiting& frame : std::span(waiting_).first(sent)) {
    counts_.sent_bytes += frame.bytes;
    if (frame.sent == nullptr) continue;
    ++frame.sent->frames;
    frame.sent->bytes += frame.bytes;
  }
  waiting_count_ = 0;
}

std::optional<wire::MacAddress> PortHub::neighbour(const wire::IpAddress& ip) const {
  const auto found = neighbours_.find(ip);
  return found == neighbours_.end() ? std::nullopt : std::optional(found->second);
}

void PortHub::ask(const HostChannel& host, const wire::IpAddress& ip, Instant now) {
  constexpr Duration kBetween = std::chrono::seconds(1);
  const auto last = asked_.find(ip);
  if (last != asked_.end() && now - last->second < kBetween) return;
  asked_[ip] = now;
  send_raw(neighbor_request(host.own(), host.fields_to({host.own()}).vlans, ip));
}

void PortHub::keep(wire::Bytes frame) {
  if (!copy_ || !copied_) return;
  copied_ = copy_->write(instant_from_ns(nic::wall_clock_ns()), frame,
                         static_cast<std::uint32_t>(frame.size()));
}

Result<void> PortHub::begin_capture(const std::string& path, const PlannedCapture& capture) {
  if (auto ended = end_capture(); !ended) return ended;
  auto copy = capture::Writer::create(
      path, {.format = capture.pcapng ? capture::Format::pcapng : capture::Format::pcap,
             .most_bytes = capture.packet_size});
  if (!copy) return std::unexpected(copy.error());
  copy_.emplace(std::move(*copy));
  copied_ = {};
  return {};
}

Result<void> PortHub::end_capture() {
  if (!copy_) return {};
  auto closed = copy_->close();
  copy_.reset();
  return copied_ ? closed : copied_;
}

HostChannel::HostChannel(PortHub& hub, const PlannedHost& host)
    : FrameChannel(host.own, false, class_of_host(host)), hub_(hub) {}

Result<std::size_t> HostChannel::receive(const std::function<void(const roce::Frame&)>& on_frame) {
  const std::size_t count = frames_.size();
  for (const roce::Frame& frame : frames_) on_frame(frame);
  frames_.clear();
  return count;
}

}  // namespace lw::gen::otg
