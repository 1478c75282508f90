// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/icrc_error.h"

#include <array>
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

  /// Number of covered bytes after offset `at` of the frame.
  [[nodiscard]] std::size_t behind(std::size_t at) const { return place.offset - at - 1; }
  /// Whether the frame's ICRC is right after changing the byte at `at`. It isn't where the ICRC
  /// replaces that byte by ones.
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

/// Converts the ICRC change of a flipped bit to that of the same bit one byte earlier: one more
/// covered byte follows the bit.
class OneByteFurther {
 public:
  OneByteFurther() {
    for (std::size_t value = 0; value < table_.size(); ++value)
      table_[value] = wire::icrc_change(static_cast<std::uint8_t>(value), 0);
  }
  std::uint32_t operator()(std::uint32_t change) const noexcept {
    return change >> 8 ^ table_[change & 0xff];
  }

 private:
  std::array<std::uint32_t, 256> table_{};
};

/// Searches from the last byte to the first, with the ICRC change of each bit of the byte.
std::optional<std::string> flipped_bit(const Damage& damage) {
  static const OneByteFurther one_further;
  std::array<std::uint32_t, 8> changes{};
  for (std::size_t bit = 0; bit < 8; ++bit)
    changes[bit] = wire::icrc_change(static_cast<std::uint8_t>(1 << bit), 0);
  for (std::size_t at = damage.place.offset; at-- > damage.envelope.network_offset;) {
    for (int bit = 0; bit < 8; ++bit) {
      std::uint32_t& change = changes[static_cast<std::size_t>(bit)];
      const bool explains = change == damage.syndrome;
      change = one_further(change);
      if (explains && damage.is_mended_by(at, static_cast<std::uint8_t>(1 << bit)))
        return flipped(damage, at, bit);
    }
  }
  return std::nullopt;
}

/// Returns the original value of the 16-bit field at offset `at`. Finds the bits whose ICRC changes
/// add up to the syndrome, by elimination.
std::optional<std::uint16_t> rewritten(const Damage& damage, std::size_t at) {
  struct Sum {
    std::uint32_t change = 0;  // of the ICRC
    std::uint32_t bits = 0;    // of the field
  };
  std::vector<Sum> sums;  // each with a lowest bit of its own
  const auto reduce = [&sums](Sum sum) {
    for (const Sum& known : sums)
      if ((sum.change & (known.change & -known.change)) != 0)
        sum = {sum.change ^ known.change, sum.bits ^ known.bits};
    return sum;
  };
  for (std::uint32_t bit = 0; bit < 16; ++bit) {
    const auto in_byte = static_cast<std::uint8_t>(1 << bit % 8);
    sums.push_back(
        reduce({wire::icrc_change(in_byte, damage.behind(bit < 8 ? at + 1 : at)), 1U << bit}));
  }
  const Sum rest = reduce({damage.syndrome, 0});
  if (rest.change != 0) return std::nullopt;
  const auto high = std::to_integer<std::uint32_t>(damage.envelope.bytes[at]);
  const auto low = std::to_integer<std::uint32_t>(damage.envelope.bytes[at + 1]);
  return static_cast<std::uint16_t>((high << 8 | low) ^ rest.bits);
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
