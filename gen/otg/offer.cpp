// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/offer.h"

#include <cstring>

#include "gen/limits.h"
#include "gen/otg/limits.h"
#include "wire/big_endian.h"
#include "wire/psn.h"

namespace lw::gen::otg {
namespace {

constexpr std::uint32_t kMagic = 0x4c574f54;  // LWOT
constexpr std::uint32_t kVersion = 1;

struct OfferData {
  wire::Be32 magic{kMagic}, version{kVersion};
  wire::Be32 order, ib_mtu;
  wire::Be64 va;
  wire::Be32 r_key, first_psn;
  wire::Be64 read_bps;
};
static_assert(sizeof(OfferData) <= std::tuple_size_v<PrivateData>);

}  // namespace

PrivateData to_private_data(const QpOffer& offer) noexcept {
  OfferData data;
  data.order.set(offer.order);
  data.ib_mtu.set(offer.ib_mtu);
  data.va.set(offer.va);
  data.r_key.set(offer.r_key);
  data.first_psn.set(offer.first_psn);
  data.read_bps.set(offer.read_bps);
  PrivateData bytes{};
  std::memcpy(bytes.data(), &data, sizeof data);
  return bytes;
}

std::optional<QpOffer> read_offer(wire::Bytes bytes) noexcept {
  const auto* data = wire::view<OfferData>(bytes);
  if (data == nullptr || data->magic.get() != kMagic || data->version.get() != kVersion)
    return std::nullopt;
  const QpOffer offer{.order = data->order.get(),
                      .ib_mtu = data->ib_mtu.get(),
                      .va = data->va.get(),
                      .r_key = data->r_key.get(),
                      .first_psn = data->first_psn.get(),
                      .read_bps = data->read_bps.get()};
  const bool sound = offer.order < kMostQps && offer.ib_mtu >= kLeastPacketPayload &&
                     offer.ib_mtu <= kMostPacketPayload && offer.first_psn <= wire::Psn::kMask &&
                     offer.va <= UINT64_MAX - kMostMessageBytes;
  return sound ? std::optional(offer) : std::nullopt;
}

}  // namespace lw::gen::otg
