// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/extraction/send_stream.h"

#include <algorithm>

namespace lw::analysis {

using wire::Position;

void SendStream::begin(const CapturedPacket& packet) {
  const bool begins =
      packet.info->position == Position::first || packet.info->position == Position::only;
  open_ = DataMessage{.image = image_,
                      .session = image().session,
                      .direction = image().direction,
                      .operation = packet.info->operation,
                      .position = image().end,
                      .partial = !begins,
                      .first_psn = packet.psn,
                      .first_frame = packet.number};
  mtu_ = 0;
}

/// The packets missing within a message are as long as its others. Returns false if there is no
/// room.
bool SendStream::leave_hole(Sequence psn, std::uint64_t missing, std::uint64_t frame) {
  open_->partial = true;
  const std::uint64_t bytes = missing * mtu_;
  if (bytes == 0) return true;
  if (bytes > DataImage::kLongestStream - image().end) return false;
  images_.expect(image_, Range::of(image().end, bytes), frame);
  holes_.push_back({psn - missing, psn, image().end, mtu_});
  if (holes_.size() > kMostHoles) holes_.pop_front();
  image().end += bytes;
  open_->bytes += bytes;
  open_->missing += bytes;
  return true;
}

bool SendStream::append(const CapturedPacket& packet, Sequence psn, std::uint64_t missing,
                        std::span<const std::byte> bytes) {
  const Position position = packet.info->position;
  const bool begins = position == Position::first || position == Position::only;
  if (begins || (missing > 0 && mtu_ == 0)) finish();
  if (open_ && missing > 0 && !leave_hole(psn, missing, packet.number)) return false;
  if (!open_) begin(packet);
  if (packet.payload > DataImage::kLongestStream - image().end) return false;
  if (packet.payload > 0)
    images_.expect(image_, Range::of(image().end, packet.payload), packet.number);
  const bool room = bytes.empty() || images_.place(image_, image().end, bytes, packet.number);
  image().end += packet.payload;
  ++image().packets;
  open_->bytes += packet.payload;
  const std::uint64_t cut = packet.payload - (room ? bytes.size() : 0);
  open_->missing += cut;
  open_->partial = open_->partial || cut > 0;
  open_->last_frame = packet.number;
  open_->has_immediate = packet.has_immediate;
  open_->immediate = packet.immediate;
  if (position == Position::first || position == Position::middle) mtu_ = packet.payload;
  if (position == Position::last || position == Position::only) report();
  return room;
}

bool SendStream::fill(const CapturedPacket& packet, Sequence psn,
                      std::span<const std::byte> bytes) {
  const auto hole = std::ranges::find_if(
      holes_, [&](const Hole& one) { return psn >= one.first && psn < one.end; });
  if (hole == holes_.end() || bytes.size() > hole->mtu || bytes.empty()) return false;
  const std::uint64_t position = hole->position + (psn - hole->first) * hole->mtu;
  if (image().written.missing_in(Range::of(position, bytes.size())).empty()) {
    ++image().repeated;
    return true;
  }
  ++image().packets;
  return images_.place(image_, position, bytes, packet.number);
}

void SendStream::report() {
  images_.completed(*open_);
  open_.reset();
}

void SendStream::finish() {
  if (!open_) return;
  open_->partial = true;
  report();
}

}  // namespace lw::analysis
