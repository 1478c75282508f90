// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/corrupt.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include <fmt/format.h>

#include "core/setting.h"
#include "emulator/match/tunnel_rules.h"
#include "emulator/rule_config.h"
#include "emulator/stage_keys.h"
#include "emulator/stats/audit.h"
#include "roce/envelope.h"
#include "wire/icrc.h"

namespace lw::emulator {
namespace {

constexpr std::pair<std::string_view, CorruptConfig::Part> kParts[] = {
    {"packet", CorruptConfig::Part::packet},
    {"frame", CorruptConfig::Part::frame},
    {"ip-checksum", CorruptConfig::Part::ip_checksum},
    {"udp-length", CorruptConfig::Part::udp_length},
    {"udp-checksum", CorruptConfig::Part::udp_checksum}};
constexpr std::pair<std::string_view, bool> kIcrcs[] = {{"wrong", false}, {"recomputed", true}};

void flip(wire::MutableBytes part, std::uint64_t bit) noexcept {
  // Bit 0 is the most significant bit of the first byte, as on the wire.
  part[bit / 8] ^= std::byte{0x80} >> static_cast<int>(bit % 8);
}

// The byte with FECN, BECN and reserved bits, which the ICRC doesn't cover.
constexpr std::size_t kUncoveredByte = 4;

/// The part of a frame in which bits may be flipped.
struct Region {
  std::size_t begin = 0, size = 0;
  bool is_packet = false;  // from the BTH to before the ICRC
};

/// A header's field of two bytes; empty where the frame lacks the header.
template <class Header>
Region field_of(const roce::Envelope& envelope, const Header* header, std::size_t offset) noexcept {
  if (!header) return {};
  const auto* begin = reinterpret_cast<const std::byte*>(header);
  return {static_cast<std::size_t>(begin - envelope.bytes.data()) + offset, 2};
}

Region region_of(const roce::Envelope& envelope, CorruptConfig::Part part) noexcept {
  using enum CorruptConfig::Part;
  if (part == ip_checksum) return field_of(envelope, envelope.ipv4, offsetof(wire::Ipv4, checksum));
  if (part == udp_length) return field_of(envelope, envelope.udp, offsetof(wire::Udp, length));
  if (part == udp_checksum) return field_of(envelope, envelope.udp, offsetof(wire::Udp, checksum));
  const std::size_t all = envelope.bytes.size();
  if (part == CorruptConfig::Part::frame) return {0, all};
  if (const auto icrc = roce::icrc_offset(envelope)) {
    const std::size_t begin = envelope.bth_offset();
    return {begin, *icrc - begin, true};
  }
  const std::size_t begin = std::min(envelope.network_offset, all);
  return {begin, all - begin};
}

/// Makes the checksum of a frame's UDP datagram right again after its bytes have changed, but for
/// the bits of the checksum that were flipped themselves. A datagram without one stays without.
class UdpChecksum {
 public:
  UdpChecksum(wire::MutableBytes frame, const roce::Envelope& envelope) noexcept
      : frame_(frame),
        envelope_(envelope),
        field_(region_of(envelope, CorruptConfig::Part::udp_checksum)),
        words_(udp_words(frame, envelope)),
        before_(value()) {}

  void refit() const noexcept {
    if (before_ == 0) return;
    const std::uint16_t flipped = value() ^ before_;
    set(before_);
    refit_udp_checksum(frame_, envelope_, words_);
    set(value() ^ flipped);
  }

 private:
  [[nodiscard]] wire::Be16* field() const noexcept {
    if (field_.size == 0 || field_.begin + field_.size > frame_.size()) return nullptr;
    return wire::view_at<wire::Be16>(frame_, field_.begin);
  }
  [[nodiscard]] std::uint16_t value() const noexcept { return field() ? field()->get() : 0; }
  void set(int value) const noexcept { field()->set(static_cast<std::uint16_t>(value)); }

  wire::MutableBytes frame_;
  const roce::Envelope& envelope_;
  Region field_;
  std::uint16_t words_, before_;
};

}  // namespace

bool Corrupter::has_offset(const roce::Envelope& envelope) const noexcept {
  const Region region = region_of(envelope, config_.part);
  if (*config_.offset >= region.size) return false;
  const auto icrc = config_.recompute_icrc ? roce::icrc_offset(envelope) : std::nullopt;
  const std::size_t begin = region.begin + *config_.offset, end = begin + (config_.bits + 7) / 8;
  return !icrc || begin < *icrc || end > *icrc + wire::kIcrcSize;
}

bool Corrupter::has_field(const roce::Envelope& envelope) const noexcept {
  return region_of(envelope, config_.part).size > 0;
}

void Corrupter::apply(wire::MutableBytes frame, const roce::Envelope& envelope,
                      std::uint64_t number) const noexcept {
  if (frame.size() < envelope.bytes.size()) return;  // the bytes are not writable
  Region region = region_of(envelope, config_.part);
  // An event may corrupt a frame without the field.
  if (region.size == 0) region = region_of(envelope, CorruptConfig::Part::packet);
  std::optional<UdpChecksum> checksum;
  if (config_.recompute_icrc) checksum.emplace(frame, envelope);
  const wire::MutableBytes part = frame.subspan(region.begin, region.size);
  const std::size_t icrc = config_.recompute_icrc ? roce::icrc_offset(envelope).value_or(0) : 0;
  if (config_.offset && has_offset(envelope)) {
    flip_in_a_row(part);
  } else if (region.is_packet) {
    // The ICRC can't detect a flip in that byte.
    flip_besides(part, kUncoveredByte, 1, number);
  } else if (icrc > region.begin) {
    // A flip of the ICRC itself would be undone.
    flip_besides(part, icrc - region.begin, wire::kIcrcSize, number);
  } else {
    flip_at_random(part, number);
  }
  if (!config_.recompute_icrc) return;
  if (const auto right = roce::expected_icrc(envelope))
    wire::store_icrc(frame.subspan(right->offset, wire::kIcrcSize), right->expected);
  checksum->refit();
}

/// Flips bits at random, but none of the `count` bytes at `first`.
void Corrupter::flip_besides(wire::MutableBytes part, std::size_t first, std::size_t count,
                             std::uint64_t number) const noexcept {
  const auto all = part.first(first + count);
  std::ranges::rotate(all, all.end() - static_cast<std::ptrdiff_t>(count));
  flip_at_random(part.subspan(count), number);
  std::ranges::rotate(all, all.begin() + static_cast<std::ptrdiff_t>(count));
}

void Corrupter::flip_in_a_row(wire::MutableBytes part) const noexcept {
  const std::uint64_t first = std::uint64_t{*config_.offset} * 8;
  const std::uint64_t end = std::min<std::uint64_t>(part.size() * 8, first + config_.bits);
  for (std::uint64_t bit = first; bit < end; ++bit) flip(part, bit);
}

/// Draws different bits with Floyd's algorithm: if a draw was drawn before, the newest possible one
/// takes its place.
void Corrupter::flip_at_random(wire::MutableBytes part, std::uint64_t number) const noexcept {
  const std::uint64_t all = part.size() * 8;
  const auto bits = static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.bits, all));
  std::array<std::uint64_t, kMostBits> taken{};
  for (std::uint32_t i = 0; i < bits; ++i) {
    const std::uint64_t newest = all - bits + i;
    auto bit = static_cast<std::uint64_t>(chance_.uniform(number, i + 1) *
                                          static_cast<double>(newest + 1));
    if (std::find(taken.begin(), taken.begin() + i, bit) != taken.begin() + i) bit = newest;
    taken[i] = bit;
    flip(part, bit);
  }
}

bool Corrupt::present(const RuleConfig& rule) noexcept { return rule.corrupt.has_value(); }

bool Corrupt::reads_headers(const RuleConfig& rule) noexcept {
  return rule.corrupt && (rule.corrupt->offset || rule.corrupt->of_header());
}

Corrupter Corrupt::corrupter_of(const RuleConfig& rule, const StageSetup& setup) noexcept {
  return {rule.corrupt.value_or(CorruptConfig{}), setup.chance(rule.name, kName)};
}

Corrupt::Corrupt(const RuleConfig& rule, const StageSetup& setup) noexcept
    : corrupter_(corrupter_of(rule, setup)),
      draw_(rule.corrupt->probability, rule.corrupt->correlation, corrupter_.chance()) {}

void Corrupt::inherit(Corrupt& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept {
  if (rule.corrupt == old_rule.corrupt) draw_ = old.draw_;
}

const FigureTable& CorruptConfig::figures() {
  using Row = FigureOf<CorruptConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&CorruptConfig::probability>("probability", "Share of the frames.", Unit::share)
          .from(0, 1),
      Row::of<&CorruptConfig::bits>("bits", "Bits that are flipped, all different.")
          .from(1, Corrupter::kMostBits),
      Row::word<&CorruptConfig::part, kParts>("part", "Part of the frame whose bits are flipped."),
      Row::of<&CorruptConfig::offset>(
          "offset",
          "Byte of the part from which on consecutive bits are flipped; without it, bits "
          "anywhere.")
          .from(0, 65535),
      Row::word<&CorruptConfig::recompute_icrc, kIcrcs>("icrc", "ICRC of the frame."),
      Row::of<&CorruptConfig::correlation>("correlation", "Correlation of the draws.", Unit::share)
          .from(0, CorrelatedDraw::kMost)};
  static constexpr FigureTable kTable{"Frames with flipped bits.", kRows};
  return kTable;
}

Figure Corrupt::settings() {
  return FigureOf<RuleConfig>::of<&RuleConfig::corrupt>(kName, "Bits of frames are flipped.");
}

void Corrupt::read(const StageKeys& rule, Settings& settings) {
  settings.corrupt = read_hit_share<CorruptConfig>(
      rule, kName, [](const StageKeys& table, CorruptConfig& corrupt) {
        if (table.has("part") && table.text("part") == "fcs")
          table.refuse("part", "expected another part than \"fcs\": each port computes it");
        if (corrupt.recompute_icrc && corrupt.of_header())
          table.refuse("icrc", "expected \"wrong\" beside a part that is a header's field");
        if (corrupt.of_header() && corrupt.bits > 16)
          table.refuse("bits", fmt::format("expected at most 16 bits of {}, found {}",
                                           name_among(kParts, corrupt.part), corrupt.bits));
      });
}

void Corrupt::describe(const RuleConfig& rule, StageTexts& texts) {
  const CorruptConfig& corrupt = *rule.corrupt;
  std::string text =
      fmt::format("{} of the frames{}, {} bit{} of the {}", percent(corrupt.probability),
                  correlation_text(corrupt.correlation), corrupt.bits, corrupt.bits == 1 ? "" : "s",
                  name_among(kParts, corrupt.part));
  if (corrupt.offset) text += fmt::format(" from byte {} on", *corrupt.offset);
  if (!corrupt.of_header())
    text += corrupt.recompute_icrc ? ", ICRC recomputed" : ", ICRC left wrong";
  texts.emplace_back(kName, text);
}

void Corrupt::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (stats.corruptible > 0)
    checks.push_back(correlated(kNumber, "corrupted", stats.corruptible, stats.by(kNumber),
                                rule.corrupt->probability, rule.corrupt->correlation));
}

}  // namespace lw::emulator
