// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/flow_cursor.h"

#include <algorithm>
#include <limits>

#include "core/chance.h"
#include "wire/icrc.h"
#include "wire/signature.h"

namespace lw::gen {
namespace {

using config::FaultKind;
using wire::Encapsulation;

constexpr std::size_t kBthLeft = 8;       // bytes of a truncated BTH, without AckReq and PSN
constexpr std::uint16_t kUdpExcess = 4;   // bytes in the UDP length beyond the packet
constexpr std::uint16_t kOtherKey = 0x1;  // lowest P_Key bit: another partition, same membership

/// True if a frame can have the fault; the arguments are those of FaultPlan::next().
bool fits(FaultKind kind, std::uint64_t frame, std::uint32_t packet,
          std::uint32_t packets) noexcept {
  switch (kind) {
    case FaultKind::psn_gap:
    case FaultKind::duplicate_psn:
      return frame > 0;
    case FaultKind::first_after_first:
      return packet > 0;
    case FaultKind::middle_without_first:
      return packet == 0;
    case FaultKind::short_middle:
      return packet > 0 && packet + 1 < packets;
    default:
      return true;
  }
}

void store(const roce::FrameLayout& layout, wire::MutableBytes frame, std::uint32_t icrc) noexcept {
  wire::store_icrc(frame.subspan(layout.icrc, wire::kIcrcSize), icrc);
}

void set_lengths(Encapsulation encapsulation, const roce::FrameLayout& layout,
                 wire::MutableBytes frame) noexcept {
  const auto length = static_cast<std::uint16_t>(frame.size() - layout.network);
  if (encapsulation == Encapsulation::ipv4) {
    const auto header = frame.subspan(layout.network, sizeof(wire::Ipv4));
    auto* ip = wire::view<wire::Ipv4>(header);
    ip->total_length.set(length);
    ip->checksum.set(0);
    ip->checksum.set(wire::ipv4_checksum(header));
  } else {
    wire::view_at<wire::Ipv6>(frame, layout.network)
        ->payload_length.set(static_cast<std::uint16_t>(length - sizeof(wire::Ipv6)));
  }
  if (encapsulation == Encapsulation::grh) return;
  wire::view_at<wire::Udp>(frame, layout.udp)
      ->length.set(static_cast<std::uint16_t>(frame.size() - layout.udp));
}

}  // namespace

struct FaultPlan::Entry {
  const config::Fault* fault;
  Chance chance;
  Threshold threshold;
  std::size_t listed = 0;  // entries of fault->frames that are done
};

FaultPlan::FaultPlan(const std::vector<config::Fault>& faults, std::uint64_t seed,
                     std::string_view flow_name) {
  for (const config::Fault& fault : faults) {
    const Chance chance(seed, hash_name(flow_name) ^ hash_name(name_of(fault.kind)));
    entries_.push_back({&fault, chance, Threshold(fault.rate)});
  }
}

FaultPlan::~FaultPlan() = default;

std::optional<FaultKind> FaultPlan::next(std::uint64_t frame, std::uint32_t packet,
                                         std::uint32_t packets) noexcept {
  for (Entry& entry : entries_) {
    const auto& listed = entry.fault->frames;
    const bool due = entry.listed < listed.size() && listed[entry.listed] <= frame;
    if (!due && !entry.threshold.hit(entry.chance.bits(frame))) continue;
    if (!fits(entry.fault->kind, frame, packet, packets)) continue;
    if (due) ++entry.listed;
    return entry.fault->kind;
  }
  return std::nullopt;
}

void apply_fault(FaultKind kind, Encapsulation encapsulation, const roce::FrameLayout& layout,
                 wire::MutableBytes frame) noexcept {
  auto* bth = wire::view_at<wire::Bth>(frame, layout.bth);
  if (kind == FaultKind::bad_icrc) {
    return store(layout, frame, ~wire::load_icrc(frame.subspan(layout.icrc, wire::kIcrcSize)));
  }
  if (kind == FaultKind::wrong_udp_length) {
    auto* udp = wire::view_at<wire::Udp>(frame, layout.udp);
    udp->length.set(static_cast<std::uint16_t>(udp->length.get() + kUdpExcess));
  }
  wire::BthFields fields = bth->fields();
  if (kind == FaultKind::wrong_pad_count) {
    fields.pad_count = static_cast<std::uint8_t>((fields.pad_count + 1) & 3);
  }
  if (kind == FaultKind::wrong_tver) fields.version = 1;
  if (kind == FaultKind::bad_p_key) fields.p_key ^= kOtherKey;
  bth->set(fields);
  const wire::Bytes covered = frame.subspan(layout.network, layout.icrc - layout.network);
  store(layout, frame, wire::icrc(encapsulation, covered, layout.bth - layout.network));
}

std::size_t truncated_size(const roce::FrameLayout& layout) noexcept {
  return layout.bth + kBthLeft;
}

void truncate(Encapsulation encapsulation, const roce::FrameLayout& layout, wire::Bytes frame,
              wire::MutableBytes out) noexcept {
  const auto rest = out.first(truncated_size(layout));
  std::ranges::copy(frame.first(rest.size()), rest.begin());
  set_lengths(encapsulation, layout, rest);
}

namespace {

/// Returns the PSNs that a message consumes: none for a CNP, because its PSN is always 0.
std::uint32_t psns_of(const roce::MessageFields& message) {
  return message.operation == wire::Operation::cnp ? 0 : psn_count(message);
}

/// Returns a * b, at most 2^64 - 1.
std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                : product;
}

bool adds_frames(const config::Fault& fault) {
  return fault.kind == FaultKind::first_after_first ||
         fault.kind == FaultKind::middle_without_first;
}

}  // namespace

FlowCursor::FlowCursor(const config::Flow& flow, LayoutCache& layouts, PayloadPool& payloads)
    : pacer_(flow, payloads.seed()),
      message_psn_(flow.message.first_psn),
      ack_every_(flow.message.ack_every),
      immediate_step_(flow.immediate_step),
      asks_for_acks_(packet_of(flow.message, packet_count(flow.message) - 1).ack_req),
      sizes_vary_(flow.sizes.vary()),
      endless_(!flow.repeat),
      wants_signature_(flow.signature),
      messages_(saturating_product(flow.messages, flow.repeat.value_or(0))),
      va_slots_(flow.va_slots),
      va_step_(flow.va_step),
      first_va_(flow.frame.reth.va),
      templates_(flow, layouts, payloads),
      flow_(&flow),
      sizes_(payloads.seed(), hash_name(full_name(flow))),
      now_(flow.message) {
  if (flow.faults) {
    faults_ = std::make_unique<FaultPlan>(*flow.faults, payloads.seed(), full_name(flow));
  }
  fields_.va = first_va_;
  fields_.sequence = wire::Signature::number_word(flow.origin.run, 0);
  fields_.msn = flow.frame.aeth.msn;
  fields_.immediate = flow.frame.immdt.immediate;
  sizes_vary_ ? draw_size() : set_size();
  begin_packet();
}

/// Returns the PSNs of the `messages` messages before the present one, or before those of the
/// previous call. For READ requests with random sizes.
std::uint32_t FlowCursor::psns_of_earlier(std::uint64_t messages) noexcept {
  if (stepped_at_ != message_) stepped_ = 0;
  stepped_at_ = message_;
  std::uint32_t psns = 0;
  roce::MessageFields earlier = now_;
  for (std::uint64_t i = 0; i < messages; ++i) {
    earlier.length = flow_->sizes.draw(sizes_, message_ - ++stepped_);
    psns += psns_of(earlier);
  }
  return psns;
}

FlowCursor::Numbers FlowCursor::consumed(std::uint64_t frames, std::optional<FaultKind> fault,
                                         bool is_signed) noexcept {
  Numbers numbers{.sequence = is_signed ? frames : 0};
  const auto count = static_cast<std::uint32_t>(frames);
  if (fault == FaultKind::middle_without_first) {
    numbers.psns = count;
  } else if (flow_->message.operation == wire::Operation::read_request && sizes_vary_) {
    numbers.psns = psns_of_earlier(frames);
  } else {
    numbers.psns = count * (packets_ == 1 ? psns_ : 1);
  }
  if (fault == FaultKind::psn_gap) numbers.psns += count;
  if (fault == FaultKind::duplicate_psn) numbers.psns = 0;
  return numbers;
}

void FlowCursor::take_back(const Numbers& numbers) noexcept {
  fields_.sequence -= numbers.sequence;
  fields_.psn = fields_.psn - numbers.psns;
  message_psn_ = message_psn_ - numbers.psns;
  last_psn_ = last_psn_ - numbers.psns;
}

bool FlowCursor::skip(std::uint32_t frames) noexcept {
  pacer_.skip(work(), frames);
  skip_packets(frames);
  return has_next();
}

/// Skips all frames but the last by their steps, and the last one by next_packet().
inline void FlowCursor::skip_packets(std::uint32_t frames) noexcept {
  if (const std::uint32_t before = frames - 1; before > 0) {
    if (frame_->has_signature(fields_)) fields_.sequence += before;
    if (packets_ > 1) {
      packet_ += before;
    } else {
      message_ += before;
      message_psn_ = message_psn_ + before * psns_;
      fields_.va += before * va_step_;
      va_slot_ += before;
      fields_.msn += before;
      fields_.immediate += before * immediate_step_;
    }
  }
  next_packet();
}

inline void FlowCursor::next_packet() noexcept {
  if (frame_->has_signature(fields_)) ++fields_.sequence;
  if (faults_) [[unlikely]]
    return next_packet_after_fault();
  if (++packet_ < packets_) return begin_packet();
  next_message();
}

inline void FlowCursor::next_message() noexcept {
  ++message_;
  message_psn_ = message_psn_ + psns_;
  fields_.va += va_step_;
  if (++va_slot_ >= va_slots_) {
    va_slot_ = 0;
    fields_.va = first_va_;
  }
  ++fields_.msn;
  fields_.immediate += immediate_step_;
  packet_ = 0;
  if (sizes_vary_) draw_size();
  begin_packet();
}

inline void FlowCursor::begin_packet() noexcept {
  if (faults_) [[unlikely]]
    choose_fault();
  fields_.psn = message_psn_ + packet_;
  if (packets_ > 1) frame_ = &templates_.valid(position());
  fields_.ack_req = asks_for_acks_ && is_ack_due();
  if (fault_) [[unlikely]]
    apply_fault_to_packet(*fault_);
}

void FlowCursor::draw_size() noexcept {
  now_.length = flow_->sizes.draw(sizes_, message_);
  set_size();
}

void FlowCursor::set_size() noexcept {
  packets_ = packet_count(now_);
  psns_ = psns_of(now_);
  fields_.dma_length = static_cast<std::uint32_t>(now_.length);
  // Payload of the message's last packet; the templates of the other packets have the MTU.
  fields_.payload =
      static_cast<std::uint32_t>(now_.length - std::uint64_t{packets_ - 1} * now_.mtu);
  if (packets_ == 1) frame_ = &templates_.valid(PacketPosition::only);
}

/// Faults of the PSN stream change the state here, so that the next frames continue from them.
void FlowCursor::choose_fault() noexcept {
  frame_ = &templates_.valid(position());  // the last frame may have had a faulty template
  fault_ = faults_->next(frame_number_, packet_, packets_);
  if (fault_ == FaultKind::psn_gap) message_psn_ = message_psn_ + 1;
  if (fault_ == FaultKind::duplicate_psn) message_psn_ = last_psn_ - packet_;
  if (fault_ == FaultKind::first_after_first) {
    message_psn_ = message_psn_ + packet_;
    packet_ = 0;
  }
}

/// Selects the template of a fault that changes the frame.
void FlowCursor::apply_fault_to_packet(FaultKind kind) noexcept {
  if (is_in_bytes(kind) || kind == FaultKind::short_middle) {
    frame_ = &templates_.faulty(kind, position());
  } else if (is_inserted()) {
    frame_ = &templates_.valid(PacketPosition::middle);
    fields_.ack_req = false;
  }
}

void FlowCursor::next_packet_after_fault() noexcept {
  ++frame_number_;
  last_psn_ = fields_.psn;
  if (is_inserted()) {
    message_psn_ = message_psn_ + 1;
  } else if (++packet_ == packets_) {
    return next_message();
  }
  begin_packet();
}

Pacer::EvenPace FlowCursor::begin_batch(std::uint32_t most, FieldSteps& step) noexcept {
  const Pacer::EvenPace pace = pacer_.even_pace(work(), even_frames(most, step));
  batch_frames_ = pace.frames;
  return pace;
}

bool FlowCursor::end_batch() noexcept {
  const bool more = skip(batch_frames_);
  batch_frames_ = 0;
  return more;
}

/// Returns how many frames, from the next one on, differ by constant steps of their fields.
std::uint32_t FlowCursor::even_frames(std::uint32_t most, FieldSteps& step) const noexcept {
  std::uint64_t frames = most;
  if (faults_ || frame_->layout() == nullptr) return 1;
  if (packets_ > 1) {
    if (position() != PacketPosition::middle) return 1;
    frames = std::min<std::uint64_t>(frames, packets_ - 1 - packet_);
    if (asks_for_acks_ && ack_every_ != 0) {  // AckReq must not change
      const std::uint32_t until_ack = ack_every_ - (packet_ + 1) % ack_every_;
      frames = std::min<std::uint64_t>(frames, fields_.ack_req ? 1 : until_ack);
    }
    step = {.psn = 1};
    return static_cast<std::uint32_t>(frames);
  }
  if (sizes_vary_ || va_step_ > std::numeric_limits<std::uint32_t>::max()) return 1;
  if (!endless_) frames = std::min(frames, messages_ - message_);
  frames = std::min(frames, va_slots_ - va_slot_);
  step = {.psn = psns_, .va = static_cast<std::uint32_t>(va_step_), .immediate = immediate_step_};
  return static_cast<std::uint32_t>(frames);
}

bool FlowCursor::is_regular() const noexcept {
  if (flow_->sizes.vary()) return false;
  return !flow_->faults || std::ranges::none_of(*flow_->faults, adds_frames);
}

std::optional<std::uint64_t> FlowCursor::total_frames() const noexcept {
  if (endless_) return std::nullopt;
  return saturating_product(messages_, packets_);
}

}  // namespace lw::gen
