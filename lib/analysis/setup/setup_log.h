// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analysis/packet.h"
#include "analysis/setup/connection_setup.h"

namespace lw::analysis {

/// ICMP messages of one sender, type and code about one flow.
struct IcmpRefusals {
  IcmpNote first;  // the first one
  std::uint32_t point = 0;
  std::uint64_t count = 0, first_frame = 0, last_frame = 0;
  Instant since = {}, until = {};
  std::uint32_t session = 0;  // of the quoted flow; 0: none
};

/// Requests for the link address of a host, and whether it answered.
struct AddressRequests {
  HostAddress sender{}, target{};  // `sender`: of the first
  std::uint32_t point = 0;
  bool v6 = false;
  std::uint64_t count = 0, first_frame = 0, last_frame = 0;  // of requests since the last answer
  Instant since = {}, until = {};
  std::uint64_t answers = 0;
};

/// Collects what a capture shows beside the connections' own packets: connection managers' messages
/// (set-ups), ICMP messages about RoCE packets, and requests for link addresses. Frames may come in
/// any order of points. Memory is bounded: what is beyond is counted.
class SetupLog {
 public:
  static constexpr std::size_t kMostSetups = 20'000, kMostRefusals = 1'000, kMostTargets = 4'096;
  /// Communication IDs, and flows to QPs: a set-up has two of each unless IDs are used again.
  static constexpr std::size_t kMostNames = 4 * kMostSetups;

  void add(const SetupNote& note);

  /// The set-up of the connection that a flow belongs to, whose first packet is in frame `begin`:
  /// the last one that was answered before, else the first of which only the end was captured.
  /// Null: none.
  [[nodiscard]] const ConnectionSetup* find(const QpFlowKey& flow, std::uint64_t begin) const;

  [[nodiscard]] const std::deque<ConnectionSetup>& setups() const noexcept { return setups_; }
  [[nodiscard]] std::deque<ConnectionSetup>& setups() noexcept { return setups_; }
  [[nodiscard]] const std::vector<IcmpRefusals>& refusals() const noexcept { return refusals_; }
  [[nodiscard]] std::vector<IcmpRefusals>& refusals() noexcept { return refusals_; }
  /// The latest stamp of all; the earliest time: none.
  [[nodiscard]] Instant last() const noexcept { return last_; }
  /// By target.
  [[nodiscard]] std::vector<AddressRequests> addresses() const;
  /// Messages and hosts beyond the limits.
  [[nodiscard]] std::uint64_t beyond() const noexcept { return beyond_; }

 private:
  /// One side of a set-up: who sends to whom with which communication ID.
  struct EndKey {
    HostAddress source{}, destination{};
    std::uint32_t point = 0, id = 0;
    bool of_service = false;
    friend bool operator==(const EndKey&, const EndKey&) = default;
  };
  struct EndKeyHash {
    std::size_t operator()(const EndKey& key) const noexcept;
  };
  struct End {
    std::uint32_t setup = 0;
    std::uint8_t side = 0;
  };
  using Refused = std::tuple<std::uint32_t, HostAddress, std::uint8_t, std::uint8_t, HostAddress,
                             HostAddress, std::optional<std::uint32_t>>;

  void add_cm(const SetupNote& note, const CmNote& cm);
  void add_icmp(const SetupNote& note, const IcmpNote& icmp);
  void add_neighbour(const SetupNote& note, const NeighbourNote& neighbour);
  std::optional<End> end_of(const SetupNote& note, const CmNote& cm);
  std::optional<End> begin(const SetupNote& note, const CmNote& cm);
  void note_id(const EndKey& key, End end);
  void note_qps(std::uint32_t setup);
  void note_flow(const QpFlowKey& flow, std::uint32_t setup);
  [[nodiscard]] bool continues(const ConnectionSetup& setup, const CmNote& request) const noexcept;

  std::deque<ConnectionSetup> setups_;
  std::unordered_map<EndKey, End, EndKeyHash> ends_;
  std::unordered_map<QpFlowKey, std::vector<std::uint32_t>, QpFlowKeyHash> by_flow_;
  std::vector<IcmpRefusals> refusals_;
  std::map<Refused, std::size_t> refusal_places_;
  std::map<std::pair<std::uint32_t, HostAddress>, AddressRequests> addresses_;
  Instant last_ = Instant::min();
  std::uint64_t beyond_ = 0;
};

}  // namespace lw::analysis
