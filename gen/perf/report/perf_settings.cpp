// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_settings.h"

namespace lw::gen {
const FigureTable& PortPeer::figures() {
  using Row = FigureOf<PortPeer>;
  static constexpr Figure kRows[] = {Row::rows_of<&PortPeer::stats>(),
                                     Row::of<&PortPeer::dropped>("dropped", meaning::kDropped)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& MeasuredPort::figures() {
  using Row = FigureOf<MeasuredPort>;
  static constexpr Figure kRows[] = {
      Row::of<&MeasuredPort::port>("port", "Port or device of this side."),
      Row::of<&MeasuredPort::peer>("peer", "Address of the peer."),
      Row::of<&MeasuredPort::transport>("transport", "RC, UC or UD."),
      Row::word<&MeasuredPort::verify, kVerifyWords>(
          "verify", "Messages that both sides compare byte by byte."),
      Row::of<&MeasuredPort::wrong>("wrong", "Messages of READs with other bytes than were sent."),
      Row::of<&MeasuredPort::bad_icrc>("bad_icrc", "Frames received with a wrong ICRC."),
      Row::of<&MeasuredPort::frames_not_sent>("frames_not_sent",
                                              "Frames that the port did not take."),
      Row::of<&MeasuredPort::responder>("responder", "What roce-gen respond counted."),
      Row::of<&MeasuredPort::traffic>("traffic_class", roce::kClassMeaning),
      Row::of<&MeasuredPort::classes>("classes", "Packets of this side by class."),
      Row::of<&MeasuredPort::other_partition>("other_partition", meaning::kOtherPartition,
                                              Unit::frames)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& DevicePeer::figures() {
  using Row = FigureOf<DevicePeer>;
  static constexpr Figure kRows[] = {
      Row::of<through<&DevicePeer::stats, &ServerStats::checked>>("checked", meaning::kChecked),
      Row::of<through<&DevicePeer::stats, &ServerStats::wrong>>("wrong", meaning::kWrong),
      Row::of<&DevicePeer::counted>("counted", handover::meaning::kCounted),
      Row::of<&DevicePeer::messages>("messages", handover::meaning::kMessages),
      Row::of<&DevicePeer::bytes>("bytes", handover::meaning::kBytes, Unit::bytes),
      Row::of<&DevicePeer::counters>("counters", handover::meaning::kCounters)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& MeasuredDevice::figures() {
  using Row = FigureOf<MeasuredDevice>;
  static constexpr Figure kRows[] = {
      Row::of<&MeasuredDevice::port>("port", "Port or device of this side."),
      Row::of<&MeasuredDevice::peer>("peer", "Address of the peer."),
      Row::of<&MeasuredDevice::inlined>("inline",
                                        "Device: true if the data is in the work requests."),
      Row::of<&MeasuredDevice::poll>("poll", "Device: busy or event."),
      Row::of<&MeasuredDevice::post_list>("post_list", "Device: work requests per post."),
      Row::of<&MeasuredDevice::signal>("signal", "Device: all or periodic completions."),
      Row::of<&MeasuredDevice::checked>("checked", "Device: true if the bytes were compared."),
      Row::of<&MeasuredDevice::server>("server", "What roce-endpoint serve counted.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

}  // namespace lw::gen
