// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/random/loss_config.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "emulator/random/correlated_draw.h"
#include "emulator/stage.h"

namespace lw::emulator {
namespace {

double share(double probability, std::uint32_t /*bytes*/) noexcept { return probability; }

double share(const CorrelatedLosses& m, std::uint32_t /*bytes*/) noexcept {
  return correlated_share(m.probability, m.correlation);
}

double share(const GilbertElliott& m, std::uint32_t /*bytes*/) noexcept {
  const double bad = m.p + m.r > 0 ? m.p / (m.p + m.r) : 0;
  return bad * m.bad_loss + (1 - bad) * m.good_loss;
}

/// Share of losses in the chain's equilibrium, in which each state's inflow equals its outflow.
double share(const FourState& m, std::uint32_t /*bytes*/) noexcept {
  if (m.p13 + m.p14 <= 0) return 0;  // starts in state 1 and stays there
  if (m.p31 <= 0) {                  // never leaves the burst states
    if (m.p13 <= 0) return m.p14 / (1 + m.p14);
    return m.p32 + m.p23 > 0 ? m.p23 / (m.p32 + m.p23) : 1;
  }
  if (m.p32 > 0 && m.p23 <= 0) return m.p13 > 0 ? 0 : m.p14 / (1 + m.p14);
  const double in3 = m.p13 / m.p31;  // in3, in2 and in4 are relative to state 1
  const double in2 = m.p32 > 0 ? in3 * m.p32 / m.p23 : 0;
  const double in4 = m.p14;
  return (in3 + in4) / (1 + in2 + in3 + in4);
}

/// A renewal process: on average 1/p - 1 frames arrive between bursts, then a burst is lost.
double share(const Bursts& m, std::uint32_t /*bytes*/) noexcept {
  if (m.probability <= 0) return 0;
  const double burst = m.mean_length();
  return burst / (burst + 1 / m.probability - 1);
}

double share(const EveryNth& m, std::uint32_t /*bytes*/) noexcept {
  return 1.0 / static_cast<double>(m.n);
}

double share(const BitPattern& m, std::uint32_t /*bytes*/) noexcept {
  return static_cast<double>(std::ranges::count(m.lost, true)) / static_cast<double>(m.lost.size());
}

double share(const BitErrors& m, std::uint32_t bytes) noexcept {
  return -std::expm1(8.0 * (bytes + kFcsBytes) * std::log1p(-m.rate));
}

double share(const ListedFrames& /*m*/, std::uint32_t /*bytes*/) noexcept { return 0; }

std::string words(double probability) { return fmt::format("{:g} %", probability * 100); }
std::string words(const CorrelatedLosses& m) {
  return fmt::format("{}, correlation {}", words(m.probability), words(m.correlation));
}
std::string words(const GilbertElliott& m) {
  return fmt::format("Gilbert-Elliott p {} r {} 1-h {} 1-k {}", words(m.p), words(m.r),
                     words(m.bad_loss), words(m.good_loss));
}
std::string words(const FourState& m) {
  return fmt::format("4-state p13 {} p31 {} p32 {} p23 {} p14 {}", words(m.p13), words(m.p31),
                     words(m.p32), words(m.p23), words(m.p14));
}
std::string words(const Bursts& m) {
  const std::string_view measured = m.lengths.empty() ? "" : " (measured)";
  return fmt::format("bursts of {}..{}{}, begun with {}", m.shortest, m.longest, measured,
                     words(m.probability));
}
std::string words(const EveryNth& m) { return fmt::format("every {}th", m.n); }
std::string words(const BitPattern& m) { return fmt::format("pattern of {} bits", m.lost.size()); }
std::string words(const BitErrors& m) { return fmt::format("bit error rate {:g}", m.rate); }
std::string words(const ListedFrames& m) {
  return fmt::format("{} listed frames", m.frames.size());
}

}  // namespace

double Bursts::share_of(std::size_t length) const noexcept {
  if (length < shortest || length > longest) return 0;
  if (lengths.empty()) return 1.0 / (longest - shortest + 1);
  const auto equal = std::ranges::equal_range(lengths, length);
  return static_cast<double>(equal.size()) / static_cast<double>(lengths.size());
}

double Bursts::mean_length() const noexcept {
  if (lengths.empty()) return (static_cast<double>(shortest) + longest) / 2;
  return static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0})) /
         static_cast<double>(lengths.size());
}

bool loses(const LossConfig& loss) noexcept {
  if (const auto* listed = std::get_if<ListedFrames>(&loss)) return !listed->frames.empty();
  return expected_loss(loss, 1500) > 0;
}

double expected_loss(const LossConfig& loss, std::uint32_t bytes) noexcept {
  return std::visit([bytes](const auto& model) { return share(model, bytes); }, loss);
}

std::string describe(const LossConfig& loss) {
  if (const auto* share = std::get_if<double>(&loss); share && *share == 1)
    return "100 %, every frame";
  return std::visit([](const auto& model) { return words(model); }, loss);
}

}  // namespace lw::emulator
