// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/stages/corrupt.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "emulator/rule_config.h"
#include "emulator/stages/keys.h"
#include "emulator/stats/audit.h"
#include "roce/envelope.h"
#include "wire/icrc.h"

namespace lw::emulator {
namespace {

constexpr std::string_view kParts[] = {"packet", "frame"};  // as CorruptConfig::Part
constexpr std::string_view kIcrcs[] = {"wrong", "recomputed"};

void flip(wire::MutableBytes part, std::uint64_t bit) noexcept {
  // Bit 0 is the most significant bit of the first byte, as on the wire.
  part[bit / 8] ^= std::byte{0x80} >> static_cast<int>(bit % 8);
}

// The byte with FECN, BECN and reserved bits, which the ICRC doesn't cover.
constexpr std::ptrdiff_t kUncoveredByte = 4;

/// The part of a frame in which bits may be flipped.
struct Region {
  std::size_t begin = 0, size = 0;
  bool is_packet = false;  // from the BTH to before the ICRC
};

Region region_of(const roce::Envelope& envelope, CorruptConfig::Part part) noexcept {
  const std::size_t all = envelope.bytes.size();
  if (part == CorruptConfig::Part::frame) return {0, all};
  if (const auto icrc = roce::icrc_offset(envelope)) {
    const std::size_t begin = envelope.bth_offset();
    return {begin, *icrc - begin, true};
  }
  const std::size_t begin = std::min(envelope.network_offset, all);
  return {begin, all - begin};
}

}  // namespace

bool Corrupter::has_offset(const roce::Envelope& envelope) const noexcept {
  return *config_.offset < region_of(envelope, config_.part).size;
}

void Corrupter::apply(wire::MutableBytes frame, const roce::Envelope& envelope,
                      std::uint64_t number) const noexcept {
  if (frame.size() < envelope.bytes.size()) return;  // the bytes are not writable
  const Region region = region_of(envelope, config_.part);
  const wire::MutableBytes part = frame.subspan(region.begin, region.size);
  if (config_.offset && *config_.offset < region.size) {
    flip_in_a_row(part);
  } else if (region.is_packet) {
    // The ICRC can't detect a flip in that byte: leave it out of the part.
    const auto begin = part.begin();
    std::rotate(begin, begin + kUncoveredByte, begin + kUncoveredByte + 1);
    flip_at_random(part.subspan(1), number);
    std::rotate(begin, begin + 1, begin + kUncoveredByte + 1);
  } else {
    flip_at_random(part, number);
  }
  if (!config_.recompute_icrc) return;
  if (const auto icrc = roce::expected_icrc(envelope))
    wire::store_icrc(frame.subspan(icrc->offset, wire::kIcrcSize), icrc->expected);
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
  return rule.corrupt && rule.corrupt->offset;
}

Corrupter Corrupt::corrupter_of(const RuleConfig& rule, const StageSetup& setup) noexcept {
  return {rule.corrupt.value_or(CorruptConfig{}), setup.chance(rule.name, kName)};
}

Corrupt::Corrupt(const RuleConfig& rule, const StageSetup& setup) noexcept
    : corrupter_(corrupter_of(rule, setup)) {}

void Corrupt::read(const StageKeys& rule, Settings& settings) {
  settings.corrupt = read_hit_share<CorruptConfig>(
      rule, kName, [](const StageKeys& table, CorruptConfig& corrupt) {
        corrupt.bits = table.integer<std::uint32_t>("bits", 1, Corrupter::kMostBits).value_or(1);
        if (const auto part = table.choice("part", kParts))
          corrupt.part = static_cast<CorruptConfig::Part>(*part);
        corrupt.offset = table.integer<std::uint32_t>("offset", 0, 65535);
        corrupt.recompute_icrc = table.choice("icrc", kIcrcs).value_or(0) == 1;
      });
}

void Corrupt::describe(const RuleConfig& rule, StageTexts& texts) {
  const CorruptConfig& corrupt = *rule.corrupt;
  std::string text = fmt::format(
      "{} of the frames, {} bit{} of the {}", percent(corrupt.probability), corrupt.bits,
      corrupt.bits == 1 ? "" : "s", kParts[static_cast<std::size_t>(corrupt.part)]);
  if (corrupt.offset) text += fmt::format(" from byte {} on", *corrupt.offset);
  texts.emplace_back(kName,
                     text + (corrupt.recompute_icrc ? ", ICRC recomputed" : ", ICRC left wrong"));
}

void Corrupt::audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks) {
  if (stats.corruptible > 0)
    checks.push_back(binomial(kNumber, "corrupted", stats.corruptible, stats.by(kNumber),
                              rule.corrupt->probability));
}

}  // namespace lw::emulator
