// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/extraction/extractor.h"

#include <algorithm>

#include "analysis/qp_flows.h"

namespace lw::analysis {
namespace {

using wire::Operation;
using wire::Position;
using Bytes = std::span<const std::byte>;

constexpr std::uint32_t kLargestMtu = 4096;
constexpr std::uint32_t kMostPsns = 1 << 23;  // of one message

bool is_write(const CapturedPacket& packet) noexcept {
  return packet.info->operation == Operation::write ||
         packet.info->operation == Operation::atomic_write;
}

bool is_atomic_request(const CapturedPacket& packet) noexcept {
  return packet.info->operation == Operation::cmp_swap ||
         packet.info->operation == Operation::fetch_add;
}

/// The bytes that an atomic leaves in memory. Hosts store numbers with the lowest byte first.
std::array<std::byte, 8> result_of(const Transfer& atomic, std::uint64_t original) noexcept {
  std::uint64_t value = original + atomic.operands[1];
  if (atomic.operation == Operation::cmp_swap)
    value = original == atomic.operands[0] ? atomic.operands[1] : original;
  std::array<std::byte, 8> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> 8 * i);
  return bytes;
}

bool is_same(const Transfer& a, const Transfer& b) noexcept {
  return a.psn == b.psn && a.operation == b.operation && a.va == b.va && a.r_key == b.r_key &&
         a.length == b.length && a.operands[0] == b.operands[0] && a.operands[1] == b.operands[1];
}

Transfer transfer_of(const DataPacket& data, Sequence psn, std::uint64_t length) {
  const CapturedPacket& packet = data.packet;
  Transfer transfer{.psn = psn,
                    .operation = packet.info->operation,
                    .r_key = packet.r_key,
                    .va = packet.va,
                    .length = length == 0 ? 0 : room_behind(packet.va, length),
                    .first_frame = packet.number,
                    .last_frame = packet.number};
  transfer.operands[0] = data.operands[0];
  transfer.operands[1] = data.operands[1];
  return transfer;
}

}  // namespace

Extractor::Requests& Extractor::requests_of(std::uint32_t session, std::uint8_t direction) {
  const std::pair key{session, direction};
  const auto known = requests_.find(key);
  if (known != requests_.end()) return known->second;
  most_transfers_ =
      std::clamp(kAllTransfers / (requests_.size() + 1), kLeastTransfers, kMostTransfers);
  return requests_.try_emplace(key, *this, session, direction).first->second;
}

/// Extends a PSN to 64 bits, nearest to the newest one.
Sequence Extractor::unwrap(const Requests& requests, std::uint32_t psn) noexcept {
  constexpr Sequence kBegin = Sequence{1} << 32;
  if (!requests.newest) return kBegin + psn;
  const auto away = wire::Psn::distance(
      wire::Psn{static_cast<std::uint32_t>(*requests.newest & wire::Psn::kMask)}, wire::Psn{psn});
  return *requests.newest + static_cast<Sequence>(std::int64_t{away});
}

void Extractor::unplaced(const Requests& requests, Unplaced reason, const CapturedPacket& packet,
                         std::uint64_t bytes) {
  Leftover& left = leftovers_[{requests.session, requests.direction}];
  UnplacedPackets& counts = left.unplaced[static_cast<std::size_t>(reason)];
  if (counts.packets++ == 0) counts.first_frame = packet.number;
  counts.first_frame = std::min(counts.first_frame, packet.number);
  counts.last_frame = std::max(counts.last_frame, packet.number);
  counts.bytes += bytes;
}

void Extractor::add(const DataPacket& data) {
  const CapturedPacket& packet = data.packet;
  if (!packet.is_request() && !packet.is_response()) return;
  const bool asks = packet.is_request();
  Requests& requests =
      requests_of(data.session, asks ? data.direction : std::uint8_t(1 - data.direction));
  requests.point = data.point;
  if (data.bad && !choice_.bad_icrcs)
    return unplaced(requests, Unplaced::bad_icrc, packet, packet.payload);
  if (!packet.complete || data.bytes.size() > packet.payload)
    return unplaced(requests, Unplaced::malformed, packet, packet.payload);
  asks ? take_request(requests, data) : take_response(requests, data);
}

void Extractor::take_request(Requests& requests, const DataPacket& data) {
  const CapturedPacket& packet = data.packet;
  const Sequence psn = unwrap(requests, packet.psn);
  if (!requests.newest) requests.newest = psn;
  if (!requests.order.has_begun())
    requests.order.begin(std::min(psn, unwrap(requests, data.first_psn)));
  requests.newest = std::max(*requests.newest, psn);
  if (is_write(packet) && choice_.memory) take_write(requests, data, psn);
  if (is_atomic_request(packet) && choice_.memory) take_atomic(requests, data, psn);
  if (packet.info->operation == Operation::read_request && packet.has_reth && choice_.reads)
    take_read(requests, data, psn);
  take_in_order(requests, data, psn);
}

// Memory.

void Extractor::take_write(Requests& requests, const DataPacket& data, Sequence psn) {
  const CapturedPacket& packet = data.packet;
  Transfer* transfer =
      packet.begins_message() ? begin_write(requests, data, psn) : requests.transfers.find(psn);
  const bool is_known = transfer != nullptr && !transfer->is_read() && !transfer->is_atomic();
  if (is_known) return place_write(requests, *transfer, packet, psn, data.bytes);
  if (packet.begins_message()) return;  // begin_write() has counted the reason
  requests.headless.push_back({packet, psn, {data.bytes.begin(), data.bytes.end()}});
  if (requests.headless.size() <= kMostHeadless) return;
  const Headless& oldest = requests.headless.front();
  unplaced(requests, Unplaced::no_address, oldest.packet, oldest.packet.payload);
  requests.headless.pop_front();
}

/// Begins a WRITE. Returns null if the packet has no usable address.
Transfer* Extractor::begin_write(Requests& requests, const DataPacket& data, Sequence psn) {
  const CapturedPacket& packet = data.packet;
  const bool first = packet.info->position == Position::first;
  if (!packet.has_reth) {
    unplaced(requests, Unplaced::no_address, packet, packet.payload);
    return nullptr;
  }
  Transfer transfer = transfer_of(data, psn, packet.dma_length);
  transfer.mtu = packet.payload;
  if (first && packet.payload > 0) transfer.span = read_span(packet.dma_length, packet.payload);
  if ((first && packet.payload == 0) || transfer.span > kMostPsns) {
    unplaced(requests, Unplaced::malformed, packet, packet.payload);
    return nullptr;
  }
  Transfer* const known = requests.transfers.find(psn);
  if (known != nullptr && is_same(*known, transfer)) return known;
  Transfer& added = begin_memory(requests, data, std::move(transfer));
  if (first) place_headless(requests, added);
  return &added;
}

Transfer& Extractor::begin_memory(Requests& requests, const DataPacket& data, Transfer transfer) {
  transfer.position = transfer.va;
  transfer.image = images_.memory_of(data.point, data.host, transfer.r_key, requests.session,
                                     requests.direction);
  if (transfer.length > 0)
    images_.expect(transfer.image, Range::of(transfer.va, transfer.length), data.packet.number);
  return requests.transfers.add(std::move(transfer));
}

void Extractor::place_write(Requests& requests, Transfer& transfer, const CapturedPacket& packet,
                            Sequence psn, Bytes bytes) {
  const std::uint64_t offset = (psn - transfer.psn) * transfer.mtu;
  const std::uint64_t rest = offset < transfer.length ? transfer.length - offset : 0;
  if (packet.payload > rest) unplaced(requests, Unplaced::malformed, packet, packet.payload - rest);
  if (packet.has_immediate) {
    transfer.has_immediate = true;
    transfer.immediate = packet.immediate;
  }
  place(requests, transfer, packet, offset,
        bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(rest, bytes.size()))));
}

/// Stores packets that came before the first packet of their message.
void Extractor::place_headless(Requests& requests, Transfer& transfer) {
  std::erase_if(requests.headless, [&](const Headless& one) {
    if (!transfer.covers(one.psn)) return false;
    place_write(requests, transfer, one.packet, one.psn, one.bytes);
    return true;
  });
}

void Extractor::take_atomic(Requests& requests, const DataPacket& data, Sequence psn) {
  constexpr std::uint64_t kBytes = 8;
  Transfer transfer = transfer_of(data, psn, kBytes);
  if (transfer.length < kBytes) return unplaced(requests, Unplaced::malformed, data.packet, kBytes);
  const Transfer* const known = requests.transfers.find(psn);
  if (known == nullptr || !is_same(*known, transfer))
    begin_memory(requests, data, std::move(transfer));
}

/// Writes the bytes of a transfer that its packets have not placed yet, and that no later request
/// has written.
void Extractor::place(Requests& requests, Transfer& transfer, const CapturedPacket& packet,
                      std::uint64_t offset, Bytes bytes) {
  transfer.first_frame = std::min(transfer.first_frame, packet.number);
  transfer.last_frame = std::max(transfer.last_frame, packet.number);
  if (bytes.empty()) return;
  const auto fresh = transfer.bytes.missing_in(offset, bytes.size());
  ++(fresh.empty() ? images_[transfer.image].repeated : images_[transfer.image].packets);
  bool room = true;
  for (const Range& some : fresh) {
    transfer.placed += some.length();
    const Range target = Range::of(transfer.position + some.first, some.length());
    std::vector<Range> parts{target};
    if (!transfer.is_read()) parts = requests.transfers.without_later(transfer, target);
    if (transfer.old) parts = images_[transfer.image].written.missing_in(target);
    for (const Range& part : parts) {
      const auto at = static_cast<std::size_t>(part.first - transfer.position - offset);
      const auto length = static_cast<std::size_t>(part.length());
      room &= images_.place(transfer.image, part.first, bytes.subspan(at, length), packet.number);
    }
  }
  transfer.bytes.add(offset, bytes.size(), packet.number);
  if (!room) unplaced(requests, Unplaced::no_room, packet, bytes.size());
}

// SENDs.

/// All requests pass through RequestOrder: only their order shows a gap between SENDs.
void Extractor::take_in_order(Requests& requests, const DataPacket& data, Sequence psn) {
  const CapturedPacket& packet = data.packet;
  if (packet.info->transport == wire::Transport::ud)
    return append(requests, packet, psn, 0, data.bytes);
  const bool reads = packet.info->operation == Operation::read_request && packet.has_reth;
  const bool is_known = !reads || data.mtu != 0 || packet.dma_length <= 256;
  const std::uint32_t span =
      reads ? read_span(packet.dma_length, data.mtu != 0 ? data.mtu : 256) : 1;
  switch (requests.order.due_of(psn)) {
    case RequestOrder::Due::passed:
      return take_passed(requests, data, psn);
    case RequestOrder::Due::later: {
      WaitingRequest request{packet, span, is_known, {}};
      if (packet.info->operation == Operation::send && choice_.sends)
        request.bytes.assign(data.bytes.begin(), data.bytes.end());
      requests.order.wait(psn, std::move(request));
      while (requests.order.is_full()) pass_gap(requests);
      return;
    }
    case RequestOrder::Due::now:
      append(requests, packet, psn, 0, data.bytes);
      requests.order.advance(psn, span, is_known);
      return drain(requests, 0);
  }
}

/// Processes a packet that comes again, or after its gap was passed.
void Extractor::take_passed(Requests& requests, const DataPacket& data, Sequence psn) {
  const auto left = leftovers_.find({requests.session, requests.direction});
  const bool was_missing =
      left != leftovers_.end() && left->second.missing.missing_in({psn, psn}).empty();
  if (was_missing) left->second.missing.remove({psn, psn});
  if (data.packet.info->operation != Operation::send || !choice_.sends) return;
  if (requests.sends && requests.sends->fill(data.packet, psn, data.bytes)) return;
  if (was_missing)
    unplaced(requests, Unplaced::late, data.packet, data.packet.payload);
  else if (requests.sends)
    ++requests.sends->image().repeated;
}

void Extractor::append(Requests& requests, const CapturedPacket& packet, Sequence psn,
                       std::uint64_t missing, Bytes bytes) {
  if (packet.info->operation != Operation::send) {
    if (requests.sends) requests.sends->finish();
    return;
  }
  if (!choice_.sends) return;
  if (!requests.sends)
    requests.sends = std::make_unique<SendStream>(
        images_, images_.begin_stream(DataKind::sends, requests.point, requests.session,
                                      requests.direction));
  if (!requests.sends->append(packet, psn, missing, bytes))
    unplaced(requests, Unplaced::no_room, packet, packet.payload);
}

void Extractor::drain(Requests& requests, std::uint64_t missing) {
  Sequence psn = 0;
  while (const auto request = requests.order.pop(psn)) {
    append(requests, request->packet, psn, missing, request->bytes);
    requests.order.advance(psn, request->span, request->span_is_known);
    missing = 0;
  }
}

void Extractor::pass_gap(Requests& requests) {
  const Range gap = requests.order.pass_gap();
  Ranges& missing = leftovers_[{requests.session, requests.direction}].missing;
  for (const Range& unknown : requests.transfers.uncovered(gap)) missing.add(unknown, 0);
  drain(requests, gap.length());
}

// READs.

void Extractor::take_read(Requests& requests, const DataPacket& data, Sequence psn) {
  const CapturedPacket& packet = data.packet;
  Transfer transfer = transfer_of(data, psn, packet.dma_length);
  transfer.mtu = data.mtu;
  transfer.span = read_span(packet.dma_length, data.mtu != 0 ? data.mtu : kLargestMtu);
  const Transfer* const known = requests.transfers.find(psn);
  if (known != nullptr && known->is_read()) {
    const std::uint64_t offset = (psn - known->psn) * known->mtu;
    const bool of_rest = packet.r_key == known->r_key && packet.va == known->va + offset &&
                         offset + transfer.length == known->length;
    if (of_rest) return;  // the rest of a READ, requested again
  }
  requests.transfers.add(std::move(transfer));
}

void Extractor::take_response(Requests& requests, const DataPacket& data) {
  const Operation operation = data.packet.info->operation;
  const bool reads = operation == Operation::read_response && choice_.reads;
  const bool atomic = operation == Operation::atomic_ack && choice_.memory;
  if (!reads && !atomic) return;
  const Sequence psn = unwrap(requests, data.packet.psn);
  if (!requests.newest) requests.newest = psn;
  Transfer* const asked = requests.transfers.find(psn);
  if (reads && asked != nullptr && asked->is_read()) return take_answer(requests, data, psn);
  if (reads) {
    if (requests.unasked) requests.newest = std::max(*requests.newest, psn);
    return take_unasked(requests, data, psn);
  }
  if (asked == nullptr || !asked->is_atomic() || asked->ended) return;
  asked->ended = true;
  place(requests, *asked, data.packet, 0, result_of(*asked, data.operands[0]));
}

std::uint32_t Extractor::reads_of(Requests& requests) {
  if (requests.reads == Transfer::kNoImage)
    requests.reads =
        images_.begin_stream(DataKind::reads, requests.point, requests.session, requests.direction);
  return requests.reads;
}

/// Sets the place of a READ in the stream, at its first response. Returns false if there is no
/// room.
bool Extractor::allocate(Requests& requests, Transfer& transfer, std::uint64_t frame) {
  if (transfer.image != Transfer::kNoImage) return true;
  const std::uint32_t reads = reads_of(requests);
  DataImage& image = images_[reads];
  if (transfer.length > DataImage::kLongestStream - image.end) return false;
  end_unasked(requests);
  transfer.image = reads;
  transfer.position = image.end;
  if (transfer.length > 0) images_.expect(reads, Range::of(image.end, transfer.length), frame);
  image.end += transfer.length;
  return true;
}

void Extractor::take_answer(Requests& requests, const DataPacket& data, Sequence psn) {
  const CapturedPacket& packet = data.packet;
  Transfer& transfer = *requests.transfers.find(psn);
  const bool full =
      packet.info->position == Position::first || packet.info->position == Position::middle;
  if (full && transfer.mtu == 0) {
    transfer.mtu = packet.payload;
    if (transfer.mtu != 0 && transfer.length != 0)
      transfer.span = static_cast<std::uint32_t>((transfer.length - 1) / transfer.mtu + 1);
  }
  std::uint64_t offset = (psn - transfer.psn) * transfer.mtu;
  if (transfer.mtu == 0 && psn != transfer.psn) offset = transfer.length - packet.payload;
  if (offset > transfer.length || packet.payload > transfer.length - offset)
    return unplaced(requests, Unplaced::malformed, packet, packet.payload);
  if (!allocate(requests, transfer, packet.number))
    return unplaced(requests, Unplaced::no_room, packet, packet.payload);
  place(requests, transfer, packet, offset, data.bytes);
}

/// Processes a response without a captured request: a READ of unknown address and length.
void Extractor::take_unasked(Requests& requests, const DataPacket& data, Sequence psn) {
  const CapturedPacket& packet = data.packet;
  auto& open = requests.unasked;
  const bool continues = open && !packet.begins_message() && open->mtu != 0 && psn > open->psn &&
                         psn - open->psn < kMostPsns;
  if (!continues) begin_unasked(requests, data, psn);
  Transfer& transfer = *open;
  const std::uint64_t offset = (psn - transfer.psn) * transfer.mtu;
  DataImage& image = images_[transfer.image];
  const std::uint64_t end = offset + packet.payload;
  if (end > DataImage::kLongestStream - transfer.position)
    return unplaced(requests, Unplaced::no_room, packet, packet.payload);
  if (end > transfer.length) {
    images_.expect(transfer.image,
                   {transfer.position + transfer.length, transfer.position + end - 1},
                   packet.number);
    transfer.length = end;
    image.end = transfer.position + end;
  }
  place(requests, transfer, packet, offset, data.bytes);
  const bool ends =
      packet.info->position == Position::last || packet.info->position == Position::only;
  if (ends) end_unasked(requests);
}

void Extractor::begin_unasked(Requests& requests, const DataPacket& data, Sequence psn) {
  end_unasked(requests);
  Transfer transfer{.psn = psn, .operation = Operation::read_request, .has_address = false};
  transfer.first_frame = data.packet.number;
  transfer.image = reads_of(requests);
  transfer.position = images_[transfer.image].end;
  const bool full = data.packet.info->position == Position::first ||
                    data.packet.info->position == Position::middle;
  if (full) transfer.mtu = data.packet.payload;
  transfer.ended = data.packet.begins_message();
  requests.unasked = std::move(transfer);
}

void Extractor::end_unasked(Requests& requests) {
  if (!requests.unasked) return;
  report(requests, *requests.unasked);
  requests.unasked.reset();
}

/// Reports a transfer that is no longer followed.
void Extractor::report(const Requests& requests, const Transfer& transfer) {
  if (transfer.image == Transfer::kNoImage) {
    CapturedPacket request;
    request.number = transfer.first_frame;
    return unplaced(requests, Unplaced::no_response, request, transfer.length);
  }
  images_.completed(
      {.image = transfer.image,
       .session = requests.session,
       .direction = requests.direction,
       .operation = transfer.operation,
       .position = transfer.position,
       .bytes = transfer.length,
       .missing = transfer.length - transfer.placed,
       .va = transfer.va,
       .r_key = transfer.r_key,
       .immediate = transfer.immediate,
       .has_address = transfer.has_address,
       .has_immediate = transfer.has_immediate,
       .partial = transfer.placed < transfer.length || (!transfer.has_address && !transfer.ended),
       .first_psn = static_cast<std::uint32_t>(transfer.psn & wire::Psn::kMask),
       .first_frame = transfer.first_frame,
       .last_frame = transfer.last_frame});
}

void Extractor::finish() {
  for (auto& [key, requests] : requests_) {
    while (requests.order.any_waits()) pass_gap(requests);
    for (const Headless& one : requests.headless)
      unplaced(requests, Unplaced::no_address, one.packet, one.packet.payload);
    requests.headless.clear();
    if (requests.sends) requests.sends->finish();
    end_unasked(requests);
    requests.transfers.clear();
  }
  std::erase_if(leftovers_, [](const auto& entry) {
    const auto any = [](const UnplacedPackets& one) { return one.packets > 0; };
    return entry.second.missing.empty() && std::ranges::none_of(entry.second.unplaced, any);
  });
}

}  // namespace lw::analysis
