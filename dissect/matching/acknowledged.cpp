// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/acknowledged.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "wire/psn.h"

namespace lw::dissect {
namespace {

/// How far `to` is behind `from`; < 0: before it.
std::int32_t distance(std::uint32_t from, std::uint32_t to) noexcept {
  return wire::Psn::distance(wire::Psn{from}, wire::Psn{to});
}

/// The PSNs of a flow's requests, or answers.
struct PsnRange {
  bool any = false;
  std::uint32_t low = 0, high = 0;

  void add(std::uint32_t psn) noexcept {
    if (!std::exchange(any, true)) low = high = psn;
    if (distance(psn, low) > 0) low = psn;
    if (distance(high, psn) > 0) high = psn;
  }
  [[nodiscard]] bool overlaps(const PsnRange& other) const noexcept {
    return any && other.any && distance(low, other.high) >= 0 && distance(other.low, high) >= 0;
  }
};

class Acknowledgements {
 public:
  Acknowledgements(Records sent, std::span<const std::uint32_t> orders,
                   std::span<const FlowWay> flows)
      : sent_(sent), flows_(flows), of_flows_(flows.size()) {
    for (const std::uint32_t order : orders) {
      const CaptureRecord record = sent_[order];
      lacking_[key_of(record)] = {order};
      of_flows_[record.flow].lacks = true;
    }
    for (const CaptureRecord& record : sent_.all()) {
      if (is_answer(record)) of_flows_[record.flow].answers.add(record.psn);
      if (is_rc_request(record)) of_flows_[record.flow].requests.add(record.psn);
    }
    add_answering();
  }

  Acknowledged run() {
    for (std::size_t order = sent_.size(); order-- > 0;) enter(sent_[order]);
    Acknowledged found;
    for (const auto& [key, one] : lacking_) {
      if (one.acknowledged && one.sent == 1) found.orders.push_back(one.order);
      found.repeats = found.repeats || one.sent > 1;
    }
    std::ranges::sort(found.orders);
    return found;
  }

 private:
  struct Lacking {
    std::uint32_t order = 0;
    std::uint32_t sent = 0;  // how often
    bool acknowledged = false;
  };
  struct OfFlow {
    bool lacks = false;  // some of its requests are asked for
    PsnRange requests = {}, answers = {};
    PsnRange later = {};                        // of answers behind the frame that is looked at
    std::vector<std::uint32_t> answering = {};  // flows that may answer it
  };
  using Addresses = std::pair<std::array<std::byte, 16>, std::array<std::byte, 16>>;

  static std::uint64_t key_of(const CaptureRecord& record) {
    return std::uint64_t{record.flow} << 24 | record.psn;
  }

  void add_answering() {
    std::map<Addresses, std::vector<std::uint32_t>> answers;  // flows, by where they go
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow)
      if (of_flows_[flow].answers.any)
        answers[{flows_[flow].key.destination, flows_[flow].key.source}].push_back(flow);
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
      OfFlow& own = of_flows_[flow];
      const auto opposite = answers.find({flows_[flow].key.source, flows_[flow].key.destination});
      if (!own.lacks || opposite == answers.end()) continue;
      for (const std::uint32_t other : opposite->second)
        if (flows_[other].goes_far != flows_[flow].goes_far &&
            own.requests.overlaps(of_flows_[other].answers))
          own.answering.push_back(other);
      if (own.answering.size() > kMostAnswering) own.answering.clear();
    }
  }

  /// Frames are entered from the last to the first.
  void enter(const CaptureRecord& record) {
    if (is_answer(record)) of_flows_[record.flow].later.add(record.psn);
    if (!is_rc_request(record)) return;
    const auto at = lacking_.find(key_of(record));
    if (at == lacking_.end()) return;
    Lacking& one = at->second;
    if (++one.sent > 1) return;
    const std::vector<std::uint32_t>& answering = of_flows_[record.flow].answering;
    one.acknowledged =
        !answering.empty() && std::ranges::all_of(answering, [&](std::uint32_t flow) {
          const PsnRange& later = of_flows_[flow].later;
          return later.any && distance(record.psn, later.high) > 0;
        });
  }

  Records sent_;
  std::span<const FlowWay> flows_;
  std::vector<OfFlow> of_flows_;
  std::unordered_map<std::uint64_t, Lacking> lacking_;  // by flow and PSN
};

}  // namespace

Acknowledged acknowledged_among(Records sent, std::span<const std::uint32_t> orders,
                                std::span<const FlowWay> flows) {
  if (orders.empty()) return {};
  return Acknowledgements(sent, orders, flows).run();
}

}  // namespace lw::dissect
