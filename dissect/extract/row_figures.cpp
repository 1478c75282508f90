// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/extract/row_figures.h"

namespace lw::dissect {
namespace {

constexpr std::string_view kConnection = "Number of the connection, from 1.";
constexpr std::string_view kDirection = "Direction of the connection: 0 or 1.";
constexpr std::string_view kKind = "memory or a kind of stream.";
constexpr std::string_view kPackets = "Packets.";
constexpr std::string_view kFirstFrame = "Number of its first frame.";
constexpr std::string_view kLastFrame = "Number of its last frame.";

}  // namespace

const FigureTable& PlaceColumns::figures() {
  using Row = FigureOf<PlaceColumns>;
  static constexpr Figure kRows[] = {
      Row::of<&PlaceColumns::host>("host", "Address of the memory's host; null for a stream.")
          .or_null(),
      Row::of<&PlaceColumns::r_key>("r_key", "R_Key, hexadecimal; null for a stream.").or_null(),
      Row::of<&PlaceColumns::va>("va", "Virtual address, hexadecimal; null for a stream.")
          .or_null()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& ExtractedFile::figures() {
  using Row = FigureOf<ExtractedFile>;
  static constexpr Figure kRows[] = {
      Row::of<&ExtractedFile::file>("file", "Name of the file."),
      Row::of<&ExtractedFile::kind>("kind", kKind),
      Row::of<&ExtractedFile::point>("point", "Capture point."),
      Row::of<&ExtractedFile::decided_by>("point_decided_by",
                                          "What decided which interfaces the point has."),
      Row::of<&ExtractedFile::session>("connection", kConnection).renamed_from("session"),
      Row::of<&ExtractedFile::direction>("direction", kDirection),
      Row::of<&ExtractedFile::sessions>("connections", "Numbers of all connections that wrote it.")
          .renamed_from("sessions"),
      Row::rows_of<&ExtractedFile::place>(),
      Row::of<&ExtractedFile::length>("length", "Length of the file, in bytes.", Unit::bytes),
      Row::of<&ExtractedFile::written_bytes>("written_bytes", "Bytes that packets carried.",
                                             Unit::bytes),
      Row::of<&ExtractedFile::ranges>("ranges", "Ranges that they form."),
      Row::of<&ExtractedFile::missing_bytes>(
          "missing_bytes", "Bytes that were announced and not captured.", Unit::bytes),
      Row::of<&ExtractedFile::gaps>("gaps", "Ranges that these form."),
      Row::of<&ExtractedFile::messages>("messages", "Messages."),
      Row::of<&ExtractedFile::packets>("packets", kPackets),
      Row::of<&ExtractedFile::repeated_packets>("repeated_packets", "Packets that came again.")};
  static constexpr FigureTable kTable{"A file of extracted data; a line each.", kRows};
  return kTable;
}

const FigureTable& ExtractedRange::figures() {
  using Row = FigureOf<ExtractedRange>;
  static constexpr Figure kRows[] = {
      Row::of<&ExtractedRange::file>("file", "Name of the file."),
      Row::of<&ExtractedRange::offset>("offset", "Offset in the file, in bytes.", Unit::bytes),
      Row::rows_of<&ExtractedRange::place>(),
      Row::of<&ExtractedRange::bytes>("bytes", "Length, in bytes.", Unit::bytes),
      Row::of<&ExtractedRange::first_frame>("first_frame", kFirstFrame),
      Row::of<&ExtractedRange::last_frame>("last_frame", kLastFrame),
      Row::of<&ExtractedRange::packets>("packets", kPackets)};
  static constexpr FigureTable kTable{"Bytes that lie together in a file; a line each.", kRows};
  return kTable;
}

const FigureTable& ExtractedGap::figures() {
  using Row = FigureOf<ExtractedGap>;
  static constexpr Figure kRows[] = {
      Row::of<&ExtractedGap::file>("file", "Name of the file; null without one.").or_null(),
      Row::of<&ExtractedGap::kind>("kind", kKind),
      Row::of<&ExtractedGap::session>("connection", kConnection).renamed_from("session"),
      Row::of<&ExtractedGap::direction>("direction", kDirection),
      Row::of<&ExtractedGap::offset>("offset", "Offset in the file, in bytes; null outside of it.",
                                     Unit::bytes)
          .or_null(),
      Row::rows_of<&ExtractedGap::place>(),
      Row::of<&ExtractedGap::bytes>("bytes", "Length, in bytes.", Unit::bytes)};
  static constexpr FigureTable kTable{
      "Bytes that packets announced and that were not captured; a line each.", kRows};
  return kTable;
}

const FigureTable& UnplacedRow::figures() {
  using Row = FigureOf<UnplacedRow>;
  static constexpr Figure kRows[] = {
      Row::of<&UnplacedRow::session>("connection", kConnection).renamed_from("session"),
      Row::of<&UnplacedRow::direction>("direction", kDirection),
      Row::of<&UnplacedRow::reason>("reason", "Reason."),
      Row::of<&UnplacedRow::packets>("packets", kPackets),
      Row::of<&UnplacedRow::bytes>("bytes", "Bytes of payload; null if unknown.", Unit::bytes)
          .or_null(),
      Row::of<&UnplacedRow::first_frame>("first_frame",
                                         "Number of the first frame; null if not captured.")
          .or_null(),
      Row::of<&UnplacedRow::last_frame>("last_frame",
                                        "Number of the last frame; null if not captured.")
          .or_null(),
      Row::of<&UnplacedRow::first_psn>("first_psn",
                                       "First PSN of packets that were not captured; else null.")
          .or_null()};
  static constexpr FigureTable kTable{
      "Packets whose data has no place; a line for each direction and reason.", kRows};
  return kTable;
}

const FigureTable& ExtractedMessage::figures() {
  using Row = FigureOf<ExtractedMessage>;
  static constexpr Figure kRows[] = {
      Row::of<&ExtractedMessage::kind>("kind", kKind),
      Row::of<[](const ExtractedMessage& m) { return m.message.session; }>("connection",
                                                                           kConnection)
          .renamed_from("session"),
      Row::of<[](const ExtractedMessage& m) { return m.message.direction; }>("direction",
                                                                             kDirection),
      Row::of<[](const ExtractedMessage& m) { return m.message.operation; }>("operation",
                                                                             "RDMA operation."),
      Row::of<&ExtractedMessage::offset>(
          "offset", "Offset in the stream, in bytes; null for memory.", Unit::bytes)
          .or_null(),
      Row::of<[](const ExtractedMessage& m) { return m.message.bytes; }>(
          "bytes", "Bytes of payload.", Unit::bytes),
      Row::of<[](const ExtractedMessage& m) { return m.message.missing; }>(
          "missing_bytes", "Bytes that were not captured.", Unit::bytes),
      Row::of<[](const ExtractedMessage& m) { return m.message.partial; }>(
          "partial", "True if it was not captured completely."),
      Row::rows_of<&ExtractedMessage::place>(),
      Row::of<&ExtractedMessage::immediate>("immediate",
                                            "Immediate data, hexadecimal; null without it.")
          .or_null(),
      Row::of<[](const ExtractedMessage& m) { return m.message.first_psn; }>(
          "first_psn", "PSN of its first packet."),
      Row::of<[](const ExtractedMessage& m) { return m.message.first_frame; }>("first_frame",
                                                                               kFirstFrame),
      Row::of<[](const ExtractedMessage& m) { return m.message.last_frame; }>("last_frame",
                                                                              kLastFrame)};
  static constexpr FigureTable kTable{"A message whose data was extracted; a line each.", kRows};
  return kTable;
}

}  // namespace lw::dissect
