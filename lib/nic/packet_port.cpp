// SPDX-License-Identifier: BSD-3-Clause
#include "nic/packet_port.h"

#include <algorithm>

#include <fmt/core.h>

#include "nic/receive_ring.h"
#include "nic/send_ring.h"

namespace lw::nic {

PacketPort::PacketPort(std::string interface) : interface_(std::move(interface)) {}
PacketPort::~PacketPort() = default;

Result<std::unique_ptr<PacketPort>> PacketPort::open(const PortSpec& spec, const Pool& pool,
                                                     std::uint16_t send_queues) {
  std::unique_ptr<PacketPort> port(new PacketPort(spec.as<InterfaceSpec>()->interface));
  if (auto opened = port->open_rings(spec, pool, send_queues); !opened)
    return std::unexpected(opened.error());
  port->restart_counts();
  return port;
}

Result<void> PacketPort::open_rings(const PortSpec& spec, const Pool& pool,
                                    std::uint16_t send_queues) {
  if (!interface_.mac_address())
    return fail(fmt::format("port `{}`: its frames are not Ethernet's", spec.text),
                ExitCode::environment);
  bound_to_ = interface_.index();
  receive_ = std::make_unique<ReceiveRing>(pool);
  if (auto opened = receive_->open(spec.text, bound_to_); !opened) return opened;
  for (std::uint16_t queue = 0; queue < send_queues; ++queue) {
    send_.push_back(std::make_unique<SendRing>());
    auto opened = send_.back()->open(spec.text, interface_, spec.as<InterfaceSpec>()->queueing,
                                     pool.config().frame_size);
    if (!opened) return opened;
  }
  return {};
}

std::uint64_t PacketPort::ring_bytes(std::uint32_t frame_size) noexcept {
  const std::uint64_t blocks = blocks_for(ReceiveRing::kSlot, ReceiveRing::kSlots) +
                               blocks_for(SendRing::slot_for(frame_size), SendRing::kSlots);
  return blocks * kRingBlock;
}

std::size_t PacketPort::receive(std::span<rte_mbuf*> out) noexcept {
  return receive_->receive(out);
}

std::span<const std::int64_t> PacketPort::stamps() const noexcept { return receive_->stamps(); }
bool PacketPort::is_drained() const noexcept { return receive_->is_drained(); }

std::size_t PacketPort::send(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept {
  return send_[queue]->send(frames);
}

bool PacketPort::stamp_departures() noexcept {
  for (const auto& ring : send_) ring->stamp_departures();
  return true;
}

std::span<const std::int64_t> PacketPort::departures(std::uint16_t queue) const noexcept {
  return send_[queue]->departures();
}

std::array<std::byte, 6> PacketPort::mac_address() const noexcept {
  return interface_.mac_address().value_or(std::array<std::byte, 6>{});
}

PortStats PacketPort::stats() const {
  const std::lock_guard lock(mutex_);
  return count();
}

PortStats PacketPort::count() const {
  // Without a free descriptor neither can be read: nothing more is known then.
  const InterfaceLosses lost = last_ = interface_.losses().value_or(last_);
  const std::uint64_t backlog = std::max(backlog_drops(), backlog_before_) - backlog_before_;
  PortStats stats;
  stats.received = receive_->received();
  stats.too_long = receive_->too_long();
  stats.receive_errors = receive_->errors() + (lost.received_errors - before_.received_errors);
  stats.missed = receive_->missed() - missed_before_ +
                 (lost.received_missed - before_.received_missed) +
                 backlog_losses(backlog, lost.received_dropped - before_.received_dropped,
                                receive_->tagged() - tagged_before_);
  if (at_end_) {
    stats.missed = at_end_->missed;
    stats.receive_errors = at_end_->receive_errors;
  }
  std::uint32_t dropped = lost.sent_dropped - before_.sent_dropped;
  for (const auto& ring : send_) {
    stats.sent += ring->sent();
    stats.unsent_too_long += ring->too_long();
    stats.unsent_dropped += ring->dropped();
    stats.send_errors += ring->errors();
    dropped -= static_cast<std::uint32_t>(std::min<std::uint64_t>(dropped, ring->refused()));
  }
  stats.unsent_dropped += dropped;
  stats.send_errors += lost.sent_errors - before_.sent_errors;
  return stats;
}

void PacketPort::restart_counts() {
  const std::lock_guard lock(mutex_);
  missed_before_ = receive_->missed();
  backlog_before_ = backlog_drops();
  tagged_before_ = receive_->tagged();
  before_ = last_ = interface_.losses().value_or(before_);
}

bool PacketPort::bind_again() {
  const std::lock_guard lock(mutex_);
  const unsigned index = interface_.index();
  if (index == 0 || !receive_->bind(interface_.name(), index)) return false;
  for (const auto& ring : send_)
    if (!ring->bind(interface_.name(), index)) return false;
  before_ = last_ = interface_.losses().value_or(InterfaceLosses{});
  tagged_before_ = receive_->tagged();
  bound_to_ = index;
  return true;
}

void PacketPort::end_receiving() {
  const std::lock_guard lock(mutex_);
  at_end_ = count();
}

}  // namespace lw::nic
