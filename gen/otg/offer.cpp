// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/offer.h"

#include "core/limits.h"
#include "gen/limits.h"
#include "gen/otg/limits.h"
#include "wire/psn.h"

namespace lw::gen::otg {
namespace {

using Row = FigureOf<QpOffer>;

constexpr Figure kRows[] = {
    Row::of<&QpOffer::order>("order",
                             "Number of the connection among those between the two addresses.")
        .from(0, kMostQps - 1),
    Row::of<&QpOffer::ib_mtu>("ib_mtu", "Payload of a packet.", Unit::bytes)
        .from(kLeastPacketPayload, kMostPacketPayload),
    Row::of<&QpOffer::va>("va", "Begin of the sender's region."),
    Row::of<&QpOffer::r_key>("r_key", "Its key."),
    Row::of<&QpOffer::first_psn>("first_psn", "PSN of the sender's first packet.")
        .from(0, wire::Psn::kMask),
    Row::of<&QpOffer::read_bps>("read_bps", "Rate at which READs are answered; 0: any.",
                                Unit::bits_per_second)
        .from(0, kHighestRate)};
static_assert(fits(kRows));

}  // namespace

PrivateData to_private_data(const QpOffer& offer) noexcept {
  return pack(PrivateKind::otg_qp, kRows, &offer);
}

std::optional<QpOffer> read_offer(wire::Bytes bytes) {
  QpOffer offer;
  if (!unpack(bytes, PrivateKind::otg_qp, kRows, &offer)) return std::nullopt;
  if (offer.va > UINT64_MAX - kMostMessage) return std::nullopt;
  return offer;
}

}  // namespace lw::gen::otg
