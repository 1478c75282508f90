// SPDX-License-Identifier: BSD-3-Clause
#include "roce/icrc_check.h"

#include "wire/bth.h"
#include "wire/crc32.h"

namespace lw::roce {
namespace {

/// UDP's length must end where IP's does, or there is no telling where the ICRC stands.
bool udp_agrees(const Envelope& envelope) noexcept {
  return envelope.transport_offset + envelope.udp->length.get() == envelope.network_end;
}

/// RoCEv1 has no second length to hold the GRH's against, but its frames never need padding: what
/// follows the ICRC can only be an FCS that some captures keep.
bool grh_ends_the_frame(const Envelope& envelope) noexcept {
  constexpr std::size_t kFcsSize = 4;
  const std::size_t trailing = envelope.bytes.size() - envelope.network_end;
  if (trailing == 0) return true;
  if (trailing != kFcsSize) return false;
  const std::uint32_t fcs = wire::crc32(0, envelope.bytes.first(envelope.network_end));
  return fcs == wire::load_icrc(envelope.bytes.last(kFcsSize));
}

}  // namespace

std::optional<std::size_t> icrc_offset(const Envelope& envelope) noexcept {
  if (!envelope.is_roce() || envelope.fragment) return std::nullopt;
  if (envelope.network_end > envelope.bytes.size()) return std::nullopt;
  if (envelope.udp && !udp_agrees(envelope)) return std::nullopt;
  if (envelope.bth_offset() + sizeof(wire::Bth) + wire::kIcrcSize > envelope.network_end) {
    return std::nullopt;
  }
  return envelope.network_end - wire::kIcrcSize;
}

std::optional<IcrcPlace> expected_icrc(const Envelope& envelope) noexcept {
  const auto place = icrc_offset(envelope);
  if (!place) return std::nullopt;
  const Bytes packet =
      envelope.bytes.subspan(envelope.network_offset, *place - envelope.network_offset);
  return IcrcPlace{*place, wire::icrc(envelope.encapsulation(), packet,
                                      envelope.bth_offset() - envelope.network_offset)};
}

IcrcVerdict check_icrc(const Envelope& envelope) noexcept {
  if (!envelope.is_roce()) return IcrcVerdict::not_roce;
  const auto place = expected_icrc(envelope);
  if (!place) return IcrcVerdict::unverifiable;
  const Bytes found = envelope.bytes.subspan(place->offset, wire::kIcrcSize);
  if (wire::load_icrc(found) == place->expected) return IcrcVerdict::ok;
  if (envelope.grh && !grh_ends_the_frame(envelope)) return IcrcVerdict::unverifiable;
  return IcrcVerdict::bad;
}

}  // namespace lw::roce
