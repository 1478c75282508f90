// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/virtual_way.h"

namespace lw::impair {
namespace {

using emulator::Direction;

/// Of the port that a direction goes out by. Nobody has made it, so its address is of the kind that
/// anybody may choose: 1 is west's, 2 east's.
constexpr wire::MacAddress address_of_way_out(Direction direction) noexcept {
  const std::byte side{direction == Direction::west_to_east ? std::uint8_t{2} : std::uint8_t{1}};
  return {std::byte{0x02}, {}, {}, {}, {}, side};
}

}  // namespace

VirtualWay::VirtualWay(emulator::Pipeline pipeline, const emulator::LinkConfig& config,
                       const Surroundings& around)
    : frames_(around.frames),
      writer_(around.writer),
      recording_(around.recording),
      link_(std::move(pipeline), config, around.ledger, StoreAccess(*around.frames)) {}

void VirtualWay::admit(FrameStore::Handle handle, Instant now) {
  const auto& frame = (*frames_)[handle];
  const auto length = static_cast<std::uint32_t>(frame.bytes.size());
  if (recording_) as_it_came_ = frame.bytes;
  Sighting sighting{now, length, frame.wire_length, false, {}};
  const bool kept = admit_as_it_is(handle, now, &sighting.record);
  if (recording_) recording_->write(sighting, as_it_came_);
  if (!kept) frames_->free(handle);
}

/// False: the frame goes no further.
bool VirtualWay::admit_as_it_is(FrameStore::Handle handle, Instant now,
                                emulator::LedgerRecord* told) {
  const roce::Envelope envelope = (*frames_)[handle].envelope();
  if (!way_in_) {
    link_.turn_away(envelope, now, told);
    return false;
  }
  if (pauses_ && link_.pipeline().takes_pauses()) {
    if (const auto asked = wire::pfc_of(envelope.bytes)) {
      take_pause(*pauses_, link_, *asked, envelope, now, told);
      return false;
    }
  }
  return link_.admit(handle, envelope, now, told);
}

void VirtualWay::exchange_pauses(Instant now) {
  if (pauses_)
    impair::exchange_pauses(*pauses_, link_, now,
                            [&](const wire::PfcFields& fields) { send_pause(fields, now); });
}

void VirtualWay::send_pause(const wire::PfcFields& fields, Instant now) {
  const auto bytes = wire::pfc_frame(address_of_way_out(direction()), fields);
  const auto frame = frames_->put(bytes, static_cast<std::uint32_t>(direction()));
  if (!link_.create(frame, bytes.size(), now)) frames_->free(frame);
}

Result<void> VirtualWay::write(Instant now) {
  if (!way_out_)
    link_.lose_egress([this](auto handle) { return (*frames_)[handle].envelope(); },
                      [this](auto handle) { frames_->free(handle); });
  while (!link_.egress().empty()) {
    const auto out = link_.egress();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto handle = out[i];
      const auto& frame = (*frames_)[handle];
      if (recording_)
        recording_->write(
            {now, static_cast<std::uint32_t>(frame.bytes.size()), frame.wire_length, true,
             record_of(link_.egress_transit(i), link_.egress_number(i), direction())},
            frame.bytes);
      auto written = writer_->write(now, frame.bytes, frame.wire_length, frame.interface);
      if (!written) return written;
      frames_->free(handle);
    }
    link_.sent(out.size(), now);
  }
  return {};
}

void VirtualWay::replace(emulator::Pipeline next, Instant now) {
  Link::Standby standby(std::move(next));
  link_.replace(standby, now);
}

void VirtualWay::set_links(const config::LinkChange& change) noexcept {
  const bool east = direction() == Direction::west_to_east;
  if (east ? change.west : change.east) way_in_ = change.up;
  if (east ? change.east : change.west) way_out_ = change.up;
}

DirectionReport VirtualWay::report() const {
  DirectionReport report{link_.accounting(), spread_of(link_.release_error()),
                         spread_of(link_.pass_latency()), stages_of(link_.pipeline()),
                         events_of(link_.pipeline())};
  judge(report);
  return report;
}

}  // namespace lw::impair
