// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/sequence_tracker.h"

#include <algorithm>
#include <cstdlib>

#include "analysis/packet.h"

namespace lw::analysis {

using Kind = Arrival::Kind;

Arrival SequenceTracker::take_irregular(std::uint64_t number) {
  if (!past_) remember();
  if (number < next_) return take_behind(number);
  const std::uint64_t missing = number - next_;
  if (missing > 0) {
    mark(next_, number, false);
    past_->gaps.push_back({next_, number - 1, arrivals_});
  }
  mark(number, true);
  next_ = number + 1;
  ++arrivals_;
  while (!past_->gaps.empty() && next_ - past_->gaps.front().last > kWindow) {
    past_->gaps.pop_front();
  }
  return {missing > 0 ? Kind::ahead : Kind::in_order, missing, 0};
}

Arrival SequenceTracker::take_behind(std::uint64_t number) {
  if (next_ - number > kWindow) return {Kind::beyond_window, 0, 0};
  if (number < floor_) return take_below_floor(number);
  if (was_seen(number)) return {Kind::duplicate, 0, 0};
  mark(number, true);
  return {Kind::late, 0, arrivals_++ - passed_by(number)};
}

Arrival SequenceTracker::take_below_floor(std::uint64_t number) {
  if (!joined_) return {Kind::beyond_window, 0, 0};
  const std::uint64_t missing = floor_ - number;  // with this one, which the caller subtracts
  mark(number, floor_, false);
  mark(number, true);
  if (missing > 1) past_->gaps.push_front({number + 1, floor_ - 1, 0});
  floor_ = number;
  return {Kind::late, missing, arrivals_++};  // the first arrival skipped it
}

void SequenceTracker::pass(std::uint64_t next) {
  if (next <= next_) return;
  if (past_) mark(next_, next, true);
  next_ = next;
}

void SequenceTracker::unpass(std::uint64_t next) {
  if (next >= next_ || next_ - next > kWindow) return;
  if (!past_) remember();
  mark(next, next_, false);
  next_ = next;
}

std::uint64_t SequenceTracker::miss(std::uint64_t first, std::uint64_t end) {
  if (!past_) remember();
  first = std::max(first, next_ > kWindow ? next_ - kWindow : 0);
  std::uint64_t missing = 0;
  for (std::uint64_t number = first; number < end; ++number) missing += was_seen(number) ? 1 : 0;
  if (missing == 0) return 0;
  mark(first, end, false);
  const auto behind = std::ranges::lower_bound(past_->gaps, end - 1, {}, &Gap::last);
  past_->gaps.insert(behind, {first, end - 1, arrivals_});
  return missing;
}

std::uint64_t SequenceTracker::fill(std::uint64_t first, std::uint64_t end) {
  if (!past_) return 0;  // none is missing
  first = std::max({first, floor_, next_ > kWindow ? next_ - kWindow : 0});
  std::uint64_t filled = 0;
  for (end = std::min(end, next_); first < end; ++first) {
    if (was_seen(first)) continue;
    mark(first, true);
    ++filled;
  }
  return filled;
}

/// Allocates the history. Until now all numbers from the floor on arrived in order.
void SequenceTracker::remember() {
  past_ = std::make_unique<Past>();
  mark(floor_, next_, true);
}

void SequenceTracker::mark(std::uint64_t number, bool seen) noexcept {
  std::uint64_t& word = past_->seen[number % kWindow / 64];
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  word = seen ? word | bit : word & ~bit;
}

void SequenceTracker::mark(std::uint64_t first, std::uint64_t end, bool seen) noexcept {
  if (end - first >= kWindow) {
    std::ranges::fill(past_->seen, seen ? ~std::uint64_t{0} : 0);
    return;
  }
  for (; first < end; ++first) mark(first, seen);
}

bool SequenceTracker::was_seen(std::uint64_t number) const noexcept {
  return past_->seen[number % kWindow / 64] >> number % 64 & 1;
}

/// Index of the arrival that skipped `number`, which is missing.
std::uint64_t SequenceTracker::passed_by(std::uint64_t number) const noexcept {
  const auto gap = std::ranges::lower_bound(past_->gaps, number, {}, &Gap::last);
  return gap == past_->gaps.end() ? 0 : gap->passed_by;
}

namespace {

using wire::Operation;
using wire::Position;

/// 64-bit number of the first PSN; leaves space for smaller ones that arrive later.
constexpr std::uint64_t kOrigin = std::uint64_t{1} << 32;

std::uint64_t psns_of_read(std::uint32_t length, std::uint32_t mtu) {
  return std::max<std::uint64_t>(1, (std::uint64_t{length} + mtu - 1) / mtu);
}

/// True also if the capture cuts off the AETH: most are ACKs.
bool is_acknowledge(const roce::Frame& frame) {
  constexpr std::uint8_t kNakBits = 0x60;  // RNR and NAK: the packet with this PSN is still to come
  return frame.info->operation == Operation::ack &&
         (frame.aeth == nullptr || (frame.aeth->syndrome.get() & kNakBits) == 0);
}

}  // namespace

std::uint64_t PsnStream::unwrap(wire::Psn psn, OrderCounts& counts) {
  if (tracker_) {
    const std::uint64_t next = tracker_->next();
    const auto ahead = wire::Psn::distance(wire::Psn{static_cast<std::uint32_t>(next)}, psn);
    if (static_cast<std::uint64_t>(std::abs(ahead)) <= SequenceTracker::kWindow) {
      return next + static_cast<std::uint64_t>(std::int64_t{ahead});
    }
    finalize(counts);
    ++counts.restarts;
    read_.reset();
    guesses_.clear();
    mtu_ = 0;  // the new connection's may differ
    inside_message_ = has_acks_ = false;
  }
  const std::uint64_t first = kOrigin + psn.value();
  tracker_.emplace(first, true);
  return first;
}

void PsnStream::add(const roce::Frame& frame, OrderCounts& counts) {
  if (frame.info->role == wire::Role::notification) return;
  if (frame.info->role == wire::Role::response) return take_response(frame, counts);
  constexpr std::uint32_t kGeneralServices = 1;
  // Without the DETH, which a capture may cut off, the sender is not known. RD has PSNs of
  // contexts.
  const bool sender_in_deth = frame.info->transport == wire::Transport::ud;
  const bool known = frame.deth != nullptr && frame.deth->src_qp.get() > kGeneralServices;
  if (!sender_in_deth || known) take_request(frame, counts);
}

void PsnStream::learn_mtu(const roce::Frame& frame) {
  const bool whole = frame.info->payload == wire::PayloadRule::full;
  if (!whole || (frame.defect && frame.defect->problem != roce::Problem::cut)) return;
  mtu_ = static_cast<std::uint32_t>(frame.payload_length);
  guesses_.clear();
}

/// Marks the PSNs of a READ as received, and remembers it while the MTU is a guess.
void PsnStream::pass_read(Read read) {
  tracker_->pass(read.number + read.span);
  if (guesses_.empty()) return;
  guesses_.push_back(read);
  if (guesses_.size() > kMostGuesses) guesses_.clear();
}

/// Finds the larger MTU with which a new READ inside the span of an earlier one begins behind it. A
/// READ that asks again for the rest of the earlier one has an address inside it.
void PsnStream::unlearn_mtu(std::uint64_t number, std::uint64_t va, OrderCounts& counts) {
  for (const Read& read : guesses_) {
    if (number <= read.number || number >= read.number + read.span) continue;
    if (va > read.va && va < read.va + read.length) continue;
    for (const std::uint32_t mtu : kMtus) {
      if (mtu <= mtu_ || read.number + psns_of_read(read.length, mtu) != number) continue;
      adopt_mtu(mtu, counts);
      return;
    }
  }
}

/// PSNs after the newest READ have not come yet; PSNs after the other READs are missing.
void PsnStream::adopt_mtu(std::uint32_t mtu, OrderCounts& counts) {
  for (const Read& read : guesses_) {
    const std::uint64_t first = read.number + psns_of_read(read.length, mtu);
    const std::uint64_t end = read.number + read.span;
    if (end == tracker_->next()) {
      tracker_->unpass(first);
    } else {
      counts.lost += tracker_->miss(first, end);
    }
  }
  mtu_ = mtu;
  guesses_.clear();
}

/// Derives the MTU from the PSN after a READ, unless that PSN is not ahead of the READ.
void PsnStream::finish_read(wire::Psn following) {
  const auto start = wire::Psn{static_cast<std::uint32_t>(read_->number)};
  const auto taken = wire::Psn::distance(start, following);
  if (taken <= 0) return;
  if (read_->length == 0) {
    tracker_->pass(read_->number + static_cast<std::uint64_t>(taken));
    read_.reset();
    return;
  }
  std::uint32_t fitting = 0, fits = 0;
  for (const std::uint32_t mtu : kMtus) {
    if (psns_of_read(read_->length, mtu) != static_cast<std::uint64_t>(taken)) continue;
    fitting = mtu;
    ++fits;
  }
  const std::uint32_t mtu = fits > 0 ? fitting : kMtus[4];
  read_->span = psns_of_read(read_->length, mtu);
  tracker_->pass(read_->number + read_->span);
  if (fits == 1) {
    mtu_ = fitting;
    guesses_.push_back(*read_);
  }
  read_.reset();
}

void PsnStream::take_request(const roce::Frame& frame, OrderCounts& counts) {
  learn_mtu(frame);
  if (read_) finish_read(frame.bth->psn());
  const std::uint64_t number = unwrap(frame.bth->psn(), counts);
  const bool reads = frame.info->operation == Operation::read_request;
  const bool cut = frame.reth == nullptr;
  if (reads && !cut && number < tracker_->next()) unlearn_mtu(number, frame.reth->va.get(), counts);
  const bool at_front = number >= tracker_->next();
  Read read{number, 0, 0, 1};
  if (reads && !cut) read = {number, frame.reth->va.get(), frame.reth->dma_length.get(), 1};
  if (mtu_ != 0) read.span = psns_of_read(read.length, mtu_);
  take_number(number, counts, read.span);
  if (!reads || !at_front) return;
  if (mtu_ != 0 && !cut) {
    pass_read(read);
  } else if (cut || read.length > kMtus[0]) {
    read_ = read;
  }
}

void PsnStream::take_response(const roce::Frame& frame, OrderCounts& counts) {
  const bool plain_ack = frame.info->operation == Operation::ack;
  if (plain_ack && !is_acknowledge(frame)) return;
  const std::uint64_t number = unwrap(frame.bth->psn(), counts);
  const bool at_front = number >= tracker_->next();
  const Position position = frame.info->position;
  const bool goes_on = position == Position::middle || position == Position::last;
  if (plain_ack) {
    has_acks_ = true;
    if (!at_front) return;
    // The ACK's PSN is that of a SEND or WRITE: no response with data carries it.
    if (inside_message_) take_number(number, counts);
    tracker_->pass(number + 1);
    inside_message_ = false;
    return;
  }
  if (at_front) {
    if (has_acks_ && !inside_message_ && !goes_on) tracker_->pass(number);
    inside_message_ = position == Position::first || position == Position::middle;
  }
  take_number(number, counts);
}

/// `span`: PSNs that the packet stands for, if it comes late.
void PsnStream::take_number(std::uint64_t number, OrderCounts& counts, std::uint64_t span) {
  const Arrival arrival = tracker_->add(number);
  const bool repeated = arrival.kind == Arrival::Kind::duplicate;
  const bool fills_on =
      arrival.kind == Arrival::Kind::late && fill_.count > 0 && fill_.next == number;
  if (!fills_on) finalize_fill(repeated ? &number : nullptr, counts);
  counts.lost += arrival.missing;
  if (repeated) ++counts.duplicated;
  if (arrival.kind == Arrival::Kind::beyond_window) ++counts.beyond_window;
  if (arrival.kind != Arrival::Kind::late) return;
  if (fill_.count == 0) fill_.extent = arrival.extent;
  fill_.count += 1 + tracker_->fill(number + 1, number + span);
  fill_.next = number + span;
}

/// `again` is the next arrival if it is a duplicate, else null.
void PsnStream::finalize_fill(const std::uint64_t* again, OrderCounts& counts) {
  if (fill_.count == 0) return;
  if (again != nullptr && *again == fill_.next) {
    counts.retransmitted += fill_.count;
  } else {
    counts.lost -= fill_.count;
    // Consecutive arrivals fill one gap: each extent is one more than the previous.
    for (std::uint64_t i = 0; i < fill_.count; ++i) counts.add_late(fill_.extent + i);
  }
  fill_.count = 0;
}

void PsnStream::finalize(OrderCounts& counts) { finalize_fill(nullptr, counts); }

}  // namespace lw::analysis
