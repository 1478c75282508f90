// SPDX-License-Identifier: BSD-3-Clause
#include "upper/smb/smb_parser.h"

#include <algorithm>

#include "upper/limits.h"

namespace lw::upper::smb {
namespace {

/// Commands that end when something happens.
bool waits_for_event(std::uint16_t command) noexcept {
  return command == kNotify || command == kLock;
}

/// Warnings and success are no errors. ([MS-ERREF] 2.3: severity in the upper two bits)
bool is_error(std::uint32_t status) noexcept {
  return status >> 30 == 3 && status != kMoreProcessing;
}

}  // namespace

void SmbParser::handle(const UpperMessage& message) {
  if (message.operation != wire::Operation::send) {
    table_.data(message);
    return;
  }
  const std::uint8_t sender = message.direction;
  if (const auto asked = read_negotiate_request(message.data, message.bytes)) {
    facts_.client = sender;
    return;
  }
  if (const auto agreed = read_negotiate_response(message.data, message.bytes)) {
    Side& client = sides_[1 - sender];
    facts_.client = static_cast<std::uint8_t>(1 - sender);
    client.credits = agreed->credits_granted;
    client.credits_known = true;
    facts_.limit = agreed->credits_granted;
    return;
  }
  const auto transfer = read_data(message.data, message.bytes);
  if (!transfer) {
    ++facts_.unreadable;
    return;
  }
  handle_data(message, *transfer);
}

/// A SEND uses a credit of its sender and grants some to the other side.
void SmbParser::note_credits(std::uint8_t sender, const DataTransfer& transfer) {
  Side& own = sides_[sender];
  Side& other = sides_[1 - sender];
  if (own.credits_known) own.was_empty = --own.credits <= 0;
  if (transfer.credits_granted == 0) return;
  other.credits += transfer.credits_granted;
  if (sender != facts_.client && other.credits_known)
    facts_.limit = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
        std::max<std::int64_t>(other.credits, facts_.limit.value_or(0)), 0, 0xffff));
}

void SmbParser::handle_data(const UpperMessage& message, const DataTransfer& transfer) {
  Side& side = sides_[message.direction];
  const bool waited = side.credits_known && side.was_empty;
  if (waited) ++facts_.credit_waits;
  note_credits(message.direction, transfer);
  if (transfer.length == 0) return;
  const bool begins = side.legs.empty() || side.expected == 0;
  if (begins) {
    side.legs.clear();
    side.data.clear();
    side.cut = side.damaged = false;
  } else if (side.expected != transfer.length + transfer.remaining) {
    // A fragment is missing: this one begins a message, or is of one whose begin is missing.
    side.legs.clear();
    side.data.clear();
    side.cut = false;
    side.damaged = magic_of(transfer.data) == Magic::none;
  }
  if (side.legs.size() < kMostLegs)
    side.legs.push_back({.from_target = message.direction != facts_.client,
                         .waited_for_credit = waited && !begins,
                         .passage = message.request});
  else
    side.legs.back().passage = message.request;
  const std::size_t room = kMostSendBytes - std::min(kMostSendBytes, side.data.size());
  const Bytes some = transfer.data.first(std::min(room, transfer.data.size()));
  if (!side.cut) side.data.insert(side.data.end(), some.begin(), some.end());
  side.cut |= transfer.data.size() < transfer.length;
  side.expected = transfer.remaining;
  if (side.expected > 0) return;
  if (!side.damaged) handle_smb2(message.direction, side);
  side.legs.clear();
}

void SmbParser::handle_smb2(std::uint8_t direction, const Side& side) {
  switch (magic_of(side.data)) {
    case Magic::encrypted:
      ++facts_.encrypted;
      facts_.detail = "encrypted";
      return;
    case Magic::compressed:
      ++facts_.unreadable;
      facts_.detail = "compressed";
      return;
    case Magic::none:
      ++facts_.unreadable;
      return;
    case Magic::smb2:
      return handle_chain(direction, side.legs, side.data);
  }
}

void SmbParser::handle_chain(std::uint8_t direction, const std::vector<Leg>& legs, Bytes bytes) {
  for (std::uint32_t i = 0; i < kMostChained; ++i) {
    const auto header = read_header(bytes);
    if (!header) {
      ++facts_.unreadable;
      return;
    }
    if (header->is_response)
      handle_response(legs, *header);
    else
      handle_request(direction, legs, *header, bytes);
    if (header->next < kHeaderBytes || header->next >= bytes.size()) return;
    bytes = bytes.subspan(header->next);
  }
}

void SmbParser::handle_request(std::uint8_t direction, const std::vector<Leg>& legs,
                               const Header& header, Bytes bytes) {
  if (header.command == kCancel) {
    ++facts_.aborts;  // it has no response
    return;
  }
  if (header.command == kEcho) ++facts_.keep_alives;
  const DataAccess access = read_access(header, bytes);
  std::vector<Leg> request = legs;
  for (Leg& leg : request) leg.from_target = false;
  table_.begin({.direction = direction,
                .operation = command_name(header.command),
                .id = header.message_id,
                .bytes = access.bytes,
                .waits_for_event = waits_for_event(header.command)},
               access.regions, request);
}

void SmbParser::handle_response(const std::vector<Leg>& legs, const Header& header) {
  constexpr std::uint64_t kUnasked = ~std::uint64_t{0};  // an oplock break of the server
  if (header.message_id == kUnasked) return;
  // An interim response: the command goes on.
  if (header.status == kPending && header.is_async) return;
  if (OpenCommand* const open = table_.find(header.message_id))
    for (std::size_t i = 0; i + 1 < legs.size(); ++i) {
      Leg leg = legs[i];
      leg.from_target = true;
      table_.add_leg(*open, leg);
    }
  table_.end({.id = header.message_id,
              .passage = legs.back().passage,
              .status = header.status,
              .failed = is_error(header.status)});
}

}  // namespace lw::upper::smb
