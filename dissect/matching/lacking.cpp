// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/lacking.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "dissect/matching/acknowledged.h"
#include "dissect/matching/time_changes.h"

namespace lw::dissect {
namespace {

using What = PointLack::What;
using AddressPair = std::array<std::array<std::byte, 16>, 2>;  // source, destination

AddressPair opposite_of(const AddressPair& pair) { return {pair[1], pair[0]}; }

/// Frames of a flow, or of all with one carrier.
struct FrameCounts {
  std::array<std::uint64_t, 2> frames{};  // at near, at far
  std::uint64_t answers = 0, matched = 0;
};

/// Frames between two addresses, one way.
struct PairCounts {
  std::array<std::uint64_t, 2> alone{};    // requests and answers that one point has, and no match
  std::array<std::uint64_t, 2> matched{};  // requests and answers that both have
};

constexpr std::string_view kLackNames[] = {"answers", "carrier", "talk", "share"};

class LackFinder {
 public:
  LackFinder(Records near, Records far, const Matching& matching, const Names& names,
             const std::function<bool(const Unmatched&)>& outside)
      : points_{near, far}, matching_(matching), names_(names), outside_(outside) {
    const std::size_t flows = names.flows.forgotten().size();
    flows_.resize(flows);
    carrier_of_.resize(flows, kNoCarrier);
    found_.flows.resize(flows);
    for (const roce::FlowKey& key : names.flows.keys()) {
      pairs_.push_back({key.source, key.destination});
      ways_.push_back({.key = key});
    }
  }

  Lacking find() {
    count();
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) judge_flow(flow);
    for (const bool goes_far : {false, true}) find_invented(goes_far);
    for (const bool goes_far : {false, true}) find_passed(goes_far);
    for (const bool goes_far : {false, true}) find_acknowledged(goes_far);
    for (auto& orders : found_.orders) std::ranges::sort(orders);
    return std::move(found_);
  }

 private:
  static constexpr std::uint16_t kNoCarrier = 0xffff, kSeveral = 0xfffe;

  void count() {
    for (const std::size_t end : {0U, 1U})
      for (const CaptureRecord& record : points_[end].all()) {
        FrameCounts& flow = flows_[record.flow];
        ++flow.frames[end];
        flow.answers += is_answer(record);
        const std::uint16_t carrier = names_.forms.carrier(record.form);
        ++carriers_[carrier].frames[end];
        std::uint16_t& own = carrier_of_[record.flow];
        own = own == kNoCarrier || own == carrier ? carrier : kSeveral;
      }
    for (const Match& m : matching_.matches) {
      const CaptureRecord record = points_[0][m.near];
      ways_[record.flow].goes_far = ways_[points_[1][m.far].flow].goes_far = m.goes_far != 0;
      ++flows_[record.flow].matched;
      ++flows_[points_[1][m.far].flow].matched;  // another one behind NAT
      ++carriers_[names_.forms.carrier(record.form)].matched;
      ++carriers_[names_.forms.carrier(points_[1][m.far].form)].matched;
      ++of_pairs_[pairs_[record.flow]].matched[is_answer(record)];
      ++matched_;
    }
    for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) {
      const FrameCounts& own = flows_[flow];
      if (!is_alone(own)) continue;
      PairCounts& pair = of_pairs_[pairs_[flow]];
      pair.alone[1] += own.answers;
      pair.alone[0] += own.frames[0] + own.frames[1] - own.answers;
    }
    for (const Unmatched& frame : matching_.unmatched) {
      const std::uint32_t flow = points_[frame.at_far ? 1 : 0][frame.order].flow;
      if (is_alone(flows_[flow])) ways_[flow].goes_far = frame.goes_far;
    }
  }
  /// Whether one point has it alone.
  static bool is_alone(const FrameCounts& flow) {
    return (flow.frames[0] == 0) != (flow.frames[1] == 0) && flow.matched == 0;
  }

  void judge_flow(std::uint32_t flow) {
    const FrameCounts& own = flows_[flow];
    const std::uint64_t frames = own.frames[0] + own.frames[1];
    if (!is_alone(own) || frames < kFewestLacking || matched_ < kFewestLacking) return;
    if (names_.flows.forgotten()[flow]) return;
    const bool at_far = own.frames[1] == 0;
    const bool answers = 2 * own.answers >= frames;
    const PairCounts &there = of_pairs_[pairs_[flow]], &back = of_pairs_[opposite_of(pairs_[flow])];
    const bool spoke = (answers ? back.alone[0] : back.alone[1]) >= kFewestLacking;
    if (is_carrier_lacking(carrier_of_[flow], at_far))
      return add(flow, What::carrier, at_far, frames, spoke || back.matched[answers ? 0 : 1] > 0);
    const bool has_none = there.matched[0] + there.matched[1] == 0;
    if (has_none && answers && back.matched[0] > 0) return add(flow, What::answers, at_far, frames);
    if (has_none && spoke && back.matched[0] + back.matched[1] == 0)
      add(flow, What::talk, at_far, frames);
  }

  [[nodiscard]] bool is_carrier_lacking(std::uint16_t carrier, bool at_far) const {
    const auto known = carriers_.find(carrier);
    if (known == carriers_.end() || known->first == 0 || known->second.matched > 0) return false;
    return known->second.frames[at_far ? 1 : 0] == 0;
  }

  void add(std::uint32_t flow, What what, bool at_far, std::uint64_t frames, bool answered = true) {
    found_.flows[flow] = true;
    if (what == What::carrier) found_.carrier_flows.push_back(flow);
    PointLack lack{what, at_far, ways_[flow].goes_far};
    if (what == What::carrier || what == What::talk) lack.goes_far = false;
    if (what == What::carrier) lack.carrier = names_.forms.carrier_name(carrier_of_[flow]);
    const auto same = std::ranges::find_if(found_.lacks, [&](const PointLack& other) {
      return other.what == what && other.at_far == at_far && other.goes_far == lack.goes_far &&
             other.carrier == lack.carrier;
    });
    PointLack& one = same == found_.lacks.end() ? found_.lacks.emplace_back(lack) : *same;
    one.frames += frames;
    one.of += frames;
    one.answered = one.answered || answered;
  }

  /// The repetition of a lost request.
  struct Repetition {
    std::uint32_t lost = 0;             // order of the lost frame
    bool found = false, first = false;  // first: repeating begins with it
  };
  using Orders = std::vector<std::uint32_t>;
  using Lost = std::unordered_map<std::uint64_t, std::vector<Repetition>>;  // by flow and PSN
  static std::uint64_t key_of(const CaptureRecord& record) {
    return std::uint64_t{record.flow} << 24 | record.psn;
  }

  /// Calls `visit` with each frame of one direction without a match that counts.
  template <class Visit>
  void for_each_unmatched(bool goes_far, Visit visit) const {
    for (const Unmatched& frame : matching_.unmatched) {
      if (frame.goes_far != goes_far || frame.copy || outside_(frame)) continue;
      const CaptureRecord record = points_[frame.at_far ? 1 : 0][frame.order];
      if (!found_.flows[record.flow]) visit(frame, record);
    }
  }

  /// Finds what the sender's point lacks of the frames of one direction.
  void find_invented(bool goes_far) {
    const std::size_t from = goes_far ? 0 : 1;
    Orders invented;
    for_each_unmatched(goes_far, [&](const Unmatched& frame, const CaptureRecord& record) {
      if (frame.at_receiver() && !record.bad_icrc && flows_[record.flow].frames[from] > 0)
        invented.push_back(frame.order);
    });
    if (invented.size() < kFewestLacking) return;
    has_share_[from] = true;
    add_share(from, goes_far, invented);
  }

  /// Finds what the receiver's point lacks of the frames of one direction.
  void find_passed(bool goes_far) {
    const std::size_t from = goes_far ? 0 : 1, to = 1 - from;
    if (!has_share_[to]) return;
    Orders answers;
    Lost lost;
    for_each_unmatched(goes_far, [&](const Unmatched& frame, const CaptureRecord& record) {
      if (frame.at_receiver() || flows_[record.flow].frames[to] == 0) return;
      if (is_answer(record))
        answers.push_back(frame.order);
      else if (is_rc_request(record))
        lost[key_of(record)].push_back({frame.order});
    });
    note_repetitions(lost, points_[from]);
    Orders passed = std::move(answers);
    for (const auto& [key, list] : lost)
      for (const Repetition& one : list)
        if (!one.first) passed.push_back(one.lost);
    if (!passed.empty()) add_share(to, goes_far, passed);
  }

  /// Finds what the receiver's point lacks of the requests of one direction, and their receiver
  /// acknowledged.
  void find_acknowledged(bool goes_far) {
    const std::size_t from = goes_far ? 0 : 1;
    if (has_share_[1 - from]) return;  // the frames of the other direction tell more
    Orders lost;
    for_each_unmatched(goes_far, [&](const Unmatched& frame, const CaptureRecord& record) {
      if (!frame.at_receiver() && is_rc_request(record)) lost.push_back(frame.order);
    });
    Acknowledged passed = acknowledged_among(points_[from], lost, ways_);
    if (passed.orders.empty()) return;
    if (is_scattered(passed.orders, goes_far)) {
      has_share_[1 - from] = true;
      return find_passed(goes_far);
    }
    found_.certain[from] = passed.repeats;
    if (found_.certain[from]) add_share(1 - from, goes_far, passed.orders, true);
    found_.acknowledged[from] = std::move(passed.orders);
  }

  /// Whether frames of a direction are a share of it. `orders`: where they were sent; sorted.
  [[nodiscard]] bool is_scattered(const Orders& orders, bool goes_far) const {
    std::vector<bool> came(points_[goes_far ? 0 : 1].size());
    std::uint64_t all = orders.size(), scattered = 0;
    for (const Match& m : matching_.matches)
      if ((m.goes_far != 0) == goes_far) came[m.sent()] = true, ++all;
    for (std::size_t i = 0, end = 0; i < orders.size(); i = end) {
      const auto is_next = [&] {
        return std::none_of(came.begin() + orders[end - 1], came.begin() + orders[end],
                            [](bool one) { return one; });
      };
      for (end = i + 1; end < orders.size() && is_next();) ++end;
      if (end - i < kOutageFewest) scattered += end - i;
    }
    return scattered >= kFewestScattered && 10 * scattered >= all;
  }

  /// `at`: the point that lacks frames, which have these orders at the other one.
  void add_share(std::size_t at, bool goes_far, const Orders& orders, bool answered = false) {
    if (!answered) {
      auto& known = found_.orders[1 - at];
      known.insert(known.end(), orders.begin(), orders.end());
    }
    std::uint64_t all = 0;
    for (const Match& m : matching_.matches) all += (m.goes_far != 0) == goes_far;
    found_.lacks.push_back({.what = What::share,
                            .at_far = at == 1,
                            .goes_far = goes_far,
                            .frames = orders.size(),
                            .of = all + orders.size(),
                            .answered = answered});
  }

  /// Notes which lost requests were repeated.
  static void note_repetitions(Lost& lost, Records sent) {
    if (lost.empty()) return;
    std::unordered_map<std::uint32_t, std::uint32_t> last;  // PSN of the last request, by flow
    for (const CaptureRecord& record : sent.all()) {
      if (!is_rc_request(record)) continue;
      const auto [before, is_new] = last.try_emplace(record.flow, record.psn);
      const bool follows = !is_new && ((before->second + 1) & 0xffffff) == record.psn;
      before->second = record.psn;
      const auto at = lost.find(key_of(record));
      if (at == lost.end()) continue;
      for (Repetition& one : at->second)
        if (one.lost < record.order && !std::exchange(one.found, true)) one.first = !follows;
    }
  }

  std::array<Records, 2> points_;
  const Matching& matching_;
  const Names& names_;
  const std::function<bool(const Unmatched&)>& outside_;
  std::vector<AddressPair> pairs_;         // by flow
  std::vector<FrameCounts> flows_;         // by flow
  std::vector<std::uint16_t> carrier_of_;  // by flow
  std::vector<FlowWay> ways_;              // by flow
  std::map<std::uint16_t, FrameCounts> carriers_;
  std::map<AddressPair, PairCounts> of_pairs_;
  std::uint64_t matched_ = 0;
  std::array<bool, 2> has_share_{};  // near, far: it lacks a share of what came from its side
  Lacking found_;
};

}  // namespace

std::string_view name_of(What what) noexcept { return kLackNames[static_cast<std::size_t>(what)]; }

Lacking find_lacking(Records near, Records far, const Matching& matching, const Names& names,
                     const std::function<bool(const Unmatched&)>& outside) {
  return LackFinder(near, far, matching, names, outside).find();
}

std::string PointLack::words(std::string_view near, std::string_view far) const {
  const std::string_view point = at_far ? far : near, other = at_far ? near : far;
  switch (what) {
    case What::answers:
      return fmt::format("{} does not record the {} answers that {} has: they are not judged",
                         point, frames, other);
    case What::carrier:
      return fmt::format(
          "{} does not record {}: it has none of the {} frames that {} has{}: they are not judged",
          point, carrier, frames, other,
          answered ? ", though peers answer there" : "; or all of them were lost");
    case What::talk:
      return fmt::format(
          "{} has none of the {} frames of hosts that answer each other at {}: they "
          "do not pass there, or it does not record them: they are not judged",
          point, frames, other);
    case What::share:
      break;
  }
  const double share = of > 0 ? 100 * static_cast<double>(frames) / static_cast<double>(of) : 0;
  return fmt::format(
      "{} lacks {} of {} frames {} > {} ({:.2g} %) that passed it, as {}: it samples, or its "
      "capturing loses frames: they are not judged",
      point, frames, of, goes_far ? near : far, goes_far ? far : near, share,
      answered             ? "their receiver acknowledged them"
      : at_far == goes_far ? "they were not repeated, or with others, or are answers"
                           : fmt::format("{} received them", other));
}

const FigureTable& PointLack::figures() {
  using Row = FigureOf<PointLack>;
  static constexpr std::string_view kPoints[] = {"near", "far"};
  static constexpr std::string_view kWays[] = {"far_to_near", "near_to_far", "both"};
  static constexpr Figure kRows[] = {
      Row::of<[](const PointLack& l) { return kPoints[l.at_far ? 1 : 0]; }>(
          "point", "The point that lacks frames.")
          .among(kPoints),
      Row::of<[](const PointLack& l) { return name_of(l.what); }>(
          "what",
          "answers of two hosts; carrier: of a VLAN or tunnel; talk: all of two hosts; "
          "share: some.")
          .among(kLackNames),
      Row::of<[](const PointLack& l) {
        const bool both = l.what == What::carrier || l.what == What::talk;
        return kWays[both ? 2 : l.goes_far ? 1 : 0];
      }>("direction", "Direction.")
          .among(kWays),
      Row::of<&PointLack::carrier>("carrier", "carrier: the VLAN or tunnel; otherwise empty."),
      Row::of<&PointLack::frames>("frames", "Frames that it lacks: not judged.", Unit::frames),
      Row::of<&PointLack::of>("of", "Of so many frames.", Unit::frames),
      Row::of<[](const PointLack& l) { return l.words(); }>("text", "A sentence about it.")};
  static constexpr FigureTable kTable{"Frames that the capture of a point does not hold.", kRows};
  return kTable;
}

}  // namespace lw::dissect
