// SPDX-License-Identifier: BSD-3-Clause
// The sending side of a requester: what is seldom sent.
#include "transport/requester_next.h"

namespace lw::transport {

Requester::Requester(const QpConfig& config, Memory& memory, PayloadStore& store)
    : config_(config),
      headers_(headers_of(config)),
      opcodes_(config.transport),
      memory_(memory),
      store_(store),
      timer_(config),
      retries_left_(config.retry_count),
      rnr_left_(config.rnr_retry) {}

/// Selective repeat: one packet again, wherever the cursor stands.
void Requester::next_unusual(Packet& packet) {
  const Sequence at = resend_.front();
  resend_.pop();
  ++counters_.packets;
  ++counters_.retransmitted;
  look_again();
  make(packet, wqe_at(at), at);
  packet.ack_req = true;
}

Requester::Wqe& Requester::wqe_at(Sequence s) noexcept {
  std::size_t low = 0, high = queue_.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high + 1) / 2;
    queue_[middle].first <= s ? low = middle : high = middle - 1;
  }
  return queue_[low];
}

/// A READ asks for what is missing from `index` on.
void Requester::fill_fetch(Packet& packet, const Wqe& wqe, std::uint64_t index) const noexcept {
  const WorkRequest& request = wqe.request;
  const std::uint64_t offset = index * config_.mtu;
  packet.opcode = opcodes_.of(request.operation, wire::Position::only);
  packet.va = request.remote_va + offset;
  packet.r_key = request.r_key;
  packet.length = static_cast<std::uint32_t>(request.length - offset);
  packet.swap_add = request.swap_add;
  packet.compare = request.compare;
  packet.ack_req = true;
}

}  // namespace lw::transport
