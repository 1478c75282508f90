// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <vector>

#include "dissect/sessions/capture_analysis.h"
#include "wire/pfc.h"

namespace lw::dissect {

/// A frame that pauses some priorities, or the whole link.
struct Pause {
  std::uint64_t number;
  Instant stamp;
  wire::MacAddress port;
  wire::PfcFields fields = {};
  std::optional<std::uint16_t> of_link = {};  // quanta
};
/// The data that the analysis takes from some frames. The order between packets, pauses and notes
/// does not matter to it.
struct Batch {
  std::vector<analysis::KeyedPacket> packets;
  std::vector<Pause> pauses;
  std::vector<analysis::SetupNote> notes;
};

/// Gives `analyst` what passed beside the connections: pauses and messages of set-ups.
void add_beside(const Batch& batch, analysis::Analyst& analyst);

/// The frames of one point of several that are analysed as one.
struct OnePoint {
  std::uint32_t number = 0;  // among the capture points
  std::uint32_t as = 0;      // the point that its packets are said to come from
};

/// Reads the frames of a capture for the analysis.
class BatchReader {
 public:
  BatchReader(FrameSource& source, CapturePoints& points, CaptureTotals& totals,
              const EachFrame& each, std::optional<OnePoint> only = {}, EachPayload payloads = {})
      : source_(source),
        points_(points),
        totals_(totals),
        each_(each),
        payloads_(std::move(payloads)),
        only_(only) {}

  /// Replaces `batch` by the data of up to `most` frames. Returns false if there are no more
  /// frames.
  bool read(Batch& batch, std::size_t most);
  /// The error that ended reading; nothing at the end of the files.
  [[nodiscard]] const std::optional<Error>& damage() const noexcept { return damage_; }

 private:
  bool take_plain(const CapturedFrame& captured, Batch& batch);
  void parse(const CapturedFrame& captured, Batch& batch);
  void take_other(const CapturedFrame& captured, Batch& batch);
  [[nodiscard]] std::uint32_t point_of(const CapturedFrame& captured);

  FrameSource& source_;
  CapturePoints& points_;
  CaptureTotals& totals_;
  const EachFrame& each_;
  EachPayload payloads_;
  std::optional<OnePoint> only_;
  analysis::PacketReader reader_;
  std::optional<Error> damage_;
};

}  // namespace lw::dissect
