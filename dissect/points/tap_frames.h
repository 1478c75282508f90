// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dissect/points/frame_identity.h"
#include "dissect/points/tap_relation.h"

namespace lw::dissect {

/// Two addresses, the lower first: a connection's hosts, whichever sends.
using AddressPair = std::array<std::array<std::byte, 16>, 2>;

/// That each frame of an address pair comes several times at one point.
struct RepeatedViews {
  AddressPair addresses{};
  std::uint32_t views = 0;   // of each frame: 2 to kMostViews
  Duration apart{};          // the longest time from the first view to the last
  std::string difference{};  // of two views, as words; empty: their bytes are equal
};

struct Repetitions;

/// The frames at the beginning of a capture, and the tap that saw each. A tap is an interface of a
/// file. Holds at most kMostFrames, kMostPairs and kMostFlows; what is beyond is not looked at.
class TapFrames {
 public:
  static constexpr std::size_t kMostFrames = std::size_t{1} << 19, kMostPairs = 4096,
                               kMostFlows = 65'536;
  static constexpr std::uint32_t kMostViews = 4;
  /// Two views of a frame are at most so far apart: no sender sends again sooner by its timer.
  static constexpr Duration kMostApart = std::chrono::microseconds{500};

  struct SeenAtTap {
    Identity identity = 0;
    std::int64_t stamp = 0;  // ns
    std::uint32_t tap = 0, pair = 0, flow = 0, psn = 0;
    std::uint32_t form = 0;  // index into forms_
    bool back = false;       // from the higher address to the lower
    wire::Role role{};
    bool refuses = false;  // a NAK
  };

  /// Adds a frame that a tap saw. `form`: that of its envelope.
  void add(std::uint32_t tap, const roce::Frame& frame, const ViewForm& form, Instant stamp);

  /// The frames, in the order in which they were added.
  [[nodiscard]] const std::vector<SeenAtTap>& seen() const noexcept { return seen_; }
  /// The numbers of the address pairs.
  [[nodiscard]] const std::map<AddressPair, std::uint32_t>& pairs() const noexcept {
    return pairs_;
  }

  /// What the frames say about two taps, each below `taps`, by (lower, higher).
  [[nodiscard]] std::map<std::pair<std::uint32_t, std::uint32_t>, TapPairFacts> pair_facts(
      std::uint32_t taps) const;
  /// The address pairs of which most frames come equally often at a point, in both directions if
  /// both were seen. `point_of`: the point of each tap.
  [[nodiscard]] std::map<std::uint32_t, std::vector<RepeatedViews>> repeated_views(
      const std::vector<std::uint32_t>& point_of) const;

 private:
  /// Adds TapPairFacts::answered, where it decides something.
  void add_answers(std::uint32_t taps,
                   std::map<std::pair<std::uint32_t, std::uint32_t>, TapPairFacts>& facts) const;
  std::uint32_t form_index(const ViewForm& form);
  [[nodiscard]] std::vector<const SeenAtTap*> in_order() const;
  /// By point and address pair: how often the frames of each direction come `within` a time.
  [[nodiscard]] std::map<std::pair<std::uint32_t, std::uint32_t>, std::array<Repetitions, 2>>
  repetitions(const std::vector<const SeenAtTap*>& order,
              const std::vector<std::uint32_t>& point_of, Duration within) const;

  std::vector<SeenAtTap> seen_;
  std::map<AddressPair, std::uint32_t> pairs_;
  std::map<roce::FlowKey, std::uint32_t> flows_;
  std::vector<ViewForm> forms_;
};

}  // namespace lw::dissect
