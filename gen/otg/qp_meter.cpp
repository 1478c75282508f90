// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/qp_meter.h"

#include <algorithm>

#include "nic/clock.h"
#include "wire/signature.h"

namespace lw::gen::otg {
namespace {

CountedKind kind_of(const transport::Packet& packet) noexcept {
  using roce::ClassKind;
  switch (roce::class_kind(packet.opcode, packet.syndrome)) {
    case ClassKind::ack:
      return CountedKind::ack;
    case ClassKind::nak:
      return CountedKind::nak;
    case ClassKind::cnp:
      return CountedKind::cnp;
    case ClassKind::data:
      break;
  }
  const wire::Operation operation = transport::meaning_of(packet.opcode).operation;
  if (operation == wire::Operation::read_request) return CountedKind::fetch;
  return operation == wire::Operation::read_response ? CountedKind::response
                                                     : CountedKind::transfer;
}

}  // namespace

void QpMeter::sent(const transport::Packet& packet, std::size_t bytes) noexcept {
  count(sent_, kind_of(packet), bytes);
}

void QpMeter::received(const transport::Packet& packet, std::size_t bytes) noexcept {
  const CountedKind kind = kind_of(packet);
  count(received_, kind, bytes);
  marked_ += packet.congestion_experienced ? 1 : 0;
  if (kind != CountedKind::transfer && kind != CountedKind::response) return;
  last_ = nic::now();
  if (!first_) first_ = last_;
}

void QpMeter::read(std::uint64_t /*va*/, std::span<std::byte> out) noexcept {
  std::ranges::fill(out, std::byte{});
  auto* signature = wire::view<wire::Signature>(out);
  if (signature == nullptr) return;
  signature->set(signature_of(flow_, sequence_++, 0, clock_, nic::now()));
}

void QpMeter::write(std::uint64_t /*va*/, std::span<const std::byte> bytes) {
  const auto* signature = wire::view<wire::Signature>(bytes);
  if (signature == nullptr || !signature->present()) return;
  if (const auto took = latency_of(signature->fields(), clock_, nic::now())) latency_.add(*took);
}

void QpMeter::clear() noexcept {
  sent_ = received_ = sampled_sent_ = sampled_received_ = {};
  marked_ = 0;
  latency_ = {};
  first_.reset();
}

void QpMeter::sample(Instant now) noexcept {
  const Duration passed = now - sampled_;
  if (passed < kRateInterval) return;
  sampled_ = now;
  const double seconds = std::chrono::duration<double>(passed).count();
  const auto measure = [&](Counts& counts, Counts& before) {
    for (std::size_t i = 0; i < kPacketKinds; ++i) {
      constexpr double kBits = 8;
      counts[i].bps = kBits * static_cast<double>(counts[i].bytes - before[i].bytes) / seconds;
    }
    before = counts;
  };
  measure(sent_, sampled_sent_);
  measure(received_, sampled_received_);
}

}  // namespace lw::gen::otg
