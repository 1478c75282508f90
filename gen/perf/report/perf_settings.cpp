// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_settings.h"

namespace lw::gen {
const FigureTable& PortPeer::figures() {
  using Row = FigureOf<PortPeer>;
  static constexpr Figure kRows[] = {
      Row::of<through<&PortPeer::stats, &ServerStats::checked>>(
          "checked", "Messages whose bytes were compared."),
      Row::of<through<&PortPeer::stats, &ServerStats::wrong>>(
          "wrong", "Messages with other bytes than were sent."),
      Row::of<through<&PortPeer::stats, &ServerStats::duplicates>>("duplicates",
                                                                   "Packets that came again."),
      Row::of<through<&PortPeer::stats, &ServerStats::out_of_sequence>>("out_of_sequence",
                                                                        "Packets out of sequence."),
      Row::of<through<&PortPeer::stats, &ServerStats::cnps>>("cnps",
                                                             "Congestion notifications sent."),
      Row::of<&PortPeer::dropped>("dropped",
                                  "Packets dropped as a part of their message was missing.")};
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
      Row::of<&MeasuredPort::traffic>("traffic_class",
                                      "Class of the traffic that this side sends."),
      Row::of<&MeasuredPort::classes>("classes", "Packets of this side by class."),
      Row::of<&MeasuredPort::other_partition>(
          "other_partition", "Packets with the P_Key of another partition, which were not taken.",
          Unit::frames)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& DevicePeer::figures() {
  using Row = FigureOf<DevicePeer>;
  static constexpr Figure kRows[] = {
      Row::of<through<&DevicePeer::stats, &ServerStats::checked>>(
          "checked", "Messages whose bytes were compared."),
      Row::of<through<&DevicePeer::stats, &ServerStats::wrong>>(
          "wrong", "Messages with other bytes than were sent."),
      Row::of<&DevicePeer::counted>("counted", "True if the server counted the messages itself."),
      Row::of<&DevicePeer::messages>("messages", "Messages that arrived."),
      Row::of<&DevicePeer::bytes>("bytes", "Bytes of payload that arrived.", Unit::bytes),
      Row::of<&DevicePeer::counters>("counters", "Changes of the device's counters.")};
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
