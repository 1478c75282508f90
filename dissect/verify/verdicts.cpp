// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/verify/verdicts.h"

#include <utility>

#include <fmt/format.h>

#include "dissect/fields/frame_source.h"
#include "roce/envelope.h"

namespace lw::dissect {
namespace {

constexpr std::size_t kShownBad = 10;
constexpr std::size_t kRemembered = 65536;  // packets with fragments

void note_bad(FileVerdict& verdicts, const CapturedFrame& frame) {
  ++verdicts.bad_icrc;
  if (verdicts.first_bad.size() == kShownBad) return;
  const auto place = roce::expected_icrc(frame.envelope);
  const auto* found = wire::view_at<wire::Be32>(frame.envelope.bytes, place->offset);
  verdicts.first_bad.push_back(
      {frame.number, frame.record.offset, __builtin_bswap32(place->expected), found->get()});
}

void count(FileVerdict& verdicts, FragmentTracker& fragments, const CapturedFrame& frame) {
  ++verdicts.frames;
  if (frame.tunnels && !frame.tunnels->unopened().empty())
    ++verdicts.closed[std::string(frame.tunnels->unopened())];
  if (frame.envelope.fragment) {
    verdicts.icrc_unverifiable += fragments.roce_frames(frame.envelope);
    return;
  }
  switch (roce::check_icrc(frame.envelope)) {
    case roce::IcrcVerdict::not_roce:
      break;
    case roce::IcrcVerdict::ok:
      ++verdicts.icrc_ok;
      break;
    case roce::IcrcVerdict::bad:
      note_bad(verdicts, frame);
      break;
    case roce::IcrcVerdict::unverifiable:
      ++verdicts.icrc_unverifiable;
      break;
  }
}

}  // namespace

FileVerdict verify_file(const std::string& path, const FrameReading& reading) {
  FileVerdict verdicts;
  verdicts.file = path;
  auto source = FrameSource::open(path, {}, reading);
  if (!source) {
    verdicts.damage = source.error();
    verdicts.opened = source.error().exit == ExitCode::failed;
    return verdicts;
  }
  verdicts.opened = true;
  FragmentTracker fragments;
  for (;;) {
    const auto frame = source->next();
    if (!frame) verdicts.damage = frame.error();
    if (!frame || !*frame) break;
    count(verdicts, fragments, **frame);
  }
  verdicts.unopened = source->unopened();
  verdicts.roce = verdicts.icrc_ok + verdicts.bad_icrc + verdicts.icrc_unverifiable;
  return verdicts;
}

const FigureTable& FileVerdict::figures() {
  using Row = FigureOf<FileVerdict>;
  static constexpr Figure kRows[] = {
      Row::of<&FileVerdict::file>("file", "The capture."),
      Row::of<&FileVerdict::frames>("frames", "Frames.", Unit::frames),
      Row::of<&FileVerdict::roce>("roce", "RoCE frames.", Unit::frames),
      Row::of<&FileVerdict::icrc_ok>("icrc_ok", "Right ICRCs."),
      Row::of<&FileVerdict::bad_icrc>("bad_icrc", "Wrong ICRCs."),
      Row::of<&FileVerdict::icrc_unverifiable>("icrc_unverifiable",
                                               "ICRCs of truncated frames and fragments."),
      Row::of<[](const FileVerdict& verdicts) {
        std::vector<std::pair<std::string, std::uint64_t>> types;
        for (const auto& [type, frames] : verdicts.unopened)
          types.emplace_back(std::to_string(type), frames);
        return types;
      }>("unknown_link_types", "Frames by unknown link type.", Unit::frames),
      Row::of<&FileVerdict::closed>("unopened_tunnels", "Frames by tunnel that is not opened.",
                                    Unit::frames),
      Row::of<[](const FileVerdict& verdicts) {
        return verdicts.damage ? &verdicts.damage->message : nullptr;
      }>("damage", "Where and why the file ends early; null if it is whole.")
          .or_null()};
  static constexpr FigureTable kTable{"ICRCs of a capture; a line each.", kRows};
  return kTable;
}

/// Addresses and identification identify a packet. (RFC 791, 3.2; RFC 8200, 4.5)
FragmentTracker::Packet& FragmentTracker::packet_of(const roce::Envelope& envelope) {
  const std::string key = fmt::format("{} {} {} {}", envelope.source(), envelope.destination(),
                                      envelope.protocol, envelope.fragment_id);
  const auto [found, added] = packets_.try_emplace(key);
  if (added) order_.push_back(key);
  if (order_.size() > kRemembered) {
    packets_.erase(order_.front());
    order_.pop_front();
  }
  return found->second;
}

std::uint64_t FragmentTracker::roce_frames(const roce::Envelope& envelope) {
  Packet& packet = packet_of(envelope);
  if (envelope.first_fragment) {
    // Identifications repeat, so a first fragment starts a new packet.
    packet.known = true;
    packet.roce = envelope.is_roce();
    const std::uint64_t waited = std::exchange(packet.waiting, 0);
    return packet.roce ? waited + 1 : 0;
  }
  if (!packet.known) {
    ++packet.waiting;
    return 0;
  }
  return packet.roce ? 1 : 0;
}

}  // namespace lw::dissect
