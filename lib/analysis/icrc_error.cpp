// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/icrc_error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "analysis/icrc_mistake.h"
#include "wire/bth.h"

namespace lw::analysis {
namespace {

using roce::Bytes;

constexpr std::string_view kUnexplained = "no single bit or field explains it";

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

/// Returns what to XOR to the `width` bytes at offset `at` so that the frame's ICRC is right. Finds
/// the bits whose ICRC changes add up to the syndrome, by elimination. Four bytes: there is always
/// one.
std::optional<std::uint32_t> change_of(const Damage& damage, std::uint32_t syndrome, std::size_t at,
                                       std::size_t width) {
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
  for (std::uint32_t bit = 0; bit < 8 * width; ++bit) {
    const auto in_byte = static_cast<std::uint8_t>(1 << bit % 8);
    const std::size_t byte = at + width - 1 - bit / 8;
    sums.push_back(reduce({wire::icrc_change(in_byte, damage.behind(byte)), 1U << bit}));
  }
  const Sum rest = reduce({syndrome, 0});
  if (rest.change != 0) return std::nullopt;
  return rest.bits;
}

/// The original value of a 16-bit field.
std::optional<std::uint32_t> rewritten(const Damage& damage, std::uint32_t syndrome,
                                       std::size_t at) {
  const auto change = change_of(damage, syndrome, at, 2);
  if (!change) return std::nullopt;
  return wire::view_at<wire::Be16>(damage.envelope.bytes, at)->get() ^ *change;
}

std::string when_computed(std::string_view name, const auto& value) {
  return fmt::format("the {} was {} when the ICRC was computed", name, value);
}

std::optional<std::string> rewritten_field(const Damage& damage) {
  const roce::Envelope& envelope = damage.envelope;
  struct Field {
    std::string_view name;
    std::size_t at;
  };
  std::vector<Field> fields = {{"P_Key", envelope.bth_offset() + 2}};
  if (envelope.udp != nullptr) {
    fields.push_back({"UDP source port", envelope.transport_offset});
    fields.push_back({"UDP destination port", envelope.transport_offset + 2});
  }
  if (envelope.ipv4 != nullptr)
    fields.push_back({"IP identification", envelope.network_offset + 4});
  for (const auto& [name, at] : fields)
    if (const auto value = rewritten(damage, damage.syndrome, at))
      return when_computed(name, *value);
  return std::nullopt;
}

// Addresses that were translated.

/// An address of the frame: its place, and its bytes.
struct AddressField {
  std::string_view name;
  std::size_t at, size;
};

std::array<AddressField, 2> address_fields(const roce::Envelope& envelope) {
  const std::size_t at = envelope.network_offset;
  if (envelope.ipv4 != nullptr)
    return {{{"source address", at + 12, 4}, {"destination address", at + 16, 4}}};
  return {{{"source address", at + 8, 16}, {"destination address", at + 24, 16}}};
}

bool is_private(std::uint32_t address) noexcept {
  return address >> 24 == 10 || address >> 20 == 0xac1 || address >> 16 == 0xc0a8 ||
         address >> 22 == 0x191 || address >> 16 == 0xa9fe;
}

wire::Ipv4Address ipv4_of(std::uint32_t address) noexcept {
  wire::Ipv4Address ip;
  for (std::size_t i = 0; i < 4; ++i) ip.bytes[i] = static_cast<std::byte>(address >> (24 - 8 * i));
  return ip;
}

/// Whether an address is likely to be the old one of a packet.
bool is_plausible(const roce::Envelope& envelope, std::uint32_t address, KnownAddresses known) {
  const auto near = [address](const wire::Ipv4Address& own) {
    return (wire::view<wire::Be32>(Bytes{own.bytes})->get() ^ address) >> 16 == 0;
  };
  const wire::Ipv6Address gid = wire::gid_of(ipv4_of(address));
  return is_private(address) || near(envelope.ipv4->source) || near(envelope.ipv4->destination) ||
         std::ranges::find(known, gid.bytes) != known.end();
}

/// "10.0.0.7", the old value of an IPv4 address that makes the ICRC right.
std::string old_address(const Damage& damage, const AddressField& field, KnownAddresses known) {
  const auto change = change_of(damage, damage.syndrome, field.at, 4);
  if (!change) return {};
  const std::uint32_t now = wire::view_at<wire::Be32>(damage.envelope.bytes, field.at)->get();
  if (!is_plausible(damage.envelope, now ^ *change, known)) return {};
  return wire::to_string(ipv4_of(now ^ *change));
}

/// What an address of the capture in place of one of the frame changes in its ICRC.
std::uint32_t change_by(const Damage& damage, const AddressField& field,
                        const std::array<std::byte, 16>& known) {
  std::uint32_t change = 0;
  for (std::size_t i = 0; i < field.size; ++i) {
    const auto bits = damage.envelope.bytes[field.at + i] ^ known[16 - field.size + i];
    if (bits != std::byte{0})
      change ^= wire::icrc_change(std::to_integer<std::uint8_t>(bits), damage.behind(field.at + i));
  }
  return change;
}

/// An address of the capture, perhaps with another UDP source port, in place of one of the frame.
std::optional<std::string> known_address(const Damage& damage, KnownAddresses known) {
  for (const AddressField& field : address_fields(damage.envelope))
    for (const auto& address : known) {
      const wire::IpAddress ip = wire::ip_of(wire::Ipv6Address{address});
      if (std::holds_alternative<wire::Ipv4Address>(ip) != (field.size == 4)) continue;
      const std::uint32_t rest = damage.syndrome ^ change_by(damage, field, address);
      if (rest == damage.syndrome) continue;
      if (rest == 0) return when_computed(field.name, wire::to_string(ip));
      if (damage.envelope.udp == nullptr) continue;
      if (const auto port = rewritten(damage, rest, damage.envelope.transport_offset))
        return when_computed(field.name, wire::to_string(ip)) +
               fmt::format(", and the UDP source port {}", *port);
    }
  return std::nullopt;
}

std::optional<std::string> translated_address(const Damage& damage, KnownAddresses known) {
  if (auto text = known_address(damage, known)) return text;
  if (damage.envelope.ipv4 == nullptr) return std::nullopt;
  std::string text;
  for (const AddressField& field : address_fields(damage.envelope)) {
    const std::string old = old_address(damage, field, known);
    if (old.empty()) continue;
    text += fmt::format("{}the {} was {}", text.empty() ? "" : ", or ", field.name, old);
  }
  if (text.empty()) return std::nullopt;
  return text + " when the ICRC was computed";
}

}  // namespace

IcrcError explain_bad_icrc(const roce::Envelope& envelope, KnownAddresses known) {
  using Kind = IcrcError::Kind;
  const auto place = roce::expected_icrc(envelope);
  if (!place) return {Kind::unexplained, "its position is unknown"};
  const std::uint32_t found =
      wire::load_icrc(envelope.bytes.subspan(place->offset, wire::kIcrcSize));
  const Damage damage{envelope, *place, found ^ place->expected};
  if (found == 0 || found == 0xffffffff)
    return {Kind::unwritten, fmt::format("it is {:#010x}: no ICRC was written", found)};
  if (const auto text = icrc_mistake(envelope, *place, found); !text.empty())
    return {Kind::mistake, std::string(text)};
  if (std::popcount(damage.syndrome) == 1)
    return {Kind::damage,
            fmt::format("bit {} of the ICRC was flipped", std::countr_zero(damage.syndrome))};
  if (auto bit = flipped_bit(damage)) return {Kind::damage, *bit};
  if (auto field = rewritten_field(damage)) return {Kind::rewritten, *field};
  if (auto address = translated_address(damage, known)) return {Kind::translated, *address};
  return {Kind::unexplained, std::string(kUnexplained)};
}

}  // namespace lw::analysis
