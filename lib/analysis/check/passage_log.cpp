// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/check/passage_log.h"

#include <algorithm>
#include <iterator>

#include "wire/aeth.h"

namespace lw::analysis {

/// The PSN without wrap-around that is nearest to `to`.
std::uint64_t PassageLog::nearest(std::uint64_t to, std::uint32_t psn) const noexcept {
  constexpr std::uint64_t kOrigin = std::uint64_t{1} << 32;  // leaves room for smaller ones
  if (to == 0) return kOrigin + psn;
  const auto ahead = wire::Psn::distance(wire::Psn{psn_of(to)}, wire::Psn{psn});
  return to + static_cast<std::uint64_t>(std::int64_t{ahead});
}

void PassageLog::close_run() {
  if (run_.last == 0) return;
  whole_ = whole_ && room_ > 0 && (runs_.empty() || runs_.back().last < run_.first);
  if (!whole_) return;
  --room_;
  runs_.push_back(run_);
}

void PassageLog::begin_run(const CapturedPacket& packet, std::uint32_t span) {
  close_run();
  const std::uint64_t psn = nearest(highest_, packet.psn);
  run_ = {.psn = psn,
          .end = psn + span,
          .first = packet.number,
          .last = packet.number,
          .acked = acked_,
          .stamp = packet.stamp,
          .ip_id = packet.ip_id,
          .fetches = is_fetch(packet)};
  repeated_to_ = run_.end < highest_ ? highest_ : 0;
  highest_ = std::max(highest_, run_.end);
}

void PassageLog::answer(const CapturedPacket& packet) {
  if (highest_ == 0 || (packet.info->operation == wire::Operation::ack && !packet.has_aeth)) return;
  const std::uint64_t psn = nearest(highest_, packet.psn);
  const wire::AethFields fields{packet.syndrome, packet.msn};
  const bool refuses = packet.has_aeth && fields.kind() != wire::AethKind::ack;
  if (refuses) {
    const bool rnr = fields.kind() == wire::AethKind::rnr_nak;
    const bool sequence = (packet.syndrome & wire::Aeth::kValue) == 0;
    const Answer answer = rnr ? Answer::not_ready : sequence ? Answer::sequence_nak : Answer::fatal;
    if (room_ > 0) {
      --room_;
      naks_.push_back({packet.number, psn, packet.stamp, answer});
    } else {
      whole_ = false;
    }
  }
  if (!refuses && psn >= highest_ && early_acks_++ == 0) early_ = {packet.number, psn};
  const bool executes = !refuses && packet.info->operation == wire::Operation::ack;
  acked_ = std::max(acked_, std::min(highest_, psn + executes));
}

void PassageLog::finish() {
  close_run();
  run_ = {};
  highest_end_.resize(runs_.size());
  lowest_psn_.resize(runs_.size());
  std::uint64_t highest = 0, lowest = ~std::uint64_t{0};
  for (std::size_t i = 0; i < runs_.size(); ++i)
    highest_end_[i] = highest = std::max(highest, runs_[i].end);
  for (std::size_t i = runs_.size(); i-- > 0;)
    lowest_psn_[i] = lowest = std::min(lowest, runs_[i].psn);
}

const PassageLog::Run* PassageLog::at(std::uint64_t frame) const noexcept {
  const auto behind = std::ranges::upper_bound(runs_, frame, {}, &Run::first);
  return behind == runs_.begin() ? nullptr : &*std::prev(behind);
}

const PassageLog::Run* PassageLog::begin_at(std::uint64_t frame) const noexcept {
  const Run* const run = at(frame);
  return run == nullptr || run->first != frame ? nullptr : run;
}

std::uint64_t PassageLog::highest_before(const Run& run) const noexcept {
  const auto index = static_cast<std::size_t>(&run - runs_.data());
  return index == 0 ? 0 : highest_end_[index - 1];
}

const PassageLog::Nak* PassageLog::nak_at(std::uint64_t frame) const noexcept {
  const auto nak = std::ranges::lower_bound(naks_, frame, {}, &Nak::frame);
  return nak == naks_.end() || nak->frame != frame ? nullptr : &*nak;
}

std::uint64_t PassageLog::unwrap(std::uint32_t psn, std::uint64_t frame) const noexcept {
  const Run* const run = at(frame);
  if (run == nullptr) return nearest(runs_.empty() ? 0 : runs_.front().end, psn);
  return nearest(highest_end_[static_cast<std::size_t>(run - runs_.data())], psn);
}

std::span<const PassageLog::Run> PassageLog::around(std::uint64_t psn) const noexcept {
  const auto first = std::ranges::upper_bound(highest_end_, psn);  // the first end above it
  const auto last = std::ranges::upper_bound(lowest_psn_, psn);    // none from here on covers it
  const auto from = static_cast<std::size_t>(first - highest_end_.begin());
  const auto to = static_cast<std::size_t>(last - lowest_psn_.begin());
  return from < to ? std::span(runs_).subspan(from, to - from) : std::span<const Run>{};
}

}  // namespace lw::analysis
