// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/icrc_error.h"

#include <bit>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "wire/bth.h"

namespace lw::analysis {
namespace {

/// A frame whose ICRC is wrong by `syndrome`.
struct Damage {
  const roce::Envelope& envelope;
  roce::IcrcPlace place;
  std::uint32_t syndrome;

  /// Covered bytes behind offset `at` of the frame.
  [[nodiscard]] std::size_t behind(std::size_t at) const { return place.offset - at - 1; }
  /// Whether the frame's ICRC is right once the byte at `at` is changed: not where the ICRC counts
  /// that byte as ones.
  [[nodiscard]] bool is_mended_by(std::size_t at, std::uint8_t change) const {
    std::vector<std::byte> bytes(envelope.bytes.begin(), envelope.bytes.end());
    bytes[at] ^= std::byte{change};
    const roce::Envelope other = envelope;
    const roce::Bytes packet =
        roce::Bytes{bytes}.subspan(other.network_offset, place.offset - other.network_offset);
    return wire::icrc(other.encapsulation(), packet, other.bth_offset() - other.network_offset) ==
           wire::load_icrc(envelope.bytes.subspan(place.offset, wire::kIcrcSize));
  }
};

std::string part_of(const roce::Envelope& envelope, std::size_t at) {
  const std::size_t bth = envelope.bth_offset();
  if (envelope.udp != nullptr && at >= bth - 8 && at < bth) return "UDP header";
  if (at < bth) return "network header";
  if (at < bth + sizeof(wire::Bth)) return "BTH";
  return fmt::format("{} bytes behind the BTH", at - bth - sizeof(wire::Bth));
}

std::string flipped(const Damage& damage, std::size_t at, int bit) {
  return fmt::format("bit {} of byte {} was flipped ({})", bit, at, part_of(damage.envelope, at));
}

std::optional<std::string> flipped_bit(const Damage& damage) {
  for (std::size_t at = damage.envelope.network_offset; at < damage.place.offset; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      const auto change = static_cast<std::uint8_t>(1 << bit);
      if (wire::icrc_change(change, damage.behind(at)) != damage.syndrome) continue;
      if (damage.is_mended_by(at, change)) return flipped(damage, at, bit);
    }
  }
  return std::nullopt;
}

/// The value that the 16-bit field at offset `at` had.
std::optional<std::uint16_t> rewritten(const Damage& damage, std::size_t at) {
  const wire::IcrcFieldPatch patch(2, damage.behind(at + 1));
  for (std::uint32_t change = 1; change <= 0xffff; ++change) {
    if (patch(change) != damage.syndrome) continue;
    const auto high = std::to_integer<std::uint32_t>(damage.envelope.bytes[at]);
    const auto low = std::to_integer<std::uint32_t>(damage.envelope.bytes[at + 1]);
    return static_cast<std::uint16_t>((high << 8 | low) ^ change);
  }
  return std::nullopt;
}

std::optional<std::string> rewritten_field(const Damage& damage) {
  const roce::Envelope& envelope = damage.envelope;
  struct Field {
    std::string_view name;
    std::size_t at;
  };
  std::vector<Field> fields = {{"P_Key", envelope.bth_offset() + 2}};
  if (envelope.udp != nullptr) fields.push_back({"UDP source port", envelope.transport_offset});
  if (envelope.ipv4 != nullptr)
    fields.push_back({"IP identification", envelope.network_offset + 4});
  for (const auto& [name, at] : fields) {
    if (const auto value = rewritten(damage, at))
      return fmt::format("the {} was {} when the ICRC was computed", name, *value);
  }
  return std::nullopt;
}

}  // namespace

std::string explain_bad_icrc(const roce::Envelope& envelope) {
  const auto place = roce::expected_icrc(envelope);
  if (!place) return "its position is unknown";
  const std::uint32_t found =
      wire::load_icrc(envelope.bytes.subspan(place->offset, wire::kIcrcSize));
  const Damage damage{envelope, *place, found ^ place->expected};
  if (found == 0 || found == 0xffffffff)
    return fmt::format("it is {:#010x}: no ICRC was written", found);
  if (std::popcount(damage.syndrome) == 1)
    return fmt::format("bit {} of the ICRC was flipped", std::countr_zero(damage.syndrome));
  if (auto bit = flipped_bit(damage)) return *bit;
  if (auto field = rewritten_field(damage)) return *field;
  return "no single bit or field explains it";
}

}  // namespace lw::analysis
