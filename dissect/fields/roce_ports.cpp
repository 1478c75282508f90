// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/roce_ports.h"

#include <algorithm>

#include "wire/bth.h"
#include "wire/opcode.h"
#include "wire/view.h"

namespace lw::dissect {
namespace {

bool begins_like_bth(const roce::Envelope& envelope) noexcept {
  const std::size_t offset = envelope.transport_offset + sizeof(wire::Udp);
  if (offset + sizeof(wire::Bth) > envelope.network_end) return false;
  const auto* bth = wire::view_at<wire::Bth>(envelope.bytes, offset);
  return bth != nullptr && bth->version() == 0 && wire::find_opcode(bth->opcode.get()) != nullptr;
}

}  // namespace

void RocePorts::apply(roce::Envelope& envelope) const noexcept {
  if (envelope.udp == nullptr || envelope.is_roce()) return;
  const std::uint16_t from = envelope.udp->source_port.get();
  const std::uint16_t to = envelope.udp->destination_port.get();
  const bool named =
      std::ranges::any_of(ports_, [=](std::uint16_t port) { return port == from || port == to; });
  envelope.other_port = named || (from == wire::kRoceV2Port && begins_like_bth(envelope));
}

}  // namespace lw::dissect
