// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <tuple>

#include "roce/envelope.h"
#include "wire/bth.h"

namespace lw::dissect {
namespace {

/// Two independent hashes by multiply and fold over 64-bit words. Not for frames that were chosen
/// to collide.
class Hasher {
 public:
  void add(std::uint64_t word) noexcept {
    for (std::size_t i = 0; i < 2; ++i) {
      halves_[i] = (halves_[i] ^ word) * kMultipliers[i];
      halves_[i] ^= halves_[i] >> 29;
    }
  }
  template <class Address>
  void add_address(const Address& address) noexcept {
    std::array<std::uint64_t, 2> words{};
    static_assert(sizeof(Address) <= sizeof words);
    std::memcpy(words.data(), &address, sizeof address);
    add(words[0]);
    add(words[1]);
  }
  [[nodiscard]] Identity identity() const noexcept { return halves_; }

 private:
  static constexpr std::array<std::uint64_t, 2> kMultipliers = {0x9e3779b97f4a7c15,
                                                                0xc2b2ae3d27d4eb4f};
  Identity halves_ = {0x6c6f6e6777697265, 0x1903500};
};

void add_addresses(Hasher& hasher, const roce::Envelope& envelope) noexcept {
  if (envelope.ipv4) {
    hasher.add_address(envelope.ipv4->source);
    hasher.add_address(envelope.ipv4->destination);
    return;
  }
  const wire::Ipv6& ip = envelope.ipv6 ? *envelope.ipv6 : *envelope.grh;
  hasher.add_address(ip.source);
  hasher.add_address(ip.destination);
}

}  // namespace

std::optional<Identity> identity_of(const roce::Envelope& envelope) noexcept {
  const auto place = roce::expected_icrc(envelope);
  if (!place) return std::nullopt;
  const auto* bth = wire::view_at<wire::Bth>(envelope.bytes, envelope.bth_offset());
  Hasher hasher;
  hasher.add(static_cast<std::uint64_t>(envelope.encapsulation()));
  add_addresses(hasher, envelope);
  hasher.add(std::uint64_t{bth->dest_qp.get()} << 32 | bth->psn().value() << 8 | bth->opcode.get());
  hasher.add(std::uint64_t{wire::load_icrc(envelope.bytes.subspan(place->offset, 4))} << 32 |
             (place->offset - envelope.network_offset));
  return hasher.identity();
}

std::uint32_t FlowNames::index_of(const std::string& source, const std::string& destination) {
  const std::size_t before = indices_.size();
  bool full = false;
  Index& index = indices_.use({source, destination}, [&](const Index& gone) {
    forgotten_[gone.value] = true;
    full = true;
  });
  if (full || indices_.size() > before) {
    index.value = static_cast<std::uint32_t>(forgotten_.size());
    forgotten_.push_back(false);
  }
  return index.value;
}

Result<CapturePoint> read_point(const std::string& place, const std::string& filter,
                                FlowNames& flows) {
  auto source = FrameSource::open(place, filter);
  if (!source) return std::unexpected(source.error());
  CapturePoint point;
  point.file = place;
  for (;;) {
    const auto frame = source->next();
    if (!frame && frame.error().exit == ExitCode::usage) return std::unexpected(frame.error());
    if (!frame) point.damage = frame.error();
    if (!frame || !*frame) return point;
    ++point.frames;
    const roce::Envelope& envelope = (*frame)->envelope;
    const auto verdict = roce::check_icrc(envelope);
    if (verdict == roce::IcrcVerdict::not_roce) continue;
    ++point.roce;
    const auto identity = identity_of(envelope);
    if (!identity) {
      ++point.unidentified;
      continue;
    }
    point.records.push_back({*identity, to_ns((*frame)->record.stamp),
                             static_cast<std::uint32_t>(point.records.size()),
                             flows.index_of(envelope.source(), envelope.destination()),
                             verdict == roce::IcrcVerdict::bad});
  }
}

namespace {

using Records = std::span<const CaptureRecord>;

std::vector<CaptureRecord> by_identity(const CapturePoint& point) {
  std::vector<CaptureRecord> sorted = point.records;
  std::ranges::sort(sorted, {},
                    [](const CaptureRecord& s) { return std::tuple(s.identity, s.order); });
  return sorted;
}

/// A flow's frames without a match: those that the other point never saw (`alone`), and more copies
/// than the other point saw (`excess`).
struct Unmatched {
  std::uint64_t alone = 0, alone_bad = 0, excess = 0;
};

/// A frame that both points saw.
struct Match {
  std::uint32_t near_order, far_order;
  std::uint32_t slot;  // of its counters
  bool usable;         // the delay is certain
  std::int64_t far_minus_near_ns;
};

struct FlowCounters {
  std::uint64_t near = 0, far = 0;
  Unmatched near_only, far_only;
  std::int64_t later_at_far = 0;  // number of matches later at far, minus the others
};

/// Counters of each flow that is remembered, behind those of the forgotten ones: of their frames
/// from near to far, and of the others.
class Matcher {
 public:
  explicit Matcher(const std::vector<bool>& forgotten) : slots_(forgotten.size()) {
    std::uint32_t next = kForgotten;
    for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i] = forgotten[i] ? 0 : next++;
    counters_.resize(next);
    counters_[1].later_at_far = std::numeric_limits<std::int64_t>::min() / 2;
  }

  void run(Records near, Records far) {
    while (!near.empty() || !far.empty()) {
      const bool take_near = far.empty() || (!near.empty() && near[0].identity <= far[0].identity);
      const Identity& identity = take_near ? near[0].identity : far[0].identity;
      match_group(split(near, identity), split(far, identity));
    }
  }

  std::vector<FlowCounters> counters_;
  std::vector<Match> matches_;

 private:
  std::vector<std::uint32_t> slots_;              // of each flow
  static constexpr std::uint32_t kForgotten = 2;  // counters

  static std::int64_t delta_of(const CaptureRecord& near, const CaptureRecord& far) noexcept {
    return capture::stamp_difference(instant_from_ns(far.stamp_ns), instant_from_ns(near.stamp_ns))
        .count();
  }
  /// Place of the counters for equal frames.
  [[nodiscard]] std::uint32_t slot_of(Records near, Records far) const noexcept {
    const std::uint32_t slot = slots_[near.empty() ? far[0].flow : near[0].flow];
    if (slot >= kForgotten) return slot;
    return near.empty() || (!far.empty() && delta_of(near[0], far[0]) < 0) ? 1 : 0;
  }

  /// Cuts the records of `identity` off the front.
  static Records split(Records& rest, const Identity& identity) {
    std::size_t count = 0;
    while (count < rest.size() && rest[count].identity == identity) ++count;
    const Records group = rest.first(count);
    rest = rest.subspan(count);
    return group;
  }

  void match_group(Records near, Records far) {
    const std::uint32_t slot = slot_of(near, far);
    FlowCounters& counters = counters_[slot];
    counters.near += near.size();
    counters.far += far.size();
    if (far.empty()) return add_alone(counters.near_only, near);
    if (near.empty()) return add_alone(counters.far_only, far);
    const std::size_t both = std::min(near.size(), far.size());
    counters.near_only.excess += near.size() - both;
    counters.far_only.excess += far.size() - both;
    // Of two equal frames of which one was lost, it is unknown which one arrived.
    const bool usable = near.size() == far.size();
    for (std::size_t k = 0; k < both; ++k) {
      const std::int64_t delta = delta_of(near[k], far[k]);
      counters.later_at_far += delta >= 0 ? 1 : -1;
      matches_.push_back({near[k].order, far[k].order, slot, usable, delta});
    }
  }

  static void add_alone(Unmatched& unmatched, Records frames) {
    unmatched.alone += frames.size();
    unmatched.alone_bad += static_cast<std::uint64_t>(
        std::ranges::count_if(frames, [](const CaptureRecord& s) { return s.bad_icrc; }));
  }
};

void add_flow(DirectionResult& result, std::uint64_t sent, std::uint64_t received,
              const Unmatched& at_sender, const Unmatched& at_receiver) {
  result.sent += sent;
  result.received += received;
  result.lost += at_sender.alone + at_sender.excess;
  result.invented += at_receiver.alone;
  result.damaged += at_receiver.alone_bad;
  result.duplicated += at_receiver.excess;
}

/// Collects delays and order of one direction's matches, added in the order of arrival.
class Arrivals {
 public:
  explicit Arrivals(DirectionResult& result) : result_(result) {}

  void add(std::uint32_t sent_order, std::int64_t delay_ns, bool usable) {
    if (any_ && sent_order < latest_) ++result_.reordered;
    latest_ = any_ ? std::max(latest_, sent_order) : sent_order;
    any_ = true;
    usable ? result_.delays.add(delay_ns) : void(++result_.ambiguous);
  }

 private:
  DirectionResult& result_;
  std::uint32_t latest_ = 0;
  bool any_ = false;
};

}  // namespace

Proportion wilson95(std::uint64_t hits, std::uint64_t trials) noexcept {
  if (trials == 0) return {};
  constexpr double kZ = 1.959963984540054;  // the normal distribution's 97.5 % quantile
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(hits) / n;
  const double shrink = 1 / (1 + kZ * kZ / n);
  const double centre = (share + kZ * kZ / (2 * n)) * shrink;
  const double half = kZ * shrink * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  return {share, hits == 0 ? 0 : std::max(0.0, centre - half),
          hits == trials ? 1 : std::min(1.0, centre + half)};
}

void Delays::sort() { std::ranges::sort(sorted_); }

double Delays::mean() const noexcept {
  if (sorted_.empty()) return 0;
  // Relative to the shortest, to keep a double's precision for the differences.
  double sum = 0;
  for (const std::int64_t ns : sorted_)
    sum += static_cast<double>(static_cast<std::uint64_t>(ns) -
                               static_cast<std::uint64_t>(sorted_.front()));
  return static_cast<double>(sorted_.front()) + sum / static_cast<double>(sorted_.size());
}

std::int64_t Delays::quantile(double q) const noexcept {
  const double rank = std::ceil(q * static_cast<double>(sorted_.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted_[std::min(index, sorted_.size() - 1)];
}

Comparison compare_points(const CapturePoint& near, const CapturePoint& far, const FlowNames& flows,
                          Senders senders) {
  const auto goes_far = [senders](const FlowCounters& counters) {
    return senders == Senders::near || counters.later_at_far >= 0;
  };
  Matcher matcher(flows.forgotten());
  matcher.run(by_identity(near), by_identity(far));
  Comparison comparison;
  comparison.forgotten_flows =
      static_cast<std::uint64_t>(std::ranges::count(flows.forgotten(), true));
  for (const FlowCounters& t : matcher.counters_) {
    if (goes_far(t)) {
      add_flow(comparison.near_to_far, t.near, t.far, t.near_only, t.far_only);
    } else {
      add_flow(comparison.far_to_near, t.far, t.near, t.far_only, t.near_only);
    }
  }
  Arrivals at_far(comparison.near_to_far), at_near(comparison.far_to_near);
  std::ranges::sort(matcher.matches_, {}, &Match::far_order);
  for (const Match& m : matcher.matches_) {
    if (goes_far(matcher.counters_[m.slot]))
      at_far.add(m.near_order, m.far_minus_near_ns, m.usable);
  }
  std::ranges::sort(matcher.matches_, {}, &Match::near_order);
  for (const Match& m : matcher.matches_) {
    if (!goes_far(matcher.counters_[m.slot])) {
      at_near.add(m.far_order, -m.far_minus_near_ns, m.usable);
    }
  }
  comparison.near_to_far.delays.sort();
  comparison.far_to_near.delays.sort();
  return comparison;
}

}  // namespace lw::dissect
