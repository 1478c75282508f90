// SPDX-License-Identifier: BSD-3-Clause
#include "gen/endpoint/arrivals/signed_messages.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/counted.h"
#include "gen/report/flow_report.h"
#include "wire/icrc.h"
#include "wire/view.h"

namespace lw::gen::endpoint {
namespace {

const wire::Signature* signature_in(wire::Bytes packet) noexcept {
  const auto* signature = wire::view<wire::Signature>(packet);
  return signature != nullptr && signature->present() ? signature : nullptr;
}

Instant time_of(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return instant_from_ns(std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec);
}

}  // namespace

SignedMessages::SignedMessages(const handover::Hello& hello, const wire::Ipv6Address& own)
    : size_(hello.params.size),
      mtu_(hello.mtu),
      payload_crcs_(hello.payload_crcs),
      ends_{.source = hello.gid.bytes, .destination = own.bytes},
      clock_number_(steady_clock_number(wire::ClockId::kSteady, boot_id())),
      sent_(hello.qps.size()) {
  measurement_.set_clock(clock_number_);
}

/// Chooses the clock for arrival times: the clock of the first signature, if this machine has it.
void SignedMessages::choose_clock(std::uint8_t senders) {
  senders_clock_ = senders;
  if (senders != wire::ClockId::kTai) return;
  clock_ = CLOCK_TAI;
  clock_number_ = senders;
  measurement_.set_clock(senders);
}

bool SignedMessages::count_message(std::size_t index, wire::Bytes message) {
  bool right = true;
  for (std::size_t at = 0; at < message.size(); at += mtu_) {
    const wire::Bytes packet = message.subspan(at, std::min(mtu_, message.size() - at));
    const wire::Signature* signature = signature_in(packet);
    if (signature == nullptr) {
      ++counts_.unsigned_frames;
      continue;
    }
    const wire::SignatureFields fields = signature->fields();
    if (fields.flow == index) {
      count_packet(fields, packet.size());
      right = has_content(packet, at + mtu_ >= size_) && right;
    } else {
      right = false;
    }
  }
  return right;
}

bool SignedMessages::has_content(wire::Bytes packet, bool last) const noexcept {
  const wire::Bytes content = packet.subspan(sizeof(wire::Signature));
  return payload_crcs_.empty() || wire::crc32(0, content) == payload_crcs_[last ? 1 : 0];
}

void SignedMessages::count_packet(const wire::SignatureFields& signature, std::size_t bytes) {
  if (measurement_.totals().frames == 0) choose_clock(signature.clock);
  measurement_.count_payload(ends_, signature, bytes, time_of(clock_),
                             signature.clock == clock_number_);
}

/// A message is complete if its last packet with room for a signature has the last number.
bool SignedMessages::holds(wire::Bytes slot, std::uint64_t number) const noexcept {
  const std::uint64_t rest = size_ % mtu_;
  const std::uint64_t packets = size_ / mtu_ + (rest >= sizeof(wire::Signature) ? 1 : 0);
  if (packets == 0) return false;
  const wire::Signature* last = signature_in(slot.subspan((packets - 1) * mtu_));
  return last != nullptr && last->fields().sequence == (number + 1) * packets - 1;
}

std::uint64_t SignedMessages::missing_at_end(std::size_t index) const {
  const std::uint64_t sent = index < sent_.size() ? sent_[index] : 0;
  for (const ReceiveFlow& flow : measurement_.flows())
    if (flow.stream.key.dest_qp == index) return sent - std::min(sent, flow.tracker.next());
  return sent;
}

bool SignedMessages::complete(const handover::Done& done) const {
  std::vector<std::uint64_t> missing = done.signed_frames;
  missing.resize(sent_.size());
  for (const ReceiveFlow& flow : measurement_.flows()) {
    std::uint64_t& rest = missing[flow.stream.key.dest_qp];
    rest -= std::min(rest, flow.frames - std::min(flow.frames, flow.order.duplicated));
  }
  return std::ranges::all_of(missing, [](std::uint64_t rest) { return rest == 0; });
}

void SignedMessages::finish(const handover::Done* done) {
  if (done != nullptr)
    std::copy_n(done->signed_frames.begin(), std::min(done->signed_frames.size(), sent_.size()),
                sent_.begin());
  measurement_.finalize();
  for (const ReceiveFlow& flow : measurement_.flows()) {
    counts_.frames += flow.frames;
    counts_.lost += flow.order.lost;
    counts_.duplicated += flow.order.duplicated;
    counts_.out_of_order += flow.order.out_of_order;
  }
  for (std::size_t i = 0; i < sent_.size(); ++i) counts_.lost += missing_at_end(i);
}

std::string SignedMessages::latency_doubt(const ReceiveFlow& flow) const {
  if (senders_clock_ == clock_number_) return measurement_.latency_doubt(flow);
  return fmt::format(
      "its frames are stamped by {}, and this side has {} and CLOCK_TAI: give roce-gen --clock tai",
      clock_name(senders_clock_), clock_name(clock_number_));
}

std::string SignedMessages::text() const {
  constexpr std::size_t kMostRows = 100;
  std::string text =
      fmt::format("  signatures: {}, {} lost, {} duplicated, {} out of order; {} without one\n",
                  counted(counts_.frames, "frame"), counts_.lost, counts_.duplicated,
                  counts_.out_of_order, counted(counts_.unsigned_frames, "frame"));
  text += flow_table(measurement_, flow_rows(measurement_, {}, {}), kMostRows, Measured::payloads);
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    const std::uint64_t missing = missing_at_end(i);
    if (missing > 0 && missing == sent_[i])
      text += fmt::format("  flow {}: none of {} frames came\n", i, missing);
    else if (missing > 0)
      text += fmt::format("  flow {}: the last {} of {} frames never came\n", i, missing, sent_[i]);
  }
  for (const ReceiveFlow& flow : measurement_.flows()) {
    const std::string doubt = latency_doubt(flow);
    if (doubt.empty()) continue;
    text += fmt::format("  no latency of {}: {}\n", name_of(flow, {}), doubt);
    break;
  }
  return text;
}

namespace {

/// What came of a flow, and what is missing at its end.
struct SignedFlow {
  FlowRow row;
  std::uint64_t missing_at_end = 0;
  std::string no_latency;

  static const FigureTable& figures() {
    using Row = FigureOf<SignedFlow>;
    static constexpr Figure kRows[] = {
        Row::with_table<&SignedFlow::row, FlowRow::arrivals>(),
        Row::of<&SignedFlow::missing_at_end>(
            "missing_at_end", "Frames that were sent after the last one that came.", Unit::frames),
        Row::of<&SignedFlow::no_latency>("no_latency", "Reason why latencies mean nothing.")
            .if_any()};
    static constexpr FigureTable kTable{"Signed frames that a device received, by flow.", kRows};
    return kTable;
  }
};

}  // namespace

const FigureTable& SignedMessages::figures() {
  using Row = FigureOf<SignedMessages>;
  static constexpr Figure kRows[] = {
      Row::rows_of<&SignedMessages::counts_>(), Row::of<[](const SignedMessages& messages) {
        std::vector<SignedFlow> flows;
        for (const ReceiveFlow& flow : messages.measurement_.flows()) {
          const std::string doubt = messages.latency_doubt(flow);
          flows.push_back(
              {{.flow = &flow, .name = name_of(flow, {}), .valid_latency = doubt.empty()},
               messages.missing_at_end(flow.stream.key.dest_qp),
               doubt});
        }
        return flows;
      }>("flows", "Signed frames, by flow.")};
  static constexpr FigureTable kTable{"What the signatures of the packets show.", kRows};
  return kTable;
}

}  // namespace lw::gen::endpoint
