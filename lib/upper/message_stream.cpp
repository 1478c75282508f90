// SPDX-License-Identifier: BSD-3-Clause
#include "upper/message_stream.h"

#include <algorithm>

#include "analysis/mtu_evidence.h"
#include "upper/limits.h"

namespace lw::upper {
namespace {

using analysis::CapturedPacket;
using analysis::RequestOrder;
using wire::Operation;
using wire::Position;

constexpr std::uint32_t kLeastMtu = 256;
constexpr std::uint8_t kAckMask = 0xe0, kNak = 0x60;  // AETH syndrome (IBTA vol. 1, 9.7.5.2.1)

bool ends_message(const CapturedPacket& packet) noexcept {
  return packet.info->position == Position::last || packet.info->position == Position::only;
}

void add_bytes(std::vector<std::byte>& to, Bytes bytes, std::size_t most) {
  const std::size_t room = most - std::min(most, to.size());
  const Bytes some = bytes.first(std::min(room, bytes.size()));
  to.insert(to.end(), some.begin(), some.end());
}

PassagePtr passage_at(const CapturedPacket& packet, Instant first, analysis::Sequence psn) {
  return std::make_shared<PassTimes>(PassTimes{.first = first,
                                               .sent = first,
                                               .delivered = packet.stamp,
                                               .first_frame = packet.number,
                                               .last_frame = packet.number,
                                               .previous = first,
                                               .last_psn = psn});
}

}  // namespace

/// Extends a PSN to 64 bits, nearest to the newest one.
MessageStream::Sequence MessageStream::unwrap(std::uint32_t psn) const noexcept {
  constexpr Sequence kBegin = Sequence{1} << 32;
  if (!newest_) return kBegin + psn;
  const auto away = wire::Psn::distance(wire::Psn{analysis::psn_of(*newest_)}, wire::Psn{psn});
  return *newest_ + static_cast<Sequence>(std::int64_t{away});
}

void MessageStream::request(const CapturedPacket& packet, Bytes bytes, std::uint32_t mtu,
                            std::uint32_t first_psn) {
  if (mtu != 0) mtu_ = mtu;
  const Sequence psn = unwrap(packet.psn);
  if (!order_.has_begun()) order_.begin(std::min(psn, unwrap(first_psn)));
  const auto due = order_.due_of(psn);
  if (due != RequestOrder::Due::passed) note_reached(packet, psn);
  newest_ = std::max(newest_.value_or(psn), psn);
  if (due == RequestOrder::Due::passed) return repeated(packet, psn);
  if (due == RequestOrder::Due::now) {
    append(packet, psn, bytes);
    return drain();
  }
  analysis::WaitingRequest waiting{packet, 1, true, {}};
  add_bytes(waiting.bytes, bytes, kMostSendBytes);
  order_.wait(psn, std::move(waiting));
  if (order_.is_full()) {
    order_.pass_gap();
    if (open_) open_->partial = true;
    drain();
  }
}

/// Notes which PSNs a packet passes over for the first time.
void MessageStream::note_reached(const CapturedPacket& packet, Sequence psn) {
  constexpr std::size_t kMost = 1024;
  if (!newest_ || psn <= *newest_ + 1) return;
  skipped_.insert_or_assign(psn - 1, Skipped{*newest_ + 1, packet.stamp, packet.number});
  if (skipped_.size() > kMost) skipped_.erase(skipped_.begin());
}

/// When its direction reached a PSN for the first time: when the packet came, or a later one.
Instant MessageStream::reached(const CapturedPacket& packet, Sequence psn) const noexcept {
  const auto gap = skipped_.lower_bound(psn);
  const bool skipped = gap != skipped_.end() && gap->second.first <= psn;
  return skipped ? std::min(gap->second.stamp, packet.stamp) : packet.stamp;
}

void MessageStream::drain() {
  Sequence psn = 0;
  while (const auto waiting = order_.pop(psn)) append(waiting->packet, psn, waiting->bytes);
}

void MessageStream::append(const CapturedPacket& packet, Sequence psn, Bytes bytes) {
  previous_ = begun_ ? delivered_ : packet.stamp;
  begun_ = true;
  delivered_ = std::max(delivered_, packet.stamp);
  const bool reads = packet.info->operation == Operation::read_request && packet.has_reth;
  if (reads) return begin_read(packet, psn);
  order_.advance(psn, 1, true);
  const bool carries =
      packet.info->operation == Operation::send || packet.info->operation == Operation::write;
  if (!carries) return;
  if (packet.begins_message()) open(packet, psn);
  if (!open_) return;
  PassTimes& passage = *open_->request;
  passage.sent = std::max(passage.first, reached(packet, psn));
  if (packet.stamp > passage.sent && passage.repeated_frame == 0)
    passage.repeated_frame = packet.number;
  passage.delivered = delivered_;
  passage.last_frame = std::max(passage.last_frame, packet.number);
  passage.last_psn = psn;
  if (packet.info->operation == Operation::send) open_->bytes += packet.payload;
  const bool sends = packet.info->operation == Operation::send;
  if (!cut_) add_bytes(data_, bytes, sends ? kMostSendBytes : kMostDataBytes);
  cut_ |= bytes.size() < packet.payload;
  if (ends_message(packet)) close();
}

void MessageStream::open(const CapturedPacket& packet, Sequence psn) {
  data_.clear();
  cut_ = false;
  open_ = UpperMessage{.operation = packet.info->operation,
                       .direction = direction_,
                       .bytes = packet.has_reth ? packet.dma_length : 0,
                       .va = packet.va,
                       .r_key = packet.r_key,
                       .request = passage_at(packet, reached(packet, psn), psn)};
  open_->request->previous = previous_;
}

void MessageStream::close() {
  open_->data = data_;
  unacknowledged_.push_back(open_->request);
  if (unacknowledged_.size() > kMostUnacknowledged) {
    PassTimes& oldest = *unacknowledged_.front();
    oldest.acknowledged = oldest.ack_confirmed = true;
    oldest.acknowledged_at = oldest.known_at = oldest.delivered;
    unacknowledged_.pop_front();
  }
  const UpperMessage message = std::move(*open_);
  open_.reset();
  on_message_(message);
}

void MessageStream::begin_read(const CapturedPacket& packet, Sequence psn) {
  const bool known = mtu_ != 0 || packet.dma_length <= kLeastMtu;
  const std::uint32_t span = analysis::read_span(packet.dma_length, mtu_ != 0 ? mtu_ : kLeastMtu);
  order_.advance(psn, span, known);
  newest_ = std::max(*newest_, known ? psn + span - 1 : psn);
  Read read{.psn = psn, .span = span, .next = psn, .progress = packet.stamp};
  read.message = {.operation = Operation::read_request,
                  .direction = direction_,
                  .bytes = packet.dma_length,
                  .va = packet.va,
                  .r_key = packet.r_key,
                  .request = passage_at(packet, reached(packet, psn), psn)};
  read.message.request->previous = previous_;
  read.message.request->delivered = std::max(delivered_, packet.stamp);
  reads_.push_back(std::move(read));
  if (reads_.size() > kMostReads) reads_.pop_front();
}

// Packets that come again.

void MessageStream::note_repeated(PassTimes& passage, const CapturedPacket& packet) const noexcept {
  if (passage.repeated_frame != 0) return;
  passage.repeated_frame = packet.number;
  passage.repeated_newest = packet.is_request() && unwrap(packet.psn) == newest_;
}

/// A packet came again, and the receiver needed it.
void MessageStream::needed_again(PassTimes& passage, const CapturedPacket& packet) const noexcept {
  passage.delivered = std::max(passage.delivered, packet.stamp);
  passage.last_frame = packet.number;
  note_repeated(passage, packet);
}

void MessageStream::repeated(const CapturedPacket& packet, Sequence psn) {
  if (packet.info->operation == Operation::read_request) repeated_read(packet, psn);
  for (const PassagePtr& passage : unacknowledged_)
    if (passage->last_psn >= psn) needed_again(*passage, packet);
  for (const PassagePtr& passage : acknowledged_) {
    if (passage->last_psn < psn) continue;
    passage->asked_again = true;
    note_repeated(*passage, packet);
  }
  if (open_) needed_again(*open_->request, packet);
  for (Read& read : reads_)
    if (read.psn > psn && read.next == read.psn) needed_again(*read.message.request, packet);
}

void MessageStream::repeated_read(const CapturedPacket& packet, Sequence psn) {
  Read* const read = read_at(psn);
  if (read == nullptr) return;
  if (read->next == read->psn) return needed_again(*read->message.request, packet);
  PassTimes& response = *read->message.response;
  if (!read->done)
    response.held =
        std::min(response.held + stamp_difference(packet.stamp, read->progress), kLongestSpan);
  read->progress = packet.stamp;
  if (response.repeated_frame == 0) response.repeated_frame = packet.number;
}

/// The receiver has all packets up to a PSN.
void MessageStream::acknowledge(Sequence up_to, Instant now) {
  confirm(up_to, now);
  while (!unacknowledged_.empty() && unacknowledged_.front()->last_psn <= up_to) {
    PassTimes& passage = *unacknowledged_.front();
    passage.acknowledged = true;
    passage.acknowledged_at = passage.known_at = now;
    acknowledged_.push_back(std::move(unacknowledged_.front()));
    unacknowledged_.pop_front();
  }
  // What is acknowledged and not captured does not come again.
  while (order_.any_waits() && order_.due_of(up_to) != RequestOrder::Due::passed) {
    order_.pass_gap();
    if (open_) open_->partial = true;
    drain();
  }
}

/// A sender that has no ACK repeats what the receiver has: it waits for the next ACK. One that
/// covers more ends that.
void MessageStream::confirm(Sequence up_to, Instant now) {
  for (const PassagePtr& passage : acknowledged_)
    if (passage->asked_again && passage->last_psn <= up_to) {
      passage->known_at = now;
      passage->asked_again = false;
    }
  if (up_to <= acknowledged_to_) return;
  while (!acknowledged_.empty() && acknowledged_.front()->last_psn <= acknowledged_to_) {
    acknowledged_.front()->ack_confirmed = true;
    acknowledged_.pop_front();
  }
  acknowledged_to_ = up_to;
}

// Responses.

void MessageStream::response(const CapturedPacket& packet, Bytes bytes) {
  if (!newest_) return;
  const Sequence psn = unwrap(packet.psn);
  if (psn > *newest_ + 1) return;
  const Operation operation = packet.info->operation;
  if (operation == Operation::read_response) {
    if (psn > 0) acknowledge(psn - 1, packet.stamp);
    return read_response(packet, psn, bytes);
  }
  if (!packet.has_aeth) return;
  const std::uint8_t kind = packet.syndrome & kAckMask;
  if (kind == 0) return acknowledge(psn, packet.stamp);
  if (psn > 0) acknowledge(psn - 1, packet.stamp);  // a NAK, or an RNR NAK
}

MessageStream::Read* MessageStream::read_at(Sequence psn) noexcept {
  for (auto read = reads_.rbegin(); read != reads_.rend(); ++read)
    if (read->psn <= psn && psn - read->psn < read->span) return &*read;
  return nullptr;
}

void MessageStream::read_response(const CapturedPacket& packet, Sequence psn, Bytes bytes) {
  Read* const read = read_at(psn);
  if (read == nullptr) return;
  if (psn < read->next) return answer_again(*read, packet, psn);
  if (!read->message.response) read->message.response = passage_at(packet, packet.stamp, psn);
  PassTimes& passage = *read->message.response;
  if (psn > read->next) read->message.partial = true;
  if (psn == read->psn) add_bytes(read->data, bytes, kMostDataBytes);
  passage.sent = passage.delivered = packet.stamp;
  passage.last_frame = packet.number;
  passage.last_psn = psn;
  read->next = psn + 1;
  read->progress = packet.stamp;
  if (!ends_message(packet) || read->done) return;
  read->done = true;
  UpperMessage message = read->message;
  message.data = read->data;
  on_message_(message);
}

/// A response comes again: its requester did not have it, or a packet before it.
void MessageStream::answer_again(Read& read, const CapturedPacket& packet, Sequence psn) {
  if (!read.message.response) return;
  if (psn == read.psn && read.data.empty()) read.message.partial = false;
  needed_again(*read.message.response, packet);
}

void MessageStream::finish() {
  while (order_.any_waits()) {
    order_.pass_gap();
    if (open_) open_->partial = true;
    drain();
  }
}

}  // namespace lw::upper
