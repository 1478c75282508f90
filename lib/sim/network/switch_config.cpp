// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/switch_config.h"

#include <string>

#include <fmt/format.h>

#include "core/limits.h"
#include "core/names.h"
#include "core/setting.h"

namespace lw::sim {
namespace {

using Alpha = std::optional<double>;

constexpr double kNoThreshold = std::numeric_limits<double>::infinity();
constexpr double kLongestResponseNs = 100e6;
constexpr double kLargestSwitchBuffer = std::uint64_t{1} << 40;

/// A dynamic threshold: "auto", "none", or times the free part of the buffer.
std::string alpha_text(const Alpha& alpha) {
  if (!alpha) return "auto";
  return *alpha == kNoThreshold ? "none" : fmt::format("{}", *alpha);
}

Parsed<Alpha> read_alpha(std::string_view text) {
  constexpr double kSmallest = 1e-3, kLargest = 1024;
  if (text == "auto") return Alpha();
  if (text == "none") return Alpha(kNoThreshold);
  if (const auto number = read_decimal(text, kSmallest, kLargest)) return Alpha(*number);
  return std::unexpected(
      fmt::format("expected a number from {} to {}, \"none\" or \"auto\", found \"{}\"", kSmallest,
                  kLargest, excerpt(text)));
}

constexpr std::pair<std::string_view, bool> kQueues[] = {{"per-output", false},
                                                         {"per-input", true}};
}  // namespace

const FigureTable& SwitchConfig::figures() {
  using Row = FigureOf<SwitchConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&SwitchConfig::name>("name", "Name of the switch."),
      Row::of<&SwitchConfig::buffer_bytes>("buffer", "Buffer of all its queues together.",
                                           Unit::bytes)
          .from(0, kLargestSwitchBuffer),
      Row::text<&SwitchConfig::alpha, alpha_text, read_alpha>(
          "alpha",
          "Dynamic threshold: largest share of the buffer, as a multiple of its free part, of a "
          "queue, or with PFC of the packets that came in at one port, 0.001 to 1024; none: no "
          "threshold; auto: 1 with PFC, so that no input fills the buffer, otherwise none.")
          .set_to(),
      Row::of<&SwitchConfig::marking>("mark", "Marks by the bytes of a queue."),
      Row::of<&SwitchConfig::pause>(
          "pfc",
          "Priority flow control of data: a neighbour pauses while packets from it are above "
          "the threshold.")
          .set_to(),
      Row::of<&SwitchConfig::response>(
          "response",
          "With PFC: time from a pause's arrival at a neighbour until it acts; without it, as IEEE "
          "802.3 allows for the rate.",
          Unit::ns)
          .from(0, kLongestResponseNs),
      Row::of<&SwitchConfig::headroom_bytes>(
          "headroom", "With PFC: headroom of each port; without it, what is needed.", Unit::bytes)
          .from(0, kLargestSwitchBuffer),
      Row::word<&SwitchConfig::queue_per_input, kQueues>(
          "queues", "One queue for each output, or for each input and output, served in turn."),
      Row::of<&SwitchConfig::latency>(
          "latency", "Time from a packet's last bit to its place in the queue.", Unit::ns)
          .from(0, kLongestTimeNs),
      Row::of<&SwitchConfig::classes>(
          "classes", "A queue for each class of hosts, by its number, at each output.")
          .from(0, kMostInputs)
          .if_any()};
  static constexpr FigureTable kTable{"A switch.", kRows};
  return kTable;
}

const FigureTable& CableConfig::figures() {
  using Row = FigureOf<CableConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&CableConfig::rate_bps>("rate", "Rate of each direction.", Unit::bits_per_second)
          .from(kLowestRate, kHighestRate),
      Row::of<&CableConfig::delay>("delay", "Delay of each direction, in place of a distance.",
                                   Unit::ns)
          .from(0, kLongestCableNs)};
  static constexpr FigureTable kTable{"A cable.", kRows};
  return kTable;
}

}  // namespace lw::sim
