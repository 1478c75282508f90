// SPDX-License-Identifier: BSD-3-Clause
#include "gen/receive/measurement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/quantity.h"
#include "roce/envelope.h"
#include "roce/traffic_class.h"

namespace lw::gen {

const wire::Signature* signature_of(const roce::Envelope& envelope, const wire::Bth& bth,
                                    const wire::OpcodeInfo& info) noexcept {
  const std::size_t start = envelope.bth_offset() + sizeof(wire::Bth) + info.extensions.size();
  const std::size_t behind = bth.pad_count() + wire::kIcrcSize;
  if (start + sizeof(wire::Signature) + behind > envelope.network_end) return nullptr;
  const auto* signature = wire::view_at<wire::Signature>(envelope.bytes, start);
  return signature != nullptr && signature->present() ? signature : nullptr;
}

namespace {

void put_mapped(const wire::Ipv4Address& address, std::array<std::byte, 16>& out) noexcept {
  out[10] = out[11] = std::byte{0xff};
  std::memcpy(out.data() + 12, address.bytes.data(), 4);
}

/// Returns the key of a signed frame, with addresses as in roce::flow_key(). No full parse, because
/// this is the fast path.
StreamKey signed_key(const roce::Envelope& envelope, std::uint32_t flow) noexcept {
  StreamKey stream;
  stream.is_signed = true;
  stream.key.dest_qp = flow;
  if (envelope.ipv4 != nullptr) {
    put_mapped(envelope.ipv4->source, stream.key.source);
    put_mapped(envelope.ipv4->destination, stream.key.destination);
  } else {
    const wire::Ipv6* ip = envelope.ipv6 != nullptr ? envelope.ipv6 : envelope.grh;
    stream.key.source = ip->source.bytes;
    stream.key.destination = ip->destination.bytes;
  }
  return stream;
}

void count_acknowledge(ReceiveFlow& flow, const roce::Frame& frame) noexcept {
  if (frame.info->operation != wire::Operation::ack || frame.aeth == nullptr) return;
  constexpr std::uint8_t kKind = 0x60, kRnr = 0x20, kNak = 0x60, kSequence = 0x60;
  const std::uint8_t syndrome = frame.aeth->syndrome.get();
  if ((syndrome & kKind) == 0) {
    ++flow.acks;
  } else if ((syndrome & kKind) == kRnr) {
    ++flow.rnr_naks;
  } else if ((syndrome & kKind) == kNak && syndrome == kSequence) {
    ++flow.sequence_naks;
  } else {
    ++flow.other_naks;
  }
}

/// What a frame is to the latency of its stream.
enum class Copy : std::uint8_t { first, further, unknown };

/// Counts an arrival.
Copy count_order(const analysis::Arrival& arrival, analysis::OrderCounts& order) {
  if (arrival.kind == analysis::Arrival::Kind::in_order) [[likely]]
    return Copy::first;
  order.lost += arrival.missing;
  switch (arrival.kind) {
    case analysis::Arrival::Kind::in_order:
    case analysis::Arrival::Kind::ahead:
      break;
    case analysis::Arrival::Kind::late:
      --order.lost;
      order.add_late(arrival.extent);
      break;
    case analysis::Arrival::Kind::duplicate:
      ++order.duplicated;
      return Copy::further;
    case analysis::Arrival::Kind::beyond_window:
      ++order.beyond_window;
      return Copy::unknown;
  }
  return Copy::first;
}

/// Notes the number of a damaged frame ahead of all good ones: it has arrived, and no later frame
/// may show that.
void note_damaged(ReceiveFlow& flow, const wire::SignatureFields& signature) {
  constexpr std::size_t kMost = 4096;
  if (!flow.signature || signature.run != flow.run) return;
  std::vector<std::uint64_t>& damaged = flow.signature->damaged;
  const std::uint64_t next = flow.tracker.next();
  if (damaged.size() == kMost)
    std::erase_if(damaged, [next](std::uint64_t number) { return number < next; });
  if (signature.sequence >= next && damaged.size() < kMost) damaged.push_back(signature.sequence);
}

}  // namespace

void Measurement::count_frame(const roce::Envelope& envelope, Instant now, bool send_clock,
                              ReceiveFlow* guess) {
  ++totals_.frames;
  totals_.bytes += envelope.wire_length;
  if (!envelope.is_roce()) return;
  ++totals_.roce;
  const auto* bth = wire::view_at<wire::Bth>(envelope.bytes, envelope.bth_offset());
  const auto* info = bth != nullptr ? wire::find_opcode(bth->opcode.get()) : nullptr;
  if (info == nullptr) {
    ++totals_.malformed;
    return;
  }
  Incoming in{envelope, info->opcode, now, send_clock, guess};
  if (options_.icrc_every != 0 && --until_check_ == 0) {
    until_check_ = options_.icrc_every;
    check(in);
  }
  if (const auto* signature = signature_of(envelope, *bth, *info)) {
    const wire::SignatureFields fields = signature->fields();
    count_signed(in, signed_key(envelope, fields.flow), fields);
  } else {
    count_plain(in);
  }
}

void Measurement::count_payload(const roce::FlowKey& ends, const wire::SignatureFields& signature,
                                std::size_t bytes, Instant now, bool send_clock) {
  ++totals_.frames;
  ++totals_.roce;
  totals_.bytes += bytes;
  StreamKey stream{.key = ends, .is_signed = true};
  stream.key.dest_qp = signature.flow;
  roce::Envelope nothing;
  nothing.wire_length = bytes;
  Incoming in{nothing, 0, now, send_clock, nullptr};
  count_signed(in, stream, signature);
}

namespace {

constexpr std::size_t kCachedFlows = 256;  // these are in the near caches in any case

std::optional<std::uint64_t> hash_of(const roce::Envelope& envelope) noexcept {
  if (!envelope.is_roce()) return std::nullopt;
  const auto* bth = wire::view_at<wire::Bth>(envelope.bytes, envelope.bth_offset());
  const auto* info = bth != nullptr ? wire::find_opcode(bth->opcode.get()) : nullptr;
  const auto* signature = info != nullptr ? signature_of(envelope, *bth, *info) : nullptr;
  if (signature == nullptr) return std::nullopt;
  return StreamKeyHash{}(signed_key(envelope, signature->fields().flow));
}

}  // namespace

/// Finds the flows of signed frames. Each step reads the data that the previous step has prefetched
/// for all frames.
void Measurement::fetch(std::span<const roce::Envelope> burst,
                        std::span<ReceiveFlow*> guesses) const noexcept {
  std::array<std::optional<std::uint64_t>, kAhead> hashes;
  for (std::size_t i = 0; i < burst.size(); ++i) {
    hashes[i] = hash_of(burst[i]);
    if (hashes[i]) table_.fetch(*hashes[i]);
  }
  for (std::size_t i = 0; i < burst.size(); ++i) {
    guesses[i] = hashes[i] ? table_.guess(*hashes[i]) : nullptr;
    if (guesses[i] != nullptr) guesses[i]->fetch();
  }
  for (const ReceiveFlow* flow : guesses)
    if (flow != nullptr && flow->signature && flow->waiting.nearly_full()) flow->fetch_latencies();
}

void Measurement::count_frames(std::span<const wire::Bytes> burst, Instant now, bool send_clock) {
  if (flows_.size() <= kCachedFlows) {
    for (const wire::Bytes frame : burst) count_frame(frame, now, send_clock);
    return;
  }
  std::array<roce::Envelope, kAhead> envelopes;
  std::array<ReceiveFlow*, kAhead> flows;
  while (!burst.empty()) {
    const std::size_t size = std::min(kAhead, burst.size());
    for (std::size_t i = 0; i < size; ++i) envelopes[i] = roce::open_envelope(burst[i]);
    fetch(std::span(envelopes).first(size), std::span(flows).first(size));
    for (std::size_t i = 0; i < size; ++i) count_frame(envelopes[i], now, send_clock, flows[i]);
    burst = burst.subspan(size);
  }
}

void Measurement::check(Incoming& in) {
  const roce::IcrcVerdict verdict = roce::check_icrc(in.envelope);
  if (verdict == roce::IcrcVerdict::unverifiable) {
    in.trust = Trust::good;  // truncated by a capture: can't be checked
    return;
  }
  ++totals_.icrc_checked;
  in.trust = verdict == roce::IcrcVerdict::bad ? Trust::bad : Trust::good;
}

/// Refuses and counts a damaged frame. Its headers can't be trusted; if their stream exists, the
/// frame probably belongs to it and counts there.
bool Measurement::refuse_bad(ReceiveFlow* flow, const Incoming& in) {
  if (in.trust != Trust::bad) return false;
  ++totals_.bad_icrc;
  if (flow == nullptr) return true;
  ++flow->bad_icrc;
  if (in.signature != nullptr) note_damaged(*flow, *in.signature);
  return true;
}

/// Returns the flow; null if the frame was refused and counted.
ReceiveFlow* Measurement::find_or_add(Incoming& in, const StreamKey& stream) {
  if (in.guess != nullptr && in.guess->stream == stream)
    return refuse_bad(in.guess, in) ? nullptr : in.guess;
  const std::uint64_t hash = StreamKeyHash{}(stream);
  if (ReceiveFlow* known = table_.find(hash, stream)) {
    return refuse_bad(known, in) ? nullptr : known;
  }
  if (!trusted(in)) {
    refuse_bad(nullptr, in);
    return nullptr;
  }
  if (flows_.size() >= kMostFlows) {
    ++totals_.crowded_out;
    return nullptr;
  }
  ReceiveFlow& flow = flows_.emplace_back();
  flow.stream = stream;
  table_.add(hash, flow);
  flow.opcode = in.opcode;
  flow.first = in.now;
  return &flow;
}

void Measurement::count_arrival(ReceiveFlow& flow, const Incoming& in) noexcept {
  ++flow.frames;
  flow.bytes += in.envelope.wire_length;
  flow.last = in.now;
  if (in.envelope.ecn() == roce::kCongestionExperienced) ++flow.ce_marks;
  if (in.trust == Trust::good) ++flow.icrc_checked;
}

/// The tracker of the signature's run. A run that was not seen before is a restart of the sender.
analysis::SequenceTracker& Measurement::tracker_of(ReceiveFlow& flow,
                                                   const wire::SignatureFields& signature) {
  constexpr std::size_t kMostEarlier = 8;
  SignedPart& part = *flow.signature;
  if (signature.run == flow.run) return flow.tracker;
  const auto known = std::ranges::find(part.earlier, signature.run, &SignedPart::EarlierRun::run);
  if (known != part.earlier.end()) return known->tracker;
  if (part.earlier.size() == kMostEarlier) part.earlier.erase(part.earlier.begin());
  part.earlier.push_back({flow.run, std::exchange(flow.tracker, analysis::SequenceTracker())});
  part.damaged.clear();
  flow.run = signature.run;
  part.clock = signature.clock;
  ++flow.order.restarts;
  return flow.tracker;
}

void Measurement::count_signed(Incoming& in, const StreamKey& own,
                               const wire::SignatureFields& signature) {
  in.signature = &signature;
  StreamKey stream = own;
  if (asked_ != nullptr && has_other_ends(in, stream) && !trusted(in)) {
    refuse_bad(nullptr, in);
    return;
  }
  ReceiveFlow* flow = find_or_add(in, stream);
  if (flow == nullptr) return;
  if (!flow->signature) {
    flow->signature = std::make_unique<SignedPart>();
    SignedPart& fresh = *flow->signature;
    flow->run = signature.run;
    fresh.clock = signature.clock;
    fresh.version = signature.version;
    if (options_.join) flow->tracker = analysis::SequenceTracker(signature.sequence, true);
  }
  analysis::SequenceTracker* tracker = &flow->tracker;
  if (signature.sequence != tracker->next() || signature.run != flow->run) [[unlikely]] {
    if (!trusted(in)) {
      refuse_bad(flow, in);
      return;
    }
    tracker = &tracker_of(*flow, signature);
  }
  count_arrival(*flow, in);
  if (asked_ != nullptr) count_not_as_asked(*flow, in, asked_->check(signature, in.envelope));
  // Of copies, the first one has the latency (RFC 7679, 3.7).
  const Copy copy = count_order(tracker->add(signature.sequence), flow->order);
  if (copy == Copy::further) [[unlikely]]
    return;
  if (!in.send_clock || copy == Copy::unknown) {
    ++flow->signature->left_out;
    return;
  }
  const std::int64_t transit = to_ns(in.now) - static_cast<std::int64_t>(signature.send_time_ns);
  if (flow->waiting.add(transit)) [[likely]]
    return;
  count_waiting(*flow);
  flow->waiting.add(transit);
}

/// If the frame is of a flow of the known profile but has other addresses, sets those of `stream`
/// to the profile's, and returns true. A device that delivered only the payload has its own
/// addresses.
bool Measurement::has_other_ends(Incoming& in, StreamKey& stream) {
  if (!in.envelope.is_roce()) return false;
  const roce::FlowKey* ends = asked_->ends_of(stream.key.dest_qp);
  if (ends == nullptr || (roce::equal_gids(ends->source, stream.key.source) &&
                          roce::equal_gids(ends->destination, stream.key.destination)))
    return false;
  stream.key.source = ends->source;
  stream.key.destination = ends->destination;
  return true;
}

/// Adds the fields in which a frame differs from the profile's, if its ICRC is right.
void Measurement::count_not_as_asked(ReceiveFlow& flow, Incoming& in, const NotAsAsked& counts) {
  if (counts.frames == 0 || !trusted(in)) return;
  if (!flow.not_as_asked) flow.not_as_asked = std::make_unique<NotAsAsked>();
  *flow.not_as_asked += counts;
}

void Measurement::count_plain(Incoming& in) {
  const auto frame = roce::parse(in.envelope);
  if (!frame) {
    ++totals_.malformed;
    return;
  }
  ReceiveFlow* flow = find_or_add(in, plain_stream(*frame));
  if (flow == nullptr) return;
  if (!flow->psns) flow->psns = std::make_unique<analysis::PsnStream>();
  if (!flow->psns->expects(frame->bth->psn()) && !trusted(in)) {
    refuse_bad(flow, in);
    return;
  }
  count_arrival(*flow, in);
  if (asked_ != nullptr) count_not_as_asked(*flow, in, asked_->check(flow->stream, *frame));
  count_acknowledge(*flow, *frame);
  flow->psns->add(*frame, flow->order);
}

std::string clock_name(std::uint8_t clock) {
  switch (clock) {
    case wire::ClockId::kUnknown:
      return "an unknown clock";
    case wire::ClockId::kVirtual:
      return "a capture's virtual time";
    case wire::ClockId::kTai:
      return "CLOCK_TAI";
    case wire::ClockId::kPtp:
      return "a PTP hardware clock";
    default:
      return fmt::format("the steady clock of machine {}", clock);
  }
}

void Measurement::adopt(const MeasureTotals& totals) noexcept {
  totals_.frames += totals.frames;
  totals_.bytes += totals.bytes;
  totals_.roce += totals.roce;
  totals_.malformed += totals.malformed;
  totals_.icrc_checked += totals.icrc_checked;
  totals_.bad_icrc += totals.bad_icrc;
  totals_.crowded_out += totals.crowded_out;
  totals_.latencies_not_counted += totals.latencies_not_counted;
}

std::string Measurement::latency_doubt(const ReceiveFlow& flow) const {
  if (!flow.signature || flow.signature->latency.count() == 0) return {};
  const std::uint8_t sender = flow.signature->clock, own = options_.clock;
  const bool both = sender != wire::ClockId::kUnknown && own != wire::ClockId::kUnknown;
  if (both && sender != own) {
    return fmt::format(
        "its frames are stamped by {}, and their arrival is timed by {}: give "
        "--clock tai or --clock ptp at both ends",
        clock_name(sender), clock_name(own));
  }
  // Steady clocks of two machines may have the same number, but never the same time, because they
  // count from the boot.
  constexpr Duration kLongest = std::chrono::minutes(1);
  const Duration least{flow.signature->latency.minimum()};
  const bool steady = both && own >= wire::ClockId::kSteady;
  const Duration bound = flow.signature->clock_bound;
  if (least >= -bound && !(steady && least > kLongest)) return {};
  return fmt::format("the smallest latency is {}: the clocks of the two ends differ",
                     format_duration(least));
}

/// Counts the transit times of a stream of signed frames that wait.
void Measurement::count_waiting(ReceiveFlow& flow) noexcept {
  SignedPart& part = *flow.signature;
  const std::uint64_t others = latency_memory_ - part.latency.bytes();
  flow.waiting.take_all([&](std::int64_t ns) {
    part.jitter.add(ns);
    const bool has_memory = others + part.latency.bytes() < options_.most_latency_memory;
    if (has_memory || part.latency.has_room(ns)) [[likely]]
      return part.latency.add(ns);
    ++totals_.latencies_not_counted;
  });
  latency_memory_ = others + part.latency.bytes();
}

void Measurement::count_latencies() noexcept {
  for (ReceiveFlow& flow : flows_)
    if (flow.signature) count_waiting(flow);
}

void Measurement::finalize() {
  count_latencies();
  for (ReceiveFlow& flow : flows_) {
    if (flow.psns) flow.psns->finalize(flow.order);
  }
}

}  // namespace lw::gen
